"""The compiler's view of a device's optional features: their names, and their dependencies."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from desktop import BYTES, EVERY_FEATURE, HALVES
from dml import DMLError
from dml.compiler.features import FEATURES, NO_FEATURES, Features, FloatMode

ALL = replace(
    EVERY_FEATURE,
    subgroup_operations=frozenset({"ballot", "arithmetic"}),
    float16_exact=(FloatMode("DenormPreserve", 16), FloatMode("DenormPreserve", 64)),
)


def test_each_feature_has_a_name() -> None:
    assert set(FEATURES.values()) == {field.name for field in fields(Features)}
    assert ALL.names == list(FEATURES)
    assert NO_FEATURES.names == []


@pytest.mark.parametrize("name", FEATURES)
def test_features_without_one_of_them(name: str) -> None:
    left = ALL.without(name)
    needing = {"memory_model": ["cooperative_matrix", "matrix_reductions"], "cooperative_matrix": ["matrix_reductions"]}
    needs_it = needing.get(name, [])
    assert left.names == [other for other in FEATURES if other not in (name, *needs_it)]
    assert left.described()[name] in (False, "")


def test_matrices_need_arithmetic_in_their_types() -> None:
    assert ALL.without("float16").cooperative_matrices == (BYTES,)
    assert ALL.without("int8").cooperative_matrices == (HALVES,)
    assert ALL.without("float16", "int8").names == ALL.without("float16", "int8", "cooperative_matrix").names


def test_all_and_none() -> None:
    assert ALL.without("all") == ALL.without("float16", "all") == NO_FEATURES
    assert ALL.without() == ALL


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(DMLError, match=r"unknown feature 'float17'; known are storage_16bit, .*, and all"):
        ALL.without("float16", "float17")


def test_broadcasts_are_ballots() -> None:
    assert ALL.broadcasts
    assert not replace(ALL, subgroup_operations=frozenset({"vote"})).broadcasts


def test_in_words() -> None:
    words = ALL.described()
    assert words["float16_exact"] == "DenormPreserve 16, DenormPreserve 64"
    assert words["subgroup_operations"] == "arithmetic, ballot"
    assert words["cooperative_matrix"] == (
        "16 x 16 x 16 FLOAT16 FLOAT16 + FLOAT32 = FLOAT32; 16 x 16 x 32 INT8 INT8 + INT32 = INT32"
    )
