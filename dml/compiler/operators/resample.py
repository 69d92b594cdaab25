"""Resampling along any dimensions, its gradients, and upsampling.

An output element o of a dimension is at x = (o - OutputPixelOffset) / Scale - InputPixelOffset of the input, in
float32. LINEAR weights the two neighbors of x, NEAREST_NEIGHBOR takes one; beyond the edges the edge element repeats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dml import enums
from dml.compiler.apply import apply, raw
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.loops import ranges, rounds
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.movement.views import merge_between, split
from dml.compiler.parts import Box, cut, in_reach, within_whole
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Leaf
from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import keeps_loops
from dml.descriptors import resample as d

NEAREST = enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR


@dataclass(frozen=True)
class AxisScale:
    """The resampling of one dimension; by default relative to the elements' centers."""

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
        """Whether the scale is a power of two well inside float32's range, so that its inverse, and products with it,
        are exact."""
        return math.frexp(self.scale)[0] == 0.5 and 2**-60 < self.scale < 2**60


@dataclass(frozen=True)
class Filter:
    """Interpolation filter. mode: linear or nearest. rounding: "floor", "ceil" or "half_up", for NEAREST_NEIGHBOR.
    antialiased: see ``_is_wide``."""

    mode: enums.DML_INTERPOLATION_MODE
    rounding: str = "half_up"
    antialiased: bool = False


@dataclass(frozen=True)
class Resampling:
    """A tensor resampled into another. ``axes[k]`` describes how dimension ``places[k]`` is resampled; the others are
    unchanged.

    starts, whole: if ``result`` is only a part of the whole result, the part's first element and the whole's size along
    each axis; else empty.
    """

    result: Operand
    source: Operand
    axes: tuple[AxisScale, ...]
    kernel: Filter
    places: tuple[int, ...]
    starts: tuple[int, ...] = ()
    whole: tuple[int, ...] = ()

    @staticmethod
    def of(result: Operand, source: Operand, axes: Sequence[AxisScale], kernel: Filter) -> Resampling:
        """Return the resampling, given an AxisScale for every dimension; dimensions that do not change are left out."""
        chosen = [
            (place, axis)
            for place, axis in enumerate(axes)
            if not axis.is_identity or result.sizes[place] != source.sizes[place]
        ]
        return Resampling(result, source, tuple(a for _, a in chosen), kernel, tuple(p for p, _ in chosen))

    def merged(self) -> Resampling:
        """Merge the unchanged dimensions."""
        places, (result, source) = merge_between(self.places, self.result, self.source)
        return replace(self, result=result, source=source, places=places)

    def along(self, *chosen: int) -> Resampling:
        """Restrict the resampling to the axes with these indices."""
        return replace(self, axes=tuple(self.axes[k] for k in chosen), places=tuple(self.places[k] for k in chosen))

    @property
    def constants(self) -> dict[str, Constant]:
        constants: dict[str, Constant] = {}
        for k, axis in enumerate(self.axes):
            constants[f"SCALE_{k}"] = float(axis.scale)
            constants[f"INVERSE_{k}"] = 1 / float(axis.scale)
            constants[f"INPUT_OFFSET_{k}"] = float(axis.input_offset)
            constants[f"OUTPUT_OFFSET_{k}"] = float(axis.output_offset)
        for k, (start, size) in enumerate(zip(self.starts, self.whole, strict=True)):
            constants |= {f"START_{k}": start, f"WHOLE_{k}": size}
        return constants

    def element(self, k: int) -> str:
        """Return GLSL of the place of element c along an axis of the whole result."""
        return f"(c[{self.places[k]}] + START_{k})" if self.starts else f"c[{self.places[k]}]"

    def size(self, k: int) -> str:
        """Return GLSL of the whole result's size along an axis."""
        return f"WHOLE_{k}" if self.starts else f"result_SIZE_{self.places[k]}"

    def position(self, k: int, element: str) -> str:
        """Return GLSL of an output element's position in the input."""
        # Dividing by a power of two equals multiplying by its inverse, which is exact on every device.
        exact = self.axes[k].is_power_of_two
        by = f"over_power({element}, INVERSE_{k}" if exact else f"position({element}, SCALE_{k}"
        return f"{by}, INPUT_OFFSET_{k}, OUTPUT_OFFSET_{k})"


