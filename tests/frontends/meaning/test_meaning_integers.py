"""Integers that DirectML's operators do not take, compared with NumPy modulo 2^bits."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from graph_functions import run

import dml
from dml.frontends.meaning import integers

Array = npt.NDArray[Any]
RNG = np.random.default_rng(43)
KINDS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
WIDE = ["int64", "uint64"]


def numbers(kind: str, *sizes: int) -> Array:
    limits = np.iinfo(kind)
    return RNG.integers(limits.min, limits.max, sizes, dtype=kind, endpoint=True)


def powers(x: Array, exponent: Array) -> Array:
    """Return the powers modulo 2^64; of a negative exponent, 0 or a power of 1 or -1."""

    def power(base: int, times: int) -> int:
        return pow(base, times, 2**64) if times >= 0 else base ** (times % 2) if abs(base) == 1 else 0

    wide = np.vectorize(power, otypes=[object])(x.astype(object), exponent.astype(object)) % 2**64
    return wide.astype(np.uint64).astype(x.dtype)


@pytest.mark.parametrize("kind", KINDS)
def test_matmul(device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    for size, turn_a, turn_b in itertools.product((1 << 20, 200), (False, True), (False, True)):
        monkeypatch.setattr(integers, "PRODUCT_BYTES", size)  # all rows at once, or one at a time
        a, b = numbers(kind, 2, 1, 5, 7), numbers(kind, 3, 7, 4)
        with np.errstate(over="ignore"):
            expected = a @ b
        turned = (a.swapaxes(-1, -2) if turn_a else a), (b.swapaxes(-1, -2) if turn_b else b)
        found = run(
            device, [*map(np.ascontiguousarray, turned)], partial(integers.matmul, turn_a=turn_a, turn_b=turn_b)
        )
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", WIDE)
def test_powers(device: dml.Device, kind: str) -> None:
    x = np.concatenate([numbers(kind, 20), np.array([0, 1, 2, 3], kind), -np.array([1, 2, 3, 4]).astype(kind)])
    least = -3 if kind == "int64" else 0
    exponent = np.array([*range(least, 24), 62, 63, 64, 65, 66, 67], kind)[:, None]
    found, expected = run(device, [x, exponent], integers.power), powers(x, exponent)
    exact = (exponent <= 63) | np.isin(x, np.array([0, 1, -1]).astype(kind))
    np.testing.assert_array_equal(found[exact], expected[exact])
    for times in (0, 1, 2, 3, 10, 63, 64, 65, 1000):
        found = run(device, [x], lambda base, times=times: integers.power(base, times))
        expected = powers(x, np.array(times))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [*WIDE, "int32", "int8"])
def test_activations(device: dml.Device, kind: str) -> None:
    x, slope = numbers(kind, 3, 40), numbers(kind, 40)
    np.testing.assert_array_equal(run(device, [x], integers.relu), np.maximum(x, 0))
    if kind != "uint64":  # for uint64 the slope is not read
        found = run(device, [x, slope], integers.parameterized_relu)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(found, np.where(x < 0, x * slope, x))
