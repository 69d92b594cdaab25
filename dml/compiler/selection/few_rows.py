"""Products of few rows, which are bound by the memory bandwidth of the other matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dml.compiler.selection.devices import (
    filling,
    half_matrices,
    has_few_registers,
    has_fewest_registers,
    keeps,
    profile,
)
from dml.compiler.selection.product_tiles import fits
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Largest split-k factor; a second dispatch adds the partial sums.
MOST_PARTS = 16
#: Number of workgroups that keep an H100 busy.
ENOUGH_GROUPS: int = threshold("few_rows.ENOUGH_GROUPS")


def enough_groups(target: Target) -> int:
    """Return the number of workgroups that keeps the device busy."""
    return filling(target, ENOUGH_GROUPS)


@dataclass(frozen=True)
class VectorProduct:
    """A product by gemm/vector.comp: ``slices`` invocations share each of ``lanes`` times ``columns`` columns.

    along_k: a vector of b holds elements that are adjacent along k, else ``columns`` adjacent columns. per_vector:
    elements of a vector. split_k: parts of k, each with its own workgroups. unroll: steps per loop iteration.
    adjacent_slices: with along_k, adjacent invocations that share a column.
    """

    rows: int
    columns: int
    lanes: int
    slices: int
    along_k: bool
    per_vector: int
    split_k: int = 1
    unroll: int = 2
    adjacent_slices: int = 32

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.rows, self.lanes * self.columns

    @property
    def workgroup(self) -> int:
        return self.lanes * self.slices

    @property
    def depth(self) -> int:
        """Products that a step adds to each column, over all of its invocations."""
        return self.slices * (self.per_vector if self.along_k else 4)


@dataclass(frozen=True)
class FewMatrixProduct:
    """A product by gemm/few_matrix.comp: ``subgroups`` subgroups share ``matrices`` matrices of columns, and each takes
    ``tile_k`` steps of k at a time.

    shape: (m, n, k) of a matrix; m are columns of the result and n its rows. split_k: parts of k, as in
    SharedProduct.
    """

    matrices: int
    subgroups: int
    tile_k: int
    shape: tuple[int, int, int]
    subgroup_size: int
    split_k: int = 1

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.shape[1], self.matrices * self.shape[0]

    @property
    def workgroup(self) -> int:
        return self.subgroups * self.subgroup_size

    @property
    def depth(self) -> int:
        """Products that a step adds to each column, over all of its invocations."""
        return self.subgroups * self.shape[2]

    @property
    def shared_bytes(self) -> int:
        rows, columns = self.tile
        lines = max(columns * (self.tile_k // 8 | 1), self.tile_k * (columns // 8 | 1))
        return self.subgroups * (16 * (rows * (self.tile_k // 8 | 1) + lines) + 4 * rows * columns)


#: Maximum number of rows of a product that is bound by the memory bandwidth of b.
FEW_ROWS = 8
#: Candidate numbers of adjacent invocations where a vector of b holds columns.
_LANES_OF_COLUMNS = (4, 8, 16)
#: Number of rows -> invocations that share a column, and vectors that each loads at once, for vectors of b that hold
#: columns, on devices with workgroups of _LARGE_WORKGROUP. More rows leave fewer registers.
SLICES_OF_COLUMNS: dict[int, tuple[int, int]] = threshold(
    "few_rows.SLICES_OF_COLUMNS", lambda found: {rows: (slices, unroll) for rows, slices, unroll in found}
)
#: _SMALL_WORKGROUP: supported by every device. _LARGE_WORKGROUP: used where b's vectors hold columns, if supported.
_SMALL_WORKGROUP, _LARGE_WORKGROUP = 128, 512
#: Minimum number of columns for which a workgroup computes 8 vectors of columns instead of 4, in products of at most
#: _ROWS_OF_MANY_COLUMNS rows.
MANY_COLUMNS: int = threshold("few_rows.MANY_COLUMNS")
_ROWS_OF_MANY_COLUMNS = 4
#: Columns per invocation and unroll of products of eight rows, by the elements of a vector of b along k.
COLUMNS_OF_EIGHT_ROWS: dict[str, tuple[int, int]] = threshold("few_rows.COLUMNS_OF_EIGHT_ROWS")


#: Number of sums per invocation with which no registers are left for hoisted loads.
_MANY_SUMS = 64
#: Number of elements per step, over all rows, that do not fit on devices with the fewest registers: Mesa's compiler for
#: Mali spilled 66 registers.
_MANY_ELEMENTS = 64


def rows_of_tile(m: int) -> int:
    """Return the rows of a tile for few rows: 1, 4, 8 and so on.

    Two rows use the kernel for four, which is hardly slower, so that fewer batch sizes need their own kernel.
    """
    return 1 if m == 1 else max(4, 1 << (m - 1).bit_length())


def keeps_rows(target: Target, m: int, per_vector: int) -> bool:
    """Whether an invocation can hold the sums of a vector of columns in registers, where b is contiguous across k.

    Mesa's compiler for NVIDIA's Volta spilled with 8 rows of 8 columns, because it hoists the next loads.
    """
    sums = rows_of_tile(m) * per_vector
    if has_few_registers(target):
        return keeps(target, sums)
    return not (profile(target).loads_early and sums >= _MANY_SUMS)


def keeps_elements(target: Target, m: int, per_vector: int) -> bool:
    """Whether an invocation can hold a step's elements of all rows in registers, where b is contiguous along k."""
    return not has_fewest_registers(target) or rows_of_tile(m) * per_vector < _MANY_ELEMENTS


