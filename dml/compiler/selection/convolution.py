"""Convolutions: the kernel, and its tile.

Costs are in multiplications, as for matrix products. The direct kernel takes a fraction of the general kernel's time.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TypeVar

from dml.compiler.selection import compile_cost, max_steps, reads_texels, single_stores, tile_compilation
from dml.compiler.selection.devices import (
    filling,
    half_matrices,
    has_room_for_matrices,
    keeps,
    keeps_loads,
    keeps_with_positions,
    loads_ahead,
    profile,
)
from dml.compiler.selection.product_tiles import FEWEST_SUMS, half_steps
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tiles import ProductSizes, product_cost
from dml.compiler.selection.tuned import at_least, half_work, tuned
from dml.compiler.target import Target
from dml.shapes import covered_size, window_reach

Three = tuple[int, int, int]


#: Maximum number of forward convolutions that make up a backward one: one for each position modulo the strides, each a
#: dispatch.
_MOST_PHASES = 36

# --- Epilogues --------------------------------------------------------------------------------------------------------

#: Largest image, in elements, for which CPU drivers run a residual addition as a separate kernel. A fused tile would
#: have to be compiled too, once more for larger images, and gains nothing on small ones.
_ADDED_SEPARATELY = 1 << 20


def clips_results(target: Target) -> bool:
    """Whether results without an activation are clamped too, to infinite bounds, so that all layers share a kernel.

    True for drivers that take long to compile a kernel.
    """
    return profile(target).slow_compiler


def adds_separately(target: Target, image: int) -> bool:
    """Whether a residual addition to a convolution's result is a separate kernel. image: elements of a result."""
    return profile(target).slow_compiler and image <= _ADDED_SEPARATELY


# --- The direct kernel ------------------------------------------------------------------------------------------------

#: Candidate tiles on GPUs: output channels, rows, columns per invocation.
_TILES_OF_GPUS = tuple(itertools.product((1, 2, 4, 8, 16), (1, 2, 4, 8), (4, 8, 16)))
#: Tiles on CPU drivers: the first that fits is used, so that layers share kernels, which take long to compile.
TILES: tuple[Three, ...] = threshold("convolution.TILES")
#: Tile for narrow results of many products, so that the narrowing layers at a network's end share a kernel.
NARROW_TILE: Three = threshold("convolution.NARROW_TILE")
#: Maximum number of columns of a narrow result.
NARROW: int = threshold("convolution.NARROW")
#: Minimum number of input channels times output channels for NARROW_TILE; with fewer, the first of TILES is used,
#: regardless of the image.
MANY_PRODUCTS: int = threshold("convolution.MANY_PRODUCTS")
#: Tiles for results of one row, where a second row would be empty.
FLAT_TILES: tuple[Three, ...] = threshold("convolution.FLAT_TILES")
#: Maximum number of rows or columns of a tile.
LARGEST_TILE = max(max(rows, columns) for _, rows, columns in (NARROW_TILE, *FLAT_TILES, *TILES, *_TILES_OF_GPUS))
#: Maximum number of sums per invocation: on CPU drivers, and on GPUs, whose registers are limited.
_MOST_SUMS, _MOST_SUMS_OF_GPUS = 256, 32
#: Maximum number of products per iteration of the innermost loop: longer code exceeds a CPU's instruction cache.
_MOST_PRODUCTS = 1024
#: Cost of reading four elements on llvmpipe, in multiplications: four times that of one element in matrix products.
READ_COST: float = threshold("convolution.READ_COST")
#: Cost of reading four elements on GPUs, where reads overlap, in multiplications. Not measured.
_READ_COST_OF_GPUS = 8
#: Cost of reading four elements where llvmpipe reads texels.
TEXEL_COST: float = threshold("convolution.TEXEL_COST")
#: Cost of a multiplication in the direct kernel, relative to one of a matrix product.
PRODUCT_COST: float = threshold("convolution.PRODUCT_COST")
#: Minimum number of vectors that keep a CPU's cores busy, and minimum number of invocations that keep a GPU busy: fewer
#: take as long.
_FEWEST_VECTORS, _FEWEST_INVOCATIONS_OF_GPUS = 8, 4096


@dataclass(frozen=True)
class WindowSizes:
    """Sizes of a forward convolution. inputs, outputs: channels of a group.

    places: positions of the result; places, taps, strides and dilations are (depth, height, width).
    """

    batch: int
    groups: int
    inputs: int
    outputs: int
    places: Three
    taps: Three
    strides: Three
    dilations: Three

    @property
    def rows_of_taps(self) -> int:
        """Iterations of the direct kernel's innermost loop: one per row of a window and input channel."""
        return self.inputs * self.taps[0] * self.taps[1]

    @property
    def products(self) -> int:
        """Terms of one result."""
        return self.inputs * math.prod(self.taps)


