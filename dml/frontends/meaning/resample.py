"""Resizing: coordinates, nearest neighbours, linear and cubic weights, as graphs of DirectML operators.

DirectML resamples up to four dimensions, nearest or linear, with pixel offsets. What it lacks (cubic interpolation,
regions of interest, weights without what lies outside, more dimensions) is built from other operators: nearest repeats
elements, or gathers slices; linear and cubic multiply each axis by a matrix of weights that depends on sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, prod
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.enums import DML_TENSOR_DIMENSION_COUNT_MAX1
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.shapes import with_size

_FLOAT32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
Numbers = npt.NDArray[np.float64]
#: Transformations of coordinates, by the names that formats give them.
COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
#: Roundings of a coordinate to the nearest element, by the names that formats give them.
ROUNDINGS: dict[str, Callable[[npt.NDArray[Any]], npt.NDArray[Any]]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
#: RESAMPLE's most dimensions.
_RESAMPLED_DIMENSIONS = 4


@dataclass(frozen=True)
class ResampledAxis:
    """How one axis is resized.

    scale: output elements per input element; size * scale may be a fraction above ``output``. mode: one of COORDINATES.
    region: begin and end of what tf_crop_and_resize takes, as fractions of the axis.
    """

    size: int
    output: int
    scale: float
    mode: str
    region: tuple[float, float] = (0.0, 1.0)

    @property
    def is_changed(self) -> bool:
        return self.size != self.output or self.mode == "tf_crop_and_resize"

    @property
    def offsets(self) -> tuple[float, float] | None:
        """DirectML's InputPixelOffset and OutputPixelOffset; None where offsets and a scale do not give the mode."""
        if self.mode in ("half_pixel", "tf_half_pixel_for_nn"):
            return (0.0, -0.5) if self.mode == "tf_half_pixel_for_nn" else (0.5, -0.5)
        if self.mode == "pytorch_half_pixel":
            return (0.5, -0.5) if self.output > 1 else None
        return (0.0, 0.0) if self.mode in ("asymmetric", "align_corners") else None

    @property
    def step(self) -> float:
        """DirectML's Scale."""
        if self.mode == "align_corners":
            return (self.scale * self.size - 1) / (self.size - 1) if self.size > 1 and self.output > 1 else 1e9
        return self.scale

    def coordinates(self) -> Numbers:
        """Return the coordinate of each output element among the input's."""
        size, output = int(self.size), int(self.output)
        x = np.arange(output, dtype=np.float64)
        if self.mode == "half_pixel_symmetric":
            adjustment = output / (self.scale * size)
            return size / 2 * (1 - adjustment) + (x + 0.5) / self.scale - 0.5
        if self.mode == "align_corners":
            return x * (size - 1) / (self.scale * size - 1) if output > 1 else 0 * x
        if self.mode == "pytorch_half_pixel" and output == 1:
            return 0 * x
        if self.mode == "tf_crop_and_resize":
            start, end = self.region
            if output == 1:
                return 0 * x + 0.5 * (start + end) * (size - 1)
            return start * (size - 1) + x * (end - start) * (size - 1) / (output - 1)
        input_offset, output_offset = self.offsets or (0.0, 0.0)
        return (x - output_offset) / self.scale - input_offset


def nearest_elements(
    axis: ResampledAxis, rounding: str, precision: npt.DTypeLike = np.float64
) -> npt.NDArray[np.int64]:
    """Return the input element that each output element takes.

    rounding: one of ROUNDINGS. precision: in which the coordinates are rounded.

    Raises DMLError for another rounding.
    """
    if rounding not in ROUNDINGS:
        raise DMLError(f"nearest_mode must be one of {', '.join(ROUNDINGS)}, found {rounding!r}")
    rounded = ROUNDINGS[rounding](axis.coordinates().astype(precision))
    found: npt.NDArray[np.int64] = np.clip(rounded, 0, int(axis.size) - 1).astype(np.int64)
    return found


