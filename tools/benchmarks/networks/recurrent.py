"""A text model of recurrent layers."""

from __future__ import annotations

from networks.building import Input, Model, Network


def lstm_gru() -> Model:
    """Return a model of Gather, a bidirectional LSTM of 64 units, a GRU of 64 units over both directions, and a Gemm of
    the GRU's last state."""
    net, words, width = Network(), 1000, 64
    x = net.node("Gather", net.weight(words, width), "ids")
    scale = width**-0.5
    weights = [net.weight(2, 4 * width, width, scale=scale) for _ in range(2)]
    y, _, _ = net.nodes("LSTM", 3, x, *weights, net.weight(2, 8 * width, scale=scale),
                        direction="bidirectional", hidden_size=width)  # fmt: skip
    both = net.node("Reshape", net.node("Transpose", y, perm=[0, 2, 1, 3]), net.shape(0, 0, 2 * width))
    _, last = net.nodes(
        "GRU", 2, both, net.weight(1, 3 * width, 2 * width, scale=scale), net.weight(1, 3 * width, width, scale=scale),
        net.weight(1, 6 * width, scale=scale), hidden_size=width, linear_before_reset=1,
    )  # fmt: skip
    state = net.node("Squeeze", last, net.shape(0))
    result = net.node("Gemm", state, net.weight(width, 10, scale=scale), net.weight(10))
    inputs = (Input("ids", ("sequence", "batch"), words),)
    return Model(
        "bidirectional LSTM, GRU", net.model(inputs, {result: 2}), inputs,
        {"sequence": 20, "batch": 1},
        {"batch": {"batch": 2}, "length": {"sequence": 27}, "third": {"sequence": 33, "batch": 3}},
    )  # fmt: skip
