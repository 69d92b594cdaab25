"""Sampling of regions of interest: lists of the positions where a region's outputs read the image.

The number of samples per output is rounded up to an integer and clamped; it may be in the billions. So samples between
the same elements are summed at once, and maxima are found at both ends of their range (see "pooling/roi_places.comp"):
the input bounds the work. Work that exceeds an invocation's loops is split into further dispatches.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import read, update, write
from dml.compiler.loops import rounds
from dml.compiler.operators.movement.views import trailing
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection import max_steps
from dml.compiler.selection.windows import PLACE_SEARCH, places_at_once, places_parts
from dml.compiler.target import Target
from dml.enums import DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR, DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError

#: Maximum number of dispatches that share the samples of an output.
MOST_PARTS = 1024


@dataclass(frozen=True)
class RegionSampling:
    """The sampling of an image {N, C, height, width} for regions' outputs {ROIs, C, height, width}."""

    builder: ProgramBuilder
    pooled: tuple[int, ...]
    image: tuple[int, ...]
    constants: dict[str, Constant]

    @classmethod
    def of(cls, desc: Any, builder: ProgramBuilder, pooled: Operand, image: Operand) -> RegionSampling:
        """Return a description's sampling. ROI_ALIGN lacks some fields: its coordinates count from pixel centers, and
        it reads zeros outside the image."""
        constants: dict[str, Constant] = {
            "SCALE_X": float(desc.SpatialScaleX),
            "SCALE_Y": float(desc.SpatialScaleY),
            "INPUT_OFFSET": float(getattr(desc, "InputPixelOffset", 0.5)),
            "OUTPUT_OFFSET": float(getattr(desc, "OutputPixelOffset", -0.5)),
            "OUT_OF_BOUNDS": float(getattr(desc, "OutOfBoundsInputValue", 0.0)),
            "MINIMUM": desc.MinimumSamplesPerOutput,
            "MAXIMUM": desc.MaximumSamplesPerOutput,
            "ALIGN": bool(getattr(desc, "AlignRegionsToCorners", False)),
            "NEAREST": desc.InterpolationMode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
            "OUT_2": pooled.sizes[2],
            "OUT_3": pooled.sizes[3],
            "IN_2": image.sizes[2],
            "IN_3": image.sizes[3],
        }
        return cls(builder, pooled.sizes, image.sizes, constants)

    @property
    def regions(self) -> dict[str, Operand]:
        return {"regions": trailing(self.builder["ROITensor"], 2)}

    @property
    def batches(self) -> dict[str, Operand]:
        return {"batches": trailing(self.builder["BatchIndicesTensor"], 1)}

    def places(self, *, extremes: bool = False, on_elements: bool = False) -> PlaceLists:
        """Compute the outputs' sample positions, in one dispatch or several.

        extremes: the first and the last sample of each cell, else the mean of its samples. on_elements: samples exactly
        on elements are kept separate from those between elements, where interpolation is linear. Raises DMLError if a
        list may be longer than an invocation's loops on this device.
        """
        constants, words, longest = self._lists(2 if extremes or on_elements else 1, 2 if extremes else 1)
        limit = max_steps(self.builder.target)
        if max(longest) > limit:
            raise DMLError(
                f"ROI_ALIGN: an output samples up to {max(longest)} positions along an axis of its input of "
                f"{self.image[2]} x {self.image[3]}, above this device's limit {limit}",
                HRESULT.E_OUTOFMEMORY,
            )
        table = self.builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (self.pooled[0], words))
        at_once = places_at_once(self.builder.target)
        constants = {**self.constants, **constants, "AT_ONCE": at_once}
        if on_elements:
            constants["NEAREST"] = False
        parts = in_parts([table, *self.regions.values()], self.builder.target.max_region, (0,))
        for (places, *regions), first in itertools.product(parts, range(0, max(longest), at_once)):
            bound = {name: read(operand) for name, operand in zip(self.regions, regions, strict=True)}
            self.builder.dispatch(
                "pooling/roi_places.comp",
                {"places": update(places) if first else write(places), **bound},
                space=(places.sizes[0], self.pooled[2] + self.pooled[3]),
                constants=constants,
                defines={
                    "EXTREMES": int(extremes),
                    "ON_ELEMENTS": int(on_elements),
                    "IS_FIRST": int(first == 0),
                    "IS_LAST": int(first + at_once >= max(longest)),
                },
                steps=PLACE_SEARCH * min(at_once, max(longest)),
            )
        return PlaceLists(self.builder.target, table, *longest)

    def _lists(self, per_cell: int, per_output: int) -> tuple[dict[str, Constant], int, tuple[int, int]]:
        """Return constants for the lists' layout, the words of a region's lists, and the length of the longest list
        along each axis.

        per_cell: number of list entries per cell of the image. per_output: number of additional entries per output,
        because outputs may share their first and last cells with others.
        """
        most = int(self.constants["MAXIMUM"])
        constants: dict[str, Constant] = {"PER_CELL": float(per_cell), "PER_OUTPUT": per_output}
        words = 3 * (self.pooled[2] + self.pooled[3])
        longest = []
        for axis in (2, 3):
            cells = per_cell * (self.image[axis] + 3)  # cells from -2 to size + 1 need size + 3 entries
            room = cells + per_output * self.pooled[axis]
            by_cells = room < most * self.pooled[axis]
            constants[f"LISTS_{axis}"] = words
            constants[f"CELLS_{axis}"] = by_cells
            words += 4 * (room if by_cells else most * self.pooled[axis])
            longest.append(min(cells + per_output, most))
        return constants, words, (longest[0], longest[1])


@dataclass(frozen=True)
class PlaceParts:
    """How dispatches divide a walk along lists of positions: their number, the steps of each, and their constants."""

    count: int = 1
    steps: int = 1
    constants: Mapping[str, Constant] = field(default_factory=dict)


@dataclass(frozen=True)
class PlaceLists:
    """The lists of positions (see "pooling/places.glsl"), and the maximum length of one output's lists."""

    target: Target
    table: Operand
    rows: int
    columns: int

    def parts(self, outputs: int = 1) -> PlaceParts:
        """Split the walk for invocations that walk the lists of ``outputs`` outputs each.

        Raises DMLError if that takes more than MOST_PARTS dispatches.
        """
        down, across = places_parts(self.target, self.rows, self.columns, outputs)
        if down * across > MOST_PARTS:
            raise DMLError(
                f"ROI_ALIGN: an output may sample its input at {self.rows} x {self.columns} positions, "
                f"{down * across} dispatches on this device, above the limit {MOST_PARTS}",
                HRESULT.E_OUTOFMEMORY,
            )
        constants = {"PARTS_Y": down, "PARTS_X": across, "LIGHT": max_steps(self.target)}
        return PlaceParts(down * across, rounds((-(-self.columns // across), -(-self.rows // down))), constants)
