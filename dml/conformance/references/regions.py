"""Regions of interest in float64 NumPy: plain loops over regions, outputs and samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
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


@dataclass
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

    def axis(self, low: float, high: float, outputs: int) -> tuple[int, Callable[[int], tuple[float, float]]]:
        """Samples per output, and of a sample (coordinate, how far along the region)."""
        size = high - low
        samples = min(max(math.ceil(abs(size) / outputs), self.minimum), self.maximum)
        count = samples * outputs

        def place(s: int) -> tuple[float, float]:
            if self.align:
                along = 0.5 if count == 1 else s / (count - 1)
            else:
                along = (s - self.output_offset) / count
            return low + along * size - self.input_offset, along

        return samples, place

    def taps(self, x: float, size: int) -> list[tuple[int, float]] | None:
        """(element, weight) of a coordinate; None outside."""
        if not -1 <= x <= size:
            return None
        x = min(max(x, 0.0), size - 1.0)
        if self.nearest:
            return [(max(math.ceil(x - 0.5), 0), 1.0)]
        low, high = math.floor(x), math.ceil(x)
        return [(low, 1.0 - (x - low)), (high, x - low)] if high > low else [(low, 1.0)]

    def samples(
        self, region: Array, height: int, width: int
    ) -> Iterator[tuple[int, int, list[tuple[tuple[float, float], tuple[float, float]]]]]:
        """(output row, output column, its samples as ((y, along y), (x, along x)))."""
        x1, y1, x2, y2 = region.astype(np.float64) * [self.scale_x, self.scale_y, self.scale_x, self.scale_y]
        down, place_y = self.axis(y1, y2, height)
        across, place_x = self.axis(x1, x2, width)
        for oy, ox in np.ndindex(height, width):
            yield (
                oy,
                ox,
                [(place_y(oy * down + j), place_x(ox * across + i)) for i in range(across) for j in range(down)],
            )

    def value(self, image: Array, y: float, x: float) -> Array:
        """{C} at a place of an image {C, H, W}."""
        rows, columns = self.taps(y, image.shape[1]), self.taps(x, image.shape[2])
        if rows is None or columns is None:
            return np.full(image.shape[0], self.outside)
        terms = [image[:, i, j].astype(np.float64) * (wi * wj) for i, wi in rows for j, wj in columns]
        return np.asarray(np.sum(terms, axis=0))

    def align_regions(self, x: Array, regions: Array, batches: Array, height: int, width: int) -> Array:
        y = np.zeros((len(regions), x.shape[1], height, width))
        for r, region in enumerate(regions):
            for oy, ox, samples in self.samples(region, height, width):
                values = np.stack([self.value(x[batches[r]], sy, sx) for (sy, _), (sx, _) in samples])
                y[r, :, oy, ox] = values.mean(0) if self.mean else values.max(0)
        return y

    def grad(self, x: Array, gradient: Array, regions: Array, batches: Array) -> tuple[Array, Array]:
        """The gradients of the image and of the regions."""
        dx, edges = np.zeros(x.shape), np.zeros((len(regions), 4))
        height, width = gradient.shape[2:]
        for r, region in enumerate(regions):
            for oy, ox, samples in self.samples(region, height, width):
                for c in range(x.shape[1]):
                    image = x[batches[r], c : c + 1]
                    chosen = samples
                    if not self.mean:
                        chosen = [samples[int(np.argmax([self.value(image, y, x)[0] for (y, _), (x, _) in samples]))]]
                    weight = float(gradient[r, c, oy, ox]) / len(chosen)
                    for (sy, down), (sx, right) in chosen:
                        for i, wi in self.taps(sy, x.shape[2]) or []:
                            for j, wj in self.taps(sx, x.shape[3]) or []:
                                dx[batches[r], c, i, j] += weight * wi * wj
                        edges[r] += weight * self._edges(image[0].astype(np.float64), sy, sx, down, right)
        return dx, edges

    def _edges(self, image: Array, y: float, x: float, down: float, right: float) -> Array:
        rows, columns = image.shape
        if not (-1 <= y <= rows and -1 <= x <= columns):
            return np.zeros(4)
        y, x = min(max(y, 0.0), rows - 1.0), min(max(x, 0.0), columns - 1.0)
        top, bottom, left, far = math.floor(y), math.ceil(y), math.floor(x), math.ceil(x)
        fy, fx = y - top, x - left
        slope_y = (1 - fx) * (image[bottom, left] - image[top, left]) + fx * (image[bottom, far] - image[top, far])
        slope_x = (1 - fy) * (image[top, far] - image[top, left]) + fy * (image[bottom, far] - image[bottom, left])
        slope_x, slope_y = slope_x * self.scale_x, slope_y * self.scale_y
        return np.array([slope_x * (1 - right), slope_y * (1 - down), slope_x * right, slope_y * down])


class Grid:
    """One channel's output of one region with its samples as matrices: for more samples than loops are good for."""

    def __init__(self, sampling: Sampling, region: Array, sizes: tuple[int, int], place: tuple[int, ...]) -> None:
        """sizes: the pooled height and width. place: the output's row and column."""
        x1, y1, x2, y2 = region.astype(np.float64) * ([sampling.scale_x, sampling.scale_y] * 2)
        self.sampling = sampling
        self.axes = []
        for low, high, outputs, o in ((y1, y2, sizes[0], place[0]), (x1, x2, sizes[1], place[1])):
            samples, place_of = sampling.axis(low, high, outputs)
            self.axes.append(np.array([place_of(o * samples + i) for i in range(samples)]).T)

    def taps(self, axis: int, size: int, *, slopes: bool = False) -> Array:
        """{samples, size}: what the elements weigh; or the linear interpolation's slope."""
        x = self.axes[axis][0]
        weights = np.zeros((len(x), size))
        inside = (x >= -1) & (x <= size)
        x = np.clip(x, 0, size - 1)
        low, high = np.floor(x).astype(int), np.ceil(x).astype(int)
        if self.sampling.nearest and not slopes:
            low = high = np.maximum(np.ceil(x - 0.5), 0).astype(int)
        rows = np.arange(len(x))
        weights[rows, high] += 1 if slopes else x - np.floor(x)
        weights[rows, low] += -1 if slopes else 1 - (x - np.floor(x))
        return np.asarray(weights * inside[:, None])

    def values(self, image: Array) -> Array:
        """{samples down, samples across} of an image {H, W}."""
        y, x = self.taps(0, image.shape[0]), self.taps(1, image.shape[1])
        return y @ image @ x.T + (1 - np.outer(y.sum(1), x.sum(1))) * self.sampling.outside

    def value(self, image: Array) -> float:
        values = self.values(image.astype(np.float64))
        return float(values.mean() if self.sampling.mean else values.max())

    def grad(self, image: Array) -> tuple[Array, Array]:
        """The gradients of the output by the image and by the region."""
        image = image.astype(np.float64)
        values = self.values(image)
        share = np.full(values.shape, 1 / values.size)
        if not self.sampling.mean:
            share = np.zeros(values.shape)
            share.T.flat[np.argmax(values.T)] = 1  # the first along x, then along y
        y, x = self.taps(0, image.shape[0]), self.taps(1, image.shape[1])
        linear = Grid.__new__(Grid)
        linear.axes, linear.sampling = self.axes, Sampling()
        level_y, level_x = (linear.taps(axis, image.shape[axis]) for axis in range(2))
        slope_y = share * (self.taps(0, image.shape[0], slopes=True) @ image @ level_x.T) * self.sampling.scale_y
        slope_x = share * (level_y @ image @ self.taps(1, image.shape[1], slopes=True).T) * self.sampling.scale_x
        down, right = self.axes[0][1][:, None], self.axes[1][1]
        edges = [slope_x * (1 - right), slope_y * (1 - down), slope_x * right, slope_y * down]
        return y.T @ share @ x, np.array([edge.sum() for edge in edges])
