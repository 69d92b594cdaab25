"""Convolutions: the kernel, and its tile.

Costs are counted in multiplications, as for matrix products; selection.gemm says how times were taken. A 3 x 3 window
over 64 channels of 56 x 56 takes llvmpipe 45 ms with the direct kernel and 1.7 s with the general one.
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
#: sum behind it would take 0.2 to 0.3 seconds to compile, once more for larger images. ResNet-18 takes llvmpipe 129 ms
#: of CPU time with all sums apart and 130 without at 224 x 224, 312 and 320 at 384 x 384, 1027 and 958 at 640 x 640.
_ADDED_APART = 1 << 20


def clips_results(target: Target) -> bool:
    """Whether results that nothing is done to are clipped, too, without bounds: so that all layers share a kernel.

    For CPUs' drivers, where each of MobileNetV2's and ResNet-18's takes 0.1 to 0.4 seconds to compile.
    """
    return target.is_cpu


def adds_apart(target: Target, image: int) -> bool:
    """Whether what is added to a convolution's result, of so many elements of an image, is added by another kernel."""
    return target.is_cpu and image <= _ADDED_APART


# --- The direct kernel ------------------------------------------------------------------------------------------------

#: Output channels, rows and columns that an invocation of a GPU may make.
_TILES_OF_GPUS = tuple(itertools.product((1, 2, 4, 8, 16), (1, 2, 4, 8), (4, 8, 16)))
#: The same of a CPU's driver: the first of these that fits, so that layers share kernels, which take it 0.1 (the third)
#: to 0.25 seconds to compile. Depthwise layers of MobileNetV2 take within a fifth of the best of six tiles by the
#: third; others, and those of ResNet-18, within an eighth by the first. Narrow results of many products (input channels
#: by output channels) take a tile of their own: 512 channels of 4 x 4 take 5.5 ms by it, and 9.3 by the first; 256 of 8
#: x 8 5.8 and 5.0, 128 of 56 x 56 with a stride of two 11.6 and 12.3, 64 to 128 of 72 x 72 so 9.1 and 9.1, of 96 x 96
#: 15.2 and 13.8, so that what narrows on its way takes one kernel, from images of 320 x 320 down. Few products take the
#: first whatever the image: 64 of 16 x 16 0.96 and 0.88.
_TILES = ((8, 2, 8), (4, 2, 8), (1, 4, 8), (1, 2, 8))
_NARROW_TILE, _NARROW, _MANY_PRODUCTS = (8, 4, 4), 40, 1 << 13
#: Those of results of one row, where a second would be empty: 5 taps over 256 channels of 400 places, four images,
#: take llvmpipe 27 ms so and 120 by the others.
_FLAT_TILES = ((8, 1, 16), (4, 1, 16), (1, 1, 16), (1, 1, 8))
#: What an invocation's tile reaches, at most, along a row or a column of the result.
LARGEST_TILE = max(max(rows, columns) for _, rows, columns in (_NARROW_TILE, *_FLAT_TILES, *_TILES, *_TILES_OF_GPUS))
#: The sums that an invocation may keep; fewer where registers are real.
_MOST_SUMS, _MOST_SUMS_OF_GPUS = 256, 32
#: The products that a round of its innermost loop may add: longer code no longer stays in a CPU's instruction cache.
_MOST_PRODUCTS = 1024
#: Reading four elements costs as much as this many multiplications: on llvmpipe four times what matrix products count
#: for one; GPUs hide reads behind each other, and none has been measured.
_READ_COST, _READ_COST_OF_GPUS = 80, 8
#: The same where llvmpipe reads texels, and what a multiplication costs beside one of a matrix product's: 3 x 3 over
#: 128 channels of 28 x 28 takes it 7.4 ms, and 6.2 by Winograd's products; 128 to 32 channels 2.1 and 3.6.
_TEXEL_COST, _PRODUCT_COST = 15, 0.6
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

    llvmpipe 22.3.6 takes 65 ms of CPU time for ResNet-18's weights so, and 85 element by element.
    """
    return target.is_cpu


def _direct_tile_of_cpus(target: Target, sizes: WindowSizes) -> DirectTile | None:
    """Return the first tile that fits, or the one that tuning measured as fastest."""
    narrow = sizes.places[2] <= _NARROW and sizes.inputs * sizes.outputs >= _MANY_PRODUCTS
    ordered = (_NARROW_TILE, *_TILES) if narrow else _TILES
    if sizes.places[1] == 1:
        ordered = (*_FLAT_TILES, *ordered)
    rule = next((tile for tile in ordered if _direct_tile(target, sizes, *tile)), None)
    if rule is None:
        return None

    def fitting() -> list[Three]:
        return [tile for tile in dict.fromkeys((*ordered, _NARROW_TILE, *_TILES)) if _direct_tile(target, sizes, *tile)]

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
        read, product = (_TEXEL_COST, _PRODUCT_COST) if reads_texels(target) else (_READ_COST, 1)
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

    GELU behind 256 sums takes llvmpipe 0.8 CPU seconds to compile so, and 5.6 unrolled. A GPU would keep sums that a
    loop reads in memory.
    """
    return target.is_cpu


