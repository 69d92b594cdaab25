"""Resize: coordinates of output elements in the input, and the input elements and weights of each.

ONNX and OpenVINO share these modes. RESAMPLE computes the linear ones from ``ResizedAxis.offsets`` and ``step``;
nearest elements and other weights are tables that depend only on sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.enums import DML_TENSOR_DIMENSION_COUNT_MAX1
from dml.errors import DMLError
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Tensor
from dml.shapes import with_size

_Array = npt.NDArray[Any]

#: Maximum number of output elements along an axis, and of weights: the host computes tables with an entry for each.
LONGEST, _MOST_WEIGHTS = 1 << 24, 1 << 26
#: Number of outputs per band; each band is one matrix product.
_BAND = 16
#: Minimum factor by which bands must shorten the sums.
_LEAST_SAVED = 4

_NEAREST: dict[str, Callable[[_Array], _Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
#: Rules that round a coordinate between two elements to the nearest one.
ROUNDINGS = tuple(_NEAREST)


@dataclass
class ResizedAxis:
    """The resizing of one axis: input coordinate = (output - output offset) / step - input offset.

    size, output: elements before and after. scale: output elements per input element; if a format gives scales, size *
    scale may be fractional. region: start and end of tf_crop_and_resize's region, in [0, 1]. mode: ONNX's name of the
    coordinate transformation.
    """

    size: int
    output: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)
    mode: str = "asymmetric"

    @property
    def offsets(self) -> tuple[float, float] | None:
        """DirectML's InputPixelOffset and OutputPixelOffset; None if a step and two offsets cannot express the mode."""
        if self.mode in ("half_pixel", "tf_half_pixel_for_nn"):
            return (0.0, -0.5) if self.mode == "tf_half_pixel_for_nn" else (0.5, -0.5)
        if self.mode == "pytorch_half_pixel":
            return (0.5, -0.5) if self.output > 1 else (0.0, 0.0)
        return (0.0, 0.0) if self.mode in ("asymmetric", "align_corners") else None

    @property
    def step(self) -> float:
        """Output elements per input element in the mode's definition: RESAMPLE's Scales."""
        if self.mode == "align_corners":
            return (self.scale * self.size - 1) / (self.size - 1) if self.size > 1 and self.output > 1 else 1e9
        if self.mode == "pytorch_half_pixel" and self.output == 1:
            return 1e9
        return self.scale

    def coordinate(self, x: int) -> float:
        """Return the coordinate of output element x in the input."""
        if self.mode == "half_pixel_symmetric":
            adjustment = self.output / (self.scale * self.size)
            return self.size / 2 * (1 - adjustment) + (x + 0.5) / self.scale - 0.5
        if self.mode == "align_corners":
            return x * (self.size - 1) / (self.scale * self.size - 1) if self.output > 1 else 0.0
        if self.mode == "pytorch_half_pixel" and self.output == 1:
            return 0.0
        if self.mode == "tf_crop_and_resize":
            start, end = self.region
            if self.output == 1:
                return 0.5 * (start + end) * (self.size - 1)
            return start * (self.size - 1) + x * (end - start) * (self.size - 1) / (self.output - 1)
        input_offset, output_offset = self.offsets or (0.0, 0.0)
        return (x - output_offset) / self.scale - input_offset

    @property
    def coordinates(self) -> npt.NDArray[np.float64]:
        """Return {output}: the coordinate of each output element. Raises DMLError for more than LONGEST."""
        if self.output > LONGEST:
            raise DMLError(f"resizing to {self.output} elements: more than {LONGEST} along an axis are not supported")
        return np.array([self.coordinate(x) for x in range(int(self.output))], np.float64)


def nearest_elements(axis: ResizedAxis, rounding: str) -> npt.NDArray[np.int64]:
    """Return {output}: the index of each output element's input element. rounding: one of ROUNDINGS.

    Coordinates are first rounded to float32, because the references compute in float32.
    """
    found = _NEAREST[rounding](axis.coordinates.astype(np.float32))
    return np.clip(found, 0, int(axis.size) - 1).astype(np.int64)


