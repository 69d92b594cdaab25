"""TOP_K, TOP_K1: the first K of each line in order; equal elements by ascending index, in either direction.

The first K of each block of a line are found, by a sort in shared memory or one after the other (selection.lines
chooses), and merged pairwise. NaN counts as the largest value and the zeros are equal; values are copied unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from dml import enums
from dml.compiler.apply import copy, raw
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.lines import lines_along
from dml.compiler.operators.reduction.monoids import ORDER
from dml.compiler.parts import cut, in_parts, words
from dml.compiler.program import Operand
from dml.compiler.selection.lines import MOST_GROUPS, top_k_group, top_k_sharing
from dml.descriptors.reduction import DML_TOP_K1_OPERATOR_DESC, DML_TOP_K_OPERATOR_DESC
from dml.tensors import packed_strides

SORT = "reduction/sort_blocks.comp"
SORT_OWN = "reduction/sort_own.comp"
SELECT = "reduction/select_blocks.comp"
SELECT_GROUPED = "reduction/select_grouped.comp"
MERGE = "reduction/merge_runs.comp"


@lowering(DML_TOP_K_OPERATOR_DESC, DML_TOP_K1_OPERATOR_DESC)
def top_k_operator(desc: DML_TOP_K_OPERATOR_DESC | DML_TOP_K1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    largest = isinstance(desc, DML_TOP_K_OPERATOR_DESC) or desc.AxisDirection == enums.DML_AXIS_DIRECTION_DECREASING
    outputs = builder["OutputValueTensor"], builder["OutputIndexTensor"]
    top_k(builder, builder["InputTensor"], *outputs, desc.Axis, desc.K, largest=largest)


def top_k(
    builder: ProgramBuilder, source: Operand, values: Operand, indices: Operand, axis: int, k: int, *, largest: bool
) -> None:
    """Write the k largest elements along ``axis`` in descending order, or the k smallest in ascending order, with their
    indices."""
    given = lines_along(axis, source, values, indices)
    lines = [_with_lines_that_fit(builder, each) for each in given]
    if lines[0] is not given[0]:
        copy(builder, lines[0], given[0])
    outer = lines[0].sizes[:-1]
    entry_sizes = (*outer, _most_words(builder, lines[0], k))
    entries = words(entry_sizes, packed_strides(entry_sizes))
    for x, y, z, _ in in_parts((*lines, entries), builder.target.max_region, range(len(outer))):
        _top_k(builder, x, y, z, k, largest=largest)
    for result, found in zip(given[1:], lines[1:], strict=True):
        if found is not result:
            copy(builder, result, found)


def _with_lines_that_fit(builder: ProgramBuilder, x: Operand) -> Operand:
    """Return x or, if a line's elements are too far apart for one binding, a packed temporary of x's sizes."""
    if x.strides[-1] == 1 or cut([x], builder.target.max_region, range(x.rank - 1)):
        return x
    return builder.temporary(x.data_type, x.sizes)


def _most_words(builder: ProgramBuilder, x: Operand, k: int) -> int:
    """Return the words of a line's entries between two kernels; 1 if none are needed."""
    length = x.sizes[-1]
    block = top_k_sharing(builder.target, math.prod(x.sizes[:-1]), length, k).block
    blocks = -(-length // block)
    # Merging may round the number of runs up.
    return 1 if blocks == 1 else (blocks + 1) * min(k, block) * _entry_words(x)


def sorting_network(count: int) -> Iterator[tuple[int, int]]:
    """Yield pairs of indices, the smaller first, that sort ``count`` (a power of two) elements if each pair is put in
    order, one after the other: Batcher's odd-even merge sort."""
    size = 1
    while size < count:
        apart = size
        while apart:
            for first in range(apart % size, count - apart, 2 * apart):
                for i in range(first, min(first + apart, count - apart)):
                    if i // (2 * size) == (i + apart) // (2 * size):
                        yield i, i + apart
            apart //= 2
        size *= 2


def _entry_words(x: Operand) -> int:
    """Return the words of an entry: a key and an index."""
    return 3 if _has_wide_keys(x) else 2


def _has_wide_keys(x: Operand) -> bool:
    return DATA_TYPES[x.data_type].kind.endswith("64")


def _top_k(builder: ProgramBuilder, x: Operand, values: Operand, indices: Operand, k: int, *, largest: bool) -> None:
    """Select along the last dimension."""
    group = top_k_group(builder.target, x.sizes[-1], k)
    if group > 1:
        _top_k_of_groups(builder, x, values, indices, k, group, largest=largest)
        return
    search = _LineSearch(builder, x, values, indices, k, largest)
    runs = search.first_of_blocks()
    while runs.entries is not None:
        runs = search.merge(runs, runs.entries)


def _top_k_of_groups(
    builder: ProgramBuilder, x: Operand, values: Operand, indices: Operand, k: int, size: int, *, largest: bool
) -> None:
    """Select from the k groups (of ``size`` adjacent elements) whose best elements rank highest, and from an incomplete
    last group: every other element ranks below k elements.

    Groups with equal best elements rank by position, and the chosen groups are put back in order, so that equal
    elements keep theirs.
    """
    *outer, length = x.sizes
    axis, groups = len(outer), length // size
    number = enums.DML_TENSOR_DATA_TYPE_UINT32

    def first(source: Operand, count: int, largest: bool) -> tuple[Operand, Operand]:
        found = builder.temporary(source.data_type, (*source.sizes[:-1], count))
        places = builder.temporary(number, found.sizes)
        top_k(builder, source, found, places, source.rank - 1, count, largest=largest)
        return found, places

    step = x.strides[-1]
    grouped = x.view((*outer, groups, size), (*x.strides[:-1], size * step, step))
    heads, _ = first(grouped, 1, largest)
    _, chosen = first(heads.view((*outer, groups), heads.strides[:-1]), k, largest)
    chosen, _ = first(chosen, k, largest=False)
    candidates = builder.temporary(x.data_type, (*outer, k * size + length % size))
    line = "".join(f"c[{d}], " for d in range(axis))
    place = f"""uint place(uint c[{axis + 1}], uint p) {{
    uint group = p / GROUP;
    if (group >= KEPT) return p - KEPT * GROUP + GROUPS * GROUP;
    return chosen_load(chosen_at(uint[{axis + 1}]({line}group))) * GROUP + p % GROUP;
}}
"""
    constants = {"GROUP": size, "KEPT": k, "GROUPS": groups}
    elements = f"""result_VALUE value(uint c[{axis + 1}]) {{
    return source_load(source_at(uint[{axis + 1}]({line}place(c, c[{axis}]))));
}}"""
    kernel = "elementwise/elementwise.comp"
    tensors = {"source": raw(x), "chosen": chosen}
    builder.for_each(kernel, raw(candidates), tensors, constants=constants, code=place + elements)
    places = builder.temporary(number, indices.sizes)
    top_k(builder, candidates, values, places, axis, k, largest=largest)
    index = "uvec2(i, 0u)" if DATA_TYPES[indices.data_type].bits == 64 else "i"
    own = f"""result_VALUE value(uint c[{axis + 1}]) {{
    uint i = place(c, places_load(places_at(c)));
    return {index};
}}"""
    builder.for_each(kernel, raw(indices), {"places": places, "chosen": chosen}, constants=constants, code=place + own)


@dataclass(frozen=True)
class _SortedRuns:
    """Each line as ``count`` sorted runs: a run covers ``span`` of its elements and holds the first ``keep`` of these.

    entries: the runs' keys and indices as words; None if a line is one run, which is the result.
    """

    count: int
    span: int
    keep: int
    entries: Operand | None


@dataclass(frozen=True)
class _LineSearch:
    """The common part of the kernels that find the first ``k`` along the last dimension."""

    builder: ProgramBuilder
    x: Operand
    values: Operand
    indices: Operand
    k: int
    largest: bool

    @property
    def lines(self) -> int:
        return math.prod(self.x.sizes[:-1])

    @property
    def outputs(self) -> dict[str, Bound]:
        return {"x": read(self.x), "values": write(self.values), "indices": write(self.indices)}

    def entries(self, runs: int, keep: int) -> Operand | None:
        """Return memory for the entries of the lines' runs; None if a line is one run."""
        if runs == 1:
            return None
        size = self.lines * runs * keep * _entry_words(self.x)
        return self.builder.temporary(enums.DML_TENSOR_DATA_TYPE_UINT32, (size,))

    def first_of_blocks(self) -> _SortedRuns:
        """Find the first elements of each block of a line, in order."""
        lines, length = self.lines, self.x.sizes[-1]
        sharing = top_k_sharing(self.builder.target, lines, length, self.k)
        blocks, keep = -(-length // sharing.block), min(self.k, sharing.block)
        entries = self.entries(blocks, keep)
        constants = {"LINES": lines, "LENGTH": length, "BLOCKS": blocks, "KEEP": keep}
        defines: dict[str, object] = {"KEY64": int(_has_wide_keys(self.x)), "FINAL": int(entries is None)}
        if sharing.group:
            kernel = SELECT_GROUPED
            constants |= {"BLOCK": sharing.block, "GROUP": sharing.group}
            defines |= {"GROUPS": f"{MOST_GROUPS}u"}
        elif sharing.selects:
            kernel = SELECT
            constants["BLOCK"] = sharing.block
        elif sharing.alone:
            kernel = SORT_OWN
            network = " ".join(f"ORDER({i}, {j})" for i, j in sorting_network(sharing.block))
            defines |= {"BLOCK": f"{sharing.block}u", "NETWORK": network}
        else:
            kernel = SORT
            defines |= {"BLOCK": f"{sharing.block}u", "SEGMENTS": f"{sharing.per_group}u"}
        self.builder.dispatch(
            kernel,
            self.outputs if entries is None else {"x": read(self.x), "entries": write(entries)},
            groups=-(-lines * blocks // sharing.per_group),
            workgroup=sharing.workgroup,
            constants=constants,
            defines=defines,
            code=f'#include "{ORDER}"\n{self._line_code()}\n{self._key_code()}',
            steps=sharing.steps,
        )
        return _SortedRuns(blocks, sharing.block, keep, entries)

    def merge(self, runs: _SortedRuns, entries: Operand) -> _SortedRuns:
        """Merge adjacent runs."""
        merged = _SortedRuns(-(-runs.count // 2), 2 * runs.span, min(self.k, 2 * runs.span), None)
        after = self.entries(merged.count, merged.keep)
        self.builder.dispatch(
            MERGE,
            {"entries": read(entries), **(self.outputs if after is None else {"merged": write(after)})},
            count=self.lines * runs.count * runs.keep,
            constants={
                "LINES": self.lines,
                "LENGTH": self.x.sizes[-1],
                "RUNS": runs.count,
                "SPAN": runs.span,
                "KEEP": runs.keep,
                "MERGED": merged.keep,
            },
            defines={"KEY64": int(_has_wide_keys(self.x)), "FINAL": int(after is None)},
            code=self._line_code() if after is None else "",
            steps=runs.keep.bit_length(),
        )
        return replace(merged, entries=after)

    def _line_code(self) -> str:
        """Return line_coordinates(line, c), and index_of(i): an index in the indices' type."""
        line = coordinates("line", "x", self.x.rank, range(self.x.rank - 1))
        if DATA_TYPES[self.indices.data_type].bits == 64:
            return line + "\nuvec2 index_of(uint i) { return uvec2(i, 0u); }"
        return line + "\nuint index_of(uint i) { return i; }"

    def _key_code(self) -> str:
        """Return key_of(v): an unsigned integer, smaller for elements that come earlier."""
        key, turned = "uvec2" if _has_wide_keys(self.x) else "uint", "~" if self.largest else ""
        return f"{key} key_of(x_VALUE v) {{ return {turned}order_{DATA_TYPES[self.x.data_type].kind}(v); }}"
