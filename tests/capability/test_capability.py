"""The capability tables, parsed independently, compared with every answer derived from them."""

from __future__ import annotations

import json
import re
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml import DML_FEATURE_LEVEL, DML_REDUCE_FUNCTION, DMLError
from dml import capability as cap
from dml.validator.base import Check
from dml.validator.common import check_tensor_field

TABLE = json.loads(files("dml.capability").joinpath("operators.json").read_text())
LEVELS = list(DML_FEATURE_LEVEL)
DATA_TYPES = [kind for kind in dml.DML_TENSOR_DATA_TYPE if kind != dml.DML_TENSOR_DATA_TYPE_UNKNOWN]
#: A well-formed tensor of every dimension count and data type.
TENSORS = [dml.DML_BUFFER_TENSOR_DESC(kind, (1,) * rank) for rank in range(1, 9) for kind in DATA_TYPES]
CAPABILITY_MESSAGE = re.compile(r"\.(DataType|DimensionCount): (must be .* at feature level|\w+ is available from)")


def name_of(level):
    return level.name.removeprefix("DML_FEATURE_LEVEL_")


def reaches(level, other):
    return [int(part) for part in name_of(level).split("_")] >= [int(part) for part in other.split("_")]


def table_at(name, level, function=None):
    """Return {tensor: facts} in the file for a level, or None."""
    if not reaches(level, TABLE[name]["introduced"]):
        return None
    tables = TABLE[name].get("support")
    if tables is None:
        short = function.name.removeprefix("DML_REDUCE_FUNCTION_")
        (tables,) = [t for functions, t in TABLE[name]["support_by_function"].items() if short in functions.split(", ")]
    older = [other for other in tables if reaches(level, other)]
    return tables[max(older, key=lambda other: [int(part) for part in other.split("_")])]


def functions_of(name):
    return list(DML_REDUCE_FUNCTION) if name == "REDUCE" else [None]


@pytest.mark.parametrize("name", TABLE)
def test_support_matches_the_table(name):
    kind = dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]
    for level in LEVELS:
        for function in functions_of(name):
            facts, support = table_at(name, level, function), dml.operator_support(kind, level, function)
            if facts is None:
                assert support is None
                continue
            assert list(support) == list(facts)
            for tensor, expected in facts.items():
                found = support[tensor]
                assert [found.dimension_counts[0], found.dimension_counts[-1]] == expected["dimension_counts"]
                assert {cap.short_name(data_type) for data_type in found.data_types} == set(expected["data_types"])
                assert found.kind == expected["kind"]
                assert found.optional is expected.get("optional", False)
                assert found.sizes == (tuple(expected["sizes"].split(", ")) if "sizes" in expected else None)


@pytest.mark.parametrize("name", TABLE)
def test_validation_of_tensors_matches_the_table(name):
    """Cover each level, tensor, dimension count and data type, by the validator's check of one tensor field."""
    kind = dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]
    desc_class = dml.operators()[kind]
    for level in LEVELS:
        for function in functions_of(name):
            support = dml.operator_support(kind, level, function)
            for info in desc_class.fields_info:
                if info.is_tensor and support is not None:
                    facts = table_at(name, level, function)[info.name]
                    for tensor in TENSORS:
                        expected = (
                            facts["dimension_counts"][0] <= tensor.rank <= facts["dimension_counts"][1]
                            and cap.short_name(tensor.DataType) in facts["data_types"]
                        )
                        assert accepted(desc_class, level, info, tensor, support) is expected, (level, info, tensor)


def accepted(desc_class, level, info, tensor, support):
    desc = object.__new__(desc_class)  # only this field is read
    object.__setattr__(desc, info.name, (tensor,) if info.type == "tensor_array" else tensor)
    try:
        check_tensor_field(Check(desc, level), info, support[info.name])
    except DMLError:
        return False
    return True


