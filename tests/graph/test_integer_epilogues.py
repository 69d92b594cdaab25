"""Epilogues on integer results, or with them, give the same bits as separate kernels."""

from __future__ import annotations

import numpy as np
import pytest
from epilogue_cases import PRODUCERS, Case, behind, feeds, steps

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder
from harness import assert_exact, can_bind, like, tensor

LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT32": (-1200, 1200), "UINT32": (0, 1200), "INT16": (-999, 999),
          "UINT16": (0, 999)}  # fmt: skip


def whole(dtype: str, *sizes: int, seed: int = 0) -> np.ndarray:
    low, high = LIMITS[dtype]
    return np.random.default_rng((seed, *sizes)).integers(low, high, sizes, endpoint=True).astype(dtype.lower())


def product(kind: str, n: int = 12) -> Case:
    """Return a product of UINT8 with a zero point and INT8."""
    a, zero, b = whole("UINT8", 1, 2, 10, 20), np.full((1, 1, 1, 1), 77, np.uint8), whole("INT8", 1, 2, 20, n)
    sums = (a.astype(np.int64) - 77) @ b.astype(np.int64)
    if kind == "INT32":
        desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
            ATensor=like(a), AZeroPointTensor=like(zero), BTensor=like(b), OutputTensor=tensor("INT32", sums.shape)
        )
        return Case(desc, [a, zero, b], sums)
    one, scale = np.full((1, 1, 1, 1), 0.5, np.float32), np.full((1, 1, 1, 1), 200.0, np.float32)
    desc = dml.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(
        ATensor=like(a), AScaleTensor=like(one), AZeroPointTensor=like(zero), BTensor=like(b), BScaleTensor=like(one),
        OutputScaleTensor=like(scale), OutputTensor=tensor(kind, sums.shape),
    )  # fmt: skip
    return Case(desc, [a, one, zero, b, one, scale], np.zeros(sums.shape))


def convolution(kind: str, size: int = 8) -> Case:
    x, w = whole("INT8", 2, 3, size, size), whole("INT8", 6, 3, 3, 3)
    where = {"Strides": (1, 1), "Dilations": (1, 1), "StartPadding": (1, 1), "EndPadding": (1, 1), "GroupCount": 1}
    made = (2, 6, size, size)
    if kind == "INT32":
        desc = dml.DML_CONVOLUTION_INTEGER_OPERATOR_DESC(
            InputTensor=like(x), FilterTensor=like(w), OutputTensor=tensor("INT32", made), **where
        )
        return Case(desc, [x, w], np.zeros(made))
    one, scale = np.full((1, 1, 1, 1), 0.5, np.float32), np.full((1, 1, 1, 1), 300.0, np.float32)
    desc = dml.DML_QUANTIZED_LINEAR_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x), InputScaleTensor=like(one), FilterTensor=like(w), FilterScaleTensor=like(one),
        OutputScaleTensor=like(scale), OutputTensor=tensor(kind, made), **where,
    )  # fmt: skip
    return Case(desc, [x, one, w, one, scale], np.zeros(made))


def reduction(kind: str, axis: int) -> Case:
    x = whole(kind, *(40 if d == axis else size for d, size in enumerate((2, 5, 6, 8))))
    made = x.sum(axis, keepdims=True)
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION_SUM, InputTensor=like(x), OutputTensor=tensor(kind, made.shape), Axes=(axis,)
    )
    return Case(desc, [x], made)


def largest(kind: str) -> Case:
    x = whole(kind, 2, 5, 6, 9)
    desc = dml.DML_MAX_POOLING2_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=tensor(kind, (2, 5, 5, 8)), OutputIndicesTensor=None, Strides=(1, 1),
        WindowSize=(2, 2), StartPadding=(0, 0), EndPadding=(0, 0), Dilations=(1, 1),
    )  # fmt: skip
    return Case(desc, [x], np.zeros((2, 5, 5, 8)))


def resampled(kind: str, mode: str) -> Case:
    x = whole(kind, 2, 5, 3, 4)
    desc = dml.DML_RESAMPLE_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=tensor(kind, (2, 5, 6, 8)), Scales=(1.0, 1.0, 2.0, 2.0),
        InterpolationMode=dml.DML_INTERPOLATION_MODE[f"DML_INTERPOLATION_MODE_{mode}"],
    )  # fmt: skip
    return Case(desc, [x], np.zeros((2, 5, 6, 8)))


def gathered(kind: str, size: int) -> Case:
    x, places = whole(kind, 1, 1, 9, size), np.random.default_rng(8).integers(0, 9, (1, 1, 5, 6)).astype(np.uint32)
    desc = dml.DML_GATHER_OPERATOR_DESC(
        InputTensor=like(x), IndicesTensor=like(places), OutputTensor=tensor(kind, (1, 5, 6, size)), Axis=2,
        IndexDimensions=2,
    )  # fmt: skip
    return Case(desc, [x, places], np.zeros((1, 5, 6, size)))


