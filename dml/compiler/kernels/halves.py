"""Arithmetic in FLOAT16, in kernels that were chosen for it (shaders/gemm/halves.glsl)."""

from __future__ import annotations


def half_arithmetic(steps: int) -> str:
    """What GLSL has to be told where it computes in FLOAT16, for so many steps; nothing for none.

    (Shaders cannot say it themselves: their extensions count whatever conditionals stand around them.)
    """
    return "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n" if steps else ""