# --- The implicit product of GPUs -------------------------------------------------------------------------------------

#: Fewer output channels of a group, or terms, than this leave most of a tile empty.
_FEWEST_OUTPUTS, _FEWEST_TERMS = 12, 8
#: Steps of k of which a table is kept, at most, and what the windows of such may reach.
_LARGEST_TABLE, _MOST_REACH = 512, 1023
#: Workgroups of which a GPU runs one of each at a time, and what one of them alone on a core takes longer.
_CORES, _ALONE = 132, 1.3


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


#: On an H100, 64 x 128 makes 27 TFLOP/s of 3 x 3 over 64 channels of 56 x 56, 32 images; the weights are how others did
#: beside it. Two slabs in shared memory leave fewer workgroups on a core and took 10 to 40 % longer.
_IMPLICIT_TILES = (
    ImplicitTile(64, 128, (2, 2), 128, weight=1.0),
    ImplicitTile(64, 64, (1, 2), 128, weight=0.86),
    ImplicitTile(32, 128, (1, 2), 128, weight=0.86),
    ImplicitTile(32, 64, (1, 1), 128, weight=0.73),
    ImplicitTile(16, 128, (1, 1), 128, weight=0.6),
)
#: The same with sums in FLOAT16 beside them: as of products, half as many sums leave the registers for twice the waves.
_IMPLICIT_HALF_TILES = (ImplicitTile(64, 128, (2, 1), 256), *_IMPLICIT_TILES[1:])


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


#: Channels and places, those of a subgroup, and with how many tiles they are enough. On an H100, 3 x 3 over 256
#: channels of 14 x 14, 32 images, takes 72 us by the first and 79 by the second, with channels last; over 64 channels
#: of 56 x 56 87 by the second.
_MATRIX_TILES = (
    (128, 128, (64, 32), 96),
    (64, 64, (32, 16), 1),
    (32, 64, (16, 16), 1),
)


#: Taps and output channels from which on a copy of x pays: 3 x 3 over 256 channels of 14 x 14 takes an H100 85 us
#: without and 72 with it, over 64 channels of 56 x 56 87 and 96.
_TAPS_WORTH_A_COPY, _OUTPUTS_WORTH_A_COPY = 4, 128


def implicit_matrix_tile(target: Target, sizes: WindowSizes) -> ImplicitMatrixTile | None:
    """Return the tile of a FLOAT16 convolution on matrix units; None if there are none or the work is too small."""
    shapes = half_matrices(target) if has_room_for_matrices(target) else []
    if target.is_cpu or not shapes or sizes.outputs < _FEWEST_OUTPUTS or sizes.products < 16:
        return None
    slab = 32 if sizes.inputs % 32 == 0 else 16
    fitting: list[ImplicitMatrixTile] = []
    places = sizes.batch * math.prod(sizes.places)
    rule: ImplicitMatrixTile | None = None
    for channels, beside, own, enough in _MATRIX_TILES:
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
    is_worth = math.prod(sizes.taps) >= _TAPS_WORTH_A_COPY and sizes.outputs >= _OUTPUTS_WORTH_A_COPY
    return is_worth and sizes.inputs % 8 == 0 and size <= target.max_region


#: Places of an image from which on a product for each image fills its last tiles well enough.
_PLACES_OF_PRODUCTS = 2048


def joins_images(target: Target, sizes: WindowSizes, bits: int) -> bool:
    """Whether windows of one element are better made as places of all images than as a product for each of them.

    bits: of an element. The products of halves on matrix units want rows of eights.
    """
    places = math.prod(sizes.places)
    fills_tiles = places % 128 == 0 or (places >= _PLACES_OF_PRODUCTS and (bits == 32 or places % 8 == 0))
    return sizes.batch > 1 and not fills_tiles and implicit_tile(target, sizes) is not None


#: Output channels from which on a CPU's driver copies what strided windows of one element take, and multiplies that:
#: 256 to 512 channels of 28 x 28 take llvmpipe 11 ms so and 34 by the direct kernel.
_OUTPUTS_WORTH_THINNING = 16


def is_worth_thinning(target: Target, sizes: WindowSizes) -> bool:
    """Whether the elements of x that windows of one element take are copied, so that these are a product."""
    return target.is_cpu and sizes.outputs >= _OUTPUTS_WORTH_THINNING


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
        return (rounds if rounds > 1 else _ALONE) * tile.channels * tile.places / tile.weight

    steps = half_steps(target) if halves else 0
    tiles = [replace(tile, half_steps=steps) for tile in (_IMPLICIT_HALF_TILES if steps else _IMPLICIT_TILES)]
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
#: kernel: 3 x 3 over 144 channels of 56 x 56 takes llvmpipe 3.8 ms of CPU time so and 5.2 with that one (in FLOAT16 5.3
#: and 8.1), with 960 of 33 x 33 and a dilation of four 12.7 and 19.9; 5 x 5 takes 9.1 and 6.8.
_STRIPS, _MOST_TAPS = ((4, 4), (5, 3), (3, 3), (2, 2)), 9
#: What an invocation costs on llvmpipe beside its sums, for each element read and for each sum, in nanoseconds.
_STRIP_COST, _STRIP_READ, _STRIP_SUM = 15, 1.5, 5