_DIRECTIONS = {enums.DML_AXIS_DIRECTION_INCREASING: "ceil", enums.DML_AXIS_DIRECTION_DECREASING: "floor"}


# --- Forward ----------------------------------------------------------------------------------------------------------


def _resample(builder: ProgramBuilder, task: Resampling) -> None:
    if task.kernel.mode == NEAREST:
        if task.result.epilogue is None:  # an epilogue needs values, not raw bits
            task = replace(task, result=raw(task.result), source=raw(task.source))
        if task.kernel.rounding == "half_up" and _repeats(task):
            _repeat(builder, task.result, task.source)
            return
    lengths = [_filter_length(task, k) for k in range(len(task.axes))]
    if _one_by_one(builder, _resample, task, lengths):
        return
    task = task.merged()

    def sampled(task: Resampling, to: Operand, *, parted: bool) -> list[str]:
        lines = [f"result_VALUE sampled(uint c[{to.rank}]) {{"]
        if task.kernel.mode == NEAREST:
            for k, place in enumerate(task.places):
                lines.append(f"    c[{place}] = nearest({task.position(k, task.element(k))}, source_SIZE_{place});")
            lines.append("    return source_load(source_at(c));")
        else:
            lines += _weighted(task, parted=parted)
            lines.append("    return finish(sum);" if DATA_TYPES[to.computed_type].bits == 8 else "    return sum;")
        return [*lines, "}"]

    for part in _parts(builder, task, _sources):
        _in_rounds(builder, part, lengths, sampled)


def _sources(task: Resampling, k: int, first: int, last: int) -> tuple[float, float]:
    """Return the range of source elements that outputs ``first`` to ``last`` read along an axis."""
    axis = task.axes[k]
    ends = [(end - axis.output_offset) / axis.scale - axis.input_offset for end in (first, last)]
    reach = max(1.0, 1 / axis.scale)
    return min(ends) - reach, max(ends) + reach


def _repeats(task: Resampling) -> bool:
    """Whether each element is repeated an integer number of times: output element o is input element o // Scale."""
    return all(
        axis.scale * task.source.sizes[place] == task.result.sizes[place]
        and float(axis.scale).is_integer()
        and axis.is_centred
        for place, axis in zip(task.places, task.axes, strict=True)
    )


def _repeat(builder: ProgramBuilder, result: Operand, source: Operand) -> None:
    """Copy each source element to a block of the result; all blocks have the same size."""
    sizes: list[int] = []
    strides: list[int] = []
    for place in reversed(range(source.rank)):
        block = source.sizes[place], result.sizes[place] // source.sizes[place]
        result = split(result, place, block)
        sizes = [*block, *sizes]
        strides = [source.strides[place], 0, *strides]
    apply(builder, Leaf(0), result, [source.view(tuple(sizes), tuple(strides))])


def _is_wide(axis: AxisScale, kernel: Filter) -> bool:
    """Whether the filter is stretched by 1 / Scale. According to the reference page only factors above 2 stretch it,
    not all above 1."""
    return kernel.antialiased and kernel.mode != NEAREST and bool(1 / np.float32(axis.scale) > 2)


def _filter_length(task: Resampling, k: int) -> int:
    """Return the rounds of the loop over an axis: a stretched filter covers 2 / Scale elements and, rounding outwards,
    3 more."""
    length = math.ceil(2 / task.axes[k].scale + 3) if _is_wide(task.axes[k], task.kernel) else 1
    return min(length, task.source.sizes[task.places[k]])