def repeats(axis: ResizedAxis, rounding: str) -> int | None:
    """Return how many times mode "nearest" repeats each element; None if the result is not a repetition of every
    element."""
    if axis.size == 0 or axis.output % axis.size or axis.mode == "tf_crop_and_resize":
        return None
    times = axis.output // axis.size
    found = nearest_elements(axis, rounding)
    return times if (found == np.arange(found.size) // int(times)).all() else None


def weights(axis: ResizedAxis, mode: str, antialias: bool, exclude_outside: bool, cubic: float) -> _Array:
    """Return {output, size}: the weight of each input element in each output element.

    mode: linear or cubic. antialias: a smaller output averages all the elements that it covers. exclude_outside:
    elements beyond the edges have no weight; else they repeat the edge. cubic: parameter a of Keys' kernel. Raises
    DMLError for more than _MOST_WEIGHTS.
    """
    size, output = int(axis.size), int(axis.output)
    reach = 2 if mode == "cubic" else 1
    stretch = max(1.0, 1.0 / axis.scale) if antialias else 1.0
    count = ceil(2 * reach * stretch) + 1 if antialias else 2 * reach
    if output * max(size, count) > _MOST_WEIGHTS:
        raise DMLError(f"resizing {size} elements to {output} takes more than {_MOST_WEIGHTS} weights: not supported")
    matrix = np.zeros((output, size))
    centers = axis.coordinates
    lowest = np.floor(centers - reach * stretch) if antialias else np.floor(centers) - reach
    first = lowest.astype(np.int64) + 1
    taps = first[:, None] + np.arange(count)
    values = _kernel((taps - centers[:, None]) / stretch, mode, cubic)
    if exclude_outside:
        values = np.where((taps >= 0) & (taps < size), values, 0)
    values = values / values.sum(1, keepdims=True)
    np.add.at(matrix, (np.arange(output)[:, None], np.clip(taps, 0, size - 1)), values)
    return matrix


def _kernel(x: _Array, mode: str, a: float) -> _Array:
    x = np.abs(x)
    if mode == "linear":
        return np.maximum(0.0, 1.0 - x)
    inner = (a + 2) * x**3 - (a + 3) * x**2 + 1
    outer = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
    return np.where(x <= 1, inner, np.where(x < 2, outer, 0.0))


def resample_groups(rank: int, changed: Sequence[int]) -> list[list[int]] | None:
    """Merge adjacent dimensions that keep their sizes, to at most RESAMPLE's four; None if more remain."""
    groups: list[list[int]] = []
    for index in range(rank):
        if index in changed or not groups or groups[-1][-1] in changed:
            groups.append([index])
        else:
            groups[-1].append(index)
    return groups if len(groups) <= 4 else None


def resampled(
    x: Tensor,
    axes: Mapping[int, ResizedAxis],
    mode: str,
    rounding: str = "round_prefer_floor",
    *,
    antialias: bool = False,
    exclude_outside: bool = False,
    cubic: float = -0.75,
    outside: float = 0.0,
) -> Tensor:
    """Resize a tensor of floats, or of any type if the mode is nearest.

    axes: the resized axes by dimension. mode: nearest, linear or cubic. outside: the value where tf_crop_and_resize
    reaches beyond the input. The other parameters are those of ``weights`` and ``nearest_elements``.
    """
    changed = sorted(axes)
    if mode == "linear" and not antialias and not exclude_outside:
        groups = resample_groups(x.rank, changed)
        if groups is not None and all(axis.offsets is not None for axis in axes.values()):
            return _by_operator(x, axes, groups)
    if mode == "nearest":
        times = [repeats(axes[dimension], rounding) if dimension in axes else 1 for dimension in range(x.rank)]
        if x.rank + len(changed) <= DML_TENSOR_DIMENSION_COUNT_MAX1 and None not in times:
            return _repeated(x, [n or 1 for n in times])
        for dimension in changed:
            x = op.gather(x, x.builder.constant(nearest_elements(axes[dimension], rounding)), dimension)
            x = _with_outside(x, axes[dimension], dimension, outside)
        return x
    result = as_type(x, enums.DML_TENSOR_DATA_TYPE_FLOAT32)
    for dimension in changed:
        result = _weighted(result, dimension, weights(axes[dimension], mode, antialias, exclude_outside, cubic))
        result = _with_outside(result, axes[dimension], dimension, outside)
    return as_type(result, x.data_type)


def _by_operator(x: Tensor, axes: Mapping[int, ResizedAxis], groups: Sequence[Sequence[int]]) -> Tensor:
    """Resize by RESAMPLE2 on merged dimensions."""
    view = x.reshape(*(prod(x.sizes[dimension] for dimension in group) for group in groups))
    stays = [ResizedAxis(size, size, 1.0) for size in view.sizes]
    merged = [axes.get(group[0], own) for group, own in zip(groups, stays, strict=True)]
    offsets = [axis.offsets or (0.0, 0.0) for axis in merged]
    result = op.resample(
        view,
        [axis.output for axis in merged],
        rounding_direction=enums.DML_AXIS_DIRECTION_INCREASING,
        scales=[axis.step for axis in merged],
        input_pixel_offsets=[own for own, _ in offsets],
        output_pixel_offsets=[other for _, other in offsets],
    )
    return result.reshape(
        *(axes[dimension].output if dimension in axes else size for dimension, size in enumerate(x.sizes))
    )


def _repeated(x: Tensor, times: Sequence[int]) -> Tensor:
    """Repeat each element along each axis by a copy: its kernel does not depend on the sizes."""
    ones, split, whole = [], [], []
    for size, n in zip(x.sizes, times, strict=True):
        ones += [size] if n == 1 else [size, 1]
        split += [size] if n == 1 else [size, n]
        whole.append(size * n)
    return x.reshape(*ones).broadcast(split).reshape(*whole)


def _weighted(x: Tensor, dimension: int, matrix: _Array) -> Tensor:
    """Multiply one axis by a matrix of weights {output, size}."""
    output, size = matrix.shape
    starts, reach = _bands(matrix)
    if _LEAST_SAVED * reach <= size:
        return _weighted_in_bands(x, dimension, matrix, starts, reach)
    factor = x.builder.constant(matrix, x.data_type).view((1, 1, output, size))
    before, after = prod(x.sizes[:dimension]), prod(x.sizes[dimension + 1 :])
    if after == 1:
        product = op.gemm(x.reshape(1, 1, before, size), factor, transpose_b=True)
    else:
        flat = x.reshape(1, before, size, after)
        product = op.gemm(factor.broadcast((1, before, output, size)), flat)
    return product.reshape(*with_size(x.sizes, dimension, output))


def _bands(matrix: _Array) -> tuple[npt.NDArray[np.int64], int]:
    """Return the first input element that each band of outputs uses, and a number of elements from there that covers
    the nonzero weights of every band."""
    output, size = matrix.shape
    used = [np.flatnonzero(matrix[start : start + _BAND].any(0)) for start in range(0, output, _BAND)]
    ranges = [(found[0], found[-1] + 1) if found.size else (0, 1) for found in used]
    reach = max(end - first for first, end in ranges)
    return np.array([min(first, size - reach) for first, _ in ranges], np.int64), int(reach)


def _weighted_in_bands(x: Tensor, dimension: int, matrix: _Array, starts: npt.NDArray[np.int64], reach: int) -> Tensor:
    """Do what ``_weighted`` does, with a product per band of outputs: most weights of the matrix are zero."""
    output, size = matrix.shape
    bands = len(starts)
    places = starts[:, None] + np.arange(reach)
    padded = np.pad(matrix, ((0, bands * _BAND - output), (0, 0))).reshape(bands, _BAND, size)
    factor = x.builder.constant(np.take_along_axis(padded, places[:, None], 2), x.data_type)
    before, after = prod(x.sizes[:dimension]), prod(x.sizes[dimension + 1 :])
    taken = op.gather(x.reshape(before, size, after), x.builder.constant(places.ravel()), 1)
    if after == 1:
        lines = taken.reshape(1, before, bands, reach).transpose(0, 2, 1, 3)
        result = op.gemm(lines, factor.reshape(1, *factor.sizes), transpose_b=True).transpose(0, 2, 1, 3)
    else:
        factors = factor.broadcast((before, *factor.sizes))
        result = op.gemm(factors, taken.reshape(before, bands, reach, after))
    result = result.reshape(before, bands * _BAND, after)
    if bands * _BAND > output:
        result = op.slice_(result, (0, 0, 0), (before, output, after))
    return result.reshape(*with_size(x.sizes, dimension, output))


def _with_outside(x: Tensor, axis: ResizedAxis, dimension: int, outside: float) -> Tensor:
    """Write ``outside`` where the coordinate lies beyond the input, which only tf_crop_and_resize allows."""
    if axis.mode != "tf_crop_and_resize":
        return x
    places = axis.coordinates
    is_outside = (places < 0) | (places > int(axis.size) - 1)
    if not is_outside.any():
        return x
    mask = x.builder.constant(is_outside.reshape(with_size((1,) * x.rank, dimension, axis.output)))
    return op.if_(mask, x.builder.constant(np.full(1, outside), x.data_type), x)
