"""Scatters that reduce, compared with OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
import pytest
from ir_peer import both, random

from dml.errors import DMLError
from dml.frontends.meaning import scatter
from dml.frontends.openvino import read_model

ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o12, o15 = (pytest.importorskip(f"openvino.opset{n}") for n in (12, 15))
RNG = np.random.default_rng(31)


@pytest.mark.parametrize("pairs", [2**20, 0], ids=["compared", "sorted"])
@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "prod", "min", "max", "mean"])
def test_elements(device, tmp_path, monkeypatch, reduction, initial, pairs):
    """Some indices repeat, some are negative, and some elements get no update."""
    monkeypatch.setattr(scatter, "_PAIRS", pairs)
    first, last = RNG.integers(-4, 3, (7, 5)), RNG.integers(0, 5, (4, 6))

    def make(x, a, b):
        return [
            o12.scatter_elements_update(x, first, a, np.int64(0), reduction, initial),
            o12.scatter_elements_update(x, last, b, np.int64(-1), reduction, initial),
        ]

    both(device, tmp_path, make, random(4, 5), random(7, 5), random(4, 6))


@pytest.mark.parametrize("initial", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_indices_for_a_part_of_the_other_axes(device, tmp_path, reduction, initial):
    indices = RNG.integers(-4, 4, (7, 3, 2))

    def make(x, a):
        return o12.scatter_elements_update(x, indices, a, np.int64(0), reduction, initial)

    both(device, tmp_path, make, random(4, 5, 2), random(7, 3, 2))


@pytest.mark.parametrize("reduction", ["sum", "sub", "prod", "min", "max"])
def test_parts(device, tmp_path, reduction):
    rows, elements = RNG.integers(-4, 4, (2, 3, 1)), RNG.integers(0, 4, (6, 2))

    def make(x, a, b):
        return [
            o15.scatter_nd_update(x, rows, a, reduction=reduction),
            o15.scatter_nd_update(x, elements, b, reduction=reduction),
        ]

    both(device, tmp_path, make, random(4, 5, 3), random(2, 3, 5, 3), random(6, 3))


@pytest.mark.parametrize("reduction", ["sum", "min", "max"])
def test_whole_numbers(device, tmp_path, reduction):
    indices = RNG.integers(0, 4, (7, 5))
    numbers = [RNG.integers(-99, 99, sizes).astype(np.int32) for sizes in ((4, 5), (7, 5))]
    make = lambda x, a: o12.scatter_elements_update(x, indices, a, np.int64(0), reduction)  # noqa: E731
    both(device, tmp_path, make, *numbers)


def test_unknown_reductions(device, tmp_path):
    x = o12.parameter([4, 5], np.float32, name="x")
    made = o12.scatter_elements_update(x, np.zeros((2, 5), np.int64), np.zeros((2, 5), np.float32), np.int64(0), "sum")
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model([o12.result(made)], [x]), str(path))
    path.write_text(path.read_text().replace('reduction="sum"', 'reduction="median"'))
    with pytest.raises(DMLError, match=r"ScatterElementsUpdate .*reduction 'median' is not one of none, sum"):
        read_model(path).compile(device)
