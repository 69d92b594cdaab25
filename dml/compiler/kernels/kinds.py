"""Expressions by the kind of number in a tensor.

Kinds: float (FLOAT32, FLOAT16), int and uint (4 to 32 bits, computed in 32, wrapping when stored), int64 and uint64
(pairs of words, low one first), float64 (its bits in a pair of words).
"""

from __future__ import annotations

import math

import numpy as np

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Libraries of shaders/ that expressions include.
MATH = "lib/math.glsl"
INTEGER = "lib/integer.glsl"
INT64 = "lib/int64.glsl"
FLOAT64 = "lib/float64.glsl"

#: Includes for the arithmetic of each kind.
INCLUDES = {"float": (MATH,), "int": (INTEGER,), "uint": (INTEGER,), "int64": (INT64,), "uint64": (INT64,)}

X = Leaf(0)


def kind(tensor: DML_BUFFER_TENSOR_DESC | None) -> str:
    """Return the kind of number in which a kernel computes with this tensor. None stands for a value that another
    operator computed, a float."""
    return "float" if tensor is None else DATA_TYPES[tensor.DataType].kind


def glsl_of(tensor: DML_BUFFER_TENSOR_DESC | None) -> str:
    """Return the GLSL type of this tensor's values; float for None (see ``kind``)."""
    return "float" if tensor is None else DATA_TYPES[tensor.DataType].glsl


def integer(value: int, of: str) -> Constant:
    """Return a constant of kind int or uint, modulo 2^32."""
    bits = value & 0xFFFFFFFF
    return np.int32(bits - (1 << 32) if bits >> 31 else bits) if of == "int" else bits


def pair(name: str, bits: int) -> tuple[str, dict[str, Constant]]:
    """Return GLSL of a 64-bit constant, given by its bits modulo 2^64, and its constants."""
    words: dict[str, Constant] = {f"{name}Low": bits & 0xFFFFFFFF, f"{name}High": bits >> 32 & 0xFFFFFFFF}
    return f"uvec2(${name}Low, ${name}High)", words


def affine(tensor: DML_BUFFER_TENSOR_DESC | None, scale: float, bias: float, x: Expression = X) -> Expression:
    """Return x * scale + bias in the tensor's type.

    The reference has no rule for integers: integral scales and biases are applied in integers, which wrap; others in
    float32, and the sum is truncated.
    """
    of = kind(tensor)
    numbers = {"Scale": float(scale), "Bias": float(bias)}
    if of == "float":
        return node("multiply_add($x0, $Scale, $Bias)", x, glsl=of, includes=[MATH], **numbers)
    if of == "float64":
        return _affine_pair("add_f64(mul_f64($x0, {Scale}), {Bias})", x, FLOAT64, _float64_bits(scale, bias))
    whole = all(math.isfinite(number) and number == int(number) for number in (scale, bias))
    if of in ("int", "uint"):
        if whole:
            factors = {name: integer(int(number), of) for name, number in numbers.items()}
            return node("$x0 * $Scale + $Bias", x, glsl=of, includes=[], **factors)
        code = f"{of}_of_float(multiply_add(float($x0), $Scale, $Bias))"
        return node(code, x, glsl=of, includes=[MATH, INTEGER], **numbers)
    if whole:
        return _affine_pair("add64(mul64($x0, {Scale}), {Bias})", x, INT64, (int(scale), int(bias)))
    code = "{s}64_of_float(multiply_add(float_{s}64($x0), $Scale, $Bias))".replace("{s}", of[0])
    return node(code, x, glsl="uvec2", includes=[MATH, INT64], **numbers)


def _affine_pair(code: str, x: Expression, include: str, bits: tuple[int, int]) -> Expression:
    """Return a 64-bit expression of x: ``code`` with {Scale} and {Bias} replaced by these ``bits``."""
    (scale, scale_words), (bias, bias_words) = pair("Scale", bits[0]), pair("Bias", bits[1])
    text = code.format(Scale=scale, Bias=bias)
    return node(text, x, glsl="uvec2", includes=[include], **scale_words, **bias_words)


def _float64_bits(scale: float, bias: float) -> tuple[int, int]:
    """Return the bits of two float32 values as FLOAT64."""
    first, second = np.array([scale, bias], np.float32).astype(np.float64).view(np.uint64)
    return int(first), int(second)
