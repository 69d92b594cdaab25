"""Inputs of operators without tensor arrays, made tensor by tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from dml.conformance.layouts import Tensor, tensors
from dml.conformance.values import Values
from dml.descriptors.base import OperatorDesc

Array = npt.NDArray[Any]


def filled(desc: OperatorDesc, make: Callable[[str, Tensor], Array]) -> dict[str, Array]:
    """Call make(field, tensor) for each input present."""
    return {name: make(name, tensor) for name, _, tensor in tensors(desc.inputs())}


def finite(desc: OperatorDesc, values: Values) -> dict[str, Array]:
    """Fill all inputs by `Values.finite`, for sums of products."""
    return filled(desc, lambda name, tensor: values.finite(tensor))
