"""The integer matrix products against NumPy: int32 exact; quantized output to nearest even; float within its error
bound."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.selection.stored_weights import KEPT_WIDER
from dml.compiler.target import DeviceClass, Target
from harness import assert_exact, like, random, run, tensor

EIGHT_BITS = ["INT8", "UINT8"]


def limits(dtype):
    return (-128, 127) if dtype == "INT8" else (0, 255)


def parameter(rng, dtype, rank, axis, count, per):
    """Return a scale or zero point of one element, or one per row (column)."""
    sizes = [1] * rank
    if per:
        sizes[max(axis, -rank)] = count
    if dtype.startswith("FLOAT"):
        return rng.uniform(0.01, 0.1, sizes).astype(np.float16 if dtype == "FLOAT16" else np.float32)
    return random(rng, dtype, sizes, -9, 9)


def aligned(values, rank, axis):
    """Reshape a parameter so that it broadcasts to ``rank`` dimensions."""
    sizes = [1] * rank
    sizes[axis] = values.size
    return values.reshape(sizes)


@pytest.mark.parametrize("a_type", EIGHT_BITS)
@pytest.mark.parametrize("b_type", EIGHT_BITS)
@pytest.mark.parametrize(
    "batch, m, k, n, rank, per",
    [
        ((), 5, 9, 6, 2, True),
        ((3,), 1, 70, 33, 1, False),
        ((2, 2), 36, 40, 36, 4, True),
        ((1, 2), 7, 3, 1, None, None),
        # few rows of one matrix of whole words
        ((), 1, 40, 36, 2, True),
        ((1,), 3, 8, 44, 1, False),
        ((1, 1), 32, 12, 8, None, None),
        ((), 33, 12, 8, 2, True),
    ],
)
@pytest.mark.parametrize("layout", ["packed", "padded"])
def test_matrix_multiply_integer(device, as_discrete, a_type, b_type, batch, m, k, n, rank, per, layout):
    rng = np.random.default_rng(0)
    a = random(rng, a_type, (*batch, m, k), *limits(a_type))
    b = random(rng, b_type, (*batch, k, n), *limits(b_type))
    fields, inputs, za, zb = {}, {"ATensor": a, "BTensor": b}, np.int64(0), np.int64(0)
    if rank is not None:
        for name, dtype, axis, count in (("A", a_type, -2, m), ("B", b_type, -1, n)):
            zero = parameter(rng, dtype, rank, axis, count, per)
            fields[f"{name}ZeroPointTensor"] = like(zero)
            inputs[f"{name}ZeroPointTensor"] = zero
        za = aligned(inputs["AZeroPointTensor"], a.ndim, -2).astype(np.int64)
        zb = aligned(inputs["BZeroPointTensor"], a.ndim, -1).astype(np.int64)
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=like(a, layout), BTensor=like(b, layout), OutputTensor=tensor("INT32", (*batch, m, n), layout), **fields
    )
    expected = ((a.astype(np.int64) - za) @ (b.astype(np.int64) - zb)).astype(np.int32)
    assert_exact(run(device, desc, inputs)["OutputTensor"], expected)
    assert_exact(run(as_discrete, desc, inputs)["OutputTensor"], expected)


@pytest.mark.parametrize("types", [("INT8", "INT8", "INT8"), ("UINT8", "INT8", "UINT8"), ("UINT8", "UINT8", "INT8")])
@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize(
    "batch, m, k, n, rank, per",
    [
        ((), 5, 9, 7, 2, True), ((2,), 34, 20, 33, 4, True), ((1, 2), 3, 4, 8, 1, False), ((1,), 6, 20, 28, 2, True),
        ((), 70, 100, 36, 2, True),  # sums of bytes, on CPU drivers too
    ],
)  # fmt: skip
def test_quantized_linear_matrix_multiply(device, types, zero_points, batch, m, k, n, rank, per):
    rng = np.random.default_rng(1)
    a = random(rng, types[0], (*batch, m, k), *limits(types[0]))
    b = random(rng, types[1], (*batch, k, n), *limits(types[1]))
    inputs = {"ATensor": a, "BTensor": b}
    for name, dtype, axis, count in (("A", types[0], -2, m), ("B", types[1], -1, n), ("Output", types[2], -2, m)):
        scale = parameter(rng, "FLOAT32", rank, axis, count, per)
        inputs[f"{name}ScaleTensor"] = scale * np.float32(100) if name == "Output" else scale
        if zero_points:
            inputs[f"{name}ZeroPointTensor"] = parameter(rng, dtype, rank, axis, count, per)
    desc = dml.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor(types[2], (*batch, m, n))
    )

    def zero_point(name, axis):
        array = inputs.get(f"{name}ZeroPointTensor")
        return 0 if array is None else aligned(array, a.ndim, axis).astype(np.int64)

    def scale_of(name, axis):
        return aligned(inputs[f"{name}ScaleTensor"], a.ndim, axis)

    sums = (a.astype(np.int64) - zero_point("A", -2)) @ (b.astype(np.int64) - zero_point("B", -1))
    factor = scale_of("A", -2) * scale_of("B", -1) / scale_of("Output", -2)
    expected = np.rint(sums.astype(np.float32) * factor) + zero_point("Output", -2)
    result = run(device, desc, inputs)["OutputTensor"]
    assert_exact(result, np.clip(expected, *limits(types[2])).astype(result.dtype))
    assert len(np.unique(result)) > 10


@pytest.mark.parametrize("integer", ["INT32", "INT16", "INT8", "UINT32", "UINT16", "UINT8"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("zero_points, bias, rank, per", [(True, True, 2, True), (False, False, 1, False)])
def test_matrix_multiply_integer_to_float(device, integer, dtype, zero_points, bias, rank, per):
    check_product_to_float(device, integer, dtype, zero_points, bias, rank, per, 9)


@pytest.mark.parametrize("integer", EIGHT_BITS)
@pytest.mark.parametrize("zero_points, bias, rank, per", [(True, True, 2, True), (False, False, 1, False)])
def test_few_rows_to_float(device, integer, zero_points, bias, rank, per):
    check_product_to_float(device, integer, "FLOAT32", zero_points, bias, rank, per, 8, (1,), 16)


def test_few_rows_read_bytes_as_they_lie():
    """CPU drivers read b's bytes directly for few rows; for more rows, or rows that are not whole words, they widen a
    copy first."""

    def labels(m, n):
        desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
            ATensor=tensor("UINT8", (m, 64)), BTensor=tensor("INT8", (64, n)), OutputTensor=tensor("INT32", (m, n))
        )
        return [dispatch.label for dispatch in compile_operator(desc, Target(DeviceClass.CPU)).dispatches]

    assert labels(32, 64)[-1] == "gemm/bytes_few.comp"
    assert "gemm/bytes_few.comp" not in labels(33, 64) + labels(2, 66)


def check_product_to_float(device, integer, dtype, zero_points, bias, rank, per, n, batch=(2,), k=13):
    rng = np.random.default_rng(2)
    m = 6
    high = 100 if dtype == "FLOAT16" else np.iinfo(np.dtype(integer.lower())).max // 2
    a, b = (random(rng, integer, (*batch, *sizes), -high, high) for sizes in ((m, k), (k, n)))
    inputs = {"ATensor": a, "BTensor": b}
    for name, axis, count in (("A", -2, m), ("B", -1, n)):
        inputs[f"{name}ScaleTensor"] = parameter(rng, dtype, rank, axis, count, per)
        if zero_points:
            inputs[f"{name}ZeroPointTensor"] = parameter(rng, integer, rank, axis, count, per)
    if bias:
        inputs["BiasTensor"] = random(rng, dtype, (*batch, m, n))
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor(dtype, (*batch, m, n))
    )

    def part(name, axis):
        return aligned(inputs[name], a.ndim, axis).astype(np.float64) if name in inputs else 0.0

    x = (a - part("AZeroPointTensor", -2)) * part("AScaleTensor", -2)
    y = (b - part("BZeroPointTensor", -1)) * part("BScaleTensor", -1)
    extra = inputs["BiasTensor"].astype(np.float64) if bias else 0.0
    expected, terms = x @ y + extra, abs(x) @ abs(y) + abs(extra)
    # Roundings per term: two for each factor, one for the product, one for the sum.
    allowed = (k + 8) * 2.0**-24 * terms + (2.0**-11 * abs(expected) + 2.0**-25 if dtype == "FLOAT16" else 0.0)
    assert np.all(abs(run(device, desc, inputs)["OutputTensor"] - expected) <= allowed)


def test_differences_beyond_32_bits(device):
    """INT32 minus its zero point may need 33 bits; it must not wrap."""
    a = np.array([[2**31 - 1, -(2**31)]], np.int32)
    b = np.array([[1], [2]], np.int32)
    one = np.ones((1, 1), np.float32)
    zero = np.array([[-(2**31)]], np.int32)
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(
        ATensor=like(a), AScaleTensor=like(one), AZeroPointTensor=like(zero),
        BTensor=like(b), BScaleTensor=like(one), OutputTensor=tensor("FLOAT32", (1, 1)),
    )  # fmt: skip
    inputs = {"ATensor": a, "AScaleTensor": one, "AZeroPointTensor": zero, "BTensor": b, "BScaleTensor": one}
    assert run(device, desc, inputs)["OutputTensor"][0, 0] == np.float32(2.0**32)


@pytest.fixture
def small_parts(monkeypatch):
    """Widen weights 256 columns at a time, and keep no widened copies."""
    monkeypatch.setattr("dml.compiler.selection.stored_weights._PART_BYTES", 1)
    monkeypatch.setitem(KEPT_WIDER, "product", 0)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("per", [True, False])
def test_parts_of_columns(device, as_discrete, per):
    test_matrix_multiply_integer(device, as_discrete, "UINT8", "INT8", (2,), 3, 9, 600, 1, per, "padded")
    test_quantized_linear_matrix_multiply(device, ("UINT8", "INT8", "UINT8"), True, (2,), 3, 20, 600, 2, per)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("integer", ["INT16", "UINT8"])
def test_parts_of_columns_to_float(device, integer):
    check_product_to_float(device, integer, "FLOAT32", True, True, 2, True, 600)


@pytest.mark.parametrize("owned", [True, False])
@pytest.mark.parametrize("operator", ["MATRIX_MULTIPLY_INTEGER", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT"])
def test_memory_of_weights(operator, owned):
    """CPU drivers multiply 32-bit copies: of 16 MiB at a time, not of all weights."""
    k, n, more = 4096, 14336, {}
    flags = {"Flags": dml.DML_TENSOR_FLAG_OWNED_BY_DML} if owned else {}
    if "FLOAT" in operator:
        more = {name: tensor("FLOAT32", (1, 1)) for name in ("AScaleTensor", "BScaleTensor")}
    desc = getattr(dml, f"DML_{operator}_OPERATOR_DESC")(
        ATensor=tensor("UINT8", (1, k)),
        BTensor=tensor("INT8", (k, n), **flags),
        OutputTensor=tensor("FLOAT32" if more else "INT32", (1, n)),
        **more,
    )
    program = compile_operator(desc, Target(DeviceClass.CPU))
    assert program.temporary_size < 18 << 20
    assert program.persistent_size <= k * n * owned
