"""A small network with both versions of GroupNormalization, compared with the same arithmetic in NumPy.

    python examples/group_normalization.py

Convolution, normalization in groups of channels, ReLU: version 21 scales each channel, the deprecated 18 each group.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from dml.frontends.onnx import prepare

CHANNELS, GROUPS = 8, 4


def network(version: int) -> Any:
    """Return Conv, GroupNormalization, Relu over images of any size, in an opset."""
    rng = np.random.default_rng(version)
    count = CHANNELS if version >= 21 else GROUPS
    weights = {
        "weight": rng.uniform(-0.5, 0.5, (CHANNELS, 3, 3, 3)),
        "scale": rng.uniform(0.5, 1.5, count),
        "bias": rng.uniform(-0.5, 0.5, count),
    }
    nodes = [
        helper.make_node("Conv", ["image", "weight"], ["features"], pads=[1, 1, 1, 1]),
        helper.make_node("GroupNormalization", ["features", "scale", "bias"], ["normal"], num_groups=GROUPS),
        helper.make_node("Relu", ["normal"], ["y"]),
    ]
    sizes = ["batch", 3, "height", "width"]
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, sizes)],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", CHANNELS, "height", "width"])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)


def expected(model: Any, image: Any) -> Any:
    """Compute the network in float64."""
    held = {tensor.name: numpy_helper.to_array(tensor).astype(np.float64) for tensor in model.graph.initializer}
    padded = np.pad(image.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    features = np.einsum("nchwij,kcij->nkhw", windows, held["weight"])
    groups = features.reshape(len(image), GROUPS, -1)
    groups = (groups - groups.mean(2, keepdims=True)) / np.sqrt(groups.var(2, keepdims=True) + 1e-5)
    scaled = groups.reshape(len(image), len(held["scale"]), -1) * held["scale"][:, None] + held["bias"][:, None]
    return np.maximum(scaled.reshape(features.shape), 0)


def main() -> None:
    image = np.cos(np.arange(2 * 3 * 16 * 16, dtype=np.float32)).reshape(2, 3, 16, 16)
    for version in (18, 21):
        model = network(version)
        (y,) = prepare(model).run({"image": image})
        error = np.abs(y - expected(model, image)).max()
        print(f"GroupNormalization {version}: {y.shape}, largest error {error:.1e}, within 1e-05: "
              f"{'yes' if error <= 1e-5 else 'no'}")  # fmt: skip
        assert error <= 1e-5


if __name__ == "__main__":
    main()
