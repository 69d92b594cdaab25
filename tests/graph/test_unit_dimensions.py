"""A converting Builder adds dimensions of size 1 where an old feature level needs more dimensions."""

import numpy as np
import pytest

import dml
from dml import enums
from dml.capability import short_name
from dml.graph import Builder
from dml.graph import operations as op
from dml.graph.unit_dimensions import _POSITIONS
from harness import assert_exact

FLOAT32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
INT8 = enums.DML_TENSOR_DATA_TYPE_INT8
UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32
X = np.random.default_rng(36).uniform(-2, 2, (3, 4)).astype(np.float32)


def _one(structure, sizes, data_type=FLOAT32, **fields):
    return lambda x: [x.builder.one(structure, sizes, data_type, **{"InputTensor": x} | fields)]


def _indices(x):
    return x.builder.constant(np.array([[2, 0, 1, 1]], np.uint32))


def _bytes(x, sizes):
    return x.builder.constant(np.arange(np.prod(sizes)).astype(np.int8).reshape(sizes))


def _top_k(x):
    outputs = {
        "OutputValueTensor": x.builder.output(FLOAT32, (3, 2)),
        "OutputIndexTensor": x.builder.output(UINT32, (3, 2)),
    }
    return list(x.builder.node(dml.DML_TOP_K_OPERATOR_DESC, outputs, InputTensor=x, Axis=1, K=2).values())


def _quantized_product(x):
    number = {name: x.builder.constant(np.full((1, 1), 0.5, np.float32)) for name in ("AScaleTensor", "BScaleTensor")}
    scale = x.builder.constant(np.full((1, 1), 3, np.float32))
    return [
        x.builder.one(
            dml.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC, (2, 3), INT8, ATensor=_bytes(x, (2, 4)),
            BTensor=_bytes(x, (4, 3)), OutputScaleTensor=scale, **number,
        )
    ]  # fmt: skip


#: For each operator, its outputs from a tensor of fewer dimensions than the old level takes.
CASES = {
    "ACTIVATION_RELU": lambda x: [op.relu(x)],
    "ELEMENT_WISE_ADD": lambda x: [x + x],
    "ELEMENT_WISE_CLIP": lambda x: [op.clip(x, -1, 1)],
    "CAST": lambda x: [op.cast(x, enums.DML_TENSOR_DATA_TYPE_INT32)],
    "CONVOLUTION": lambda x: [
        op.convolution(x.reshape(1, 3, 4), x.reshape(2, 3, 2), start_padding=(1,), end_padding=(2,), dilations=(2,))
    ],
    "CUMULATIVE_PRODUCT": lambda x: [op.cumulative_product(x, 1)],
    "CUMULATIVE_SUMMATION": lambda x: [op.cumulative_sum(x, 0)],
    "DIAGONAL_MATRIX": lambda x: [
        x.builder.node(
            dml.DML_DIAGONAL_MATRIX_OPERATOR_DESC, {"OutputTensor": x.desc}, Offset=1, Value=2.0
        )["OutputTensor"]
    ],
    "FILL_VALUE_CONSTANT": lambda x: [op.fill_value_constant(x.builder, (5,), 2, FLOAT32)],
    "FILL_VALUE_SEQUENCE": lambda x: [op.fill_value_sequence(x.builder, (5,), 2, 3, FLOAT32)],
    "GATHER_ELEMENTS": lambda x: [op.gather_elements(x, _indices(x), 0)],
    "GEMM": lambda x: [op.gemm(x, x, transpose_b=True)],
    "JOIN": lambda x: [op.join([x, x], 1)],
    "LP_NORMALIZATION": _one(dml.DML_LP_NORMALIZATION_OPERATOR_DESC, (3, 4), Axis=1, Epsilon=0.0, P=2),
    "MATRIX_MULTIPLY_INTEGER": lambda x: [
        x.builder.one(
            dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, (2, 3), enums.DML_TENSOR_DATA_TYPE_INT32,
            ATensor=_bytes(x, (2, 4)), BTensor=_bytes(x, (4, 3)),
        )
    ],
    "MEAN_VARIANCE_NORMALIZATION1": _one(
        dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, (3, 4), Axes=(1,), NormalizeVariance=True, Epsilon=1e-3
    ),
    "ONE_HOT": lambda x: [op.one_hot(_indices(x), 3, axis=0)],
    "PADDING": lambda x: [op.padding(x, (1, 0), (0, 2), value=7)],
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": _quantized_product,
    "REDUCE": lambda x: [op.reduce(x, "SUM", [1])],
    "REVERSE_SUBSEQUENCES": lambda x: [
        op.reverse_subsequences(x, x.builder.constant(np.array([[3], [2], [4]], np.uint32)), 1)
    ],
    "SCATTER": lambda x: [
        x.builder.one(
            dml.DML_SCATTER_OPERATOR_DESC, (3, 4), InputTensor=x, IndicesTensor=_indices(x),
            UpdatesTensor=x.builder.constant(np.array([[9, 8, 7, 6]], np.float32)), Axis=0,
        )
    ],
    "SLICE": _one(dml.DML_SLICE_OPERATOR_DESC, (2, 3), Offsets=(1, 0), Sizes=(2, 3), Strides=(1, 1)),
    "SLICE1": lambda x: [op.slice_(x, (0, 1), (3, 3), (-1, 2))],
    "SPLIT": lambda x: op.split(x, 1, (1, 3)),
    "TILE": lambda x: [op.tile(x, (2, 1))],
    "TOP_K": _top_k,
    "TOP_K1": lambda x: list(op.top_k(x, 2, 0)),
}  # fmt: skip
#: The last level that requires four dimensions, if not 2_1.
LEVELS = {
    "CAST": "3_0", "CUMULATIVE_PRODUCT": "3_1", "FILL_VALUE_CONSTANT": "3_1", "FILL_VALUE_SEQUENCE": "3_1",
    "REVERSE_SUBSEQUENCES": "3_1",
}  # fmt: skip


def test_every_operator_has_a_case():
    assert _POSITIONS.keys() <= CASES.keys()


def _outputs(device, make, level):
    old = dml.create_device(device.vulkan.index, feature_level=level)
    builder = Builder(old, converts=True)
    x = builder.input("x", X.shape)
    outputs = {str(number): tensor for number, tensor in enumerate([*make(x), x])}  # not every case reads x
    kinds = [
        short_name(node.Desc.Operator.desc.OPERATOR_TYPE)
        for node in builder.build(outputs).Nodes
        if hasattr(node.Desc, "Operator")
    ]
    return builder.compile(outputs).dispatch({"x": X}), kinds


@pytest.mark.parametrize("operator", CASES)
def test_an_old_level_takes_fewer_dimensions(device, operator):
    found, kinds = _outputs(device, CASES[operator], LEVELS.get(operator, "2_1"))
    wanted, _ = _outputs(device, CASES[operator], "6_4")
    assert operator in kinds
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name].shape == value.shape
        assert_exact(found[name], value)


def test_the_axes_of_images_keep_their_meaning(device):
    """BATCH_NORMALIZATION has channels in its second dimension, so a dimension in front would change its result."""
    builder = Builder(dml.create_device(device.vulkan.index, feature_level="3_0"), converts=True)
    x = builder.input("x", (3, 4))
    one = builder.constant(np.ones((1, 4), np.float32))
    with pytest.raises(dml.DMLError, match=r"BATCH_NORMALIZATION.*DimensionCount: must be 4"):
        op.batch_normalization(x, one, one, one, one)
