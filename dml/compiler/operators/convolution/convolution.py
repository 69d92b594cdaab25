"""Convolutions: forward and backward (transposed), over one to three dimensions, of floats and of integers.

Every convolution is brought to three spatial dimensions. It then is a product of matrices (1 x 1), a sum kept in
registers over a padded copy of the input (``direct``), the same by fewer products (``winograd``, 3 x 3), or, where none
fits, one invocation per element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.kernels.expression import Expression, Leaf, apply, emit, node, substitute
from dml.compiler.kernels.prelude import VALUE_TYPES, Constant, read, write
from dml.compiler.loops import ranges
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.convolution.parts import Convolved
from dml.compiler.operators.convolution.winograd import winograd, winograd_cost
from dml.compiler.operators.gemm import along_dimension, matmul, quads, requantize, without_zero_point
from dml.compiler.operators.movement.views import volume
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.compiler.target import Target
from dml.descriptors.convolution import (
    DML_CONVOLUTION_INTEGER_OPERATOR_DESC,
    DML_CONVOLUTION_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC,
)
from dml.enums import (
    DML_CONVOLUTION_DIRECTION_BACKWARD,
    DML_CONVOLUTION_MODE_CONVOLUTION,
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT32,
)

Three = tuple[int, int, int]
#: A backward convolution is made of at most this many forward ones, one for each place modulo the strides.
MOST_PHASES = 36
#: Output channels, rows and columns that an invocation of the direct kernel may make.
TILES = ((1, 2, 4, 8, 16), (1, 2, 4, 8), (4, 8, 16))
#: The sums it may keep (fewer where registers are real), and the products that one step of its innermost loop may add:
#: longer code no longer stays in a CPU's instruction cache.
MOST_SUMS, MOST_SUMS_OF_GPUS, MOST_PRODUCTS = 256, 32, 1024


@dataclass(frozen=True)
class Geometry:
    """How windows lie, for depth, height and width. output_padding: results that no window of a forward one makes."""

    strides: Three
    dilations: Three
    padding: Three
    output_padding: Three
    groups: int
    backward: bool = False
    flipped: bool = False

    @staticmethod
    def of(desc: Any) -> Geometry:
        def three(values: tuple[int, ...], missing: int) -> Three:
            z, y, x = (missing,) * (3 - len(values)) + values
            return z, y, x

        return Geometry(
            three(desc.Strides, 1),
            three(desc.Dilations, 1),
            three(desc.StartPadding, 0),
            three(getattr(desc, "OutputPadding", ()), 0),
            desc.GroupCount,
            getattr(desc, "Direction", None) == DML_CONVOLUTION_DIRECTION_BACKWARD,
            getattr(desc, "Mode", None) == DML_CONVOLUTION_MODE_CONVOLUTION,
        )


@dataclass(frozen=True)
class Windows:
    """Windows that move forward over x: for each of three axes, tap j of ``taps`` reads x ``dilations * j`` on, and is
    element ``first + step * j`` of the filter. ``padding`` elements precede x; fewer than none cut it off.
    """

    taps: Three
    first: Three
    step: Three
    strides: Three
    dilations: Three
    padding: Three


def convolve(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    geometry: Geometry,
    finish: Expression,
) -> None:
    """``result = finish(convolution of x with weights + bias)``; the operands have five dimensions.

    Floats accumulate in float32, INT32 modulo 2^32 (then without bias). finish: an expression of Leaf(0), the sum.
    """
    padded = tuple(
        size + 2 * before + count * apart + max(max(tile) for tile in TILES)
        for size, before, count, apart in zip(
            x.sizes[2:], geometry.padding, weights.sizes[2:], geometry.dilations, strict=True
        )
    )
    whole = Convolved(x, weights, bias, result, geometry.groups, geometry.backward)
    for first, *others in whole.parts(builder.target.max_region, padded):
        part = replace(geometry, groups=first.groups)
        if not others:
            _convolve(builder, first.x, first.weights, first.bias, first.result, part, finish)
            continue
        kind, words = _sum_type(result)
        total, more = (builder.temporary(words, first.result.sizes) for _ in range(2))
        _convolve(builder, first.x, first.weights, first.bias, total, part, Leaf(0))
        added = node("$x0 + $x1", Leaf(0), Leaf(1), glsl=kind)
        for other in others:
            last = other is others[-1]
            _convolve(builder, other.x, other.weights, None, more, part, Leaf(0))
            apply(
                builder, substitute(finish, [added]) if last else added, other.result if last else total, [total, more]
            )


def _sum_type(result: Operand) -> tuple[str, DML_TENSOR_DATA_TYPE]:
    """In what the sums for a result are kept: the name in GLSL, and the data type."""
    if VALUE_TYPES[result.data_type].kind == "int":
        return "int", DML_TENSOR_DATA_TYPE_INT32
    return "float", DML_TENSOR_DATA_TYPE_FLOAT32


def _convolve(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    geometry: Geometry,
    finish: Expression,
) -> None:
    groups = geometry.groups
    inputs, outputs = x.sizes[1] // groups, result.sizes[1] // groups
    first, second, *window = weights.strides
    by_group = (inputs * first, second, first) if geometry.backward else (outputs * first, first, second)
    grouped = weights.view((groups, outputs, inputs, *weights.sizes[2:]), (*by_group, *window))
    phases = _phases(weights.sizes[2:], result, geometry)
    if phases is not None:
        if len(phases) == 1 and _as_product(builder, x, grouped, bias, result, phases[0][0], finish):
            return
        plans = [_plan(builder.target, x, grouped, part, windows) for windows, part in phases]
        if len(phases) == 1 and _by_winograd(builder, x, grouped, bias, result, phases[0][0], plans[0], finish):
            return
        if all(plan is not None for plan in plans):
            for (windows, part), plan in zip(phases, plans, strict=True):
                assert plan is not None
                _direct(builder, x, grouped, bias, part, windows, plan, finish)
            return
    _general(builder, x, weights, bias, result, geometry, finish)


def _phases(taps: tuple[int, ...], result: Operand, geometry: Geometry) -> list[tuple[Windows, Operand]] | None:
    """The convolution as windows that move forward, each with the part of result that it makes; None where it is not.

    Backward, the outputs at the same place modulo the stride are made by the same taps of the window: with a stride of
    one, a forward convolution by every so-manieth tap, in reverse.
    """
    strides, dilations, padding = geometry.strides, geometry.dilations, geometry.padding
    if not geometry.backward:
        if any(geometry.output_padding):
            return None
        first: list[int] = [count - 1 if geometry.flipped else 0 for count in taps]
        step = -1 if geometry.flipped else 1
        windows = Windows(_three(taps), _three(first), (step,) * 3, strides, dilations, padding)
        return [(windows, result)]
    if math.prod(strides) > MOST_PHASES:
        return None
    axes: list[list[tuple[int, ...]]] = []
    for d in range(3):
        found: list[tuple[int, ...]] = []
        for place in range(min(strides[d], result.sizes[2 + d])):
            used = [k for k in reversed(range(taps[d])) if (place + padding[d] - k * dilations[d]) % strides[d] == 0]
            if not used:
                return None  # nothing but the bias there
            every = strides[d] // math.gcd(strides[d], dilations[d])
            ahead = (place + padding[d] - used[0] * dilations[d]) // strides[d]
            tap, step = (taps[d] - 1 - used[0], every) if geometry.flipped else (used[0], -every)
            found.append((place, len(used), tap, step, every * dilations[d] // strides[d], -ahead))
        axes.append(found)
    phases = []
    for parts in itertools.product(*axes):
        places, counts, firsts, steps, apart, before = (_three(values) for values in zip(*parts, strict=True))
        sizes = tuple(-(-(result.sizes[2 + d] - places[d]) // strides[d]) for d in range(3))
        between = tuple(result.strides[2 + d] * strides[d] for d in range(3))
        base = sum(result.strides[2 + d] * places[d] for d in range(3))
        part = result.view((*result.sizes[:2], *sizes), (*result.strides[:2], *between), base)
        phases.append((Windows(counts, firsts, steps, (1, 1, 1), apart, before), part))
    return phases


def _three(values: Sequence[int]) -> Three:
    z, y, x = values
    return z, y, x


def _as_product(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    windows: Windows,
    finish: Expression,
) -> bool:
    """A window of one element is a product of matrices, where the spatial dimensions are one in x and in result."""
    ones = (1, 1, 1)
    if (
        windows.taps != ones
        or windows.strides != ones
        or windows.padding != (0, 0, 0)
        or x.sizes[2:] != result.sizes[2:]
    ):
        return False
    places, strides = merge_dimensions(x.sizes[2:], [x.strides[2:], result.strides[2:]])
    if len(places) > 1:
        return False
    count = math.prod(places)
    step_x, step_result = (own[0] if own else 1 for own in strides)
    groups, outputs, inputs = weights.sizes[:3]

    def matrices(tensor: Operand, rows: int, step: int) -> Operand:
        batch, channel = tensor.strides[:2]
        return tensor.view((tensor.sizes[0], groups, rows, count), (batch, rows * channel, channel, step))

    matmul(
        builder,
        weights.view((groups, outputs, inputs), weights.strides[:3]),
        matrices(x, inputs, step_x),
        None if bias is None else bias.view((groups, outputs, 1), (outputs * bias.strides[1], bias.strides[1], 0)),
        matrices(result, outputs, step_result),
        activation=finish,
    )
    return True


def _by_winograd(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    windows: Windows,
    plan: Plan | None,
    finish: Expression,
) -> bool:
    """Windows of 3 x 3 that move by one, where that is cheaper than the direct kernel's plan."""
    groups, outputs, inputs = weights.sizes[:3]
    if (
        groups > 1
        or windows.taps != (1, 3, 3)
        or windows.strides != (1, 1, 1)
        or windows.dilations[1:] != (1, 1)
        or windows.padding[0] != 0
        or x.sizes[2] != result.sizes[2]
        or VALUE_TYPES[result.data_type].kind != "float"
        or winograd_cost(builder.target, inputs, result) >= (math.inf if plan is None else plan.cost)
    ):
        return False
    one = weights.strides
    filters = weights.view((outputs, inputs, 3, 3), (one[1], one[2], *one[-2:]))
    padding, first, step = ((values[1], values[2]) for values in (windows.padding, windows.first, windows.step))
    winograd(builder, x, filters, bias, result, padding, first, step, finish)
    return True


