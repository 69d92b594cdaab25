"""What a vendor's compiler tells of a kernel, in words that all vendors share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tools.gpu_compilation.loops import NO_LOOP, Loop, hottest


@dataclass(frozen=True)
class Figures:
    """registers: as the vendor counts those of an invocation. spills: registers, or accesses, that go to memory.

    scratch: bytes of memory of an invocation's own: for spills, and with Mesa's compiler for NVIDIA for arrays that a
    loop indexes. shared: bytes. occupancy: what the vendor tells of how much runs at once: waves of a SIMD (AMD), warps
    of a multiprocessor (NVIDIA), waves of a core (Qualcomm), invocations of a core (Apple), SIMD width (Intel), threads
    of a processor (Broadcom), 2 where all threads of a core run and 1 where half of them do (ARM). cycles: the driver's
    estimate, 0 where it makes none. loop: of the innermost one with the most multiply-adds, where machine code was
    asked for.
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

    @property
    def does_spill(self) -> bool:
        """Whether it keeps in memory what should be in registers."""
        return bool(self.spills)


#: Vendor -> field -> the statistics whose sum it is. (NVIDIA's "Spills to reg" stay in registers.)
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
        "scratch": ("Scratch Memory Size",),
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


def figures(vendor: str, statistics: Mapping[str, float], milliseconds: float, assembly: str = "") -> Figures:
    """From the driver's statistics by its names, and the machine code.

    Raises KeyError where the driver has none of a name.
    """
    found = {name: sum(int(statistics[each]) for each in shown) for name, shown in STATISTICS[vendor].items()}
    return replace(Figures(**found), milliseconds=milliseconds, loop=hottest(assembly, vendor))
