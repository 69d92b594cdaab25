"""Errors of WebNN's operations, and the limits that they report."""

from __future__ import annotations

import inspect

import pytest

from dml.errors import DMLError
from dml.frontends.webnn import MLGraphBuilder, MLOperand, MLOperandDescriptor, create_context
from dml.frontends.webnn.steps import OperationBuilder

OPERATIONS = sorted(
    name
    for name in dir(MLGraphBuilder)
    if not name.startswith("_") and name not in {*dir(OperationBuilder), "input", "constant", "build"}
)


@pytest.fixture
def context(device):
    made = create_context(device)
    yield made
    made.destroy()


@pytest.fixture
def builder(context):
    return MLGraphBuilder(context)


def x(builder, *shape, kind="float32"):
    return builder.input("x", MLOperandDescriptor(kind, shape))


def test_the_operations_are_the_specifications():
    """The operations match the specification of June 2026, by their number and by some names of each family."""
    assert len(OPERATIONS) == 95
    assert {"arg_max", "conv_transpose2d", "gather_nd", "is_infinite", "l2_pool2d", "reduce_log_sum_exp", "round_even",
            "scatter_nd", "triangular", "where"} <= set(OPERATIONS)  # fmt: skip


def test_every_operation_reports_its_limits(context):
    limits = context.op_support_limits()
    assert limits["max_tensor_byte_length"] == 2**31 - 1
    assert limits["preferred_input_layout"] == "nchw"
    assert set(limits) == {*OPERATIONS, "input", "constant", "output", "max_tensor_byte_length",
                           "preferred_input_layout"}  # fmt: skip
    for name in OPERATIONS:
        hints = inspect.get_annotations(getattr(MLGraphBuilder, name), eval_str=False)
        operands = {field for field, hint in hints.items() if "MLOperand" in str(hint) and field != "return"}
        assert set(limits[name]) - {"output", "outputs"} == operands, name
        for field, found in limits[name].items():
            assert found.data_types, (name, field)
            assert 0 <= found.rank_range.min <= found.rank_range.max <= 8, (name, field)
    with pytest.raises(DMLError, match="no operation 'relu6'"):
        context.limits("relu6")
    assert limits["relu"]["input"].data_types == ("float32", "float16", "int32", "int8")
    assert "int4" in limits["dequantize_linear"]["input"].data_types
    assert "uint64" in limits["gather"]["input"].data_types
    assert "uint64" not in limits["gather"]["indices"].data_types


def float2(b):
    return x(b, 2, 2)


