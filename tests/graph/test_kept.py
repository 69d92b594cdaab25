"""Initialization runs only operators whose inputs are constants or other results of initialization."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml import enums
from dml.graph import operations as op
from dml.graph.builder import Builder


def test_a_result_that_the_caller_reads_too(device: dml.Device) -> None:
    """A graph's output is computed in every run, and so are results computed from it."""
    x = np.random.default_rng(0).standard_normal((1, 1, 2, 30), np.float32)
    graph = Builder(device)
    constant = graph.constant(x)
    middle = op.reduce(constant, enums.DML_REDUCE_FUNCTION_AVERAGE, (3,))
    variance = op.reduce(
        op.difference_square(constant, middle.broadcast(x.shape)), enums.DML_REDUCE_FUNCTION_AVERAGE, (3,)
    )
    found = graph.compile({"middle": middle, "variance": variance}).dispatch({})
    np.testing.assert_allclose(found["middle"][..., 0], x.mean(3), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found["variance"][..., 0], x.var(3), rtol=1e-5)


@pytest.mark.parametrize("room", [0, 1 << 20])
def test_a_result_too_large_to_keep(device: dml.Device, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """The large result is computed in every run; its sum, small enough to keep, must not be computed before."""
    monkeypatch.setattr("dml.graph.kept.SMALL", room)
    row = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 1, 8)
    graph = Builder(device)
    wide = op.sqrt(graph.constant(row).broadcast((1, 1, 40, 8)))
    sums = op.reduce(wide, enums.DML_REDUCE_FUNCTION_SUM, (2,))
    x = np.ones((1, 1, 40, 8), np.float32)
    found = graph.compile({"y": graph.input("x", x.shape) + wide, "z": graph.input("a", (1, 1, 1, 8)) + sums}).dispatch(
        {"x": x, "a": x[:, :, :1]}
    )
    np.testing.assert_allclose(found["y"], x + np.sqrt(row), rtol=1e-5)
    np.testing.assert_allclose(found["z"], 1 + 40 * np.sqrt(row), rtol=1e-5)
