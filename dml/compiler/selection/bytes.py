"""Products of 8-bit integers: with matrix units, integer dot product instructions, or neither."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dml.compiler.selection import lanes, max_steps
from dml.compiler.selection.convolution import WindowSizes
from dml.compiler.selection.devices import byte_matrices, has_fewest_registers, profile
from dml.compiler.selection.product_tiles import BlockTile, LaneTile, MatrixTile, SlicedTile, first_of_enough, fits
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Bytes of a vector. Kernels take k in multiples of it.
VECTOR = 16
#: Upper bound on the steps in which an invocation stores its sums, on CPU drivers.
_OTHER_STEPS = 64
#: Maximum number of rows of the kernel for few rows, which is bound by memory bandwidth.
FEW_ROWS: int = threshold("bytes.FEW_ROWS")
#: Whether llvmpipe multiplies as INT32, as other CPU drivers do.
CPU_MULTIPLIES_WORDS: bool = threshold("bytes.CPU_MULTIPLIES_WORDS")
#: Maximum number of positions, over all images, for which llvmpipe multiplies a convolution's bytes without conversion:
#: with more, reading windows takes longer than converting the filter to INT32.
CPU_PLACES: int = threshold("bytes.CPU_PLACES")

#: Maximum number of rows for which CPU drivers multiply by a b that is not constant without copying it: the copy would
#: take longer than the product.
CPU_FEW_ROWS: int = threshold("bytes.CPU_FEW_ROWS")


@dataclass(frozen=True)
class DotProduct(BlockTile):
    """A product by gemm/bytes.comp."""

    @property
    def shared_bytes(self) -> int:
        return self.tile_k * (self.rows + self.columns + 8)


@dataclass(frozen=True)
class DotRows(SlicedTile):
    """A product by gemm/bytes_rows.comp."""

    @property
    def tile_k(self) -> int:
        """Steps of k per iteration."""
        return self.slices * VECTOR


@dataclass(frozen=True)
class ByteMatrixProduct(MatrixTile):
    """A product by gemm/bytes_matrix.comp."""

    @property
    def shared_bytes(self) -> int:
        m, n, _ = self.shape
        lines = (self.rows + self.columns) * VECTOR * (self.tile_k // VECTOR | 1)
        return lines + 4 * m * n * self.subgroups


@dataclass(frozen=True)
class TiledBytes(LaneTile):
    """A product by gemm/bytes_tiled.comp."""

    tile_k: int = VECTOR


ByteKernel = TiledBytes | DotProduct | DotRows | ByteMatrixProduct

#: (tile, number of tiles that fills a device), largest first; the numbers are those of gemm.py.
_DOT_TILES = (
    (DotProduct(64, 128, blocks=(2, 2), tile_k=32), 128),
    (DotProduct(64, 64, blocks=(2, 2), tile_k=32), 128),
    (DotProduct(64, 64, blocks=(1, 1), tile_k=64), 128),
    (DotProduct(32, 32, blocks=(1, 1), tile_k=32), 1),
)
#: Tiles for matrix units: (rows, columns), (rows, columns) per subgroup, k per slab, tiles that fill a device. The
#: numbers are those of float16 products.
_MATRIX_TILES = (((128, 128), (64, 32), 64, 128), ((64, 64), (32, 32), 64, 64), ((32, 32), (16, 16), 64, 1))


def byte_kernel(target: Target, m: int, n: int, k: int, batch: int) -> ByteKernel | None:
    """Return the kernel for a product of 8-bit integers; None if it has none: INT32 is multiplied instead."""
    if not profile(target).shares_memory:
        return _tile_of_cpus(target, m, n, k)
    has_dots = target.features.integer_dot_product and profile(target).dots
    if m <= FEW_ROWS:
        return DotRows(1 << (m - 1).bit_length(), 8, 16) if has_dots else None
    on_matrices = list(_on_matrices(target)) if min(m, n, k) >= VECTOR else []
    dots = [(tile, enough) for tile, enough in _DOT_TILES if has_dots and fits(target, tile)]
    ordered: Sequence[tuple[DotProduct | ByteMatrixProduct, int]] = on_matrices or dots
    if not ordered:
        return None
    rule = first_of_enough(target, ordered, m, n, batch)
    return tuned(
        target,
        "product",
        lambda: f"8 bits, {at_least(m * n * batch, 16)} sums of {at_least(k, 8)}",
        rule,
        lambda: [*dict(on_matrices), *dict(dots)],
    )


#: Tiles (rows, columns) of CPU drivers for one row, and for more: with larger ones kernels compile twice as long for a
#: tenth of the time.
_ROW_OF_CPUS, _ROWS_OF_CPUS = (1, 8), (8, 8)


def _tile_of_cpus(target: Target, m: int, n: int, k: int) -> TiledBytes | None:
    """Return llvmpipe's tile; None if most of the tile, or of a vector along k, would be empty."""
    tile = TiledBytes(*(_ROW_OF_CPUS if m == 1 else _ROWS_OF_CPUS), lanes(target))
    is_large = n >= tile.tile[1] // 2 and 4 * VECTOR <= k <= (max_steps(target) - _OTHER_STEPS) * VECTOR
    return tile if target.llvmpipe > (0, 0) and not CPU_MULTIPLIES_WORDS and is_large else None


