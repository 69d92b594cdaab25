"""Tiles of matrix products on CPUs' drivers: what an invocation of gemm/tiled.comp keeps.

CPUs' drivers run an invocation on one lane of a vector register and have no shared memory of their own: what counts
there is how often an element is read. A tile follows from the sizes of the weights where one operand is known before it
runs, else from those of one product: never from how many images, sequences or heads there are, nor, but for a few and
for very many, from how many rows. So another batch size or length mostly finds its kernel made.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import lanes, reads_texels
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Rows, at most, that are made one by one. A step of a decoder has as many rows as it has sequences, and takes the same
#: kernel for one and for four.
FEW_ROWS: int = threshold("tiles.FEW_ROWS")
#: Rows and columns of sums that an invocation may keep: more than 256 sums no longer stay in the registers and the
#: first cache of a CPU's core. Columns are read four at a time.
_SHORT_ROW, _LONG_ROW = (1, 8), (1, 16)
#: Weights from which on a product of few rows takes the longer tile.
LONG_ROWS_FROM: int = threshold("tiles.LONG_ROWS_FROM")
#: The same of many rows: the larger, the faster, and the longer to compile. The last is as wide as 128 columns, and
#: wasted on fewer than 256.
_SMALL, _MIDDLE, _LARGE = (8, 8), (16, 8), (16, 16)
_FEWEST_COLUMNS_OF_LARGE = 256
#: Weights of several products together (Winograd's), and of one, from which on a larger tile is worth compiling.
MIDDLE_WEIGHTS: int = threshold("tiles.MIDDLE_WEIGHTS")
LARGE_WEIGHTS: int = threshold("tiles.LARGE_WEIGHTS")
#: Multiplications of one product from which on they are where it has no weights. What weights of a convolution are
#: multiplied with (they are on the left) is large enough for the middle one in any case.
MIDDLE_WORK: int = threshold("tiles.MIDDLE_WORK")
LARGE_WORK: int = threshold("tiles.LARGE_WORK")
LARGE_CONVOLUTION: int = threshold("tiles.LARGE_CONVOLUTION")
#: Multiplications from which on a product by fewer weights has a larger tile as well, the largest but where that is
#: wasted on every second column. A run of such a product makes up for much compilation.
MANY_ROWS_WORK: int = threshold("tiles.MANY_ROWS_WORK")
#: Weights of a convolution from which on llvmpipe has them on the right (rows are places, read in fours along columns),
#: but of images of more places than so many. All of them take the middle tile: 16 x 16 takes as long, and more to
#: compile. (SwiftShader is slower with weights on the right.)
MANY_WEIGHTS: int = threshold("tiles.MANY_WEIGHTS")
MOST_PLACES: int = threshold("tiles.MOST_PLACES")
#: Few rows of a read in fours along columns.
_COLUMNS_IN_FOURS = (4, 8)

#: Reading an element into a register costs as much as this many multiplications on llvmpipe; and by texels.
READ_COST: float = threshold("tiles.READ_COST")
TEXEL_COST: float = threshold("tiles.TEXEL_COST")
#: Lanes that share the rows that they read: those of the subgroup that the kernel's broadcasts count on; and whether
#: they do, where rows are not read by texels.
_SHARING = 8
SHARES_ROWS: bool = threshold("tiles.SHARES_ROWS")
#: Fewer workgroups than this leave cores idle: they take as long as this many.
_FEWEST_GROUPS = 8


@dataclass(frozen=True)
class TiledProduct:
    """gemm/tiled.comp: an invocation keeps rows x columns sums, ``lanes`` invocations stand side by side along n."""

    rows: int
    columns: int
    lanes: int
    #: Whether the lanes, a subgroup of _SHARING, each read other rows of a and share them.
    shares_rows: bool = False
    #: Products of each sum in a step.
    depth: int = 4

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup makes."""
        return self.rows, self.columns * self.lanes

    @property
    def workgroup(self) -> int:
        return self.lanes


@dataclass(frozen=True)
class ProductSizes:
    """``batch`` products of m rows and n columns, each a sum of k. a_known, b_known: weights, which never change."""

    m: int
    n: int
    k: int
    batch: int
    a_known: bool = False
    b_known: bool = False


