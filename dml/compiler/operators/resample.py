"""Resampling along any dimensions, its gradients, and upsampling.

An output element o of a dimension stands at x = (o - OutputPixelOffset) / Scale - InputPixelOffset of the input, in
float32. LINEAR weighs the two neighbours of x, NEAREST_NEIGHBOR takes one; beyond the edges the edge element counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dml import enums
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.loops import ranges, rounds
from dml.compiler.lowering import lowering
from dml.compiler.operators.movement.views import copy, merge_between, raw, split
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection import max_steps
from dml.descriptors import resample as d

NEAREST = enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR


@dataclass(frozen=True)
class Axis:
    """How one dimension is resampled; by default about the centres of the elements."""

    scale: float
    input_offset: float = 0.5
    output_offset: float = -0.5

    @property
    def is_identity(self) -> bool:
        return self.scale == 1 and self.input_offset == -self.output_offset

    @property
    def is_centred(self) -> bool:
        return (self.input_offset, self.output_offset) == (0.5, -0.5)

    @property
    def is_power_of_two(self) -> bool:
        return math.frexp(self.scale)[0] == 0.5 and 2**-60 < self.scale < 2**60


@dataclass(frozen=True)
class Filter:
    """mode, and how NEAREST_NEIGHBOR rounds: "floor", "ceil" or "half_up". antialiased: see ``_wide``."""

    mode: enums.DML_INTERPOLATION_MODE
    rounding: str = "half_up"
    antialiased: bool = False


_DIRECTIONS = {enums.DML_AXIS_DIRECTION_INCREASING: "ceil", enums.DML_AXIS_DIRECTION_DECREASING: "floor"}


def _wide(axis: Axis, kernel: Filter) -> bool:
    """Whether the filter is stretched by 1 / Scale: as the page says, above a factor of 2, and not from 1 on."""
    return kernel.antialiased and kernel.mode != NEAREST and bool(1 / np.float32(axis.scale) > 2)


def _active(result: Operand, source: Operand, axes: Sequence[Axis]) -> list[int]:
    return [at for at, axis in enumerate(axes) if not axis.is_identity or result.sizes[at] != source.sizes[at]]


def _constants(axes: Sequence[Axis]) -> dict[str, Constant]:
    constants: dict[str, Constant] = {}
    for k, axis in enumerate(axes):
        constants[f"SCALE_{k}"] = float(axis.scale)
        constants[f"INVERSE_{k}"] = 1 / float(axis.scale)
        constants[f"INPUT_OFFSET_{k}"] = float(axis.input_offset)
        constants[f"OUTPUT_OFFSET_{k}"] = float(axis.output_offset)
    return constants


def _position(k: int, axis: Axis, element: str) -> str:
    # The quotient by a power of two is a product, on every device.
    by = f"over_power({element}, INVERSE_{k}" if axis.is_power_of_two else f"position({element}, SCALE_{k}"
    return f"{by}, INPUT_OFFSET_{k}, OUTPUT_OFFSET_{k})"


def _resample(builder: ProgramBuilder, result: Operand, source: Operand, axes: Sequence[Axis], kernel: Filter) -> None:
    if kernel.mode == NEAREST:
        result, source = raw(result), raw(source)
        if kernel.rounding == "half_up" and _repeats(result, source, axes):
            repeated = result
            sizes: list[int] = []
            strides: list[int] = []
            for at in reversed(range(source.rank)):
                repeated = split(repeated, at, (source.sizes[at], result.sizes[at] // source.sizes[at]))
                sizes = [source.sizes[at], result.sizes[at] // source.sizes[at], *sizes]
                strides = [source.strides[at], 0, *strides]
            copy(builder, repeated, source.view(tuple(sizes), tuple(strides)))
            return
    active = _active(result, source, axes)
    # A stretched filter sees up to 2 / Scale elements.
    lengths = [2 / axes[at].scale + 3 if _wide(axes[at], kernel) else 1 for at in active]
    lengths = [min(length, source.sizes[at]) for at, length in zip(active, lengths, strict=True)]
    if _one_by_one(builder, _resample, result, source, axes, kernel, dict(zip(active, lengths, strict=True))):
        return
    chosen = [axes[at] for at in active]
    places, (result, source) = merge_between(active, result, source)

    def sampled(to: Operand, *, parted: bool) -> list[str]:
        lines = [f"result_VALUE sampled(uint c[{to.rank}]) {{"]
        if kernel.mode == NEAREST:
            for k, at in enumerate(places):
                lines.append(f"    c[{at}] = nearest({_position(k, chosen[k], f'c[{at}]')}, source_SIZE_{at});")
            lines.append("    return source_load(source_at(c));")
        else:
            lines += _weighted(places, chosen, kernel, parted=parted)
            lines.append("    return finish(sum);" if DATA_TYPES[to.data_type].bits == 8 else "    return sum;")
        return [*lines, "}"]

    _in_parts(builder, result, source, chosen, kernel, math.prod(map(math.ceil, lengths)), sampled, places)


def _in_parts(
    builder: ProgramBuilder,
    result: Operand,
    source: Operand,
    axes: Sequence[Axis],
    kernel: Filter,
    count: int,
    sampled: Callable[..., list[str]],
    places: Sequence[int],
) -> None:
    """Dispatch the kernel: once, or where its one loop has too many rounds, for FROM up to TO of them at a time.

    count: rounds of the innermost loop. sampled: its lines, for the operand it writes. places: the dimensions of
    ``axes``. Sums go from part to part in float32.
    """
    parts = list(ranges((count,), _most_rounds(builder, result)))
    tensors = {"source": source}
    for ((begin, end),) in parts:
        is_last = end == count
        to = result if is_last else builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        builder.for_each(
            "resample/resample.comp",
            to,
            tensors,
            constants=_constants(axes) | ({"FROM": begin, "TO": end} if len(parts) > 1 else {}),
            code="\n".join([_head(kernel), *sampled(to, parted=len(parts) > 1)]),
            steps=end - begin,
            alike=[at for at in range(result.rank) if at not in places],
        )
        tensors["carry"] = to


def _most_rounds(builder: ProgramBuilder, result: Operand) -> int:
    """Of the loops for one element."""
    return max_steps(builder.target) // DATA_TYPES[result.data_type].per_word


def _loop(place: str, range_: str, *, parted: bool) -> str:
    if not parted:
        return f"    for ({place} = {range_}.x; {place} <= {range_}.y; ++{place}) {{"
    return f"    for ({place} = {range_}.x + FROM; {place} <= {range_}.y && {place} - {range_}.x < TO; ++{place}) {{"


#: What a part starts from.
_SUM = "    float sum = 0.0;\n#ifdef carry_VALUE\n    sum = carry_load(carry_at(c));\n#endif"


def _one_by_one(
    builder: ProgramBuilder,
    step: Callable[[ProgramBuilder, Operand, Operand, Sequence[Axis], Filter], None],
    result: Operand,
    source: Operand,
    axes: Sequence[Axis],
    kernel: Filter,
    lengths: Mapping[int, float],
) -> bool:
    """Take one dimension apart from the others, where together they are too much for an invocation's loops.

    lengths: how often the loop over each dimension goes round. The filters are products, so that the order is free.
    Answers False where nothing had to be done, or can be.
    """
    if rounds([math.ceil(length) for length in lengths.values()]) <= _most_rounds(builder, result) or len(lengths) == 1:
        return False
    at = max(lengths, key=lambda axis: lengths[axis])
    sizes = [size if axis == at else source.sizes[axis] for axis, size in enumerate(result.sizes)]
    between = builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    step(builder, between, source, [one if axis == at else Axis(1.0) for axis, one in enumerate(axes)], kernel)
    step(builder, result, between, [Axis(1.0) if axis == at else one for axis, one in enumerate(axes)], kernel)
    return True


def _weighted(places: Sequence[int], axes: Sequence[Axis], kernel: Filter, *, parted: bool) -> list[str]:
    """GLSL that sums the weighted elements: loops over stretched filters, then both neighbours in the other dimensions.

    A weight of zero keeps even an infinity or NaN out.
    """
    lines = [_SUM, "    uint s[RANK] = c;"]
    outer, loops = "1.0", 0
    pairs: list[tuple[int, int]] = []
    for k, (at, axis) in enumerate(zip(places, axes, strict=True)):
        lines.append(f"    float x_{k} = {_position(k, axis, f'c[{at}]')};")
        if not _wide(axis, kernel):
            pairs.append((k, at))
            lines.append(f"    Pair p_{k} = pair(x_{k}, source_SIZE_{at});")
            continue
        lines += [
            f"    Wide f_{k} = wide(x_{k}, SCALE_{k}, source_SIZE_{at});",
            _loop(f"s[{at}]", f"f_{k}.range", parted=parted),
            f"    float w_{k} = {outer} * wide_weight(f_{k}, x_{k}, SCALE_{k}, s[{at}], source_SIZE_{at});",
        ]
        outer, loops = f"w_{k}", loops + 1
    for sides in itertools.product("xy", repeat=len(pairs)):
        lines += [f"    s[{at}] = p_{k}.element.{side};" for (k, at), side in zip(pairs, sides, strict=True)]
        weights = [outer, *(f"p_{k}.weight.{side}" for (k, _), side in zip(pairs, sides, strict=True))]
        lines.append(f"    sum += term({' * '.join(weights)}, float(source_load(source_at(s))));")
    return [*lines, "    " + "}" * loops]


def _repeats(result: Operand, source: Operand, axes: Sequence[Axis]) -> bool:
    """Whether each element is repeated a whole number of times: element o is then that of o // Scale."""
    return all(
        axis.scale * source.sizes[at] == result.sizes[at]
        and float(axis.scale).is_integer()
        and (axis.input_offset, axis.output_offset) == (0.5, -0.5)
        for at, axis in enumerate(axes)
    )


