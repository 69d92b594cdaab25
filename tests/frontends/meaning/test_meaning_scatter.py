"""Scatters that reduce, in each of four ways (see ``WAYS``), compared with NumPy in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from graph_functions import run

import dml
from dml.compiler.target import Target
from dml.frontends.meaning import scatter
from dml.graph.builder import Builder

Array = npt.NDArray[Any]
RNG = np.random.default_rng(41)
UFUNCS: dict[str, Any] = {
    "sum": np.add, "mean": np.add, "sub": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum,
}  # fmt: skip

#: Ways to reduce (comparing indices, update by update, in spans of columns, after sorting), and the values of
#: thresholds that select them.
WAYS: dict[str, dict[str, Any]] = {
    "compared": {},
    "in order": {"_PAIRS": 0},
    "in spans": {"_PAIRS": 0, "_SPAN": 4},
    "sorted": {"_PAIRS": 0, "_ORDERED": ()},
}


def force(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    for name, value in WAYS[way].items():
        monkeypatch.setattr(scatter, name, value)


def numbers(kind: str, *sizes: int) -> Array:
    dtype = np.dtype(kind)
    return (
        RNG.integers(1, 100, sizes).astype(dtype) if dtype.kind in "iu" else RNG.uniform(-1.5, 1.5, sizes).astype(dtype)
    )


def reduced(x: Array, rows: Array, updates: Array, reduction: str, use_initial: bool) -> Array:
    """Return x {D, C} with updates {K, C} reduced into rows {K, C or 1}; those out of range are dropped."""
    wide = x.astype(object if x.dtype.kind in "iu" else np.float64)
    found = np.full_like(wide, {"prod": 1, "max": -(2**70), "min": 2**70}.get(reduction, 0))
    counts = np.zeros(x.shape)
    for row, update in zip(np.broadcast_to(rows, updates.shape), updates.astype(wide.dtype), strict=True):
        reached = np.flatnonzero((row >= -len(x)) & (row < len(x)))
        found[row[reached], reached] = UFUNCS[reduction](found[row[reached], reached], update[reached])
        counts[row[reached], reached] += 1
    if use_initial:
        found = (wide - found) if reduction == "sub" else UFUNCS[reduction](wide, found)
    elif reduction == "sub":
        found = -found
    if reduction == "mean":
        found = found / np.maximum(counts + use_initial, 1)
    return np.where(counts > 0, found, wide)


def check(found: Array, expected: Array) -> None:
    if found.dtype.kind in "iu":
        bits = 8 * found.dtype.itemsize
        np.testing.assert_array_equal(found.astype(object) % 2**bits, expected % 2**bits)
    else:
        tolerance = 2e-3 if found.dtype == np.float16 else 2e-6
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=8 * tolerance, atol=tolerance)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use_initial", [True, False])
@pytest.mark.parametrize(
    "kind, reduction",
    [
        *itertools.product(["float32", "float16"], scatter.REDUCTIONS),
        *itertools.product(["uint32", "int64", "uint8"], [name for name in scatter.REDUCTIONS if name != "mean"]),
    ],
)
def test_elements(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str, reduction: str, use_initial: bool, way: str
) -> None:
    """Indices repeat, are negative or out of range, and some rows get no update."""
    force(monkeypatch, way)
    x, updates = numbers(kind, 11, 5), numbers(kind, 13, 5)
    indices = RNG.integers(-14, 13, (13, 5)).astype(np.int32)
    found = run(
        device,
        [x, indices, updates],
        lambda *given: scatter.reduced_elements(*given, 0, reduction, use_initial=use_initial),
    )
    check(found, reduced(x, indices, updates, reduction, use_initial))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("use_initial", [True, False])
@pytest.mark.parametrize("reduction", scatter.REDUCTIONS)
@pytest.mark.parametrize("count", [1, 37])
def test_parts(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch, count: int, reduction: str, use_initial: bool, way: str
) -> None:
    force(monkeypatch, way)
    x, updates = numbers("float32", 3, 4, 5), numbers("float32", count, 5)
    indices = np.stack([RNG.integers(-3, 3, count), RNG.integers(-4, 4, count)], 1).astype(np.int64)
    found = run(
        device, [x, indices, updates], lambda *given: scatter.reduced_parts(*given, reduction, use_initial=use_initial)
    )
    rows = indices[:, :1] % 3 * 4 + indices[:, 1:] % 4
    check(found.reshape(12, 5), reduced(x.reshape(12, 5), rows, updates, reduction, use_initial))


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_many_updates_of_few_elements(device: dml.Device, kind: str) -> None:
    """A thousand updates of an element, in half precision too, lose no more digits than one sum in FLOAT32."""
    x, updates = np.abs(numbers(kind, 40, 32)), np.abs(numbers(kind, 40_000, 32)) / np.dtype(kind).type(64)
    indices = RNG.integers(0, 40, (40_000, 1))
    found = run(device, [x, indices, updates], lambda *given: scatter.reduced_parts(*given, "sum"))
    expected = x.astype(np.float64)
    np.add.at(expected, indices[:, 0], updates.astype(np.float64))
    check(found, expected)


def test_a_large_scatter_of_elements(device: dml.Device) -> None:
    x, updates, indices = numbers("float32", 2000, 64), numbers("float32", 1000, 64), RNG.integers(0, 2000, (1000, 64))
    found = run(device, [x, indices, updates], lambda *given: scatter.reduced_elements(*given, 0, "sum"))
    expected = x.astype(np.float64)
    np.add.at(expected, (indices, np.arange(64)), updates.astype(np.float64))
    check(found, expected)


@pytest.mark.parametrize("rows, spans", [(400_000, 5), (2_000_000, None)])
def test_few_columns_are_reduced_in_spans_or_sorted(device: dml.Device, rows: int, spans: int | None) -> None:
    """Updates are reduced in spans; or sorted, where the spans' results would be many more than the updates."""
    x, updates, indices = numbers("float32", rows), numbers("float32", 70_000), RNG.integers(0, rows, 70_000)
    builder = Builder(device)
    shapes = [builder.input(name, (len(array), 1), "FLOAT32") for name, array in (("x", x), ("updates", updates))]
    assert scatter._spans(shapes[0], shapes[1]) == spans
    found = run(device, [x, indices, updates], lambda *given: scatter.reduced_elements(*given, 0, "sum"))
    expected = x.astype(np.float64)
    np.add.at(expected, indices, updates.astype(np.float64))
    check(found, expected)


@pytest.mark.parametrize("way", ["in order", "in spans", "sorted"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "max"])
def test_tensors_larger_than_a_binding(
    seen_as: Callable[..., dml.Device], monkeypatch: pytest.MonkeyPatch, reduction: str, shared: bool, way: str
) -> None:
    """Each tensor exceeds a binding of 1 KiB; a line of indices does not."""
    force(monkeypatch, way)
    own, most = Target(), 1024
    small = seen_as(max_storage_buffer_range=most + own.max_storage_buffer_range - own.max_region)
    x, updates = numbers("float32", 31, 17), numbers("float32", 43, 17)
    indices = RNG.integers(-31, 31, (43, 1 if shared else 17))

    def make(*given: Any) -> Any:
        if shared:
            return scatter.reduced_parts(*given, reduction)
        return scatter.reduced_elements(*given, 0, reduction)

    check(run(small, [x, indices, updates], make), reduced(x, indices, updates, reduction, True))