@dataclass(frozen=True)
class Plan:
    """Tiles of the direct kernel (output channels, rows, columns), the padded copy of x, a row's reach in it, cost."""

    channels: int
    rows: int
    columns: int
    padded: tuple[int, ...]
    span: int
    cost: float


def _plan(target: Target, x: Operand, weights: Operand, result: Operand, windows: Windows) -> Plan | None:
    """The cheapest tiles; None where the window is too wide for registers or the copy too large for the device.

    Costs are counted as for matrix products: on a CPU's driver reading four elements costs some 80 multiplications.
    """
    groups, outputs = weights.sizes[:2]
    taps = windows.taps[2]
    depth, height, width = result.sizes[2:]
    best: tuple[float, Plan] | None = None
    steps = x.sizes[1] // groups * windows.taps[0] * windows.taps[1]
    # With the rounds in which the loops around and beside the innermost one begin and end.
    if x.sizes[1] // groups * (2 + windows.taps[0] * (3 + windows.taps[1])) > max_steps(target):
        return None
    for channels, rows, columns in itertools.product(*TILES):
        sums = channels * rows * columns
        if (
            sums > (MOST_SUMS if target.is_cpu else MOST_SUMS_OF_GPUS)
            or sums * taps > MOST_PRODUCTS
            or (channels > 1 and channels >= 2 * outputs)
        ):
            continue
        span = -(-((columns - 1) * windows.strides[2] + (taps - 1) * windows.dilations[2] + 1) // 4) * 4
        tiles_y, tiles_x = -(-height // rows), -(-width // columns)
        invocations = result.sizes[0] * depth * tiles_y * tiles_x * groups * -(-outputs // channels)
        reading = rows * span / 4 + taps * (channels / 4 if channels % 4 == 0 else channels / 2)
        if target.is_cpu:
            cost = max(-(-invocations // target.subgroup_size), 8) * (80 * reading + sums * taps)
        else:
            cost = max(invocations, 4096) * (8 * reading + sums * taps)
        if best is None or cost < best[0]:
            padded = (
                *x.sizes[:2],
                (depth - 1) * windows.strides[0] + (windows.taps[0] - 1) * windows.dilations[0] + 1,
                (tiles_y * rows - 1) * windows.strides[1] + (windows.taps[1] - 1) * windows.dilations[1] + 1,
                (tiles_x - 1) * columns * windows.strides[2] + span,
            )
            best = cost, Plan(channels, rows, columns, padded, span, cost * steps)
    if best is None:
        return None
    tiled = groups * -(-outputs // best[1].channels) * best[1].channels * steps * taps
    return best[1] if 4 * max(math.prod(best[1].padded), tiled) <= target.max_region else None


def _direct(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    windows: Windows,
    plan: Plan,
    finish: Expression,
) -> None:
    """weights: {group, output channel, input channel, window}."""
    kind, words = _sum_type(result)
    groups, outputs, inputs = weights.sizes[:3]
    padded = builder.temporary(words, plan.padded)
    builder.dispatch(
        "convolution/pad.comp",
        {"x": read(x), "result": write(padded, vector=True)},
        space=(*plan.padded[:4], plan.padded[4] // 4),
        constants={f"PADDING_{d}": np.int32(windows.padding[d]) for d in range(3)},
    )
    stage = builder.prepare(weights)
    tiled = stage.temporary(words, (groups * -(-outputs // plan.channels), inputs, *windows.taps, plan.channels))
    stage.for_each(
        "convolution/weights.comp",
        tiled,
        {"filter": weights},
        constants={f"FIRST_{d}": np.int32(windows.first[d]) for d in range(3)}
        | {f"STEP_{d}": np.int32(windows.step[d]) for d in range(3)},
    )
    emitted = emit(finish, [kind], "finish")
    wide = VALUE_TYPES[result.data_type].bits == 32 and quads(result, store=True) == "row"
    tensors = {
        "x": read(padded, vector=True),
        "weights": read(tiled, vector=plan.channels % 4 == 0),
        "result": write(result, vector=wide),
    }
    if bias is not None:
        tensors["bias"] = read(bias)
    constants: dict[str, Constant] = {"GROUPS": groups, "GROUP_OUTPUTS": outputs}
    constants |= {f"MOVE_{d}": windows.strides[d] for d in range(3)}
    constants |= {f"DILATION_{d}": windows.dilations[d] for d in range(3)}
    patches = result.sizes[0] * result.sizes[2] * -(-result.sizes[3] // plan.rows) * -(-result.sizes[4] // plan.columns)
    builder.dispatch(
        "convolution/direct.comp",
        tensors,
        count=patches * tiled.sizes[0],
        workgroup=max(4, min(32, builder.target.subgroup_size)),
        constants={**constants, **emitted.constants},
        defines={
            "TILE_C": f"{plan.channels}u",
            "TILE_Y": f"{plan.rows}u",
            "TILE_X": f"{plan.columns}u",
            "SPAN": f"{plan.span}u",
            "TAPS": f"{windows.taps[2]}u",
            "SUM_IS_INT": int(kind == "int"),
            "WEIGHTS_WIDE": int(plan.channels % 4 == 0),
            "RESULT_WIDE": int(wide),
            "HAS_BIAS": int(bias is not None),
        },
        # No constants: drivers would unroll short loops whose body is long as it is.
        push={"GROUP_INPUTS": inputs, "TAPS_DEEP": windows.taps[0], "TAPS_HIGH": windows.taps[1]},
        code=emitted.code,
        steps=inputs * windows.taps[0] * windows.taps[1],
        each=plan.channels * plan.rows * plan.columns * windows.taps[2],
    )


def _general(
    builder: ProgramBuilder,
    x: Operand,
    weights: Operand,
    bias: Operand | None,
    result: Operand,
    geometry: Geometry,
    finish: Expression,
) -> None:
    """In as many parts as an invocation's loops ask for: each adds its sums to the last one's, in the bias's place."""
    kind, words = _sum_type(result)
    inputs = x.sizes[1] // geometry.groups
    constants: dict[str, Constant] = {"GROUP_INPUTS": inputs, "GROUP_OUTPUTS": result.sizes[1] // geometry.groups}
    for d in range(3):
        constants[f"TAPS_{d}"] = weights.sizes[2 + d]
        constants[f"MOVE_{d}"] = geometry.strides[d]
        constants[f"DILATION_{d}"] = geometry.dilations[d]
        constants[f"PADDING_{d}"] = geometry.padding[d]
        constants[f"LIMIT_{d}"] = result.sizes[2 + d] - (0 if geometry.backward else geometry.output_padding[d])
    # An invocation makes all elements of a word.
    most = max_steps(builder.target) // VALUE_TYPES[result.data_type].per_word
    parts = list(ranges((*weights.sizes[2:], inputs), most))
    sums = [builder.temporary(words, result.sizes) for _ in parts[1:3]]
    added = bias
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        to = result if is_last else sums[number % 2]
        emitted = emit(finish if is_last else Leaf(0), [kind], "finish")
        builder.for_each(
            "convolution/general.comp",
            to,
            {"x": x, "filter": weights} | ({} if added is None else {"bias": added.broadcast(result.sizes)}),
            constants={**constants, **emitted.constants},
            defines={
                "SUM": kind,
                "BACKWARD": int(geometry.backward),
                "FLIPPED": int(geometry.flipped),
                "HAS_BIAS": int(added is not None),
            }
            | {f"FROM_{d}": f"{begin}u" for d, (begin, _) in enumerate(part)}
            | {f"TO_{d}": f"{end}u" for d, (_, end) in enumerate(part)},
            code=emitted.code,
            steps=math.prod(end - begin for begin, end in part),
        )
        added = to


@lowering(DML_CONVOLUTION_OPERATOR_DESC)
def convolution(desc: DML_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    bias = builder.get("BiasTensor")
    convolve(
        builder,
        volume(builder["InputTensor"]),
        volume(builder["FilterTensor"]),
        None if bias is None else volume(bias),
        volume(builder["OutputTensor"]),
        Geometry.of(desc),
        activate(desc.FusedActivation),
    )


@lowering(DML_CONVOLUTION_INTEGER_OPERATOR_DESC)
def convolution_integer(desc: DML_CONVOLUTION_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _integer_sums(desc, builder, builder["OutputTensor"])


def _integer_sums(desc: Any, builder: ProgramBuilder, result: Operand) -> None:
    """The convolution of the input and the filter less their zero points. Padding is a real zero."""
    x = without_zero_point(builder, builder["InputTensor"], builder.get("InputZeroPointTensor"), 1)
    weights = without_zero_point(builder, builder["FilterTensor"], builder.get("FilterZeroPointTensor"), 0)
    x, weights, result = (volume(tensor) for tensor in (x, weights, result))
    convolve(builder, x, weights, None, result, Geometry.of(desc), Leaf(0))


@lowering(DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC)
def quantized_linear_convolution(desc: DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """The bias is in units of InputScale x FilterScale."""
    result = builder["OutputTensor"]
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    _integer_sums(desc, builder, sums)
    input_scale, filter_scale, output_scale = (
        along_dimension(builder[name], result.rank, 1)
        for name in ("InputScaleTensor", "FilterScaleTensor", "OutputScaleTensor")
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, 1)
    scales = (input_scale, filter_scale, output_scale)
    requantize(builder, sums, scales, zero_point, builder.get("BiasTensor"), result, desc.OutputTensor)
