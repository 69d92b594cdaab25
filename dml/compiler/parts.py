"""Splitting of work on tensors larger than one binding into parts: dispatches that each bind a range of every tensor.

A dispatch binds the bytes of each tensor that its operand's view spans (``crop``). So cutting the operands' views along
their common axes cuts the dispatch (``in_parts``), wherever the bytes are. Tensors that fit stay whole.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from dml.compiler.data_types import DATA_TYPES, VECTOR_BITS
from dml.compiler.program import Epilogue, EpilogueOperand, Operand, Region, Space, fast_replace
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides

#: Bytes of a vector. Bindings begin and end at multiples of it, since kernels read whole vectors.
VECTOR = VECTOR_BITS // 8

#: Start and size of a part along each axis.
Box = tuple[tuple[int, int], ...]


def in_parts(
    operands: Sequence[Operand], most: int, axes: Iterable[int] | None = None
) -> Iterator[tuple[Operand, ...]]:
    """Cut operands along ``axes`` (default: all), along which their sizes are equal.

    Each part fits a binding of ``most`` bytes. If no cut along the axes is small enough, the operands stay whole; the
    builder then raises an error that names them.
    """
    chosen = range(operands[0].rank) if axes is None else tuple(axes)
    return (part for _, part in in_places(operands, most, chosen))


def in_places(
    operands: Sequence[Operand], most: int, axes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[Operand, ...]]]:
    """Cut operands as ``in_parts`` does; with each part, yield its start along each of ``axes``."""
    fits = all(operand.region.size <= most for operand in operands)
    extents = None if fits else cut(operands, most, axes)
    if extents is None:
        yield (0,) * len(axes), tuple(operands)
        return
    for box in boxes([operands[0].sizes[axis] for axis in axes], extents):
        yield tuple(start for start, _ in box), tuple(narrow(operand, axes, box) for operand in operands)


def cut(operands: Sequence[Operand], most: int, axes: Sequence[int]) -> tuple[int, ...] | None:
    """Return a part's extent along each of ``axes``; None if even single elements do not fit.

    Parts are of about equal size, so that most share a pipeline, and begin at whole vectors if possible.
    """
    sizes = {axis: operands[0].sizes[axis] for axis in axes}
    extents = dict(sizes)
    for operand in operands:
        if operand.region.size <= most:
            continue
        elements = (most - 2 * VECTOR) * 8 // DATA_TYPES[operand.data_type].bits
        steps = operand.steps
        while (reach := _spanned_elements(operand, extents)) > elements:
            possible = [axis for axis in axes if extents[axis] > 1 and steps[axis]]
            if not possible:
                return None
            axis = max(possible, key=lambda axis: (extents[axis] - 1) * abs(steps[axis]))
            excess = -(-(reach - elements) // abs(steps[axis]))
            extents[axis] = max(1, extents[axis] - excess)
    return tuple(_even_extent(sizes[axis], extents[axis], _vector_step(operands, axis)) for axis in axes)


def in_ranges(operands: Sequence[Operand], most: int) -> list[tuple[int, Box]]:
    """Cut operands of equal sizes into parts within a binding, each a range of their elements in row-major order.

    Return, for each part, the row-major number of its first element, and its range along each axis.
    """
    sizes = operands[0].sizes
    extents = cut(operands, most, range(len(sizes))) or sizes
    last = max((axis for axis, size in enumerate(sizes) if extents[axis] < size), default=-1)
    extents = tuple(1 if axis < last else extent for axis, extent in enumerate(extents))
    steps = packed_strides(sizes)
    return [
        (sum(start * step for (start, _), step in zip(box, steps, strict=True)), box) for box in boxes(sizes, extents)
    ]


def in_reach(
    results: Sequence[Operand], source: Operand, most: int, reach: Callable[[Box], Box]
) -> Iterator[tuple[Box, list[Operand], Box, Operand]]:
    """Halve results of equal sizes until they and the elements of ``source`` that they read fit a binding.

    reach: returns the part of the source that a part of the results reads. Yield a part's place and its results, and
    the place and the elements of its part of the source. If not even single results fit, the tensors stay whole; the
    builder then raises an error that names them.
    """
    axes = range(results[0].rank)
    same_rank = [operand for operand in (*results, source) if operand.rank == len(axes)]
    steps = [max(abs(operand.steps[axis]) for operand in same_rank) for axis in axes]

    def part(box: Box) -> tuple[list[Operand], Box, Operand]:
        place = reach(box)
        return [narrow(result, axes, box) for result in results], place, narrow(source, range(source.rank), place)

    def fits(box: Box) -> bool:
        own, _, read = part(box)
        return all(crop(operand, 0).region.size <= most for operand in (*own, read))

    can_fit = fits(tuple((size // 2, 1) for size in results[0].sizes))
    pending: list[Box] = [tuple((0, size) for size in results[0].sizes)]
    while pending:
        box = pending.pop()
        axis = max(axes, key=lambda axis: (box[axis][1] - 1) * steps[axis])
        start, size = box[axis]
        if size == 1 or not can_fit or fits(box):
            yield box, *part(box)
            continue
        half = _even_extent(size, -(-size // 2), _vector_step(results, axis))
        for begin, count in ((start + half, size - half), (start, half)):
            pending.append((*box[:axis], (begin, count), *box[axis + 1 :]))


def window_reach(first: int, count: int, step: int, window: int, before: int, size: int) -> tuple[int, int]:
    """Return the start and the size of the source elements, at least one, that windows read along an axis.

    first, count: the windows' numbers; ``step`` apart, each covers ``window`` elements. before, size: the padding
    before the source, and the source's size.
    """
    start = min(max(first * step - before, 0), size - 1)
    end = min((first + count - 1) * step - before + window, size)
    return start, max(end - start, 1)


def words(sizes: Sequence[int], strides: Sequence[int]) -> Operand:
    """Return a placeholder for a temporary of 32-bit elements that each part will need, to pass to ``cut``.

    sizes, strides: over the operands' dimensions (stride 0 if it does not vary along one) and any others.
    """
    size = 4 * math.prod(size for size, stride in zip(sizes, strides, strict=True) if stride)
    return Operand(Region(Space.TEMPORARY, 0, 0, size), DML_TENSOR_DATA_TYPE_UINT32, tuple(sizes), tuple(strides))


def boxes(sizes: Sequence[int], extents: Sequence[int]) -> Iterator[Box]:
    """Divide a space of these sizes into boxes of at most ``extents``; yield them with the last axis fastest."""
    pairs = zip(sizes, extents, strict=True)
    return itertools.product(
        *([(start, min(extent, size - start)) for start in range(0, size, extent)] for size, extent in pairs)
    )


def narrow(operand: Operand, axes: Sequence[int], box: Box) -> Operand:
    """Return the operand's part along these axes."""
    sizes, base, followed = list(operand.sizes), operand.base, operand.followed
    shares_words = DATA_TYPES[operand.data_type].per_word > 1
    for axis, (start, size) in zip(axes, box, strict=True):
        step = operand.steps[axis]
        if shares_words and (start > 0 if step < 0 else start + size < sizes[axis]):
            followed = True
        sizes[axis] = size
        base += start * step
    return fast_replace(operand, sizes=tuple(sizes), base=base, followed=followed)


