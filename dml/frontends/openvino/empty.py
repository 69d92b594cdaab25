"""Layers on tensors without elements, which no device tensor can hold."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .convert import IrContext, IrValue
from .ir import ELEMENT_TYPES

_Array = npt.NDArray[Any]


def without_elements(c: IrContext) -> list[IrValue] | None:
    """Return the layer's outputs if all are empty, or if empty inputs determine them; else None."""
    sizes = [port.sizes for port in c.layer.outputs]
    if sizes and all(0 in each and min(each) >= 0 for each in sizes):
        return [np.zeros(port.sizes, ELEMENT_TYPES[port.element_type]) for port in c.layer.outputs]
    rule = _RULES.get(c.layer.type)
    if rule is None or not any(0 in source.outputs[index].sizes for source, index in c.layer.inputs):
        return None
    found = rule(c)
    return None if found is None else [found]


def _dtype(c: IrContext) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(ELEMENT_TYPES[c.layer.outputs[0].element_type])
    return found


def _filled(number: float) -> Callable[[IrContext], _Array]:
    return lambda c: np.full(c.layer.outputs[0].sizes, number, _dtype(c))


def _extreme(name: str) -> Callable[[IrContext], _Array]:
    def rule(c: IrContext) -> _Array:
        info: Any = np.finfo(_dtype(c)) if _dtype(c).kind == "f" else np.iinfo(_dtype(c))
        return np.full(c.layer.outputs[0].sizes, getattr(info, name), _dtype(c))

    return rule


def _padded(c: IrContext) -> _Array | None:
    if c.layer.text("pad_mode") != "constant":
        return None
    value = np.ravel(c.known(3))[0] if len(c.given) > 3 else 0
    return np.full(c.layer.outputs[0].sizes, value, _dtype(c))


def _updated(c: IrContext) -> IrValue | None:
    """Return the data that nothing updates."""
    source, index = c.layer.inputs[2]
    return c.value(0) if not prod(source.outputs[index].sizes) else None


_RULES: dict[str, Callable[[IrContext], IrValue | None]] = {
    "ReduceSum": _filled(0), "ReduceMean": _filled(0), "ReduceL1": _filled(0), "ReduceL2": _filled(0),
    "ReduceProd": _filled(1), "ReduceLogicalAnd": _filled(1), "ReduceLogicalOr": _filled(0),
    "ReduceMax": _extreme("min"), "ReduceMin": _extreme("max"),
    "MatMul": _filled(0), "Einsum": _filled(0), "Pad": _padded, "ScatterUpdate": _updated,
    "ScatterElementsUpdate": _updated, "ScatterNDUpdate": _updated,
}  # fmt: skip