def _weighted(task: Resampling, *, parted: bool) -> list[str]:
    """Return GLSL that sums the weighted elements: loops over stretched filters, then both neighbors in the other
    dimensions.

    A weight of zero excludes even an infinity or NaN.
    """
    lines = [_SUM, "    uint s[RANK] = c;"]
    outer, loops = "1.0", 0
    pairs: list[tuple[int, int]] = []
    for k, (place, axis) in enumerate(zip(task.places, task.axes, strict=True)):
        lines.append(f"    float x_{k} = {task.position(k, task.element(k))};")
        if not _is_wide(axis, task.kernel):
            pairs.append((k, place))
            lines.append(f"    Pair p_{k} = pair(x_{k}, source_SIZE_{place});")
            continue
        lines += [
            f"    Wide f_{k} = wide(x_{k}, SCALE_{k}, source_SIZE_{place});",
            _loop(f"s[{place}]", f"f_{k}.range", parted=parted),
            f"    float w_{k} = {outer} * wide_weight(f_{k}, x_{k}, SCALE_{k}, s[{place}], source_SIZE_{place});",
        ]
        outer, loops = f"w_{k}", loops + 1
    for sides in itertools.product("xy", repeat=len(pairs)):
        lines += [f"    s[{place}] = p_{k}.element.{side};" for (k, place), side in zip(pairs, sides, strict=True)]
        weights = [outer, *(f"p_{k}.weight.{side}" for (k, _), side in zip(pairs, sides, strict=True))]
        lines.append(f"    sum += term({' * '.join(weights)}, float(source_load(source_at(s))));")
    return [*lines, "    " + "}" * loops]


# --- Gradient ---------------------------------------------------------------------------------------------------------


def _gradient(builder: ProgramBuilder, task: Resampling) -> None:
    """Compute the gradient: each element of the forward input gathers the weighted gradients of the outputs it
    contributed to."""
    lengths = [_outputs_of_one(task, k) for k in range(len(task.axes))]
    if _one_by_one(builder, _gradient, task, lengths, loops=len(lengths)):
        return
    task = task.merged()
    share = "nearest_share" if task.kernel.mode == NEAREST else "linear_share"

    def sampled(task: Resampling, to: Operand, *, parted: bool) -> list[str]:
        lines = [f"float sampled(uint c[{to.rank}]) {{", _SUM, "    uint s[RANK] = c;"]
        weight = "1.0"
        for k, place in enumerate(task.places):
            offsets = f"SCALE_{k}, INPUT_OFFSET_{k}, OUTPUT_OFFSET_{k}"
            lines += [
                f"    uvec2 range_{k} = outputs_of({task.element(k)}, {offsets}, {task.size(k)}, source_SIZE_{place});",
                _loop(f"s[{place}]", f"range_{k}", parted=parted),
                f"    float x_{k} = {task.position(k, f's[{place}]')};",
                f"    float w_{k} = {weight} * {share}(x_{k}, {task.element(k)}, {task.size(k)});",
                f"    if (w_{k} == 0.0) continue;",
            ]
            weight = f"w_{k}"
        lines += [f"    sum += {weight} * source_load(source_at(s));", "    " + "}" * len(task.places)]
        return [*lines, "    return sum;\n}"]

    for part in _parts(builder, task, _outputs):
        _in_rounds(builder, part, lengths, sampled)


def _outputs(task: Resampling, k: int, first: int, last: int) -> tuple[float, float]:
    """Return the range of outputs to which elements ``first`` to ``last`` contribute along an axis."""
    axis, place = task.axes[k], task.places[k]
    ends = [(end + axis.input_offset) * axis.scale + axis.output_offset for end in (first - 1, last + 1)]
    # The elements at the edges also contribute to all outputs beyond them.
    lowest = 0 if first == 0 else min(ends)
    return lowest, task.source.sizes[place] if last == task.result.sizes[place] - 1 else max(ends)


def _outputs_of_one(task: Resampling, k: int) -> int:
    """Return the maximum number of outputs along an axis that an element contributes to: those within distance 1 and,
    for an element at an edge, all beyond it.

    outputs_of, in shaders/resample/filter.glsl, takes up to 6 more, since it rounds outwards on both sides.
    """
    axis, place = task.axes[k], task.places[k]
    outputs, inputs = task.source.sizes[place], task.result.sizes[place]
    if not axis.is_centred:
        return outputs
    return min(outputs, math.ceil(2 * axis.scale + 6 + max(0.0, outputs - inputs * axis.scale)))


