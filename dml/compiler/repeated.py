"""Reuse of lowerings for operators that differ only in the regions of their tensors.

Models repeat layers. A lowering's result depends on the description and on the tensors' layouts, but not on their
places: it uses only the regions' sizes, whether they are static, and which are equal. So it is done once over
placeholder regions, and copies get the actual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

from dml.compiler.builder import OperandOrArray, ProgramBuilder
from dml.compiler.program import Access, Dispatch, Operand, Program, Region, Space, StorageBinding
from dml.compiler.scalar import Expression, Leaf
from dml.recent import Recent
from dml.structures import HashedOnce

#: Maximum number of lowerings kept; the most recently used ones stay.
MOST_KEPT = 1024

_Operands = Mapping[str, OperandOrArray]
_Work = Callable[[ProgramBuilder], None]
_kept: Recent[Hashable, Program] = Recent(MOST_KEPT)


class Lowered(NamedTuple):
    """A lowering over placeholders, and the regions that they replace."""

    program: Program
    regions: list[Region]

    def only_writes(self, region: Region) -> bool:
        """Whether its kernels write the region without reading it."""
        number = self.regions.index(region)
        bound = (
            binding
            for dispatch in (*self.program.initialize, *self.program.dispatches)
            for binding in dispatch.bindings
        )
        return all(
            binding.access is Access.WRITE
            for binding in bound
            if binding.region.index == number and binding.region.space in (Space.INPUT, Space.CONSTANT)
        )


def repeated(builder: ProgramBuilder, what: Hashable, operands: _Operands, work: _Work) -> None:
    """Add ``work(builder.scope(operands))``, reusing its result for operands of the same layouts.

    what: everything that ``work`` depends on, except the operands and the target, compared by equality.
    """
    found = lowered(builder, what, operands, work)
    if found is None:
        work(builder.scope(operands))
    else:
        add(builder, found)


def lowered(builder: ProgramBuilder, what: Hashable, operands: _Operands, work: _Work) -> Lowered | None:
    """Return what ``repeated`` would add; None if tensors overlap, since the key does not say how."""
    numbers: dict[Region, int] = {}
    layouts = tuple([(name, _key(value, numbers)) for name, value in operands.items()])
    regions = list(numbers)
    if len({region[:2] for region in regions}) < len(regions) and any(
        a.overlaps(b) for a, b in combinations(regions, 2)
    ):
        return None
    stage = builder.initializes
    key = HashedOnce((what, builder.target, stage, layouts))
    program = _kept.get(key)
    if program is None:
        program = Program()
        stand_ins = {region: _stand_in(region, number) for region, number in numbers.items()}
        inner = ProgramBuilder(program, builder.target, {n: _moved(value, stand_ins) for n, value in operands.items()})
        inner.operator, inner.node, inner.nodes = builder.operator, builder.node, builder.nodes
        work(inner.initialization() if stage else inner)
        _kept.put(key, program)
    return Lowered(program, regions)


def expression_key(expression: Expression) -> Hashable:
    """Return a key that is equal for expressions with equal GLSL: the nodes in order, and which of them are shared."""
    if isinstance(expression, Leaf):
        return expression
    if expression.key is None:
        object.__setattr__(expression, "key", HashedOnce(_expression_key(expression)))
    return expression.key


def _expression_key(expression: Expression) -> Hashable:
    numbers: dict[int, int] = {}
    nodes: list[Hashable] = []

    def number(node: Expression) -> Hashable:
        if isinstance(node, Leaf):
            return node
        if id(node) not in numbers:
            inner = tuple(map(number, node.operands))
            # as text, since 0.0 equals -0.0 and 1 equals True
            constants = tuple((name, type(value).__name__, repr(value)) for name, value in node.constants.items())
            nodes.append((node.code, inner, node.glsl, constants, node.includes))
            numbers[id(node)] = len(numbers)
        return numbers[id(node)]

    return number(expression), tuple(nodes)


def every(operands: _Operands) -> Iterator[Operand]:
    """Yield the operands and their epilogues' operands."""
    for value in operands.values():
        for operand in value if isinstance(value, tuple) else (value,):
            if operand is not None:
                yield operand
                if operand.epilogue is not None:
                    yield from (own.operand for own in operand.epilogue.operands)


def _key(value: OperandOrArray, numbers: dict[Region, int]) -> Hashable:
    """Return a key of the operands' layouts. numbers: regions seen so far, in order; new ones are added."""
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple([_key(operand, numbers) for operand in value])
    region, epilogue = value.region, value.epilogue
    number = numbers.setdefault(region, len(numbers))
    finish: Hashable = None
    if epilogue is not None:
        others = tuple([(_key(own.operand, numbers), own.steps) for own in epilogue.operands])
        finish = expression_key(epilogue.expression), others, epilogue.origin, epilogue.computed_type
    layout = value.sizes, value.strides, value.base, value.followed
    return number, region.size, value.is_static, value.data_type, *layout, finish


def _stand_in(region: Region, number: int) -> Region:
    static = region.space in (Space.CONSTANT, Space.PERSISTENT)
    return Region(Space.CONSTANT if static else Space.INPUT, number, 0, region.size)


def _moved(value: OperandOrArray, to: Mapping[Region, Region]) -> Any:
    if value is None:
        return None
    if isinstance(value, tuple):
        return tuple(_moved(operand, to) for operand in value)
    epilogue = value.epilogue
    if epilogue is not None:
        others = tuple(replace(own, operand=_moved(own.operand, to)) for own in epilogue.operands)
        epilogue = replace(epilogue, operands=others)
    return value.over(to[value.region], epilogue)


def add(builder: ProgramBuilder, found: Lowered) -> None:
    """Add a lowering to the program: the actual regions replace its placeholders, and its temporaries and persistent
    tensors get new regions."""
    program, (inner, regions) = builder.program, found
    temporaries, persistent = program.temporaries, program.persistent_size
    program.temporaries += inner.temporaries
    program.persistent_size += inner.persistent_size

    def place(region: Region) -> Region:
        if region.space is Space.TEMPORARY:
            return Region(Space.TEMPORARY, temporaries + region.index, region.offset, region.size)
        if region.space is Space.PERSISTENT:
            return Region(Space.PERSISTENT, 0, persistent + region.offset, region.size)
        whole = regions[region.index]
        return Region(whole.space, whole.index, whole.offset + region.offset, region.size)

    def moved(dispatch: Dispatch) -> Dispatch:
        bound = [StorageBinding(place(region), access, texel) for region, access, texel in dispatch.bindings]
        return dispatch.over(tuple(bound), builder.node, builder.nodes)

    program.initialize += map(moved, inner.initialize)
    program.dispatches += map(moved, inner.dispatches)
