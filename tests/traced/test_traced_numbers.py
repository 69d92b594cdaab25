"""Results computed with traced numbers equal plain results for all other numbers that satisfy the recorded
conditions."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dml.traced import (
    TRACING_ERRORS,
    Formula,
    TracedInt,
    Tracing,
    filled,
    numbers_in,
    traced_apply,
    whole,
)


def _traced(numbers: Sequence[int]) -> tuple[Tracing, list[TracedInt]]:
    tracing = Tracing()
    return tracing, [tracing.number(number) for number in numbers]


#: Small enough for products of products; divisors that may be 0 are excluded.
_STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y if abs(x) < 10**6 and abs(y) < 10**6 else x,
    lambda x, y: x // y if y else 0,
    lambda x, y: x % y if y else 1,
    lambda x, y: divmod(x, y)[1] if y > 0 else -x,
    lambda x, y: max(x, y),
    lambda x, y: sorted([y, x, 7])[1],
    lambda x, y: 5 if x < y else 3,
    lambda x, y: 5 if x <= y else y,
    lambda x, y: x if x == y else y + 1,
    lambda x, y: -(-x // 4) * 4,
    lambda x, y: (x * 64 + 3) // 128 - y,
    lambda x, y: x.bit_length(),
    lambda x, y: math.prod((x, 2, 3)) if abs(x) < 10**6 else y,
    lambda x, y: sum([x, y, 1]),
    lambda x, y: x >> 1,
    lambda x, y: x << 2 if abs(x) < 10**6 else x,
    lambda x, y: x & 255,
    lambda x, y: abs(x) if x else y,
    lambda x, y: 2 * x if x * 1.0 < y + 0.5 and abs(x) < 10**6 else x,
    lambda x, y: int(x) + 1,
    lambda x, y: traced_apply(_thirds, x),
]


def _thirds(number: int) -> int:
    return number // 3 + 1 if number > 10 else abs(number)


def _program(seed: int, numbers: Sequence[int]) -> list[Any]:
    """Return the results of random arithmetic, the same for a seed."""
    chosen = random.Random(seed)
    known: list[Any] = [*numbers, 1, 2, 4, 7]
    for _ in range(25):
        x, y = chosen.choice(known), chosen.choice(known)
        known.append(chosen.choice(_STEPS)(x, y))
    return known


_number = st.integers(2, 60)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 10**6), st.tuples(_number, _number), st.lists(st.tuples(_number, _number), max_size=12))
def test_formulas_equal_plain_arithmetic(seed: int, now: tuple[int, int], others: list[tuple[int, int]]) -> None:
    tracing, traced = _traced(now)
    made = _program(seed, traced)
    formula = Formula(tracing, numbers_in(made))
    for numbers in (now, *others):
        found = formula.numbers(numbers)
        assert found is not None or numbers != now
        if found is not None:
            assert filled(made, found) == _program(seed, numbers)


def test_conditions_are_those_that_were_met() -> None:
    tracing, (n,) = _traced([17])
    assert n > 16
    assert n % 4 == 1
    assert n != 20
    assert 3 * n <= 90
    formula = Formula(tracing, [n + 1])
    valid = [number for number in range(2, 50) if formula.numbers([number]) is not None]
    assert valid == [17, 21, 25, 29]
    found = formula.numbers([25])
    assert found is not None
    assert filled([n + 1], found) == [26]


def test_tautologies_are_not_recorded() -> None:
    tracing, (n, m) = _traced([8, 9])
    assert n > 0
    assert n * m + 4 >= 8
    assert (4 * n) % 4 == 0
    assert (n * m) // m == n
    assert n + m - n == m
    assert (n + 7) // 8 >= 0
    assert n // n == 1
    assert not tracing.conditions()


def test_the_same_sum_is_the_same_number() -> None:
    _, (n, m) = _traced([8, 9])
    assert n * (m + 1) is n * m + n
    assert {n + m: 1}[m + n] == 1
    assert n - n + 3 == 3
    assert type(n - n) is int


def test_untraceable_operations_hold_for_one_number() -> None:
    uses: list[Callable[[Any], Any]] = [float, int, lambda n: n / 3, lambda n: n * 0.3, lambda n: n**2, lambda n: 2**n]
    for use in uses:
        tracing, (n,) = _traced([6])
        assert use(n) == use(6)
        formula = Formula(tracing, [])
        assert formula.numbers([6]) == {}
        assert formula.numbers([7]) is None


@pytest.mark.parametrize(
    "use",
    [
        lambda n: struct.pack("<I", n),
        lambda n: np.array([n], np.int64),
        lambda n: np.zeros(n),
        lambda n: b"\0" * n if n else b"",
        lambda n: n.to_bytes(4, "little"),
        lambda n: n | 1,
        lambda n: [0] * n,
        lambda n: 0.5 * n,
        lambda n: 0.5 + n,
        lambda n: 1.0 / n,
        lambda n: math.sqrt(n),
        lambda n: math.log2(n),
        lambda n: np.array([n], np.float32),
        lambda n: np.int64(n),
        lambda n: np.ones(12).reshape(n, -1),
        lambda n: np.arange(4) // n,
    ],
)
def test_operations_that_lose_the_trace_fail_or_add_a_condition(use: Callable[[Any], Any]) -> None:
    tracing, (n,) = _traced([6])
    try:
        made = use(n)
    except TRACING_ERRORS:
        return
    assert np.array_equal(made, use(6))
    assert Formula(tracing, []).numbers([7]) is None


def test_untraced_results_differ_from_plain_ones() -> None:
    _, (n,) = _traced([6])
    assert list(range(n)) != list(range(6))
    assert list("abcdefgh"[:n]) != list("abcdef")
    assert hash((n, 2)) != hash((6, 2))
    assert math.gcd(n, 7**300) != 6
    assert f"{n}" != "6"


def test_numbers_of_other_traces_are_other_numbers() -> None:
    (_, (n,)), (_, (m,)) = _traced([6]), _traced([6])
    assert n != m
    assert {n: 1}.get(m) is None


def test_bounds_may_be_any_numbers() -> None:
    _, (n,) = _traced([6])
    assert n < math.inf
    assert n > -math.inf
    assert n > 5.5
    assert n < 6.5
    assert not n < 5.5
    assert n == 6.0
    assert n != 6.5
    assert n not in ("6", None)
    assert whole(n) is n
    assert whole(np.int64(4)) == 4


class _Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class _Structure:
    name: str
    sizes: tuple[int, ...]
    inner: Any = None
    array: Any = field(default=None, compare=False)


def test_structures_are_filled() -> None:
    tracing, (n, m) = _traced([6, 7])
    plain = _Structure("plain", (1, 2))
    whole_one = [_Pair(_Structure("a", (n, 3), (n * m,), np.array([n, 2], object)), plain), "text", m]
    found = Formula(tracing, numbers_in(whole_one)).numbers([8, 9])
    assert found is not None
    made = filled(whole_one, found)
    assert made == [_Pair(_Structure("a", (8, 3), (72,)), plain), "text", 9]
    assert made[0].second is plain
    assert made[0].first.array.tolist() == [8, 2]
    assert made[0].first.array.dtype == np.int64
