"""Products of matrices: the kernel, its tile, and what is laid out anew for it.

CPUs' drivers get the tiles of selection.tiles. Other devices hide the reads of many invocations behind each other, and
share what is read through shared memory: a product of 512 x 512 x 512 takes llvmpipe 37 ms with the tiled kernel and
192 with the one that does so.

Times in this package are those of a whole operator in float32 on llvmpipe (two cores that had other work too): the best
of 10.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import max_steps
from dml.compiler.selection.tiles import ProductSizes, TiledProduct, cheapest_step, tiled_product
from dml.compiler.target import Target

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


def product_kernel(target: Target, sizes: ProductSizes, *, a_along_columns: bool, b_along_k: bool) -> ProductKernel:
    """The kernel for products.

    a_along_columns: four neighbours of a column of a are read at once. b_along_k: elements of b along k lie closer
    together than those along n.
    """
    if target.is_cpu:
        return tiled_product(target, sizes, a_along_columns=a_along_columns)
    if sizes.m < _NARROW:
        return _narrow(sizes.m, b_along_k)
    return _shared(target, sizes.m, sizes.n, sizes.batch)


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


def is_better_transposed(target: Target, m: int, n: int) -> bool:
    """Whether the product of the transposes, in the other order, is the one that the kernels do well.

    GPUs have a kernel for few rows and none for few columns.
    """
    if not target.is_cpu:
        return n < min(m, _NARROW)
    return _WORTH_TRANSPOSING * cheapest_step(target, n, m) < cheapest_step(target, m, n)


def is_worth_packing(target: Target, uses: int, *, known: bool) -> bool:
    """Whether to copy an operand, of which each element is used so often, to be read four elements at a time.

    known: it never changes, so that it is copied once. GPUs' kernels reorder what they read as they put it in shared
    memory.
    """
    return target.is_cpu and (known or uses >= _WORTH_PACKING)


def product_steps(kernel: ProductKernel, k: int) -> int:
    """The steps (see Dispatch) of an invocation that adds k products to each of its sums."""
    return -(-k // kernel.depth) + _OTHER_STEPS


def longest_product(target: Target, kernel: ProductKernel) -> int:
    """How many products of each sum one dispatch may add: what is longer goes in parts along k."""
    return max(_PART_OF_K, (max_steps(target) - _OTHER_STEPS) * kernel.depth // _PART_OF_K * _PART_OF_K)
