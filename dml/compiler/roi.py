"""Regions of interest: pooled, sampled (ROI_ALIGN), and the gradients of the sampling.

Samples per output are rounded up to a whole number and clamped; a device bounds them as well (``MOST``), for what the
reference leaves unbounded: on CPU drivers, whose loops end after some 65,000 iterations, at 240 along an axis.

Where the reference is silent: a sample up to one element outside the image reads its edge, as in ONNX; nearest rounds
halves down, as the gradient's example does; AlignRegionsToCorners puts the first and the last sample on the region's
ends, whatever OutputPixelOffset says; the regions' gradient is the derivative by their corners, scale included; and
ROI_POOLING rounds halves away from zero and gives 0 for a cell outside the image.
"""

from __future__ import annotations

from typing import Any

from dml.compiler.builder import Builder
from dml.compiler.expression import Leaf
from dml.compiler.kernel import Constant, read, write
from dml.compiler.lowering import lowering
from dml.compiler.pooling import CPU_ITERATIONS, each_result
from dml.compiler.program import Operand
from dml.compiler.reduction import FLOAT_SUM, reduce
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


def _last(operand: Operand, dimensions: int) -> Operand:
    """The last dimensions; those before have size 1."""
    return operand.view(operand.sizes[-dimensions:], operand.strides[-dimensions:])


@lowering(DML_ROI_POOLING_OPERATOR_DESC)
def roi_pooling(desc: DML_ROI_POOLING_OPERATOR_DESC, program: Builder, target: Target) -> None:
    source = program["InputTensor"]
    tensors = {
        "result": write(program["OutputTensor"]),
        "source": read(source),
        "regions": read(_last(program["ROITensor"], 2)),
    }
    # A cell may hold all of the input, but seldom does.
    area = source.sizes[2] * source.sizes[3]
    constants = {"SPATIAL_SCALE": float(desc.SpatialScale)}
    each_result(program, "pooling/roi_pooling.comp", tensors, area, constants, wide_above=CPU_ITERATIONS)


def _sampling(desc: Any, target: Target, pooled: Operand, sizes: tuple[int, ...]) -> dict[str, Constant]:
    """The constants of "pooling/roi.glsl". ROI_ALIGN samples between pixel centres."""
    return {
        "SCALE_X": float(desc.SpatialScaleX),
        "SCALE_Y": float(desc.SpatialScaleY),
        "INPUT_OFFSET": float(getattr(desc, "InputPixelOffset", 0.5)),
        "OUTPUT_OFFSET": float(getattr(desc, "OutputPixelOffset", -0.5)),
        "OUT_OF_BOUNDS": float(getattr(desc, "OutOfBoundsInputValue", 0.0)),
        "MINIMUM": desc.MinimumSamplesPerOutput,
        "MAXIMUM": desc.MaximumSamplesPerOutput,
        "MOST": 240 if target.is_cpu else 4096,
        "ALIGN": bool(getattr(desc, "AlignRegionsToCorners", False)),
        "NEAREST": desc.InterpolationMode == DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
        "OUT_2": pooled.sizes[2],
        "OUT_3": pooled.sizes[3],
        "IN_2": sizes[2],
        "IN_3": sizes[3],
    }


def _regions(program: Builder) -> dict[str, Operand]:
    return {"regions": _last(program["ROITensor"], 2), "batches": _last(program["BatchIndicesTensor"], 1)}


@lowering(DML_ROI_ALIGN_OPERATOR_DESC, DML_ROI_ALIGN1_OPERATOR_DESC)
def roi_align(
    desc: DML_ROI_ALIGN_OPERATOR_DESC | DML_ROI_ALIGN1_OPERATOR_DESC, program: Builder, target: Target
) -> None:
    source, result = program["InputTensor"], program["OutputTensor"]
    program.for_each(
        "pooling/roi_align.comp",
        result,
        {"source": source, **_regions(program)},
        constants={
            **_sampling(desc, target, result, source.sizes),
            "LARGEST": desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX,
        },
        defines={"WINNER": 0},
    )


