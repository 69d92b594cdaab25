"""ONNX models for `dml run`, and `dml explain`: which node became which DirectML operators, at which feature level."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dml.api.device import Device
from dml.capability import operator_introduced, short_name
from dml.enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE
from dml.errors import DMLError
from dml.frontends.running import Options
from dml.runtime.recording import KernelTime

from .backend import OnnxPlan, PreparedModel, prepare
from .dtypes import Array, dtype_of
from .trace import held


class ONNXRun:
    """A model with its inputs' files, for ``dml run``."""

    def __init__(self, path: Path, device: Device, options: Options) -> None:
        self._model = prepare(path, device)
        self._options = options
        self._name = path.name

    def run(self) -> None:
        inputs = self._options.arrays()
        for _ in range(self._options.iterations):
            outputs = self._model.run(inputs)
        flat: dict[str, Array] = {}
        for name, item in zip(self._model.outputs, outputs, strict=True):
            items = {f"{name}.{at}": one for at, one in enumerate(item)} if isinstance(item, list) else {name: item}
            flat.update({key: one for key, one in items.items() if one is not None})
        self._options.deliver(flat)

    def describe(self) -> str:
        rows = explain(self._model, self._options.arrays())
        return "\n".join(
            f"{node}: {', '.join(operators) or 'a constant or a view'}"
            + (f" (feature level {short_name(level)})" if operators else "")
            for node, operators, level in rows
        )

    def profile(self) -> dict[str, list[KernelTime]]:
        inputs = self._options.arrays()
        return {self._name: profiled(*self._model.compiled_for(inputs))}


def profiled(plan: OnnxPlan, feeds: Mapping[str, Array]) -> list[KernelTime]:
    """What each dispatch of the plan's program takes for these inputs, in order; nothing where it has no program."""
    if plan.compiled is None:
        return []
    used = [name for name, tensor in plan.compiled.input_fields if tensor is not None]
    found: list[KernelTime] = plan.compiled.profile({name: held(feeds[name]) for name in used})
    return found


def explain(
    model: PreparedModel, inputs: Mapping[str, Array] | None = None
) -> list[tuple[str, list[str], DML_FEATURE_LEVEL]]:
    """(node, the DirectML operators it became, the feature level that has all of them), in the order of the model.

    Inputs that are not given stand for zeros of the model's shapes, a symbolic size for 1. Raises DMLError where the
    model cannot be compiled for them.
    """
    plan, _ = planned(model, inputs)
    return [(made.node, *_operators(made.kinds)) for made in plan.record]


def planned(model: PreparedModel, inputs: Mapping[str, Array] | None = None) -> tuple[OnnxPlan, dict[str, Array]]:
    """The model compiled for these inputs, zeros for those that are not given as in ``explain``, and all of them."""
    given = dict(inputs or {})
    for entry in model.model.graph.input:
        if entry.name in model.inputs and entry.name not in given:
            given[entry.name] = _zeros(entry)
    return model.compiled_for(given)


def _zeros(entry: Any) -> Array:
    kind = entry.type
    if not kind.HasField("tensor_type"):
        raise DMLError(f"input {entry.name!r} is no tensor: it must be given to explain the model")
    return np.zeros([dim.dim_value or 1 for dim in kind.tensor_type.shape.dim], dtype_of(kind.tensor_type.elem_type))


def _operators(kinds: list[DML_OPERATOR_TYPE]) -> tuple[list[str], DML_FEATURE_LEVEL]:
    level = max((operator_introduced(kind) for kind in kinds), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    return [short_name(kind) for kind in kinds], level
