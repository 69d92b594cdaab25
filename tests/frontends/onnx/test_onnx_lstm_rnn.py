"""LSTM and RNN compared with ONNX Runtime: directions, optional inputs, activations, clip, peepholes, layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, model_of
from onnx import helper

import dml
from dml.frontends.onnx import prepare

STEPS, BATCH, SIZE, HIDDEN = 4, 3, 2, 5
NAMES = ("X", "W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P")


def arrays(gates: int, directions: int, present: tuple[str, ...]) -> dict[str, Array]:
    rng = np.random.default_rng(gates * 10 + directions)
    shapes = {
        "X": (STEPS, BATCH, SIZE),
        "W": (directions, gates * HIDDEN, SIZE),
        "R": (directions, gates * HIDDEN, HIDDEN),
        "B": (directions, 2 * gates * HIDDEN),
        "initial_h": (directions, BATCH, HIDDEN),
        "initial_c": (directions, BATCH, HIDDEN),
        "P": (directions, 3 * HIDDEN),
    }
    made = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    made["sequence_lens"] = np.array([4, 1, 3], np.int32)
    return {name: made[name] for name in NAMES if name in ("X", "W", "R") or name in present}


CASES: list[tuple[str, str, tuple[str, ...], dict[str, Any]]] = [
    ("LSTM", "forward", (), {}),
    ("LSTM", "reverse", ("B", "sequence_lens", "initial_h", "initial_c"), {}),
    ("LSTM", "bidirectional", ("B", "sequence_lens", "P"), {}),
    ("LSTM", "forward", ("B", "initial_c", "P"), {"clip": 0.5}),
    ("LSTM", "forward", ("B",), {"input_forget": 1}),
    ("LSTM", "forward", ("B",), {"activations": ["HardSigmoid", "Relu", "Softsign"], "activation_alpha": [0.25],
                                 "activation_beta": [0.375]}),
    ("RNN", "forward", (), {}),
    ("RNN", "reverse", ("B", "sequence_lens", "initial_h"), {}),
    ("RNN", "bidirectional", ("B", "sequence_lens"), {"activations": ["Tanh", "Sigmoid"]}),
    ("RNN", "bidirectional", ("B", "sequence_lens", "initial_h"), {"clip": 0.25}),
]  # fmt: skip


@pytest.mark.parametrize("op, direction, present, attributes", CASES)
def test_agrees_with_onnxruntime(
    device: dml.Device, op: str, direction: str, present: tuple[str, ...], attributes: dict[str, Any]
) -> None:
    gates, directions = (4 if op == "LSTM" else 1), (2 if direction == "bidirectional" else 1)
    inputs = arrays(gates, directions, present)
    names = NAMES if op == "LSTM" else NAMES[:6]
    outputs = ["Y", "Y_h", "Y_c"] if op == "LSTM" else ["Y", "Y_h"]
    node = helper.make_node(
        op,
        [name if name in inputs else "" for name in names],
        outputs,
        hidden_size=HIDDEN,
        direction=direction,
        **attributes,
    )
    model = model_of([node], inputs, outputs, 14)
    assert_close(prepare(model, device).run(inputs), in_onnxruntime(model, inputs), 2e-5)


@pytest.mark.parametrize("op", ["LSTM", "RNN"])
def test_batch_first_is_the_same_network(device: dml.Device, op: str) -> None:
    inputs = arrays(4 if op == "LSTM" else 1, 2, ("B", "sequence_lens", "initial_h"))
    outputs = ["Y", "Y_h", "Y_c"][: 3 if op == "LSTM" else 2]
    names = [name if name in inputs else "" for name in NAMES[:6]]
    fields: dict[str, Any] = {"hidden_size": HIDDEN, "direction": "bidirectional"}
    plain = model_of([helper.make_node(op, names, outputs, **fields)], inputs, outputs, 14)
    expected = prepare(plain, device).run(inputs)
    swapped = {name: a.transpose(1, 0, 2) if name in ("X", "initial_h") else a for name, a in inputs.items()}
    ranks = {"Y": 4, "Y_h": 3, "Y_c": 3}
    first = model_of([helper.make_node(op, names, outputs, layout=1, **fields)], swapped, outputs, 14, ranks=ranks)
    y, *states = prepare(first, device).run(swapped)
    assert_close([y.transpose(1, 2, 0, 3), *(s.transpose(1, 0, 2) for s in states)], expected, 0)
