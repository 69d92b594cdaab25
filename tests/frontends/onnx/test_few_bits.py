"""Low-bit quantized tensors in com.microsoft's gathers and products, compared with ONNX Runtime's CPU provider."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.compiler.target import DeviceClass, Target
from dml.frontends.onnx import prepare
from dml.frontends.onnx.load.loading import load
from dml.frontends.onnx.run.backend import PreparedModel
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner

FLOAT, HALF = np.float32, np.float16


def agree(
    device: dml.Device,
    op: str,
    inputs: dict[str, Array | None],
    rank: int,
    tolerance: float,
    constants: tuple[str, ...] = (),
    dtype: Any = FLOAT,
    **attributes: Any,
) -> None:
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    initializers = tuple(name for name in constants if inputs.get(name) is not None)
    model, given_ = node_model(op, inputs, {"y": (rank, dtype)}, constants=initializers, version=21, **attributes)
    found = prepare(model, device, fallback=False).run(given_)
    assert_close(found, in_onnxruntime(model, given_), tolerance)


# GatherBlockQuantized

CONSTANTS = ("data", "scales", "zeros")


@settings(max_examples=12)
@given(
    bits=st.sampled_from([2, 4, 8]), block=st.sampled_from([16, 32]), blocks=st.integers(1, 5), rows=st.integers(1, 9),
    shape=st.sampled_from([(), (3,), (2, 3)]), zeros=st.booleans(), half=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_rows_of_bytes(
    device: dml.Device,
    bits: int,
    block: int,
    blocks: int,
    rows: int,
    shape: tuple[int, ...],
    zeros: bool,
    half: bool,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    size, kind = block * blocks, HALF if half else FLOAT
    inputs = {
        "data": rng.integers(0, 256, (rows, size * bits // 8)).astype(np.uint8),
        "indices": rng.integers(-rows, rows, shape),
        "scales": rng.uniform(0.1, 2, (rows, blocks)).astype(kind),
        "zeros": rng.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8) if zeros else None,
    }
    # one product of two float32 numbers, which float16 rounds once
    agree(device, "GatherBlockQuantized", inputs, len(shape) + 1, 2e-3 if half else 1e-6, CONSTANTS, kind,
          bits=bits, block_size=block, quantize_axis=1, gather_axis=0)  # fmt: skip


@settings(max_examples=12)
@given(
    kind=st.sampled_from([ml_dtypes.int4, ml_dtypes.uint4]), sizes=st.tuples(*[st.integers(1, 40)] * 3),
    axes=st.tuples(st.integers(0, 2), st.integers(0, 2)), zeros=st.booleans(),
    shape=st.sampled_from([(), (4,), (2, 3)]),
)  # fmt: skip
def test_slices_of_4_bit_tensors(
    device: dml.Device, kind: Any, sizes: tuple[int, ...], axes: tuple[int, int], zeros: bool, shape: tuple[int, ...]
) -> None:
    """Gathers and quantizes along any axis; the last block may extend beyond the tensor."""
    rng = np.random.default_rng(sum(sizes))
    gather_axis, quantize_axis = axes
    limits = ml_dtypes.iinfo(kind)
    packed_sizes = list(sizes)
    packed_sizes[quantize_axis] = -(-sizes[quantize_axis] // 16)
    inputs = {
        "data": rng.integers(limits.min, limits.max + 1, sizes).astype(kind),
        "indices": rng.integers(0, sizes[gather_axis], shape),
        "scales": rng.uniform(0.1, 2, packed_sizes).astype(FLOAT),
        "zeros": rng.integers(limits.min, limits.max + 1, packed_sizes).astype(kind) if zeros else None,
    }
    agree(device, "GatherBlockQuantized", inputs, 2 + len(shape), 1e-6, CONSTANTS,
          block_size=16, quantize_axis=quantize_axis, gather_axis=gather_axis)  # fmt: skip


def test_indices_out_of_range_give_zeros(device: dml.Device) -> None:
    inputs = {"data": np.full((3, 16), 0x5A, np.uint8), "indices": np.array([0, 3, -3, -4, 99]),
              "scales": np.full((3, 1), 0.5, FLOAT)}  # fmt: skip
    model, given_ = node_model("GatherBlockQuantized", inputs, {"y": (2, FLOAT)}, constants=CONSTANTS[:2],
                               block_size=32, quantize_axis=1, gather_axis=0)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    row = np.tile([1.0, -1.5], 16)
    assert np.array_equal(found, [row, 0 * row, row, 0 * row, 0 * row])


def test_a_table_of_8_bit_floats(device: dml.Device) -> None:
    """One scale for all, as in onnxruntime's specification (its CPU provider does not support it)."""
    rng = np.random.default_rng(5)
    data = rng.uniform(-4, 4, (5, 8)).astype(ml_dtypes.float8_e4m3fn)
    inputs = {"data": data, "indices": np.array([4, 0]), "scales": np.full((1, 1), 0.25, FLOAT)}
    model, given_ = node_model("GatherBlockQuantized", inputs, {"y": (2, FLOAT)}, constants=CONSTANTS[:2],
                               block_size=0, quantize_axis=1, gather_axis=0)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    assert np.array_equal(found, data.astype(FLOAT)[[4, 0]] * 0.25)


