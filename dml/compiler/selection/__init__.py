"""Which variant of a kernel a device gets, and its sizes: every choice that looks at what the device is.

A lowering asks here and never looks at the device's class. Each choice says why it is made. A constant that rests on a
measurement is a row of ``thresholds.json``, which has the driver and the times; a limit of a driver names the driver.
"""

from __future__ import annotations

from typing import NamedTuple

from dml.compiler.features import FloatMode
from dml.compiler.selection.thresholds import threshold
from dml.compiler.target import Target

# --- Every kernel -----------------------------------------------------------------------------------------------------

#: Iterations that llvmpipe grants an invocation's loops, over all of them, less what a kernel's own small ones take. It
#: ends them at 65,535, without a word.
CPU_ITERATIONS = 60000
#: Steps of an invocation on other devices, where a desktop's watchdog ends what runs for two seconds. A step waits for
#: memory about once, a microsecond at worst, and does at most some 1,024 multiply-adds (the largest tiles), at a
#: nanosecond each as long again: half a second.
GPU_STEPS = 1 << 18


def max_steps(target: Target) -> int:
    """The most steps (see Dispatch) that one invocation may make; what takes more goes in parts."""
    most = CPU_ITERATIONS if target.is_cpu else GPU_STEPS
    return most if target.fewer_steps is None else min(most, target.fewer_steps)


#: Invocations side by side in a workgroup that shares no memory: at least, and at most.
_FEWEST_LANES, _MOST_LANES = 4, 32


def lanes(target: Target) -> int:
    """Invocations of a workgroup whose invocations share nothing but the cache: what the device runs in step."""
    return max(_FEWEST_LANES, min(_MOST_LANES, target.subgroup_size))


#: Sizes of subgroups that kernels are written for.
_SUBGROUPS = (4, 8, 16, 32, 64, 128)


def shuffled(target: Target) -> int:
    """Invocations that pass each other values without shared memory: those of a subgroup, 0 where kernels do without.

    CPUs' drivers do: there nothing is shared, or a vector is a workgroup.
    """
    may = not target.is_cpu and "shuffle" in target.features.subgroup_operations
    return target.subgroup_size if may and target.subgroup_size in _SUBGROUPS else 0


def stores_fours(target: Target) -> bool:
    """Whether a convolution's sums of 32 bits are stored four at a time where rows begin at multiples of four.

    CPUs' drivers store lane by lane, which takes as long either way: there all rows share a kernel. (Products do store
    by fours, which llvmpipe does faster.)
    """
    return not target.is_cpu


def keeps_fours(target: Target) -> bool:
    """Whether products and convolutions keep their sums in vectors of four.

    llvmpipe makes the pipeline of such a kernel sooner; SwiftShader's kernels run longer.
    """
    return target.llvmpipe > (0, 0)


#: Lines of GLSL for the elements that an invocation takes at once above which the arithmetic outweighs what a workgroup
#: costs.
LONG_ARITHMETIC = 64


#: Workgroups that a CPU's driver is left for its cores.
CPU_GROUPS: int = threshold("CPU_GROUPS")


