"""A vendor compiler's statistics of a kernel, in terms common to all vendors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tools.gpu_compilation.loops import NO_LOOP, Loop, hottest


@dataclass(frozen=True)
class Figures:
    """A kernel's statistics. registers: registers per invocation, as the vendor counts them. spills: registers or
    accesses to memory.

    scratch: bytes of private memory per invocation (AMD: per subgroup): for spills, and with Mesa's compilers for
    NVIDIA, Imagination and Broadcom also for arrays that a loop indexes. shared: bytes of shared memory. occupancy: the
    vendor's measure: waves per SIMD (AMD), warps per multiprocessor (NVIDIA), waves per core (Qualcomm), invocations
    per core (Apple), SIMD width (Intel), threads per processor (Broadcom), 2 for all threads of a core and 1 for half
    of them (ARM). cycles: the driver's estimate, 0 if it has none. loop: the innermost loop with the most
    multiply-adds, where machine code was requested. digest: the kernel's (see ``Kernel.digest``).
    """

    instructions: int
    registers: int = 0
    spills: int = 0
    scratch: int = 0
    shared: int = 0
    occupancy: int = 0
    cycles: int = 0
    milliseconds: float = 0.0
    loop: Loop = NO_LOOP
    digest: int = 0

    @property
    def does_spill(self) -> bool:
        """Whether the kernel spills registers to memory."""
        return bool(self.spills)


#: Vendor -> field -> the driver's statistics to add up for it. (NVIDIA's "Spills to reg" stay in registers, and Intel's
#: "Scratch Memory Size" is always 0.)
STATISTICS: dict[str, dict[str, tuple[str, ...]]] = {
    "amd": {
        "instructions": ("Instructions",),
        "registers": ("VGPRs",),
        "spills": ("Spilled VGPRs", "Spilled SGPRs"),
        "scratch": ("Scratch size",),
        "shared": ("LDS size",),
        "occupancy": ("Subgroups per SIMD",),
        "cycles": ("Inverse Throughput",),
    },
    "intel": {
        "instructions": ("Instructions",),
        "registers": ("Max live registers",),
        "spills": ("Spills", "Fills"),
        "shared": ("Workgroup Memory Size",),
        "occupancy": ("Max dispatch width",),
        "cycles": ("Cycles",),
    },
    "nvidia": {
        "instructions": ("Instruction count",),
        "registers": ("Number of GPRs",),
        "spills": ("Spills to memory", "Fills from memory"),
        "scratch": ("SLM size",),
        "occupancy": ("Max warps/SM",),
        "cycles": ("Static cycle count",),
    },
    "qualcomm": {
        "instructions": ("Instruction Count",),
        "registers": ("Registers used",),
        "spills": ("STP Count", "LDP Count"),
        "occupancy": ("Max Waves Per Core",),
    },
    "apple": {
        "instructions": ("Instructions",),
        "registers": ("GPRs",),
        "spills": ("Spills", "Fills"),
        "scratch": ("Scratch",),
        "occupancy": ("Threads",),
        "cycles": ("ALU",),
    },
    "arm": {
        "instructions": ("Instructions",),
        "registers": ("Registers used",),
        "spills": ("Spills", "Fills"),
        "occupancy": ("Threads",),
        "cycles": ("Cycles",),
    },
    "imagination": {
        "instructions": ("Inst group count",),
        "registers": ("Temp count",),
        "spills": ("Spill count",),
        "scratch": ("Scratch size",),
    },
    "broadcom": {
        "instructions": ("Instruction Count",),
        "spills": ("TMU Spills", "TMU Fills"),
        "scratch": ("Spill Size",),
        "occupancy": ("Thread Count",),
    },
}

#: Invocations of a Broadcom thread: its driver counts the scratch memory of a whole thread.
_THREAD = 16


def figures(vendor: str, statistics: Mapping[str, float], milliseconds: float, assembly: str = "") -> Figures:
    """Return the figures from the driver's statistics and the machine code.

    Raises KeyError if the driver lacks a statistic.
    """
    found = {name: sum(int(statistics[each]) for each in shown) for name, shown in STATISTICS[vendor].items()}
    if vendor == "broadcom":
        found["scratch"] //= _THREAD
    return replace(Figures(**found), milliseconds=milliseconds, loop=hottest(assembly, vendor))
