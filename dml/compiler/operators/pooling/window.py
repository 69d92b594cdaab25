"""Pooling with a sliding window over the spatial dimensions, and the gradients, which gather.

Every kernel sees {N, C, depth, height, width}; a tensor of four dimensions has depth 1.

Where the reference is silent: a window that has only padding has average 0, the type's lowest value as its maximum and
index -1, which MAX_UNPOOLING ignores like any index beyond its output; of equal indices the last element wins; a
maximum passes NaN through; Lp pooling takes magnitudes, as in ONNX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.prelude import Bound, read, update, write
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.movement.gather import box_code, indexed
from dml.compiler.operators.movement.views import volume
from dml.compiler.operators.pooling.axes import along_axes
from dml.compiler.operators.pooling.boxes import PLANES, BoxKernel, each_result, in_planes
from dml.compiler.operators.reduction.engine import reduce
from dml.compiler.operators.reduction.monoids import FLOAT_SUM, Monoid, largest_of
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.compiler.selection.windows import largest_window
from dml.descriptors import pooling as d
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides


def dilations(desc: Any) -> tuple[int, ...]:
    """Return the window's dilations; 1 for operators without any."""
    found: tuple[int, ...] = getattr(desc, "Dilations", (1,) * len(desc.WindowSize))
    return found


def window(desc: Any) -> dict[str, Constant]:
    """Return the window as constants by spatial axis: WINDOW_0 (depth) to WINDOW_2, STEP_d, DILATION_d and START_d."""
    fields = {"WINDOW": desc.WindowSize, "STEP": desc.Strides, "DILATION": dilations(desc), "START": desc.StartPadding}
    constants: dict[str, Constant] = {}
    for name, values in fields.items():
        if len(values) == 2:
            values = (0 if name == "START" else 1, *values)
        constants.update({f"{name}_{axis}": value for axis, value in enumerate(values)})
    return constants


#: Largest window, in positions, that is unrolled into a separate kernel. On llvmpipe this saves a third of the time
#: of a 3 x 3 maximum, and a fifth of that of the quantized mean and of the sum of magnitudes.
UNROLLED = 16


def unrolled(desc: Any) -> tuple[dict[str, Constant], dict[str, str]]:
    """Return the constants of ``window``, and the sizes of a small window as literals for the kernel's text."""
    constants = window(desc)
    if math.prod(desc.WindowSize) > UNROLLED:
        return constants, {}
    sizes = {name: f"{constants.pop(name)}u" for name in list(constants) if name.startswith("WINDOW_")}
    return constants, sizes


def _reduced(desc: Any, builder: ProgramBuilder, monoid: Monoid, finish: Expression) -> bool:
    """Pool windows that are too large for a workgroup by reductions, which split them further.

    Returns False if windows are small enough, or include padding, which reductions do not support.
    """
    source, result = volume(builder["InputTensor"]), volume(builder["OutputTensor"])
    if math.prod(desc.WindowSize) <= largest_window(builder.target):
        return False
    parameters = {name: int(value) for name, value in window(desc).items()}
    sizes = tuple(parameters[f"WINDOW_{axis}"] for axis in range(3))
    reach = [
        (result.sizes[2 + axis] - 1) * parameters[f"STEP_{axis}"] + (sizes[axis] - 1) * parameters[f"DILATION_{axis}"]
        for axis in range(3)
    ]
    if any(parameters[f"START_{axis}"] or reach[axis] >= source.sizes[2 + axis] for axis in range(3)):
        return False
    steps = [source.strides[2 + axis] * parameters[f"STEP_{axis}"] for axis in range(3)]
    inner = [source.strides[2 + axis] * parameters[f"DILATION_{axis}"] for axis in range(3)]
    windows = source.view((*result.sizes, *sizes), (*source.strides[:2], *steps, *inner))
    found = result.view((*result.sizes, 1, 1, 1), (*result.strides, 0, 0, 0))
    reduce(builder, monoid, [windows], (5, 6, 7), [(found, finish)])
    return True


