"""Convolutions: the kernel, and its tile.

Costs are counted in multiplications, as for matrix products. The direct kernel takes a small part of the time of the
general one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TypeVar

from dml.compiler.selection import compile_cost, max_steps, reads_texels, tile_compilation
from dml.compiler.selection.devices import (
    filling,
    half_matrices,
    has_few_registers,
    has_room_for_matrices,
    keeps,
    keeps_beside_places,
)
from dml.compiler.selection.product_tiles import FEWEST_SUMS, half_steps
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tiles import ProductSizes, product_cost
from dml.compiler.selection.tuned import at_least, half_work, tuned
from dml.compiler.target import Target
from dml.shapes import covered_size, window_reach

Three = tuple[int, int, int]


#: A backward convolution is made of at most this many forward ones, one for each place modulo the strides: each is a
#: dispatch of its own.
_MOST_PHASES = 36

# --- What is done to results ------------------------------------------------------------------------------------------

#: Elements of an image up to which a sum with another tensor is a kernel of its own on a CPU's driver: the tile with a
#: sum behind it would have to be compiled as well, once more for larger images, and gains nothing on small ones.
_ADDED_APART = 1 << 20


def clips_results(target: Target) -> bool:
    """Whether results that nothing is done to are clipped, too, without bounds: so that all layers share a kernel.

    For CPUs' drivers, which take long to compile each of them.
    """
    return target.is_cpu


def adds_apart(target: Target, image: int) -> bool:
    """Whether what is added to a convolution's result, of so many elements of an image, is added by another kernel."""
    return target.is_cpu and image <= _ADDED_APART


# --- The direct kernel ------------------------------------------------------------------------------------------------

#: Output channels, rows and columns that an invocation of a GPU may make.
_TILES_OF_GPUS = tuple(itertools.product((1, 2, 4, 8, 16), (1, 2, 4, 8), (4, 8, 16)))
#: The same of a CPU's driver: the first of these that fits, so that layers share kernels, which take long to compile.
TILES: tuple[Three, ...] = threshold("convolution.TILES")
#: Narrow results (of so many columns) of many products (input channels by output channels) take a tile of their own, so
#: that what narrows on its way through a network takes one kernel. Few products take the first of the others, whatever
#: the image.
NARROW_TILE: Three = threshold("convolution.NARROW_TILE")
NARROW: int = threshold("convolution.NARROW")
MANY_PRODUCTS: int = threshold("convolution.MANY_PRODUCTS")
#: Tiles of results of one row, where a second would be empty.
FLAT_TILES: tuple[Three, ...] = threshold("convolution.FLAT_TILES")
#: What an invocation's tile reaches, at most, along a row or a column of the result.
LARGEST_TILE = max(max(rows, columns) for _, rows, columns in (NARROW_TILE, *FLAT_TILES, *TILES, *_TILES_OF_GPUS))
#: The sums that an invocation may keep; fewer where registers are real.
_MOST_SUMS, _MOST_SUMS_OF_GPUS = 256, 32
#: The products that a round of its innermost loop may add: longer code no longer stays in a CPU's instruction cache.
_MOST_PRODUCTS = 1024
#: Reading four elements costs as much as this many multiplications: on llvmpipe four times what matrix products count
#: for one; GPUs hide reads behind each other, and none has been measured.
READ_COST: float = threshold("convolution.READ_COST")
_READ_COST_OF_GPUS = 8
#: The same where llvmpipe reads texels, and what a multiplication costs beside one of a matrix product's.
TEXEL_COST: float = threshold("convolution.TEXEL_COST")
PRODUCT_COST: float = threshold("convolution.PRODUCT_COST")
#: Fewer vectors of invocations than this leave a CPU's cores idle, fewer invocations a GPU's: they take as long as so
#: many.
_FEWEST_VECTORS, _FEWEST_INVOCATIONS_OF_GPUS = 8, 4096