def _head(kernel: Filter) -> str:
    rounds = {"floor": "floor(x)", "ceil": "ceil(x)", "half_up": "floor(x + 0.5)"}[kernel.rounding]
    return f'float round_position(float x) {{ return {rounds}; }}\n#include "resample/filter.glsl"'


def _gradient(builder: ProgramBuilder, result: Operand, source: Operand, axes: Sequence[Axis], kernel: Filter) -> None:
    """Each element of the forward input collects the gradients of the outputs it went into, with their weights."""
    active = _active(result, source, axes)
    # An element has the outputs within 1 of it, those at the edges all beyond as well.
    lengths: dict[int, float] = {}
    for at in active:
        outputs, scaled = source.sizes[at], result.sizes[at] * axes[at].scale
        near = 2 * axes[at].scale + 6 + max(0.0, outputs - scaled) if axes[at].is_centred else outputs
        lengths[at] = min(near, outputs)
    if _one_by_one(builder, _gradient, result, source, axes, kernel, lengths):
        return
    places, (result, source) = merge_between(active, result, source)
    share = "nearest_share" if kernel.mode == NEAREST else "linear_share"

    def sampled(to: Operand, *, parted: bool) -> list[str]:
        lines = [f"float sampled(uint c[{to.rank}]) {{", _SUM, "    uint s[RANK] = c;"]
        weight = "1.0"
        for k, at in enumerate(places):
            offsets = f"SCALE_{k}, INPUT_OFFSET_{k}, OUTPUT_OFFSET_{k}"
            lines += [
                f"    uvec2 range_{k} = outputs_of(c[{at}], {offsets}, result_SIZE_{at}, source_SIZE_{at});",
                _loop(f"s[{at}]", f"range_{k}", parted=parted),
                f"    float x_{k} = {_position(k, axes[active[k]], f's[{at}]')};",
                f"    float w_{k} = {weight} * {share}(x_{k}, c[{at}], result_SIZE_{at});",
                f"    if (w_{k} == 0.0) continue;",
            ]
            weight = f"w_{k}"
        lines += [f"    sum += {weight} * source_load(source_at(s));", "    " + "}" * len(places)]
        return [*lines, "    return sum;\n}"]

    chosen = [axes[at] for at in active]
    rounds = math.prod(math.ceil(lengths[at]) for at in active)
    _in_parts(builder, result, source, chosen, kernel, rounds, sampled, places)


