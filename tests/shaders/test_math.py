"""lib/math.glsl, norm.glsl and compensated.glsl against float64: edge cases, all exponents, and intervals where
functions bend.

Tolerances in ulp are those that the functions document; internal steps get a tolerance that preserves the function's.
"""

from __future__ import annotations

import library
import numpy as np
import scipy.special
from library import (
    Case,
    crossed,
    equal,
    equal_floats,
    float_bits,
    integers,
    normal,
    pairs,
    parametrized,
    uniform,
    within,
)

PROMISE = "the shader library's promise"
QUOTIENT = "half an ulp for the nearest float, and a bit for the correction's own rounding"

F32 = np.float32


def both(low, high):
    """Make one argument: the whole range of float32 without subnormals, and the interval where the function bends."""
    return lambda rng: [normal(np.concatenate([float_bits()(rng), uniform(low, high)(rng)]))]


def span(low, high, *others):
    """Make one argument per (low, high), uniform in this range."""
    return lambda rng: [uniform(*range_)(rng) for range_ in ((low, high), *others)]


def two(first, second):
    """Make two arguments: the whole range of each combined with the other's, and the intervals where the function
    bends."""

    def made(rng):
        edges = pairs(library.FLOAT_EDGES, library.FLOAT_EDGES)
        everywhere = [float_bits()(rng), rng.permutation(float_bits()(rng))]
        near = [uniform(*first)(rng), uniform(*second)(rng)]
        a, b = (np.concatenate(columns) for columns in zip(edges, everywhere, near, strict=True))
        usable = np.ones(a.size, bool)
        for x in (a, b):
            usable &= (np.abs(x) >= library.TINY) | (x == 0) | np.isnan(x)
        return [a[usable], b[usable]]

    return made


def any_two(rng):
    """Make two arguments as ``two``, with subnormal numbers too."""
    edges = pairs(library.FLOAT_EDGES, library.FLOAT_EDGES)
    everywhere = [float_bits()(rng), rng.permutation(float_bits()(rng))]
    return [np.concatenate(columns) for columns in zip(edges, everywhere, strict=True)]


def magnitudes(rng, low, high):
    """Make numbers of both signs, with exponents spread evenly from low to high."""
    count = 1 << 14
    return (rng.uniform(1, 2, count) * np.exp2(rng.integers(low, high, count)) * rng.choice([-1, 1], count)).astype(F32)


def moderate(low, high):
    return lambda rng: [magnitudes(rng, low, high), magnitudes(rng, low, high)]


def relative(error, what):
    """Return a check of the relative error. what: the message of a failure."""

    def close(found, expected):
        assert np.all(np.abs(found - expected) <= error * np.abs(expected)), what

    return close


# References


def softplus(x):
    return np.logaddexp(0, x)


def gelu(x):
    return np.where(np.isneginf(x), -0.0, x * scipy.special.ndtr(x))


def tail(t):
    return scipy.special.ndtr(-t)


def series(terms, x):
    """Return the sum of terms[k] x^k, for functions whose closed form cancels."""
    return np.polynomial.polynomial.polyval(x, terms)


def exp_tail(r):
    """Return (e^r - 1 - r) / r^2."""
    return series([1 / scipy.special.factorial(k + 2) for k in range(16)], r)


def asin_tail(z):
    """Return arcsin(x) / x - 1 for x^2 = z, z up to 1/4: the central binomial coefficients' series."""
    return series([scipy.special.binom(2 * k, k) / 4**k / (2 * k + 1) if k else 0.0 for k in range(60)], z)


def modulus_floor(a, b):
    r = np.fmod(a, b)
    r = np.where((r != 0) & ((r < 0) != (b < 0)), r + b, r)
    return np.where(r == 0, np.copysign(F32(0), b), r)


def round_half_away(x):
    return np.where(np.isfinite(x), np.copysign(np.floor(np.abs(x.astype(np.float64)) + 0.5), x).astype(F32), x)


def power(x, n):
    """Return x^n for integers; beyond float32's 24 bits, the low bits of n matter only for the sign."""
    magnitude = np.power(np.abs(x), n.astype(F32).astype(np.float64))
    return np.where(n % 2 != 0, np.copysign(magnitude, x), magnitude)


# Checks of functions with more than one result


def significand(results, arguments):
    (m, exponent), (bits,) = results, arguments
    fraction, e = np.frexp(bits.view(F32).astype(np.float64))
    np.testing.assert_array_equal(m, fraction * 2)
    np.testing.assert_array_equal(exponent, e - 1)