def weights(
    axis: ResampledAxis, *, cubic: float | None = None, antialias: bool = False, exclude_outside: bool = False
) -> Numbers:
    """Return {output, input}: the weight of each input element in each output element, linear or cubic.

    Elements at the edge repeat beyond it. cubic: the parameter of Keys' kernel; linear where None. antialias: stretch
    the kernel where the output is smaller. exclude_outside: weights beyond the edge are 0, and the others add up to 1.
    """
    size = int(axis.size)
    made = np.zeros((int(axis.output), size))
    reach = 1.0 if cubic is None else 2.0
    stretch = max(1.0, 1.0 / axis.scale) if antialias else 1.0
    for i, center in enumerate(axis.coordinates().tolist()):
        if antialias:
            taps = np.arange(floor(center - reach * stretch) + 1, ceil(center + reach * stretch))
        else:
            taps = np.arange(floor(center) - int(reach) + 1, floor(center) + int(reach) + 1)
        row = _kernel((taps - center) / stretch, cubic)
        if exclude_outside:
            row = np.where((taps >= 0) & (taps < size), row, 0)
        np.add.at(made[i], np.clip(taps, 0, size - 1), row / row.sum())
    return made


def _kernel(x: Numbers, cubic: float | None) -> Numbers:
    x = np.abs(x)
    if cubic is None:
        return np.maximum(0.0, 1.0 - x)
    near = (cubic + 2) * x**3 - (cubic + 3) * x**2 + 1
    far = cubic * x**3 - 5 * cubic * x**2 + 8 * cubic * x - 4 * cubic
    made: Numbers = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return made


def resampled(
    x: Tensor,
    axes: Sequence[ResampledAxis],
    mode: str,
    rounding: str = "round_prefer_floor",
    *,
    antialias: bool = False,
    exclude_outside: bool = False,
    cubic: float = -0.75,
    outside: float = 0.0,
    precision: npt.DTypeLike = np.float64,
) -> Tensor:
    """Resize a tensor. axes: one for each dimension. mode: nearest, linear or cubic.

    Sums are in FLOAT32; integers are truncated at the end, those of 8 and 16 bits within their range. outside: the
    value beyond the input where tf_crop_and_resize reaches there. The other parameters are those of ``weights`` and
    ``nearest_elements``.

    Raises DMLError for another mode or rounding.
    """
    if mode not in ("nearest", "linear", "cubic"):
        raise DMLError(f"mode must be nearest, linear or cubic, found {mode!r}")
    changed = [at for at, axis in enumerate(axes) if axis.is_changed]
    if not changed:
        return x
    kind = x.desc.dtype
    if mode != "nearest" and kind.kind in "iu":  # rounded once, not along each axis
        made = resampled(
            op.cast(x, _FLOAT32), axes, mode, rounding, antialias=antialias, exclude_outside=exclude_outside,
            cubic=cubic, outside=outside,
        )  # fmt: skip
        return _truncated(made, x)
    plain = mode == "linear" and not antialias and not exclude_outside and kind.itemsize < 8
    if plain and all(axes[at].offsets is not None for at in changed):
        groups = _groups(len(axes), changed)
        if len(groups) <= _RESAMPLED_DIMENSIONS:
            return _by_operator(x, axes, changed, groups)
    if mode == "nearest":
        times = [_times(axis, rounding, precision) if axis.is_changed else 1 for axis in axes]
        if x.rank + len(changed) <= DML_TENSOR_DIMENSION_COUNT_MAX1 and None not in times:
            return _repeated(x, [n or 1 for n in times])
    for at in changed:
        axis = axes[at]
        if mode == "nearest":
            chosen = x.builder.constant(nearest_elements(axis, rounding, precision))
            x = _with_outside(op.gather(x, chosen, at), axis, at, outside)
        else:
            matrix = weights(
                axis, cubic=cubic if mode == "cubic" else None, antialias=antialias, exclude_outside=exclude_outside
            )
            x = _weighted(x, at, matrix, axis, outside)
    return x


def _groups(rank: int, changed: Sequence[int]) -> list[list[int]]:
    """Adjacent dimensions that stay are one group; each that changes is a group of its own."""
    groups: list[list[int]] = []
    for at in range(rank):
        if at in changed or not groups or groups[-1][-1] in changed:
            groups.append([at])
        else:
            groups[-1].append(at)
    return groups


