"""Properties of GPUs: from Vulkan if it reports them, else from one table by vendor and device. Selection asks these
functions and never a vendor's name.

A device that is in no row counts as an H100, on which the kernels were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dml.compiler.target import Target


@dataclass(frozen=True)
class Profile:
    """registers: of 32 bits that an invocation may have. file: those that the invocations of a workgroup share.

    by_thread: a subgroup has ``registers`` times the narrowest subgroup, however wide it is, as on Intel's GPUs.
    loads_early: the compiler starts more loads ahead of their use than NVIDIA's does, which takes registers. cores: of
    the vendor's usual chip. dots: has instructions for products of packed bytes.
    """

    registers: int = 255
    file: int = 65536
    by_thread: bool = False
    loads_early: bool = False
    cores: int = 132
    dots: bool = True


#: VkPhysicalDeviceProperties.vendorID
_AMD, _APPLE, _ARM, _BROADCOM, _IMAGINATION = 0x1002, 0x106B, 0x13B5, 0x14E4, 0x1010
_INTEL, _NVIDIA, _QUALCOMM = 0x8086, 0x10DE, 0x5143
#: VkDriverId
_NVK, _HONEYKRISP = 24, 26

#: What an invocation that is given so many registers may keep is not told by Vulkan either: a third of them leaves room
#: for operands, addresses and what a compiler moves ahead, on each of the compilers of tools/gpu_compile.
_KEPT = 3

_H100 = Profile()
#: Qualcomm's chips: Mesa gives each invocation of a workgroup of 128 32 vectors of four registers of an Adreno 660's,
#: and 48 of a 740's.
_ADRENO_6, _ADRENO_7 = Profile(128, 32768, cores=3), Profile(192, 49152, cores=6)
_LAST_ADRENO_6 = 0x0700
#: AMD's second generation of RDNA: RADV gives an invocation of a workgroup of 512 120 registers, and ACO spilled one
#: of them in a row of 80 held elements; with RDNA's other generations it did not.
_RDNA_2 = Profile(256, 61440)
_RDNA_2_DEVICES = range(0x73A0, 0x7440)
_RDNA_2_PROCESSORS = frozenset({0x1435, 0x1506, 0x163F, 0x164D, 0x164E, 0x1681})
#: AMD's Vega 10, Vega 12 and Raven, before Vega 20 added products of bytes: RADV offers them, and ACO makes each of
#: several instructions, which spilled scalar registers to vector registers.
_VEGA_10 = Profile(256, 131072, dots=False)
_VEGA_10_DEVICES = frozenset({*range(0x6860, 0x6880), *range(0x69A0, 0x69B0), 0x15D8, 0x15DD})
_PROFILES = {
    _AMD: Profile(256, 131072),
    _APPLE: Profile(128, 49152, cores=8),
    _ARM: Profile(64, 16384, cores=8),
    _BROADCOM: Profile(32, 8192, cores=2),
    _IMAGINATION: Profile(64, 16384, cores=1),
    _INTEL: Profile(128, 32768, by_thread=True, cores=8),
}

#: (vendor, first and last device, cores): subslices or Xe cores of Intel's chips, shader processors of Qualcomm's, as
#: Mesa lists the chips (include/pci_ids/iris_pci_ids.h and intel_device_info.c, freedreno_devices.py). The first row
#: that fits counts.
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
    """What the device has."""
    return _profile(target.vendor, target.device, target.driver)


@cache
def _profile(vendor: int, device: int, driver: int) -> Profile:
    if vendor == _AMD and (device in _RDNA_2_DEVICES or device in _RDNA_2_PROCESSORS):
        return _RDNA_2
    if vendor == _AMD and device in _VEGA_10_DEVICES:
        return _VEGA_10
    if driver == _HONEYKRISP:
        return _PROFILES[_APPLE]
    if vendor == _NVIDIA and driver == _NVK:
        # NVIDIA's own compiler holds a row of 80 elements in 128 registers; Mesa's keeps more in flight, and spills.
        return Profile(255, 49152, loads_early=True)
    if vendor == _QUALCOMM:
        # (0x06060001 is a 660, 0x07002000 a 702 of the same generation, 0x43050a01 a 740)
        return _ADRENO_7 if device >> 16 > _LAST_ADRENO_6 else _ADRENO_6
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
    """Return the number of 32-bit registers available to an invocation of such a workgroup."""
    found = profile(target)
    return min(found.registers, found.file // workgroup)


def registers_in_step(target: Target) -> int:
    """The same for a kernel that requires subgroups of the device's own size, which may exceed the smallest size."""
    found = profile(target)
    if not found.by_thread:
        return found.registers
    return found.registers * (target.min_subgroup_size or target.subgroup_size) // target.subgroup_size


