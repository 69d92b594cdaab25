"""Matrix products of 8-bit integers with packed-byte dot products: exact INT32 sums, and the results computed from
them."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.compiler.target import DeviceClass
from harness import assert_exact, like, random, run, tensor

LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255)}
#: Kernels for more than eight rows and columns, by feature.
KERNELS = {False: "gemm/bytes.comp", True: "gemm/bytes_matrix.comp"}


def labels(device, desc):
    compiled = device.compile_operator(device.create_operator(desc))
    return [dispatch.label for dispatch in (*compiled.program.initialize, *compiled.program.dispatches)]


def tiled(device):
    return KERNELS[bool(device.vulkan.target.features.byte_matrices)]


def make(types, batch, m, k, n, points=(False, False), per=True, seed=0):
    """Return inputs by name, and their product in int64 (whose low 32 bits are the sums' bits)."""
    rng = np.random.default_rng(seed)
    found, less = {}, []
    for name, dtype, sizes, zero, axis in (
        ("A", types[0], (m, k), points[0], -2),
        ("B", types[1], (k, n), points[1], -1),
    ):
        value = random(rng, dtype, (*batch, *sizes), *LIMITS[dtype])
        found[f"{name}Tensor"] = value
        less.append(value.astype(np.int64))
        if zero:
            one = [1] * value.ndim
            one[axis] = value.shape[axis] if per else 1
            # including the ends of the range
            point = random(rng, dtype, one, *LIMITS[dtype])
            point.flat[0], point.flat[-1] = LIMITS[dtype]
            found[f"{name}ZeroPointTensor"] = point
            less[-1] = less[-1] - point
    return found, less[0] @ less[1]


def describe(inputs, sums, layouts=("packed",) * 3):
    a, b, result = layouts
    fields = {name: like(value, {"ATensor": a, "BTensor": b}.get(name, "packed")) for name, value in inputs.items()}
    return dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(**fields, OutputTensor=tensor("INT32", sums.shape, result))


@pytest.mark.parametrize("types", [(a, b) for a in LIMITS for b in LIMITS])
@pytest.mark.parametrize("points", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("m, k, n", [(40, 70, 33), (64, 128, 72), (3, 50, 20), (30, 33, 5)])
def test_sums_are_exact(on_bytes, types, points, m, k, n):
    inputs, sums = make(types, (), m, k, n, points)
    desc = describe(inputs, sums)
    expected = tiled(on_bytes) if min(m, n) > 8 else "gemm/bytes_rows.comp"
    if expected == "gemm/bytes_rows.comp" and not on_bytes.vulkan.target.features.integer_dot_product:
        pytest.skip("few rows are multiplied by the dot product alone")
    assert labels(on_bytes, desc)[-1] == expected
    assert_exact(run(on_bytes, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("types", [(a, b) for a in LIMITS for b in LIMITS])
@pytest.mark.parametrize("points", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("m, k, n", [(1, 70, 40), (5, 64, 100), (35, 200, 33), (70, 66, 3)])
def test_cpu_drivers(seen_as, types, points, m, k, n):
    """A constant b, any number of rows, and few columns."""
    device = seen_as(device_class=DeviceClass.CPU)
    inputs, sums = make(types, (), m, k, n, points)
    flags = {"Flags": dml.DML_TENSOR_FLAG_OWNED_BY_DML}
    fields = {name: like(value, **(flags if name == "BTensor" else {})) for name, value in inputs.items()}
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(**fields, OutputTensor=tensor("INT32", sums.shape))
    if device.vulkan.target.llvmpipe > (0, 0):
        assert labels(device, desc)[-1] == "gemm/bytes_tiled.comp"
    assert_exact(run(device, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("layouts", [("reversed", "padded", "reversed"), ("padded", "reversed", "padded")])
@pytest.mark.parametrize("k", [63, 64])
def test_cpu_drivers_layouts(seen_as, layouts, k):
    """CPU drivers use the kernel for bytes from 64 products per sum on."""
    device = seen_as(device_class=DeviceClass.CPU)
    inputs, sums = make(("UINT8", "INT8"), (2, 3), 9, k, 68, (True, True))
    desc = describe(inputs, sums, layouts)
    if device.vulkan.target.llvmpipe > (0, 0):
        assert (labels(device, desc)[-1] == "gemm/bytes_tiled.comp") == (k == 64)
    assert_exact(run(device, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize(
    "layouts",
    [
        ("reversed", "reversed", "packed"),
        ("padded", "padded", "padded"),
        ("packed", "reversed", "reversed"),
        ("broadcast", "packed", "packed"),
    ],
)
@pytest.mark.parametrize("batch", [(2,), (2, 3)])
def test_layouts(on_bytes, layouts, batch):
    inputs, sums = make(("UINT8", "INT8"), batch, 18, 48, 20, (True, True))
    if layouts[0] == "broadcast":
        inputs["ATensor"][:] = inputs["ATensor"][:1]
        less = inputs["ATensor"].astype(np.int64) - inputs["AZeroPointTensor"]
        sums = less @ (inputs["BTensor"].astype(np.int64) - inputs["BZeroPointTensor"])
    desc = describe(inputs, sums, layouts)
    assert labels(on_bytes, desc)[-1] == tiled(on_bytes)
    assert_exact(run(on_bytes, desc, inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("types", [("UINT8", "UINT8"), ("UINT8", "INT8"), ("INT8", "INT8")])
def test_the_largest_sums(on_bytes, types):
    """The largest products, with differences from the zero point that need nine bits."""
    m, k, n = 16, 700, 24
    a, b = (
        np.full(sizes, LIMITS[dtype][0], dtype.lower()) for dtype, sizes in zip(types, ((m, k), (k, n)), strict=True)
    )
    points = [np.full((1, 1), LIMITS[dtype][1], dtype.lower()) for dtype in types]
    inputs = {"ATensor": a, "AZeroPointTensor": points[0], "BTensor": b, "BZeroPointTensor": points[1]}
    sums = np.full((m, n), k * 255 * 255, np.int32)
    assert_exact(run(on_bytes, describe(inputs, sums), inputs)["OutputTensor"], sums)


@pytest.mark.parametrize("owned", [False, True])
def test_the_same_twice_with_weights_of_the_operator(on_bytes, owned):
    inputs, sums = make(("UINT8", "INT8"), (), 24, 40, 32, (True, True))
    flags = {"Flags": dml.DML_TENSOR_FLAG_OWNED_BY_DML} if owned else {}
    fields = {name: like(value, **(flags if name[0] == "B" else {})) for name, value in inputs.items()}
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(**fields, OutputTensor=tensor("INT32", sums.shape))
    compiled = on_bytes.compile_operator(on_bytes.create_operator(desc))
    once = [dispatch.label for dispatch in compiled.program.initialize]
    assert ("gemm/bytes_lines.comp" in once) == owned
    for _ in range(2):
        assert_exact(compiled.dispatch(inputs)["OutputTensor"], sums.astype(np.int32))


@pytest.mark.parametrize("output", ["INT8", "UINT8"])
@pytest.mark.parametrize("n", [32, 33])
@pytest.mark.parametrize("layout", ["packed", "reversed"])
def test_quantized(on_bytes, output, n, layout):
    inputs, sums = make(("UINT8", "INT8"), (2,), 20, 48, n, (True, True))
    rng = np.random.default_rng(1)
    inputs["AScaleTensor"] = rng.uniform(0.01, 0.1, (1, 20, 1)).astype(np.float32)
    inputs["BScaleTensor"] = rng.uniform(0.01, 0.1, (1, 1, n)).astype(np.float32)
    inputs["OutputScaleTensor"] = rng.uniform(3.0, 5.0, (1, 20, 1)).astype(np.float32)
    inputs["OutputZeroPointTensor"] = random(rng, output, (1, 20, 1), -20, 20)
    desc = dml.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor(output, sums.shape, layout)
    )
    assert labels(on_bytes, desc)[-1] == tiled(on_bytes)
    factor = inputs["AScaleTensor"] * inputs["BScaleTensor"] / inputs["OutputScaleTensor"]
    expected = np.rint(sums.astype(np.float32) * factor) + inputs["OutputZeroPointTensor"]
    result = run(on_bytes, desc, inputs)["OutputTensor"]
    assert_exact(result, np.clip(expected, *LIMITS[output]).astype(result.dtype))
    assert len(np.unique(result)) > 50


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("m, kind", [(1, "UINT8"), (24, "INT8"), (24, "UINT8")])
def test_to_float(on_bytes, dtype, bias, m, kind):
    inputs, sums = make((kind, kind), (), m, 48, 36, (True, True))
    rng = np.random.default_rng(2)
    for name, sizes in (("A", (m, 1)), ("B", (1, 36))):
        inputs[f"{name}ScaleTensor"] = rng.uniform(0.001, 0.01, sizes).astype(dtype.lower())
    if bias:
        inputs["BiasTensor"] = random(rng, dtype, (m, 36))
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor(dtype, sums.shape)
    )
    scales = [inputs[f"{name}ScaleTensor"].astype(np.float32) for name in "AB"]
    # The sums are exact in float32; the two products and the sum round once each
    expected = sums.astype(np.float32) * scales[0] * scales[1]
    if bias:
        expected = expected + inputs["BiasTensor"].astype(np.float32)
    result = run(on_bytes, desc, inputs)["OutputTensor"]
    if dtype == "FLOAT32":
        # a device may fuse the multiplication and the addition
        np.testing.assert_allclose(result, expected, rtol=2.0**-22, atol=2.0**-22)
    else:
        np.testing.assert_allclose(result, expected, rtol=2.0**-10, atol=2.0**-22)


def test_to_float_of_more_products_than_32_bits_hold(on_bytes):
    """INT32 sums of differences of 255 would wrap, so the product is computed in float32."""
    k = 33025 + 16
    a, b = np.zeros((9, k), np.uint8), np.zeros((k, 16), np.uint8)
    one, most = np.ones((1, 1), np.float32), np.full((1, 1), 255, np.uint8)
    inputs = {"ATensor": a, "AScaleTensor": one, "AZeroPointTensor": most}
    inputs |= {"BTensor": b, "BScaleTensor": one, "BZeroPointTensor": most}
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor("FLOAT32", (9, 16))
    )
    result = run(on_bytes, desc, inputs)["OutputTensor"]
    np.testing.assert_allclose(result, np.full((9, 16), k * 255.0 * 255.0), rtol=1e-3)


@pytest.mark.parametrize("m, k, n, kernel", [(40, 48, 56, "gemm/shared.comp"), (5, 5000, 9, "gemm/parts.comp")])
def test_without_the_features_the_portable_kernels(seen_as, on_bytes, m, k, n, kernel):
    inputs, sums = make(("UINT8", "INT8"), (), m, k, n, (True, True))
    features = on_bytes.vulkan.target.features.without("cooperative_matrix", "integer_dot_product")
    without = seen_as("subgroups", features=features)
    desc = describe(inputs, sums)
    assert labels(without, desc)[-1] == kernel
    assert_exact(run(without, desc, inputs)["OutputTensor"], sums.astype(np.int32))


def test_few_storage_buffers(seen_as, on_bytes):
    """Zero points and scales bind ten tensors, more than the device allows."""
    device = seen_as("subgroups", features=on_bytes.vulkan.target.features, max_storage_buffers=4)
    inputs, sums = make(("UINT8", "INT8"), (), 20, 48, 24, (True, True))
    ones = {
        f"{name}ScaleTensor": np.full((1, 1), scale, np.float32)
        for name, scale in (("A", 0.5), ("B", 0.25), ("Output", 64.0))
    }
    inputs |= ones | {"OutputZeroPointTensor": np.full((1, 1), 7, np.int8)}
    desc = dml.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC(
        **{name: like(value) for name, value in inputs.items()}, OutputTensor=tensor("INT8", sums.shape)
    )
    assert labels(device, desc)[-1] == tiled(device)
    expected = np.clip(np.rint(sums.astype(np.float32) * np.float32(0.125 / 64.0)) + 7, -128, 127)
    assert_exact(run(device, desc, inputs)["OutputTensor"], expected.astype(np.int8))
