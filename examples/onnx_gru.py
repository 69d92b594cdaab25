"""An ONNX model with a GRU, from file to result.

    python examples/onnx_gru.py [model.onnx]

Without a file, a small model is made and saved first. ``main`` runs the model; the other functions make it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from dml.frontends.onnx import prepare


def make(path: Path, size: int = 8, hidden: int = 16) -> Path:
    """Write a bidirectional GRU with random weights over sequences of any length and batch size."""
    rng = np.random.default_rng(0)
    weights = {
        "W": rng.uniform(-0.3, 0.3, (2, 3 * hidden, size)),
        "R": rng.uniform(-0.3, 0.3, (2, 3 * hidden, hidden)),
        "B": rng.uniform(-0.3, 0.3, (2, 6 * hidden)),
    }
    node = helper.make_node("GRU", ["x", *weights], ["y", "last"], hidden_size=hidden, direction="bidirectional")
    graph = helper.make_graph(
        [node],
        "gru",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["steps", "batch", size])],
        [
            helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["steps", 2, "batch", hidden]),
            helper.make_tensor_value_info("last", onnx.TensorProto.FLOAT, [2, "batch", hidden]),
        ],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10), path)
    return path


def main(path: Path) -> None:
    model = prepare(path)
    for steps, batch in ((12, 2), (5, 3)):  # compiled once for each pair of sizes
        x = np.sin(np.arange(steps * batch * 8, dtype=np.float32)).reshape(steps, batch, 8)
        y, last = model.run({"x": x})
        print(f"{steps} steps, batch {batch}: y {y.shape}, last state of row 0, forward: {last[0, 0, :4]} ...")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(make(Path(folder) / "gru.onnx"))
