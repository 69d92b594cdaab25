"""NumPy's indexing of a graph tensor: integers, slices, None and an ellipsis."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from dml.errors import DMLError

if TYPE_CHECKING:
    from dml.graph.builder import Tensor


def indexed(x: Tensor, key: Any) -> Tensor:
    """Return ``x[key]`` by one SLICE1; nothing is computed for the whole tensor.

    Raises DMLError as ``Tensor.__getitem__`` says.
    """
    from dml.graph.operations import slice_

    keys = _expanded(x, key if isinstance(key, tuple) else (key,))
    offsets, windows, steps, sizes = [], [], [], []
    axis = 0
    for item in keys:
        if item is None:
            sizes.append(1)
            continue
        size = x.sizes[axis]
        axis += 1
        if isinstance(item, slice):
            taken = _range(x, item, size)
            low, high = min(taken[0], taken[-1]), max(taken[0], taken[-1])
            offsets.append(low)
            windows.append(high - low + 1)
            steps.append(taken.step if len(taken) > 1 else 1)
            sizes.append(len(taken))
        else:
            index = _index(item)
            if not -size <= index < size:
                raise DMLError(f"index {index} is out of range for a dimension of size {size} of sizes {x.sizes}")
            offsets.append(index % size)
            windows.append(1)
            steps.append(1)
    whole = windows == list(x.sizes) and all(step == 1 for step in steps)
    part = x if whole else slice_(x, offsets, windows, steps)
    return part if tuple(sizes) == part.sizes else part.reshape(*(sizes or (1,)))


def _expanded(x: Tensor, keys: tuple[Any, ...]) -> list[Any]:
    """Return a key for each existing and new dimension, with the ellipsis expanded."""
    dots = [position for position, key in enumerate(keys) if key is Ellipsis]
    given = sum(key is not None and key is not Ellipsis for key in keys)
    if len(dots) > 1 or given > x.rank:
        raise DMLError(f"{len(keys)} indices do not fit sizes {x.sizes}")
    position = dots[0] if dots else len(keys)
    return [*keys[:position], *[slice(None)] * (x.rank - given), *keys[position + 1 :]]


def _range(x: Tensor, key: slice, size: int) -> range:
    try:
        taken = range(*key.indices(size))
    except (TypeError, ValueError) as error:
        raise DMLError(f"{key}: {error}") from None
    if not taken:
        raise DMLError(
            f"{key} selects no elements of a dimension of size {size} of sizes {x.sizes}: tensors cannot be empty"
        )
    return taken


def _index(key: Any) -> int:
    if not isinstance(key, bool):
        try:
            return operator.index(key)
        except TypeError:
            pass
    raise DMLError(
        f"a graph's tensor takes integers, slices, None and ... as indices, found {type(key).__name__}; "
        "operations.gather takes tensors of indices, operations.if_ conditions"
    )