@given(st.sampled_from(sorted(TABLE)), st.sampled_from(LEVELS), st.sampled_from(TENSORS), st.data())
@settings(max_examples=400)
def test_validation_of_descriptions_matches_the_table(name, level, tensor, data):
    """The table's refusals, and only these, give a capability message; other messages come from other rules."""
    desc_class = dml.operators()[dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"]]
    samples = {
        "uint": 1, "int": 0, "float": 1.0, "bool": False, "uint_array": (1,), "int_array": (1,), "float_array": (1.0,),
        "operator": None, "operator_array": (), "DML_SCALE_BIAS": None, "DML_SIZE_2D": dml.DML_SIZE_2D(1, 1),
        "DML_SCALAR_UNION": dml.DML_SCALAR_UNION(Int8=0),
    }  # fmt: skip
    values = {}
    for info in desc_class.fields_info:
        if info.is_tensor:
            values[info.name] = (tensor,) if info.type == "tensor_array" else tensor
        elif info.counts is None:
            values[info.name] = next(iter(info.enum)) if info.enum else samples[info.type]
    function = None
    if name == "REDUCE":
        function = values["Function"] = data.draw(st.sampled_from(list(DML_REDUCE_FUNCTION)))
    facts = table_at(name, level, function)
    message = None
    try:
        dml.validate(desc_class(**values), level)
    except DMLError as error:
        message = error.message
    if facts is None:
        assert f"{name}.Type: is available from feature level {TABLE[name]['introduced']}" in message
        return
    supported = all(
        held["dimension_counts"][0] <= tensor.rank <= held["dimension_counts"][1]
        and cap.short_name(tensor.DataType) in held["data_types"]
        for held in facts.values()
    )
    refused = message is not None and CAPABILITY_MESSAGE.search(message) is not None
    assert supported is not refused, message


def test_reduce_without_a_function_covers_all_functions():
    union = dml.operator_support(dml.DML_OPERATOR_REDUCE, dml.DML_FEATURE_LEVEL_2_1)
    each = [dml.operator_support(dml.DML_OPERATOR_REDUCE, dml.DML_FEATURE_LEVEL_2_1, f) for f in DML_REDUCE_FUNCTION]
    for tensor in ("InputTensor", "OutputTensor"):
        assert union[tensor].data_types == frozenset().union(*(one[tensor].data_types for one in each))
    assert dml.DML_TENSOR_DATA_TYPE_UINT16 in union["InputTensor"].data_types
    average = dml.operator_support(dml.DML_OPERATOR_REDUCE, dml.DML_FEATURE_LEVEL_2_1, dml.DML_REDUCE_FUNCTION_AVERAGE)
    assert average["InputTensor"].data_types == {dml.DML_TENSOR_DATA_TYPE_FLOAT32, dml.DML_TENSOR_DATA_TYPE_FLOAT16}


def test_an_operator_is_absent_below_its_level():
    assert dml.operator_support(dml.DML_OPERATOR_RESAMPLE3, dml.DML_FEATURE_LEVEL_6_3) is None
    assert dml.operator_support(dml.DML_OPERATOR_RESAMPLE3) is not None
    assert cap.operator_introduced(dml.DML_OPERATOR_GATHER_ND1) is dml.DML_FEATURE_LEVEL_3_0


def test_zero_points_become_optional_with_6_2():
    for level, optional in ((dml.DML_FEATURE_LEVEL_6_1, False), (dml.DML_FEATURE_LEVEL_6_2, True)):
        support = dml.operator_support(dml.DML_OPERATOR_ELEMENT_WISE_QUANTIZE_LINEAR, level)
        assert support["ZeroPointTensor"].optional is optional


def test_in_place_operators():
    """In-place use is allowed where the pages promise it, and not where they are silent."""
    for promised in ("ELEMENT_WISE_ADD", "ACTIVATION_SWISH", "ACTIVATION_HARD_SWISH", "ACTIVATION_RELU"):
        assert cap.supports_in_place(dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{promised}"]), promised
    for silent in ("GEMM", "ACTIVATION_GELU", "ELEMENT_WISE_IS_INFINITY", "FILL_VALUE_CONSTANT", "FILL_VALUE_SEQUENCE"):
        assert not cap.supports_in_place(dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{silent}"]), silent


@pytest.mark.parametrize("wrong", [0, 178, "GRUU", "INVALID", "DML_GRUU_OPERATOR_DESC", "DML_GRU"])
def test_unknown_operators_are_refused(wrong):
    with pytest.raises(DMLError, match="operator type"):
        dml.operator_support(wrong)


def test_unknown_levels_and_functions_are_refused():
    with pytest.raises(DMLError, match="feature level"):
        dml.operator_support(dml.DML_OPERATOR_GRU, 0x3300)
    with pytest.raises(DMLError, match="function"):
        dml.operator_support(dml.DML_OPERATOR_REDUCE, dml.DML_FEATURE_LEVEL_3_0, 12)


@pytest.mark.parametrize(
    ("data_type", "since"),
    [("FLOAT32", "1_0"), ("INT8", "1_0"), ("FLOAT64", "3_0"), ("INT64", "3_0"), ("UINT64", "3_0"), ("INT4", "6_3"),
     ("UINT4", "6_3")],
)  # fmt: skip
def test_data_type_support_follows_the_level(data_type, since):
    query = dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(
        dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{data_type}"]
    )
    for level in LEVELS:
        answer = cap.check_feature_support(dml.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT, query, level)
        assert answer == dml.DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT(reaches(level, since))


def test_no_level_supports_the_unknown_data_type():
    assert not cap.tensor_data_type_supported(dml.DML_TENSOR_DATA_TYPE_UNKNOWN)
    with pytest.raises(DMLError, match="DML_TENSOR_DATA_TYPE"):
        cap.tensor_data_type_supported(14)


def test_feature_levels_returns_the_highest_requested():
    query = dml.DML_FEATURE_QUERY_FEATURE_LEVELS([0x1000, 0x5100, 0x2000])
    for level, highest in ((0x6400, 0x5100), (0x5000, 0x2000), (0x1000, 0x1000)):
        answer = cap.check_feature_support(dml.DML_FEATURE_FEATURE_LEVELS, query, DML_FEATURE_LEVEL(level))
        assert answer.MaxSupportedFeatureLevel == highest


@pytest.mark.parametrize(
    ("feature", "query", "hresult"),
    [
        (1, dml.DML_FEATURE_QUERY_FEATURE_LEVELS([0x6000]), "DXGI_ERROR_UNSUPPORTED"),
        (1, dml.DML_FEATURE_QUERY_FEATURE_LEVELS([]), "E_INVALIDARG"),
        (1, dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(dml.DML_TENSOR_DATA_TYPE_INT8), "E_INVALIDARG"),
        (0, None, "E_INVALIDARG"),
        (2, None, "DXGI_ERROR_UNSUPPORTED"),
    ],
)
def test_wrong_feature_queries(feature, query, hresult):
    with pytest.raises(DMLError) as caught:
        cap.check_feature_support(feature, query, dml.DML_FEATURE_LEVEL_5_2)
    assert caught.value.hresult.name == hresult