@lowering(d.DML_UPSAMPLE_2D_OPERATOR_DESC)
def upsample_2d(desc: d.DML_UPSAMPLE_2D_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result, source = builder["OutputTensor"], builder["InputTensor"]
    axes = [Axis(1.0)] * (result.rank - 2) + [Axis(desc.ScaleSize.Height), Axis(desc.ScaleSize.Width)]
    _resample(builder, result, source, axes, Filter(desc.InterpolationMode))


@lowering(d.DML_RESAMPLE_OPERATOR_DESC)
def resample(desc: d.DML_RESAMPLE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    axes = [Axis(scale) for scale in desc.Scales]
    _resample(builder, builder["OutputTensor"], builder["InputTensor"], axes, Filter(desc.InterpolationMode))


_WithOffsets = (
    d.DML_RESAMPLE1_OPERATOR_DESC
    | d.DML_RESAMPLE2_OPERATOR_DESC
    | d.DML_RESAMPLE3_OPERATOR_DESC
    | d.DML_RESAMPLE_GRAD_OPERATOR_DESC
    | d.DML_RESAMPLE_GRAD1_OPERATOR_DESC
)


def _read(desc: _WithOffsets) -> tuple[list[Axis], Filter]:
    offsets = zip(desc.Scales, desc.InputPixelOffsets, desc.OutputPixelOffsets, strict=True)
    direction = getattr(desc, "RoundingDirection", None)
    rounding = "half_up" if direction is None else _DIRECTIONS[direction]
    kernel = Filter(desc.InterpolationMode, rounding, getattr(desc, "Antialiased", False))
    return [Axis(*axis) for axis in offsets], kernel


@lowering(d.DML_RESAMPLE1_OPERATOR_DESC, d.DML_RESAMPLE2_OPERATOR_DESC, d.DML_RESAMPLE3_OPERATOR_DESC)
def resample_with_offsets(
    desc: d.DML_RESAMPLE1_OPERATOR_DESC | d.DML_RESAMPLE2_OPERATOR_DESC | d.DML_RESAMPLE3_OPERATOR_DESC,
    builder: ProgramBuilder,
) -> None:
    axes, kernel = _read(desc)
    _resample(builder, builder["OutputTensor"], builder["InputTensor"], axes, kernel)


@lowering(d.DML_RESAMPLE_GRAD_OPERATOR_DESC, d.DML_RESAMPLE_GRAD1_OPERATOR_DESC)
def resample_grad(
    desc: d.DML_RESAMPLE_GRAD_OPERATOR_DESC | d.DML_RESAMPLE_GRAD1_OPERATOR_DESC,
    builder: ProgramBuilder,
) -> None:
    axes, kernel = _read(desc)
    _gradient(builder, builder["OutputGradientTensor"], builder["InputGradientTensor"], axes, kernel)
