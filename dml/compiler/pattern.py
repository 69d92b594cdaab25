"""Programs with traced numbers, and their instances for plain ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dml.compiler.order import order_and_place
from dml.compiler.program import ComparedConstant, Dispatch, Program, Region, StorageBinding, fast_replace
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.traced import Numbers, TracedInt, TracedValue, UntracedError


class TracedConstant(TracedValue, DML_CONSTANT_DATA_GRAPH_NODE_DESC):
    """A constant whose bytes follow from traced numbers; tracing does not compute them."""

    _numbers: tuple[int, ...]
    make: Callable[[Numbers], bytes]
    _make_now: Callable[[], bytes]

    def __init__(
        self, size: int, numbers: Iterable[TracedInt], make: Callable[[Numbers], bytes], now: Callable[[], bytes]
    ) -> None:
        self.__dict__.update(DataSize=size, Name=None, _numbers=(*numbers, size), make=make, _make_now=now)

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def numbers(self) -> tuple[int, ...]:
        return self._numbers

    @property
    def Data(self) -> bytes:  # directml.h's name of the field
        raise UntracedError("the bytes of a constant are needed, and it depends on traced sizes")

    @property
    def now(self) -> bytes:
        """Its bytes for the current numbers."""
        return self._make_now()

    def at(self, numbers: Numbers) -> DML_CONSTANT_DATA_GRAPH_NODE_DESC:
        constant = DML_CONSTANT_DATA_GRAPH_NODE_DESC(self.make(numbers))
        if constant.DataSize != numbers.get(self.DataSize, self.DataSize):
            raise UntracedError("the constant's size differs")
        return constant


class ProgramPattern:
    """A program in which some numbers are TracedInts."""

    def __init__(self, program: Program) -> None:
        self._program = program
        #: Bindings of traced dispatches, without duplicates.
        self._bindings: dict[StorageBinding, int] = {}
        #: Dispatches per stage; traced ones refer to their bindings by number.
        self._stages = {
            stage: [(dispatch, self._bound(dispatch)) for dispatch in getattr(program, stage)]
            for stage in ("adopt", "initialize", "dispatches")
        }

    def _bound(self, dispatch: Dispatch) -> list[int] | None:
        if not any(type(number) is TracedInt for number in _numbers(dispatch)):
            return None
        return [self._bindings.setdefault(binding, len(self._bindings)) for binding in dispatch.bindings]

    @property
    def numbers(self) -> Iterator[int]:
        """Yield the traced numbers of the program."""
        program = self._program
        every: list[int | None] = [*program.inputs, *program.outputs, program.temporary_size, program.persistent_size]
        for region in program.owned.values():
            every += region[1:]
        for constant in program.constants:
            every += constant.numbers if isinstance(constant, TracedConstant) else ()
        for constant, _ in program.compared:
            every += constant.numbers if isinstance(constant, TracedConstant) else ()
        for dispatches in self._stages.values():
            for dispatch, bound in dispatches:
                every += () if bound is None else _numbers(dispatch)
        return (number for number in every if type(number) is TracedInt)

    def filled(self, numbers: Numbers) -> Program:
        """Return the program for these ``numbers``. Raises UntracedError if they make other constants
        equal than when it was traced."""
        get = numbers.get
        program = self._program
        _check_compared(program.compared, numbers)

        def region_of(region: Region) -> Region:
            space, index, offset, size = region
            return Region(space, index, get(offset, offset), get(size, size))

        bindings = [StorageBinding(region_of(region), access, texel) for region, access, texel in self._bindings]

        def dispatch_of(dispatch: Dispatch, bound: list[int]) -> Dispatch:
            x, y, z = dispatch.groups
            return fast_replace(
                dispatch,
                bindings=tuple([bindings[binding] for binding in bound]),
                groups=(get(x, x), get(y, y), get(z, z)),
                push=tuple([get(word, word) for word in dispatch.push]),
                parameters=tuple([get(word, word) for word in dispatch.parameters]),
                steps=get(dispatch.steps, dispatch.steps),
                each=get(dispatch.each, dispatch.each),
            )

        stages: dict[str, Any] = {
            stage: [dispatch if bound is None else dispatch_of(dispatch, bound) for dispatch, bound in dispatches]
            for stage, dispatches in self._stages.items()
        }
        filled = replace(
            program,
            inputs=[size if size is None else get(size, size) for size in program.inputs],
            outputs=[size if size is None else get(size, size) for size in program.outputs],
            temporary_size=get(program.temporary_size, program.temporary_size),
            persistent_size=get(program.persistent_size, program.persistent_size),
            constants=[
                constant.at(numbers) if isinstance(constant, TracedConstant) else constant
                for constant in program.constants
            ],
            owned={slot: region_of(region) for slot, region in program.owned.items()},
            compared=[],
            **stages,
        )
        if not filled.is_placed:
            order_and_place(filled)
        return filled


def _check_compared(compared: Sequence[ComparedConstant], numbers: Numbers) -> None:
    """Raise UntracedError unless the same constants as before are equal."""
    contents: dict[bytes, int] = {}
    for constant, number in compared:
        data = constant.make(numbers) if isinstance(constant, TracedConstant) else bytes(constant.Data)
        if contents.setdefault(data, number) != number:
            raise UntracedError("constants that differed are equal")
    if len(contents) > len({number for _, number in compared}):
        raise UntracedError("constants that were equal differ")


def _numbers(dispatch: Dispatch) -> list[int]:
    found = [*dispatch.groups, *dispatch.push, *dispatch.parameters, dispatch.steps, dispatch.each]
    for region, _, _ in dispatch.bindings:
        found += region[2:]
    return found