def _work(sizes: WindowSizes, *, per_image: bool = False) -> str:
    """Return the tuning class of such convolutions. per_image: independent of the batch size, since CPU drivers
    share kernels between batch sizes."""
    taps, strides, dilations = (" x ".join(map(str, three)) for three in (sizes.taps, sizes.strides, sizes.dilations))
    places = math.prod(sizes.places) * (1 if per_image else sizes.batch)
    groups = f"{at_least(sizes.groups)} groups of " if sizes.groups > 1 else ""
    channels = f"{groups}{at_least(sizes.inputs)} to {at_least(sizes.outputs)} channels"
    return f"{taps} by {strides}, {dilations} apart, {channels}, {at_least(places)} places"


@dataclass(frozen=True)
class DirectTile:
    """Results per invocation of the direct kernel: rows and columns of some output channels.

    span: elements that ``columns`` windows read in a row of x, rounded up to fours. padded: sizes of the copy of x that
    all tiles read {batch, channel, depth, height, width}. cost: cost of the whole convolution or, on CPU drivers, of
    one image and the compilation.
    """

    channels: int
    rows: int
    columns: int
    span: int
    padded: tuple[int, ...]
    cost: float

    @property
    def sums(self) -> int:
        return self.channels * self.rows * self.columns


def goes_by_phases(strides: Three) -> bool:
    """Whether a backward convolution is computed by forward ones, one for each position modulo the strides."""
    return math.prod(strides) <= _MOST_PHASES


#: Maximum number of output channels of one group for which CPU drivers take blocks even for few phases: each phase
#: would leave most of the direct kernel's tile of channels empty.
BLOCKED_OUTPUTS: int = threshold("convolution.BLOCKED_OUTPUTS")


def prefers_blocks(target: Target, sizes: WindowSizes, phases: int) -> bool:
    """Whether a backward convolution is computed as one forward convolution with blocks of results as channels (see
    ``in_blocks``), although it could be computed phase by phase. sizes: those of a phase."""
    return phases > 1 and sizes.groups == 1 and sizes.outputs <= BLOCKED_OUTPUTS and profile(target).slow_compiler


#: Maximum ratio of the weights of a block's results, zeros beyond the filter's ends included, to the weights of the
#: filter.
_BLOCKS_WEIGHTS = 4


def goes_by_blocks(weights: int, copied: int) -> bool:
    """Whether a backward convolution with too many phases is computed as one forward convolution with blocks of results
    as channels, which takes ``copied`` weights; else the general kernel computes it, which loads both operands for
    every product."""
    return copied <= _BLOCKS_WEIGHTS * weights