def multiplies_few_rows(target: Target, all_rows: int, rows: int, k: int, size: int) -> bool:
    """Whether CPU drivers multiply few rows by b without copying it. all_rows: number of rows in the whole batch. size:
    bytes of b."""
    few = all_rows == rows <= CPU_FEW_ROWS
    return few and not profile(target).shares_memory and k // 4 <= max_steps(target) and size <= target.max_region


#: Input channels per group below which grouped convolutions run as INT32: vectors would be mostly empty.
GROUP_CHANNELS: int = threshold("bytes.GROUP_CHANNELS")


def convolution_kernel(target: Target, sizes: WindowSizes, k: int) -> ByteKernel | None:
    """Return the kernel, as ``byte_kernel`` does, for a convolution: filters times windows, padded to k elements."""
    if sizes.groups > 1 and sizes.inputs < GROUP_CHANNELS:
        return None
    places = sizes.batch * math.prod(sizes.places)
    if places > CPU_PLACES and not profile(target).shares_memory:
        return None
    return byte_kernel(target, sizes.outputs, places, k, sizes.groups)


def finishes_in_a_loop(target: Target, together: int) -> bool:
    """Whether gemm/bytes.comp finishes four adjacent results in a loop, because each has a position of its own.

    together: number of results in a stored word; 0 if they are stored one by one. Mesa's compiler for Mali spilled six
    registers when the loop was unrolled.
    """
    return not together and has_fewest_registers(target)


def byte_runs(sizes: WindowSizes) -> tuple[int, bool]:
    """Return the bytes to which a group's channels are padded, and whether window elements that are adjacent along x
    are joined: with few channels, a vector per element would be mostly empty."""
    if sizes.inputs % VECTOR == 0:
        return sizes.inputs, False
    return -(-sizes.inputs // 4) * 4, sizes.groups == 1 and sizes.dilations[2] == 1


def is_better_exchanged(target: Target, m: int, n: int) -> bool:
    """Whether to compute the product of the transposes: there are kernels for few rows, and none for few columns."""
    if profile(target).shares_memory:
        return n <= FEW_ROWS < m
    return n < min(m, _ROWS_OF_CPUS[1] * lanes(target))


def _on_matrices(target: Target) -> Iterator[tuple[ByteMatrixProduct, int]]:
    """Yield the tiles that fit, each with the number of tiles that fills the device; none without matrix units for
    bytes."""
    for shape in byte_matrices(target)[:1]:
        for (rows, columns), subgroup_tile, tile_k, enough in _MATRIX_TILES:
            tile = ByteMatrixProduct(rows, columns, subgroup_tile, shape, tile_k, target.subgroup_size)
            if fits(target, tile) and tile.is_whole:
                yield tile, enough


#: Rows per workgroup of gemm/bytes_terms.comp, and its workgroup size.
TERM_ROWS, TERM_WORKGROUP = 16, 128
