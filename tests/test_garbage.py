"""Python's search for garbage is held off where plans are made, and goes on behind them."""

from __future__ import annotations

import gc
import weakref

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


class _Cycle:
    def __init__(self):
        self.own = self


@pytest.fixture
def searched():
    """The generations that are searched from here on."""
    found = []

    def note(phase, info):
        if phase == "start":
            found.append(info["generation"])

    gc.collect()
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)


def test_what_was_made_meanwhile_is_old_behind(searched, monkeypatch):
    monkeypatch.setattr("dml.garbage._unsearched", 0)
    with uncollected():
        made = [_Cycle() for _ in range(10 * gc.get_threshold()[0])]
    assert not searched
    assert any(one is made for one in gc.get_objects(generation=2))
    assert gc.get_freeze_count() == 0


def test_the_old_are_gone_through_when_enough_came_from_here(searched, monkeypatch):
    monkeypatch.setattr("dml.garbage._unsearched", 0)
    monkeypatch.setattr("dml.garbage.MOST_UNSEARCHED", 3000)
    made = []
    for _ in range(20):
        assert not searched
        with uncollected():
            made += [weakref.ref(one) for one in [_Cycle() for _ in range(1000)]]
        if searched:
            break
    assert searched == [2]
    assert len(made) > 1000
    assert all(ref() is None for ref in made)


def test_what_somebody_froze_stays_frozen(monkeypatch):
    monkeypatch.setattr("dml.garbage._unsearched", 0)
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with uncollected():
            pass
        assert gc.get_freeze_count() >= frozen - 100 > 0  # (some of them may have been freed)
    finally:
        gc.unfreeze()


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
