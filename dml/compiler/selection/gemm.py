"""Matrix products: the kernel, its tile, and whether operands are packed.

CPU drivers use the tiles of selection.tiles. Other devices hide memory latency behind many invocations, and share
operands through shared memory, which is several times slower on llvmpipe.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import (
    filling,
    half_matrices,
    has_few_registers,
    has_fewest_registers,
    keeps,
    keeps_with_positions,
    profile,
)
from dml.compiler.selection.few_rows import (
    FEW_ROWS,
    MOST_PARTS,
    FewMatrixProduct,
    VectorProduct,
    enough_groups,
    few_rows,
    keeps_elements,
    keeps_rows,
    rows_of_tile,
)
from dml.compiler.selection.product_tiles import BlockTile, MatrixTile, SlicedTile, first_of_enough, fits, half_steps
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

#: (p, q): the product of the transposes is computed instead if p times its cost is below q times the product's. The
#: cost estimate is too rough to exchange the operands for a smaller gain.
WORTH_TRANSPOSING: tuple[int, int] = threshold("gemm.WORTH_TRANSPOSING")
#: Minimum number of uses of each element for which an operand is copied so that it can be read as vec4.
WORTH_PACKING: int = threshold("gemm.WORTH_PACKING")
#: Products of fewer rows than this use a separate kernel on GPUs: tiles of 32 rows would be at least half empty.
NARROW: int = threshold("gemm.NARROW")
#: Columns whose stride is a multiple of this many 32-bit elements collide in a CPU's cache.
_COLLIDING = 512
#: Maximum number of bytes of a constant that is copied because its columns collide.
_MOST_COPIED = 64 << 20
#: Minimum number of uses of each element for which a matrix that is not constant is copied, in each run, because its
#: columns collide.
_COPIED_FROM = 256
#: Workgroup size of the narrow kernel, which every device supports.
_NARROW_WORKGROUP = 128
#: Upper bound on the steps in which invocations combine their partial sums.
_OTHER_STEPS = 6
#: Minimum length of a split-k part. Every part is a multiple of it, and so starts at a whole step of every kernel.
_PART_OF_K = 16


@dataclass(frozen=True)
class NarrowProduct(SlicedTile):
    """A product by gemm/narrow.comp: ``slices`` invocations share the products of each of ``lanes`` columns.

    k_first: adjacent invocations take adjacent k, else adjacent columns.
    """

    k_first: bool

    @property
    def depth(self) -> int:
        """Products that a step adds to each column, over all of its invocations."""
        return self.slices


@dataclass(frozen=True)
class SharedProduct(BlockTile):
    """A product by gemm/shared.comp, through shared memory.

    split_k: parts of k, each with its own workgroups. half_steps: see selection.product_tiles.
    """

    split_k: int = 1
    half_steps: int = 0
    #: Products added to each sum per step.
    depth: int = 1

    @property
    def shared_bytes(self) -> int:
        return self.tile_k * 4 * (self.rows + self.columns + 8)


@dataclass(frozen=True)
class MatrixProduct(MatrixTile):
    """A product by gemm/cooperative.comp. split_k: parts of k. band: rows of tiles computed at the same time."""

    split_k: int = 1
    band: int = 8

    @property
    def depth(self) -> int:
        """Products added to each sum per step."""
        return self.shape[2]

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory for the orientation of the operands whose padded rows take more."""
        slabs = sum(max(size * (self.tile_k // 8 | 1), self.tile_k * (size // 8 | 1)) for size in self.tile)
        staged = self.subgroups * self.shape[0] * (self.subgroup_tile[1] // 4 + 2)
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
    singles: bool = False,
    stored: bool = False,
) -> ProductKernel:
    """Return the kernel for a product.

    a_along_columns: four adjacent elements of a column of a are read at once. b_along_k: b's elements are closer
    together along k than along n. b_per_vector: elements of b in a 16-byte vector along that axis; 0 if b is not read
    in vectors. float16: a and b are FLOAT16. halves: they are FLOAT16 and read in vectors. singles: elements of a
    and b are read one by one. stored: GPUs dequantize b on its way to shared memory.
    """
    if not profile(target).shares_memory:
        return tiled_product(target, sizes, a_along_columns=a_along_columns, single_halves=float16 and singles)
    m, n, k, batch = sizes.m, sizes.n, sizes.k, sizes.batch
    if m >= NARROW or stored:
        return _through_memory(target, m, n, k, batch, float16=float16, halves=halves, singles=singles)
    keeps_few = keeps_elements if b_along_k else keeps_rows
    if m <= FEW_ROWS and b_per_vector and keeps_few(target, m, b_per_vector):
        return few_rows(target, m, n, k, batch, b_along_k, b_per_vector, halves=halves)
    return _narrow(target, m, b_along_k, singles=singles)


def part_of_k(kernel: ProductKernel, k: int) -> int:
    """Return the steps of k that one workgroup sums: with split-k, a multiple of every kernel's step."""
    if not isinstance(kernel, SharedProduct | VectorProduct | FewMatrixProduct | MatrixProduct):
        return k
    return -(-k // kernel.split_k // _PART_OF_K) * _PART_OF_K


def _narrow(target: Target, m: int, b_along_k: bool, *, singles: bool) -> NarrowProduct:
    """Return the narrow kernel's tile. Adjacent invocations read adjacent elements of b: 32 along k where b is
    contiguous along k, else 32 columns. For each row an invocation holds a sum, an index into a and, where it reads
    vectors, elements in flight: with 16 rows Mesa spilled on Adreno 618, and halved Intel's subgroups."""
    lanes, rows = 4 if b_along_k else 32, rows_of_tile(m)
    values = 2 if singles else 4
    while rows > 4 and not keeps(target, values * rows):
        rows //= 2
    return NarrowProduct(rows, lanes, _NARROW_WORKGROUP // lanes, b_along_k)


#: Minimum length of a split-k part that is worth the second dispatch, which adds the parts. (Matrix units take parts
#: twice as long, and half as many workgroups.)
SHORTEST_PART: int = threshold("gemm.SHORTEST_PART")

#: (tile, number of tiles that fills a device), largest first: the larger the tile, the less often an element is read.
#: All fit the 16 KiB of shared memory that every device has. (A longer slab, which is the part of k that shared memory
#: holds at a time, would make the last tile faster, but Mesa spills registers for it on AMD's gfx1100.)
SHARED_TILES: tuple[tuple[SharedProduct, int], ...] = threshold(
    "gemm.SHARED_TILES", lambda tiles: tuple((SharedProduct(*sizes), enough) for *sizes, enough in tiles)
)
#: Tiles with additional FLOAT16 sums, which take half as many registers again. Blocks of 2 x 2 spill on gfx1100 and
#: halve the waves of AMD's navi21. Not measured on a GPU.
_HALF_TILES: tuple[tuple[SharedProduct, int], ...] = (
    (SharedProduct(64, 128, blocks=(2, 1), tile_k=16), 128),
    (SharedProduct(64, 64, blocks=(2, 1), tile_k=16), 128),
    (SharedProduct(32, 32, blocks=(1, 1), tile_k=16), 1),
)
#: Tiles for invocations with fewer registers than an H100's.
_TILES_OF_FEW_REGISTERS: tuple[tuple[SharedProduct, int], ...] = (
    (SharedProduct(64, 128, blocks=(2, 1), tile_k=16), 128),
    (SharedProduct(64, 64, blocks=(2, 1), tile_k=16), 128),
    (SharedProduct(32, 32, blocks=(1, 1), tile_k=8), 1),
)
#: Tiles for invocations with fewer registers than an H100's, if elements are read one by one: each load takes registers
#: for an address and, for FLOAT16, a shift. Slabs of 16 steps spilled 94 to 173 registers of FLOAT16 on Intel's and
#: Qualcomm's GPUs, and 40 to 60 of FLOAT32 on Skylake and Adreno 730.
_TILES_OF_SINGLES: tuple[tuple[SharedProduct, int], ...] = (
    (SharedProduct(64, 64, blocks=(2, 1), tile_k=8), 128),
    (SharedProduct(32, 32, blocks=(1, 1), tile_k=8), 1),
)
#: Further candidates for `dml tune`: other devices may run them faster.
_SLOWER_TILES = (
    SharedProduct(128, 64, blocks=(2, 2), tile_k=16),
    SharedProduct(128, 128, blocks=(2, 2), tile_k=8),
    SharedProduct(64, 64, blocks=(1, 1), tile_k=16),
    SharedProduct(32, 64, blocks=(1, 1), tile_k=16),
    SharedProduct(32, 32, blocks=(1, 1), tile_k=32),
)


def _through_memory(
    target: Target, m: int, n: int, k: int, batch: int, *, float16: bool, halves: bool, singles: bool
) -> SharedProduct | MatrixProduct:
    """Return a tile that fits the device's workgroups, with split-k where tiles are few. float16, halves, singles: see
    ``product_kernel``."""
    on_matrices = list(_on_matrices(target)) if halves and multiplies_on_matrices(target, m, n, k) else []
    steps = half_steps(target) if float16 else 0
    if float16 and not halves and has_few_registers(target):
        larger, _ = _TILES_OF_SINGLES
        best = _TILES_OF_SINGLES[not keeps_with_positions(target, larger[0].sums) :]
    elif steps and not has_fewest_registers(target):
        best = _HALF_TILES
    elif singles and (profile(target).by_thread or (has_few_registers(target) and profile(target).loads_early)):
        best = _TILES_OF_SINGLES
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
    return replace(tile, split_k=max(1, min(MOST_PARTS, k // shortest, enough // tiles)))


#: Number of steps of k per split-k part that the choice of a tile assumes when it counts parts as workgroups.
PART_LIKE_A_TILE: int = threshold("gemm.PART_LIKE_A_TILE")


def _fed_by_k(
    target: Target, tiles: Sequence[tuple[MatrixProduct, int]], m: int, n: int, k: int, batch: int
) -> MatrixProduct:
    """Return the first (largest) tile with enough workgroups; the last tile if there is none. If m and n fill a tile,
    its parts of k count as workgroups, too."""
    split_k = max(1, min(MOST_PARTS, k // PART_LIKE_A_TILE))
    for tile, enough in tiles:
        fills = m >= tile.rows and n >= tile.columns
        if batch * -(-m // tile.rows) * -(-n // tile.columns) * (split_k if fills else 1) >= filling(target, enough):
            return tile
    return tiles[-1][0]


#: Smallest m and n, and smallest k, of a product on matrix units: smaller ones leave most of a tile empty.
_MATRIX_ROWS, _MATRIX_DEPTH = 16, 16


def multiplies_on_matrices(target: Target, m: int, n: int, k: int) -> bool:
    """Whether a FLOAT16 product runs on matrix units, whose kernel reads vectors of eight elements."""
    is_large = min(m, n) >= _MATRIX_ROWS and k >= _MATRIX_DEPTH
    return bool(profile(target).shares_memory and is_large and half_matrices(target))


def _on_matrices(target: Target) -> Iterator[tuple[MatrixProduct, int]]:
    """Yield the matrix unit tiles that fit, each with the number of tiles that fills the device."""
    shape = half_matrices(target)[0]
    for (rows, columns), subgroup_tile, tile_k, enough in MATRIX_TILES:
        tile = MatrixProduct(rows, columns, subgroup_tile, shape, tile_k, target.subgroup_size)
        if fits(target, tile) and tile.is_whole:
            yield tile, enough


#: Tiles for matrix units: (rows, columns), (rows, columns) per subgroup, k per slab, tiles that fill a device. Feeding
#: the units is the bottleneck, and the workgroups of a core share 48 KiB: a second slab leaves one workgroup less,
#: which costs as much as it gains.
MATRIX_TILES: tuple[tuple[tuple[int, int], tuple[int, int], int, int], ...] = threshold("gemm.MATRIX_TILES")


def is_better_transposed(target: Target, sizes: ProductSizes) -> bool:
    """Whether to compute the product of the transposes, with exchanged operands, because the kernels are faster at it.

    GPUs have a kernel for few rows and none for few columns. On llvmpipe, many constant weights go to the right if the
    image is small, as in late layers.
    """
    m, n = sizes.m, sizes.n
    if profile(target).shares_memory:
        return n < min(m, NARROW)
    if target.llvmpipe > (0, 0) and sizes.a_known and not sizes.b_known and has_many_weights(m * sizes.k):
        return has_few_places(n)
    most, least = WORTH_TRANSPOSING
    return most * cheapest_step(target, n, m) < least * cheapest_step(target, m, n)


def is_worth_packing(target: Target, uses: int, *, known: bool) -> bool:
    """Whether to copy an operand so that it can be read as vec4. uses: number of uses of each element.

    known: the operand is constant, so that it is copied once. GPU kernels reorder operands as they write them to shared
    memory.
    """
    return not profile(target).shares_memory and (known or uses >= WORTH_PACKING)


def columns_collide(target: Target, stride: int, uses: int, known: int | None) -> bool:
    """Whether to copy a matrix, so that its rows are contiguous instead of its columns, which a CPU would read slowly.

    The columns of a tile evict each other if their stride, in elements, maps them to few of the cache's sets. uses:
    number of uses of each element. known: bytes of a constant; its copy replaces it unless something else reads it, so
    large ones, such as vocabularies, are not copied.
    """
    collide = profile(target).vector_groups and stride % _COLLIDING == 0
    return collide and (uses >= _COPIED_FROM if known is None else known <= _MOST_COPIED)


def product_steps(kernel: ProductKernel, k: int) -> int:
    """Return the steps (see Dispatch) of an invocation that adds its part of k products to each of its sums."""
    return -(-part_of_k(kernel, k) // kernel.depth) + _OTHER_STEPS


def longest_product(target: Target, kernel: ProductKernel) -> int:
    """Return the maximum number of products that one dispatch may add to each sum; longer sums are split along k."""
    return max(_PART_OF_K, (max_steps(target) - _OTHER_STEPS) * kernel.depth // _PART_OF_K * _PART_OF_K)
