"""Covering arrays: every combination of t labels occurs, rows make sense, and the same seed gives the same rows."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dml.conformance.covering import covering

PARAMETERS = {"type": "abcde", "layout": "pqr", "values": "xy", "axis": "0123"}


def combinations(parameters, rows, strength):
    """Return the combinations of labels of ``strength`` parameters that occur in the rows."""
    return {
        (at, tuple(row[name] for name in at)) for row in rows for at in itertools.combinations(parameters, strength)
    }


@pytest.mark.parametrize("strength", [1, 2, 3])
@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), seed=st.integers(0, 2**32))
def test_every_combination_occurs(strength, sizes, seed):
    parameters = {f"p{i}": [str(label) for label in range(size)] for i, size in enumerate(sizes)}
    rows = covering(parameters, strength, seed, lambda row: True)
    t = min(strength, len(parameters))
    every = [dict(zip(parameters, row, strict=True)) for row in itertools.product(*parameters.values())]
    assert combinations(parameters, rows, t) == combinations(parameters, every, t)
    assert rows[0] == {name: labels[0] for name, labels in parameters.items()}


def test_only_incompatible_combinations_are_missing():
    def makes_sense(row):
        return not (row["type"] == "a" and row["layout"] == "p") and (row["axis"] != "3" or row["values"] == "x")

    rows = covering(PARAMETERS, 2, 0, makes_sense)
    assert all(makes_sense(row) for row in rows)
    every = [dict(zip(PARAMETERS, row, strict=True)) for row in itertools.product(*PARAMETERS.values())]
    possible = combinations(PARAMETERS, [row for row in every if makes_sense(row)], 2)
    assert combinations(PARAMETERS, rows, 2) == possible


def test_pairs_need_far_fewer_rows_than_all_combinations():
    rows = covering(PARAMETERS, 2, 0, lambda row: True)
    assert 5 * 4 <= len(rows) < 5 * 3 * 2 * 4 / 3


def test_a_seed_decides_the_rows():
    def rows(seed):
        return covering(PARAMETERS, 2, seed, lambda row: True)

    assert rows(1) == rows(1)
    assert any(rows(seed) != rows(1) for seed in range(2, 6))