def test_refused_gathers(device: dml.Device) -> None:
    inputs = {"data": np.zeros((3, 16), np.uint8), "indices": np.array([0]), "scales": np.zeros((3, 2), FLOAT)}
    for attributes, message in (
        ({"bits": 5}, "attribute 'bits' must be 2, 4 or 8, found 5"),
        ({"gather_axis": 1}, "gather_axis must not be the last axis of uint8 data"),
        ({"gather_axis": 1, "bits": 8}, "gather_axis must not be the last axis of uint8 data"),
        ({}, r"scales must have shape \(3, 1\), found \(3, 2\)"),
    ):
        model, given_ = node_model("GatherBlockQuantized", inputs, {"y": (2, FLOAT)}, block_size=32, **attributes)
        with pytest.raises(dml.DMLError, match=message):
            prepare(model, device, fallback=False).run(given_)


# MatMulNBits


def weights(n: int, k: int, bits: int, block: int, zeros: str, seed: int, kind: Any = FLOAT) -> dict[str, Array | None]:
    rng = np.random.default_rng(seed)
    blocks = -(-k // block)
    packed = rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
    return {
        "a": rng.uniform(-1, 1, (seed % 3 + 1, k)).astype(kind),
        "b": rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8),
        "scales": rng.uniform(0.01, 0.1, (n, blocks)).astype(kind),
        "zeros": {"none": None, "packed": packed, "float": rng.uniform(0, 2**bits, (n, blocks)).astype(kind)}[zeros],
        "g_idx": None,
        "bias": rng.uniform(-1, 1, n).astype(kind) if seed % 2 else None,
    }


def dequantized(inputs: dict[str, Array | None], bits: int) -> Array:
    """Return the weights in float64 {N, blocks * block}."""
    b, scales, zeros = (inputs[name] for name in ("b", "scales", "zeros"))
    assert b is not None
    assert scales is not None
    n, blocks = scales.shape

    def numbers(packed: Array, count: int) -> Array:
        fields = np.unpackbits(packed, axis=-1, bitorder="little")[..., : count * bits]
        return fields.reshape(*packed.shape[:-1], count, bits) @ (1 << np.arange(bits)).astype(np.float64)

    block = b.shape[2] * 8 // bits
    points = np.full((n, blocks), 2.0 ** (bits - 1))
    if zeros is not None:
        points = numbers(zeros, blocks) if zeros.dtype == np.uint8 else zeros.astype(np.float64)
    made = (numbers(b, block) - points[..., None]) * scales.astype(np.float64)[..., None]
    return np.asarray(made.reshape(n, blocks * block))


