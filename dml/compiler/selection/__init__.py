"""Kernel variants and their sizes: every decision that depends on the device.

Lowerings ask here instead of testing the device's class. Each function says why it decides as it does. Measured
constants are rows of ``thresholds.json``, with the driver and the times; a driver's limit names the driver.
"""

from __future__ import annotations

from typing import NamedTuple

from dml.compiler.features import FloatMode
from dml.compiler.selection.devices import profile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.target import Target

# --- Every kernel -----------------------------------------------------------------------------------------------------


def max_steps(target: Target) -> int:
    """Return the maximum number of steps (see Dispatch) of one invocation; longer work is split."""
    most = profile(target).loop_limit
    return most if target.fewer_steps is None else min(most, target.fewer_steps)


#: Smallest and largest workgroup of kernels without shared memory.
_FEWEST_LANES, _MOST_LANES = 4, 32


def lanes(target: Target) -> int:
    """Return the workgroup size for invocations that share only the cache: the subgroup size, within bounds."""
    return max(_FEWEST_LANES, min(_MOST_LANES, target.subgroup_size))


#: Subgroup sizes that kernels support.
_SUBGROUPS = (4, 8, 16, 32, 64, 128)


def shuffled(target: Target) -> int:
    """Return the size of the subgroups in which kernels exchange values by shuffles; 0 if they use none.

    It is 0 on CPU drivers, where invocations share nothing or a workgroup is one vector.
    """
    may = profile(target).shares_memory and "shuffle" in target.features.subgroup_operations
    return target.subgroup_size if may and target.subgroup_size in _SUBGROUPS else 0


def stores_fours(target: Target) -> bool:
    """Whether a convolution stores 32-bit results as vec4 where rows start at multiples of four elements.

    Drivers that store lane by lane gain nothing by vec4, and one kernel serves all rows. (Matrix products do store
    vec4, which is faster on llvmpipe.)
    """
    return not profile(target).lane_by_lane


def keeps_fours(target: Target) -> bool:
    """Whether matrix products and convolutions accumulate in vec4.

    llvmpipe compiles such kernels faster; on SwiftShader they run slower.
    """
    return target.llvmpipe > (0, 0)


#: GLSL lines per unit above which arithmetic outweighs the cost of a workgroup.
LONG_ARITHMETIC = 64


#: Workgroups that keep the cores of a CPU driver busy.
CPU_GROUPS: int = threshold("CPU_GROUPS")


class UnitWalk(NamedTuple):
    """Loop of an elementwise kernel over units of elements (elementwise/vector.comp, lib/for_each.glsl).

    steps: units per invocation. loops: whether there may be more than one step. workgroup: invocations.
    """

    steps: int
    loops: bool
    workgroup: int

    def invocations(self, units: int) -> int:
        return -(-units // self.steps)


def unit_walk(target: Target, units: int, rounds: int, lines: int) -> UnitWalk:
    """Return the loop over ``units`` units of a tensor. rounds: loop iterations within a unit, or 1. lines: GLSL lines
    executed per unit.

    On CPU drivers each workgroup costs time, the more so if it has several vectors. There a workgroup is one vector
    wide and loops so often that about CPU_GROUPS workgroups remain. Before an invocation's first unit, llvmpipe does
    work that costs as much as a few units (it loads each word of push constants separately). Long arithmetic gets no
    loop: SwiftShader compiles it far more slowly inside one.
    """
    if not profile(target).vector_groups or lines > LONG_ARITHMETIC:
        return UnitWalk(1, False, target.workgroup)
    vector = lanes(target)
    return UnitWalk(max(1, min(512, max_steps(target) // rounds, units // (CPU_GROUPS * vector))), True, vector)


#: First tested Mesa version whose llvmpipe does not gather the texels of several invocations.
TEXELS_BEFORE: tuple[int, int] = threshold("TEXELS_BEFORE")


def reads_texels(target: Target) -> bool:
    """Whether read-only data is bound as a uniform texel buffer instead of a storage buffer.

    llvmpipe 22.3.6 reads a storage buffer one invocation at a time, but gathers the texels of eight invocations
    together. Mesa 26.1.6 calls a function for each texel.
    """
    return (
        profile(target).lane_by_lane
        and (0, 0) < target.llvmpipe < TEXELS_BEFORE
        and 4 * target.max_texels >= target.max_storage_buffer_range
    )


def fast_halves(target: Target) -> tuple[FloatMode, ...]:
    """Return the float modes in which kernels convert FLOAT16 by device instructions; may be empty.

    In these modes the device guarantees the results of lib/half.glsl, which takes many more instructions.
    """
    return target.features.float16_exact


def single_stores(target: Target) -> frozenset[int]:
    """Return the widths in bits of elements narrower than a word that are stored without an atomic on their word."""
    found = {16: target.features.storage_16bit, 8: target.features.storage_8bit}
    return frozenset(bits for bits, is_there in found.items() if is_there)


#: Workgroup size of transpositions (elementwise/transpose.comp, transpose_blocks.comp).
TRANSPOSE_WORKGROUP = 128
#: Number of adjacent invocations of transpose_blocks.comp that take adjacent blocks of the source. They read and write
#: whole cache lines.
TRANSPOSE_ALONG: int = threshold("TRANSPOSE_ALONG")


class TransposeBlocks(NamedTuple):
    """Workgroup of elementwise/transpose_blocks.comp. workgroup: invocations. along: adjacent invocations whose blocks
    are adjacent in the source."""

    workgroup: int
    along: int


def transpose_blocks(target: Target) -> TransposeBlocks:
    """Return the workgroup. On CPU drivers it is one SIMD vector, whose invocations read whole cache lines together."""
    if profile(target).vector_groups:
        return TransposeBlocks(lanes(target), lanes(target))
    return TransposeBlocks(TRANSPOSE_WORKGROUP, TRANSPOSE_ALONG)


#: CPU drivers transpose in blocks if both dimensions have at least half as many elements as this.
CPU_TRANSPOSED = 16


def transpose_tile(target: Target, bits: int) -> int | None:
    """Return the side, in elements, of a tile transposed through shared memory; None where caches suffice.

    bits: width of a written element. CPU drivers have caches, and barriers are slow there.
    """
    if not profile(target).shares_memory:
        return None
    return 32 if bits >= 16 else 16


# --- What a variant costs to compile ----------------------------------------------------------------------------------

#: Number of runs within which a faster kernel must repay its longer compilation, on CPU drivers.
_RUNS = 300
#: Vector multiplications (all lanes at once) per millisecond in llvmpipe's kernels that accumulate sums.
_MULTIPLICATIONS = 800_000
#: Milliseconds that llvmpipe takes to compile a tile: per sum carried through its loop, per product in a loop
#: iteration, and per read there (of up to four elements).
_SUM, _PRODUCT, _READ = 1.5, 0.15, 6.0


def tile_compilation(sums: int, products: float, reads: float) -> float:
    """Return the milliseconds that llvmpipe takes to compile a tile. products, reads: number of each in one loop
    iteration."""
    return _SUM * sums + _PRODUCT * products + _READ * reads


def compile_cost(milliseconds: float) -> float:
    """Convert compilation time to a cost per run on CPU drivers, in vector multiplications."""
    return milliseconds * _MULTIPLICATIONS / _RUNS