class UnitWalk(NamedTuple):
    """How kernels over each element walk units of them (elementwise/vector.comp, lib/for_each.glsl).

    steps: of an invocation. loops: whether there may be more than one. workgroup: invocations.
    """

    steps: int
    loops: bool
    workgroup: int

    def invocations(self, units: int) -> int:
        return -(-units // self.steps)


def unit_walk(target: Target, units: int, rounds: int, lines: int) -> UnitWalk:
    """units: those of the whole tensor. rounds: of the loops in each, or 1. lines: of GLSL that each executes.

    A CPU's driver pays for every workgroup, and most for one of several vectors: there a workgroup is one vector, and
    takes as many steps as leave CPU_GROUPS workgroups. What llvmpipe does before an invocation's first unit (it loads
    each word of push constants by itself) takes as long as a few units. Long arithmetic has no loop around it, in which
    SwiftShader compiles it far more slowly.
    """
    if not target.is_cpu or lines > LONG_ARITHMETIC:
        return UnitWalk(1, False, target.workgroup)
    vector = lanes(target)
    return UnitWalk(max(1, min(512, max_steps(target) // rounds, units // (CPU_GROUPS * vector))), True, vector)


#: Mesa's version from which on llvmpipe has not been seen to gather texels.
TEXELS_BEFORE: tuple[int, int] = threshold("TEXELS_BEFORE")


def reads_texels(target: Target) -> bool:
    """Whether what a kernel only reads is bound as a uniform texel buffer, and not as a storage buffer.

    llvmpipe 22.3.6 reads a storage buffer invocation by invocation, and texels of eight invocations together. That of
    Mesa 26.1.6 calls a function for each texel.
    """
    return (
        target.is_cpu
        and (0, 0) < target.llvmpipe < TEXELS_BEFORE
        and 4 * target.max_texels >= target.max_storage_buffer_range
    )


def fast_halves(target: Target) -> tuple[FloatMode, ...]:
    """The modes in which a kernel converts FLOAT16 by the device's instructions, where those are promised to do what
    lib/half.glsl does in many more; empty where they are not.
    """
    return target.features.float16_exact


def single_stores(target: Target) -> frozenset[int]:
    """Bits of the elements narrower than a word that a kernel stores by themselves, without an atomic on their word."""
    found = {16: target.features.storage_16bit, 8: target.features.storage_8bit}
    return frozenset(bits for bits, is_there in found.items() if is_there)


#: Invocations of a workgroup that turns data (elementwise/transpose.comp, transpose_blocks.comp), and neighbours of the
#: latter whose blocks lie side by side in what is read: enough to read whole lines of a cache, and to write them.
TRANSPOSE_WORKGROUP = 128
TRANSPOSE_ALONG: int = threshold("TRANSPOSE_ALONG")


class TransposeBlocks(NamedTuple):
    """How elementwise/transpose_blocks.comp shares blocks. workgroup: invocations. along: of those, side by side."""

    workgroup: int
    along: int


def transpose_blocks(target: Target) -> TransposeBlocks:
    """On a CPU a workgroup is a vector, whose invocations read whole lines of the cache."""
    if target.is_cpu:
        return TransposeBlocks(lanes(target), lanes(target))
    return TransposeBlocks(TRANSPOSE_WORKGROUP, TRANSPOSE_ALONG)


#: Elements along each side of what a CPU's driver transposes in blocks.
CPU_TRANSPOSED = 16


def transpose_tile(target: Target, bits: int) -> int | None:
    """Elements along a tile of transposed data that goes through shared memory; None where caches do as well.

    bits: of an element that is written. A CPU's driver has its caches, and pays for barriers.
    """
    if target.is_cpu:
        return None
    return 32 if bits >= 16 else 16


# --- What a variant costs to compile ----------------------------------------------------------------------------------

#: Runs in which a kernel has to make up for what it takes longer to compile than another, on a CPU's driver.
_RUNS = 300
#: Multiplications of all lanes at once that llvmpipe makes in a millisecond, in the kernels that keep sums.
_MULTIPLICATIONS = 800_000
#: Milliseconds that llvmpipe takes to compile a kernel with a tile of sums: for each sum that it carries through its
#: loop, each product in a round of the loop, and each read there of up to four elements.
_SUM, _PRODUCT, _READ = 1.5, 0.15, 6.0


def tile_compilation(sums: int, products: float, reads: float) -> float:
    """Milliseconds that llvmpipe takes to compile a tile: its sums, and the products and reads of a round."""
    return _SUM * sums + _PRODUCT * products + _READ * reads


def compile_cost(milliseconds: float) -> float:
    """What compiling adds to the cost of a run on a CPU's driver, in multiplications of all lanes at once."""
    return milliseconds * _MULTIPLICATIONS / _RUNS
