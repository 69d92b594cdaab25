"""Small integers that shapes are made of, while some of a model's sizes are traced.

An array of them has the dtype object, and its value in the graph that of int64. What is computed of it is computed by
NumPy with Python's operators, number by number, so that the traces go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add, eq, ge, gt, le, lt, mod, mul, sub
from typing import TYPE_CHECKING, Any

import numpy as np

from dml.traced import TracedInt, UntracedError

from .dtypes import BOOL, Array

if TYPE_CHECKING:
    from .node import OnnxNode


def is_traced(array: Array | None) -> bool:
    """Whether some of an array's elements are traced."""
    return array is not None and array.dtype.hasobject and any(type(item) is TracedInt for item in array.reshape(-1))


def of_sizes(sizes: Sequence[int] | int) -> Array:
    """Sizes as an array: of int64 where none is traced."""
    array = np.array(sizes, object)
    return array if is_traced(array) else array.astype(np.int64)


def computed_of_sizes(node: OnnxNode, arrays: Sequence[Array | None]) -> Array:
    """The only output of a node of arrays some of which are traced. Raises UntracedError where it cannot be told."""
    compute = _COMPUTE.get(node.op)
    if (
        compute is None
        or len(node.proto.output) != 1
        or any(a is not None and a.dtype.kind not in "iuObO" for a in arrays)
    ):
        raise UntracedError(f"{node}: its result cannot be traced")
    found: Any = compute(node, *[None if array is None else array.astype(object) for array in arrays])
    made = np.empty(np.shape(found), object)
    made[...] = found
    if is_traced(made):
        return made
    return made.astype(BOOL if node.op in _COMPARISONS else np.int64)


def _pairwise(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda node, *arrays: reduce(np.frompyfunc(function, 2, 1), arrays)


def _quotient(a: Any, b: Any) -> Any:
    """Rounded towards zero."""
    return a // b if (a >= 0) == (b > 0) else -(-a // b)


def _axes(node: OnnxNode, axes: Array | None) -> tuple[int, ...]:
    return tuple(node.attributes.get("axes", ()) if axes is None else axes.reshape(-1).tolist())


def _slice(node: OnnxNode, x: Array, *bounds: Array | None) -> Array:
    if node.version >= 10:
        starts, ends, axes, steps = [None if a is None else list(map(int, a)) for a in (*bounds, None, None)[:4]]
    else:
        starts, ends, axes, steps = (node.attributes.get(name) for name in ("starts", "ends", "axes", "steps"))
    assert starts is not None
    assert ends is not None
    taken = [slice(None)] * x.ndim
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        taken[at if axes is None else axes[at]] = slice(start, end, 1 if steps is None else steps[at])
    return x[tuple(taken)]


def _cast(node: OnnxNode, x: Array) -> Array:
    if node.attributes.get("to") not in (6, 7):  # int32, int64
        raise UntracedError(f"{node}: sizes as other numbers cannot be traced")
    return x


_COMPARISONS: dict[str, Callable[..., Any]] = {
    "Equal": eq, "Less": lt, "LessOrEqual": le, "Greater": gt, "GreaterOrEqual": ge,
}  # fmt: skip
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": add, "Sub": sub, "Mul": mul, "Div": _quotient, "Max": max, "Min": min,
}  # fmt: skip
_COMPUTE: dict[str, Callable[..., Any]] = {
    **{name: _pairwise(function) for name, function in (_COMPARISONS | _ARITHMETIC).items()},
    "Mod": lambda node, a, b: np.frompyfunc(mod, 2, 1)(a, b) if not node.attributes.get("fmod") else _cast(node, a),
    "Identity": lambda node, x: x,
    "Cast": _cast,
    "Concat": lambda node, *arrays: np.concatenate(arrays, node.attributes["axis"]),
    "Gather": lambda node, x, indices: np.take(x, indices.astype(np.int64), node.attributes.get("axis", 0)),
    "ReduceProd": lambda node, x, *axes: (
        reduce(mul, x.reshape(-1)) if not axes and "axes" not in node.attributes else _cast(node, x)
    ),
    "Reshape": lambda node, x, shape: x.reshape([int(size) for size in shape]),
    "Slice": _slice,
    "Squeeze": lambda node, x, axes=None: np.squeeze(x, _axes(node, axes) or None),
    "Unsqueeze": lambda node, x, axes=None: np.expand_dims(x, _axes(node, axes)),
    "Where": lambda node, condition, a, b: np.where(condition.astype(BOOL), a, b),
}
