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


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize(("steps", "batch"), [(0, 2), (3, 0)])
@pytest.mark.parametrize("outputs", [("Y", "Y_h"), ("", "Y_h")])
@pytest.mark.parametrize("op", ["GRU", "LSTM", "RNN"])
def test_without_steps_the_states_stay(
    device: dml.Device, op: str, outputs: tuple[str, str], steps: int, batch: int, layout: int
) -> None:
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[op]

    def as_laid_out(array: Array) -> Array:
        return array.transpose(1, 0, 2) if layout else array

    state = np.random.default_rng(1).uniform(-1, 1, (2, batch, HIDDEN)).astype(np.float32)
    inputs = {
        "X": as_laid_out(np.zeros((steps, batch, SIZE), np.float32)),
        "W": np.ones((2, gates * HIDDEN, SIZE), np.float32),
        "R": np.ones((2, gates * HIDDEN, HIDDEN), np.float32),
        "B": np.ones((2, 2 * gates * HIDDEN), np.float32),
        "sequence_lens": np.zeros(batch, np.int32),
        "initial_h": as_laid_out(state),
    }
    names = [*outputs, "Y_c"] if op == "LSTM" else list(outputs)
    node = helper.make_node(op, list(inputs), names, direction="bidirectional", layout=layout)
    ranks = {"Y": 4, "Y_h": 3, "Y_c": 3}
    model = model_of([node], inputs, [name for name in names if name], 14, symbolic=True, ranks=ranks)
    y = np.zeros((batch, steps, 2, HIDDEN) if layout else (steps, 2, batch, HIDDEN), np.float32)
    expected = {"Y": y, "Y_h": as_laid_out(state), "Y_c": as_laid_out(np.zeros_like(state))}
    found = prepare(model, device, fallback=False).run(inputs)
    assert_close(found, [expected[name] for name in names if name], 0)
