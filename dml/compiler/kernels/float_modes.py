"""Requirements on the device's arithmetic: execution modes of SPIR-V's float controls."""

from __future__ import annotations

from collections.abc import Iterable

from dml.compiler.features import FloatMode

#: Name -> its capability and its number in SPIR-V.
_NUMBERS = {"DenormPreserve": (4464, 4459), "SignedZeroInfNanPreserve": (4466, 4461), "RoundingModeRTE": (4467, 4462)}


def float_modes(modes: Iterable[FloatMode]) -> str:
    """Return GLSL that declares the modes, at the top level of a kernel."""
    lines = ["#extension GL_EXT_spirv_intrinsics : require"]
    for mode in modes:
        capability, number = _NUMBERS[mode.name]
        needs = f'extensions = ["SPV_KHR_float_controls"], capabilities = [{capability}]'
        lines.append(f"spirv_execution_mode({needs}, {number}, {mode.bits}); // {mode.name}")
    return "\n".join(lines)