def _by_operator(
    x: Tensor, axes: Sequence[ResampledAxis], changed: Sequence[int], groups: Sequence[Sequence[int]]
) -> Tensor:
    stays = ResampledAxis(1, 1, 1.0, "asymmetric")
    merged = [axes[group[0]] if group[0] in changed else stays for group in groups]
    view = x.reshape(*(prod(x.sizes[at] for at in group) for group in groups))
    sizes = [
        axis.output if group[0] in changed else size
        for axis, group, size in zip(merged, groups, view.sizes, strict=True)
    ]
    offsets = [axis.offsets or (0.0, 0.0) for axis in merged]
    made = op.resample(
        view,
        sizes,
        enums.DML_INTERPOLATION_MODE_LINEAR,
        rounding_direction=enums.DML_AXIS_DIRECTION_INCREASING,
        scales=[axis.step for axis in merged],
        input_pixel_offsets=[own for own, _ in offsets],
        output_pixel_offsets=[other for _, other in offsets],
    )
    return made.reshape(*(axis.output for axis in axes))


def _times(axis: ResampledAxis, rounding: str, precision: npt.DTypeLike) -> int | None:
    """How often each element follows itself where nearest does nothing else along the axis, else None."""
    if axis.size == 0 or axis.output % axis.size or axis.mode == "tf_crop_and_resize":
        return None
    times = axis.output // axis.size
    repeats = nearest_elements(axis, rounding, precision) == np.arange(int(axis.output)) // int(times)
    return times if repeats.all() else None


def _repeated(x: Tensor, times: Sequence[int]) -> Tensor:
    """Repeat each element along each axis: a copy, by the same kernel whatever the sizes are."""
    ones, split, whole = [], [], []
    for size, n in zip(x.sizes, times, strict=True):
        ones += [size] if n == 1 else [size, 1]
        split += [size] if n == 1 else [size, n]
        whole.append(size * n)
    return x.reshape(*ones).broadcast(split).reshape(*whole)


def _with_outside(x: Tensor, axis: ResampledAxis, at: int, outside: float) -> Tensor:
    """Put ``outside`` where the coordinate lies beyond the input, which only a region of interest can reach."""
    if axis.mode != "tf_crop_and_resize":
        return x
    places = axis.coordinates()
    gone = (places < 0) | (places > int(axis.size) - 1)
    if not gone.any():
        return x
    mask = x.builder.constant(gone.reshape(with_size((1,) * x.rank, at, axis.output)))
    return op.if_(mask, x.builder.constant(np.full(1, outside), x.data_type), x)


def _weighted(x: Tensor, at: int, matrix: Numbers, axis: ResampledAxis, outside: float) -> Tensor:
    """Multiply one axis by a matrix of weights, in FLOAT32."""
    order = [*(i for i in range(x.rank) if i != at), at]
    wide = x if x.data_type == _FLOAT32 else op.cast(x, _FLOAT32)
    moved = wide.transpose(*order)
    rows = moved.reshape(moved.desc.element_count // axis.size, axis.size)
    made = op.gemm(rows, x.builder.constant(matrix, _FLOAT32), transpose_b=True, beta=0.0)
    back = made.reshape(*moved.sizes[:-1], axis.output).transpose(*np.argsort(order).tolist())
    back = _with_outside(back, axis, at, outside)
    return back if back.data_type == x.data_type else op.cast(back, x.data_type)


def _truncated(made: Tensor, x: Tensor) -> Tensor:
    """Round toward zero, to x's integers; cubic weights may leave the range of 8 and 16 bits."""
    whole = op.round_(made, enums.DML_ROUNDING_MODE_TOWARD_ZERO)
    if x.desc.dtype.itemsize < 4:
        limits = np.iinfo(x.desc.dtype)
        whole = op.minimum(op.maximum(whole, float(limits.min)), float(limits.max))
    return op.cast(whole, x.data_type)