def as_vulkan_promises(results, arguments):
    """Check Vulkan's promise: exp2(y) is within 3 + 2 |y| ulp, with y rounded once; subnormal results may be 0."""
    (found,), (x,) = results, (arguments[0].astype(np.float64),)
    expected = np.exp(x)
    ulps = 4 + 4 * np.abs(x)
    assert np.all(np.abs(found - expected) <= ulps * 2.0**-23 * expected + 2.0**-126)


def exp_reduced(results, arguments):
    """Check x = n ln 2 + r; near a half, the next n is valid too."""
    (r, n), (x,) = (list(map(np.float64, values)) for values in (results, arguments))
    np.testing.assert_array_equal(n, np.rint(n))
    assert np.all(np.abs(r) <= 0.35)
    # Half an ulp of r, and the rounding error of the second part of n ln 2
    assert np.all(np.abs(x - n * np.log(2) - r) <= 2**-25)


def log_reduced(results, arguments):
    """Check x = 2^n (1 + f), exactly."""
    (f, n), (bits,) = results, arguments
    f, n, x = (values.astype(np.float64) for values in (f, n, bits.view(F32)))
    np.testing.assert_array_equal(np.exp2(n) * (1 + f), x)
    assert np.all((1 + f >= 0.7071) & (1 + f <= 1.4143))


def log_in_parts(results, arguments):
    high, low = (part.astype(np.float64) for part in results)
    expected = np.log(arguments[0].view(F32).astype(np.float64))
    relative(2**-29, "about 2^-31, so that a power of 2^7 in the exponent keeps 22 bits")(high + low, expected)


def reduced_angle(results, arguments):
    """Check x = quadrant pi/2 + high + low, up to whole turns, by the sine and cosine of float64."""
    quadrant, high, low = results
    (x,) = (argument.astype(np.float64) for argument in arguments)
    s, c = np.sin(x), np.cos(x)
    turned = np.choose(quadrant & 3, [s, -c, -s, c]), np.choose(quadrant & 3, [c, s, -c, -s])
    rest = np.arctan2(*turned)
    assert np.all(np.abs(rest) <= np.pi / 4 + 1e-6)
    relative(2**-29, "the 32 bits of the product, less those its first bits may lack")(
        high.astype(np.float64) + low, rest
    )


def with_rest(low, high):
    """Make values, and a rounding error for each."""
    return lambda rng: [x := uniform(low, high)(rng), x * uniform(-1, 1)(rng) * F32(2**-24)]


def with_power(rng):
    """Make numbers and powers of two whose products stay in the normal range."""
    x, n = magnitudes(rng, -126, 127), rng.integers(-250, 251, 1 << 14).astype(np.int32)
    exact = np.ldexp(x.astype(np.float64), n)
    usable = np.abs(exact) >= library.TINY
    return [x[usable], n[usable]]


def bits_between(low, high):
    """Make the bits of positive floats."""
    return lambda rng: [np.abs(magnitudes(rng, low, high)).view(np.uint32)]


def any_magnitude(rng):
    """Make the bits of finite nonzero magnitudes."""
    x = np.abs(float_bits()(rng))
    return [x[(x > 0) & (x < np.inf)].view(np.uint32)]


def integer_powers(dtype):
    return lambda rng: [
        np.concatenate([column, more])
        for column, more in zip(
            crossed(lambda rng: normal(float_bits()(rng)), integers(dtype))(rng),
            [uniform(-3, 3)(rng), rng.integers(0, 60, 1 << 14).astype(dtype)],
            strict=True,
        )
    ]


def special_powers(rng):
    """Return two floats, and flags: whether the second is an integer, and whether it is odd."""
    x, y = two((-3, 3), (-20, 20))(rng)
    y = np.where(rng.random(y.size) < 0.5, np.rint(y), y)
    return [x, y, (np.rint(y) == y).astype(np.uint32), (np.fmod(np.abs(y), 2) == 1).astype(np.uint32)]


def roots(rng):
    """Make exact powers of integers, exact roots of them, and other powers."""
    x, n = (column.reshape(-1) for column in np.meshgrid(np.arange(-30, 31), np.arange(0, 5)))
    square, half = np.arange(0, 200) ** 2, np.full(200, 0.5)
    others = [rng.integers(1, 2000, 4000), rng.uniform(-0.5, 1.5, 4000)]
    return [np.concatenate(columns).astype(F32) for columns in zip((x, n), (square, half), others, strict=True)]


