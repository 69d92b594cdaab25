"""Properties of devices: from Vulkan where it reports them, else from a table by vendor and device. Selection asks for
a property, never for a vendor's name or a class of devices.

A GPU without a row counts as an H100, on which the kernels were measured; all CPU drivers share a profile.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from dml.compiler.target import Target

#: Loop iterations that llvmpipe allows an invocation over all its loops, less a margin for a kernel's small loops. It
#: silently ends loops at 65,535.
CPU_ITERATIONS = 60000
#: Maximum number of steps of an invocation on GPUs, where a desktop's watchdog ends work that runs for two seconds. A
#: step waits for memory about once (1 microsecond at worst) and does at most about 1,024 multiply-adds (the largest
#: tiles, 1 ns each), so 2^18 steps take half a second.
GPU_STEPS = 1 << 18


@dataclass(frozen=True)
class Profile:
    """Properties of a family of devices that Vulkan does not report.

    registers: maximum number of 32-bit registers of an invocation. file: total number of 32-bit registers for a
    workgroup. by_thread: registers per invocation shrink as the subgroup widens (Intel); ``registers`` holds for the
    narrowest. loads_early: the compiler hoists more loads than NVIDIA's, which costs registers. cores: number in a
    typical chip of the vendor. dots: packed-byte dot product instructions. halves: FLOAT16 conversions and arithmetic
    are single instructions. numbers: words of a kernel's uniform block that fit in registers next to its buffers'
    descriptors; None: all. numbers_of_many: the same for kernels of seven or eight dimensions, where that is fewer.

    loop_limit: maximum number of steps (see Dispatch) of an invocation. shares_memory: invocations exchange values
    faster through shared memory, barriers and shuffles than by reading them again from a cache. vector_groups: each
    SIMD vector of a workgroup costs time, so that the best workgroup is one vector. lane_by_lane: storage buffers are
    read and written one invocation at a time. slow_compiler: a kernel takes long to compile compared with its runs, so
    that layers share kernels, and a tile must repay its compilation.
    """

    registers: int = 255
    file: int = 65536
    by_thread: bool = False
    loads_early: bool = False
    cores: int = 132
    dots: bool = True
    halves: bool = True
    numbers: int | None = None
    numbers_of_many: int | None = None
    loop_limit: int = GPU_STEPS
    shares_memory: bool = True
    vector_groups: bool = False
    lane_by_lane: bool = False
    slow_compiler: bool = False


#: VkPhysicalDeviceProperties.vendorID
_AMD, _APPLE, _ARM, _BROADCOM, _IMAGINATION = 0x1002, 0x106B, 0x13B5, 0x14E4, 0x1010
_INTEL, _NVIDIA, _QUALCOMM = 0x8086, 0x10DE, 0x5143
#: VkDriverId
_NVK, _HONEYKRISP = 24, 26

#: An invocation may fill 1 / _KEPT of its registers with values that it keeps. The rest is for operands, addresses and
#: hoisted loads. Vulkan does not report this; a third suits each compiler of tools/gpu_compile.
_KEPT = 3

_H100 = Profile()
#: llvmpipe and SwiftShader. At a barrier they save and reload all values that the invocations hold.
_CPU = Profile(
    halves=False, loop_limit=CPU_ITERATIONS, shares_memory=False, vector_groups=True, lane_by_lane=True,
    slow_compiler=True,
)  # fmt: skip
#: Qualcomm, by Mesa: in workgroups of 128 an invocation gets 32 vec4 registers on Adreno 660, 48 on Adreno 740.
_ADRENO_6 = Profile(128, 32768, loads_early=True, cores=3)
_ADRENO_7 = Profile(192, 49152, loads_early=True, cores=6)
_LAST_ADRENO_6 = 0x0700
#: Adreno 702: Mesa gives an invocation of a workgroup of 128 only 6 vec4 registers if the kernel has a barrier, else
#: 48. A quarter of all kernels spilled, so its kernels use no shared memory.
_ADRENO_702 = Profile(128, 32768, loads_early=True, cores=1, shares_memory=False)
#: AMD's scalar registers, some 106 for each subgroup, hold numbers and four words for each buffer. ACO spilled kernels
#: of ranks 7 and 8 with 76 to 92 numbers.
_AMD_NUMBERS = 72
#: AMD RDNA 2: RADV gives an invocation of a workgroup of 512 only 120 registers, and ACO spilled one of them for rows
#: of 80 held elements. On other RDNA generations it spilled none.
_RDNA_2 = Profile(256, 61440, numbers=_AMD_NUMBERS)
_RDNA_2_DEVICES = range(0x73A0, 0x7440)
_RDNA_2_PROCESSORS = frozenset({0x1435, 0x1506, 0x163F, 0x164D, 0x164E, 0x1681})
#: AMD Vega 10, Vega 12 and Raven, which lack the byte dot products added by Vega 20: RADV offers them, but ACO emulates
#: each by several instructions, which spilled scalar registers to vector registers.
_VEGA_10 = Profile(256, 131072, dots=False, numbers=_AMD_NUMBERS)
_VEGA_10_DEVICES = frozenset({*range(0x6860, 0x6880), *range(0x69A0, 0x69B0), 0x15D8, 0x15DD})
#: NVIDIA's GPUs before Volta have one register for the carry of a 64-bit address. Mesa's NAK 26.1 (its scheduler
#: opt_instr_sched_prepass.rs counts no carries) keeps two alive where other registers run short, finds no register and
#: refuses the kernel: one of 66 numbers, four of rank 8 with 47 to 68. (Depthwise convolutions, with 56, would lose a
#: third of their speed by its static cycles.)
_NAK_NUMBERS, _NAK_NUMBERS_OF_MANY = 60, 40
_FIRST_VOLTA = 0x1D81
#: NVIDIA's first Kepler (GK107, GK104, GK106), with 63 registers per invocation and no byte dot products; GK110 and
#: later chips have 255 registers.
_FIRST_KEPLER = Profile(63, loads_early=True, dots=False)
_FIRST_KEPLER_DEVICES = frozenset({*range(0x0FC0, 0x1000), *range(0x1180, 0x1200)})
#: ARM's Bifrost GPUs (Mali G71 to G76, G31 to G52) have 64 registers, too, but loads and stores take aligned groups of
#: them: Mesa's compiler spilled products and vectors of bytes that fit Valhall's.
_BIFROST = Profile(44, 16384, cores=8)
_FIRST_VALHALL = 0x9000
_PROFILES = {
    _AMD: Profile(256, 131072, numbers=_AMD_NUMBERS),
    _APPLE: Profile(128, 49152, cores=8),
    _ARM: Profile(64, 16384, cores=8),
    # V3D: v3dv says that its byte dot products are not accelerated; one kernel of them took 10 seconds to compile.
    _BROADCOM: Profile(32, 8192, cores=2, dots=False),
    _IMAGINATION: Profile(64, 16384, cores=1),
    _INTEL: Profile(128, 32768, by_thread=True, cores=8),
}

#: (vendor, first device, last device, cores). Cores are subslices or Xe cores of Intel's chips and shader processors of
#: Qualcomm's, from Mesa's lists (include/pci_ids/iris_pci_ids.h and intel_device_info.c, freedreno_devices.py). The
#: first matching row counts.
_CORES = (
    (_INTEL, 0x1900, 0x19FF, 3), (_INTEL, 0x3E00, 0x3EFF, 3), (_INTEL, 0x5900, 0x59FF, 3), (_INTEL, 0x9B00, 0x9BFF, 3),
    (_INTEL, 0x4C80, 0x4CFF, 2), (_INTEL, 0x4680, 0x4699, 2), (_INTEL, 0x46D0, 0x46DF, 2), (_INTEL, 0xA780, 0xA79F, 2),
    (_INTEL, 0x4600, 0x46FF, 6), (_INTEL, 0xA700, 0xA7FF, 6), (_INTEL, 0x9A00, 0x9AFF, 6), (_INTEL, 0x4900, 0x49FF, 6),
    (_INTEL, 0x5690, 0x5690, 32), (_INTEL, 0x5691, 0x5691, 24), (_INTEL, 0x5692, 0x5692, 16),
    (_INTEL, 0x56A0, 0x56A1, 32), (_INTEL, 0x56A2, 0x56A2, 24), (_INTEL, 0x56B2, 0x56B3, 16),
    (_INTEL, 0x56C0, 0x56C0, 32), (_INTEL, 0x5600, 0x56FF, 8),
    (_INTEL, 0x7D40, 0x7D45, 4), (_INTEL, 0x7D67, 0x7D67, 4), (_INTEL, 0xE200, 0xE2FF, 20),
    (_INTEL, 0xB080, 0xB08F, 12),
    (_QUALCOMM, 0x06010000, 0x0602FFFF, 1), (_QUALCOMM, 0x06030000, 0x0604FFFF, 2),
    (_QUALCOMM, 0x06080000, 0x0608FFFF, 4),
    (_QUALCOMM, 0x06090000, 0x0609FFFF, 8), (_QUALCOMM, 0x07000000, 0x0702FFFF, 1),
    (_QUALCOMM, 0x07030000, 0x0703FFFF, 4),
    (_QUALCOMM, 0x43030000, 0x4303FFFF, 3),
)  # fmt: skip


def profile(target: Target) -> Profile:
    """Return the profile of the device."""
    return _CPU if target.is_cpu else _profile(target.vendor, target.device, target.driver)


@cache
def _profile(vendor: int, device: int, driver: int) -> Profile:
    if vendor == _AMD and (device in _RDNA_2_DEVICES or device in _RDNA_2_PROCESSORS):
        return _RDNA_2
    if vendor == _AMD and device in _VEGA_10_DEVICES:
        return _VEGA_10
    if driver == _HONEYKRISP:
        return _PROFILES[_APPLE]
    if vendor == _NVIDIA and device in _FIRST_KEPLER_DEVICES:
        return _FIRST_KEPLER
    if vendor == _NVIDIA and driver == _NVK:
        # NVIDIA's own compiler holds a row of 80 elements in 128 registers; Mesa's keeps more loads in flight, and
        # spills.
        found = Profile(255, 49152, loads_early=True)
        if device >= _FIRST_VOLTA:
            return found
        return replace(found, numbers=_NAK_NUMBERS, numbers_of_many=_NAK_NUMBERS_OF_MANY)
    if vendor == _QUALCOMM:
        # Device IDs: 0x06060001 is a 660, 0x07002000 a 702 (same generation), 0x43050a01 a 740.
        if device >> 16 == _LAST_ADRENO_6:
            return _ADRENO_702
        return _ADRENO_7 if device >> 16 > _LAST_ADRENO_6 else _ADRENO_6
    if vendor == _ARM and device >> 16 < _FIRST_VALHALL:
        return _BIFROST
    return _PROFILES.get(vendor, _H100)


def cores(target: Target) -> int:
    """Return the number of compute units (multiprocessors, shader cores)."""
    return target.cores or _cores(target.vendor, target.device) or profile(target).cores


@cache
def _cores(vendor: int, device: int) -> int:
    return next((found for of, first, last, found in _CORES if of == vendor and first <= device <= last), 0)


def filling(target: Target, enough: int) -> int:
    """Scale a number of workgroups or invocations that fills an H100 to this device."""
    return max(1, -(-enough * cores(target) // _H100.cores))


def registers(target: Target, workgroup: int = 1) -> int:
    """Return the number of 32-bit registers of an invocation in a workgroup of this size."""
    found = profile(target)
    return min(found.registers, found.file // workgroup)


def registers_in_step(target: Target) -> int:
    """Return the registers of an invocation in a kernel that requires the device's own subgroup size, which may exceed
    the smallest."""
    found = profile(target)
    if not found.by_thread:
        return found.registers
    return found.registers * (target.min_subgroup_size or target.subgroup_size) // target.subgroup_size


def keeps(target: Target, values: int, *, workgroup: int = 1, others: int | None = None) -> bool:
    """Whether an invocation can hold ``values`` values in registers in addition to the registers it computes with.

    others: number of those additional registers; by default, proportional to ``values``. Devices with as many registers
    as an H100 hold every size in the tables, which were measured on one.
    """
    if not has_few_registers(target):
        return True
    has = registers(target, workgroup)
    return _KEPT * values <= has if others is None else values + others <= has


def keeps_with_positions(target: Target, sums: int) -> bool:
    """Whether an invocation can hold ``sums`` sums together with the positions of a convolution's windows.

    Intel's cannot hold 32: Mesa compiles matrix products with 32 sums to 124 of 128 registers, and spilled 3 to 45
    registers in convolutions.
    """
    return keeps(target, sums) and not profile(target).by_thread


#: Maximum number of elements that a convolution loads ahead on Intel's GPUs. Mesa spilled registers with 18.
_MOST_LOADS = 12


def keeps_loads(target: Target, loads: int) -> bool:
    """Whether an invocation can load ``loads`` elements ahead, in registers, while it adds a convolution's sums."""
    return not has_few_registers(target) or (profile(target).by_thread and loads <= _MOST_LOADS)


