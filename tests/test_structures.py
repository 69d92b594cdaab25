"""Construction of structures: C's order and the short one, types checked at once, and hints to the intended field."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
from dml import DMLError
from sample_descriptors import NAMES, sample

F32 = dml.DML_TENSOR_DATA_TYPE_FLOAT32
T = dml.DML_BUFFER_TENSOR_DESC(F32, (2, 3))
NODE = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(b"1234")
TO_OUTPUT = dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)
BINDING = dml.DML_BUFFER_BINDING(None)
LEVELS = [dml.DML_FEATURE_LEVEL_1_0, dml.DML_FEATURE_LEVEL_2_0]


def test_a_tensor_in_c_order() -> None:
    owned = dml.DML_TENSOR_FLAG_OWNED_BY_DML
    expected = dml.DML_BUFFER_TENSOR_DESC(F32, (2, 3), (4, 1), 64, 16, owned)
    for flags in (owned, 1, np.int64(1)):
        for sizes in ((2, 3), [2, 3], np.array([2, 3])):
            assert dml.DML_BUFFER_TENSOR_DESC(F32, flags, 2, sizes, (4, 1), 64, 16) == expected
    assert dml.DML_BUFFER_TENSOR_DESC(F32, 0, 2, [2, 3], None) == T
    assert dml.DML_BUFFER_TENSOR_DESC(F32, 0, Sizes=(2, 3)) == T
    with pytest.raises(DMLError, match="DimensionCount: must be 4, found 5"):
        dml.DML_BUFFER_TENSOR_DESC(F32, 0, 5, [1, 2, 3, 4])


@pytest.mark.parametrize(
    ("in_c", "short"),
    [
        (
            lambda: dml.DML_GRAPH_DESC(0, 1, 1, [NODE], 0, [], 1, [TO_OUTPUT], 0, []),
            lambda: dml.DML_GRAPH_DESC(0, 1, [NODE], [], [TO_OUTPUT], []),
        ),
        (
            lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS(2, LEVELS),
            lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS(LEVELS),
        ),
        (lambda: dml.DML_BUFFER_ARRAY_BINDING(1, [BINDING]), lambda: dml.DML_BUFFER_ARRAY_BINDING([BINDING])),
        (lambda: dml.DML_JOIN_OPERATOR_DESC(2, [T, T], T, 0), lambda: dml.DML_JOIN_OPERATOR_DESC([T, T], T, 0)),
    ],
)
def test_counts_before_arrays(in_c: Callable[[], Any], short: Callable[[], Any]) -> None:
    assert in_c() == short()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS(3, LEVELS), "RequestedFeatureLevelCount: must be 2, found 3"),
        (lambda: dml.DML_BUFFER_ARRAY_BINDING(2, [BINDING]), "BindingCount: must be 1, found 2"),
        (lambda: dml.DML_GRAPH_DESC(0, 1, 3, [NODE], 0, [], 1, [TO_OUTPUT]), "NodeCount: must be 1, found 3"),
        (lambda: dml.DML_GRAPH_DESC(3), "Nodes, OutputEdges must be given; by position: .*or, as in C, .InputCount"),
        (lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS(3), "RequestedFeatureLevels: must be a sequence, found 3"),
        (
            lambda: dml.DML_BUFFER_TENSOR_DESC(F32, 4),
            "Sizes: must be a sequence, found 4; .*by position: .DataType, Sizes",
        ),
        (lambda: dml.DML_BUFFER_TENSOR_DESC(*range(9)), "has 7 fields, found 9 values"),
        (lambda: dml.DML_JOIN_OPERATOR_DESC(3, [T, T], T, 0), "InputCount: must be 2, found 3"),
    ],
)
def test_values_that_fit_neither_order(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DMLError, match=message):
        make()


def tensor_with(**fields: Any) -> Any:
    return dml.DML_BUFFER_TENSOR_DESC(**{"DataType": F32, "Sizes": (2, 3), **fields})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tensor_with(DataType="flot32"), "DataType: must be a DML_TENSOR_DATA_TYPE, found 'flot32'; near it:"),
        (lambda: tensor_with(DataType=np.float32), r"DataType: must be .*, found type; dml.data_type_of\(dtype\)"),
        (lambda: tensor_with(DataType=np.dtype("f4")), r"DataType: must be .*; dml.data_type_of\(dtype\) is that of a"),
        (lambda: tensor_with(DataType=99), "DataType: must be a DML_TENSOR_DATA_TYPE, found 99"),
        (lambda: tensor_with(DataType=None), "DataType: must be a DML_TENSOR_DATA_TYPE, found None"),
        (lambda: tensor_with(Flags="x"), "Flags: must be DML_TENSOR_FLAGS"),
        (lambda: tensor_with(Flags=None), "Flags: must be DML_TENSOR_FLAGS, found None"),
        (lambda: tensor_with(Sizes=5), "Sizes: must be a sequence of integers, found 5"),
        (lambda: tensor_with(Sizes="23"), "Sizes: must be a sequence of integers"),
        (lambda: tensor_with(Sizes=(2, True)), "Sizes: must be a sequence of integers, found tuple of bool, int"),
        (lambda: tensor_with(Sizes=(2, 1.0)), "Sizes: must be a sequence of integers, found tuple of float, int"),
        (lambda: tensor_with(Strides=3), "Strides: must be a sequence of integers, found 3"),
        (lambda: tensor_with(TotalTensorSizeInBytes="24"), "TotalTensorSizeInBytes: must be an integer, found '24'"),
        (lambda: tensor_with(GuaranteedBaseOffsetAlignment=2.0), "Alignment: must be an integer, found 2.0"),
        (lambda: dml.DML_TENSOR_DESC(1, (2, 3)), r"DML_TENSOR_DESC.Desc: takes DML_BUFFER_TENSOR_DESC"),
        (lambda: dml.DML_SCALE_BIAS("a", 0), r"DML_SCALE_BIAS\.Scale: takes float, found 'a'"),
        (lambda: dml.DML_SIZE_2D(1, 1.5), r"DML_SIZE_2D\.Height: takes int, found 1.5"),
        (lambda: dml.DML_BUFFER_BINDING(None, "0"), r"DML_BUFFER_BINDING\.Offset: takes int, found '0'"),
        (lambda: dml.DML_GRAPH_DESC(InputCount="1", OutputCount=1, Nodes=[NODE], OutputEdges=[]), "InputCount: takes"),
        (lambda: dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(99), "DataType: takes DML_TENSOR_DATA_TYPE, found 99"),
        (lambda: dml.DML_FEATURE_QUERY_FEATURE_LEVELS([1]), "must be a sequence of DML_FEATURE_LEVELs, found list"),
        (lambda: sample("CONVOLUTION").replace(Mode=9), "Mode: must be a DML_CONVOLUTION_MODE, found 9"),
        (lambda: sample("CONVOLUTION").replace(Mode=None), "Mode: must be a DML_CONVOLUTION_MODE, found None"),
        (lambda: sample("CONVOLUTION").replace(GroupCount=True), "GroupCount: must be an integer, found True"),
        (lambda: sample("CONVOLUTION").replace(GroupCount=1.0), "GroupCount: must be an integer, found 1.0"),
        (lambda: sample("CONVOLUTION").replace(Strides=(1, "x")), "Strides: must be a sequence of integers"),
        (lambda: sample("CONVOLUTION").replace(Strides=1), "Strides: must be a sequence of integers, found 1"),
        (lambda: sample("CONVOLUTION").replace(FusedActivation=4), "FusedActivation: must be an operator description"),
        (lambda: sample("CONVOLUTION").replace(InputTensor=(2, 3)), "InputTensor: must be a DML_BUFFER_TENSOR_DESC"),
        (lambda: sample("GEMM").replace(Alpha="1"), "GEMM_OPERATOR_DESC.Alpha: must be a number, found '1'"),
        (lambda: sample("GEMM").replace(Alpha=True), "Alpha: must be a number, found True"),
        (lambda: sample("ELEMENT_WISE_ABS").replace(ScaleBias=(1, 2)), "ScaleBias: must be a DML_SCALE_BIAS"),
        (lambda: sample("FILL_VALUE_CONSTANT").replace(Value=1.0), "Value: must be a DML_SCALAR_UNION, found 1.0"),
        (lambda: sample("LOCAL_RESPONSE_NORMALIZATION").replace(CrossChannel=2), "CrossChannel: must be a bool"),
        (lambda: sample("JOIN").replace(InputTensors=(T, 3)), "InputTensors: must be a sequence of DML_BUFFER_TENSOR"),
        (lambda: sample("UPSAMPLE_2D").replace(ScaleSize=(2, 2)), "ScaleSize: must be a DML_SIZE_2D"),
    ],
)  # fmt: skip
def test_types_are_checked_at_once(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DMLError, match=message):
        make()


@pytest.mark.parametrize("name", NAMES)
def test_fields_refuse_wrong_types(name: str) -> None:
    desc = sample(name)
    for info in desc.fields_info:
        with pytest.raises(DMLError, match=f"{info.name}: must be "):
            desc.replace(**{info.name: object()})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tensor_with(Size=1), "DML_BUFFER_TENSOR_DESC: has no field Size; did you mean Sizes"),
        (lambda: tensor_with(dimension=1), "has no field dimension"),
        (lambda: dml.DML_SIZE_2D(width=1, Height=2), "DML_SIZE_2D: has no field width; did you mean Width"),
        (lambda: sample("GEMM").replace(TransposeA=0), "has no field TransposeA; did you mean TransA"),
        (lambda: dml.DML_INPUT_GRAPH_EDGE_DESC(GraphInput=0), "has no field GraphInput; did you mean GraphInputIndex"),
        (lambda: dml.DML_SCALAR_UNION(Float=1.0), "DML_SCALAR_UNION: has no member Float; did you mean Float"),
        (lambda: dml.DML_BUFFER_BINDING(Offset=0), "DML_BUFFER_BINDING: Buffer must be given$"),
        (lambda: dml.DML_SCALE_BIAS(1.0, Scale=2.0), r"DML_SCALE_BIAS\.Scale: given both by position and by name"),
    ],
)  # fmt: skip
def test_unknown_and_missing_fields(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(DMLError) as error:
        make()
    assert re.search(message, error.value.message), error.value.message