@settings(max_examples=16)
@given(
    bits=st.sampled_from([2, 4, 8]), block=st.sampled_from([16, 32, 64, 128, 256]), n=st.integers(1, 40),
    k=st.integers(1, 300),
    zeros=st.sampled_from(["none", "packed", "float"]), seed=st.integers(0, 99), constant=st.booleans(),
    level=st.integers(0, 4), kind=st.sampled_from([FLOAT, HALF]),
)  # fmt: skip
def test_products(
    device: dml.Device,
    bits: int,
    block: int,
    n: int,
    k: int,
    zeros: str,
    seed: int,
    constant: bool,
    level: int,
    kind: Any,
) -> None:
    """All bit widths, block sizes, accuracy levels and kinds of zero points; weights as constants and as inputs."""
    inputs = weights(n, k, bits, block, zeros, seed, kind)
    a, bias = inputs["a"], inputs["bias"]
    assert a is not None
    matrix = dequantized(inputs, bits)[:, :k]
    expected = a.astype(np.float64) @ matrix.T + (0 if bias is None else bias.astype(np.float64))
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    initializers = (
        tuple(name for name in ("b", "scales", "zeros", "bias") if inputs.get(name) is not None) if constant else ()
    )
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, kind)}, constants=initializers,
                               N=n, K=k, bits=bits, block_size=block, accuracy_level=level)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    # float32 sums of k terms; float16 rounds weights and, with float zero points, sums that cancel
    terms = np.abs(a.astype(np.float64)) @ np.abs(dequantized(inputs | {"zeros": None}, bits)[:, :k]).T + 1
    error = np.abs(found.astype(np.float64) - expected)
    assert (error <= terms * (2e-6 if kind is FLOAT else 4e-3)).all(), error.max()


@settings(max_examples=10)
@given(
    # n * blocks around 4,096, above which tensors are filled on the device; 2 and 12 rows use kernels for quantized
    # weights
    n=st.sampled_from([127, 128, 129, 300]), blocks=st.sampled_from([31, 32, 33]),
    rows=st.sampled_from([1, 2, 3, 12, 13]), zeros=st.sampled_from(["none", "packed", "float"]),
    missing=st.sampled_from([0, 1, 31]), kind=st.sampled_from([FLOAT, HALF]), bits=st.sampled_from([2, 4]),
)  # fmt: skip
def test_products_on_both_sides_of_every_threshold(
    device: dml.Device, n: int, blocks: int, rows: int, zeros: str, missing: int, kind: Any, bits: int
) -> None:
    """No size runs on the host. missing: elements by which the last block exceeds K."""
    block, k = 32, blocks * 32 - missing
    inputs = weights(n, k, bits, block, zeros, n, kind)
    inputs["a"] = a = np.random.default_rng(rows).uniform(-1, 1, (rows, k)).astype(kind)
    expected = a.astype(np.float64) @ dequantized(inputs, bits)[:, :k].T
    terms = np.abs(a.astype(np.float64)) @ np.abs(dequantized(inputs | {"zeros": None}, bits)[:, :k]).T + 1
    if inputs["bias"] is not None:
        expected = expected + inputs["bias"].astype(np.float64)
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    initializers = tuple(name for name in ("b", "scales", "zeros", "bias") if inputs.get(name) is not None)
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, kind)}, constants=initializers,
                               N=n, K=k, bits=bits, block_size=block)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    error = np.abs(found.astype(np.float64) - expected)
    assert (error <= terms * (2e-6 if kind is FLOAT else 4e-3)).all(), error.max()