#: Functions that make cases with integer results, and the data types of these.
INTEGERS = {
    "product": (lambda: product("INT32"), "INT32"),
    "product odd": (lambda: product("INT32", 7), "INT32"),
    "quantized product": (lambda: product("UINT8"), "UINT8"),
    "quantized product odd": (lambda: product("INT8", 7), "INT8"),
    "convolution": (lambda: convolution("INT32"), "INT32"),
    "convolution odd": (lambda: convolution("INT32", 7), "INT32"),
    "quantized convolution": (lambda: convolution("INT8"), "INT8"),
    "reduce": (lambda: reduction("INT32", 3), "INT32"),
    "reduce unsigned": (lambda: reduction("UINT32", 1), "UINT32"),
    "max": (lambda: largest("INT8"), "INT8"),
    "max wide": (lambda: largest("INT32"), "INT32"),
    "nearest": (lambda: resampled("UINT8", "NEAREST_NEIGHBOR"), "UINT8"),
    "linear": (lambda: resampled("INT8", "LINEAR"), "INT8"),
    "gather": (lambda: gathered("INT32", 8), "INT32"),
    "gather odd": (lambda: gathered("INT16", 7), "INT16"),
    "gather bytes": (lambda: gathered("UINT8", 16), "UINT8"),
}


def assert_the_same(device: dml.Device, graph: dml.DML_GRAPH_DESC, inputs: dict[str, np.ndarray], fused: bool) -> None:
    compiled, plain = device.compile_graph(graph), device.compile_graph(graph, optimize=False)
    # Fusing may change layouts, but never adds dispatches
    assert steps(compiled) <= steps(plain) - fused
    result, expected = compiled.dispatch(inputs)["y"], plain.dispatch(inputs)["y"]
    assert_exact(result, expected)
    assert len(np.unique(expected)) > 3


@pytest.mark.parametrize("written", ["FLOAT32", "FLOAT16", "INT32", "UINT8", "INT16"])
@pytest.mark.parametrize("producer", INTEGERS)
def test_a_cast_of_integers(each_kind, producer, written):
    make, kind = INTEGERS[producer]
    case = make()
    if written == kind:
        pytest.skip("no cast")
    sizes = case.expected.shape
    cast = dml.DML_CAST_OPERATOR_DESC(InputTensor=tensor(kind, sizes), OutputTensor=tensor(written, sizes))
    bytes_ = 8 in {np.dtype(name.lower()).itemsize * 8 for name in (kind, written)}
    fused = each_kind.vulkan.target.features.storage_8bit or not bytes_
    assert_the_same(each_kind, behind(each_kind, case, cast), feeds(case), fused and can_bind(each_kind, 8))


@pytest.mark.parametrize("layout", ["packed", "padded", "nhwc"])
@pytest.mark.parametrize("producer", INTEGERS)
def test_a_sum_of_integers(each_kind, producer, layout):
    """Additions of 32-bit integers, and of narrower ones, which wrap."""
    make, kind = INTEGERS[producer]
    case = make()
    sizes = case.expected.shape
    other = whole(kind, *sizes, seed=3)
    add = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(
        ATensor=tensor(kind, sizes), BTensor=like(other), OutputTensor=tensor(kind, sizes, layout)
    )
    graph = behind(each_kind, case, add)
    assert_the_same(each_kind, graph, feeds(case, a1=other), False)


@pytest.mark.parametrize("written", ["INT32", "UINT8", "INT16", "UINT32"])
@pytest.mark.parametrize("producer", PRODUCERS)
def test_integers_of_floats(each_kind, producer, written):
    case = PRODUCERS[producer]("FLOAT32")
    sizes = case.expected.shape
    quantize = dml.DML_CAST_OPERATOR_DESC(InputTensor=tensor("FLOAT32", sizes), OutputTensor=tensor(written, sizes))
    assert_cast(each_kind, behind(each_kind, case, quantize), feeds(case))


def assert_cast(device: dml.Device, graph: dml.DML_GRAPH_DESC, inputs: dict[str, np.ndarray]) -> None:
    compiled, plain = device.compile_graph(graph), device.compile_graph(graph, optimize=False)
    assert_exact(compiled.dispatch(inputs)["y"], plain.dispatch(inputs)["y"])


def test_products_of_bytes_to_floats_in_one_kernel(on_bytes):
    """Quantized models follow each product by a cast, a scale, a bias and an activation."""
    rng = np.random.default_rng(0)
    a, b = whole("UINT8", 24, 48), whole("INT8", 48, 32)
    scale, bias = rng.uniform(0.01, 0.1, (1, 32)).astype(np.float32), rng.uniform(-9, 9, (1, 32)).astype(np.float32)
    builder = Builder(on_bytes)
    x = builder.input("a", a.shape, dml.DML_TENSOR_DATA_TYPE_UINT8)
    w = builder.input("b", b.shape, dml.DML_TENSOR_DATA_TYPE_INT8, owned_by_dml=True)
    (sums,) = builder.node(
        dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, {"OutputTensor": tensor("INT32", (24, 32))}, ATensor=x, BTensor=w
    ).values()
    y = op.cast(sums, dml.DML_TENSOR_DATA_TYPE_FLOAT32) * builder.input("scale", scale.shape)
    y = op.relu(y + builder.input("bias", bias.shape))
    compiled, plain = builder.compile({"y": y}), builder.compile({"y": y}, optimize=False)
    inputs = {"a": a, "b": b, "scale": scale, "bias": bias}
    result = compiled.dispatch(inputs)["y"]
    assert [d.label for d in compiled.program.dispatches][-1].startswith("gemm/bytes")
    expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32) * scale + bias
    # In a fused kernel, a compiler may contract a multiply-add, a difference of about an ulp
    for found in (result, plain.dispatch(inputs)["y"]):
        np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=2.0**-22, atol=2.0**-12)
