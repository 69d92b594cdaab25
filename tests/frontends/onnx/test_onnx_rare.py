"""Rare forms of nodes, compared with ONNX Runtime's CPU provider, or with the definition where it has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from models import Array, assert_close, in_onnxruntime, node_model
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare

FLOAT, BYTE, LONG = np.float32, np.uint8, np.int64
_rng = np.random.default_rng(0)


def floats(*shape: int) -> Array:
    return _rng.uniform(-1, 1, shape).astype(FLOAT)


def bytes_(*shape: int) -> Array:
    return _rng.integers(0, 256, shape).astype(BYTE)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


SCALES = {
    "scale": np.array(0.1, FLOAT),
    "zero": np.array(3, BYTE),
    "out": np.array(0.11, FLOAT),
    "mid": np.array(9, BYTE),
}
ATTENTION = {"x": floats(2, 3, 16), "w": floats(16, 48), "b": floats(48)}
#: Name -> operator, domain, version, inputs, outputs as (rank, dtype), attributes.
CASES: dict[str, tuple[str, str, int, dict[str, Array | None], list[tuple[int, Any]], dict[str, Any]]] = {
    "regions": (
        "MaxRoiPool", "", 17, {"x": floats(2, 2, 6, 6), "rois": np.array([[1, 1, 1, 4, 5], [0, 0, 0, 11, 2]], FLOAT)},
        [(4, FLOAT)], {"pooled_shape": [2, 3], "spatial_scale": 0.5},
    ),
    "no-largest": ("TopK", "", 17, {"x": floats(2, 5), "k": np.array([0])}, [(2, FLOAT), (2, LONG)], {}),
    **{
        f"{op}-of-a-scalar": (op, "", 18, {"x": np.array(-1.5, FLOAT)}, [(0, FLOAT)], {})
        for op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp")
    },
    "expanded-scalar": (
        "Expand", "", 18, {"x": np.array(-1.5, FLOAT), "shape": np.zeros(0, LONG)}, [(0, FLOAT)], {},
    ),
    "no-steps": (
        "TensorScatter", "", 24, {"x": floats(2, 3, 4), "new": floats(2, 0, 4), "first": np.array([0, 1])},
        [(3, FLOAT)], {"axis": 1},
    ),
    "no-rows": (
        "MatMulNBits", "com.microsoft", 17, {"a": floats(0, 32), "b": bytes_(4, 1, 16), "scales": floats(4)},
        [(2, FLOAT)], {"K": 32, "N": 4, "bits": 4, "block_size": 32},
    ),
    "nothing-gathered": (
        "GatherBlockQuantized", "com.microsoft", 21,
        {"x": bytes_(3, 16), "indices": np.zeros(0, LONG), "scales": floats(3, 1)}, [(2, FLOAT)],
        {"bits": 4, "block_size": 32, "quantize_axis": 1},
    ),
    "tiled-scalar": ("Tile", "", 17, {"x": floats(), "repeats": np.zeros(0, LONG)}, [(0, FLOAT)], {}),
    "matrices": (
        "MatMulInteger", "", 17, {"a": bytes_(2, 3, 2, 4, 5), "b": bytes_(3, 1, 5, 2)}, [(5, np.int32)], {},
    ),
    "scaled-by-attribute": (
        "Upsample", "", 8, {"x": floats(1, 2, 3, 3)}, [(4, FLOAT)], {"scales": [1.0, 1.0, 2.0, 3.0]},
    ),
    "one-more-window": (
        "QLinearAveragePool", "com.microsoft", 17, {"x": bytes_(1, 2, 6, 6), **SCALES}, [(4, BYTE)],
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
    ),
    "ends-and-starts-over-a-past": (
        "Attention", "com.microsoft", 17, {**ATTENTION, "mask": ints(5, 4, 0, 1), "past": floats(2, 2, 2, 2, 8)},
        [(3, FLOAT), (5, FLOAT)], {"num_heads": 2},
    ),
    "cross-attention-with-a-bias": (
        "DecoderMaskedMultiHeadAttention", "com.microsoft", 17,
        {"q": floats(2, 1, 16), "k": floats(2, 2, 5, 8), "v": floats(2, 2, 5, 8)}
        | dict.fromkeys(("mask", "added", "past_k", "past_v", "length", "width", "beams")) | {"bias": floats(48)},
        [(3, FLOAT)], {"num_heads": 2},
    ),
    "slices-by-attribute": ("Slice", "", 9, {"x": floats(4, 5)}, [(2, FLOAT)], {"starts": [1, -3], "ends": [3, 99]}),
    "chosen-from-nothing": (
        "Where", "", 17, {"which": np.array([True]), "x": floats(0), "y": floats(1)}, [(1, FLOAT)], {},
    ),
    **{
        f"{last}-of-{np.dtype(kind)}": (
            "Range", "", 17, {"a": np.array(3, kind), "b": np.array(last, kind), "c": np.array(2, kind)}, [(1, kind)],
            {},
        )
        for kind in (np.float64, LONG)
        for last in (11, 1)
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_rare_forms(device: dml.Device, case: Any) -> None:
    op, domain, version, inputs, outputs, attributes = case
    kinds = {f"y{index}": kind for index, kind in enumerate(outputs)}
    model, given = node_model(op, inputs, kinds, domain=domain, version=version, **attributes)
    assert_close(prepare(model, device, fallback=False).run(given), in_onnxruntime(model, given), 1e-5)


def model_with_sparse(how: str, rows: int, indices: Any) -> Any:
    """Return a model of x + w for a sparse w {rows, 3}, which holds 1.5 and 2.5."""
    w = onnx.SparseTensorProto(
        values=numpy_helper.from_array(np.array([1.5, 2.5], FLOAT), "w"),
        indices=numpy_helper.from_array(np.array(indices), "i"),
        dims=[rows, 3],
    )
    model, _ = node_model("Add", {"x": floats(2, 3), "w": floats(2, 3)}, {"y": (2, FLOAT)}, domain="")
    del model.graph.input[1]
    if how == "initializer":
        model.graph.sparse_initializer.append(w)
    else:
        model.graph.node.insert(0, helper.make_node("Constant", [], ["w"], sparse_value=w))
    return model


SPARSE = pytest.mark.parametrize("how", ["initializer", "constant"])


@SPARSE
@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]], ids=["flat", "by-axis"])
def test_sparse_tensors(device: dml.Device, how: str, indices: Any) -> None:
    (found,) = prepare(model_with_sparse(how, 2, indices), device, fallback=False).run([np.ones((2, 3), FLOAT)])
    assert np.array_equal(found, [[1, 2.5, 1], [1, 1, 3.5]])


@SPARSE
@pytest.mark.parametrize("rows, indices, message", [
    (2, [1, 6], "out of range"), (2, [[0, 1], [1, 3]], "out of range"), (2, [1], "has 1 values"),
    (-2, [0, 1], "not positive"), (2**28, [0, 1], "at most 268435456 elements are made dense"),
])  # fmt: skip
def test_sparse_tensors_that_do_not_fit(device: dml.Device, how: str, rows: int, indices: Any, message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        prepare(model_with_sparse(how, rows, indices), device, fallback=False).run([np.ones((2, 3), FLOAT)])


def test_fused_quick_gelu(device: dml.Device) -> None:
    """onnxruntime fuses it for its DirectML provider alone."""
    x = floats(3, 3)
    model, given = node_model("FusedMatMulActivation", {"x": x, "again": x}, {"y": (2, FLOAT)}, activation="QuickGelu")
    (found,) = prepare(model, device, fallback=False).run(given)
    product = x.astype(np.float64) @ x
    assert_close([found], [(product / (1 + np.exp(-1.702 * product))).astype(FLOAT)], 1e-5)


def test_scaled_by_two_attributes(device: dml.Device) -> None:
    """Upsample as in version 1, which onnxruntime lacks."""
    x = floats(1, 2, 3, 3)
    model, given = node_model("Upsample", {"x": x}, {"y": (4, FLOAT)}, domain="", version=6, height_scale=2.0,
                              width_scale=3.0)  # fmt: skip
    (found,) = prepare(model, device, fallback=False).run(given)
    assert np.array_equal(found, x.repeat(2, 2).repeat(3, 3))


@pytest.mark.parametrize("past", [0, 2])
def test_attention_with_a_mask_of_every_position(device: dml.Device, past: int) -> None:
    """A mask {B, 1, M, M} for M positions at most, which onnxruntime's CPU provider refuses."""
    mask = _rng.integers(0, 2, (2, 1, 8, 8)).astype(np.int32) | np.eye(8, dtype=np.int32)
    inputs: dict[str, Array | None] = {**ATTENTION, "mask": mask}
    if past:
        inputs["past"] = floats(2, 2, 2, past, 8)
    outputs = {"y": (3, FLOAT), "present": (5, FLOAT)}
    model, given = node_model("Attention", inputs, outputs, num_heads=2)
    found = prepare(model, device, fallback=False).run(given)
    part = np.ascontiguousarray(mask[:, 0, past : past + 3, : past + 3])
    model, given = node_model("Attention", inputs | {"mask": part}, outputs, num_heads=2)
    assert_close(found, in_onnxruntime(model, given), 1e-5)
