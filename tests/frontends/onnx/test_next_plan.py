"""A plan for another length that reuses earlier mappings equals a fresh model's plan."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from onnx_graphs import CASES, check_plan, decoder, decoder_feeds

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.mapped import MappedNodes


@pytest.mark.parametrize("name", CASES)
def test_any_lengths_one_after_another(device: dml.Device, name: str) -> None:
    model, feeds, sizes = CASES[name]
    known = prepare(model(), device)

    @settings(max_examples=12, deadline=None)
    @given(sizes)
    def one_more(sizes: Any) -> None:
        check_plan(known, model(), feeds(*sizes), device)

    one_more()
    assert len(known.parts[0]._mapped._kept) > 0


@pytest.mark.parametrize("name", CASES)
def test_results_are_a_fresh_models_to_the_bit(device: dml.Device, name: str) -> None:
    model, feeds, _ = CASES[name]
    known = prepare(model(), device)
    each = {"decoder": [(0, 3), (3, 1), (4, 1), (9, 1)], "encoder": [(1, 7), (1, 8), (3, 8)]}
    each |= {"network": [(1, 4, 5), (2, 4, 5), (2, 5, 4)], "looped": [(3, 2, True), (4, 2, True), (4, 1, False)]}
    for sizes in each[name]:
        given = feeds(*sizes)
        for found, expected in zip(known.run(given), prepare(model(), device).run(given), strict=True):
            assert found.tobytes() == expected.tobytes()


def test_the_next_length_maps_only_dependent_nodes(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 70 nodes, only those that compute positions and those of one layer that read caches are mapped; the other
    layers reuse these mappings."""
    prepared = prepare(decoder(), device)
    kept: list[str] = []
    keep = MappedNodes.keep

    def counted(self: MappedNodes, *args: Any) -> None:
        kept.append(args[6].op_type)
        keep(self, *args)

    monkeypatch.setattr(MappedNodes, "keep", counted)
    for past in (17, 18):
        kept.clear()
        prepared.compiled_for(decoder_feeds(past, 1))
    positions = ["Shape", "Gather", "Add", "Range", "Gather", "Range", "Unsqueeze", "Greater"]
    assert len(kept) <= len(positions) + 2 + 8, kept


def test_kept_mappings_are_bounded(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dml.frontends.onnx.map.mapped.MOST_NODES", 40)
    prepared = prepare(decoder(), device)
    for past in range(1, 6):
        prepared.compiled_for(decoder_feeds(past, 1))
        assert len(prepared.parts[0]._mapped._kept) <= 40
