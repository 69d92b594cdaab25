"""Python's search for garbage is held off where plans are made, and goes on behind them."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from dml.garbage import uncollected
from dml.graph.builder import Builder
from dml.graph.operations import relu


def test_it_goes_on_behind():
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), uncollected():
        raise ZeroDivisionError
    assert gc.isenabled()


def test_where_it_is_off_it_stays_off():
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_is_searched_for_while_a_graph_is_planned(device, monkeypatch):
    found = []

    def fuse(*_):
        found.append(gc.isenabled())

    monkeypatch.setattr("dml.graph.compile.fuse", fuse)
    graph = Builder(device)
    compiled = graph.compile([relu(graph.input("x", (2, 3)))])
    assert found == [False]
    x = np.array([[1, -1, 2], [-2, 0, 3]], np.float32)
    assert np.array_equal(compiled.dispatch({"x": x})[0], np.maximum(x, 0))
