"""FLOAT16 arithmetic in kernels selected for it (shaders/gemm/halves.glsl)."""


def half_arithmetic(steps: int) -> str:
    """Return the GLSL extensions for FLOAT16 arithmetic over ``steps`` steps; empty for none.

    (Shaders cannot declare them: extensions take effect regardless of the conditionals around them.)
    """
    return "#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require\n" if steps else ""
