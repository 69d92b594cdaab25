"""Layers on small arrays known on the host (shapes, limits, counts), which NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.frontends.openvino.compressed import SMALL
from dml.frontends.openvino.convert import IrContext
from dml.graph.builder import Tensor

_Numbers = npt.NDArray[Any]


def _divided(c: IrContext, a: _Numbers, b: _Numbers) -> _Numbers:
    if a.dtype.kind == "f":
        return np.asarray(a / b)
    return np.asarray(a // b if c.layer.flag("m_pythondiv", True) else np.trunc(a / b))


def _scattered(c: IrContext, x: _Numbers, indices: _Numbers, updates: _Numbers, axis: _Numbers) -> _Numbers:
    result = np.moveaxis(x.copy(), c.axis(int(axis.reshape(())), x.ndim), 0)
    result[indices.reshape(-1)] = updates.reshape(indices.size, *result.shape[1:])
    return np.moveaxis(result, 0, int(axis.reshape(())))


def _scattered_elements(
    c: IrContext, x: _Numbers, indices: _Numbers, updates: _Numbers, axis: _Numbers
) -> _Numbers | None:
    places: list[Any] = [*np.indices(indices.shape)]
    places[c.axis(int(axis.reshape(())), x.ndim)] = indices
    return _replaced(c, x, places, updates)


def _scattered_parts(c: IrContext, x: _Numbers, indices: _Numbers, updates: _Numbers) -> _Numbers | None:
    return _replaced(c, x, [*np.moveaxis(indices, -1, 0)], updates)


def _replaced(c: IrContext, x: _Numbers, places: list[Any], updates: _Numbers) -> _Numbers | None:
    """Return x with updates at places; None if they are reduced, which the device does."""
    if c.layer.text("reduction", "none") != "none":
        return None
    result = x.copy()
    result[tuple(places)] = updates
    return result


def _broadcast(c: IrContext, x: _Numbers, sizes: _Numbers, axes: _Numbers | None = None) -> _Numbers:
    if axes is not None and c.layer.text("mode", "numpy") == "explicit":
        x = x.reshape([x.shape[list(axes).index(index)] if index in axes else 1 for index in range(sizes.size)])
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(map(int, sizes))))


def _one_hot(c: IrContext, x: _Numbers, depth: _Numbers, on: _Numbers, off: _Numbers) -> _Numbers:
    count, rank = int(depth.reshape(())), x.ndim + 1
    axis = c.axis(c.layer.integer("axis", -1), rank)
    if c.layer.text("negative_indices_mode", "ignore_negative") == "normalize":
        x = np.where(x < 0, x + count, x)
    classes = np.arange(count).reshape([-1 if index == axis else 1 for index in range(rank)])
    return np.where(np.expand_dims(x, axis) == classes, on.reshape(()), off.reshape(()))


def _split(c: IrContext, x: _Numbers, axis: _Numbers, lengths: _Numbers | None = None) -> list[_Numbers]:
    dimension = c.axis(int(axis.reshape(())), x.ndim)
    ends = np.cumsum([port.sizes[dimension] for port in c.layer.outputs])
    return np.split(x, ends[:-1], dimension)


def _slice(c: IrContext, x: _Numbers, *bounds: _Numbers) -> _Numbers:
    axes = bounds[3] if len(bounds) > 3 else np.arange(bounds[0].size)
    chosen = [slice(None)] * x.ndim
    for axis, *each in zip(axes, *bounds[:3], strict=True):
        chosen[c.axis(int(axis), x.ndim)] = slice(*map(int, each))
    return np.asarray(x[tuple(chosen)])


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda c, *arrays: function(*arrays)


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduction(c: IrContext, x: _Numbers, axes: _Numbers) -> Any:
        return function(x, axis=tuple(map(int, axes.reshape(-1))), keepdims=c.layer.flag("keep_dims"))

    return reduction


_PLAIN: dict[str, Callable[..., Any]] = {
    "Abs": np.abs, "Add": np.add, "Ceiling": np.ceil, "Equal": np.equal, "Floor": np.floor, "FloorMod": np.mod,
    "Greater": np.greater, "GreaterEqual": np.greater_equal, "Less": np.less, "LessEqual": np.less_equal,
    "LogicalAnd": np.logical_and, "LogicalNot": np.logical_not, "LogicalOr": np.logical_or,
    "Maximum": np.maximum, "Minimum": np.minimum, "Mod": np.fmod, "Multiply": np.multiply, "Negative": np.negative,
    "NotEqual": np.not_equal, "Power": np.power, "Select": np.where, "Sqrt": np.sqrt, "Subtract": np.subtract,
    "Tile": np.tile, "Transpose": np.transpose,
}  # fmt: skip
_REDUCED: dict[str, Callable[..., Any]] = {
    "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod, "ReduceSum": np.sum,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _plain(function) for name, function in _PLAIN.items()},
    **{name: _reduced(function) for name, function in _REDUCED.items()},
    "Broadcast": _broadcast,
    "Divide": _divided,
    "OneHot": _one_hot,
    "ScatterElementsUpdate": _scattered_elements,
    "ScatterNDUpdate": _scattered_parts,
    "ScatterUpdate": _scattered,
    "Slice": _slice,
    "Split": _split,
    "VariadicSplit": _split,
}


def known(c: IrContext) -> list[_Numbers] | None:
    """Compute a layer's outputs on the host, in their element types; None if the device must compute them."""
    function = _FUNCTIONS.get(c.layer.type)
    if function is None or any(isinstance(value, Tensor) for value in c.values):
        return None
    arrays = [np.asarray(value) for value in c.values]
    # larger arrays are data
    if sum(map(np.size, arrays)) + sum(abs(prod(port.sizes)) for port in c.layer.outputs) > SMALL:
        return None
    try:
        with np.errstate(all="ignore"):
            results = function(c, *arrays)
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise c.error(str(error)) from None
    if results is None:
        return None
    outputs = results if isinstance(results, list) else [results]
    return [np.asarray(output).astype(port.dtype) for output, port in zip(outputs, c.layer.outputs, strict=True)]