def within_whole(part: Operand, axes: Sequence[int], box: Box, sizes: Sequence[int]) -> Operand:
    """View a cropped part with the whole tensor's coordinates along these axes. Only the part's elements may be read.

    box: the part's place along the axes. sizes: those of the whole.
    """
    found, base = list(part.sizes), part.base
    for axis, (start, _), size in zip(axes, box, sizes, strict=True):
        found[axis] = size
        base -= start * part.steps[axis]
    return fast_replace(part, sizes=tuple(found), base=base % 2**32)


def crop(operand: Operand, most: int) -> Operand:
    """Return the operand with its region restricted to the bytes that its elements span, if the region exceeds ``most``
    bytes.

    Indices stay right modulo 2^32, as kernels compute them, in the operand and in its epilogue.
    """
    if operand.region.size > most:
        region, skipped = _spanned(operand, *operand.span)
        operand = fast_replace(operand, region=region, base=(operand.base - skipped) % 2**32)
        if operand.epilogue is not None:
            operand = fast_replace(
                operand, epilogue=replace(operand.epilogue, origin=operand.epilogue.origin - skipped)
            )
    if operand.epilogue is not None:
        operand = replace(operand, epilogue=_crop_operands(operand.epilogue, operand.span, most))
    return operand


def _crop_operands(epilogue: Epilogue, stores: tuple[int, int], most: int) -> Epilogue:
    """Crop the epilogue's operands. stores: the range of indices that the epilogue applies to."""
    operands = tuple(_crop_operand(operand, epilogue.origin, stores, most) for operand in epilogue.operands)
    return replace(epilogue, operands=operands, origin=epilogue.origin % 2**32)


def _crop_operand(own: EpilogueOperand, origin: int, stores: tuple[int, int], most: int) -> EpilogueOperand:
    operand = own.operand
    if operand.region.size <= most:
        return own
    lowest = highest = operand.base
    begin, end = (stores[0] - origin) % 2**32, (stores[1] - 1 - origin) % 2**32
    for period, step, stride in own.steps:
        whole = period and begin // period != end // period
        low, high = (0, period - 1) if whole else (begin % period, end % period) if period else (begin, end)
        lowest += low // step * stride
        highest += high // step * stride
    region, skipped = _spanned(operand, lowest, highest + 1)
    return replace(own, operand=replace(operand, region=region, base=(operand.base - skipped) % 2**32))


def _spanned(operand: Operand, first: int, end: int) -> tuple[Region, int]:
    """Return the region of elements ``first`` to ``end``, extended to whole vectors, and the number of elements of the
    original region before it."""
    bits = DATA_TYPES[operand.data_type].bits
    start = first * bits // 8 // VECTOR * VECTOR
    stop = min(operand.region.size, -(-end * bits // (8 * VECTOR)) * VECTOR)
    return operand.region._replace(offset=operand.region.offset + start, size=stop - start), start * 8 // bits


def _spanned_elements(operand: Operand, extents: dict[int, int]) -> int:
    """Return how many elements lie between the first and the last element of a part, both included."""
    sizes = (extents.get(axis, size) for axis, size in enumerate(operand.sizes))
    return sum((size - 1) * abs(step) for size, step in zip(sizes, operand.steps, strict=True)) + 1


def _vector_step(operands: Sequence[Operand], axis: int) -> int:
    """Return the steps along an axis after which every operand starts a vector again: a power of two."""
    moved = (operand.strides[axis] * DATA_TYPES[operand.data_type].bits for operand in operands)
    return max(VECTOR_BITS // math.gcd(VECTOR_BITS, bits) for bits in moved)


def _even_extent(size: int, most: int, step: int) -> int:
    """Return the extent of equal parts of at most ``most``, in multiples of ``step`` if possible."""
    if most >= size:
        return size
    while step > most:
        step //= 2
    parts = -(-size // (most // step * step))
    return -(-size // parts // step) * step
