"""lib/int64.glsl, integer.glsl, order.glsl and sort.glsl: exact, for every argument."""

from __future__ import annotations

import math

import numpy as np
from library import Case, crossed, equal, equal_floats, float_bits, integers, parametrized

U32, I32, U64, I64 = (integers(dtype) for dtype in (np.uint32, np.int32, np.uint64, np.int64))
ALL = 2**64 - 1


def shifts(rng):
    """Make shift counts up to and beyond the width."""
    return rng.permutation(np.arange(2000, dtype=np.uint32) % 140)


def truncated(a, b):
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def quotient(a, b):
    """Divide as C divides integers; all bits are ones if b is zero."""
    return truncated(a, b) if b else ALL


def remainder(a, b):
    """Return the remainder with the dividend's sign."""
    return a - b * truncated(a, b) if b else ALL


def remainder_floor(a, b):
    """Return the remainder with the divisor's sign."""
    return a % b if b else ALL


def power(x, n):
    """Return x^n; for a negative n, 1 / x^-n by integer division, which depends only on the exponent's parity."""
    return pow(x, n, 2**32) if n >= 0 else quotient(1, x ** (2 - n % 2))


def whole(low, high):
    """Return a function that truncates a float: to the range's limit outside it, and 0 for NaN."""
    return lambda x: 0 if math.isnan(x) else int(min(max(x, low), high))


INT64 = [
    ("add64", [U64, U64], [lambda a, b: a + b]),
    ("sub64", [U64, U64], [lambda a, b: a - b]),
    ("less_u64", [U64, U64], [lambda a, b: a < b]),
    ("less_i64", [I64, I64], [lambda a, b: a < b]),
    ("mul64", [U64, U64], [lambda a, b: a * b]),
    ("neg64", [I64], [lambda a: -a]),
    ("negative_i64", [I64], [lambda a: a < 0]),
    ("abs_i64", [I64], [abs]),
    ("shift_left_64", [U64, shifts], [lambda a, n: a << n]),
    ("shift_right_u64", [U64, shifts], [lambda a, n: a >> n]),
    ("top_bit_64", [U64], [lambda a: a.bit_length() - 1]),
    ("divide_u64", [U64, U64], [quotient, remainder]),
    ("divide_i64", [I64, I64], [quotient, remainder]),
    ("quotient_u64", [U64, U64], [quotient]),
    ("quotient_i64", [I64, I64], [quotient]),
    ("modulus_u64", [U64, U64], [remainder]),
    ("modulus_truncate_i64", [I64, I64], [remainder]),
    ("modulus_floor_i64", [I64, I64], [remainder_floor]),
    ("u64_of_float", [float_bits()], [whole(0, 2**64 - 1)]),
    ("i64_of_float", [float_bits()], [whole(-(2**63), 2**63 - 1)]),
]
INTEGER = [
    ("divide_uint", [U32, U32], [quotient]),
    ("modulus_uint", [U32, U32], [remainder]),
    ("magnitude", [I32], [abs]),
    ("divide_int", [I32, I32], [quotient]),
    ("modulus_truncate_int", [I32, I32], [remainder]),
    ("modulus_floor_int", [I32, I32], [remainder_floor]),
    ("shift_left", [U32, shifts], [lambda a, n: a << n]),
    ("shift_right", [U32, shifts], [lambda a, n: a >> n]),
    ("power_uint(uint, uint)", [U32, U32], [power]),
    ("power_uint(uint, int)", [U32, I32], [power]),
    ("power_int(int, uint)", [I32, U32], [power]),
    ("power_int(int, int)", [I32, I32], [power]),
    ("int_of_float", [float_bits()], [whole(-(2**31), 2**31 - 1)]),
    ("uint_of_float", [float_bits()], [whole(0, 2**32 - 1)]),
    ("mean_int", [I32, I32], [lambda a, b: truncated(a + b, 2)]),
]
ORDER = [
    ("order_int", [I32], [lambda x: x + 2**31]),
    ("order_uint", [U32], [lambda x: x]),
    ("order_int64", [I64], [lambda x: x + 2**63]),
    ("order_uint64", [U64], [lambda x: x]),
]

CASES = [
    Case(file, function, crossed(*makers), equal(*references))
    for file, table in (("int64.glsl", INT64), ("integer.glsl", INTEGER), ("order.glsl", ORDER))
    for function, makers, references in table
]


def to_nearest(dtype):
    """Check conversions to float32, with ties to even as in NumPy."""
    return equal_floats(lambda a: a.view(dtype).astype(np.float32))


def is_in_order(results, arguments):
    """Check that keys have the order of the values; NaN comes last."""
    (keys,), (x,) = results, arguments
    x, keys = x[np.argsort(keys, kind="stable")], np.sort(keys)
    numbers = x[: np.count_nonzero(~np.isnan(x))]
    assert not np.isnan(numbers).any()
    assert np.all(numbers[:-1] <= numbers[1:])
    # Equal values have equal keys, different values different keys
    np.testing.assert_array_equal(numbers[:-1] == numbers[1:], (keys[:-1] == keys[1:])[: numbers.size - 1])
    assert np.all(keys[numbers.size :] == 2**32 - 1)
    assert np.all(keys[: numbers.size] < 2**32 - 1)


def differences(results, arguments):
    """Check differences: exact up to 24 bits, else within one float32 ulp, since conversions may round either way."""
    a, b = (argument.astype(np.int64) for argument in arguments)
    exact = (a - b).astype(np.float64)
    (result,) = results
    assert np.all(np.abs(result - exact) <= np.where(np.abs(exact) <= 2**24, 0, np.spacing(np.abs(result))))


ENTRIES = """bool entries(uint key_a, uint place_a, uint key_b, uint place_b) {
    return entry_less(Entry(key_a, place_a), Entry(key_b, place_b));
}
"""
WIDE_ENTRIES = ENTRIES.replace("uint key", "uvec2 key")


def few(dtype):
    """Make few distinct values, so that keys are often equal."""
    return lambda rng: rng.choice(integers(dtype)(rng)[:12], 4000)


def key_then_place(key_a, place_a, key_b, place_b):
    return (key_a, place_a) < (key_b, place_b)


CASES += [
    Case("int64.glsl", "float_u64", crossed(U64), to_nearest(np.uint64)),
    Case("int64.glsl", "float_i64", crossed(I64), to_nearest(np.int64)),
    Case("integer.glsl", "difference_int", crossed(I32, I32), differences),
    Case("integer.glsl", "difference_uint", crossed(U32, U32), differences),
    Case("order.glsl", "order_float", crossed(float_bits()), is_in_order),
    Case("sort.glsl", "key_less(uint, uint)", crossed(U32, U32), equal(lambda a, b: a < b), defines={"KEY64": 0}),
    Case("sort.glsl", "key_less(uvec2, uvec2)", crossed(U64, U64), equal(lambda a, b: a < b), defines={"KEY64": 1}),
    Case(
        "sort.glsl",
        "entry_less, keys of 32 bits",
        lambda rng: [few(np.uint32)(rng) for _ in range(4)],
        equal(key_then_place),
        code=ENTRIES,
        covers=("entry_less(Entry, Entry)",),
        defines={"KEY64": 0},
    ),
    Case(
        "sort.glsl",
        "entry_less, keys of 64 bits",
        lambda rng: [few(dtype)(rng) for dtype in (np.uint64, np.uint32) * 2],
        equal(key_then_place),
        code=WIDE_ENTRIES,
        covers=("entry_less(Entry, Entry)",),
        defines={"KEY64": 1},
    ),
]


@parametrized(CASES)
def test_function(device, case):
    case.run(device)