#: A call that breaks one rule, and words of its message.
REFUSED = {
    "data type": (lambda b: b.abs(x(b, 2, kind="uint8")), "abs input float32 uint8"),
    "rank": (lambda b: b.softmax(x(b), 0), "softmax 1 to 8 ()"),
    "other types": (lambda b: b.add(x(b, 2), x(b, 2, kind="int32")), "one data type int32"),
    "broadcast": (lambda b: b.mul(x(b, 2), x(b, 3)), "(2,) (3,) broadcast"),
    "axis": (lambda b: b.arg_max(float2(b), 2), "axis (2, 2) 2"),
    "negative axis": (lambda b: b.softmax(float2(b), -1), "axis -1"),
    "repeated axes": (lambda b: b.reduce_sum(float2(b), axes=[1, 1]), "axes (1, 1)"),
    "output type": (lambda b: b.arg_min(float2(b), 0, output_data_type="uint8"), "output_data_type int32 uint8"),
    "type": (lambda b: b.cast(float2(b), "float64"), "data_type float64"),
    "limits": (lambda b: b.clamp(float2(b), min_value=2, max_value=1), "min_value 2.0 1.0"),
    "not finite": (lambda b: b.linear(float2(b), alpha=float("inf")), "alpha finite"),
    "statistics": (lambda b: b.batch_normalization(float2(b), x(b, 3), x(b, 2)), "mean (2,) (3,)"),
    "nothing to join": (lambda b: b.concat([], 0), "concat input"),
    "joined sizes": (lambda b: b.concat([float2(b), x(b, 2, 3)], 0), "(2, 2) (2, 3) axis 0"),
    "padding": (lambda b: b.conv2d(x(b, 1, 1, 5, 5), x(b, 1, 1, 3, 3), padding=[1]), "padding 4 (1,)"),
    "strides": (lambda b: b.conv2d(x(b, 1, 1, 5, 5), x(b, 1, 1, 3, 3), strides=[0, 1]), "strides 1 (0, 1)"),
    "layout": (lambda b: b.conv2d(x(b, 1, 1, 5, 5), x(b, 1, 1, 3, 3), input_layout="chwn"), "nchw, nhwc 'chwn'"),
    "groups": (lambda b: b.conv2d(x(b, 1, 3, 5, 5), x(b, 1, 2, 3, 3)), "1 groups 3 2"),
    "window": (lambda b: b.conv2d(x(b, 1, 1, 2, 2), x(b, 1, 1, 3, 3)), "[0, 0] fit"),
    "bias": (lambda b: b.conv2d(x(b, 1, 1, 5, 5), x(b, 2, 1, 3, 3), bias=x(b, 3)), "bias (2,) (3,)"),
    "output padding": (
        lambda b: b.conv_transpose2d(x(b, 1, 1, 5, 5), x(b, 1, 1, 3, 3), output_padding=[1, 0]),
        "output_padding (1, 0) strides",
    ),
    "output sizes": (
        lambda b: b.conv_transpose2d(x(b, 1, 1, 5, 5), x(b, 1, 1, 3, 3), output_sizes=[8, 7]),
        "output_sizes (8, 7) [7, 7]",
    ),
    "blocks": (
        lambda b: b.quantize_linear(x(b, 4), x(b, 3), x(b, 3, kind="int8")),
        "scale (4,) (3,)",
    ),
    "zero point": (
        lambda b: b.dequantize_linear(x(b, 4, kind="int8"), x(b, 2), x(b, 1, kind="int8")),
        "zero_point (2,) (1,)",
    ),
    "shape": (lambda b: b.expand(x(b, 3), [2, 4]), "(3,) (2, 4)"),
    "elements": (lambda b: b.reshape(float2(b), [3]), "(2, 2) (3,)"),
    "indices": (lambda b: b.gather_elements(float2(b), x(b, 3, 1, kind="int32"), axis=1), "indices (2, 1) (3, 1)"),
    "coordinates": (lambda b: b.gather_nd(float2(b), x(b, 3, kind="int32")), "coordinates (3,) (2, 2)"),
    "updates": (lambda b: b.scatter_nd(float2(b), x(b, 1, 1, kind="int32"), x(b, 2)), "updates (1, 2) (2,)"),
    "columns": (lambda b: b.gemm(float2(b), x(b, 3, 2)), "2 columns 3 rows"),
    "addend": (lambda b: b.gemm(float2(b), float2(b), c=x(b, 3)), "(3,) (2, 2)"),
    "batches": (lambda b: b.matmul(x(b, 2, 3, 3), x(b, 4, 3, 3)), "(2,) (4,)"),
    "steps": (lambda b: b.gru(x(b, 2, 1, 3), x(b, 1, 12, 3), x(b, 1, 12, 4), 3, 4), "steps 3 2"),
    "gates": (lambda b: b.gru(x(b, 2, 1, 3), x(b, 1, 9, 3), x(b, 1, 12, 4), 2, 4), "weight (1, 12, 3) (1, 9, 3)"),
    "directions": (
        lambda b: b.lstm(x(b, 2, 1, 3), x(b, 1, 16, 3), x(b, 1, 16, 4), 2, 4, direction="both"),
        "weight (2, 16, 3)",
    ),
    "activations": (
        lambda b: b.gru_cell(x(b, 1, 3), x(b, 12, 3), x(b, 12, 4), x(b, 1, 4), 4, activations=["tanh"]),
        "activations 2 tanh",
    ),
    "activation": (
        lambda b: b.gru_cell(x(b, 1, 3), x(b, 12, 3), x(b, 12, 4), x(b, 1, 4), 4, activations=["elu", "tanh"]),
        "relu, sigmoid, tanh 'elu'",
    ),
    "scale": (lambda b: b.layer_normalization(x(b, 2, 3), scale=x(b, 2)), "scale (3,) (2,)"),
    "reflection": (lambda b: b.pad(x(b, 3), [3], [0], mode="reflection"), "reflection 3"),
    "mode": (lambda b: b.pad(x(b, 3), [3], [0], mode="symmetric"), "mode 'symmetric'"),
    "pooled sizes": (lambda b: b.max_pool2d(x(b, 1, 1, 5, 5), output_sizes=[2, 2]), "output_sizes [[1, 1], [1, 1]]"),
    "scales": (lambda b: b.resample2d(x(b, 1, 1, 5, 5), scales=[1, -1]), "scales -1"),
    "vanishing": (lambda b: b.resample2d(x(b, 1, 1, 5, 5), scales=[0.1, 1]), "size 0"),
    "slice": (lambda b: b.slice(x(b, 5), [3], [3]), "3 5"),
    "splits": (lambda b: b.split(x(b, 5), [2, 2]), "(2, 2) 5"),
    "parts": (lambda b: b.split(x(b, 5), 2), "5 2"),
    "repetitions": (lambda b: b.tile(x(b, 5), [0]), "repetitions (0,)"),
    "permutation": (lambda b: b.transpose(float2(b), permutation=[0, 0]), "permutation (0, 0)"),
    "matrix": (lambda b: b.triangular(x(b, 5)), "2 to 8 (5,)"),
    "condition": (lambda b: b.where(x(b, 2), x(b, 2), x(b, 2)), "condition uint8 float32"),
    "size": (lambda b: b.tile(x(b, 2**20), [2**11]), "bytes"),
    "a number": (lambda b: b.softmax(float2(b), "1"), "MLGraphBuilder.softmax axis '1'"),
}  # fmt: skip


@pytest.mark.parametrize("rule", REFUSED)
def test_a_broken_rule_is_named(builder, rule):
    call, words = REFUSED[rule]
    with pytest.raises(DMLError) as caught:
        call(builder)
    for word in words.split():
        assert word in caught.value.message, caught.value.message


def test_labels_stand_first_and_operands_belong_to_their_builder(context, builder):
    with pytest.raises(DMLError, match=r"^\[here\] relu: input belongs to another builder"):
        MLGraphBuilder(context).relu(x(builder, 2), label="here")


def test_operand_properties(builder):
    made = builder.conv2d(x(builder, 1, 8, 8, 3), x(builder, 4, 3, 3, 3), input_layout="nhwc", padding=[1, 1, 1, 1])
    assert isinstance(made, MLOperand)
    assert (made.data_type, made.shape, made.rank) == ("float32", (1, 8, 8, 4), 4)
    assert repr(made) == "MLOperand(float32, (1, 8, 8, 4))"