def half_matrices(target: Target) -> list[tuple[int, int, int]]:
    """Return the (m, n, k) shapes of FLOAT16 matrix multiplication with FLOAT32 sums, largest first; empty if a
    subgroup has too few registers to feed the matrix units."""
    return target.features.half_matrices if _feeds_matrices(target) else []


def byte_matrices(target: Target) -> list[tuple[int, int, int]]:
    """Return the (m, n, k) shapes of INT8 matrix multiplication with INT32 sums, as ``half_matrices`` does."""
    return target.features.byte_matrices if _feeds_matrices(target) else []


#: Registers per invocation below which matrix units are not used. Intel's GPUs before Xe2 have 32 in subgroups of 32,
#: for which Mesa compiles such kernels: each kernel spilled, some of them thousands of times. (ggml does not use these
#: units either, since an Arc A770 was far slower with them.)
_FEWEST_FOR_MATRICES = 64
#: With at least this many registers per invocation, matrix fragments fit without a check.
_MANY_FOR_MATRICES = 128


def _feeds_matrices(target: Target) -> bool:
    return registers_in_step(target) >= _FEWEST_FOR_MATRICES


def keeps_matrices(target: Target, sums: int, loads: int) -> bool:
    """Whether an invocation can hold its share of a subgroup's matrix sums and of a tile on its way to shared memory.

    loads: registers for the tile, which compilers load early. Within this bound Mesa compiles for Xe2 without spills.
    """
    has = registers_in_step(target)
    return has >= _MANY_FOR_MATRICES or 4 * (2 * sums + 3 * loads) < 3 * has