def keeps(target: Target, values: int, *, workgroup: int = 1, others: int | None = None) -> bool:
    """Whether an invocation keeps so many values in registers, beside what it needs to compute with them.

    others: registers that it needs for that, where it is not in proportion to the values. An H100 was measured with the
    sizes that the tables have, and what has as many registers keeps them.
    """
    if not has_few_registers(target):
        return True
    has = registers(target, workgroup)
    return _KEPT * values <= has if others is None else values + others <= has


def keeps_beside_places(target: Target, sums: int) -> bool:
    """Whether an invocation keeps so many sums beside the places of a convolution's windows.

    Intel's do not keep 32: Mesa compiles what products keep of them for 124 of 128 registers, and spilled 3 to 45 here.
    """
    return keeps(target, sums) and not profile(target).by_thread


def half_matrices(target: Target) -> list[tuple[int, int, int]]:
    """The (m, n, k) that matrix units multiply of FLOAT16 with sums in FLOAT32, the largest first; none where a
    subgroup has too few registers to feed them."""
    return target.features.half_matrices if _feeds_matrices(target) else []


def byte_matrices(target: Target) -> list[tuple[int, int, int]]:
    """The same of INT8 with sums in INT32."""
    return target.features.byte_matrices if _feeds_matrices(target) else []


#: Registers of an invocation below which matrix units are left alone. Intel's GPUs before Xe2 have 32 for it in a
#: subgroup of 32, in which Mesa compiles what uses such matrices: each of the kernels spilled, some thousands of times.
#: (ggml leaves the same GPUs' units alone, since an Arc A770 was far slower with them.)
_FEWEST_FOR_MATRICES = 64
#: Registers of an invocation from which on what it keeps of matrices is no concern.
_MANY_FOR_MATRICES = 128


def _feeds_matrices(target: Target) -> bool:
    return registers_in_step(target) >= _FEWEST_FOR_MATRICES


def keeps_matrices(target: Target, sums: int, loads: int) -> bool:
    """Whether an invocation keeps its part of a subgroup's matrices of sums, and of a slab on its way to shared
    memory.

    loads: registers for the latter, which compilers begin early. Mesa compiles for Xe2 what is within the bound without
    spills.
    """
    has = registers_in_step(target)
    return has >= _MANY_FOR_MATRICES or 4 * (2 * sums + 3 * loads) < 3 * has


def has_room_for_matrices(target: Target) -> bool:
    """Whether attention and convolutions go to matrix units, beside which they keep much else."""
    return registers_in_step(target) >= _MANY_FOR_MATRICES


def gains_by_halves(target: Target) -> bool:
    """Whether sums of FLOAT16 beside those of FLOAT32 save registers. On Intel's GPUs a half takes as much of one as a
    float does in the narrowest subgroup, which is the one that has registers enough."""
    return not profile(target).by_thread


def multiplies_bytes(target: Target) -> bool:
    """Whether the device multiplies packed bytes by instructions of its own."""
    return profile(target).dots


def loads_early(target: Target) -> bool:
    """Whether the compiler needs registers for loads that it moves ahead."""
    return profile(target).loads_early


def has_few_registers(target: Target) -> bool:
    """Whether an invocation has fewer registers than those that the tables were measured with."""
    return profile(target).registers < _H100.registers
