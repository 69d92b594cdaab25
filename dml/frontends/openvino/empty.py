"""Layers on tensors without elements, which no device tensor can hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .convert import IrContext, IrValue

_Array = npt.NDArray[Any]


def without_elements(c: IrContext) -> list[IrValue] | None:
    """Return the layer's outputs if all are empty, or if empty inputs determine them; else None."""
    sizes = [port.sizes for port in c.layer.outputs]
    if sizes and all(0 in each and min(each) >= 0 for each in sizes):
        return [np.zeros(port.sizes, port.dtype) for port in c.layer.outputs]
    rule = _RULES.get(c.layer.type)
    if rule is None or not any(_is_empty(c, index) for index in range(len(c.given))):
        return None
    found = rule(c)
    return None if found is None else [found]


def _given_sizes(c: IrContext, index: int) -> tuple[int, ...]:
    source, output = c.layer.inputs[index]
    return source.outputs[output].sizes


def _is_empty(c: IrContext, index: int) -> bool:
    return 0 in _given_sizes(c, index)


def _filled(number: float) -> Callable[[IrContext], _Array]:
    return lambda c: np.full(c.layer.outputs[0].sizes, number, c.dtype)


def _reduced(number: float) -> Callable[[IrContext], _Array | None]:
    # without axes, the empty input is the second
    return lambda c: _filled(number)(c) if _is_empty(c, 0) else None


def _extreme(name: str) -> Callable[[IrContext], _Array | None]:
    def rule(c: IrContext) -> _Array | None:
        info: Any = np.finfo(c.dtype) if c.dtype.kind == "f" else np.iinfo(c.dtype)
        return _reduced(getattr(info, name))(c)

    return rule


def _padded(c: IrContext) -> _Array | None:
    if c.layer.text("pad_mode") != "constant":
        return None
    return _filled(c.single(3) if len(c.given) > 3 else 0)(c)


def _places(c: IrContext) -> _Array:
    return np.zeros((len(_given_sizes(c, 0)), 0), c.dtype)


def _updated(c: IrContext) -> IrValue | None:
    """Return the data that nothing updates."""
    return c.value(0) if _is_empty(c, 2) else None


_RULES: dict[str, Callable[[IrContext], IrValue | None]] = {
    "ReduceSum": _reduced(0), "ReduceMean": _reduced(0), "ReduceL1": _reduced(0), "ReduceL2": _reduced(0),
    "ReduceProd": _reduced(1), "ReduceLogicalAnd": _reduced(1), "ReduceLogicalOr": _reduced(0),
    "ReduceMax": _extreme("min"), "ReduceMin": _extreme("max"),
    "MatMul": _filled(0), "Einsum": _filled(0), "NonZero": _places, "Pad": _padded,
    "ScatterUpdate": _updated, "ScatterElementsUpdate": _updated, "ScatterNDUpdate": _updated,
}  # fmt: skip