@lowering(DML_ROI_ALIGN_GRAD_OPERATOR_DESC)
def roi_align_grad(desc: DML_ROI_ALIGN_GRAD_OPERATOR_DESC, program: Builder, target: Target) -> None:
    """Both gradients gather in a fixed order. A maximum passes its gradient to the sample that won."""
    gradient = program["InputGradientTensor"]
    result, edges = program.get("OutputGradientTensor"), program.get("OutputROIGradientTensor")
    source = program.get("InputTensor")
    like = source or result
    assert like is not None
    constants = _sampling(desc, target, gradient, like.sizes)
    winner = None
    if desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX:
        assert source is not None
        winner = program.temporary(DML_TENSOR_DATA_TYPE_UINT32, gradient.sizes)
        tensors = {"source": source, **_regions(program)}
        defines = {"WINNER": 1}
        program.for_each("pooling/roi_align.comp", winner, tensors, constants=constants, defines=defines)
    if result is not None:
        _gather(program, target, gradient, result, winner, constants)
    if edges is not None:
        assert source is not None
        _edges(program, gradient, source, edges, winner, constants)


def _gather(
    program: Builder,
    target: Target,
    gradient: Operand,
    result: Operand,
    winner: Operand | None,
    constants: dict[str, Constant],
) -> None:
    """The input's gradient, in as many dispatches over the regions as a CPU driver's loops ask for."""
    rois, _, height, width = gradient.sizes
    tensors = {"gradient": gradient, **_regions(program)}
    if winner is not None:
        tensors["winner"] = winner
    else:
        # A mean's weights are products of weights along the axes.
        for name, dimension in (("rows", 2), ("columns", 3)):
            sizes = (rois, gradient.sizes[dimension], result.sizes[dimension])
            tensors[name] = program.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
            more = {**constants, "DIMENSION": dimension}
            program.for_each("pooling/roi_weights.comp", tensors[name], _regions(program), constants=more)
    at_once = rois
    if target.is_cpu:
        at_once = min(rois, CPU_ITERATIONS // (height * (width + 1) + 1))
        if at_once == 0:
            raise DMLError(
                f"ROI_ALIGN_GRAD: regions of {height} x {width} outputs, above this CPU device's limit "
                f"{CPU_ITERATIONS} of loop iterations",
                HRESULT.E_OUTOFMEMORY,
            )
    for first in range(0, rois, at_once):
        last = min(first + at_once, rois)
        target_of_part = result
        if last < rois:
            target_of_part = program.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        program.for_each(
            "pooling/roi_grad.comp",
            target_of_part,
            tensors,
            constants={**constants, "FIRST": first, "LAST": last},
            defines={"LARGEST": int(winner is not None)},
        )
        tensors["carry"] = target_of_part


def _edges(
    program: Builder,
    gradient: Operand,
    source: Operand,
    edges: Operand,
    winner: Operand | None,
    constants: dict[str, Constant],
) -> None:
    """The regions' gradient: every output's share first, then their sums."""
    shares = program.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (4, *gradient.sizes))
    tensors = {"source": source, "gradient": gradient, **_regions(program)}
    if winner is not None:
        tensors["winner"] = winner
    program.dispatch(
        "pooling/roi_edges.comp",
        {"shares": write(shares), **{name: read(operand) for name, operand in tensors.items()}},
        space=gradient.sizes,
        constants=constants,
        defines={"LARGEST": int(winner is not None)},
    )
    rois, count = gradient.sizes[0], gradient.count // gradient.sizes[0]
    edges = _last(edges, 2)
    total = edges.view((4, rois, 1), (edges.strides[1], edges.strides[0], 0))
    terms = shares.view((4, rois, count), (rois * count, count, 1))
    reduce(program, FLOAT_SUM, [terms], (2,), [(total, Leaf(0))])
