"""Matrix products: the kernel, its tile, and the operands that are packed for it.

CPUs' drivers get the tiles of selection.tiles. Other devices hide the reads of many invocations behind each other, and
share what is read through shared memory, which takes llvmpipe several times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import filling, half_matrices, keeps
from dml.compiler.selection.few_rows import (
    FEW_ROWS,
    MOST_PARTS,
    FewMatrixProduct,
    VectorProduct,
    enough_groups,
    few_rows,
    keeps_rows,
    rows_of_tile,
)
from dml.compiler.selection.product_tiles import (
    BlockTile,
    MatrixTile,
    SlicedTile,
    first_of_enough,
    fits,
    half_steps,
)
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tiles import (
    ProductSizes,
    TiledProduct,
    cheapest_step,
    has_few_places,
    has_many_weights,
    tiled_product,
)
from dml.compiler.selection.tuned import at_least, half_work, tuned
from dml.compiler.target import Target

#: How many times as much, as a quotient, a product may cost before that of the transposes is made in its stead. The
#: estimate is too rough to exchange the operands for less.
WORTH_TRANSPOSING: tuple[int, int] = threshold("gemm.WORTH_TRANSPOSING")
#: An operand whose elements are each used this often is worth a copy that can be read four elements at a time.
WORTH_PACKING: int = threshold("gemm.WORTH_PACKING")
#: A product of fewer rows than this has its own kernel on GPUs: tiles of 32 rows would be half empty at best.
NARROW: int = threshold("gemm.NARROW")
#: What the narrow kernel's workgroups hold: the 128 invocations that every device takes.
_NARROW_WORKGROUP = 128
#: Steps, at most, in which invocations' sums meet.
_OTHER_STEPS = 6
#: Elements of k in the smallest part of a product that goes in parts; parts are multiples of it, so that each begins
#: at a whole step of every kernel.
_PART_OF_K = 16


@dataclass(frozen=True)
class NarrowProduct(SlicedTile):
    """gemm/narrow.comp: ``slices`` invocations share the products of each of ``lanes`` columns.

    k_first: neighbouring invocations take neighbouring k, else neighbouring columns.
    """

    k_first: bool

    @property
    def depth(self) -> int:
        """Products of each column in a step of its invocations together."""
        return self.slices


@dataclass(frozen=True)
class SharedProduct(BlockTile):
    """gemm/shared.comp, through shared memory. parts: into how many sums, of different workgroups, k goes. half_steps:
    see selection.product_tiles."""

    parts: int = 1
    half_steps: int = 0
    #: Products of each sum in a step.
    depth: int = 1

    @property
    def shared_bytes(self) -> int:
        return self.slab * 4 * (self.rows + self.columns + 8)


@dataclass(frozen=True)
class MatrixProduct(MatrixTile):
    """gemm/cooperative.comp. parts: as those of SharedProduct. band: rows of tiles that are under way together."""

    parts: int = 1
    band: int = 8

    @property
    def depth(self) -> int:
        """Products of each sum in a step."""
        return self.shape[2]

    @property
    def shared_bytes(self) -> int:
        """With operands in the direction for which the lines of their slabs take more."""
        slabs = sum(max(size * (self.slab // 8 | 1), self.slab * (size // 8 | 1)) for size in self.tile)
        staged = self.subgroups * self.shape[0] * (self.own[1] // 4 + 2)
        return 16 * max(slabs, staged)


ProductKernel = TiledProduct | NarrowProduct | VectorProduct | FewMatrixProduct | SharedProduct | MatrixProduct


def product_kernel(
    target: Target,
    sizes: ProductSizes,
    *,
    a_along_columns: bool,
    b_along_k: bool,
    b_per_vector: int = 0,
    float16: bool = False,
    halves: bool = False,
) -> ProductKernel:
    """The kernel for products.

    a_along_columns: four neighbours of a column of a are read at once. b_along_k: elements of b along k lie closer
    together than those along n. b_per_vector: so many of these neighbours are read at once as a vector of 16 bytes; 0
    where none are. float16: a and b are FLOAT16. halves: and read in vectors.
    """
    if target.is_cpu:
        return tiled_product(target, sizes, a_along_columns=a_along_columns)
    m, n, k, batch = sizes.m, sizes.n, sizes.k, sizes.batch
    if m >= NARROW:
        return _through_memory(target, m, n, k, batch, float16=float16, halves=halves)
    if m <= FEW_ROWS and b_per_vector and (b_along_k or keeps_rows(target, m, b_per_vector)):
        return few_rows(target, m, n, k, batch, b_along_k, b_per_vector, halves=halves)
    return _narrow(m, b_along_k)


def part_of_k(kernel: ProductKernel, k: int) -> int:
    """Return the part of k that the workgroups of one part sum: a multiple of every kernel's step."""
    if not isinstance(kernel, SharedProduct | VectorProduct | FewMatrixProduct | MatrixProduct):
        return k
    return -(-k // kernel.parts // _PART_OF_K) * _PART_OF_K


def _narrow(m: int, b_along_k: bool) -> NarrowProduct:
    """Neighbouring invocations read neighbouring elements of b: 32 along k where they lie along k, else 32 columns."""
    beside = 4 if b_along_k else 32
    return NarrowProduct(rows_of_tile(m), beside, _NARROW_WORKGROUP // beside, b_along_k)


#: A part of k shorter than this is not worth a dispatch that adds the parts. (Matrix units take twice as long ones, and
#: half as many workgroups.)
SHORTEST_PART: int = threshold("gemm.SHORTEST_PART")

#: Tiles, the largest first, with how many of them fill a device. The larger the tile, the less often an element is
#: read. All fit the 16 KiB of shared memory that every device has. (The last would be faster with a longer slab, for
#: which Mesa spills registers of AMD's gfx1100.)
SHARED_TILES: tuple[tuple[SharedProduct, int], ...] = threshold(
    "gemm.SHARED_TILES", lambda tiles: tuple((SharedProduct(*sizes), enough) for *sizes, enough in tiles)
)
#: The same with sums in FLOAT16 beside them, which take half as many registers again: blocks of 2 x 2 spill on gfx1100,
#: and leave AMD's navi21 half the waves. No GPU has measured them.
_HALF_TILES: tuple[tuple[SharedProduct, int], ...] = (
    (SharedProduct(64, 128, blocks=(2, 1), slab=16), 128),
    (SharedProduct(64, 64, blocks=(2, 1), slab=16), 128),
    (SharedProduct(32, 32, blocks=(1, 1), slab=16), 1),
)
#: What an invocation with fewer registers keeps.
_TILES_OF_FEW_REGISTERS: tuple[tuple[SharedProduct, int], ...] = (
    (SharedProduct(64, 128, blocks=(2, 1), slab=16), 128),
    (SharedProduct(64, 64, blocks=(2, 1), slab=16), 128),
    (SharedProduct(32, 32, blocks=(1, 1), slab=8), 1),
)
#: Others that other devices may do better.
_SLOWER_TILES = (
    SharedProduct(128, 64, blocks=(2, 2), slab=16),
    SharedProduct(128, 128, blocks=(2, 2), slab=8),
    SharedProduct(64, 64, blocks=(1, 1), slab=16),
    SharedProduct(32, 64, blocks=(1, 1), slab=16),
    SharedProduct(32, 32, blocks=(1, 1), slab=32),
)


def _through_memory(
    target: Target, m: int, n: int, k: int, batch: int, *, float16: bool, halves: bool
) -> SharedProduct | MatrixProduct:
    """Return a tile that fits the device's workgroups, with k split if there are few of them. float16, halves: as
    above."""
    on_matrices = list(_on_matrices(target)) if halves and multiplies_on_matrices(target, m, n, k) else []
    steps = half_steps(target) if float16 else 0
    if steps:
        best = _HALF_TILES
    else:
        best = SHARED_TILES if keeps(target, SHARED_TILES[0][0].sums) else _TILES_OF_FEW_REGISTERS
    shared = [(replace(tile, half_steps=steps), enough) for tile, enough in best if fits(target, tile)]
    rule = (
        _fed_by_k(target, on_matrices, m, n, k, batch) if on_matrices else first_of_enough(target, shared, m, n, batch)
    )

    def work() -> str:
        return f"{half_work(target) if halves else '32 bits'}, {at_least(m * n * batch, 16)} sums of {at_least(k, 8)}"

    def variants() -> list[SharedProduct | MatrixProduct]:
        slower = (replace(tile, half_steps=steps) for tile in _SLOWER_TILES if fits(target, tile))
        return [*dict(on_matrices), *dict(shared), *slower]

    tile = tuned(target, "product", work, rule, variants)
    tiles = batch * -(-m // tile.rows) * -(-n // tile.columns)
    shortest, enough = SHORTEST_PART, enough_groups(target)
    if isinstance(tile, MatrixProduct):
        shortest, enough = 2 * shortest, enough // 2
    return replace(tile, parts=max(1, min(MOST_PARTS, k // shortest, enough // tiles)))


#: A part of k so long makes as good a workgroup as a tile.
PART_LIKE_A_TILE: int = threshold("gemm.PART_LIKE_A_TILE")


def _fed_by_k(
    target: Target, tiles: Sequence[tuple[MatrixProduct, int]], m: int, n: int, k: int, batch: int
) -> MatrixProduct:
    """The largest tile, of which come first, of which there are enough, with parts of k where they fill it; else the
    last."""
    parts = max(1, min(MOST_PARTS, k // PART_LIKE_A_TILE))
    for tile, enough in tiles:
        fills = m >= tile.rows and n >= tile.columns
        if batch * -(-m // tile.rows) * -(-n // tile.columns) * (parts if fills else 1) >= filling(target, enough):
            return tile
    return tiles[-1][0]


#: Sizes from which on a product goes to matrix units: less would leave most of a tile empty.
_MATRIX_ROWS, _MATRIX_DEPTH = 16, 16


def multiplies_on_matrices(target: Target, m: int, n: int, k: int) -> bool:
    """Whether a product of FLOAT16 goes to matrix units, which take vectors of eight elements."""
    return bool(not target.is_cpu and min(m, n) >= _MATRIX_ROWS and k >= _MATRIX_DEPTH and half_matrices(target))


def _on_matrices(target: Target) -> Iterator[tuple[MatrixProduct, int]]:
    """Yield the tiles for matrix units that fit, each with the number of them that fills the device."""
    shape = half_matrices(target)[0]
    for (rows, columns), own, slab, enough in MATRIX_TILES:
        tile = MatrixProduct(rows, columns, own, shape, slab, target.subgroup_size)
        if fits(target, tile) and tile.is_whole:
            yield tile, enough


#: Tiles for matrix units: (rows, columns), those of a subgroup, slab, and with how many they are enough. What feeds the
#: units limits them, and workgroups share 48 KiB: what a second slab gains, one workgroup less costs.
MATRIX_TILES: tuple[tuple[tuple[int, int], tuple[int, int], int, int], ...] = threshold("gemm.MATRIX_TILES")


def is_better_transposed(target: Target, sizes: ProductSizes) -> bool:
    """Whether the product of the transposes, in the other order, is the one that the kernels do well.

    GPUs have a kernel for few rows and none for few columns. On llvmpipe many weights are on the right, as those of
    late layers, whose images are small: whatever the image is.
    """
    m, n = sizes.m, sizes.n
    if not target.is_cpu:
        return n < min(m, NARROW)
    if target.llvmpipe > (0, 0) and sizes.a_known and not sizes.b_known and has_many_weights(m * sizes.k):
        return has_few_places(n)
    most, least = WORTH_TRANSPOSING
    return most * cheapest_step(target, n, m) < least * cheapest_step(target, m, n)


def is_worth_packing(target: Target, uses: int, *, known: bool) -> bool:
    """Whether to copy an operand, of which each element is used so often, to be read four elements at a time.

    known: it never changes, so that it is copied once. GPUs' kernels reorder what they read as they put it in shared
    memory.
    """
    return target.is_cpu and (known or uses >= WORTH_PACKING)


def product_steps(kernel: ProductKernel, k: int) -> int:
    """Return the steps (see Dispatch) of an invocation that adds k products to each of its sums, over all parts."""
    return -(-part_of_k(kernel, k) // kernel.depth) + _OTHER_STEPS


def longest_product(target: Target, kernel: ProductKernel) -> int:
    """Return how many products one dispatch may add to each sum; longer sums are split along k."""
    return max(_PART_OF_K, (max_steps(target) - _OTHER_STEPS) * kernel.depth // _PART_OF_K * _PART_OF_K)
