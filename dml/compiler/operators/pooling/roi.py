"""Regions of interest: pooled, sampled (ROI_ALIGN), and the gradients of the sampling.

Where the reference is silent: a sample up to one element outside the image reads its edge, as in ONNX; nearest rounds
halves down, as the gradient's example does; AlignRegionsToCorners puts the first and the last sample on the region's
ends, regardless of OutputPixelOffset; the regions' gradient is the derivative by their corners, scale included; and
ROI_POOLING rounds halves away from zero and gives 0 for a cell outside the image.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dml.compiler.apply import apply, copy
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import read, update, write
from dml.compiler.loops import ranges, rounds
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import trailing
from dml.compiler.operators.pooling.boxes import BoxKernel, each_result
from dml.compiler.operators.pooling.sampling import PlaceLists, PlaceParts, RegionSampling
from dml.compiler.operators.reduction.engine import VALUE, reduce
from dml.compiler.operators.reduction.monoids import FLOAT_SUM
from dml.compiler.parts import boxes, cut, narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Leaf, node
from dml.compiler.selection import max_steps
from dml.descriptors import pooling as d
from dml.enums import DML_REDUCE_FUNCTION_MAX, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_UINT32

#: Tensors {images or regions, channels, height, width} of the gradients.
_PLANES = ("InputTensor", "InputGradientTensor", "OutputGradientTensor")


@lowering(d.DML_ROI_POOLING_OPERATOR_DESC)
def roi_pooling(desc: d.DML_ROI_POOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source = builder["InputTensor"]
    area = source.sizes[2] * source.sizes[3]
    by_region = {"regions": trailing(builder["ROITensor"], 2)}
    for parts in _in_parts(builder, builder["OutputTensor"], source, by_region):
        for part in parts:
            tensors = {
                "result": (update if part.defines else write)(part.result),
                **{name: read(operand) for name, operand in part.tensors.items()},
            }
            constants = {"SPATIAL_SCALE": float(desc.SpatialScale), **part.constants}
            kernel = BoxKernel(
                "pooling/roi_pooling.comp", tensors, (area,), constants, defines=part.defines, seldom_full=True
            )
            each_result(builder, kernel)


@lowering(d.DML_ROI_ALIGN_OPERATOR_DESC, d.DML_ROI_ALIGN1_OPERATOR_DESC)
def roi_align(desc: d.DML_ROI_ALIGN_OPERATOR_DESC | d.DML_ROI_ALIGN1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    source, result = builder["InputTensor"], builder["OutputTensor"]
    sampling = RegionSampling.of(desc, builder, result, source)
    largest = desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX
    kernel = "pooling/roi_maximum.comp" if largest else "pooling/roi_align.comp"
    _reduce(builder, kernel, result, source, sampling, sampling.places(extremes=largest))


@lowering(d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC)
def roi_align_grad(desc: d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Compute both gradients, for as many channels at a time as fit a binding."""
    planes = {name: found for name in _PLANES if (found := builder.get(name)) is not None}
    gradient, edges = builder["InputGradientTensor"], builder.get("OutputROIGradientTensor")
    channels, most = gradient.sizes[1], builder.target.max_region
    # _winner and _edges use up to four words of temporary memory for each output.
    each = 4 * max(4 * gradient.count, *(operand.count for operand in planes.values())) // channels
    at_once = max(1, most // each)
    if at_once >= channels and all(operand.region.size <= most for operand in planes.values()):
        _gradients(desc, builder)
        return
    before = None
    for first in range(0, channels, at_once):
        box = ((first, min(at_once, channels - first)),)
        own = {name: narrow(operand, (1,), box) for name, operand in planes.items()}
        packed = {name: builder.temporary(operand.data_type, operand.sizes) for name, operand in own.items()}
        for name, operand in own.items():
            if name != "OutputGradientTensor":
                copy(builder, packed[name], operand)
        sums = edges and builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, edges.sizes)
        _gradients(desc, builder.scope({**builder.operands, **packed, "OutputROIGradientTensor": sums}))
        if "OutputGradientTensor" in own:
            copy(builder, own["OutputGradientTensor"], packed["OutputGradientTensor"])
        if edges is not None and sums is not None:
            is_last = first + at_once >= channels
            to = edges if is_last else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, edges.sizes)
            if before is None:
                apply(builder, Leaf(0), to, [sums])
            else:
                apply(builder, node("$x0 + $x1", Leaf(0), Leaf(1)), to, [before, sums])
            before = to