# --- Loops over an element's contributions ----------------------------------------------------------------------------

#: The start of a sum, or the previous part's sum.
_SUM = "    float sum = 0.0;\n#ifdef carry_VALUE\n    sum = carry_load(carry_at(c));\n#endif"


def _loop(place: str, range_: str, *, parted: bool) -> str:
    """Return the head of a loop from range_.x to range_.y inclusive. parted: only rounds FROM up to TO, exclusive."""
    if not parted:
        return f"    for ({place} = {range_}.x; {place} <= {range_}.y; ++{place}) {{"
    return f"    for ({place} = {range_}.x + FROM; {place} <= {range_}.y && {place} - {range_}.x < TO; ++{place}) {{"


def _most_rounds(builder: ProgramBuilder, result: Operand) -> int:
    """Return the maximum number of rounds of the loops for one element."""
    return max_steps(builder.target) // DATA_TYPES[result.data_type].per_word


def _one_by_one(
    builder: ProgramBuilder,
    step: Callable[[ProgramBuilder, Resampling], None],
    task: Resampling,
    lengths: Sequence[int],
    *,
    loops: int = 0,
) -> bool:
    """Resample one dimension separately from the others if together they exceed an invocation's steps or registers.

    lengths: rounds of the loop over each axis. loops: number of nested loops of a gradient. The filters are separable,
    so the order is free. Returns False if that is not needed, or not possible.
    """
    fits = rounds(lengths) <= _most_rounds(builder, task.result) and keeps_loops(builder.target, loops)
    if fits or len(lengths) == 1:
        return False
    longest = max(range(len(lengths)), key=lambda k: lengths[k])
    place = task.places[longest]
    sizes = (*task.source.sizes[:place], task.result.sizes[place], *task.source.sizes[place + 1 :])
    between = builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    step(builder, replace(task.along(longest), result=between))
    step(builder, replace(task.along(*(k for k in range(len(lengths)) if k != longest)), source=between))
    return True


def _parts(
    builder: ProgramBuilder, task: Resampling, reach: Callable[[Resampling, int, int, int], tuple[float, float]]
) -> Iterator[Resampling]:
    """Yield parts that fit a binding, cut along resampled axes only if nothing else helps.

    reach: the range of source elements that a range of the result's elements needs along an axis.
    """
    most, sizes = builder.target.max_region, task.result.sizes
    others = [axis for axis in range(task.result.rank) if axis not in task.places]
    if cut([task.result, task.source], most, others) is not None:
        yield task
        return

    def source_box(box: Box) -> Box:
        """Return the part of the source that a part of the result reads."""
        found = list(box)
        for k, place in enumerate(task.places):
            start, count = box[place]
            size = task.source.sizes[place]
            # Some elements more, since kernels compute positions in float32.
            slack = 8 + (size + sizes[place]) * 2.0**-20
            low, high = reach(task, k, start, start + count - 1)
            first, last = (min(max(end, 0), size - 1) for end in (math.floor(low - slack), math.ceil(high + slack)))
            found[place] = first, last - first + 1
        return tuple(found)

    for box, (result,), read_box, read in in_reach([task.result], task.source, most, source_box):
        yield replace(
            task,
            result=result,
            source=within_whole(
                builder.crop(read),
                task.places,
                tuple(read_box[axis] for axis in task.places),
                [task.source.sizes[axis] for axis in task.places],
            ),
            starts=tuple(box[place][0] for place in task.places),
            whole=tuple(sizes[place] for place in task.places),
        )