def direct_tile(target: Target, sizes: WindowSizes) -> DirectTile | None:
    """Return the direct kernel's tile: on a GPU the cheapest; on a CPU driver one that does not depend on the batch
    size.

    None if the window is too wide for registers, the loops are too long for an invocation, or the copy of x or of the
    weights is too large for a binding.
    """
    if sizes.rows_of_taps > max_steps(target):
        return None
    if profile(target).slow_compiler:
        best = _direct_tile_of_cpus(target, sizes)
    else:
        tiles = (_direct_tile(target, sizes, *tile) for tile in _TILES_OF_GPUS)
        best = min(filter(None, tiles), key=lambda tile: tile.cost, default=None)
    if best is None:
        return None
    weights = sizes.groups * -(-sizes.outputs // best.channels) * best.channels * sizes.rows_of_taps * sizes.taps[2]
    return best if 4 * max(math.prod(best.padded), weights) <= target.max_region else None


def lays_weights_in_fours(target: Target) -> bool:
    """Whether the direct kernel's filters are laid out in vec4 of one output channel.

    llvmpipe initializes them faster in this layout.
    """
    return profile(target).lane_by_lane


def _direct_tile_of_cpus(target: Target, sizes: WindowSizes) -> DirectTile | None:
    """Return the first tile that fits, or the one that tuning measured as fastest."""
    narrow = sizes.places[2] <= NARROW and sizes.inputs * sizes.outputs >= MANY_PRODUCTS
    ordered = (NARROW_TILE, *TILES) if narrow else TILES
    if sizes.places[1] == 1:
        ordered = (*FLAT_TILES, *ordered)
    rule = next((tile for tile in ordered if _direct_tile(target, sizes, *tile)), None)
    if rule is None:
        return None

    def fitting() -> list[Three]:
        return [tile for tile in dict.fromkeys((*ordered, NARROW_TILE, *TILES)) if _direct_tile(target, sizes, *tile)]

    best = tuned(target, "convolution", lambda: f"direct {_work(sizes, per_image=True)}", rule, fitting)
    return _direct_tile(target, sizes, *best)


def _direct_tile(target: Target, sizes: WindowSizes, channels: int, rows: int, columns: int) -> DirectTile | None:
    """Return a tile of these sizes; None if it is too large for the device or has more channels than the result."""
    sums, taps = channels * rows * columns, sizes.taps[2]
    slow_compiler = profile(target).slow_compiler
    most = _MOST_SUMS if slow_compiler else _MOST_SUMS_OF_GPUS
    if sums > most or sums * taps > _MOST_PRODUCTS or (channels > 1 and channels >= 2 * sizes.outputs):
        return None
    depth, height, width = sizes.places
    reach = covered_size(columns, window_reach(taps, sizes.dilations[2]), sizes.strides[2])
    span = -(-reach // 4) * 4
    tiles_y, tiles_x = -(-height // rows), -(-width // columns)
    images = 1 if slow_compiler else sizes.batch
    invocations = images * depth * tiles_y * tiles_x * sizes.groups * -(-sizes.outputs // channels)
    # Weights are read as vec4 if the tile's channels are a multiple of four.
    reads = rows * span / 4 + taps * (channels / 4 if channels % 4 == 0 else channels / 2)
    if slow_compiler:
        vectors = max(-(-invocations // target.subgroup_size), _FEWEST_VECTORS)
        read, product = (TEXEL_COST, PRODUCT_COST) if reads_texels(target) else (READ_COST, 1)
        cost = vectors * (read * reads + product * sums * taps) * sizes.rows_of_taps
        cost += compile_cost(tile_compilation(sums, sums * taps, reads))
    else:
        cost = max(invocations, _FEWEST_INVOCATIONS_OF_GPUS) * (_READ_COST_OF_GPUS * reads + sums * taps)
        cost *= sizes.rows_of_taps
    padded = (
        sizes.batch,
        sizes.groups * sizes.inputs,
        covered_size(depth, window_reach(sizes.taps[0], sizes.dilations[0]), sizes.strides[0]),
        covered_size(tiles_y * rows, window_reach(sizes.taps[1], sizes.dilations[1]), sizes.strides[1]),
        (tiles_x - 1) * columns * sizes.strides[2] + span,
    )
    return DirectTile(channels, rows, columns, span, padded, cost)


def stores_in_loops(target: Target) -> bool:
    """Whether the direct kernel stores a tile in loops over its sums, so that drivers compile the store once.

    llvmpipe then compiles an activation of 256 sums far faster. A GPU would move sums that a loop indexes to memory.
    """
    return profile(target).slow_compiler


# --- Implicit GEMM on GPUs --------------------------------------------------------------------------------------------

#: Minimum number of output channels of a group, and minimum number of terms of a result: fewer leave most of a tile
#: empty.
_FEWEST_OUTPUTS, _FEWEST_TERMS = 12, 8
#: Maximum number of steps of k in a table, and maximum number of elements that a window with a table may span along an
#: axis.
_LARGEST_TABLE, _MOST_REACH = 512, 1023
#: Steps of k of a tile for windows that are not flat, on devices with the fewest registers: Mesa spilled 9
#: registers with 8 steps on V3D 7.1.
_STEPS_OF_VOLUMES = 4
#: Workgroups that an H100 runs at once, one per core.
_CORES = 132
#: Cost of a single round of workgroups, each alone on its core, relative to one of several rounds.
ALONE: float = threshold("convolution.ALONE")


@dataclass(frozen=True)
class ImplicitTile:
    """Results per workgroup of implicit.comp: channels x positions, computed ``tile_k`` steps of k at a time.

    fours: blocks of 4 x 4 sums per invocation, down and across. weight: speed relative to the first tile. table: steps
    of k in a table in shared memory, a power of two, or 0. half_steps: see selection.product_tiles.
    """

    channels: int
    places: int
    fours: tuple[int, int]
    workgroup: int
    tile_k: int = 8
    weight: float = 1.0
    table: int = 0
    half_steps: int = 0

    @property
    def sums(self) -> int:
        """Sums per invocation."""
        return 16 * self.fours[0] * self.fours[1]

    @property
    def loads(self) -> int:
        """Elements that an invocation loads ahead."""
        return self.tile_k * (self.channels + self.places) // self.workgroup

    def memory(self) -> int:
        """Return the maximum number of bytes of shared memory."""
        filter_ = max(4 * self.tile_k * self.channels, 16 * self.workgroup)
        return filter_ + 4 * self.tile_k * self.places + 8 * self.table


#: The first four fields of each tile, and its weight. (Two slabs in shared memory leave fewer workgroups per
#: core, and were slower on an H100.)
IMPLICIT_TILES: tuple[ImplicitTile, ...] = threshold(
    "convolution.IMPLICIT_TILES",
    lambda tiles: tuple(replace(ImplicitTile(*sizes), weight=weight) for *sizes, weight in tiles),
)
#: Tiles with additional FLOAT16 sums. As for matrix products, half as many sums leave registers for twice the waves.
_IMPLICIT_HALF_TILES = (ImplicitTile(64, 128, (2, 1), 256), *IMPLICIT_TILES[1:])


@dataclass(frozen=True)
class ImplicitMatrixTile:
    """Results per workgroup of implicit_matrix.comp: channels x positions, computed ``tile_k`` steps of k at a time.

    subgroup_tile: channels and positions per subgroup, in matrices of ``shape`` (m, n, k). table: see ImplicitTile.
    """

    channels: int
    places: int
    subgroup_tile: tuple[int, int]
    tile_k: int
    shape: tuple[int, int, int]
    subgroup_size: int
    table: int = 0

    @property
    def workgroup(self) -> int:
        return self.channels // self.subgroup_tile[0] * (self.places // self.subgroup_tile[1]) * self.subgroup_size

    def memory(self) -> int:
        """Return the bytes of shared memory."""
        lines = (self.channels + self.places) * (self.tile_k // 8 | 1)
        staged = self.workgroup // self.subgroup_size * self.shape[0] * (self.subgroup_tile[1] // 4 + 2)
        return 16 * max(lines, staged) + 8 * self.table


_Tile = TypeVar("_Tile", ImplicitTile, ImplicitMatrixTile)


def _with_table(target: Target, sizes: WindowSizes, tile: _Tile) -> _Tile:
    """Return the tile with a table of the element that each step of k reads, where input channels are few and the table
    fits."""
    reaches = (window_reach(taps, dilation) for taps, dilation in zip(sizes.taps, sizes.dilations, strict=True))
    if sizes.inputs % tile.tile_k == 0 or max(reaches) > _MOST_REACH:
        return tile
    table = 1 << (-(-sizes.products // tile.tile_k) * tile.tile_k - 1).bit_length()
    found = replace(tile, table=table)
    return found if table <= _LARGEST_TABLE and found.memory() <= target.shared_memory else tile


#: Tiles: channels, positions, (channels, positions) per subgroup, number of tiles that fills the device.
MATRIX_TILES: tuple[tuple[int, int, tuple[int, int], int], ...] = threshold("convolution.MATRIX_TILES")


#: Minimum number of taps for which a copy of x in channels-last order is worth its time.
TAPS_WORTH_A_COPY: int = threshold("convolution.TAPS_WORTH_A_COPY")
#: Minimum number of output channels for which a copy of x in channels-last order is worth its time.
OUTPUTS_WORTH_A_COPY: int = threshold("convolution.OUTPUTS_WORTH_A_COPY")


def implicit_matrix_tile(target: Target, sizes: WindowSizes) -> ImplicitMatrixTile | None:
    """Return the tile of a FLOAT16 convolution on matrix units; None if there are none or the work is too small."""
    uses_matrices = profile(target).shares_memory and has_room_for_matrices(target)
    shapes = half_matrices(target) if uses_matrices else []
    if not shapes or sizes.outputs < _FEWEST_OUTPUTS or sizes.products < 16:
        return None
    tile_k = 32 if sizes.inputs % 32 == 0 else 16
    fitting: list[ImplicitMatrixTile] = []
    places = sizes.batch * math.prod(sizes.places)
    rule: ImplicitMatrixTile | None = None
    for channels, positions, subgroup_tile, enough in MATRIX_TILES:
        tile = ImplicitMatrixTile(channels, positions, subgroup_tile, tile_k, shapes[0], target.subgroup_size)
        m, n, k = tile.shape
        threads = min(target.max_workgroup_invocations, target.max_workgroup_size[0])
        divides = (
            subgroup_tile[0] % m == subgroup_tile[1] % n == tile_k % k == 0 and tile.workgroup % (positions // 2) == 0
        )
        if divides and tile.workgroup <= threads and tile.memory() <= target.shared_memory:
            fitting.append(tile)
            tiles = sizes.groups * -(-sizes.outputs // channels) * -(-places // positions)
            if rule is None and sizes.outputs > channels // 2 and tiles >= filling(target, enough):
                rule = tile
    too_long = sizes.products // tile_k >= max_steps(target)
    matrix = 2 * sizes.groups * (sizes.products + tile_k) * (sizes.outputs + 8)
    if too_long or not fitting or matrix > target.max_region:
        return None
    chosen: ImplicitMatrixTile | None = rule or fitting[-1]
    variants: tuple[ImplicitMatrixTile | None, ...] = (*fitting, None)  # None stands for the FLOAT32 kernel
    found = tuned(target, "convolution", lambda: f"{half_work(target)} {_work(sizes)}", chosen, lambda: variants)
    return found and _with_table(target, sizes, found)


def puts_channels_last(target: Target, sizes: WindowSizes, size: int) -> bool:
    """Whether x, of ``size`` bytes, is copied to channels-last order for matrix units."""
    is_worth = math.prod(sizes.taps) >= TAPS_WORTH_A_COPY and sizes.outputs >= OUTPUTS_WORTH_A_COPY
    return is_worth and sizes.inputs % 8 == 0 and size <= target.max_region


#: Minimum number of positions of an image with which one product per image wastes little of its last tiles.
PLACES_OF_PRODUCTS: int = threshold("convolution.PLACES_OF_PRODUCTS")


def joins_images(target: Target, sizes: WindowSizes, bits: int) -> bool:
    """Whether a convolution with windows of one element is one product over the positions of all images, instead of a
    product per image.

    bits: width of an element. On matrix units, FLOAT16 products need rows of a multiple of eight elements.
    """
    places = math.prod(sizes.places)
    fills_tiles = places % 128 == 0 or (places >= PLACES_OF_PRODUCTS and (bits == 32 or places % 8 == 0))
    return sizes.batch > 1 and not fills_tiles and implicit_tile(target, sizes) is not None


#: Minimum number of output channels for which CPU drivers copy the elements that strided windows of one element read,
#: and multiply the copy.
OUTPUTS_WORTH_THINNING: int = threshold("convolution.OUTPUTS_WORTH_THINNING")


def is_worth_thinning(target: Target, sizes: WindowSizes) -> bool:
    """Whether strided windows of one element read from a copy of x that holds only their elements: the convolution is
    then a product."""
    return not profile(target).shares_memory and sizes.outputs >= OUTPUTS_WORTH_THINNING


#: Minimum stride with which windows of one channel are faster as a product even for few outputs: the direct kernel then
#: uses few of the elements that it reads.
_FAR_APART = 4


def is_worth_multiplying(sizes: WindowSizes, *, alone: bool) -> bool:
    """Whether a convolution of one channel, with windows along one axis, is a matrix product: the windows are the
    matrix's rows, which overlap in x.

    alone: no kernel but the general one could compute it otherwise. For a filter with few outputs and stride 1, the
    direct kernel takes half the time.
    """
    return alone or sizes.outputs >= _FEWEST_OUTPUTS or max(sizes.strides) >= _FAR_APART


def is_worth_unfolding(target: Target, sizes: WindowSizes, bits: int, *, alone: bool) -> bool:
    """Whether to copy all windows side by side, so that the convolution is a product: worth it if many outputs share
    the cost of the copy.

    bits: width of an element. alone: only the general kernel could compute it otherwise. The direct kernel is also
    slower for windows that do not overlap and have at least as many columns as the result, such as patches of 32 x 32:
    its tiles are mostly empty.
    """
    copied = sizes.batch * sizes.groups * sizes.products * math.prod(sizes.places) * bits // 8
    are_apart = sizes.taps[2] >= sizes.places[2] and all(map(int.__le__, sizes.taps, sizes.strides))
    return (alone or are_apart) and sizes.outputs >= _FEWEST_OUTPUTS and copied <= target.max_region


#: Adjacent results of a long filter along rows that are the rows of a product on CPU drivers.
ROW_BLOCK = 32


def goes_by_rows(target: Target, sizes: WindowSizes, bits: int, *, padded: bool) -> bool:
    """Whether a filter of one channel along rows, too long for the direct kernel, is multiplied in blocks of adjacent
    results: with at least as many taps as results, at most half of a block's weights are zero.

    bits: of an element. Without padding, many outputs are rows of a product themselves (``is_worth_multiplying``).
    """
    is_long = sizes.inputs == 1 and sizes.taps[:2] == (1, 1) and sizes.taps[2] >= ROW_BLOCK
    moves_by_one = sizes.strides[2] == sizes.dilations[2] == 1
    if not (is_long and moves_by_one and profile(target).slow_compiler):
        return False
    blocks = sizes.batch * sizes.groups * math.prod(sizes.places[:2]) * -(-sizes.places[2] // ROW_BLOCK)
    held = blocks * max((sizes.taps[2] + ROW_BLOCK - 1) * bits // 8, 4 * ROW_BLOCK * sizes.outputs)
    return (padded or sizes.outputs < _FEWEST_OUTPUTS) and held <= target.max_region


def implicit_tile(
    target: Target, sizes: WindowSizes, *, halves: bool = False, flat: bool = True
) -> ImplicitTile | None:
    """Return the tile of a convolution as a matrix product through shared memory; None if another kernel is chosen.

    halves: the tensors are FLOAT16. flat: windows are one element deep and never outside x along the depth.
    """
    is_small = sizes.outputs < _FEWEST_OUTPUTS or sizes.products < _FEWEST_TERMS
    if is_small or not profile(target).shares_memory:
        return None
    places = sizes.batch * math.prod(sizes.places)

    def cost(tile: ImplicitTile) -> float:
        tiles = sizes.groups * -(-sizes.outputs // tile.channels) * -(-places // tile.places)
        rounds = -(-tiles // filling(target, _CORES))
        return (rounds if rounds > 1 else ALONE) * tile.channels * tile.places / tile.weight

    steps = half_steps(target) if halves else 0
    tiles = [replace(tile, half_steps=steps) for tile in (_IMPLICIT_HALF_TILES if steps else IMPLICIT_TILES)]
    most = target.max_workgroup_invocations
    fitting = [
        t for t in tiles if t.workgroup <= most and (t.sums <= FEWEST_SUMS or keeps_with_positions(target, t.sums))
    ]
    kind = "implicit in halves" if steps else "implicit"
    tile = tuned(target, "convolution", lambda: f"{kind} {_work(sizes)}", min(fitting, key=cost), lambda: fitting)
    if not flat and not loads_ahead(target):
        tile = replace(tile, tile_k=max(_STEPS_OF_VOLUMES, steps))
    larger = replace(tile, tile_k=16)
    if not keeps_loads(target, larger.loads):
        larger = tile
    if larger.memory() > target.shared_memory or (sizes.inputs % 16 and sizes.inputs % 8 == 0):
        larger = tile
    larger = _with_table(target, sizes, larger)
    matrix = 4 * sizes.groups * -(-sizes.products // larger.tile_k) * larger.tile_k * -(-sizes.outputs // 4) * 4
    too_long = sizes.products // larger.tile_k >= max_steps(target)
    return None if matrix > target.max_region or too_long else larger


# --- The depthwise kernel --------------------------------------------------------------------------------------------

#: Maximum number of elements of x that a GPU's invocation reads; all reads are unrolled.
_MOST_READS = 128
#: (rows, columns) of tiles on CPU drivers.
STRIPS: tuple[tuple[int, int], ...] = threshold("convolution.STRIPS")
#: STRIPS for results of one row, where more rows would be empty.
FLAT_STRIPS: tuple[tuple[int, int], ...] = threshold("convolution.FLAT_STRIPS")
#: Maximum number of a window's taps for which these tiles are faster than the direct kernel.
MOST_TAPS: int = threshold("convolution.MOST_TAPS")
#: Nanoseconds on llvmpipe: per invocation, per element read, per sum.
STRIP_COSTS: tuple[float, float, float] = threshold("convolution.STRIP_COSTS")


#: Candidate rows of a tile on GPUs: those that leave less of the last tiles empty come first.
ROWS_OF_STRIPS: tuple[int, ...] = threshold("convolution.ROWS_OF_STRIPS")
#: Row counts of further candidates for `dml tune`, not measured on a GPU: for shorter tiles, and for tiles of four
#: columns where the tensors' rows are multiples of four.
_SHORTER_STRIPS, _ROWS_OF_FOURS = (4, 2, 1), (8, 7, 4)


@dataclass(frozen=True)
class DepthwiseTile:
    """Results per invocation of depthwise.comp in a channel: rows and columns that are ``gaps`` apart.

    gaps: the dilation where windows move by one, so that the windows of a tile share reads; else 1. fours: the tile's
    four columns are read and stored as vec4.
    """

    rows: int
    columns: int
    gaps: tuple[int, int] = (1, 1)
    fours: bool = False

    def tiles(self, size: int, axis: int) -> int:
        """Return the number of tiles along height (axis 0) or width (axis 1), for ``size`` positions."""
        gap = self.gaps[axis]
        return -(-size // (gap * (self.rows, self.columns)[axis])) * gap


def depthwise_tile(target: Target, sizes: WindowSizes, bits: int, *, fours: bool) -> DepthwiseTile | None:
    """Return the tile of a depthwise convolution (one input channel per group); None if the kernel does not apply.

    bits: width of a result element; an invocation stores FLOAT16 results in pairs, as words. fours: rows of input and
    result are multiples of four.
    """
    if sizes.inputs != 1 or sizes.taps[0] > max_steps(target):
        return None
    if profile(target).slow_compiler:
        return _strip_of_cpus(target, sizes, bits) if math.prod(sizes.taps) <= MOST_TAPS else None
    fitting = []
    height = sizes.places[1]
    strips = (*sorted(ROWS_OF_STRIPS, key=lambda rows: -height % rows), *_SHORTER_STRIPS)
    tiles = [*((rows, 32 // bits, False) for rows in strips), (1, 1, False)]
    tiles += [(rows, 4, True) for rows in _ROWS_OF_FOURS] if fours else []
    for rows, columns, by_four in tiles:
        tile = DepthwiseTile(rows, columns, (_gap(sizes, 1), 1), by_four)
        down, across = elements_read(tile, sizes)
        if (
            down * across <= _MOST_READS
            and keeps(target, down * across + rows * columns)
            and (rows == 1 or sizes.places[1] > rows // 2)
        ):
            fitting.append(tile)
    if not fitting:
        return None
    return tuned(target, "convolution", lambda: f"depthwise {bits} bits {_work(sizes)}", fitting[0], lambda: fitting)


def _strip_of_cpus(target: Target, sizes: WindowSizes, bits: int) -> DepthwiseTile:
    """Return the first strip unless windows are dilated, so that layers share a kernel.

    MobileNetV2 hardly gains by the cheapest strip for each layer. Small dilated images leave much of the first strip
    empty.
    """
    _, height, width = sizes.places

    def cost(tile: DepthwiseTile) -> float:
        per_tile, each_read, each_sum = STRIP_COSTS
        each_tile = per_tile + each_read * math.prod(elements_read(tile, sizes)) + each_sum * tile.rows * tile.columns
        return tile.tiles(height, 0) * tile.tiles(width, 1) * each_tile

    gaps = _gap(sizes, 1), _gap(sizes, 2)
    # SwiftShader takes gigabytes to compile sixteen atomic stores of halves in a row.
    flat = FLAT_STRIPS if height == 1 and (bits == 32 or bits in single_stores(target)) else ()
    strips = [DepthwiseTile(rows, columns, gaps) for rows, columns in (*flat, *STRIPS)]
    rule = strips[0] if flat or gaps == (1, 1) else min(strips, key=cost)
    return tuned(target, "convolution", lambda: f"depthwise {_work(sizes, per_image=True)}", rule, lambda: strips)


def _gap(sizes: WindowSizes, axis: int) -> int:
    return sizes.dilations[axis] if sizes.strides[axis] == 1 and sizes.taps[axis] > 1 else 1


def elements_read(tile: DepthwiseTile, sizes: WindowSizes) -> tuple[int, int]:
    """Return the numbers of rows and columns of x that a tile's windows read."""

    def along(axis: int, count: int) -> int:
        move, dilation = (1, 1) if tile.gaps[axis - 1] > 1 else (sizes.strides[axis], sizes.dilations[axis])
        return len({index * move + k * dilation for index in range(count) for k in range(sizes.taps[axis])})

    return along(1, tile.rows), along(2, tile.columns)


# --- The general kernel -----------------------------------------------------------------------------------------------


def general_rounds(target: Target, per_word: int) -> int:
    """Return the maximum number of loop iterations of the general kernel for an element; longer sums are split.

    per_word: result elements in a 32-bit word, which an invocation computes one after the other.
    """
    return max_steps(target) // per_word


# --- Winograd's products ----------------------------------------------------------------------------------------------

#: Number of evaluation points of the transforms: 6 x 6.
WINOGRAD_POINTS = 36
#: Maximum number of bytes of a transformed filter, which has four times the filter's elements: 512 x 512 channels.
MOST_TRANSFORMED = 40 << 20
#: Workgroup size of the transforms, adjacent along channels.
WINOGRAD_WORKGROUP = 32
#: Minimum number of input and output channels. With fewer there is no gain, and the transforms' rounding errors weigh
#: more.
_FEWEST_CHANNELS = 16
#: Minimum number of tiles of an image: with fewer, the products' tiles are mostly empty.
FEWEST_TILES: int = threshold("convolution.FEWEST_TILES")
#: Cost of the input transform and of the result transform for eight invocations, in vector multiplications: mostly
#: reads and writes.
TRANSFORM_COSTS: tuple[float, float] = threshold("convolution.TRANSFORM_COSTS")
#: TRANSFORM_COSTS where llvmpipe reads texels.
TRANSFORM_COSTS_BY_TEXELS: tuple[float, float] = threshold("convolution.TRANSFORM_COSTS_BY_TEXELS")
#: Milliseconds that llvmpipe takes to compile the three transforms, less those for the direct kernel's auxiliary
#: kernels.
_TRANSFORMS_COMPILATION = 350.0
#: Cost of transforming the weights of a pair of channels, in vector multiplications. Each run transforms the filter.
FILTER_COST: float = threshold("convolution.FILTER_COST")
#: Cost of loading a transformed weight from memory, in vector multiplications. A transformed filter has four times the
#: filter's weights.
WEIGHT_COST: float = threshold("convolution.WEIGHT_COST")
#: WEIGHT_COST where llvmpipe reads texels.
WEIGHT_COST_BY_TEXELS: float = threshold("convolution.WEIGHT_COST_BY_TEXELS")


@dataclass(frozen=True)
class WinogradGrid:
    """Tiles of 4 x 4 results. high, wide: tiles of a slice along height and width. count: tiles of all slices of all
    images.

    The results of a tile are a dilation apart.
    """

    high: int
    wide: int
    count: int


def winograd_grid(batch: int, places: Three, dilations: Three = (1, 1, 1)) -> WinogradGrid:
    """Return the tiles of a result {batch, channel, depth, height, width}. places: its last three sizes."""
    sizes = zip(places[1:], dilations[1:], strict=True)
    high, wide = (-(-size // (4 * dilation)) * dilation for size, dilation in sizes)
    return WinogradGrid(high, wide, batch * places[0] * high * wide)


def is_cheaper_by_winograd(target: Target, sizes: WindowSizes) -> bool:
    """Whether Winograd's products are cheaper than the direct kernel."""
    if math.isinf(winograd_cost(target, sizes)):
        return False
    direct = direct_tile(target, sizes)
    if direct is None:
        return True
    rule = "Winograd" if winograd_cost(target, sizes) < direct.cost else "direct"
    ways = "Winograd", "direct"
    return tuned(target, "convolution", lambda: f"way {_work(sizes, per_image=True)}", rule, lambda: ways) == ways[0]


def winograd_cost(target: Target, sizes: WindowSizes) -> float:
    """Return the cost of Winograd's products of an image, in the units of DirectTile's cost; infinite if they do not
    apply.

    Only CPU drivers have costs: none are known for GPUs, whose registers and caches differ.
    """
    inputs, outputs, tiles = sizes.inputs, sizes.outputs, winograd_grid(1, sizes.places, sizes.dilations).count
    # Rows begin at multiples of four elements.
    input_row, output_row = -(-inputs // 4) * 4, -(-outputs // 4) * 4
    transformed = 4 * WINOGRAD_POINTS * inputs * output_row
    largest = max(transformed, 4 * WINOGRAD_POINTS * sizes.batch * tiles * max(input_row, output_row))
    is_small = min(inputs, outputs) < _FEWEST_CHANNELS or tiles < FEWEST_TILES
    if profile(target).shares_memory or is_small or transformed > MOST_TRANSFORMED or largest > target.max_region:
        return math.inf
    by_texels = reads_texels(target)
    of_input, of_result = TRANSFORM_COSTS_BY_TEXELS if by_texels else TRANSFORM_COSTS
    transforms = tiles * (inputs * of_input + outputs * of_result) / 8
    loads = WINOGRAD_POINTS * (WEIGHT_COST_BY_TEXELS if by_texels else WEIGHT_COST)
    weights = (FILTER_COST + loads) * inputs * outputs
    points = ProductSizes(tiles, outputs, inputs, WINOGRAD_POINTS, b_known=True)
    products = product_cost(target, points)
    return transforms + weights + products + compile_cost(_TRANSFORMS_COMPILATION)
