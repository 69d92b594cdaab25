"""Packing for kernels with more tensors than the device has storage buffers: several tensors share one.

Vulkan guarantees four storage buffers per kernel, and some operators have ten tensors. Tensors of one region share its
buffer. Beyond that, regions that are read, smallest first, are copied into one temporary region and bound there; if
that is not enough, so are regions that are written, and copied back afterwards. Whole regions are copied as words, so
bytes that a kernel leaves alone (gaps in a layout, other tensors of the region) are preserved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dml.compiler.kernels.prelude import Bound
from dml.compiler.program import REGION_ALIGNMENT, Dispatch, Operand, Region
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32

#: New location of a region's words: a shared region, and the word in it.
Moves = dict[Region, tuple[Region, int]]


@dataclass
class Pack:
    """Copies of several regions in one. moves: where each region's copy is. checked: number of the builder's first
    dispatches that are known not to write to the originals."""

    moves: Moves
    checked: int


class PackingBuilder(Protocol):
    """The part of a program's builder that packing uses: its dispatches so far, and methods that add copies."""

    dispatches: list[Dispatch]
    packs: dict[tuple[Region, ...], Pack]

    def prepare(self, *operands: Operand) -> PackingBuilder: ...

    def scratch(self, size: int) -> Region: ...

    def for_each(self, kernel: str, result: Operand, tensors: Mapping[str, Operand]) -> None: ...


def share(builder: PackingBuilder, tensors: Mapping[str, Bound], most: int) -> tuple[Mapping[str, Bound], Moves]:
    """Bind the tensors through at most ``most`` (two or more) storage buffers. Also return the argument for
    ``restore``, to call after the kernel.

    Adds the dispatches that copy into shared buffers. Constants are copied at initialization.
    """
    regions = dict.fromkeys(bound.operand.region for bound in tensors.values())
    written = [r for r in regions if any(b.access.writes and b.operand.region == r for b in tensors.values())]
    read = [r for r in regions if r not in written]
    moves: Moves = {region: (region, 0) for region in regions}
    excess = len(regions) - most
    if excess > 0 and len(read) > 1:
        # Packing n regions frees n - 1 buffers. Static ones are copied at initialization, so they go first if they
        # suffice.
        static = [region for region in read if _words(region).is_static]
        chosen = _smallest(static if len(static) > excess else read, excess + 1)
        moves |= _gathered(builder, chosen)
        excess -= len(chosen) - 1
    saved: Moves = {}
    if excess > 0:
        saved = _copied(builder, _smallest(written, excess + 1))
        moves |= saved
    buffers = [moves[bound.operand.region][0] for bound in tensors.values()]
    shared = {
        name: replace(bound, shared=buffer, start=moves[bound.operand.region][1])
        for (name, bound), buffer in zip(tensors.items(), buffers, strict=True)
    }
    return shared, saved


def restore(builder: PackingBuilder, saved: Moves) -> None:
    """Copy regions that were written elsewhere back to their places."""
    for region, (pack, start) in saved.items():
        _copy(builder, _words(region), _words(pack, start, region.size))


def _smallest(regions: Iterable[Region], count: int) -> tuple[Region, ...]:
    return tuple(sorted(regions, key=lambda region: region.size)[:count])


def _gathered(builder: PackingBuilder, regions: tuple[Region, ...]) -> Moves:
    """Return a copy of regions that a kernel only reads. If nothing was written to them since an earlier copy, as in a
    loop of dispatches, return that copy."""
    pack = builder.packs.get(regions)
    if pack is not None and not _written(builder.dispatches[pack.checked :], regions):
        pack.checked = len(builder.dispatches)
        return pack.moves
    moves = _copied(builder.prepare(*map(_words, regions)), regions)
    builder.packs[regions] = Pack(moves, len(builder.dispatches))
    return moves


def _written(dispatches: Sequence[Dispatch], regions: Sequence[Region]) -> bool:
    return any(
        binding.access.writes and binding.region.overlaps(region)
        for dispatch in dispatches
        for binding in dispatch.bindings
        for region in regions
    )


def _copied(stage: PackingBuilder, regions: Sequence[Region]) -> Moves:
    starts, size = [], 0
    for region in regions:
        starts.append(size // 4)
        size += -(-region.size // REGION_ALIGNMENT) * REGION_ALIGNMENT
    pack = stage.scratch(size)
    for region, start in zip(regions, starts, strict=True):
        _copy(stage, _words(pack, start, region.size), _words(region))
    return {region: (pack, start) for region, start in zip(regions, starts, strict=True)}


def _words(region: Region, start: int = 0, size: int | None = None) -> Operand:
    count = (region.size if size is None else size) // 4
    return Operand(region, DML_TENSOR_DATA_TYPE_UINT32, (count,), (1,), start)


def _copy(builder: PackingBuilder, result: Operand, source: Operand) -> None:
    builder.for_each("movement/copy_words.comp", result, {"source": source})