def tiled_product(target: Target, sizes: ProductSizes, *, a_along_columns: bool) -> TiledProduct:
    """a_along_columns: four neighbours of a column of a are read at once, which takes rows in fours."""

    def made(tile: tuple[int, int]) -> TiledProduct:
        return TiledProduct(*tile, lanes(target), not a_along_columns and _shares_rows(target, tile[0]))

    rule = _tile(sizes, a_along_columns=a_along_columns)
    others = (_SHORT_ROW, _LONG_ROW) if rule in (_SHORT_ROW, _LONG_ROW) else (_SMALL, _MIDDLE, _LARGE)
    if rule == _COLUMNS_IN_FOURS:
        others = (_COLUMNS_IN_FOURS, _SMALL)
    return tuned(target, "product", lambda: _work(sizes), made(rule), lambda: map(made, others))


def has_many_weights(count: int) -> bool:
    """Whether so many weights of a convolution are on the right."""
    return count >= MANY_WEIGHTS


def has_few_places(count: int) -> bool:
    """Whether so many places of an image are rows of a product with weights on the right."""
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
    # (Products by weights of their own, as Winograd's, have a row for each tile of each image)
    if sizes.m <= FEW_ROWS and not (sizes.b_known and sizes.batch > 1):
        if a_along_columns:
            return _COLUMNS_IN_FOURS
        return _LONG_ROW if sizes.b_known and sizes.n * sizes.k >= LONG_ROWS_FROM else _SHORT_ROW
    work = sizes.m * sizes.n * sizes.k
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
    """Whether the tiled kernel reads elements of a, and stores those of the result, one by one however they lie.

    It is for small products without weights, as attention's, whose rows have any length: they need no copy and have one
    kernel. Lanes that share rows read few of them, so that it takes hardly longer.
    """
    is_small = sizes.m * sizes.n * sizes.k < MIDDLE_WORK
    return target.is_cpu and _may_share(target) and is_small and not (sizes.a_known or sizes.b_known)


def _may_share(target: Target) -> bool:
    return target.features.broadcasts and target.subgroup_size == lanes(target) == _SHARING


def _shares_rows(target: Target, rows: int) -> bool:
    """Whether the lanes of the tiled kernel each read other rows of a, which they then share.

    Texels are faster read by each lane. With fewer rows than lanes llvmpipe makes code that takes many times as long.
    """
    return SHARES_ROWS and _may_share(target) and rows >= _SHARING and not reads_texels(target)


def _reads(tile: tuple[int, int], *, shared: bool) -> int:
    """Return the number of elements of both operands that an invocation reads per step of k."""
    return (-(-tile[0] // _SHARING) if shared else tile[0]) + tile[1]


def _groups(target: Target, tile: tuple[int, int], m: int, n: int, batch: int = 1) -> int:
    rows, columns = tile
    return max(_FEWEST_GROUPS, batch * -(-m // rows) * -(-n // (columns * lanes(target))))


def product_cost(target: Target, sizes: ProductSizes) -> float:
    """What products of packed matrices cost, in multiplications of all lanes at once."""
    tile = _tile(sizes, a_along_columns=False)
    read_cost = TEXEL_COST if reads_texels(target) else READ_COST
    reads = read_cost * _reads(tile, shared=_shares_rows(target, tile[0]))
    return sizes.k * _groups(target, tile, sizes.m, sizes.n, sizes.batch) * (reads + tile[0] * tile[1])


def cheapest_step(target: Target, m: int, n: int) -> float:
    """What a step of k costs by the best of all tiles. An estimate, for whichever side is to be rows: as if rows were
    shared, and elements took as long to read, on every driver."""
    tiles = (_SHORT_ROW, _LONG_ROW) if m <= FEW_ROWS else (_SMALL, _MIDDLE, _LARGE)
    reads = {tile: READ_COST * _reads(tile, shared=tile[0] >= _SHARING) for tile in tiles}
    return min(_groups(target, tile, m, n) * (reads[tile] + tile[0] * tile[1]) for tile in tiles)
