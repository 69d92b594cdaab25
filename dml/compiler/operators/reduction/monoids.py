"""The combining operations of reductions and scans, as GLSL: sums, products, extremes, norms."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dml.compiler.kernels.kinds import INT64

#: Libraries of shaders/. REDUCE: minimum and maximum that pass NaN through. ORDER: unsigned keys that sort like the
#: elements of any type.
REDUCE, ORDER = "lib/reduce.glsl", "lib/order.glsl"


@dataclass(frozen=True)
class Monoid:
    """An associative and commutative combination of accumulators, as GLSL.

    glsl: the accumulator's type. identity: its neutral element. combine: an expression over ``a`` and ``b``. pack: the
    accumulator ``$x0`` as 32-bit words, each a uint expression. unpack: an expression over those words, ``$x0``,
    ``$x1``, ... includes: the libraries that these need.
    """

    glsl: str
    identity: str
    combine: str
    pack: tuple[str, ...]
    unpack: str
    includes: tuple[str, ...] = ()

    @property
    def function(self) -> list[str]:
        """Return combine(a, b), with its includes."""
        head = f"{self.glsl} combine({self.glsl} a, {self.glsl} b)"
        return [*(f'#include "{include}"' for include in self.includes), f"{head} {{ return {self.combine}; }}"]


FLOAT_SUM = Monoid("float", "0.0", "a + b", ("floatBitsToUint($x0)",), "uintBitsToFloat($x0)")
FLOAT_PRODUCT = replace(FLOAT_SUM, identity="1.0", combine="a * b")
#: The maximum; NaN if any element is NaN.
FLOAT_MAX = replace(FLOAT_SUM, identity="uintBitsToFloat(0xff800000u)", combine="reduce_max(a, b)", includes=(REDUCE,))
FLOAT_MIN = replace(FLOAT_SUM, identity="uintBitsToFloat(0x7f800000u)", combine="reduce_min(a, b)", includes=(REDUCE,))

#: Sum of squares whose root float32 holds, although the squares may overflow or underflow: squares of large, medium and
#: small elements are scaled differently and summed separately. ``norm_terms`` computes an element's three terms, and
#: ``norm_of`` the root of three sums.
NORM = Monoid(
    "vec3",
    "vec3(0.0)",
    "a + b",
    tuple(f"floatBitsToUint($x0.{part})" for part in "xyz"),
    "vec3(uintBitsToFloat($x0), uintBitsToFloat($x1), uintBitsToFloat($x2))",
    includes=("lib/norm.glsl",),
)

_WORD = {"int": "int($x0)", "uint": "$x0"}


def _integer(kind: str, combine: str, identity: str) -> Monoid:
    return Monoid(kind, identity, combine, ("uint($x0)",), _WORD[kind])


def _integer64(combine: str, identity: str) -> Monoid:
    return Monoid("uvec2", identity, combine, ("$x0.x", "$x0.y"), "uvec2($x0, $x1)", includes=(INT64,))


def sum_of(kind: str) -> Monoid:
    """Return the sum of values of a kind (see DataType); integers wrap."""
    if kind == "float":
        return FLOAT_SUM
    return _integer64("add64(a, b)", "uvec2(0u)") if kind.endswith("64") else _integer(kind, "a + b", "0")


def product_of(kind: str) -> Monoid:
    """Return the product of values of a kind; integers wrap."""
    if kind == "float":
        return FLOAT_PRODUCT
    return _integer64("mul64(a, b)", "uvec2(1u, 0u)") if kind.endswith("64") else _integer(kind, "a * b", "1")


def largest_of(kind: str) -> Monoid:
    """Return the maximum of a kind; NaN if any element is."""
    if kind == "float":
        return FLOAT_MAX
    if kind.endswith("64"):
        less = "less_i64" if kind == "int64" else "less_u64"
        return _integer64(f"{less}(a, b) ? b : a", "uvec2(0u, 0x80000000u)" if kind == "int64" else "uvec2(0u)")
    return _integer(kind, "max(a, b)", "int(0x80000000u)" if kind == "int" else "0u")


def smallest_of(kind: str) -> Monoid:
    """Return the minimum of a kind; NaN if any element is."""
    if kind == "float":
        return FLOAT_MIN
    if kind.endswith("64"):
        less = "less_i64" if kind == "int64" else "less_u64"
        greatest = "uvec2(0xffffffffu, 0x7fffffffu)" if kind == "int64" else "uvec2(0xffffffffu)"
        return _integer64(f"{less}(b, a) ? b : a", greatest)
    return _integer(kind, "min(a, b)", "0x7fffffff" if kind == "int" else "0xffffffffu")
