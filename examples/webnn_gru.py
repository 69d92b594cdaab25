"""A GRU that processes a stream with WebNN's API: one step for each piece of input, with its state on the device.

    python examples/webnn_gru.py

The state's two tensors are swapped after each step, so that only the new input and the result move between host and
device. The last state is compared with NumPy in float64.
"""

from __future__ import annotations

import numpy as np

from dml.frontends.webnn import MLGraphBuilder, MLOperandDescriptor, MLTensorDescriptor, create_context

SIZE, HIDDEN, STEPS = 8, 32, 50

rng = np.random.default_rng(0)
weights = {
    "weight": rng.uniform(-0.4, 0.4, (3 * HIDDEN, SIZE)).astype(np.float32),
    "recurrent_weight": rng.uniform(-0.2, 0.2, (3 * HIDDEN, HIDDEN)).astype(np.float32),
    "bias": rng.uniform(-0.1, 0.1, 3 * HIDDEN).astype(np.float32),
    "readout": rng.uniform(-0.3, 0.3, (HIDDEN, 1)).astype(np.float32),
}


def step_in_float64(x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Compute the cell as the specification defines it; gates update, reset, new."""
    wx = x.astype(np.float64) @ weights["weight"].T + weights["bias"]
    wh = h @ weights["recurrent_weight"].T.astype(np.float64)
    z, r = (1 / (1 + np.exp(-(wx + wh)[:, gate * HIDDEN : (gate + 1) * HIDDEN])) for gate in (0, 1))
    n = np.tanh(wx[:, 2 * HIDDEN :] + r * wh[:, 2 * HIDDEN :])
    return z * h + (1 - z) * n


def main() -> None:
    context = create_context()
    builder = MLGraphBuilder(context)
    constants = {
        name: builder.constant(MLOperandDescriptor("float32", array.shape), array) for name, array in weights.items()
    }
    x = builder.input("x", MLOperandDescriptor("float32", (1, SIZE)))
    h = builder.input("h", MLOperandDescriptor("float32", (1, HIDDEN)))
    state = builder.gru_cell(x, constants["weight"], constants["recurrent_weight"], h, HIDDEN, bias=constants["bias"])
    answer = builder.sigmoid(builder.gemm(state, constants["readout"]))
    graph = builder.build({"state": state, "answer": answer})

    piece = context.create_tensor(MLTensorDescriptor("float32", (1, SIZE), writable=True))
    old, new = (context.create_tensor(MLTensorDescriptor("float32", (1, HIDDEN), readable=True)) for _ in range(2))
    heard = context.create_tensor(MLTensorDescriptor("float32", (1, 1), readable=True))
    expected = np.zeros((1, HIDDEN))
    for t in range(STEPS):
        data = np.sin(0.3 * t + np.arange(SIZE, dtype=np.float32)).reshape(1, SIZE)
        context.write_tensor(piece, data)
        context.dispatch(graph, {"x": piece, "h": old}, {"state": new, "answer": heard})
        old, new = new, old
        expected = step_in_float64(data, expected)
        if t % 10 == 9:
            print(f"after {t + 1} pieces: {context.read_tensor(heard)[0, 0]:.6f}")
    error = np.abs(context.read_tensor(old) - expected).max()
    print(f"last state, largest error against float64: {error:.1e}")
    assert error < 1e-5


if __name__ == "__main__":
    main()
