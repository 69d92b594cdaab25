"""Quantized weights that kernels cannot read are dequantized in chunks: values, and memory of about one chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, model_of, node_model
from onnx import helper

import dml
from dml.compiler.selection import stored_weights
from dml.compiler.target import DeviceClass, Target
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner

FLOAT = np.float32
MIB = 1 << 20
#: Tolerance of float32 sums of hundreds of products of numbers below 10, in another order than onnxruntime's.
TOLERANCE = 2e-3


@contextmanager
def small_parts() -> Iterator[None]:
    """Dequantize in chunks of 64 KiB, and keep no dequantized copies."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_weights, "_PART_BYTES", 1 << 16)
        patch.setattr("dml.graph.kept.SMALL", 0)
        yield


def run(device: dml.Device, model: Any, given_: dict[str, Array]) -> list[Any]:
    with small_parts():
        return list(prepare(model, device, fallback=False).run(given_))


def agree(device: dml.Device, model: Any, given_: dict[str, Array]) -> None:
    assert_close(run(device, model, given_), in_onnxruntime(model, given_), TOLERANCE)


@settings(max_examples=15, deadline=None)
@given(
    n=st.sampled_from([1, 31, 32, 33, 97]), blocks=st.integers(1, 5), block=st.sampled_from([16, 32]),
    bits=st.sampled_from([4, 8]), rows=st.sampled_from([1, 5]), zeros=st.sampled_from(["none", "packed", "floats"]),
    ordered=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_columns_of_other_blocks(
    device: dml.Device, n: int, blocks: int, block: int, bits: int, rows: int, zeros: str, ordered: bool, seed: int
) -> None:
    """MatMulNBits with g_idx, compared with float64."""
    rng = np.random.default_rng(seed)
    k = blocks * block
    groups = np.arange(k) // block if ordered else rng.permutation(np.arange(k) // block)
    a = rng.uniform(-1, 1, (rows, k)).astype(FLOAT)
    packed = rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (n, blocks)).astype(FLOAT)
    points: Array | None = None
    if zeros == "packed":
        points = rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8)
    elif zeros == "floats":
        points = rng.uniform(0, 2**bits, (n, blocks)).astype(FLOAT)
    inputs = {"a": a, "b": packed, "s": scales, "z": points, "g": groups.astype(np.int32)}
    initializers = tuple(name for name in inputs if name != "a" and inputs[name] is not None)
    sizes = {"N": n, "K": k, "bits": bits, "block_size": block}
    (found,) = run(device, *node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=initializers, **sizes))

    def numbers(rows: Array, count: int) -> Array:
        fields = np.unpackbits(rows, axis=-1, bitorder="little").reshape(len(rows), -1, bits)
        return np.asarray((fields << np.arange(bits, dtype=np.uint8)).sum(-1)[:, :count], np.float64)

    centre = np.full((n, blocks), 2.0 ** (bits - 1))
    if points is not None:
        centre = numbers(points, blocks) if zeros == "packed" else points.astype(np.float64)
    each = scales.astype(np.float64)[:, groups]
    codes = numbers(packed.reshape(n, -1), k)
    expected = a.astype(np.float64) @ ((codes - centre[:, groups]) * each).T
    # Numbers and zero points may be multiplied separately
    bound = abs(a).astype(np.float64) @ ((codes + centre[:, groups] + 2**bits) * each).T
    assert (abs(found - expected) <= (k + 4) * 2.0**-24 * bound).all()  # one rounding per term of the sum