def truncated_power(results, arguments):
    """Check that integer powers are exact, and others truncated, or rounded up if nearly an integer."""
    (found,), (x, y) = results, (argument.astype(np.float64) for argument in arguments)
    exact = np.power(x, y)
    is_whole = (exact == np.rint(exact)) & (np.abs(exact) < 2**24)
    np.testing.assert_array_equal(found[is_whole], exact[is_whole])
    np.testing.assert_array_equal(found[~is_whole], np.trunc(exact * (1 + 4e-7))[~is_whole])


NORM = """float norm_of_five(float a, float b, float c, float d, float e) {
    return norm_of(norm_terms(a) + norm_terms(b) + norm_terms(c) + norm_terms(d), e * e);
}
"""
SUM = """float sum_of_five(float a, float b, float c, float d, float e) {
    CompensatedSum s = CompensatedSum(0.0, 0.0);
    add_term(s, a);
    add_term(s, b);
    add_term(s, c);
    add_term(s, d);
    add_term(s, e);
    return total_of(s);
}
"""


def five_sizes(rng):
    """Make three numbers of similar magnitude, one of any magnitude, and a small one; their squares may overflow or
    underflow float32."""
    size = rng.integers(-120, 120, 1 << 14)
    columns = [magnitudes(rng, 0, 1) * np.exp2(size + rng.integers(-3, 4, size.size)) for _ in range(3)]
    columns += [magnitudes(rng, 0, 1) * np.exp2(rng.integers(-120, 120, size.size)), magnitudes(rng, -40, -30)]
    return [column.astype(F32) for column in columns]


def cancelling(rng):
    """Make terms whose large values cancel."""
    large = magnitudes(rng, 20, 40)
    small = [magnitudes(rng, 0, 20) for _ in range(3)]
    order = [large, small[0], small[1], -large, small[2]]
    infinite = F32([1, np.inf, 2, 3, 4])
    return [np.append(column, value) for column, value in zip(order, infinite, strict=True)]


def summed(results, arguments):
    """Check the guarantee of a compensated sum of n terms: rounded once, plus (n ulp)^2 of the terms' magnitudes."""
    terms = np.array(arguments, np.float64)
    exact = terms[0] + terms[3] + (terms[1] + terms[2] + terms[4])  # the large ones cancel
    bound = np.spacing(np.abs(exact.astype(F32))) / 2 + (5 * 2.0**-24) ** 2 * np.sum(np.abs(terms), axis=0)
    finite = np.isfinite(exact)
    np.testing.assert_array_equal(results[0][~finite], exact[~finite])
    assert np.all(np.abs(results[0] - exact)[finite] <= bound[finite])


