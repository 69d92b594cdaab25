"""lib/half.glsl, float64.glsl and convert64.glsl: floats of other widths in integers, exact or rounded once."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from library import Case, crossed, equal, equal_floats, float_bits, integers, parametrized

from dml.compiler.kernels.float_modes import float_modes

U64, I64 = integers(np.uint64), integers(np.int64)

DOUBLE_EDGES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, math.inf, -math.inf, math.nan, -0.99, 255.99),
        # Smallest and largest subnormal, smallest normal, and largest number; numbers next to 1
        *(5e-324, -5e-324, 2.225073858507201e-308, 2.2250738585072014e-308, 1.7976931348623157e308),
        *(1 + 2**-52, 1 - 2**-53),
        # Numbers around the limits of integer types, and around the largest integers that a double represents exactly
        *(2.0**31, -(2.0**31), 2.0**31 - 0.5, 2.0**32 - 0.5, 2.0**53 + 2, -(2.0**53) - 2, 2.0**63, -(2.0**63), 2.0**64),
        # Midpoints of adjacent floats, and one bit below: of the smallest two, of those around 1, of the largest and
        # infinity
        *(7.006492321624085e-46, 7.006492321624087e-46, 1 + 2**-24, 1 + 3 * 2**-24),
        *(1.1754943157898259e-38, 3.4028235677973362e38, 3.4028235677973366e38),
    ]
)


def doubles(rng):
    """Make edge cases, random bits, numbers of ordinary size, adjacent numbers (whose differences cancel), and
    integers."""
    bits = rng.integers(0, 2**64, 1500, np.uint64).view(np.float64)
    middle = rng.normal(size=1500) * np.exp2(rng.integers(-70, 70, 1500))
    return np.concatenate([DOUBLE_EDGES, bits, middle, np.nextafter(middle[:200], 0), np.rint(middle[:500])])


def crossed_doubles(rng):
    """Make pairs of numbers, and pairs of adjacent numbers."""
    a, b = crossed(doubles, doubles)(rng)
    near = doubles(rng)
    return [np.concatenate([a, near, near]), np.concatenate([b, -np.nextafter(near, 0), near * (1 + 2.0**-30)])]


def numbers(rng):
    """Make finite nonzero numbers."""
    x = doubles(rng)
    return x[np.isfinite(x) & (x != 0)]


def nearest_double(fraction):
    try:
        return float(fraction)  # Python rounds quotients of integers once
    except OverflowError:
        return math.inf if fraction > 0 else -math.inf


def bits_of(x):
    return int(np.float64(x).view(np.uint64))


def packed(sign, exponent, significand):
    magnitude = Fraction(significand) * Fraction(2) ** (exponent - 63)
    return sign << 32 | bits_of(nearest_double(magnitude))


def to_pack(rng):
    """Make signs, exponents and significands with the top bit set, for normal and subnormal results, zeros and
    infinities."""
    count = 4000
    significand = U64(rng)[rng.integers(0, 400, count)] | np.uint64(1 << 63)
    # Ties, and numbers one bit away from them
    significand[::3] = significand[::3] & ~np.uint64(0xFFF) | rng.choice(
        np.uint64([0x3FF, 0x400, 0x401, 0xC00]), significand[::3].size
    )
    exponent = np.where(rng.random(count) < 0.5, rng.integers(-1090, -1015, count), rng.integers(-1100, 1030, count))
    sign = rng.choice(np.uint32([0, 1 << 31]), count)
    return [sign, exponent.astype(np.int32), significand]


def significand_of(x):
    return int(math.ldexp(abs(math.frexp(x)[0]), 64))


def sticky(a, n):
    return a >> n | (a & ((1 << n) - 1) != 0)


def toward_zero_and_odd(x, odd):
    """Convert to the nearest float32; with ``odd``, round toward zero and set the last bit if the result is inexact or
    0."""
    nearest = x.astype(np.float32)
    cut = np.where(np.abs(nearest.astype(np.float64)) > np.abs(x), np.nextafter(nearest, np.float32(0)), nearest)
    last = ((cut.astype(np.float64) != x) | (x == 0)) & (np.abs(x) < 2.0**128)
    cut = np.where(np.abs(x) < 2.0**128, cut, nearest)
    return np.where(odd != 0, (cut.view(np.uint32) | last).view(np.float32), nearest)


def whole_part(x):
    return int(abs(x)) if math.isfinite(x) else 2**64 - 1


def to_range(low, high):
    """Return a function that truncates to the range; NaN is 0."""
    return lambda x: 0 if math.isnan(x) else int(min(max(x, low), high))


def clamped(x, low, high):
    return to_range(low, high)(x)


def with_ranges(maker):
    """Make values, each with the range of an integer type."""

    def made(rng):
        x = maker(rng)
        width = rng.choice([4, 8, 16, 32], x.size)
        return [x, (-(2 ** (width - 1))).astype(np.int32), (2 ** (width - 1) - 1).astype(np.int32)]

    return made


def with_highest(maker):
    def made(rng):
        x = maker(rng)
        return [x, (2 ** rng.choice([4, 8, 16, 32], x.size) - 1).astype(np.uint32)]

    return made


def halves_and_ties(rng):
    """Make all float16 values, the midpoints between them, and the floats next to both."""
    half = np.arange(1 << 15, dtype=np.uint16).view(np.float16)[:0x7C00].astype(np.float32)
    middle = (half[1:] + half[:-1]) / 2
    near = np.concatenate([half, middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf))])
    return [np.concatenate([near, -near, float_bits()(rng), np.float32([65519.996, 65520, 65536])])]


def nearest_half(x):
    return x.astype(np.float16).view(np.uint16).astype(np.uint32)


def check_halves(results, arguments):
    """Check conversions to halves; NaN stays NaN."""
    (found,), (x,) = results, arguments
    is_nan = np.isnan(x)
    np.testing.assert_array_equal(found[~is_nan], nearest_half(x[~is_nan]))
    assert np.all(np.isnan(found[is_nan].astype(np.uint16).view(np.float16)))


CASES = [
    Case(
        "half.glsl",
        "half_decode",
        lambda rng: [np.arange(1 << 16, dtype=np.uint32)],
        equal_floats(lambda bits: bits.astype(np.uint16).view(np.float16).astype(np.float32)),
    ),
    Case(
        "half.glsl",
        "half_decode_high",
        lambda rng: [np.arange(1 << 16, dtype=np.uint32) << 16 | rng.integers(0, 1 << 16, 1 << 16, np.uint32)],
        equal_floats(lambda bits: (bits >> 16).astype(np.uint16).view(np.float16).astype(np.float32)),
    ),
    Case("half.glsl", "half_encode", halves_and_ties, check_halves),
    Case(
        "half.glsl",
        "half_rounded",
        halves_and_ties,
        equal_floats(lambda x: x.astype(np.float16).astype(np.float32)),
    ),
    Case(
        "float64.glsl",
        "shift_right_sticky",
        crossed(U64, lambda rng: rng.integers(0, 130, 2000).astype(np.uint32)),
        equal(sticky),
    ),
    Case("float64.glsl", "pack_f64", to_pack, equal(packed)),
    Case(
        "float64.glsl",
        "unpack_f64",
        lambda rng: [numbers(rng)],
        equal(significand_of, lambda x: math.frexp(x)[1] - 1),
    ),
    Case("float64.glsl", "is_nan_f64", crossed(doubles), equal(math.isnan)),
    Case("float64.glsl", "is_inf_f64", crossed(doubles), equal(math.isinf)),
    Case("float64.glsl", "is_zero_f64", crossed(doubles), equal(lambda x: x == 0)),
    Case("float64.glsl", "mul_f64", crossed_doubles, equal_floats(np.multiply)),
    Case("float64.glsl", "add_f64", crossed_doubles, equal_floats(np.add)),
    Case("convert64.glsl", "float64_from_float", crossed(float_bits()), equal_floats(lambda x: x.astype(np.float64))),
    Case(
        "convert64.glsl",
        "float_from_float64",
        lambda rng: [np.tile(doubles(rng), 2), np.repeat(np.uint32([0, 1]), doubles(rng).size)],
        equal_floats(toward_zero_and_odd),
    ),
    Case("convert64.glsl", "float64_from_u64", crossed(U64), equal_floats(lambda v: v.astype(np.float64))),
    Case("convert64.glsl", "float64_from_i64", crossed(I64), equal_floats(lambda v: v.astype(np.float64))),
    Case("convert64.glsl", "float_from_u64", crossed(U64), equal_floats(lambda v: v.astype(np.float32))),
    Case("convert64.glsl", "float_from_i64", crossed(I64), equal_floats(lambda v: v.astype(np.float32))),
    Case("convert64.glsl", "i64_from_int", crossed(integers(np.int32)), equal(int)),
    Case("convert64.glsl", "magnitude_of_float64", crossed(doubles), equal(lambda x: min(whole_part(x), 2**64 - 1))),
    Case("convert64.glsl", "is_nan_float64", crossed(doubles), equal(math.isnan)),
    Case("convert64.glsl", "u64_from_float64", crossed(doubles), equal(to_range(0, 2**64 - 1))),
    Case("convert64.glsl", "i64_from_float64", crossed(doubles), equal(to_range(-(2**63), 2**63 - 1))),
    Case("convert64.glsl", "int_from_float64", with_ranges(doubles), equal(clamped)),
    Case("convert64.glsl", "uint_from_float64", with_highest(doubles), equal(lambda x, high: clamped(x, 0, high))),
    Case("convert64.glsl", "is_nan_float", crossed(float_bits()), equal(math.isnan)),
    Case("convert64.glsl", "int_from_float", with_ranges(float_bits()), equal(clamped)),
    Case("convert64.glsl", "uint_from_float", with_highest(float_bits()), equal(lambda x, high: clamped(x, 0, high))),
]


#: lib/half_hardware.glsl defines the same names as macros.
FAST = [
    Case(
        "half_hardware.glsl",
        "half_decode",
        CASES[0].arguments,
        CASES[0].check,
        "float decoded(uint h) { return half_decode(h); }",
        ("half_decode",),
    ),
    Case(
        "half_hardware.glsl",
        "half_decode_high",
        CASES[1].arguments,
        CASES[1].check,
        "float decoded(uint word) { return half_decode_high(word); }",
        ("half_decode_high",),
    ),
    Case(
        "half_hardware.glsl",
        "half_encode",
        CASES[2].arguments,
        CASES[2].check,
        "uint encoded(float v) { return half_encode(v); }",
        ("half_encode",),
    ),
    Case(
        "half_hardware.glsl",
        "half_rounded",
        CASES[3].arguments,
        CASES[3].check,
        "float rounded(float v) { return half_rounded(v); }",
        ("half_rounded", "half_unpacked(uint)"),
    ),
]


@parametrized(CASES)
def test_function(device, case):
    case.run(device)


@parametrized(FAST)
def test_function_in_hardware(fast_halves, case):
    modes = float_modes(fast_halves.vulkan.target.features.float16_exact)
    replace(case, code=f"{modes}\n{case.code}").run(fast_halves)
