"""tools/bench --planning switches each layer of planning off, and on again. No time is asserted."""

from __future__ import annotations

import importlib
from collections import Counter

import pytest

from dml.compiler import repeated
from dml.frontends.onnx.map.mapped import MappedNodes
from dml.stages import collect

pytestmark = pytest.mark.usefixtures("benchmarks")


def test_a_layer_is_off_only_inside(device, monkeypatch):
    planning = importlib.import_module("planning")
    model, calls = planning.gpt2(1), Counter()

    def counted(cls, name):
        function = getattr(cls, name)

        def count(*args):
            calls[name] += 1
            return function(*args)

        monkeypatch.setattr(cls, name, count)

    counted(MappedNodes, "keep")
    counted(repeated, "_stand_in")  # for each region of a lowering that is made

    def work(layer):
        calls.clear()
        with planning.LAYERS[layer], collect() as collected:
            planning.measure(model, device, 8)
        return Counter({name: spent.count for name, spent in collected.stages.items()}) + calls

    usual = work("")
    assert work("plans")["plan"] > usual["plan"]
    assert usual["pattern"]
    assert not work("patterns")["pattern"]
    assert usual["keep"]
    assert not work("mappings")["keep"]
    assert work("lowerings")["_stand_in"] > 2 * usual["_stand_in"]
    assert work("") == usual