@dataclass(frozen=True)
class WindowSizes:
    """The sizes of a convolution whose windows move forward. inputs, outputs: channels of a group.

    places: of the result; these, taps, strides and dilations are of depth, height and width.
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
        """Rounds of the direct kernel's innermost loop: each takes a row of a window in an input channel."""
        return self.inputs * self.taps[0] * self.taps[1]

    @property
    def products(self) -> int:
        """The terms of one result."""
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
    """The results of an invocation of the direct kernel: rows and columns of some output channels.

    span: the elements of a row of x that ``columns`` windows reach, in fours. padded: sizes of the copy of x that all
    tiles read {batch, channel, depth, height, width}. cost: of the whole convolution; on a CPU's driver of one image,
    compiling it included.
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
    """Whether a backward convolution is made of forward ones, one for each place modulo the strides."""
    return math.prod(strides) <= _MOST_PHASES


def direct_tile(target: Target, sizes: WindowSizes) -> DirectTile | None:
    """Return the direct kernel's tile: the cheapest on a GPU; one that does not depend on the batch size on a CPU
    driver.

    None where the window is too wide for registers, the loops are too long for an invocation, or the copy of x or of
    the weights is too large for a binding.
    """
    if sizes.rows_of_taps > max_steps(target):
        return None
    if target.is_cpu:
        best = _direct_tile_of_cpus(target, sizes)
    else:
        tiles = (_direct_tile(target, sizes, *tile) for tile in _TILES_OF_GPUS)
        best = min(filter(None, tiles), key=lambda tile: tile.cost, default=None)
    if best is None:
        return None
    weights = sizes.groups * -(-sizes.outputs // best.channels) * best.channels * sizes.rows_of_taps * sizes.taps[2]
    return best if 4 * max(math.prod(best.padded), weights) <= target.max_region else None


def lays_weights_in_fours(target: Target) -> bool:
    """Whether filters are laid out for the direct kernel four elements of an output channel at a time.

    llvmpipe initializes them faster so.
    """
    return target.is_cpu


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
    most = _MOST_SUMS if target.is_cpu else _MOST_SUMS_OF_GPUS
    if sums > most or sums * taps > _MOST_PRODUCTS or (channels > 1 and channels >= 2 * sizes.outputs):
        return None
    depth, height, width = sizes.places
    reach = covered_size(columns, window_reach(taps, sizes.dilations[2]), sizes.strides[2])
    span = -(-reach // 4) * 4
    tiles_y, tiles_x = -(-height // rows), -(-width // columns)
    images = 1 if target.is_cpu else sizes.batch
    invocations = images * depth * tiles_y * tiles_x * sizes.groups * -(-sizes.outputs // channels)
    # Weights are read in fours where the tile's channels are.
    reads = rows * span / 4 + taps * (channels / 4 if channels % 4 == 0 else channels / 2)
    if target.is_cpu:
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
    """Whether the direct kernel stores a tile in loops over its sums, of which drivers then compile one copy.

    llvmpipe compiles an activation behind 256 sums far sooner so. A GPU would keep sums that a loop reads in memory.
    """
    return target.is_cpu


# --- The implicit product of GPUs -------------------------------------------------------------------------------------

#: Fewer output channels of a group, or terms, than this leave most of a tile empty.
_FEWEST_OUTPUTS, _FEWEST_TERMS = 12, 8
#: Steps of k of which a table is kept, at most, and what the windows of such may reach.
_LARGEST_TABLE, _MOST_REACH = 512, 1023
#: Workgroups of which a GPU runs one of each at a time, and what one of them alone on a core takes longer.
_CORES = 132
ALONE: float = threshold("convolution.ALONE")


@dataclass(frozen=True)
class ImplicitTile:
    """The results of a workgroup of implicit.comp: channels of positions, with ``slab`` steps of k at a time.

    fours: of an invocation's sums, down and across. weight: what its speed is worth, by the sums of an invocation.
    table: steps of k in shared memory, a power of two, or none. half_steps: see selection.product_tiles.
    """

    channels: int
    places: int
    fours: tuple[int, int]
    workgroup: int
    slab: int = 8
    weight: float = 1.0
    table: int = 0
    half_steps: int = 0

    @property
    def sums(self) -> int:
        """Of an invocation."""
        return 16 * self.fours[0] * self.fours[1]

    def memory(self) -> int:
        """Bytes of shared memory, at most."""
        return 4 * self.slab * (self.channels + self.places) + 8 * self.table


#: Channels, places, fours, workgroup and weight: the speed of each beside the first. (Two slabs in shared memory leave
#: fewer workgroups on a core, and were slower on an H100.)
IMPLICIT_TILES: tuple[ImplicitTile, ...] = threshold(
    "convolution.IMPLICIT_TILES",
    lambda tiles: tuple(replace(ImplicitTile(*sizes), weight=weight) for *sizes, weight in tiles),
)
#: The same with sums in FLOAT16 beside them: as of products, half as many sums leave the registers for twice the waves.
_IMPLICIT_HALF_TILES = (ImplicitTile(64, 128, (2, 1), 256), *IMPLICIT_TILES[1:])


@dataclass(frozen=True)
class ImplicitMatrixTile:
    """The results of a workgroup of implicit_matrix.comp: channels of positions, with ``slab`` steps of k at a time.

    own: what a subgroup makes of that, in matrices of ``shape`` (m, n, k). table: as of an ImplicitTile.
    """

    channels: int
    places: int
    own: tuple[int, int]
    slab: int
    shape: tuple[int, int, int]
    subgroup_size: int
    table: int = 0

    @property
    def workgroup(self) -> int:
        return self.channels // self.own[0] * (self.places // self.own[1]) * self.subgroup_size

    def memory(self) -> int:
        """Bytes of shared memory, with x's elements in the direction in which they take more."""
        lines = self.slab * (self.channels // 8 | 1)
        lines += max(self.slab * (self.places // 8 | 1), self.places * (self.slab // 8 | 1))
        staged = self.workgroup // self.subgroup_size * self.shape[0] * (self.own[1] // 4 + 2)
        return 16 * max(lines, staged) + 8 * self.table


_Tile = TypeVar("_Tile", ImplicitTile, ImplicitMatrixTile)


def _with_table(target: Target, sizes: WindowSizes, tile: _Tile) -> _Tile:
    """Few input channels: where each step of k finds its element is worked out once for all of them."""
    reaches = (window_reach(taps, apart) for taps, apart in zip(sizes.taps, sizes.dilations, strict=True))
    if sizes.inputs % tile.slab == 0 or max(reaches) > _MOST_REACH:
        return tile
    table = 1 << (-(-sizes.products // tile.slab) * tile.slab - 1).bit_length()
    found = replace(tile, table=table)
    return found if table <= _LARGEST_TABLE and found.memory() <= target.shared_memory else tile


#: Channels and places, those of a subgroup, and with how many tiles they are enough.
MATRIX_TILES: tuple[tuple[int, int, tuple[int, int], int], ...] = threshold("convolution.MATRIX_TILES")


#: Taps and output channels from which on a copy of x pays.
TAPS_WORTH_A_COPY: int = threshold("convolution.TAPS_WORTH_A_COPY")
OUTPUTS_WORTH_A_COPY: int = threshold("convolution.OUTPUTS_WORTH_A_COPY")


def implicit_matrix_tile(target: Target, sizes: WindowSizes) -> ImplicitMatrixTile | None:
    """Return the tile of a FLOAT16 convolution on matrix units; None if there are none or the work is too small."""
    shapes = half_matrices(target) if has_room_for_matrices(target) else []
    if target.is_cpu or not shapes or sizes.outputs < _FEWEST_OUTPUTS or sizes.products < 16:
        return None
    slab = 32 if sizes.inputs % 32 == 0 else 16
    fitting: list[ImplicitMatrixTile] = []
    places = sizes.batch * math.prod(sizes.places)
    rule: ImplicitMatrixTile | None = None
    for channels, beside, own, enough in MATRIX_TILES:
        tile = ImplicitMatrixTile(channels, beside, own, slab, shapes[0], target.subgroup_size)
        m, n, k = tile.shape
        threads = min(target.max_workgroup_invocations, target.max_workgroup_size[0])
        divides = own[0] % m == own[1] % n == slab % k == 0 and tile.workgroup % (beside // 2) == 0
        if divides and tile.workgroup <= threads and tile.memory() <= target.shared_memory:
            fitting.append(tile)
            tiles = sizes.groups * -(-sizes.outputs // channels) * -(-places // beside)
            if rule is None and sizes.outputs > channels // 2 and tiles >= filling(target, enough):
                rule = tile
    too_long = sizes.products // slab >= max_steps(target)
    matrix = 2 * sizes.groups * (sizes.products + slab) * (sizes.outputs + 8)
    if too_long or not fitting or matrix > target.max_region:
        return None
    chosen: ImplicitMatrixTile | None = rule or fitting[-1]
    variants: tuple[ImplicitMatrixTile | None, ...] = (*fitting, None)  # the kernel of FLOAT32 in their place
    found = tuned(target, "convolution", lambda: f"{half_work(target)} {_work(sizes)}", chosen, lambda: variants)
    return found and _with_table(target, sizes, found)


def puts_channels_last(target: Target, sizes: WindowSizes, size: int) -> bool:
    """Whether x, of ``size`` bytes, is copied, so that its channels are neighbours, before matrix units take it."""
    is_worth = math.prod(sizes.taps) >= TAPS_WORTH_A_COPY and sizes.outputs >= OUTPUTS_WORTH_A_COPY
    return is_worth and sizes.inputs % 8 == 0 and size <= target.max_region


#: Places of an image from which on a product for each image fills its last tiles well enough.
PLACES_OF_PRODUCTS: int = threshold("convolution.PLACES_OF_PRODUCTS")


def joins_images(target: Target, sizes: WindowSizes, bits: int) -> bool:
    """Whether windows of one element are better made as places of all images than as a product for each of them.

    bits: of an element. The products of halves on matrix units want rows of eights.
    """
    places = math.prod(sizes.places)
    fills_tiles = places % 128 == 0 or (places >= PLACES_OF_PRODUCTS and (bits == 32 or places % 8 == 0))
    return sizes.batch > 1 and not fills_tiles and implicit_tile(target, sizes) is not None


#: Output channels from which on a CPU's driver copies what strided windows of one element take, and multiplies that.
OUTPUTS_WORTH_THINNING: int = threshold("convolution.OUTPUTS_WORTH_THINNING")


def is_worth_thinning(target: Target, sizes: WindowSizes) -> bool:
    """Whether the elements of x that windows of one element take are copied, so that these are a product."""
    return target.is_cpu and sizes.outputs >= OUTPUTS_WORTH_THINNING


def implicit_tile(target: Target, sizes: WindowSizes, *, halves: bool = False) -> ImplicitTile | None:
    """Return the tile of a convolution as a matrix product through shared memory; None if another kernel is chosen.

    halves: its tensors are FLOAT16.
    """
    if target.is_cpu or sizes.outputs < _FEWEST_OUTPUTS or sizes.products < _FEWEST_TERMS:
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
        t for t in tiles if t.workgroup <= most and (t.sums <= FEWEST_SUMS or keeps_beside_places(target, t.sums))
    ]
    kind = "implicit in halves" if steps else "implicit"
    tile = tuned(target, "convolution", lambda: f"{kind} {_work(sizes)}", min(fitting, key=cost), lambda: fitting)
    larger = tile if has_few_registers(target) else replace(tile, slab=16)
    if larger.memory() > target.shared_memory or (sizes.inputs % 16 and sizes.inputs % 8 == 0):
        larger = tile
    larger = _with_table(target, sizes, larger)
    matrix = 4 * sizes.groups * -(-sizes.products // larger.slab) * larger.slab * -(-sizes.outputs // 4) * 4
    too_long = sizes.products // larger.slab >= max_steps(target)
    return None if matrix > target.max_region or too_long else larger


# --- The depthwise kernel --------------------------------------------------------------------------------------------

#: Elements of x that an invocation of a GPU may read, which are all unrolled.
_MOST_READS = 128
#: Rows and columns of a tile on CPUs' drivers, and the taps of a window up to which they are better than the direct
#: kernel.
STRIPS: tuple[tuple[int, int], ...] = threshold("convolution.STRIPS")
MOST_TAPS: int = threshold("convolution.MOST_TAPS")
#: What an invocation costs on llvmpipe beside its sums, for each element read and for each sum, in nanoseconds.
STRIP_COSTS: tuple[float, float, float] = threshold("convolution.STRIP_COSTS")


#: Rows of a tile: of these those that leave less of the last tiles empty.
ROWS_OF_STRIPS: tuple[int, ...] = threshold("convolution.ROWS_OF_STRIPS")
#: Rows of other tiles, and of tiles of four columns, which tuning may find better where rows are of fours: no GPU has
#: measured them.
_SHORTER_STRIPS, _ROWS_OF_FOURS = (4, 2, 1), (8, 7, 4)


@dataclass(frozen=True)
class DepthwiseTile:
    """The results of an invocation of depthwise.comp in a channel: rows and columns that are ``gaps`` apart.

    gaps: the dilation where windows move by one, so that the windows of a tile share what they read; else 1. fours: its
    four columns are read and stored together.
    """

    rows: int
    columns: int
    gaps: tuple[int, int] = (1, 1)
    fours: bool = False

    def tiles(self, size: int, axis: int) -> int:
        """How many there are along rows (axis 0) or columns (1) of so many places."""
        gap = self.gaps[axis]
        return -(-size // (gap * (self.rows, self.columns)[axis])) * gap


def depthwise_tile(target: Target, sizes: WindowSizes, bits: int, *, fours: bool) -> DepthwiseTile | None:
    """Return the tile of a depthwise convolution (one input channel per group); None if the kernel does not apply.

    bits: of an element of the result: halves go in pairs, a word to an invocation. fours: whether rows on both sides
    are of fours.
    """
    if sizes.inputs != 1 or sizes.taps[0] > max_steps(target):
        return None
    if target.is_cpu:
        return _strip_of_cpus(target, sizes) if math.prod(sizes.taps) <= MOST_TAPS else None
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


def _strip_of_cpus(target: Target, sizes: WindowSizes) -> DepthwiseTile:
    """Return the first strip unless windows are dilated, so that layers share a kernel.

    The cheapest for each layer gains MobileNetV2 hardly anything. Small dilated images leave much of it empty.
    """
    _, height, width = sizes.places

    def cost(tile: DepthwiseTile) -> float:
        beside, each_read, each_sum = STRIP_COSTS
        one = beside + each_read * math.prod(elements_read(tile, sizes)) + each_sum * tile.rows * tile.columns
        return tile.tiles(height, 0) * tile.tiles(width, 1) * one

    gaps = _gap(sizes, 1), _gap(sizes, 2)
    strips = [DepthwiseTile(rows, columns, gaps) for rows, columns in STRIPS]
    rule = strips[0] if gaps == (1, 1) else min(strips, key=cost)
    return tuned(target, "convolution", lambda: f"depthwise {_work(sizes, per_image=True)}", rule, lambda: strips)


def _gap(sizes: WindowSizes, axis: int) -> int:
    return sizes.dilations[axis] if sizes.strides[axis] == 1 and sizes.taps[axis] > 1 else 1


def elements_read(tile: DepthwiseTile, sizes: WindowSizes) -> tuple[int, int]:
    """Return the rows and columns of x that a tile's windows read."""

    def along(axis: int, count: int) -> int:
        move, apart = (1, 1) if tile.gaps[axis - 1] > 1 else (sizes.strides[axis], sizes.dilations[axis])
        return len({at * move + k * apart for at in range(count) for k in range(sizes.taps[axis])})

    return along(1, tile.rows), along(2, tile.columns)


# --- The general kernel -----------------------------------------------------------------------------------------------


def general_rounds(target: Target, per_word: int) -> int:
    """Return the maximum number of loop iterations of the general kernel for an element; longer sums are split.

    per_word: elements of the result in a 32-bit word, which an invocation makes one after the other.
    """
    return max_steps(target) // per_word


# --- Winograd's products ----------------------------------------------------------------------------------------------

#: Points at which the transforms evaluate: six along either axis.
WINOGRAD_POINTS = 36
#: Most bytes of a transformed filter, which has four times those of the filter: 512 channels on either side.
MOST_TRANSFORMED = 40 << 20
#: Invocations of the transforms' workgroups, side by side along channels.
WINOGRAD_WORKGROUP = 32
#: Fewer channels than this on either side gain nothing, and few sums would hide how the transforms round.
_FEWEST_CHANNELS = 16
#: Fewer tiles of an image leave the products' tiles mostly empty.
FEWEST_TILES: int = threshold("convolution.FEWEST_TILES")
#: The two ways are compared for the places that networks have with so many channels, so that these decide, and another
#: image makes no kernel: 56 x 56 of 64 channels, 28 x 28 of 128, down to 7 x 7. Dilated windows have as many more, or
#: what the image has: tiles of places that lie further apart than a small image is wide would be mostly empty.
USUAL: int = threshold("convolution.USUAL")
_MOST_USUAL, _LEAST_USUAL = 56, 7
#: What eight invocations of the transforms of input and result cost, in multiplications of as many: reading and writing
#: is most of it. The same where llvmpipe reads texels.
TRANSFORM_COSTS: tuple[float, float] = threshold("convolution.TRANSFORM_COSTS")
TRANSFORM_COSTS_BY_TEXELS: tuple[float, float] = threshold("convolution.TRANSFORM_COSTS_BY_TEXELS")
#: Milliseconds that the three transforms take llvmpipe to compile more than what the direct kernel needs beside itself.
_TRANSFORMS_COMPILATION = 350.0
#: What fetching a transformed weight from memory costs; and by texels. There are four times as many as the filter has.
WEIGHT_COST: float = threshold("convolution.WEIGHT_COST")
WEIGHT_COST_BY_TEXELS: float = threshold("convolution.WEIGHT_COST_BY_TEXELS")


@dataclass(frozen=True)
class WinogradGrid:
    """The tiles of 4 x 4 results: those of a slice along height and width, and those of all slices of all images.

    The results of a tile lie a dilation apart.
    """

    high: int
    wide: int
    count: int


def winograd_grid(batch: int, places: Three, dilations: Three = (1, 1, 1)) -> WinogradGrid:
    """The tiles of a result {batch, channel, depth, height, width}; places: its last three sizes."""
    depth, height, width = places
    high, wide = (-(-size // (4 * apart)) * apart for size, apart in ((height, dilations[1]), (width, dilations[2])))
    return WinogradGrid(high, wide, batch * depth * high * wide)


def is_cheaper_by_winograd(target: Target, sizes: WindowSizes) -> bool:
    """Whether Winograd's products are cheaper than the direct kernel."""
    if math.isinf(winograd_cost(target, sizes)):
        return False
    direct = direct_tile(target, sizes)
    if direct is None:
        return True
    side = max(_LEAST_USUAL, min(_MOST_USUAL, USUAL // max(sizes.inputs, sizes.outputs)))
    depth, *places = sizes.places
    high, wide = (
        side if apart == 1 else min(side * apart, size) for size, apart in zip(places, sizes.dilations[1:], strict=True)
    )
    usual = replace(sizes, places=(depth, high, wide))
    usual_direct = direct_tile(target, usual) or direct
    rule = "Winograd" if winograd_cost(target, usual) < usual_direct.cost else "direct"
    ways = "Winograd", "direct"
    return tuned(target, "convolution", lambda: f"way {_work(sizes, per_image=True)}", rule, lambda: ways) == ways[0]


def winograd_cost(target: Target, sizes: WindowSizes) -> float:
    """Return the cost of Winograd's products of an image, in the units of DirectTile's cost; infinite if they do not
    apply.

    Devices with registers and caches of their own would need costs of their own: none is known yet.
    """
    inputs, outputs, tiles = sizes.inputs, sizes.outputs, winograd_grid(1, sizes.places, sizes.dilations).count
    # Rows begin at multiples of four elements.
    input_row, output_row = -(-inputs // 4) * 4, -(-outputs // 4) * 4
    transformed = 4 * WINOGRAD_POINTS * inputs * output_row
    largest = max(transformed, 4 * WINOGRAD_POINTS * sizes.batch * tiles * max(input_row, output_row))
    is_small = min(inputs, outputs) < _FEWEST_CHANNELS or tiles < FEWEST_TILES
    if not target.is_cpu or is_small or transformed > MOST_TRANSFORMED or largest > target.max_region:
        return math.inf
    by_texels = reads_texels(target)
    of_input, of_result = TRANSFORM_COSTS_BY_TEXELS if by_texels else TRANSFORM_COSTS
    transforms = tiles * (inputs * of_input + outputs * of_result) / 8
    weights = (WEIGHT_COST_BY_TEXELS if by_texels else WEIGHT_COST) * WINOGRAD_POINTS * inputs * outputs
    points = ProductSizes(tiles, outputs, inputs, WINOGRAD_POINTS, b_known=True)
    products = product_cost(target, points)
    return transforms + weights + products + compile_cost(_TRANSFORMS_COMPILATION)