def few_rows(
    target: Target, m: int, n: int, k: int, batch: int, b_along_k: bool, per_vector: int, *, halves: bool
) -> VectorProduct | FewMatrixProduct:
    """Return the kernel, with enough workgroups to keep memory busy: fewer columns each, or split-k."""
    rows = rows_of_tile(m)
    on_matrices = list(_on_matrices(target, m, b_along_k)) if halves else []

    def work() -> str:
        of = f"{rows} rows by {at_least(n * batch)} columns of {at_least(k, 8)}"
        where = f"{'along' if b_along_k else 'across'} them{', on matrix units' if on_matrices else ''}"
        return f"{32 * 4 // per_vector} bits, {of}, {where}"

    if b_along_k:
        vector = _along_k(rows, per_vector, n)
        if has_few_registers(target):
            vector = replace(vector, columns=min(vector.columns, 2), unroll=1)
        found: list[VectorProduct | FewMatrixProduct] = [*on_matrices, vector]
        found += [replace(vector, columns=columns) for columns in (1, 2, 4)]
        return tuned(target, "few rows", work, found[0], lambda: found)
    is_wide = n * batch >= MANY_COLUMNS and rows <= _ROWS_OF_MANY_COLUMNS
    ways: list[int | FewMatrixProduct] = [*on_matrices, 8 if is_wide else 4]
    chosen = tuned(target, "few rows", work, ways[0], lambda: [*ways, *_LANES_OF_COLUMNS])
    if isinstance(chosen, FewMatrixProduct):
        return chosen
    return _across_k(target, rows, n, k, batch, per_vector, chosen)


def _along_k(rows: int, per_vector: int, n: int) -> VectorProduct:
    """Return the kernel where b's vectors lie along k. Every eighth invocation reads the same elements of a."""
    columns, unroll = 4 if rows > 1 or n >= 4096 else 1, 2
    if rows == 8:
        columns, unroll = COLUMNS_OF_EIGHT_ROWS["4" if per_vector == 4 else "8"]
    return VectorProduct(rows, columns, 4, 32, True, per_vector, unroll=unroll, adjacent_slices=8)


def _across_k(target: Target, rows: int, n: int, k: int, batch: int, per_vector: int, lanes: int) -> VectorProduct:
    is_large = target.max_workgroup_invocations >= _LARGE_WORKGROUP
    slices, unroll = SLICES_OF_COLUMNS[rows] if is_large else (_SMALL_WORKGROUP, 2)
    slices = min(slices, (_LARGE_WORKGROUP if is_large else _SMALL_WORKGROUP) // lanes)
    groups = batch * -(-n // (lanes * per_vector))
    enough = enough_groups(target) * _SMALL_WORKGROUP // (groups * lanes * slices)
    split_k = max(1, min(MOST_PARTS, k // 512, enough))
    return VectorProduct(rows, per_vector, lanes, slices, False, per_vector, split_k, unroll)


#: Tiles of gemm/few_matrix.comp where b is contiguous along k, best first: matrices per workgroup, subgroups, steps of
#: k per iteration.
MATRICES_ALONG: tuple[tuple[int, int, int], ...] = threshold("few_rows.MATRICES_ALONG")
#: Tiles of gemm/few_matrix.comp where b is contiguous across k.
MATRICES_ACROSS: tuple[tuple[int, int, int], ...] = threshold("few_rows.MATRICES_ACROSS")
#: Minimum number of rows for which matrix units are faster than the vector kernel, where b is contiguous along k.
ROWS_ALONG: int = threshold("few_rows.ROWS_ALONG")
#: Minimum number of rows for which matrix units are faster than the vector kernel, where b is contiguous across k.
ROWS_ACROSS: int = threshold("few_rows.ROWS_ACROSS")


def _on_matrices(target: Target, m: int, b_along_k: bool) -> Iterator[FewMatrixProduct]:
    """Yield the tiles that fit; none if the device has no FLOAT16 matrices with as many columns as the product has
    rows."""
    shapes = [shape for shape in half_matrices(target) if shape[1] >= m]
    if not shapes or m < (ROWS_ALONG if b_along_k else ROWS_ACROSS):
        return
    shape = min(shapes, key=lambda shape: (shape[1], -shape[0] * shape[2]))
    for matrices, subgroups, tile_k in MATRICES_ALONG if b_along_k else MATRICES_ACROSS:
        tile_k = min(tile_k, 32) if has_few_registers(target) else tile_k
        found = FewMatrixProduct(matrices, subgroups, tile_k, shape, target.subgroup_size)
        if fits(target, found) and tile_k % shape[2] == 0:
            yield found
