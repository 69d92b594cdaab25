"""Regions of interest in float64 NumPy, one region at a time: maxima of cells, and interpolated samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def half_away(x: float) -> int:
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def pool(x: Array, regions: Array, scale: float, height: int, width: int) -> Array:
    """ROI_POOLING: regions {ROIs, 5}."""
    y = np.zeros((len(regions), x.shape[1], height, width), x.dtype)
    for r, (batch, x1, y1, x2, y2) in enumerate(regions.astype(np.float64)):
        left, top, right, bottom = (half_away(v * scale) for v in (x1, y1, x2, y2))
        rows, columns = bottom - top + 1, right - left + 1
        for oy, ox in np.ndindex(height, width):
            from_y, to_y = oy * rows // height + top, ((oy + 1) * rows + height - 1) // height + top
            from_x, to_x = ox * columns // width + left, ((ox + 1) * columns + width - 1) // width + left
            part = x[int(batch), :, max(from_y, 0) : max(to_y, 0), max(from_x, 0) : max(to_x, 0)]
            if part.size:
                y[r, :, oy, ox] = part.max((1, 2))
    return y


@dataclass(frozen=True)
class Axis:
    """The samples of a region along one axis of an image: an equal number for each output, in order.

    along: each sample's position from the region's low end to its high end. taps: {samples, elements}, the elements'
    weights; 0 outside the image. linear: the weights of linear interpolation, whose gradient is ``slopes``.
    """

    outputs: int
    samples: int
    along: Array
    inside: Array
    taps: Array
    linear: Array
    slopes: Array


@dataclass(frozen=True)
class Sampling:
    """The attributes of ROI_ALIGN1."""

    mean: bool = True
    nearest: bool = False
    scale_x: float = 1.0
    scale_y: float = 1.0
    input_offset: float = 0.5
    output_offset: float = -0.5
    outside: float = 0.0
    minimum: int = 1
    maximum: int = 2**32 - 1
    align: bool = False

    def axis(self, low: float, high: float, outputs: int, size: int) -> Axis:
        """Return the samples along an axis. low, high: the region's ends. size: elements of the image."""
        samples = min(max(math.ceil(abs(high - low) / outputs), self.minimum), self.maximum)
        count = samples * outputs
        if self.align:
            along = np.full(1, 0.5) if count == 1 else np.arange(count) / (count - 1)
        else:
            along = (np.arange(count) - self.output_offset) / count
        x = low + along * (high - low) - self.input_offset
        inside = (x >= -1) & (x <= size)
        x = np.clip(x, 0, size - 1)
        rows, below, above = np.arange(count), np.floor(x).astype(int), np.ceil(x).astype(int)
        linear, slopes, nearest = (np.zeros((count, size)) for _ in range(3))
        linear[rows, above] += x - below
        linear[rows, below] += 1 - (x - below)
        slopes[rows, above] += 1
        slopes[rows, below] -= 1
        nearest[rows, np.maximum(np.ceil(x - 0.5), 0).astype(int)] = 1
        parts = [part * inside[:, None] for part in (nearest if self.nearest else linear, linear, slopes)]
        return Axis(outputs, samples, along, inside.astype(np.float64), *parts)

    def axes(self, region: Array, sizes: tuple[int, int], image: tuple[int, int]) -> tuple[Axis, Axis]:
        """Return the vertical and the horizontal axis. region: x1, y1, x2, y2. sizes: the output's sizes. image: height
        and width."""
        x1, y1, x2, y2 = region.astype(np.float64) * [self.scale_x, self.scale_y, self.scale_x, self.scale_y]
        return self.axis(y1, y2, sizes[0], image[0]), self.axis(x1, x2, sizes[1], image[1])

    def values(self, image: Array, down: Axis, across: Axis) -> Array:
        """Return the samples of an image {C, H, W}: {C, rows, columns, samples of an output}, the samples column by
        column."""
        found = down.taps @ image.astype(np.float64) @ across.taps.T
        found = found + (1 - np.outer(down.inside, across.inside)) * self.outside
        return _by_output(found, down, across)

    def align_regions(self, x: Array, regions: Array, batches: Array, height: int, width: int) -> Array:
        y = np.zeros((len(regions), x.shape[1], height, width))
        for r, region in enumerate(regions):
            image = x[int(batches[r])]
            values = self.values(image, *self.axes(region, (height, width), (x.shape[2], x.shape[3])))
            y[r] = values.mean(-1) if self.mean else values.max(-1)
        return y

    def grad(
        self, x: Array, gradient: Array, regions: Array, batches: Array, *, terms: bool = False
    ) -> tuple[Array, Array]:
        """Return the gradients of the image and of the regions; with ``terms`` the sums of the terms' magnitudes."""
        part: Callable[[Array], Array] = np.abs if terms else np.asarray
        dx, edges = np.zeros(x.shape), np.zeros((len(regions), 4))
        for r, region in enumerate(regions):
            b = int(batches[r])
            image = x[b].astype(np.float64)
            down, across = self.axes(region, (gradient.shape[2], gradient.shape[3]), (x.shape[2], x.shape[3]))
            shares = part(self._shares(image, gradient[r].astype(np.float64), down, across))
            dx[b] += down.taps.T @ shares @ across.taps
            slope_y = shares * (part(down.slopes) @ part(image) @ across.linear.T) * self.scale_y
            slope_x = shares * (down.linear @ part(image) @ part(across.slopes).T) * self.scale_x
            right, low = across.along, down.along[:, None]
            moved = (slope_x * part(1 - right), slope_y * part(1 - low), slope_x * part(right), slope_y * part(low))
            edges[r] = [edge.sum() for edge in moved]
        return dx, edges

    def _shares(self, image: Array, gradient: Array, down: Axis, across: Axis) -> Array:
        """Distribute an output's gradient {C, rows, columns} over its samples {C, samples down, samples across}."""
        values = self.values(image, down, across)
        if self.mean:
            shares = np.full(values.shape, 1 / values.shape[-1])
        else:
            shares = np.zeros(values.shape)
            np.put_along_axis(shares, values.argmax(-1)[..., None], 1, -1)
        return _by_sample(shares * gradient[..., None], down, across)


def _by_output(found: Array, down: Axis, across: Axis) -> Array:
    parts = found.reshape(-1, down.outputs, down.samples, across.outputs, across.samples)
    return parts.transpose(0, 1, 3, 4, 2).reshape(-1, down.outputs, across.outputs, across.samples * down.samples)


def _by_sample(found: Array, down: Axis, across: Axis) -> Array:
    parts = found.reshape(-1, down.outputs, across.outputs, across.samples, down.samples).transpose(0, 1, 4, 2, 3)
    return parts.reshape(-1, down.outputs * down.samples, across.outputs * across.samples)
