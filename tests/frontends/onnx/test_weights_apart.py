"""Large weights are read without protobuf, with the same result; unusual files are left to protobuf."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from models import model_of
from onnx import helper

from dml.errors import DMLError
from dml.frontends.onnx.load.loading import load
from dml.frontends.onnx.load.weights_apart import without_weights


def large() -> onnx.ModelProto:
    """Return a model with more than a mebibyte of raw weights, small initializers, and one in typed fields."""
    random = np.random.default_rng(0)
    arrays = {
        "w": random.standard_normal((512, 600), np.float32),
        "few": np.arange(1024.0),  # 1,024 elements of eight bytes
        "small": np.arange(600, dtype=np.float32),
        "h": random.standard_normal(5000).astype(np.float16),
    }
    x = np.zeros((3, 512), np.float32)
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, ["y"], 21, initializers=arrays)
    model.graph.initializer.append(helper.make_tensor("plain", onnx.TensorProto.FLOAT, [2000], np.ones(2000)))
    return model


MODEL = large()
DATA = MODEL.SerializeToString()


def put_together(data: bytes) -> onnx.ModelProto | None:
    """Return the model joined from its two parts; None if it was not split."""
    split = without_weights(memoryview(data))
    if split is None:
        return None
    light, weights = split
    model = onnx.ModelProto.FromString(light)
    for at, held in weights.items():
        assert model.graph.initializer[at].raw_data == b""
        model.graph.initializer[at].raw_data = bytes(held)
    return model


def test_both_parts_are_the_model() -> None:
    light, weights = without_weights(memoryview(DATA)) or (b"", {})
    assert {at: len(data) for at, data in weights.items()} == {0: 512 * 600 * 4, 1: 8192, 3: 10000}
    assert len(light) < len(DATA) - 512 * 600 * 4
    assert put_together(DATA) == MODEL


@pytest.mark.parametrize("kind", ["bytes", "path"])
def test_loaded_models_equal_protobufs(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(DATA)
    found, wanted = load(DATA if kind == "bytes" else path), load(MODEL)
    assert found.outline == wanted.outline
    assert list(found.initial) == list(wanted.initial)
    for name, array in wanted.initial.items():
        np.testing.assert_array_equal(found.initial[name], array, strict=True)
    assert not found.model.graph.initializer[0].raw_data


@pytest.mark.parametrize("kind", ["bytes", "path"])
@pytest.mark.parametrize("dtype", ["UINT4", "INT4"])
@pytest.mark.parametrize("size", [4000, (2 << 20) - 8192, 2 << 20, (2 << 20) + 1, 2048 * 8192])
def test_four_bits_of_any_size(dtype: str, size: int, kind: str, tmp_path: Path) -> None:
    """Weights around 1 MiB, from which they are read separately, and one as large as a language model's."""
    packed = np.random.default_rng(1).integers(0, 256, -(-size // 2)).astype(np.uint8)
    packed[-1] &= 15 if size % 2 else 255
    tensor = onnx.TensorProto(name="w", dims=[size], raw_data=packed.tobytes())
    tensor.data_type = onnx.TensorProto.DataType.Value(dtype)
    scale = helper.make_tensor("scale", onnx.TensorProto.FLOAT, [], [0.5])
    node = helper.make_node("DequantizeLinear", ["w", "scale"], ["y"])
    output = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [size])
    graph = helper.make_graph([node], "narrow", [], [output], [tensor, scale])
    data = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    found = load(data if kind == "bytes" else path).initial["w"]
    fields = np.stack([packed & 15, packed >> 4], 1).ravel()[:size].astype(np.int8)
    expected = fields if dtype == "UINT4" else np.where(fields > 7, fields - 16, fields)
    np.testing.assert_array_equal(found.astype(np.int8), expected)


def test_a_wrong_size_is_found() -> None:
    model = large()
    model.graph.initializer[0].raw_data = bytes(512 * 600 * 4 - 1)
    with pytest.raises(DMLError, match=r"initializer 'w': its dimensions say 1228800 bytes, found 1228799"):
        load(model.SerializeToString())


def field(number: int, data: bytes) -> bytes:
    """Return bytes encoded as a protobuf field."""
    length, coded = len(data), bytearray()
    while length > 127:
        coded.append(length & 127 | 128)
        length >>= 7
    return bytes([number << 3 | 2, *coded, length]) + data


def test_unusual_files_are_left_to_protobuf() -> None:
    tensor = MODEL.graph.initializer[0].SerializeToString()
    twice = field(7, field(5, tensor + field(9, bytes(8192))))
    group = DATA + bytes([100 << 3 & 127 | 3 | 128, 6, 100 << 3 & 127 | 4 | 128, 6])
    onnx.ModelProto.FromString(twice), onnx.ModelProto.FromString(group)
    assert put_together(twice) is None
    assert put_together(group) is None
    assert put_together(DATA + field(7, field(5, tensor))) == onnx.ModelProto.FromString(
        DATA + field(7, field(5, tensor))
    )


@pytest.mark.parametrize("seed", range(4))
def test_damaged_bytes_make_the_model_that_protobuf_makes(seed: int) -> None:
    random = np.random.default_rng(seed)
    # positions outside the weights: near the beginning, between weights, and near the end
    places = [*range(64), *range(len(DATA) - 16400, len(DATA) - 16300), *range(len(DATA) - 200, len(DATA))]
    for place in random.choice(places, 60):
        damaged = bytearray(DATA)
        damaged[place] = random.integers(256)
        try:
            wanted = onnx.ModelProto.FromString(bytes(damaged))
        except Exception:  # protobuf has its own error classes
            wanted = None
        try:
            found = put_together(bytes(damaged))
        except Exception:
            found = None
        assert found is None or found == wanted


def test_truncated_files_are_left_to_protobuf_or_complete() -> None:
    for length in (1, 5, 20, 100, 5000, 1228900, len(DATA) - 9000, len(DATA) - 150, len(DATA) - 1):
        found = put_together(DATA[:length])
        assert found is None or found == onnx.ModelProto.FromString(DATA[:length])
