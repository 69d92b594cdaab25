"""Enumerations and constants: values, names, reach."""

from __future__ import annotations

from enum import IntEnum, IntFlag

import pytest

import dml
from dml import enums

ENUMERATIONS = [
    value for value in vars(enums).values()
    if isinstance(value, type) and issubclass(value, (IntEnum, IntFlag)) and value.__module__.startswith(enums.__name__)
]  # fmt: skip


def test_there_are_25_enumerations():
    assert len(ENUMERATIONS) == 25


@pytest.mark.parametrize("enumeration", ENUMERATIONS, ids=lambda enumeration: enumeration.__name__)
def test_enumerators_are_names_of_the_package(enumeration):
    for name, enumerator in enumeration.__members__.items():
        assert getattr(dml, name) is enumerator
        assert getattr(enums, name) is enumerator
    assert getattr(dml, enumeration.__name__) is enumeration


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DML_FEATURE_LEVEL_1_0", 0x1000),
        ("DML_FEATURE_LEVEL_2_1", 0x2100),
        ("DML_FEATURE_LEVEL_6_4", 0x6400),
        ("DML_TENSOR_DATA_TYPE_FLOAT32", 1),
        ("DML_TENSOR_DATA_TYPE_INT8", 8),
        ("DML_TENSOR_DATA_TYPE_UINT4", 12),
        ("DML_TENSOR_DATA_TYPE_INT4", 13),
        ("DML_OPERATOR_GRU", 78),
        ("DML_OPERATOR_SCATTER", 94),
        ("DML_OPERATOR_UNFOLD", 177),
        ("DML_PADDING_MODE_WRAP", 4),
        ("DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE", 4),
        ("DML_REDUCE_FUNCTION_SUM_SQUARE", 11),
        ("DML_TENSOR_DIMENSION_COUNT_MAX", 5),
        ("DML_TENSOR_DIMENSION_COUNT_MAX1", 8),
        ("DML_TEMPORARY_BUFFER_ALIGNMENT", 256),
        ("DML_PERSISTENT_BUFFER_ALIGNMENT", 256),
        ("DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT", 16),
    ],
)
def test_values(name, value):
    assert getattr(dml, name) == value


def test_operator_types_count_from_0_without_a_gap():
    assert [int(kind) for kind in dml.DML_OPERATOR_TYPE] == list(range(len(dml.DML_OPERATOR_TYPE)))


def test_scatter_elements_is_another_name_of_scatter():
    assert dml.DML_OPERATOR_SCATTER_ELEMENTS is dml.DML_OPERATOR_SCATTER
    assert dml.DML_OPERATOR_SCATTER.name == "DML_OPERATOR_SCATTER"


def test_feature_levels_are_ordered_and_spelled_by_their_value():
    levels = list(dml.DML_FEATURE_LEVEL)
    assert levels == sorted(levels)
    for level in levels:
        assert level.name == f"DML_FEATURE_LEVEL_{level >> 12}_{level >> 8 & 15}"


def test_flags_combine():
    both = dml.DML_EXECUTION_FLAG_DISABLE_META_COMMANDS | dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
    assert isinstance(both, dml.DML_EXECUTION_FLAGS)
    assert both == 6