@lowering(d.DML_AVERAGE_POOLING_OPERATOR_DESC, d.DML_AVERAGE_POOLING1_OPERATOR_DESC, epilogue=Epilogues.ANY)
def average(
    desc: d.DML_AVERAGE_POOLING_OPERATOR_DESC | d.DML_AVERAGE_POOLING1_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    mean = node("divide($x0, $Count)", Leaf(0), includes=[MATH], Count=float(math.prod(desc.WindowSize)))
    if _reduced(desc, builder, FLOAT_SUM, mean):
        return
    source, result = volume(builder["InputTensor"]), volume(builder["OutputTensor"])
    own: dict[str, Constant] = {f"IN_{d}": source.sizes[d] for d in (2, 3, 4)}
    if along_axes(builder, source, result, window(desc), mean={**own, "INCLUDE_PADDING": desc.IncludePadding}):
        return
    constants, sizes = unrolled(desc)
    each_result(
        builder,
        BoxKernel(
            "pooling/average.comp",
            {"result": write(result), "source": read(source)},
            desc.WindowSize,
            {**constants, "INCLUDE_PADDING": desc.IncludePadding},
            sizes,
            split_axes=PLANES,
            slides=True,
        ),
    )


@lowering(d.DML_LP_POOLING_OPERATOR_DESC, d.DML_LP_POOLING1_OPERATOR_DESC, epilogue=Epilogues.ANY)
def lp(desc: d.DML_LP_POOLING_OPERATOR_DESC | d.DML_LP_POOLING1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    constants, sizes = unrolled(desc)
    each_result(
        builder,
        BoxKernel(
            "pooling/lp.comp",
            {"result": write(volume(builder["OutputTensor"])), "source": read(volume(builder["InputTensor"]))},
            desc.WindowSize,
            {**constants, "P": desc.P},
            sizes,
            cost=1 if desc.P == 1 else 3 + desc.P.bit_length(),  # two loops over the window, and one over P's bits
            split_axes=PLANES,
            slides=True,
        ),
    )


@lowering(
    d.DML_MAX_POOLING_OPERATOR_DESC,
    d.DML_MAX_POOLING1_OPERATOR_DESC,
    d.DML_MAX_POOLING2_OPERATOR_DESC,
    epilogue=Epilogues.ANY,
)
def maximum(desc: Any, builder: ProgramBuilder) -> None:
    source, indices = builder["InputTensor"], builder.get("OutputIndicesTensor")
    if indices is None and _reduced(desc, builder, largest_of(DATA_TYPES[source.data_type].kind), Leaf(0)):
        return
    result = volume(builder["OutputTensor"])
    if indices is None and along_axes(builder, volume(source), result, window(desc)):
        return
    tensors = {"result": write(result), "source": read(volume(source))}
    if indices is not None:
        tensors["indices"] = write(volume(indices))
    constants, sizes = unrolled(desc)
    channels = volume(source).sizes[1]
    for (image, channel), part in in_planes(builder, tensors):
        # Indices refer to the whole tensor.
        place = {"IMAGE": image, "CHANNEL": channel, "CHANNELS": channels}
        each_result(
            builder,
            BoxKernel(
                "pooling/max.comp",
                part,
                desc.WindowSize,
                {**constants, **place},
                {"INDICES_ALONE": 0, **sizes},
                slides=True,
            ),
        )


@lowering(d.DML_MAX_UNPOOLING_OPERATOR_DESC)
def max_unpooling(desc: d.DML_MAX_UNPOOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Copy each element to its index. Elements first claim their positions, so that of equal indices the last element
    wins on every device."""
    source, indices, result = builder["InputTensor"], builder["IndicesTensor"], builder["OutputTensor"]
    most, axes = builder.target.max_region, range(result.rank)
    numbers = packed_strides(source.sizes)
    positions = _cut(result.sizes, [result, words(result.sizes, packed_strides(result.sizes))], most)
    elements = _cut(source.sizes, [source, indices], most)
    in_parts = len(positions) > 1 or len(elements) > 1
    for place in positions:
        own_result = narrow(result, axes, place)
        winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, own_result.sizes)
        apply(builder, node("0u", glsl="uint"), winner, [])
        claimed = update(winner.view((winner.count,), (1,)))
        for box in elements:
            own = narrow(indices, axes, box)
            constants, code = _part(result.sizes, winner.strides, place) if in_parts else ({}, "")
            if in_parts:
                constants["NUMBER"] = sum(start * step for (start, _), step in zip(box, numbers, strict=True))
                constants |= {f"NUMBER_{axis}": step for axis, step in enumerate(numbers)}
            tensors = {"winner": claimed, "indices": read(own)}
            builder.dispatch("pooling/claim.comp", tensors, space=own.sizes, constants=constants, code=code)
        for box in elements:
            own = narrow(source, axes, box)
            constants, code = _part(source.sizes, source.strides, box) if in_parts else ({}, "")
            if in_parts:
                constants["KEEPS"] = box is not elements[0]
            builder.for_each(
                "pooling/unpool.comp",
                own_result,
                {"source": own, "winner": winner},
                constants=constants,
                code=code,
                reads_result=in_parts,
            )


def _cut(sizes: Sequence[int], operands: Sequence[Operand], most: int) -> list[Box]:
    """Return the parts of operands of these sizes that fit a binding."""
    return list(boxes(sizes, cut(operands, most, range(len(sizes))) or sizes))


def _part(sizes: Sequence[int], strides: Sequence[int], box: Box) -> tuple[dict[str, Constant], str]:
    """Return constants and GLSL that turn a row-major element number of the whole tensor into a place in its part."""
    extents, pitches, code = indexed(list(zip(sizes, strides, strict=True)))
    more, text = box_code(box)
    return {**extents, **pitches, **more}, code + text


@lowering(d.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC)
def average_grad(desc: d.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _gather(builder, desc, _gradients(builder), {"INCLUDE_PADDING": desc.IncludePadding})


@lowering(d.DML_MAX_POOLING_GRAD_OPERATOR_DESC)
def max_grad(desc: d.DML_MAX_POOLING_GRAD_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Find the winner of each window; then each element gathers the gradients of the windows it won."""
    defines = {"INDICES_ALONE": 1}
    tensors = {**_gradients(builder), "source": read(volume(builder["InputTensor"]))}
    for _, part in in_planes(builder, tensors):
        source = part.pop("source")
        winner = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, part["gradient"].operand.sizes)
        place = {"IMAGE": 0, "CHANNEL": 0, "CHANNELS": source.operand.sizes[1]}
        found = {"result": write(winner), "source": source}
        each_result(builder, BoxKernel("pooling/max.comp", found, desc.WindowSize, {**window(desc), **place}, defines))
        _gather(builder, desc, {**part, "winner": read(winner)}, {})


def _gradients(builder: ProgramBuilder) -> dict[str, Bound]:
    gradient, result = volume(builder["InputGradientTensor"]), volume(builder["OutputGradientTensor"])
    return {"result": write(result), "gradient": read(gradient)}


def _gather(
    builder: ProgramBuilder, desc: Any, tensors: Mapping[str, Bound], constants: Mapping[str, Constant]
) -> None:
    """Gather over each element's box, which holds all windows that may contain the element."""
    gradient = tensors["gradient"].operand
    windows = [
        min((size - 1) * dilation // step + 1, count)
        for size, dilation, step, count in zip(
            desc.WindowSize, dilations(desc), desc.Strides, gradient.sizes[-len(desc.WindowSize) :], strict=True
        )
    ]
    box = {f"BOX_{axis}": size for axis, size in enumerate([1] * (3 - len(windows)) + windows)}
    each_result(
        builder,
        BoxKernel(
            "pooling/grad.comp",
            tensors,
            windows,
            {**window(desc), **box, **constants},
            {"MAXIMUM": int("winner" in tensors)},
            split_axes=PLANES,
        ),
    )


#: Scales and zero points: name in the kernel, and in the descriptor.
_PARAMETERS = {
    "input_scale": "InputScaleTensor",
    "input_zero_point": "InputZeroPointTensor",
    "output_scale": "OutputScaleTensor",
    "output_zero_point": "OutputZeroPointTensor",
}


@lowering(d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC)
def quantized_average(desc: d.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result = volume(builder["OutputTensor"])
    tensors = {"result": write(result), "source": read(volume(builder["InputTensor"]))}
    for name, field in _PARAMETERS.items():
        operand = builder.get(field)
        if operand is not None:
            # One value for the tensor, or one per channel.
            each = operand.view((1,), (0,)) if operand.count == 1 else volume(operand)
            tensors[name] = read(each.broadcast(result.sizes))
    constants, sizes = unrolled(desc)
    each_result(
        builder,
        BoxKernel(
            "pooling/quantized.comp",
            tensors,
            desc.WindowSize,
            {**constants, "INCLUDE_PADDING": desc.IncludePadding},
            sizes,
            split_axes=PLANES,
            slides=True,
        ),
    )
