"""Rounding to bfloat16 and float8: in casts, at a graph's inputs and outputs, and in quantization."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from models import Array, in_onnxruntime, in_reference, model_of
from onnx import helper

import dml
from dml.frontends.onnx import prepare

FLOAT = onnx.TensorProto.FLOAT
KINDS = ("BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ")


def numbers(kind: str) -> Array:
    """Return all numbers of an 8-bit type (some of bfloat16), the midpoints between neighbours, the floats next to the
    midpoints, numbers out of range, and random ones."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, kind)))
    codes = np.arange(256, dtype=np.uint8) if dtype.itemsize == 1 else np.arange(0, 2**16, 37, dtype=np.uint16)
    own = np.unique(codes.view(dtype).astype(np.float32))
    own = own[np.isfinite(own) & (np.abs(own) < 1e38) & ((np.abs(own) > 1e-37) | (own == 0))]
    halves = ((own[:-1].astype(np.float64) + own[1:]) / 2).astype(np.float32)
    beside = [np.nextafter(halves, np.float32(limit)) for limit in (-np.inf, np.inf)]
    most = float(ml_dtypes.finfo(dtype).max)
    edges = [np.inf, -np.inf, np.nan, 0.0, 1e30, -1e30, 1e-30, -1e-30, most * 1.01, most * 1.1, -most * 2]
    some = np.random.default_rng(0).standard_normal(500) * np.exp2(np.arange(500) % 40 - 20.0)
    with np.errstate(over="ignore"):
        return np.concatenate([own, halves, *beside, np.float32(edges), np.float32(some)])


def chain(nodes: list[Any], x: Array, **held: Array) -> Any:
    return model_of(nodes, {"x": x}, ["y"], 21, initializers=held)


@pytest.mark.parametrize("saturate", [1, 0])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cast_and_back_rounds(device: dml.Device, kind: str, saturate: int) -> None:
    """The narrow type exists only inside the graph on the device. Results equal onnxruntime's. Without saturation they
    equal onnx's reference's, because onnxruntime converts some numbers above the largest one to it, or to NaN."""
    if kind == "BFLOAT16" and not saturate:
        pytest.skip("is for 8 bits")
    x = numbers(kind)
    options = {} if kind == "BFLOAT16" else {"saturate": saturate}
    model = chain([
        helper.make_node("Mul", ["x", "one"], ["same"]),
        helper.make_node("Cast", ["same"], ["narrow"], to=getattr(onnx.TensorProto, kind), **options),
        helper.make_node("Reshape", ["narrow", "shape"], ["row"]),
        helper.make_node("Cast", ["row"], ["y"], to=FLOAT),
    ], x, one=np.array(1, np.float32), shape=np.array([-1]))  # fmt: skip
    peer = in_onnxruntime if saturate else in_reference
    (found,), (expected,) = prepare(model, device, fallback=False).run([x]), peer(model, {"x": x})
    np.testing.assert_array_equal(found, expected)
    assert len(np.unique(found)) > 100


@pytest.mark.parametrize("kind", KINDS)
def test_narrow_floats_at_the_edges_of_a_graph(device: dml.Device, kind: str) -> None:
    """Inputs, constants and outputs have the narrow type; nodes between them only move elements."""
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, kind)))
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(dtype)
    more = np.random.default_rng(2).standard_normal((3, 4)).astype(dtype)
    nodes = [
        helper.make_node("Concat", ["x", "more"], ["both"], axis=0),
        helper.make_node("Transpose", ["both"], ["y"]),
    ]
    model = chain(nodes, x, more=more)
    (found,) = prepare(model, device, fallback=False).run([x])
    assert found.dtype == dtype
    assert found.astype(np.float32).tolist() == np.concatenate([x, more]).T.astype(np.float32).tolist()


@pytest.mark.parametrize("kind", KINDS[1:])
def test_quantization_to_eight_bits_of_float(device: dml.Device, kind: str) -> None:
    dtype = np.dtype(helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, kind)))
    x = np.random.default_rng(3).standard_normal((6, 5)).astype(np.float32) * 40
    x[0, 0], x[1, 1] = 1e6, -1e6
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"], axis=1),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"], axis=1),
    ]
    model = chain(nodes, x, scale=np.float32([0.25, 1, 2, 0.5, 4]), zero=np.zeros(5, dtype))
    (found,), (expected,) = prepare(model, device, fallback=False).run([x]), in_reference(model, {"x": x})
    np.testing.assert_array_equal(found, expected)