@settings(max_examples=15, deadline=None)
@given(
    n=st.sampled_from([1, 37, 38, 113]), k=st.sampled_from([16, 48, 144]), block=st.sampled_from([16, 32, 64]),
    kind=st.integers(0, 1), rows=st.sampled_from([1, 5]), seed=st.integers(0, 99),
)  # fmt: skip
def test_codes_of_four_bits(device: dml.Device, n: int, k: int, block: int, kind: int, rows: int, seed: int) -> None:
    """MatMulBnb4, with blocks that may extend over the end of a row."""
    rng = np.random.default_rng(seed)
    inputs: dict[str, Array | None] = {
        "a": rng.uniform(-1, 1, (rows, k)).astype(FLOAT),
        "b": rng.integers(0, 256, -(-n * k // 2)).astype(np.uint8),
        "absmax": rng.uniform(0.5, 2, -(-n * k // block)).astype(FLOAT),
    }
    sizes = {"N": n, "K": k, "block_size": block, "quant_type": kind}
    output, initializers = {"y": (2, FLOAT)}, ("b", "absmax")
    agree(device, *node_model("MatMulBnb4", inputs, output, constants=initializers, **sizes))
    # onnxruntime's CPU provider lacks transB = 0: a product with the identity returns the matrix
    model, given_ = node_model(
        "MatMulBnb4", inputs | {"a": np.eye(k, dtype=FLOAT)}, output, constants=initializers, **sizes
    )
    (columns,) = in_onnxruntime(model, given_)
    a = rng.uniform(-1, 1, (rows, n)).astype(FLOAT)
    model, given_ = node_model("MatMulBnb4", inputs | {"a": a}, output, constants=initializers, transB=0, **sizes)
    assert_close(run(device, model, given_), [(a @ columns.T).astype(FLOAT)], TOLERANCE)


def dequantizing_product(
    rows: int, shape: tuple[int, int], axis: int, block: int, dtype: Any, *, turned: bool, zeros: bool, seed: int = 0
) -> tuple[Any, dict[str, Array], dict[str, Array]]:
    """Build a product with DequantizeLinear of a constant in blocks along an axis, or with its transpose.

    Returns the model, its input and its constants.
    """
    rng, info = np.random.default_rng(seed), ml_dtypes.iinfo(dtype)

    def numbers(*sizes: int) -> Array:
        return rng.integers(int(info.min), int(info.max) + 1, sizes).astype(dtype)

    counts = tuple(size // block if index == axis else size for index, size in enumerate(shape))
    initializers = {"w": numbers(*shape), "s": rng.uniform(0.01, 0.05, counts).astype(FLOAT)}
    if zeros:
        initializers["z"] = numbers(*counts)
    nodes = [helper.make_node("DequantizeLinear", list(initializers), ["d"], axis=axis, block_size=block)]
    if turned:
        nodes.append(helper.make_node("Transpose", ["d"], ["t"], perm=[1, 0]))
    nodes.append(helper.make_node("MatMul", ["x", "t" if turned else "d"], ["y"]))
    given_ = {"x": rng.uniform(-1, 1, (rows, shape[1] if turned else shape[0])).astype(FLOAT)}
    return model_of(nodes, given_, ["y"], 21, initializers=initializers), given_, initializers


@settings(max_examples=20, deadline=None)
@given(
    shape=st.sampled_from([(64, 32), (96, 512), (512, 96), (320, 544)]), axis=st.integers(0, 1),
    block=st.sampled_from([16, 32]), kind=st.sampled_from(["int4", "uint4", "int8", "uint8"]),
    rows=st.sampled_from([1, 2, 3, 12, 13, 33]), turned=st.booleans(), zeros=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_blocks_along_either_axis(
    device: dml.Device, shape: tuple[int, int], axis: int, block: int, kind: str, rows: int, turned: bool,
    zeros: bool, seed: int,
) -> None:  # fmt: skip
    """Compared with float64: onnxruntime rounds rows to 8 bits if it fuses the nodes into a MatMulNBits."""
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    model, given_, initializers = dequantizing_product(
        rows, shape, axis, block, dtype, turned=turned, zeros=zeros, seed=seed
    )  # fmt: skip
    (found,) = run(device, model, given_)
    scales, points = (
        np.repeat(initializers[name].astype(np.float64), block, axis) if name in initializers else np.zeros(shape)
        for name in "sz"
    )
    weights, terms = (
        (made.T if turned else made)
        for numbers in [initializers["w"].astype(np.float64)]
        for made in ((numbers - points) * scales, (abs(numbers) + abs(points) + 256) * scales)
    )
    x = given_["x"].astype(np.float64)
    assert (abs(found - x @ weights) <= (len(weights) + 4) * 2.0**-24 * (abs(x) @ terms)).all()


def convolution(
    dtype: Any, filters: tuple[int, ...], size: int, *, per_channel: bool, zeros: bool, groups: int = 1
) -> tuple[Any, dict[str, Array]]:
    """Return a convolution with bias and Relu whose filter is DequantizeLinear of a constant."""
    rng, info = np.random.default_rng(3), ml_dtypes.iinfo(dtype)
    counts = (filters[0],) if per_channel else ()
    initializers: dict[str, Array] = {
        "w": rng.integers(int(info.min), int(info.max) + 1, filters).astype(dtype),
        "s": np.asarray(rng.uniform(0.01, 0.02, counts)).astype(FLOAT),
    }
    if zeros:
        initializers["z"] = np.asarray(rng.integers(int(info.min), int(info.max) + 1, counts)).astype(dtype)
    nodes = [
        helper.make_node("DequantizeLinear", list(initializers), ["d"], axis=0),
        helper.make_node("Conv", ["x", "d", "b"], ["c"], pads=[filters[2] // 2] * (2 * len(filters) - 4), group=groups),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    initializers["b"] = rng.uniform(-1, 1, filters[0]).astype(FLOAT)
    places = (size,) * (len(filters) - 2)
    given_ = {"x": rng.uniform(-1, 1, (2, filters[1] * groups, *places)).astype(FLOAT)}
    return model_of(nodes, given_, ["y"], 21, initializers=initializers), given_


@pytest.mark.parametrize("kind", ["int8", "uint8", "int4", "uint4"])
@pytest.mark.parametrize("filters", [(6, 4, 3, 3), (300, 3, 3, 3), (255, 8, 1, 1), (520, 8, 1, 1), (300, 4, 3)])
@pytest.mark.parametrize("per_channel", [True, False], ids=["per-channel", "per-tensor"])
@pytest.mark.parametrize("zeros", [True, False], ids=["points", "none"])
def test_filters(device: dml.Device, kind: str, filters: tuple[int, ...], per_channel: bool, zeros: bool) -> None:
    """Chunks end at multiples of 256 output channels; the filter of a 1D convolution is reshaped."""
    dtype = np.dtype(getattr(ml_dtypes, kind, kind))
    agree(device, *convolution(dtype, filters, 5, per_channel=per_channel, zeros=zeros))


def test_filters_of_groups(device: dml.Device) -> None:
    agree(device, *convolution(np.dtype(np.int8), (300, 2, 3, 3), 5, per_channel=True, zeros=True, groups=3))


# --- Memory of plans at the size of real models -----------------------------------------------------------------------

TARGETS = {"CPU": Target(DeviceClass.CPU, subgroup_size=8), "GPU": Target(DeviceClass.DISCRETE, subgroup_size=32)}
SIZE = 4096  # a dequantized copy would take 64 MiB


def large() -> Iterator[tuple[str, Any]]:
    rng = np.random.default_rng(0)
    block, output = 32, {"y": (2, FLOAT)}
    a = np.zeros((1, SIZE), FLOAT)
    packed = rng.integers(0, 256, (SIZE, SIZE // block, block // 2), np.uint8)
    scales = rng.random((SIZE, SIZE // block), np.float32)
    groups = rng.permutation(np.arange(SIZE) // block).astype(np.int32)
    for zeros in (None, rng.integers(0, 256, (SIZE, SIZE // block // 2), np.uint8)):
        inputs = {"a": a, "b": packed, "s": scales, "z": zeros, "g": groups}
        initializers = tuple(key for key in inputs if key != "a" and inputs[key] is not None)
        sizes = {"N": SIZE, "K": SIZE, "bits": 4, "block_size": block}
        name = "g_idx" if zeros is None else "g_idx and zero points"
        yield name, node_model("MatMulNBits", inputs, output, constants=initializers, **sizes)
    for transposed in (0, 1):
        coded: dict[str, Array | None] = {"a": a, "b": packed.reshape(-1), "absmax": scales.reshape(-1)[::2]}
        sizes = {"N": SIZE, "K": SIZE, "block_size": 2 * block, "quant_type": 1, "transB": transposed}
        made = node_model("MatMulBnb4", coded, output, constants=("b", "absmax"), **sizes)
        yield f"MatMulBnb4, transB = {transposed}", made
    for dtype in (np.dtype(np.uint8), np.dtype(ml_dtypes.uint4)):
        for axis, turned, rows in np.ndindex(2, 2, 2):
            count = 64 if rows else 1
            made = dequantizing_product(count, (SIZE, SIZE), axis, block, dtype, turned=bool(turned), zeros=True)
            yield f"{dtype} by axis {axis}, {'turned' if turned else 'plain'}, {count} rows", made[:2]
    for filters in ((SIZE, SIZE, 1, 1), (SIZE // 2, SIZE // 4, 3, 3)):
        yield f"filter {filters}", convolution(np.dtype(np.int8), filters, 8, per_channel=True, zeros=False)


def test_no_dequantized_copy_is_complete_in_memory(tmp_path: Path) -> None:
    """Plans hold a chunk of 16 MiB and a rearranged copy of it; weights take no more memory than in the file."""
    path = tmp_path / "large.onnx"
    for name, (model, given_) in large():
        onnx.save(model, path)
        bytes_in_file = sum(len(tensor.raw_data) for tensor in model.graph.initializer)
        for kind, target in TARGETS.items():
            memory = inspect_model(path, Planner(target), inputs=given_).memory
            assert memory is not None, (name, kind)
            assert memory["weights"] <= 1.1 * bytes_in_file, (name, kind)
            assert memory["intermediates"] <= 40 * MIB, (name, kind)


@pytest.mark.parametrize("kind", list(TARGETS))
@pytest.mark.parametrize("rows", [1, 64])
@pytest.mark.parametrize("zeros", [False, True], ids=["none", "points"])
@pytest.mark.parametrize("bindings, most", [(8, 1.01), (4, 1.3)], ids=["8-bindings", "4-bindings"])
def test_a_head_beyond_one_binding_copies_neither_weights_nor_scales(
    tmp_path: Any, kind: str, rows: int, zeros: bool, bindings: int, most: float
) -> None:
    """Weights of 128,256 x 16,384, scaled down to a 16th of each length and of the binding size: numbers and scales
    need several bindings.

    With four bindings, Vulkan's minimum, zero points and scales share one.
    """
    n, k, block, rng = 128256 // 16, 16384 // 16, 32, np.random.default_rng(0)
    inputs: dict[str, Array | None] = {
        "a": np.zeros((rows, k), FLOAT),
        "b": rng.integers(0, 256, (n, k // block, block // 2), np.uint8),
        "s": rng.random((n, k // block), np.float32),
        "z": rng.integers(0, 256, (n, k // block // 2), np.uint8) if zeros else None,
    }
    initializers = tuple(name for name in ("b", "s", "z") if inputs[name] is not None)
    sizes = {"N": n, "K": k, "bits": 4, "block_size": block}
    model, given_ = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, constants=initializers, **sizes)
    onnx.save(model, tmp_path / "head.onnx")
    small = Target(TARGETS[kind].device_class, subgroup_size=32, max_storage_buffer_range=128 * MIB // 256,
                   max_storage_buffers=bindings)  # fmt: skip
    memory = inspect_model(tmp_path / "head.onnx", Planner(small), inputs=given_).memory
    assert memory is not None
    assert memory["weights"] <= most * sum(len(tensor.raw_data) for tensor in model.graph.initializer)