def has_room_for_matrices(target: Target) -> bool:
    """Whether attention and convolutions use matrix units; their kernels hold many other values at the same time."""
    return registers_in_step(target) >= _MANY_FOR_MATRICES


def gains_by_halves(target: Target) -> bool:
    """Whether FLOAT16 sums in addition to FLOAT32 sums save registers.

    They do not on CPU drivers, which compute in FLOAT32, nor on Intel's GPUs: in the narrowest subgroup, the only one
    with enough registers, a FLOAT16 takes as much of a register as a FLOAT32.
    """
    return profile(target).halves and not profile(target).by_thread


def has_few_registers(target: Target) -> bool:
    """Whether an invocation has fewer registers than on the H100 where the tables were measured."""
    return profile(target).registers < _H100.registers


#: Maximum number of registers of an invocation on ARM's, Broadcom's and Imagination's GPUs.
_FEWEST = 64


def has_fewest_registers(target: Target) -> bool:
    """Whether registers are too few for a product's tile with many steps of k, or for precomputed values that a loop
    could compute again."""
    return profile(target).registers <= _FEWEST


def finds_places_first(target: Target) -> bool:
    """Whether kernels compute the positions of their results before their loops, so that the sizes and strides of
    results occupy no registers in them."""
    return has_fewest_registers(target)


def keeps_loops(target: Target, nested: int) -> bool:
    """Whether the positions, ends and weights of nested loops fit in registers: four loops spilled on V3D 7.1."""
    return nested < 4 or not has_fewest_registers(target)


def loads_ahead(target: Target) -> bool:
    """Whether products and convolutions load the next tile to registers while they add."""
    return not has_fewest_registers(target)


#: Rank from which ``Profile.numbers_of_many`` holds.
_MANY_DIMENSIONS = 7


def kept_numbers(target: Target, rank: int) -> int | None:
    """Return how many words of sizes, strides and attributes a kernel may load at its start; None: any number.

    A kernel that has more loads each word where it is used, so that fewer occupy registers. rank: that of its largest
    tensor.
    """
    if has_fewest_registers(target):
        return 0
    found = profile(target)
    return found.numbers if found.numbers_of_many is None or rank < _MANY_DIMENSIONS else found.numbers_of_many
