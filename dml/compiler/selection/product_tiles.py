"""The tiles that workgroups compute in kernels of matrix products, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from dml.compiler.selection.devices import filling, gains_by_halves, keeps, keeps_matrices
from dml.compiler.target import Target

#: Lower bound on the speed of matrix units relative to other units. Their dispatches may have this many times the work
#: before they are split.
MATRIX_UNITS = 16


#: Products that are added in FLOAT16 before they go to a float32 sum. A device may truncate to FLOAT16's precision,
#: 2^-10 of a sum, and flush values below its smallest normal number, 2^-14. With eight products, a result is off by at
#: most 2^-7 of the sum of its terms' absolute values plus 2^-14 per term, regardless of their number. Eight products
#: that add up to more than 65504 become infinite.
_HALF_STEPS = 8


def half_steps(target: Target) -> int:
    """Return the number of FLOAT16 products that are added in FLOAT16, two at once, before they go to a float32 sum; 0:
    none.

    For matrix products without matrix units, and convolutions that are matrix products. In the direct kernel this would
    only lengthen the loop.
    """
    may = target.allows_half and target.features.float16 and gains_by_halves(target)
    return _HALF_STEPS if may else 0


#: Sums per invocation that every device is assumed to hold: those of one block.
FEWEST_SUMS = 16


@dataclass(frozen=True)
class LaneTile:
    """A tile without shared memory: an invocation holds rows x columns sums; ``lanes`` invocations are adjacent along
    n."""

    rows: int
    columns: int
    lanes: int

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.rows, self.columns * self.lanes

    @property
    def workgroup(self) -> int:
        return self.lanes


class ProductTile(Protocol):
    """A tile that goes through shared memory."""

    @property
    def tile(self) -> tuple[int, int]: ...
    @property
    def workgroup(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...


@dataclass(frozen=True)
class SlicedTile:
    """A tile of ``rows`` rows: ``slices`` invocations split the products of each of ``lanes`` columns."""

    rows: int
    lanes: int
    slices: int

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.rows, self.lanes

    @property
    def workgroup(self) -> int:
        return self.lanes * self.slices


@dataclass(frozen=True)
class BlockTile:
    """``rows`` x ``columns`` of the result; an invocation holds ``blocks`` (down, across) blocks of 4 x 4 sums.

    tile_k: steps of k per iteration.
    """

    rows: int
    columns: int
    blocks: tuple[int, int]
    tile_k: int

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.rows, self.columns

    @property
    def sums(self) -> int:
        """Sums per invocation."""
        return 16 * self.blocks[0] * self.blocks[1]

    @property
    def workgroup(self) -> int:
        down, across = self.blocks
        return self.rows // (4 * down) * (self.columns // (4 * across))


@dataclass(frozen=True)
class MatrixTile:
    """``rows`` x ``columns`` of the result on matrix units: each subgroup computes ``subgroup_tile`` (rows, columns).

    shape: (m, n, k) of its matrices. tile_k: as in BlockTile. subgroup_size: the device's.
    """

    rows: int
    columns: int
    subgroup_tile: tuple[int, int]
    shape: tuple[int, int, int]
    tile_k: int
    subgroup_size: int

    @property
    def tile(self) -> tuple[int, int]:
        """Rows and columns of the result that a workgroup computes."""
        return self.rows, self.columns

    @property
    def sums(self) -> int:
        """Sums per invocation."""
        return self.subgroup_tile[0] * self.subgroup_tile[1] // self.subgroup_size

    @property
    def loads(self) -> int:
        """Return the words that an invocation loads into shared memory per iteration; elements have at most 16 bits."""
        return (self.rows + self.columns) * self.tile_k // 2 // self.workgroup

    @property
    def subgroups(self) -> int:
        return self.rows // self.subgroup_tile[0] * (self.columns // self.subgroup_tile[1])

    @property
    def workgroup(self) -> int:
        return self.subgroups * self.subgroup_size

    @property
    def is_whole(self) -> bool:
        """Whether the tile consists of whole matrices."""
        m, n, k = self.shape
        return not (self.subgroup_tile[0] % m or self.subgroup_tile[1] % n or self.tile_k % k)


_Tile = TypeVar("_Tile", bound=ProductTile)


def fits(target: Target, tile: ProductTile) -> bool:
    """Whether a workgroup of this tile is within the device's limits of invocations, shared memory and registers."""
    most = min(target.max_workgroup_invocations, target.max_workgroup_size[0])
    if isinstance(tile, BlockTile) and tile.sums > FEWEST_SUMS and not keeps(target, tile.sums):
        return False
    if isinstance(tile, MatrixTile) and not keeps_matrices(target, tile.sums, tile.loads):
        return False
    return tile.workgroup <= most and tile.shared_bytes <= target.shared_memory


def first_of_enough(target: Target, tiles: Sequence[tuple[_Tile, int]], m: int, n: int, batch: int) -> _Tile:
    """Return the first (largest) tile that divides m x n into enough tiles to fill the device; the last one if there is
    none.

    Only for whole tiles is ``enough`` scaled to the device's cores: tiles at an edge would be mostly empty on any
    device.
    """
    for tile, enough in tiles:
        rows, columns = tile.tile
        is_whole = m >= rows and n >= columns
        if batch * -(-m // rows) * -(-n // columns) >= (filling(target, enough) if is_whole else enough):
            return tile
    return tiles[-1][0]
