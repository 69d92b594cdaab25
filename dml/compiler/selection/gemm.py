"""Products of matrices: the kernel, its tile, and what is laid out anew for it.

CPUs' drivers run an invocation on one lane of a vector register and have no shared memory of their own: what counts
there is how often an element is read. Other devices hide the reads of many invocations behind each other, and share
what is read through shared memory. A product of 512 x 512 x 512 takes llvmpipe 37 ms with the tiled kernel and 192 with
the one that uses shared memory.

Times in this package are those of a whole operator in float32 on llvmpipe (two cores that had other work too): the best
of 10.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import lanes, max_steps
from dml.compiler.target import Target

#: Rows and columns of sums that an invocation of the tiled kernel may keep: more than 256 sums no longer stay in the
#: registers and the first cache of a CPU's core. Columns are read four at a time. 512 x 512 x 512 takes llvmpipe 152 ms
#: of CPU time with 8 x 8 sums, 97 with 16 x 8 and 83 with 16 x 16. Few, since a model's products share what is compiled
#: for them.
_TILES_OF_ONE_ROW, _TILES_OF_FEW_ROWS = ((1, 4), (1, 16)), ((4, 8),)
#: Multiplications from which on a product of one row has a tile of its own.
_OWN_TILE_OF_ONE_ROW = 1 << 16
#: With the multiplications from which on a product is worth compiling them.
_TILES_OF_MANY_ROWS = {(8, 8): 0, (16, 8): 5_000_000, (16, 16): 50_000_000}
#: Reading an element into a register costs as much as this many multiplications on llvmpipe.
_READ_COST = 20.0
#: Lanes that share the rows that they read: those of the subgroup that the kernel's broadcasts count on.
_SHARING = 8
#: Fewer workgroups than this leave cores idle: they take as long as this many.
_FEWEST_CPU_GROUPS = 8
#: How many times as much the product may cost before the product of the transposes is made in its stead. The estimate
#: is too rough to exchange the operands for less. 4096 x 1024 x 3 takes llvmpipe 16 ms so, and 38 as it is given.
_WORTH_TRANSPOSING = 1.5
#: An operand whose elements are each used this often is worth a copy that can be read four elements at a time.
_WORTH_PACKING = 32
#: A product of fewer rows than this has its own kernel on GPUs: tiles of 32 rows would be half empty at best.
_NARROW = 16
#: What the narrow kernel's workgroups hold: the 128 invocations that every device takes.
_NARROW_WORKGROUP = 128
#: Steps, at most, in which invocations' sums meet.
_OTHER_STEPS = 6
#: Elements of k in the smallest part of a product that goes in parts; parts are multiples of it, so that each begins
#: at a whole step of every kernel.
_PART_OF_K = 16


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
class NarrowProduct:
    """gemm/narrow.comp: ``slices`` invocations share the products of each of ``lanes`` columns.

    k_first: neighbouring invocations take neighbouring k, else neighbouring columns.
    """

    rows: int
    lanes: int
    slices: int
    k_first: bool

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup makes."""
        return self.rows, self.lanes

    @property
    def workgroup(self) -> int:
        return self.lanes * self.slices

    @property
    def depth(self) -> int:
        """Products of each column in a step of its invocations together."""
        return self.slices


