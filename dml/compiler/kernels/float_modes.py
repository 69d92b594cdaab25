"""Declarations of a kernel's arithmetic: execution modes of SPIR-V's float controls, and FLOAT16 arithmetic."""

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


def half_arithmetic(steps: int) -> str:
    """Return the GLSL extensions for FLOAT16 arithmetic over ``steps`` steps, for gemm/halves.glsl; empty for none.

    (Shaders cannot declare them: extensions take effect regardless of the conditionals around them.)
    """
    return "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n" if steps else ""
