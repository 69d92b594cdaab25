"""What a compiler tells of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tools.gpu_compilation.loops import NO_LOOP, Loop, hottest


@dataclass(frozen=True)
class Figures:
    """registers: vector and scalar ones of an invocation's wave. waves: how many a SIMD holds. scratch, lds: bytes.

    loop: of the innermost one with the most multiply-adds, where machine code was asked for.
    """

    instructions: int
    vgprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    waves: int
    milliseconds: float = 0.0
    loop: Loop = NO_LOOP

    @property
    def spills(self) -> bool:
        """Whether it keeps in memory what should be in registers: all that scratch memory is used for here."""
        return bool(self.vgpr_spills or self.sgpr_spills or self.scratch)

    @staticmethod
    def of(statistics: Mapping[str, float], milliseconds: float, assembly: str = "") -> Figures:
        """From the statistics by the names that RADV gives them, and the machine code.

        Raises KeyError where the driver has none of a name.
        """
        names = {
            "instructions": "Instructions",
            "vgprs": "VGPRs",
            "sgprs": "SGPRs",
            "vgpr_spills": "Spilled VGPRs",
            "sgpr_spills": "Spilled SGPRs",
            "scratch": "Scratch size",
            "lds": "LDS size",
            "waves": "Subgroups per SIMD",
        }
        found = {name: int(statistics[shown]) for name, shown in names.items()}
        return Figures(**found, milliseconds=milliseconds, loop=hottest(assembly))