@dataclass(frozen=True)
class SharedProduct:
    """gemm/shared.comp: a workgroup makes a square of ``size`` rows and columns through shared memory.

    It loads ``slab`` steps of k at a time; an invocation keeps ``blocks`` x ``blocks`` blocks of 4 x 4 sums.
    """

    size: int
    blocks: int
    slab: int
    #: Products of each sum in a step.
    depth: int = 1

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup makes."""
        return self.size, self.size

    @property
    def workgroup(self) -> int:
        return (self.size // (4 * self.blocks)) ** 2


ProductKernel = TiledProduct | NarrowProduct | SharedProduct


def product_kernel(
    target: Target, m: int, n: int, k: int, batch: int, *, a_along_columns: bool, b_along_k: bool
) -> ProductKernel:
    """The kernel for ``batch`` products of m rows and n columns, each a sum of k.

    a_along_columns: four neighbours of a column of a are read at once. b_along_k: elements of b along k lie closer
    together than those along n.
    """
    if target.is_cpu:
        return _tiled(target, m, n, k, batch, a_along_columns)
    return _narrow(m, b_along_k) if m < _NARROW else _shared(target, m, n, batch)


def _tiled(target: Target, m: int, n: int, k: int, batch: int, a_along_columns: bool) -> TiledProduct:
    """The cheapest of the tiles that are worth compiling. Columns of a that are read in fours ask for rows in fours.

    What is little work does not pay for more than one tile: 24 x 512 x 512 takes llvmpipe 6.9 ms with 8 x 8 sums, which
    it compiles in a quarter of a second, and 5.2 ms with 16 x 16, in three quarters. So other batch sizes and lengths
    find the tile that they need.
    """
    if m > 4:
        work = m * n * k * batch
        tiles = tuple(tile for tile, least in _TILES_OF_MANY_ROWS.items() if work >= least)
    else:
        has_own = m == 1 and n * k >= _OWN_TILE_OF_ONE_ROW and not a_along_columns
        tiles = _TILES_OF_ONE_ROW if has_own else _TILES_OF_FEW_ROWS
    costs = _tile_costs(target, m, n, batch, shares=not a_along_columns)
    rows, columns = min(tiles, key=lambda tile: costs[tile])
    return TiledProduct(rows, columns, lanes(target), not a_along_columns and _shares_rows(target, rows))


def _shares_rows(target: Target, rows: int) -> bool:
    """Whether the lanes of the tiled kernel each read other rows of a, which they then share.

    512 x 512 x 512 takes llvmpipe 128 ms of CPU time with 16 x 16 sums without sharing and 83 with it.
    """
    return target.features.broadcasts and target.subgroup_size == lanes(target) == _SHARING and rows > 1


def _reads_of_rows(target: Target, rows: int, shares: bool) -> int:
    """How often a lane reads elements of a in a step of k. shares: whether rows may be shared."""
    return -(-rows // _SHARING) if shares and _shares_rows(target, rows) else rows


def _tile_costs(target: Target, m: int, n: int, batch: int, *, shares: bool = True) -> dict[tuple[int, int], float]:
    """What a step of k costs on a CPU's driver, in multiplications of all lanes at once, by the tile's sizes.

    shares: whether rows of a may be shared.
    """
    beside = lanes(target)
    costs = {}
    for rows, columns in (*_TILES_OF_ONE_ROW, *_TILES_OF_FEW_ROWS, *_TILES_OF_MANY_ROWS):
        groups = batch * -(-m // rows) * -(-n // (columns * beside))
        reads = _reads_of_rows(target, rows, shares) + columns
        costs[rows, columns] = max(groups, _FEWEST_CPU_GROUPS) * (_READ_COST * reads + rows * columns)
    return costs


def product_cost(target: Target, m: int, n: int, batch: int) -> float:
    """What a step of k of ``batch`` products costs on a CPU's driver, in multiplications of all lanes at once."""
    return min(_tile_costs(target, m, n, batch).values())


def _narrow(m: int, b_along_k: bool) -> NarrowProduct:
    """Neighbouring invocations read neighbouring elements of b: 32 along k where they lie along k, else 32 columns."""
    beside = 4 if b_along_k else 32
    return NarrowProduct(1 << (m - 1).bit_length(), beside, _NARROW_WORKGROUP // beside, b_along_k)


#: Square tiles, the largest first, with how many of them fill a device. The larger the tile, the less often an element
#: is read; of the largest, no more than 8 steps of k fit the 16 KiB of shared memory that every device has.
_SQUARES = (
    (SharedProduct(size=128, blocks=2, slab=8), 128),
    (SharedProduct(size=64, blocks=2, slab=16), 64),
    (SharedProduct(size=32, blocks=1, slab=16), 1),
)


def _shared(target: Target, m: int, n: int, batch: int) -> SharedProduct:
    """The largest square that the device's workgroups can make and of which there are enough."""
    for square, enough in _SQUARES:
        tiles = batch * -(-m // square.size) * -(-n // square.size)
        if square.workgroup <= target.max_workgroup_invocations and tiles >= enough:
            break
    return square


def is_better_transposed(target: Target, m: int, n: int, batch: int) -> bool:
    """Whether the product of the transposes, in the other order, is the one that the kernels do well.

    GPUs have a kernel for few rows and none for few columns.
    """
    if not target.is_cpu:
        return n < min(m, _NARROW)
    return _WORTH_TRANSPOSING * product_cost(target, n, m, batch) < product_cost(target, m, n, batch)


def is_worth_packing(target: Target, uses: int) -> bool:
    """Whether to copy an operand, of which each element is used so often, to be read four elements at a time.

    GPUs' kernels reorder what they read as they put it in shared memory.
    """
    return target.is_cpu and uses >= _WORTH_PACKING


def product_steps(kernel: ProductKernel, k: int) -> int:
    """The steps (see Dispatch) of an invocation that adds k products to each of its sums."""
    return -(-k // kernel.depth) + _OTHER_STEPS


def longest_product(target: Target, kernel: ProductKernel) -> int:
    """How many products of each sum one dispatch may add: what is longer goes in parts along k."""
    return max(_PART_OF_K, (max_steps(target) - _OTHER_STEPS) * kernel.depth // _PART_OF_K * _PART_OF_K)