def _in_rounds(
    builder: ProgramBuilder, task: Resampling, lengths: Sequence[int], sampled: Callable[..., list[str]]
) -> None:
    """Dispatch the kernel once or, if its loop has too many rounds, several times, each for rounds FROM up to TO.

    lengths: rounds of the nested loops; only a single loop may be too long. sampled: returns the kernel's GLSL for the
    operand that it writes. Sums pass from one dispatch to the next in float32.
    """
    count = math.prod(lengths)
    parts = list(ranges((count,), _most_rounds(builder, task.result)))
    tensors = {"source": task.source}
    for ((begin, end),) in parts:
        is_last = end == count
        to = task.result if is_last else builder.temporary(enums.DML_TENSOR_DATA_TYPE_FLOAT32, task.result.sizes)
        builder.for_each(
            "resample/resample.comp",
            to,
            tensors,
            constants=task.constants | ({"FROM": begin, "TO": end} if len(parts) > 1 else {}),
            code="\n".join([_head(task.kernel), *sampled(task, to, parted=len(parts) > 1)]),
            steps=rounds(lengths) if len(parts) == 1 else rounds((end - begin,)),
            split_axes=[index for index in range(task.result.rank) if index not in task.places],
        )
        tensors["carry"] = to


def _head(kernel: Filter) -> str:
    rounds = {"floor": "floor(x)", "ceil": "ceil(x)", "half_up": "floor(x + 0.5)"}[kernel.rounding]
    return f'float round_position(float x) {{ return {rounds}; }}\n#include "resample/filter.glsl"'


# --- Operators --------------------------------------------------------------------------------------------------------


@lowering(d.DML_UPSAMPLE_2D_OPERATOR_DESC, epilogue=Epilogues.ANY)
def upsample_2d(desc: d.DML_UPSAMPLE_2D_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    result, source = builder["OutputTensor"], builder["InputTensor"]
    axes = [AxisScale(1.0)] * (result.rank - 2) + [AxisScale(desc.ScaleSize.Height), AxisScale(desc.ScaleSize.Width)]
    _resample(builder, Resampling.of(result, source, axes, Filter(desc.InterpolationMode)))


@lowering(d.DML_RESAMPLE_OPERATOR_DESC, epilogue=Epilogues.ANY)
def resample(desc: d.DML_RESAMPLE_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    axes, kernel = [AxisScale(scale) for scale in desc.Scales], Filter(desc.InterpolationMode)
    _resample(builder, Resampling.of(builder["OutputTensor"], builder["InputTensor"], axes, kernel))


_WithOffsets = (
    d.DML_RESAMPLE1_OPERATOR_DESC
    | d.DML_RESAMPLE2_OPERATOR_DESC
    | d.DML_RESAMPLE3_OPERATOR_DESC
    | d.DML_RESAMPLE_GRAD_OPERATOR_DESC
    | d.DML_RESAMPLE_GRAD1_OPERATOR_DESC
)


def _read(desc: _WithOffsets) -> tuple[list[AxisScale], Filter]:
    offsets = zip(desc.Scales, desc.InputPixelOffsets, desc.OutputPixelOffsets, strict=True)
    direction = getattr(desc, "RoundingDirection", None)
    rounding = "half_up" if direction is None else _DIRECTIONS[direction]
    kernel = Filter(desc.InterpolationMode, rounding, getattr(desc, "Antialiased", False))
    return [AxisScale(*axis) for axis in offsets], kernel


@lowering(
    d.DML_RESAMPLE1_OPERATOR_DESC, d.DML_RESAMPLE2_OPERATOR_DESC, d.DML_RESAMPLE3_OPERATOR_DESC, epilogue=Epilogues.ANY
)
def resample_with_offsets(
    desc: d.DML_RESAMPLE1_OPERATOR_DESC | d.DML_RESAMPLE2_OPERATOR_DESC | d.DML_RESAMPLE3_OPERATOR_DESC,
    builder: ProgramBuilder,
) -> None:
    axes, kernel = _read(desc)
    _resample(builder, Resampling.of(builder["OutputTensor"], builder["InputTensor"], axes, kernel))


@lowering(d.DML_RESAMPLE_GRAD_OPERATOR_DESC, d.DML_RESAMPLE_GRAD1_OPERATOR_DESC)
def resample_grad(
    desc: d.DML_RESAMPLE_GRAD_OPERATOR_DESC | d.DML_RESAMPLE_GRAD1_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    axes, kernel = _read(desc)
    _gradient(builder, Resampling.of(builder["OutputGradientTensor"], builder["InputGradientTensor"], axes, kernel))