#: Rows of a tile: of the first two those that leave less of the last tiles empty. 384 channels of 28 x 28 take an H100
#: 45, 41 and 43 us in FLOAT32 by 8, 7 and 4 rows of a column, and 33, 29 and 32 in FLOAT16 by those of two. Of tiles of
#: four columns, which tuning may find better where rows are of fours: no GPU has measured them.
_ROWS_OF_STRIPS, _SHORTER_STRIPS, _ROWS_OF_FOURS = (8, 7), (4, 2, 1), (8, 7, 4)


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
        return _strip_of_cpus(target, sizes) if math.prod(sizes.taps) <= _MOST_TAPS else None
    fitting = []
    height = sizes.places[1]
    strips = (*sorted(_ROWS_OF_STRIPS, key=lambda rows: -height % rows), *_SHORTER_STRIPS)
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

    MobileNetV2 takes llvmpipe 114.5 ms with it alone, and 113.6 with the cheapest of four, which are two more to
    compile, 0.2 to 0.4 seconds each. Small dilated images leave much of it empty.
    """
    _, height, width = sizes.places

    def cost(tile: DepthwiseTile) -> float:
        one = _STRIP_COST + _STRIP_READ * math.prod(elements_read(tile, sizes)) + _STRIP_SUM * tile.rows * tile.columns
        return tile.tiles(height, 0) * tile.tiles(width, 1) * one

    gaps = _gap(sizes, 1), _gap(sizes, 2)
    strips = [DepthwiseTile(rows, columns, gaps) for rows, columns in _STRIPS]
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
#: Fewer tiles of an image leave the products' tiles mostly empty: SqueezeNet at 128 x 128 takes llvmpipe 14.1 ms so and
#: 17.2 with Winograd's products whatever the image, ResNet-18 at 96 x 96 27 and 39.
_FEWEST_TILES = 9
#: The two ways are compared for the places that networks have with so many channels, so that these decide, and another
#: image makes no kernel: 56 x 56 of 64 channels, 28 x 28 of 128, down to 7 x 7. Dilated windows have as many more, or
#: what the image has: tiles of places that lie further apart than a small image is wide would be mostly empty.
#: By texels, 256 channels of 14 x 14 take 8.4 ms by the direct kernel and 5.6 by Winograd's products, 512 of 7 x 7 take
#: 8.2 and 24, 512 of 33 x 33 with a dilation of four 254 and 139.
_USUAL, _MOST_USUAL, _LEAST_USUAL = 56 * 64, 56, 7
#: What eight invocations of the transforms of input and result cost, in multiplications of as many: reading and writing
#: is most of it. The same where llvmpipe reads texels.
_TRANSFORM_COSTS, _TRANSFORM_COSTS_BY_TEXELS = (5000.0, 2700.0), (3000.0, 2000.0)
#: Milliseconds that the three transforms take llvmpipe to compile more than what the direct kernel needs beside itself.
_TRANSFORMS_COMPILATION = 350.0
#: What fetching a transformed weight from memory costs; and by texels. There are four times as many as the filter has.
_WEIGHT_COST, _WEIGHT_COST_BY_TEXELS = 3.0, 1.0


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
    """Whether Winograd's products are cheaper than the direct kernel.

    It took half the CPU time on llvmpipe at 64 channels of 56 x 56.
    """
    if math.isinf(winograd_cost(target, sizes)):
        return False
    direct = direct_tile(target, sizes)
    if direct is None:
        return True
    side = max(_LEAST_USUAL, min(_MOST_USUAL, _USUAL // max(sizes.inputs, sizes.outputs)))
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
    is_small = min(inputs, outputs) < _FEWEST_CHANNELS or tiles < _FEWEST_TILES
    if not target.is_cpu or is_small or transformed > MOST_TRANSFORMED or largest > target.max_region:
        return math.inf
    by_texels = reads_texels(target)
    of_input, of_result = _TRANSFORM_COSTS_BY_TEXELS if by_texels else _TRANSFORM_COSTS
    transforms = tiles * (inputs * of_input + outputs * of_result) / 8
    weights = (_WEIGHT_COST_BY_TEXELS if by_texels else _WEIGHT_COST) * WINOGRAD_POINTS * inputs * outputs
    points = ProductSizes(tiles, outputs, inputs, WINOGRAD_POINTS, b_known=True)
    products = product_cost(target, points)
    return transforms + weights + products + compile_cost(_TRANSFORMS_COMPILATION)
