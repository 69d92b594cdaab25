"""Convolutions: which kernel, and what an invocation of the direct one makes.

Costs are counted in multiplications, as for matrix products; selection.gemm says how times were taken. A 3 x 3 window
over 64 channels of 56 x 56 takes llvmpipe 45 ms with the direct kernel and 1.7 s with the general one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from dml.compiler.selection import compile_cost, max_steps, tile_compilation
from dml.compiler.selection.tiles import ProductSizes, product_cost
from dml.compiler.target import Target
from dml.shapes import covered_size, window_reach

Three = tuple[int, int, int]


#: A backward convolution is made of at most this many forward ones, one for each place modulo the strides: each is a
#: dispatch of its own.
_MOST_PHASES = 36

# --- What is done to results ------------------------------------------------------------------------------------------

#: Elements of an image up to which a sum with another tensor is a kernel of its own on a CPU's driver: the tile with a
#: sum behind it would take 0.2 to 0.3 seconds to compile, and adding so many takes 2 ms of CPU time.
_ADDED_APART = 1 << 17


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
#: third; others, and those of ResNet-18, within an eighth by the first. Narrow results take a tile of their own: 512
#: channels of 4 x 4 take 5.5 ms by it, and 9.3 by the first; 256 of 8 x 8 5.5 and 5.1, which is no kernel more.
_TILES = ((8, 2, 8), (4, 2, 8), (1, 4, 8), (1, 2, 8))
_NARROW_TILE, _NARROW = (8, 4, 4), 8
#: What an invocation's tile reaches, at most, along a row or a column of the result.
LARGEST_TILE = max(max(rows, columns) for _, rows, columns in (_NARROW_TILE, *_TILES, *_TILES_OF_GPUS))
#: The sums that an invocation may keep; fewer where registers are real.
_MOST_SUMS, _MOST_SUMS_OF_GPUS = 256, 32
#: The products that a round of its innermost loop may add: longer code no longer stays in a CPU's instruction cache.
_MOST_PRODUCTS = 1024
#: Reading four elements costs as much as this many multiplications: on llvmpipe four times what matrix products count
#: for one; GPUs hide reads behind each other, and none has been measured.
_READ_COST, _READ_COST_OF_GPUS = 80, 8
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


@dataclass(frozen=True)
class DirectTile:
    """What an invocation of the direct kernel makes: rows of columns in each of some output channels.

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
    """The tile of the direct kernel: a GPU's cheapest, a CPU's driver's whatever the number of images is.

    None where the window is too wide for registers, the loops are too long for an invocation, or the copy of x or of
    the weights is too large for a binding.
    """
    if sizes.rows_of_taps > max_steps(target):
        return None
    if target.is_cpu:
        ordered = (_NARROW_TILE, *_TILES) if sizes.places[2] <= _NARROW else _TILES
        best = next(filter(None, (_direct_tile(target, sizes, *tile) for tile in ordered)), None)
    else:
        tiles = (_direct_tile(target, sizes, *tile) for tile in _TILES_OF_GPUS)
        best = min(filter(None, tiles), key=lambda tile: tile.cost, default=None)
    if best is None:
        return None
    weights = sizes.groups * -(-sizes.outputs // best.channels) * best.channels * sizes.rows_of_taps * sizes.taps[2]
    return best if 4 * max(math.prod(best.padded), weights) <= target.max_region else None


def _direct_tile(target: Target, sizes: WindowSizes, channels: int, rows: int, columns: int) -> DirectTile | None:
    """A tile of these sizes; None where it is too large for the device or the result has too few channels for it."""
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
        cost = vectors * (_READ_COST * reads + sums * taps) * sizes.rows_of_taps
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


# --- The general kernel -----------------------------------------------------------------------------------------------


def general_rounds(target: Target, per_word: int) -> int:
    """The most rounds that the general kernel's loops may make for an element; longer ones go in parts.

    per_word: elements of the result in a 32-bit word, which an invocation makes one after the other.
    """
    return max_steps(target) // per_word


# --- Winograd's products ----------------------------------------------------------------------------------------------

#: Points at which the transforms evaluate: six along either axis.
WINOGRAD_POINTS = 36
#: Invocations of the transforms' workgroups, side by side along channels.
WINOGRAD_WORKGROUP = 32
#: Fewer channels than this on either side gain nothing, and few sums would hide how the transforms round.
_FEWEST_CHANNELS = 16
#: Fewer tiles of an image leave the products' tiles mostly empty.
_FEWEST_TILES = 4
#: What eight invocations of the transforms of input and result cost, in multiplications of as many: reading and writing
#: is most of it.
_INPUT_COST, _RESULT_COST = 5000.0, 2700.0
#: Milliseconds that the three transforms take llvmpipe to compile more than what the direct kernel needs beside itself.
_TRANSFORMS_COMPILATION = 350.0
#: What fetching a transformed weight from memory costs. There are four times as many as the filter has.
_WEIGHT_COST = 3.0


@dataclass(frozen=True)
class WinogradGrid:
    """The tiles of 4 x 4 results: those of a slice along height and width, and those of all slices of all images."""

    high: int
    wide: int
    count: int


def winograd_grid(batch: int, places: Three) -> WinogradGrid:
    """The tiles of a result {batch, channel, depth, height, width}; places: its last three sizes."""
    depth, height, width = places
    high, wide = -(-height // 4), -(-width // 4)
    return WinogradGrid(high, wide, batch * depth * high * wide)


def is_cheaper_by_winograd(target: Target, sizes: WindowSizes, direct: DirectTile | None) -> bool:
    """Whether Winograd's products, which can make the convolution, are to. direct: the other kernel's tile if any.

    It took half the CPU time on llvmpipe at 64 channels of 56 x 56.
    """
    return winograd_cost(target, sizes) < (math.inf if direct is None else direct.cost)


def winograd_cost(target: Target, sizes: WindowSizes) -> float:
    """What Winograd's products of an image cost, in the units of DirectTile's cost; infinite where they are not to be
    used.

    Devices with registers and caches of their own would need costs of their own: none is known yet.
    """
    inputs, outputs, tiles = sizes.inputs, sizes.outputs, winograd_grid(1, sizes.places).count
    # Rows begin at multiples of four elements.
    input_row, output_row = -(-inputs // 4) * 4, -(-outputs // 4) * 4
    largest = 4 * WINOGRAD_POINTS * max(sizes.batch * tiles * max(input_row, output_row), inputs * output_row)
    is_small = min(inputs, outputs) < _FEWEST_CHANNELS or tiles < _FEWEST_TILES
    if not target.is_cpu or is_small or largest > target.max_region:
        return math.inf
    transforms = tiles * (inputs * _INPUT_COST + outputs * _RESULT_COST) / 8
    weights = _WEIGHT_COST * WINOGRAD_POINTS * inputs * outputs
    points = ProductSizes(tiles, outputs, inputs, WINOGRAD_POINTS, b_known=True)
    products = product_cost(target, points)
    return transforms + weights + products + compile_cost(_TRANSFORMS_COMPILATION)
