"""Tiles of matrix products on CPU drivers: the sums that an invocation of gemm/tiled.comp holds.

CPU drivers run an invocation on one lane of a vector register and have no real shared memory, so the number of reads
per element decides. A tile follows from the sizes of the weights where one operand is constant, else from those of one
product. It never depends on the number of images, sequences or heads, and on the numbers of rows and columns only at
few thresholds. So most batch sizes and lengths reuse a compiled kernel.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import lanes, reads_texels
from dml.compiler.selection.devices import has_few_registers, keeps, profile
from dml.compiler.selection.product_tiles import LaneTile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Maximum number of rows that have tiles of their own. A constant b is multiplied by one row at a time: a decoder's
#: step has a row per sequence, and uses one kernel for one sequence and for four.
FEW_ROWS: int = threshold("tiles.FEW_ROWS")
#: Tiles (rows, columns) for few rows. Columns are read as vec4. No tile has more than 256 sums: more exceed the
#: registers and the first-level cache of a CPU's core.
_SHORT_ROW, _LONG_ROW = (1, 8), (1, 16)
#: Tiles for two to four rows where b is not constant, as in attention, or a is read as vec4 along columns.
_SHORT_ROWS, _LONG_ROWS = (4, 8), (4, 16)
#: Minimum number of elements of b for which a product of few rows uses the longer tile.
LONG_ROWS_FROM: int = threshold("tiles.LONG_ROWS_FROM")
#: Minimum number of columns for the longer tile if b is not constant: with fewer, part of a workgroup would be idle.
_COLUMNS_OF_LONG_ROWS = 128
#: Tiles for many rows: the larger, the faster, and the longer to compile. A workgroup with the last tile is 128 columns
#: wide, too wide for products of fewer than 256.
_SMALL, _MIDDLE, _LARGE = (8, 8), (16, 8), (16, 16)
#: Tile where registers are few and every FLOAT16 has an address of its own: Mesa's compiler spilled 2 to 6 registers of
#: 4 x 8 sums on Adreno 702.
_SINGLE_HALVES = (4, 4)
_FEWEST_COLUMNS_OF_LARGE = 256
#: Minimum number of weights, over several products (Winograd's), for which the middle tile is worth compiling.
MIDDLE_WEIGHTS: int = threshold("tiles.MIDDLE_WEIGHTS")
#: Minimum number of weights, of one product, for which the large tile is worth compiling.
LARGE_WEIGHTS: int = threshold("tiles.LARGE_WEIGHTS")
#: Minimum number of multiplications, in a product without weights, for which the middle tile is worth compiling.
MIDDLE_WORK: int = threshold("tiles.MIDDLE_WORK")
#: Minimum number of multiplications, in a product without weights, for which the large tile is worth compiling.
LARGE_WORK: int = threshold("tiles.LARGE_WORK")
#: Minimum number of multiplications for which the large tile is worth compiling for a convolution's weights on the
#: left; with fewer they use the middle tile.
LARGE_CONVOLUTION: int = threshold("tiles.LARGE_CONVOLUTION")
#: Minimum number of multiplications for which even a product with fewer weights uses a larger tile: the large one, or
#: the middle one if half of the last large tile would be empty. So long a run repays the compilation.
MANY_ROWS_WORK: int = threshold("tiles.MANY_ROWS_WORK")
#: Minimum number of weights for which llvmpipe takes a convolution's weights as the right operand (rows are positions,
#: read as vec4 along columns). All of these use the middle tile: 16 x 16 runs no faster and takes longer to compile.
#: (SwiftShader is slower with weights on the right.)
MANY_WEIGHTS: int = threshold("tiles.MANY_WEIGHTS")
#: Maximum number of positions of an image in a product with the weights as the right operand.
MOST_PLACES: int = threshold("tiles.MOST_PLACES")
#: Cost of reading an element into a register on llvmpipe, in multiplications.
READ_COST: float = threshold("tiles.READ_COST")
#: Cost of reading a texel into a register on llvmpipe, in multiplications.
TEXEL_COST: float = threshold("tiles.TEXEL_COST")
#: Number of lanes that share the rows they read: the subgroup size that the kernel's broadcasts assume.
_SHARING = 8
#: Whether lanes share rows that are not read as texels.
SHARES_ROWS: bool = threshold("tiles.SHARES_ROWS")
#: Minimum number of workgroups that keep all cores busy: fewer take as long.
_FEWEST_GROUPS = 8


@dataclass(frozen=True)
class TiledProduct(LaneTile):
    """A product by gemm/tiled.comp."""

    #: Whether the lanes, a subgroup of _SHARING, each read different rows of a and share them.
    shares_rows: bool = False
    #: Products added to each sum per step.
    depth: int = 4


@dataclass(frozen=True)
class ProductSizes:
    """``batch`` products of m rows and n columns, summed over k. a_known, b_known: the operand is constant, as weights
    are. runs: how often the operator computes such products."""

    m: int
    n: int
    k: int
    batch: int
    a_known: bool = False
    b_known: bool = False
    runs: int = 1


def tiled_product(
    target: Target, sizes: ProductSizes, *, a_along_columns: bool, single_halves: bool = False
) -> TiledProduct:
    """Return the tile of a product. a_along_columns: a is read as vec4 along columns, which takes four rows at once.
    single_halves: elements of a and b are FLOAT16 and read one by one."""

    def made(tile: tuple[int, int]) -> TiledProduct:
        return TiledProduct(*tile, lanes(target), not a_along_columns and _shares_rows(target, tile[0]))

    rule = _tile(sizes, a_along_columns=a_along_columns)
    if single_halves and has_few_registers(target) and rule != _SHORT_ROW:
        return made(_SINGLE_HALVES)
    if not keeps(target, rule[0] * rule[1]):
        rule = _SHORT_ROWS
    classes = ((_SHORT_ROW, _LONG_ROW), (_SMALL, _MIDDLE, _LARGE), (_SHORT_ROWS, _LONG_ROWS, _SMALL))
    others = next(tiles for tiles in classes if rule in tiles)

    def variants() -> list[TiledProduct]:
        return [made(tile) for tile in others if keeps(target, tile[0] * tile[1])]

    return tuned(target, "product", lambda: _work(sizes), made(rule), variants)


def has_many_weights(count: int) -> bool:
    """Whether a convolution has enough weights to take them as the right operand."""
    return count >= MANY_WEIGHTS


def has_few_places(count: int) -> bool:
    """Whether an image has few enough positions to be the rows of a product with weights on the right."""
    return count <= MOST_PLACES


def _work(sizes: ProductSizes) -> str:
    """Return the tuning class of products: by the weights if they are constant, never by the batch size."""
    rows = "few rows" if sizes.m <= FEW_ROWS else "rows"
    if sizes.b_known:
        return f"{rows} by {at_least(sizes.n * sizes.k * sizes.batch, 16)} weights of {at_least(sizes.k, 8)}"
    if sizes.a_known:
        return f"{at_least(sizes.m * sizes.k, 16)} weights by columns of {at_least(sizes.k, 8)}"
    return f"{rows}, {at_least(sizes.m * sizes.n, 16)} sums of {at_least(sizes.k, 8)}"


def _tile(sizes: ProductSizes, *, a_along_columns: bool) -> tuple[int, int]:
    # In batches where each product has weights, as in Winograd's, each tile of each image is a row
    if sizes.m <= FEW_ROWS and not (sizes.b_known and sizes.batch > 1):
        if a_along_columns:
            return _SHORT_ROWS
        is_long = sizes.n * sizes.k >= LONG_ROWS_FROM and (sizes.b_known or sizes.n >= _COLUMNS_OF_LONG_ROWS)
        if sizes.m > 1 and not sizes.b_known:
            return _LONG_ROWS if is_long else _SHORT_ROWS
        return _LONG_ROW if is_long else _SHORT_ROW
    work = sizes.m * sizes.n * sizes.k * sizes.runs
    if sizes.b_known and a_along_columns and has_few_places(sizes.m):
        return _MIDDLE
    if sizes.b_known and sizes.batch == 1 and work >= MANY_ROWS_WORK:
        fills = sizes.n >= _FEWEST_COLUMNS_OF_LARGE or -(-sizes.n // 64) % 2 == 0
        return _LARGE if fills else _MIDDLE
    if sizes.b_known:
        large = sizes.n * sizes.k >= LARGE_WEIGHTS
        middle = sizes.batch > 1 and sizes.n * sizes.k * sizes.batch >= MIDDLE_WEIGHTS
    else:
        large = work >= (LARGE_CONVOLUTION if sizes.a_known else LARGE_WORK)
        middle = sizes.a_known or work >= MIDDLE_WORK
    if large and sizes.n >= _FEWEST_COLUMNS_OF_LARGE:
        return _LARGE
    return _MIDDLE if large or middle else _SMALL


def has_any_rows(target: Target, sizes: ProductSizes) -> bool:
    """Whether the tiled kernel reads a, and stores the result, one element at a time, regardless of layout.

    Small products without weights do, as in attention, whose rows have any length: they need no copy and share one
    kernel. Lanes that share rows read few elements, so this is hardly slower.
    """
    is_small = sizes.m * sizes.n * sizes.k < MIDDLE_WORK
    weighs = sizes.a_known or sizes.b_known
    return not profile(target).shares_memory and _may_share(target) and is_small and not weighs


def _may_share(target: Target) -> bool:
    return target.features.broadcasts and target.subgroup_size == lanes(target) == _SHARING


def _shares_rows(target: Target, rows: int) -> bool:
    """Whether the lanes of the tiled kernel each read different rows of a and then share them.

    Texels are read faster by each lane itself. With fewer rows than lanes, llvmpipe's code is many times slower.
    """
    return SHARES_ROWS and _may_share(target) and rows >= _SHARING and not reads_texels(target)


def _reads(tile: tuple[int, int], *, shared: bool) -> int:
    """Return the number of elements of both operands that an invocation reads per step of k."""
    return (-(-tile[0] // _SHARING) if shared else tile[0]) + tile[1]


def _groups(target: Target, tile: tuple[int, int], m: int, n: int, batch: int = 1) -> int:
    rows, columns = tile
    return max(_FEWEST_GROUPS, batch * -(-m // rows) * -(-n // (columns * lanes(target))))


def product_cost(target: Target, sizes: ProductSizes) -> float:
    """Return the cost of products of packed matrices, in vector multiplications."""
    tile = _tile(sizes, a_along_columns=False)
    read_cost = TEXEL_COST if reads_texels(target) else READ_COST
    reads = read_cost * _reads(tile, shared=_shares_rows(target, tile[0]))
    return sizes.k * _groups(target, tile, sizes.m, sizes.n, sizes.batch) * (reads + tile[0] * tile[1])


def cheapest_step(target: Target, m: int, n: int) -> float:
    """Return the estimated cost of a step of k with the best tile, for comparing both orders of the operands. It
    assumes that lanes share rows, and that reads cost the same on every driver."""
    tiles = (_SHORT_ROW, _LONG_ROW) if m <= FEW_ROWS else (_SMALL, _MIDDLE, _LARGE)
    reads = {tile: READ_COST * _reads(tile, shared=tile[0] >= _SHARING) for tile in tiles}
    return min(_groups(target, tile, m, n) * (reads[tile] + tile[0] * tile[1]) for tile in tiles)