MATH: list[tuple[str, object, object]] = [
    ("is_nan", crossed(float_bits()), equal(lambda x: x != x)),
    ("is_inf", crossed(float_bits()), equal(lambda x: abs(x) == np.inf)),
    ("not_negative", crossed(float_bits()), equal_floats(lambda x: np.where(x < 0, F32(0), x))),
    (
        "with_sign",
        lambda rng: [np.abs(a) if i == 0 else a for i, a in enumerate(any_two(rng))],
        equal_floats(np.copysign),
    ),
    ("scale_by", with_power, equal_floats(lambda x, n: np.ldexp(x.astype(np.float64), n).astype(F32))),
    (
        "product_error",
        lambda rng: [a := magnitudes(rng, -40, 40), b := magnitudes(rng, -40, 40), a * b],
        equal_floats(lambda a, b, p: (a.astype(np.float64) * b - p).astype(F32)),
    ),
    ("quotient", moderate(-30, 30), within(np.divide, 0.51, QUOTIENT)),
    ("quotient_nearest", moderate(-30, 30), equal_floats(np.divide)),
    ("significand", any_magnitude, significand),
    (
        "divide_by",
        lambda rng: [*moderate(-70, 70)(rng), np.zeros(1 << 14, np.uint32)],
        within(lambda a, b, _: a / b, 0.51, QUOTIENT),
    ),
    (
        "divide_by",
        lambda rng: [*moderate(-70, 70)(rng), np.ones(1 << 14, np.uint32)],
        within(lambda a, b, _: a / b, 0.5, "IEEE 754's quotient"),
    ),
    ("divide", any_two, within(np.divide, 0.51, QUOTIENT)),
    ("divide_nearest", any_two, within(np.divide, 0.5, "IEEE 754's quotient")),
    ("reciprocal", crossed(float_bits()), within(np.reciprocal, 0.51, QUOTIENT)),
    ("multiply_add", lambda rng: [magnitudes(rng, -30, 30) for _ in range(3)], equal_floats(lambda x, a, b: x * a + b)),
    ("modulus_truncate", any_two, equal_floats(np.fmod)),
    ("modulus_truncate", two((-1e9, 1e9), (-3, 3)), equal_floats(np.fmod)),
    ("modulus_floor", span(-1e6, 1e6, (-3, 3)), equal_floats(modulus_floor)),
    (
        "modulus_floor",
        lambda rng: [a.astype(F32) for a in pairs(np.arange(-9, 10), np.arange(-3, 4))],
        equal_floats(modulus_floor),
    ),
    (
        "round_quotient",
        lambda rng: [
            np.concatenate([x, np.rint(x) * F32(2.5)]) for x in [uniform(-300, 300)(rng), uniform(-2, 2)(rng)]
        ],
        equal_floats(lambda x, s: np.where(np.isnan(x / s), F32(0), np.rint(x / s))),
    ),
    (
        "round_half_away",
        lambda rng: [np.concatenate([normal(float_bits()(rng)), np.arange(-9, 9, 0.5, F32), uniform(-9, 9)(rng)])],
        equal_floats(round_half_away),
    ),
    ("sqrt_accurate", crossed(float_bits()), within(np.sqrt, 0.51, QUOTIENT)),
    ("exp_tail", span(-0.35, 0.35), within(exp_tail, 12, "times r^2 < 1/8 in e^r, so a ulp of that")),
    ("exp_reduce", span(-110, 110), exp_reduced),
    (
        "exp_scaled",
        lambda rng: [*with_rest(-80, 80)(rng), magnitudes(rng, -2, 2), rng.integers(-2, 3, 1 << 14).astype(np.int32)],
        within(
            lambda x, low, factor, k: factor * np.exp(x + low) * np.exp2(k), 2, "half of what functions of it may use"
        ),
    ),
    ("exp_accurate", both(-87, 88.7), within(np.exp, 4, PROMISE)),
    (
        "exp_nonpositive",
        lambda rng: [np.concatenate([-np.abs(normal(float_bits()(rng)[14:])), uniform(-90, 0)(rng)])],
        lambda results, arguments: within(np.exp, 4, PROMISE)(
            [results[0][~np.isnan(arguments[0])]], [arguments[0][~np.isnan(arguments[0])]]
        ),
    ),
    ("exp_of_half", span(-120, 0), as_vulkan_promises),
    ("expm1_accurate", both(-20, 88.7), within(np.expm1, 4, PROMISE)),
    ("log_reduce", any_magnitude, log_reduced),
    ("log_accurate", both(0.3, 3), within(np.log, 4, PROMISE)),
    ("log1p_accurate", both(-1, 3), within(np.log1p, 4, PROMISE)),
    ("log_parts", bits_between(-126, 127), log_in_parts),
    ("pow_magnitude", span(-3, 3, (-60, 60)), within(lambda x, y: np.abs(x) ** y, 4, PROMISE)),
    ("pow_special", special_powers, within(lambda x, y, *_: np.power(x, y), 4, PROMISE)),
    ("pow_accurate(float, float)", two((1e-3, 1e3), (-12, 12)), within(np.power, 4, PROMISE)),
    ("pow_accurate(float, float)", two((0.5, 2), (-120, 120)), within(np.power, 4, PROMISE)),
    ("pow_accurate(float, int)", integer_powers(np.int32), within(power, 4, PROMISE)),
    ("pow_accurate(float, uint)", integer_powers(np.uint32), within(power, 4, PROMISE)),
    ("pow_truncated", roots, truncated_power),
    ("reduce_angle", lambda rng: [np.concatenate([magnitudes(rng, -10, 127), near_half_pi()])], reduced_angle),
    ("sin_kernel", with_rest(-0.786, 0.786), within(lambda r, low: np.sin(r + low), 2, "half of what sine may use")),
    ("cos_kernel", with_rest(-0.786, 0.786), within(lambda r, low: np.cos(r + low), 2, "half of what cosine may use")),
    (
        "asin_tail",
        span(0, 0.25),
        within(asin_tail, 16, "at most 0.05 of the arc sine it is added to, so a ulp of that"),
    ),
    ("sin_accurate", both(-30, 30), within(np.sin, 4, PROMISE)),
    ("cos_accurate", both(-30, 30), within(np.cos, 4, PROMISE)),
    ("tan_accurate", both(-30, 30), within(np.tan, 4, PROMISE)),
    ("sin_accurate", lambda rng: [near_half_pi()], within(np.sin, 4, PROMISE)),
    ("cos_accurate", lambda rng: [near_half_pi()], within(np.cos, 4, PROMISE)),
    ("tan_accurate", lambda rng: [near_half_pi()], within(np.tan, 4, PROMISE)),
    ("asin_accurate", both(-1, 1), within(np.arcsin, 4, PROMISE)),
    ("acos_accurate", both(-1, 1), within(np.arccos, 4, PROMISE)),
    ("atan_accurate", both(-6, 6), within(np.arctan, 4, PROMISE)),
    ("atan2_accurate", two((-4, 4), (-4, 4)), within(np.arctan2, 4, PROMISE)),
    ("sinh_accurate", both(-89, 89), within(np.sinh, 4, PROMISE)),
    ("cosh_accurate", both(-89, 89), within(np.cosh, 4, PROMISE)),
    ("tanh_accurate", both(-9, 9), within(np.tanh, 4, PROMISE)),
    ("asinh_accurate", both(-6, 6), within(np.arcsinh, 4, PROMISE)),
    ("acosh_accurate", both(1, 5), within(np.arccosh, 4, PROMISE)),
    ("atanh_accurate", both(-1, 1), within(np.arctanh, 4, PROMISE)),
    (
        "exp_negative",
        with_rest(-87, 87),
        within(lambda x, low: np.exp(-np.abs(x + low)), 2, "half of what sigmoid may use"),
    ),
    ("sigmoid_of", with_rest(-87, 20), within(lambda x, low: scipy.special.expit(x + low), 4, PROMISE)),
    ("softplus_of", with_rest(-87, 20), within(lambda x, low: softplus(x + low), 4, PROMISE)),
    (
        "factor_error",
        lambda rng: [a := magnitudes(rng, -20, 20), b := magnitudes(rng, -20, 20), a * b],
        equal_floats(lambda x, f, p: np.where(np.abs(p) < 200, x.astype(np.float64) * f - p, 0).astype(F32) + F32(0)),
    ),
    ("sigmoid", both(-87, 20), within(scipy.special.expit, 4, PROMISE)),
    ("softplus", both(-87, 20), within(softplus, 4, PROMISE)),
    ("sigmoid_scaled", span(-30, 7, (0.2, 2.9)), within(lambda x, f: scipy.special.expit(x * f), 4, PROMISE)),
    ("softplus_scaled", span(-30, 7, (0.2, 2.9)), within(lambda x, f: softplus(x * f), 4, PROMISE)),
    ("scaled_normal_tail", span(0, 13, (-3, 3)), within(lambda t, f: f * tail(t), 4, PROMISE)),
    ("normal_tail", lambda rng: [np.abs(values) for values in both(0, 13)(rng)], within(tail, 4, PROMISE)),
    ("erf_accurate", both(-4, 4), within(scipy.special.erf, 4, PROMISE)),
    ("gelu", both(-13, 5), within(gelu, 4, PROMISE)),
]


def near_half_pi():
    """Make numbers next to multiples of pi / 2, where an angle's reduction must keep more bits than the angle has."""
    k = np.concatenate([np.arange(1, 4000), np.logspace(4, 37, 4000)])
    x = (k * np.longdouble(np.pi) / 2).astype(F32)
    return np.concatenate([x, np.nextafter(x, F32(0)), np.float32([16367173.0 * 2**72, 5.3e33])])


CASES = [
    *(Case("math.glsl", *row) for row in MATH),
    Case(
        "norm.glsl",
        "a norm",
        five_sizes,
        within(lambda *x: np.sqrt(sum(v * v for v in x)), 4, "a sum of five, each rounded three times, under a root"),
        code=NORM,
        covers=("norm_terms(float)", "norm_of(vec3, float)"),
    ),
    Case(
        "compensated.glsl",
        "a sum",
        cancelling,
        summed,
        code=SUM,
        covers=("add_term(CompensatedSum, float)", "total_of(CompensatedSum)"),
    ),
]


@parametrized(CASES)
def test_function(device, case):
    case.run(device)
