"""The device memory that a program needs, computed from its plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from dml.compiler.program import Dispatch, Program, Region, Space
from dml.errors import HRESULT, DMLError
from dml.runtime.arena import Islands, bound_regions
from dml.runtime.memory_limit import VARIABLE
from dml.words import bytes_text

#: Number of tensors that messages name.
_NAMED = 5


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes on the device while a program runs.

    weights: constants, and the results of initialization. constants: bytes of each constant by name or number, largest
    first. prepared: bytes of each result of initialization, by its kernel, its node and the named constants that it
    reads. by_constant: bytes of each named constant, plus those of the results of initialization of which it is the
    largest source.
    """

    weights: int
    inputs: int
    outputs: int
    intermediates: int
    constants: tuple[tuple[str, int], ...]
    prepared: tuple[tuple[str, int], ...] = ()
    by_constant: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_use(self) -> Mapping[str, int]:
        return {
            "weights": self.weights,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "intermediates": self.intermediates,
        }

    @property
    def total(self) -> int:
        return sum(self.by_use.values())

    def __str__(self) -> str:
        uses = ", ".join(f"{use} {bytes_text(size)}" for use, size in self.by_use.items() if size)
        named = _by_size([*self.constants, *self.prepared])[:_NAMED]
        largest = ", ".join(f"{name} {bytes_text(size)}" for name, size in named)
        return f"{bytes_text(self.total)} ({uses or 'nothing'}{f'; the largest weights: {largest}' if largest else ''})"


def memory_needs(program: Program) -> MemoryNeeds:
    """Compute the memory that runs of the program keep; initialization may briefly need more."""
    # equal constants are stored once
    regions: dict[bytes, list[Region]] = {}
    names: dict[bytes, str] = {}
    for region in bound_regions(Space.CONSTANT, program.dispatches):
        constant = program.constants[region.index]
        regions.setdefault(constant.digest, []).append(region)
        names.setdefault(constant.digest, constant.Name or f"constant {region.index}")
    constants = [(names[digest], _covered(own)) for digest, own in regions.items()]
    kept = [*bound_regions(Space.PERSISTENT, program.dispatches), *program.owned.values()]
    prepared = list(_prepared(program, kept))
    return MemoryNeeds(
        weights=sum(size for _, size in constants) + _covered(kept),
        inputs=sum(size for slot, size in enumerate(program.inputs) if size and slot not in program.owned),
        outputs=sum(filter(None, program.outputs)),
        intermediates=_covered(bound_regions(Space.TEMPORARY, program.dispatches)),
        constants=_by_size(constants),
        prepared=_by_size((item.name, item.bytes) for item in prepared),
        by_constant=_by_constant(program, constants, prepared),
    )


class _Prepared(NamedTuple):
    """A result of initialization. sources: indices of the constants that it depends on."""

    name: str
    bytes: int
    sources: frozenset[int]


def _prepared(program: Program, kept: list[Region]) -> Iterator[_Prepared]:
    """Yield the contents of each island of ``kept`` that initialization fills, named by the last dispatch."""
    islands = Islands(kept)
    names: dict[int, str] = {}
    sources: dict[int, frozenset[int]] = {}
    for dispatch, read in _initializing(program):
        for region, access, _ in dispatch.bindings:
            if region.space is Space.PERSISTENT and access.writes:
                number = islands.number(region)
                # a region outside the islands is a temporary of initialization
                if number >= 0 and region.offset < islands.spans[number][1]:
                    names[number] = _described(program, dispatch)
                    sources[number] = sources.get(number, frozenset()) | read
    for number, (start, end) in enumerate(islands.spans):
        if number in names:
            yield _Prepared(names[number], end - start, sources[number])


def _initializing(program: Program) -> Iterator[tuple[Dispatch, frozenset[int]]]:
    """Yield each dispatch of initialization and the indices of the constants that its results depend on."""
    written: list[tuple[Region, frozenset[int]]] = []
    for dispatch in program.initialize:
        read = frozenset[int]()
        for region, *_ in dispatch.bindings:
            if region.space is Space.CONSTANT:
                read |= {region.index}
            else:
                read = read.union(*(sources for other, sources in written if other.overlaps(region)))
        results = [binding.region for binding in dispatch.bindings if binding.access.writes]
        written = [entry for entry in written if not any(result.contains(entry[0]) for result in results)]
        written += [(result, read) for result in results]
        yield dispatch, read


def _by_constant(
    program: Program, constants: Iterable[tuple[str, int]], prepared: Iterable[_Prepared]
) -> Mapping[str, int]:
    """Return the bytes of ``MemoryNeeds.by_constant``."""
    found = Counter[str]()
    for name, size in constants:
        found[name] += size
    for item in prepared:
        named = [program.constants[index] for index in item.sources if program.constants[index].Name]
        if named:
            largest = max(named, key=lambda constant: (constant.DataSize, constant.Name))
            found[str(largest.Name)] += item.bytes
    return found


def _described(program: Program, dispatch: Dispatch) -> str:
    """Return a dispatch's kernel and node, and the names of the constants that it reads."""
    read = [program.constants[region.index].Name for region, *_ in dispatch.bindings if region.space is Space.CONSTANT]
    named = ", ".join(dict.fromkeys(filter(None, read)))
    of = f" of {dispatch.node}" if dispatch.node else ""
    return f"{dispatch.label}{of}{f', from {named}' if named else ''}"


def _by_size(named: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(named, key=lambda item: -item[1]))


def _covered(regions: list[Region]) -> int:
    return sum(end - start for start, end in Islands(regions).spans)


@contextmanager
def explaining_needs(label: str, program: Program) -> Iterator[None]:
    """Extend an out-of-memory error with the program's needs."""
    try:
        yield
    except DMLError as error:
        if error.hresult != HRESULT.E_OUTOFMEMORY:
            raise
        raise DMLError(f"{error.message}; {label} needs {memory_needs(program)}", error.hresult) from error


def check_fits(label: str, program: Program, limit: int | None) -> None:
    """Refuse a program that needs more memory than the limit before anything is uploaded."""
    if limit is not None:
        needs = memory_needs(program)
        if needs.total > limit:
            raise DMLError(
                f"{label}: needs {needs}, more than the {bytes_text(limit)} of {VARIABLE}", HRESULT.E_OUTOFMEMORY
            )
