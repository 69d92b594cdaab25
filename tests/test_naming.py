"""Enumerators by name, wherever Python accepts them, and suggestions for a wrong name."""

from __future__ import annotations

import enum

import pytest

import dml
from dml import DMLError, enums
from dml.arguments import checked
from dml.capability import operator_introduced, tensor_data_type_supported
from dml.enums.naming import (
    by_name,
    did_you_mean,
    edit_distance,
    named,
    prefix_of,
    short_name,
    short_names,
    similar_names,
)

KINDS = [kind for name, kind in vars(enums).items() if name.startswith("DML_") and isinstance(kind, enum.EnumMeta)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_enumerator_is_found_by_both_of_its_names(kind):
    assert prefix_of(kind).startswith("DML_")
    for name, member in kind.__members__.items():
        assert by_name(kind, name) is member
        assert by_name(kind, name.removeprefix(prefix_of(kind)).lower()) is member


def test_a_level_may_be_written_with_a_point():
    assert by_name(dml.DML_FEATURE_LEVEL, "3.0") is dml.DML_FEATURE_LEVEL_3_0
    assert short_name(dml.DML_FEATURE_LEVEL_3_0) == "3_0"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GELU", ["ACTIVATION_GELU"]),
        ("softmax", ["ACTIVATION_LOG_SOFTMAX", "ACTIVATION_SOFTMAX", "ACTIVATION_SOFTMAX1", "ACTIVATION_LOG_SOFTMAX1"]),
        ("CONV", ["CONVOLUTION", "CONVOLUTION_INTEGER", "QUANTIZED_LINEAR_CONVOLUTION"]),
        ("ADD", ["ELEMENT_WISE_ADD", "ELEMENT_WISE_ADD1", "ELEMENT_WISE_QUANTIZED_LINEAR_ADD"]),  # but not PADDING
        ("VOLUTION_INT", ["CONVOLUTION_INTEGER"]),
        ("GRUU", ["GRU"]),
        ("IDENTTY", ["ACTIVATION_IDENTITY", "ELEMENT_WISE_IDENTITY"]),
        ("SOFTMX", ["ACTIVATION_SOFTMAX", "ACTIVATION_LOG_SOFTMAX", "ACTIVATION_SOFTMAX1"]),  # but not LSTM
        ("LTSM", ["LSTM"]),
        ("BATCHNORM", [name for name in short_names(dml.DML_OPERATOR_TYPE) if name.startswith("BATCH_NORM")]),
        ("XYZZY", []),
        (" ", []),
    ],
)
def test_near_names_of_operators(text, expected):
    assert similar_names(text, short_names(dml.DML_OPERATOR_TYPE)) == expected


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("ab", "ba", 1), ("abc", "adc", 1), ("abc", "ac", 1), ("kitten", "sitting", 3), ("abcd", "", 4)],
)
def test_edit_distance(one, other, distance):
    assert edit_distance(one, other, 5) == edit_distance(other, one, 5) == distance
    # a distance above the limit is returned as limit + 1
    assert edit_distance(one, other, max(0, distance - 1)) == distance


def test_private_names_get_no_suggestion():
    """Tools ask modules for __wrapped__ and the like; searching for similar names took most of pytest's collection."""
    assert did_you_mean("validat", dir(dml)) == "; did you mean validate?"
    assert did_you_mean("_validat", dir(dml)) == ""


def test_a_wrong_name_tells_the_near_ones():
    with pytest.raises(DMLError, match=r"here: must be a DML_OPERATOR_TYPE, found 'GELU'; near it: ACTIVATION_GELU"):
        named(dml.DML_OPERATOR_TYPE, "GELU", "here")


def test_enumerators_may_be_given_by_name():
    tensor = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 2, 3, 4), Flags="OWNED_BY_DML")
    assert tensor == dml.DML_BUFFER_TENSOR_DESC(
        dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1, 2, 3, 4), Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML
    )
    assert type(tensor.DataType) is dml.DML_TENSOR_DATA_TYPE
    assert dml.element_bits("float16") == 16
    assert dml.operator_support("GRU", "3_0") == dml.operator_support(dml.DML_OPERATOR_GRU, dml.DML_FEATURE_LEVEL_3_0)
    assert dml.operator_support("REDUCE", "2.1", "ARGMAX") == dml.operator_support(
        dml.DML_OPERATOR_REDUCE, dml.DML_FEATURE_LEVEL_2_1, dml.DML_REDUCE_FUNCTION_ARGMAX
    )
    assert operator_introduced("DML_OPERATOR_FOLD") is dml.DML_FEATURE_LEVEL_6_4
    assert not tensor_data_type_supported("INT64", "1_0")
    query = dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT("INT64")
    assert query.DataType is dml.DML_TENSOR_DATA_TYPE_INT64


def test_a_description_takes_names():
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 3))
    one = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 1))
    desc = dml.DML_REDUCE_OPERATOR_DESC("SUM", x, one, (3,))
    assert desc.Function is dml.DML_REDUCE_FUNCTION_SUM
    dml.validate(desc, "1_0")
    with pytest.raises(DMLError, match=r"Function: must be a DML_REDUCE_FUNCTION, found 'SUMM'; near it: SUM"):
        dml.DML_REDUCE_OPERATOR_DESC("SUMM", x, one, (3,))
    with pytest.raises(DMLError, match=r"feature level: must be a DML_FEATURE_LEVEL, found '9_9'"):
        dml.validate(desc, "9_9")


@checked
def _levels(
    *levels: dml.DML_FEATURE_LEVEL, one: dml.DML_FEATURE_LEVEL | str = dml.DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0
) -> object:
    return levels, one


@checked
def _level(level: dml.DML_FEATURE_LEVEL | None = None) -> object:
    return level


def test_a_checked_function_gets_the_enumerator():
    assert _level("3_0") is _level(level="DML_FEATURE_LEVEL_3_0") is dml.DML_FEATURE_LEVEL_3_0
    assert _level(None) is None
    assert _levels("3_0", 0x1000, one="2_0") == (
        (dml.DML_FEATURE_LEVEL_3_0, 0x1000),
        dml.DML_FEATURE_LEVEL_2_0,
    )
    with pytest.raises(DMLError, match=r"_level: level: must be a DML_FEATURE_LEVEL, found 'three'"):
        _level("three")
    with pytest.raises(DMLError, match=r"_levels: one: must be a DML_FEATURE_LEVEL, found ''"):
        _levels(one="")


def test_a_checked_function_refuses_an_unknown_keyword():
    with pytest.raises(DMLError, match="_level: has no parameter Level; did you mean level"):
        _level(Level=None)
    with pytest.raises(DMLError, match=r"_level: has no parameter thing \["):
        _level(thing=None)