def _gradients(desc: d.DML_ROI_ALIGN_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Compute both gradients by gathering in a fixed order. The gradient of a maximum goes to the winning sample."""
    gradient = builder["InputGradientTensor"]
    result, edges = builder.get("OutputGradientTensor"), builder.get("OutputROIGradientTensor")
    source = builder.get("InputTensor")
    like = source or result
    assert like is not None
    sampling = RegionSampling.of(desc, builder, gradient, like)
    winner = None
    if desc.ReductionFunction == DML_REDUCE_FUNCTION_MAX:
        assert source is not None
        winner = _winner(builder, sampling, source)
    if result is not None:
        _gather(builder, gradient, result, winner, sampling)
    if edges is not None:
        assert source is not None
        _edges(builder, gradient, source, edges, winner, sampling)


def _reduce(
    builder: ProgramBuilder, kernel: str, result: Operand, source: Operand, sampling: RegionSampling, places: PlaceLists
) -> None:
    """Run a kernel that ends in "pooling/roi_reduced.glsl"."""
    parts = places.parts(DATA_TYPES[result.data_type].per_word)
    for of_images in _in_parts(builder, result, source, {"places": places.table, **sampling.batches}):
        own = of_images[0].result
        total = own if parts.count == 1 else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, own.sizes)
        for part in of_images:
            constants = {**parts.constants, **sampling.constants, **part.constants}
            defines: dict[str, object] = {"WINNER": 0, "PARTED": int(parts.count > 1), **part.defines}
            if parts.count > 1:
                _each_part(builder, kernel, ("result", total), part.tensors, own.sizes, parts, constants, defines)
                continue
            builder.for_each(
                kernel,
                own,
                part.tensors,
                constants=constants,
                defines={**defines, "PART": "0u"},
                steps=parts.steps,
                reads_result=bool(part.defines),
            )
        if total is not own:
            apply(builder, Leaf(0), own, [total])


@dataclass(frozen=True)
class _RegionPart:
    """Some regions and channels of a result, and some of the images.

    tensors: their parts, by name. constants, defines: for kernels that bind only some of the images, and write only the
    results of regions in these; empty if they bind all.
    """

    result: Operand
    tensors: dict[str, Operand]
    constants: dict[str, Constant]
    defines: dict[str, object]


def _in_parts(
    builder: ProgramBuilder, result: Operand, source: Operand, by_region: Mapping[str, Operand]
) -> Iterator[list[_RegionPart]]:
    """Yield the parts of a result {ROIs, C, ...} within a binding; for each, one part of the source {N, C, ...} after
    the other."""
    (rois, channels), (images, _) = result.sizes[:2], source.sizes[:2]
    sizes = (rois, channels, images)

    def view(operand: Operand, own: int, *strides: int) -> Operand:
        """View an operand over regions, channels and images instead of its first ``own`` dimensions."""
        return operand.view((*sizes, *operand.sizes[own:]), (*strides, *operand.strides[own:]))

    views = [view(result, 2, *result.strides[:2], 0), view(source, 2, 0, source.strides[1], source.strides[0])]
    views += [view(operand, 1, operand.strides[0], 0, 0) for operand in by_region.values()]
    extents = cut(views, builder.target.max_region, range(3)) or sizes
    is_cut = extents[2] < images
    for regions, own_channels in boxes(sizes[:2], extents[:2]):
        own = narrow(result, (0, 1), (regions, own_channels))
        tensors = {name: narrow(operand, (0,), (regions,)) for name, operand in by_region.items()}
        yield [
            _RegionPart(
                own,
                {"source": narrow(source, (0, 1), (own_images, own_channels)), **tensors},
                {"FIRST_IMAGE": own_images[0], "IMAGES": images} if is_cut else {},
                {"IN_PARTS": 1} if is_cut else {},
            )
            for (own_images,) in boxes((images,), extents[2:])
        ]


def _each_part(
    builder: ProgramBuilder,
    kernel: str,
    found: tuple[str, Operand],
    tensors: Mapping[str, Operand],
    outputs: Sequence[int],
    parts: PlaceParts,
    constants: Mapping[str, Constant],
    defines: Mapping[str, object],
) -> None:
    """Run a kernel over the outputs, once for each part of their positions.

    found: name and index of the operand that passes from one dispatch to the next.
    """
    carried = {found[0]: update(found[1])}
    for part in range(parts.count):
        builder.dispatch(
            kernel,
            {**carried, **{name: read(operand) for name, operand in tensors.items()}},
            space=outputs,
            constants=constants,
            defines=defines,
            push={"PART": part},
            steps=parts.steps,
        )


def _winner(builder: ProgramBuilder, sampling: RegionSampling, source: Operand) -> Operand:
    """Return {3, ...}: the x and y indices of the sample that is each output's maximum, and the maximum's bits."""
    places = sampling.places(extremes=True)
    parts = places.parts()
    winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (3, *sampling.pooled))
    tensors = {"source": source, "places": places.table, **sampling.batches}
    constants = {**sampling.constants, **parts.constants}
    kernel = "pooling/roi_maximum.comp"
    _each_part(builder, kernel, ("winner", winner), tensors, sampling.pooled, parts, constants, {"WINNER": 1})
    return winner


def _gather(
    builder: ProgramBuilder, gradient: Operand, result: Operand, winner: Operand | None, sampling: RegionSampling
) -> None:
    """Compute the input's gradient, in as many dispatches over the regions' outputs as the loop limits need."""
    tensors = {"gradient": gradient, **sampling.batches}
    if winner is not None:
        tensors.update(winner=winner, **sampling.regions)
    else:
        tensors.update(_weights(builder, gradient, result, sampling))
    rois, _, height, width = gradient.sizes
    every = (rois, height, width)
    for part in ranges(every, max_steps(builder.target) // DATA_TYPES[result.data_type].per_word):
        is_last = tuple(end for _, end in part) == every
        to = result if is_last else builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        ends: dict[str, Constant] = {}
        for (begin, end), axis in zip(part, (0, 2, 3), strict=True):
            ends.update({f"FROM_{axis}": begin, f"TO_{axis}": end})
        builder.for_each(
            "pooling/roi_grad.comp",
            to,
            tensors,
            constants={**sampling.constants, **ends},
            defines={"LARGEST": int(winner is not None)},
            steps=rounds([end - begin for begin, end in part]),
        )
        tensors["carry"] = to


def _weights(
    builder: ProgramBuilder, gradient: Operand, result: Operand, sampling: RegionSampling
) -> dict[str, Operand]:
    """Compute the weight of each image row, and of each column, in the outputs. An element's weight in a mean is the
    product of the two."""
    places = sampling.places()
    weights = {}
    for axis, (name, longest) in enumerate((("rows", places.rows), ("columns", places.columns))):
        sizes = (gradient.sizes[0], gradient.sizes[2 + axis], result.sizes[2 + axis])
        weights[name] = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
        constants = {**sampling.constants, "AXIS": axis}
        tensors = {"places": places.table}
        builder.for_each("pooling/roi_weights.comp", weights[name], tensors, constants=constants, steps=longest)
    return weights


def _edges(
    builder: ProgramBuilder,
    gradient: Operand,
    source: Operand,
    edges: Operand,
    winner: Operand | None,
    sampling: RegionSampling,
) -> None:
    """Compute the regions' gradient: first each output's contribution, then their sums."""
    shares = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (4, *gradient.sizes))
    tensors = {"source": source, "gradient": gradient, **sampling.batches}
    parts = PlaceParts()
    if winner is not None:
        tensors.update(winner=winner, **sampling.regions)
    else:
        places = sampling.places(on_elements=True)
        tensors["places"] = places.table
        parts = places.parts()
    constants = {**sampling.constants, **parts.constants}
    defines = {"LARGEST": int(winner is not None)}
    kernel = "pooling/roi_edges.comp"
    _each_part(builder, kernel, ("shares", shares), tensors, gradient.sizes, parts, constants, defines)
    rois, count = gradient.sizes[0], gradient.count // gradient.sizes[0]
    edges = trailing(edges, 2)
    total = edges.view((4, rois, 1), (edges.strides[1], edges.strides[0], 0))
    terms = shares.view((4, rois, count), (rois * count, count, 1))
    reduce(builder, FLOAT_SUM, [terms], (2,), [(total, VALUE)])
