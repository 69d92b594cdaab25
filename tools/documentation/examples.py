"""Python code that creates a description and dispatches it."""

from __future__ import annotations

from dataclasses import fields
from enum import IntEnum, IntFlag
from typing import Any

import dml
from dml.capability import short_name
from dml.descriptors.base import OperatorDesc

HEAD = "import numpy as np\n\nimport dml\n\nrng = np.random.default_rng(0)\n"


def example(desc: OperatorDesc) -> str:
    """Return a script that describes the operator, creates input arrays and dispatches it."""
    inputs = [f'    "{name}": {_arrays(tensor)},\n' for name, tensor in desc.inputs() if tensor is not None]
    return f"{HEAD}desc = {expression(desc)}\noutputs = dml.dispatch(desc, {{\n{''.join(inputs)}}})\n"


def expression(value: Any, indent: str = "") -> str:
    """Return a Python expression for a field's value."""
    if isinstance(value, IntEnum | IntFlag):
        return f"dml.{value.name}"
    if isinstance(value, OperatorDesc):
        return _call(value, indent)
    if isinstance(value, dml.DML_BUFFER_TENSOR_DESC):
        return f'dml.DML_BUFFER_TENSOR_DESC("{short_name(value.DataType)}", {value.Sizes})'
    if isinstance(value, tuple) and value and not isinstance(value[0], int | float):
        inner = indent + "    "
        return "[\n" + "".join(f"{inner}{expression(item, inner)},\n" for item in value) + f"{indent}]"
    if isinstance(value, dml.DML_SIZE_2D | dml.DML_SCALAR_UNION | dml.DML_SCALE_BIAS):
        return f"dml.{value!r}"
    return repr(value)


def _call(desc: OperatorDesc, indent: str) -> str:
    """Return the constructor call by keywords, without counts and fields that are None by default."""
    inner = indent + "    "
    given = [
        (info.name, getattr(desc, info.name))
        for info, field in zip(desc.fields_info, fields(desc), strict=True)
        if info.counts is None and not (getattr(desc, info.name) is None and field.default is None)
    ]
    if not given:
        return f"dml.{type(desc).__name__}()"
    lines = "".join(f"{inner}{name}={expression(value, inner)},\n" for name, value in given)
    return f"dml.{type(desc).__name__}(\n{lines}{indent})"


def _arrays(tensor: dml.DML_BUFFER_TENSOR_DESC | tuple[dml.DML_BUFFER_TENSOR_DESC, ...]) -> str:
    if isinstance(tensor, tuple):
        return f"[{', '.join(_arrays(one) for one in tensor)}]"
    dtype = dml.numpy_dtype(tensor.DataType)
    values = f"rng.uniform(0.5, 2, {tensor.Sizes})" if dtype.kind == "f" else f"rng.integers(1, 3, {tensor.Sizes})"
    return f"{values}.astype(np.{dtype.name})"
