"""Kernels that visit a box of positions for each element of their result: windows, local regions, grid cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dml.compiler.builder import ProgramBuilder, owns_whole_words
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import Bound
from dml.compiler.parts import Box, cut, in_parts, in_places, in_reach, window_reach
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection.windows import largest_window, window_sharing
from dml.errors import HRESULT, DMLError

#: Dimensions without windows: batch and channel.
PLANES = (0, 1)
#: Constants that describe a sliding window, one of each per axis.
_SLIDING = ("STEP", "DILATION", "START")


@dataclass(frozen=True)
class BoxKernel:
    """A kernel that ends in "pooling/store.glsl", to run for each element of the tensor ``result``.

    slides: whether the box is a window of "pooling/window.glsl" over ``source`` (the other tensors are read at the
    result's place), so that tensors beyond a binding can also be cut along the windows' axes.
    box: maximum sizes of the nested loops over the positions visited per element (seldom_full: most elements visit far
    fewer). cost: loop iterations per position. split_axes: as for ``ProgramBuilder.for_each``.
    """

    kernel: str
    tensors: Mapping[str, Bound]
    box: Sequence[int]
    constants: Mapping[str, Constant]
    defines: Mapping[str, object] = field(default_factory=dict)
    cost: int = 1
    seldom_full: bool = False
    split_axes: tuple[int, ...] = ()
    slides: bool = False


def each_result(builder: ProgramBuilder, box_kernel: BoxKernel) -> None:
    """Run the kernel. An invocation visits a small box, a workgroup a large one.

    Raises DMLError if a box is too large for the loops of a workgroup.
    """
    most = largest_window(builder.target, box_kernel.cost)
    if (places := math.prod(box_kernel.box)) > most:
        raise DMLError(
            f"{builder.operator or box_kernel.kernel}: a window has {places} elements, "
            f"above this device's limit {most}",
            HRESULT.E_OUTOFMEMORY,
        )
    operands = [bound.operand for bound in box_kernel.tensors.values()]
    if box_kernel.slides and not fits(builder, box_kernel):
        for part_of_windows in _in_windows(builder, box_kernel):
            _each_result(builder, part_of_windows, part_of_windows.tensors)
        return
    for part in in_parts(operands, builder.target.max_region, box_kernel.split_axes):
        _each_result(builder, box_kernel, _of_operands(box_kernel.tensors, part))


def _in_windows(builder: ProgramBuilder, box_kernel: BoxKernel) -> Iterator[BoxKernel]:
    """Yield parts of the result with the part of the source that their windows read.

    BEFORE_d and WHOLE_d: along each axis, the number of the source's elements before the part, and the source's size.
    """
    others = {name: bound for name, bound in box_kernel.tensors.items() if name != "source"}
    source = box_kernel.tensors["source"]
    windows = (*(1,) * (3 - len(box_kernel.box)), *box_kernel.box)
    sizes = source.operand.sizes[2:]
    step, dilation, start = ([int(box_kernel.constants[f"{name}_{d}"]) for d in range(3)] for name in _SLIDING)

    def reach(box: Box) -> Box:
        return *box[:2], *(
            window_reach(*box[2 + d], step[d], (windows[d] - 1) * dilation[d] + 1, start[d], sizes[d]) for d in range(3)
        )

    operands = [bound.operand for bound in others.values()]
    for box, own, place, read in in_reach(operands, source.operand, builder.target.max_region, reach):
        constants = dict(box_kernel.constants)
        for d, (before, _) in enumerate(place[2:]):
            constants[f"START_{d}"] = (start[d] - box[2 + d][0] * step[d] + before) % 2**32
            constants |= {f"BEFORE_{d}": before, f"WHOLE_{d}": sizes[d]}
        for name, (first, _) in zip(("IMAGE", "CHANNEL"), box, strict=False):
            if name in constants:  # of the whole source
                constants[name] = int(constants[name]) + first
        tensors = {**_of_operands(others, own), "source": replace(source, operand=read)}
        yield replace(box_kernel, tensors=tensors, constants=constants, defines={**box_kernel.defines, "IN_PARTS": 1})


def fits(builder: ProgramBuilder, box_kernel: BoxKernel) -> bool:
    """Whether the kernel's tensors fit bindings, cut along ``split_axes`` if need be."""
    operands = [bound.operand for bound in box_kernel.tensors.values()]
    return cut(operands, builder.target.max_region, box_kernel.split_axes) is not None


def in_planes(
    builder: ProgramBuilder, tensors: Mapping[str, Bound]
) -> Iterator[tuple[tuple[int, ...], dict[str, Bound]]]:
    """Cut {N, C, ...} tensors along N and C into parts that fit a binding; yield each part with its first image and
    channel."""
    operands = [bound.operand for bound in tensors.values()]
    for start, part in in_places(operands, builder.target.max_region, PLANES):
        yield start, _of_operands(tensors, part)


def _of_operands(tensors: Mapping[str, Bound], operands: Sequence[Operand]) -> dict[str, Bound]:
    return {
        name: replace(bound, operand=operand) for (name, bound), operand in zip(tensors.items(), operands, strict=True)
    }


def _each_result(builder: ProgramBuilder, box_kernel: BoxKernel, tensors: Mapping[str, Bound]) -> None:
    """Run the kernel on ``tensors``: the parts of its tensors, each within a binding."""
    result = tensors["result"].operand
    per_word = DATA_TYPES[result.data_type].per_word if owns_whole_words(result) else 1
    sharing = window_sharing(
        builder.target, box_kernel.box, box_kernel.cost, per_word, seldom_full=box_kernel.seldom_full
    )
    defines = {**box_kernel.defines, "WHOLE_WORDS": int(sharing.whole_words), "WIDE": int(sharing.together)}
    if sharing.together:
        builder.dispatch(
            box_kernel.kernel,
            tensors,
            space=result.sizes,
            groups=result.count,
            workgroup=sharing.workgroup,
            constants=box_kernel.constants,
            defines=defines,
            steps=sharing.steps,
        )
        return
    units = -(-result.count // per_word) if sharing.whole_words else result.count
    builder.walk(
        box_kernel.kernel,
        tensors,
        units,
        space=result.sizes,
        rounds=sharing.steps,
        constants=box_kernel.constants,
        defines=defines,
    )