@lru_cache(maxsize=1)  # creating the weights takes ten times as long as planning
def large_product(zeros: str, bits: int, block: int) -> Any:
    """Return a model of a product of one row and 8192 x 8192 weights."""
    n = k = 8192
    points = {
        "none": None,
        "packed": np.zeros((n, k // block * bits // 8), np.uint8),
        "float": np.zeros((n, k // block), FLOAT),
    }
    inputs = {"a": np.zeros((1, k), FLOAT), "b": np.zeros((n, k // block, block * bits // 8), np.uint8),
              "scales": np.ones((n, k // block), FLOAT), "zeros": points[zeros]}  # fmt: skip
    if inputs["zeros"] is None:
        del inputs["zeros"]
    model, _ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=tuple(inputs)[1:], version=21,
                          N=n, K=k, bits=bits, block_size=block)  # fmt: skip
    return model


# the last parameters change slowest, so that consecutive tests share a model
@pytest.mark.parametrize("kind", [DeviceClass.CPU, DeviceClass.DISCRETE])
@pytest.mark.parametrize("rows", [1, 2, 3, 12, 13, 128])
@pytest.mark.parametrize("zeros", ["none", "packed", "float"])
@pytest.mark.parametrize("bits, block", [(2, 16), (2, 32), (2, 128), (4, 32)])
def test_weights_of_a_large_product_are_on_the_device_as_they_are_stored(
    kind: DeviceClass, zeros: str, rows: int, bits: int, block: int
) -> None:
    """The plan keeps at most 1.1 times the initializers' bytes on the device, and dequantizes 16 MiB at a time."""
    model = large_product(zeros, bits, block)
    for entry in (*model.graph.input, *model.graph.output):
        entry.type.tensor_type.shape.dim[0].dim_value = rows
    found = inspect_model(model, Planner(Target(kind, subgroup_size=32)))
    assert found.memory is not None, found.unplanned
    assert {entry.how for entry in found.operators} == {"mapped"}
    assert found.memory["weights"] <= 1.1 * found.weight_bytes
    # GPUs also need small copies of the rows
    assert found.memory["intermediates"] <= (16 << 20) + 3 * rows * (8192 + 8192)


@pytest.mark.parametrize("rows", [1, 2, 13])
@pytest.mark.parametrize("zeros", ["none", "packed"])
def test_two_bits_in_large_blocks_at_a_real_size(device: dml.Device, zeros: str, rows: int) -> None:
    """Some columns of a product of 8192 x 8192 weights in blocks of 128, against float64."""
    n, k, bits, block = 8192, 8192, 2, 128
    inputs = weights(n, k, bits, block, zeros, 2)
    inputs["a"] = a = np.random.default_rng(rows).uniform(-1, 1, (rows, k)).astype(FLOAT)
    columns = np.array([0, 1, 255, 256, 4095, 4097, 8000, n - 1])
    part = {name: None if array is None or name == "a" else array[columns] for name, array in inputs.items()}
    exact, matrix = a.astype(np.float64), dequantized(part, bits)
    expected, terms = exact @ matrix.T, np.abs(exact) @ np.abs(matrix).T
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=tuple(inputs)[1:],
                               N=n, K=k, bits=bits, block_size=block)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    error = np.abs(found[:, columns].astype(np.float64) - expected)
    assert (error <= terms * 1e-6).all(), (error / terms).max()


@pytest.mark.parametrize("kind", [DeviceClass.CPU, DeviceClass.DISCRETE])
@pytest.mark.parametrize("zeros", ["none", "packed"])
@pytest.mark.parametrize("block", [16, 32, 64, 256])
def test_kernels_read_two_bits(kind: DeviceClass, zeros: str, block: int) -> None:
    inputs = weights(4096, 4096, 2, block, zeros, 1)
    del inputs["bias"], inputs["g_idx"]
    if inputs["zeros"] is None:
        del inputs["zeros"]
    inputs["a"] = np.zeros((1, 4096), FLOAT)
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=tuple(inputs)[1:], version=21,
                               N=4096, K=4096, bits=2, block_size=block)  # fmt: skip
    target = Target(kind, subgroup_size=32, max_storage_buffers=16)
    prepared = PreparedModel(load(model), cast(dml.Device, Planner(target)))
    plan, _ = prepared.compiled_for(given_)
    assert plan.compiled is not None
    program = plan.compiled.program
    kernel = "gemm/blocks_columns.comp" if kind is DeviceClass.CPU else "gemm/blocks.comp"
    assert [dispatch.label for dispatch in program.dispatches] == [kernel]
    assert not program.initialize


def test_an_omitted_projection_is_its_bias(device: dml.Device) -> None:
    inputs = weights(5, 64, 4, 32, "none", 1) | {"b": np.zeros((5, 0, 16), np.uint8), "scales": np.zeros(0, FLOAT)}
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=("b", "scales"),
                               N=5, K=64, bits=4, block_size=32)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given_)
    assert np.array_equal(found, np.broadcast_to(given_["bias"], found.shape))


def test_weights_rearranged_for_cuda_are_refused(device: dml.Device) -> None:
    """The model builder writes them with matmulnbits_weights_prepacked; onnxruntime on the host would read them as if
    they were in order."""
    inputs = weights(8, 64, 4, 32, "none", 1)
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=("b", "scales"),
                               N=8, K=64, bits=4, block_size=32, weight_prepacked=1)  # fmt: skip
    with pytest.raises(dml.DMLError, match=r"MatMulNBits.*rearranged for CUDA \(weight_prepacked = 1\)"):
        prepare(model, device).run(given_)


# MatMulBnb4


@settings(max_examples=12)
@given(
    n=st.integers(1, 20), k=st.integers(1, 70), block=st.sampled_from([16, 64]), kind=st.integers(0, 1),
    transposed=st.integers(0, 1), seed=st.integers(0, 99),
)  # fmt: skip
def test_products_of_bnb4(
    device: dml.Device, n: int, k: int, block: int, kind: int, transposed: int, seed: int
) -> None:
    """Blocks extend over the ends of rows. onnxruntime's CPU provider supports only transB = 1."""
    rng, count = np.random.default_rng(seed), n * k
    inputs = {
        "a": rng.uniform(-1, 1, (2, 3, k if transposed else n)).astype(FLOAT),
        "b": rng.integers(0, 256, -(-count // 2)).astype(np.uint8),
        "absmax": rng.uniform(0.1, 2, -(-count // block)).astype(FLOAT),
    }
    attributes = {"N": n, "K": k, "block_size": block, "quant_type": kind, "transB": transposed}
    model, given_ = node_model("MatMulBnb4", inputs, {"y": (3, FLOAT)}, constants=("b", "absmax"), **attributes)
    (found,) = prepare(model, device, fallback=False).run(given_)
    if transposed:
        assert_close([found], in_onnxruntime(model, given_), 1e-5)
    else:
        eye = inputs | {"a": np.eye(k, dtype=FLOAT)[None]}
        transposing, one = node_model("MatMulBnb4", eye, {"y": (3, FLOAT)}, **{**attributes, "transB": 1})
        weights = in_onnxruntime(transposing, one)[0][0].T  # {N, K}
        assert_close([found], [given_["a"] @ weights], 1e-5)


def test_refused_products_of_bnb4(device: dml.Device) -> None:
    inputs = {"a": np.zeros((2, 32), FLOAT), "b": np.zeros(48, np.uint8), "absmax": np.zeros(6, FLOAT)}
    for changes, message in (
        ({"b": np.zeros(47, np.uint8)}, "B be 48 bytes, found"),
        ({"absmax": np.zeros(5, FLOAT)}, "absmax must have 6 elements, found"),
    ):
        model, given_ = node_model("MatMulBnb4", inputs | changes, {"y": (2, FLOAT)}, N=3, K=32, block_size=16)
        with pytest.raises(dml.DMLError, match=message):
            prepare(model, device, fallback=False).run(given_)
