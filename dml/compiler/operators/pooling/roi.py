"""Regions of interest: pooled, sampled (ROI_ALIGN), and the gradients of the sampling.

Samples per output are rounded up to a whole number and clamped. There may be billions: samples between the same
elements are summed at once, and maxima looked for at their ends (see "pooling/roi_places.comp"), so that the work is
bounded by the input. What of that an invocation's loops do not hold goes to further dispatches.

Where the reference is silent: a sample up to one element outside the image reads its edge, as in ONNX; nearest rounds
halves down, as the gradient's example does; AlignRegionsToCorners puts the first and the last sample on the region's
ends, whatever OutputPixelOffset says; the regions' gradient is the derivative by their corners, scale included; and
ROI_POOLING rounds halves away from zero and gives 0 for a cell outside the image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.expression import Leaf, apply
from dml.compiler.kernels.prelude import VALUE_TYPES, Constant, read, update, write
from dml.compiler.loops import ranges
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import trailing
from dml.compiler.operators.pooling.pooling import each_result
from dml.compiler.operators.reduction.reduction import FLOAT_SUM, reduce
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.compiler.target import Target
from dml.descriptors.pooling import (
    DML_ROI_ALIGN1_OPERATOR_DESC,
    DML_ROI_ALIGN_GRAD_OPERATOR_DESC,
    DML_ROI_ALIGN_OPERATOR_DESC,
    DML_ROI_POOLING_OPERATOR_DESC,
)
from dml.enums import (
    DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
    DML_REDUCE_FUNCTION_MAX,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_UINT32,
)
from dml.errors import HRESULT, DMLError

#: Dispatches that share the samples of an output, at most.
_MOST_PARTS = 1024
#: A cell of ROI_POOLING may hold all of the input, but seldom does: inputs of more elements have a workgroup for each.
_WIDE_ABOVE = 60000
#: Steps in which the next place of a list is found, on average.
_SEARCH = 12


@lowering(DML_ROI_POOLING_OPERATOR_DESC)
def roi_pooling(desc: DML_ROI_POOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    tensors = {
        "result": write(builder["OutputTensor"]),
        "source": read(source),
        "regions": read(trailing(builder["ROITensor"], 2)),
    }
    area = source.sizes[2] * source.sizes[3]
    constants = {"SPATIAL_SCALE": float(desc.SpatialScale)}
    each_result(builder, "pooling/roi_pooling.comp", tensors, area, constants, wide_above=_WIDE_ABOVE)


@dataclass(frozen=True)
class _Sampling:
    """How the outputs {ROIs, C, height, width} of regions sample an image {N, C, height, width}."""

    builder: ProgramBuilder
    pooled: tuple[int, ...]
    image: tuple[int, ...]
    constants: dict[str, Constant]

    @classmethod
    def of(cls, desc: Any, builder: ProgramBuilder, pooled: Operand, image: Operand) -> _Sampling:
        """ROI_ALIGN samples between pixel centres."""
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

    def places(self, *, extremes: bool = False, on_elements: bool = False) -> _Places:
        """Where the outputs are sampled, by a dispatch.

        extremes: the first and the last sample of each cell, else the mean of its samples. on_elements: samples on
        elements apart from those between, all of them linear.
        """
        per_cell, per_output = 2 if extremes or on_elements else 1, 2 if extremes else 1
        most = int(self.constants["MAXIMUM"])
        constants: dict[str, Constant] = {"PER_CELL": float(per_cell), "PER_OUTPUT": per_output}
        words = 3 * (self.pooled[2] + self.pooled[3])
        longest = []
        for axis in (2, 3):
            # From -2, outside, to the size + 1; what an output has beside its cells is for those that it shares.
            cells = per_cell * (self.image[axis] + 3)
            room = cells + per_output * self.pooled[axis]
            by_cells = room < most * self.pooled[axis]
            constants[f"LISTS_{axis}"] = words
            constants[f"CELLS_{axis}"] = by_cells
            words += 4 * (room if by_cells else most * self.pooled[axis])
            longest.append(min(cells + per_output, most))
        limit = max_steps(self.builder.target)
        if max(longest) > limit:
            raise DMLError(
                f"ROI_ALIGN: up to {max(longest)} places along an axis at which an output samples its input of "
                f"{self.image[2]} x {self.image[3]}, above this device's limit {limit}",
                HRESULT.E_OUTOFMEMORY,
            )
        table = self.builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (self.pooled[0], words))
        at_once = max(1, limit // _SEARCH)
        constants["AT_ONCE"] = at_once
        for first in range(0, max(longest), at_once):
            is_last = first + at_once >= max(longest)
            self.builder.dispatch(
                "pooling/roi_places.comp",
                {
                    "places": update(table) if first else write(table),
                    **{name: read(operand) for name, operand in self.regions.items()},
                },
                space=(self.pooled[0], self.pooled[2] + self.pooled[3]),
                constants={**self.constants, **constants, **({"NEAREST": False} if on_elements else {})},
                defines={
                    "EXTREMES": int(extremes),
                    "ON_ELEMENTS": int(on_elements),
                    "IS_FIRST": int(first == 0),
                    "IS_LAST": int(is_last),
                },
                steps=_SEARCH * min(at_once, max(longest)),
            )
        return _Places(self.builder.target, table, longest[0], longest[1])


@dataclass(frozen=True)
class _Places:
    """The lists of places (see "pooling/places.glsl"), and how long those of one output may be."""

    target: Target
    table: Operand
    rows: int
    columns: int

    def parts(self, outputs: int = 1) -> tuple[int, int, dict[str, Constant]]:
        """In how many dispatches to walk the lists of an invocation's outputs, their steps, and their constants."""
        most, parts = max_steps(self.target), [1, 1]
        while self._steps(parts) * outputs > most:
            rows, columns = -(-self.rows // parts[0]), -(-self.columns // parts[1])
            parts[int(columns > rows)] *= 2
        if math.prod(parts) > _MOST_PARTS:
            raise DMLError(
                f"ROI_ALIGN: an output may have {self.rows} x {self.columns} places at which it samples its input, "
                f"{math.prod(parts)} dispatches on this device, above the limit {_MOST_PARTS}",
                HRESULT.E_OUTOFMEMORY,
            )
        steps = -(-self.columns // parts[1]) * -(-self.rows // parts[0])
        return math.prod(parts), steps, {"PARTS_Y": parts[0], "PARTS_X": parts[1], "LIGHT": most}

    def _steps(self, parts: Sequence[int]) -> int:
        return -(-self.columns // parts[1]) * (-(-self.rows // parts[0]) + 2)


def _reduced(
    builder: ProgramBuilder, kernel: str, result: Operand, source: Operand, sampling: _Sampling, places: _Places
) -> None:
    """Run a kernel that ends in "pooling/roi_reduced.glsl"."""
    tensors = {"source": source, "places": places.table, **sampling.batches}
    count, steps, constants = places.parts(VALUE_TYPES[result.data_type].per_word)
    constants.update(sampling.constants)
    defines: dict[str, object] = {"WINNER": 0, "PARTED": int(count > 1)}
    if count == 1:
        defines["PART"] = "0u"
        builder.for_each(kernel, result, tensors, constants=constants, defines=defines, steps=steps)
        return
    total = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
    bound = {"result": update(total), **{name: read(operand) for name, operand in tensors.items()}}
    for part in range(count):
        builder.dispatch(
            kernel,
            bound,
            space=result.sizes,
            constants=constants,
            defines=defines,
            push={"PART": part},
            steps=steps,
        )
    apply(builder, Leaf(0), result, [total])


@lowering(DML_ROI_ALIGN_OPERATOR_DESC, DML_ROI_ALIGN1_OPERATOR_DESC)
def roi_align(desc: DML_ROI_ALIGN_OPERATOR_DESC | DML_ROI_ALIGN1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    sampling = _Sampling.of(desc, builder, result, source)
    largest = desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX
    kernel = "pooling/roi_maximum.comp" if largest else "pooling/roi_align.comp"
    _reduced(builder, kernel, result, source, sampling, sampling.places(extremes=largest))


@lowering(DML_ROI_ALIGN_GRAD_OPERATOR_DESC)
def roi_align_grad(desc: DML_ROI_ALIGN_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Both gradients gather in a fixed order. A maximum passes its gradient to the sample that won."""
    gradient = builder["InputGradientTensor"]
    result, edges = builder.get("OutputGradientTensor"), builder.get("OutputROIGradientTensor")
    source = builder.get("InputTensor")
    like = source or result
    assert like is not None
    sampling = _Sampling.of(desc, builder, gradient, like)
    winner = None
    if desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX:
        assert source is not None
        winner = _winner(builder, sampling, source)
    if result is not None:
        _gather(builder, builder.target, gradient, result, winner, sampling)
    if edges is not None:
        assert source is not None
        _edges(builder, gradient, source, edges, winner, sampling)


def _winner(builder: ProgramBuilder, sampling: _Sampling, source: Operand) -> Operand:
    """{3, ...}: the numbers x and y of the sample that is each output's maximum, and its bits."""
    places = sampling.places(extremes=True)
    count, steps, constants = places.parts()
    winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (3, *sampling.pooled))
    tensors = {"source": source, "places": places.table, **sampling.batches}
    for part in range(count):
        builder.dispatch(
            "pooling/roi_maximum.comp",
            {"winner": update(winner), **{name: read(operand) for name, operand in tensors.items()}},
            space=sampling.pooled,
            constants={**sampling.constants, **constants},
            defines={"WINNER": 1},
            push={"PART": part},
            steps=steps,
        )
    return winner


def _gather(
    builder: ProgramBuilder,
    target: Target,
    gradient: Operand,
    result: Operand,
    winner: Operand | None,
    sampling: _Sampling,
) -> None:
    """The input's gradient, in as many dispatches over the regions' outputs as an invocation's loops ask for."""
    rois, _, height, width = gradient.sizes
    tensors = {"gradient": gradient, **sampling.batches}
    constants = sampling.constants
    if winner is not None:
        tensors.update(winner=winner, **sampling.regions)
    else:
        # A mean's weights are products of weights along the axes.
        places = sampling.places()
        for axis, name in enumerate(("rows", "columns")):
            sizes = (rois, gradient.sizes[2 + axis], result.sizes[2 + axis])
            tensors[name] = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
            more = {**constants, "AXIS": axis}
            builder.for_each(
                "pooling/roi_weights.comp",
                tensors[name],
                {"places": places.table},
                constants=more,
                steps=(places.rows, places.columns)[axis],
            )
    every = (rois, height, width)
    for part in ranges(every, max_steps(target) // VALUE_TYPES[result.data_type].per_word):
        is_last = tuple(end for _, end in part) == every
        to = result if is_last else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        ends: dict[str, Constant] = {}
        for (begin, end), axis in zip(part, (0, 2, 3), strict=True):
            ends.update({f"FROM_{axis}": begin, f"TO_{axis}": end})
        builder.for_each(
            "pooling/roi_grad.comp",
            to,
            tensors,
            constants={**constants, **ends},
            defines={"LARGEST": int(winner is not None)},
            steps=math.prod(end - begin for begin, end in part),
        )
        tensors["carry"] = to


def _edges(
    builder: ProgramBuilder,
    gradient: Operand,
    source: Operand,
    edges: Operand,
    winner: Operand | None,
    sampling: _Sampling,
) -> None:
    """The regions' gradient: every output's share first, then their sums."""
    shares = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (4, *gradient.sizes))
    tensors = {"source": source, "gradient": gradient, **sampling.batches}
    parts, steps, constants = 1, 1, dict(sampling.constants)
    if winner is not None:
        tensors.update(winner=winner, **sampling.regions)
    else:
        places = sampling.places(on_elements=True)
        tensors["places"] = places.table
        parts, steps, more = places.parts()
        constants.update(more)
    for part in range(parts):
        builder.dispatch(
            "pooling/roi_edges.comp",
            {"shares": update(shares), **{name: read(operand) for name, operand in tensors.items()}},
            space=gradient.sizes,
            constants=constants,
            defines={"LARGEST": int(winner is not None)},
            push={"PART": part},
            steps=steps,
        )
    rois, count = gradient.sizes[0], gradient.count // gradient.sizes[0]
    edges = trailing(edges, 2)
    total = edges.view((4, rois, 1), (edges.strides[1], edges.strides[0], 0))
    terms = shares.view((4, rois, count), (rois * count, count, 1))
    reduce(builder, FLOAT_SUM, [terms], (2,), [(total, Leaf(0))])
