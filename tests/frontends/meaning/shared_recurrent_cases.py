"""GRU, LSTM and RNN through the front ends: orders of gates, where biases are added, layouts of sequences.

Biases are multiples of 1/64, so that front ends with one bias and with two have exactly the same sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from front_ends import FrontEndCase, by_onnx, by_openvino, by_pydirectml, by_webnn

import dml.frontends.pydirectml as script

Array = npt.NDArray[Any]

STEPS, BATCH, WIDTH, HIDDEN = 3, 2, 4, 5
_RNG = np.random.default_rng(29)
#: Number of steps of each sequence, which OpenVINO always takes.
_LENGTHS = np.full(BATCH, STEPS, np.int64)


def _inputs(gates: int) -> tuple[Array, ...]:
    """Return x {S, B, I}, weights, recurrence and biases {2, gates * H} in ONNX's order, and the first state."""
    rows = gates * HIDDEN
    shapes = ((STEPS, BATCH, WIDTH), (1, rows, WIDTH), (1, rows, HIDDEN), (1, BATCH, HIDDEN))
    x, w, r, h = ((_RNG.standard_normal(sizes) / 2).astype(np.float32) for sizes in shapes)
    biases = (_RNG.integers(-32, 33, (2, rows)) / 64).astype(np.float32)
    return x, w, r, biases, h


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _rows(gate: int) -> slice:
    return slice(gate * HIDDEN, (gate + 1) * HIDDEN)


def _in_order(array: Array, order: list[int], axis: int) -> Array:
    """Reorder the gates along an axis. order: the position of each new gate in ONNX's order."""
    parts = np.split(array, len(order), axis)
    return np.concatenate([parts[gate] for gate in order], axis)


def _wide(*arrays: Array) -> list[Array]:
    """Return arrays with the leading dimension of 1 that DirectML's recurrent operators take."""
    return [array[None] for array in arrays]


#: DirectML's activations of gates, and of new states.
_GATE, _STATE = (
    script.FusedActivation(kind)
    for kind in (script.OperatorType.ACTIVATION_SIGMOID, script.OperatorType.ACTIVATION_TANH)
)


def _batch_first(opset: Any, x: Any) -> Any:
    return opset.transpose(x, opset.constant(np.array([1, 0, 2], np.int64)))


def _as_onnx(opset: Any, sequence: Any) -> Any:
    """Transpose OpenVINO's sequence {B, D, S, H} to ONNX's {S, D, B, H}."""
    return opset.transpose(sequence, opset.constant(np.array([2, 1, 0, 3], np.int64)))


def _gru(linear_before_reset: bool) -> FrontEndCase:
    """Gates update, reset, new."""
    x, w, r, (of_input, of_state), h = _inputs(3)

    def reference() -> list[Array]:
        state, states = h[0].astype(np.float64), []
        wi, wr, bi, br = (array.astype(np.float64) for array in (w[0], r[0], of_input, of_state))
        z, s, n = map(_rows, range(3))
        for row in x.astype(np.float64):
            given = row @ wi.T + bi
            update = _sigmoid(given[:, z] + state @ wr[z].T + br[z])
            reset = _sigmoid(given[:, s] + state @ wr[s].T + br[s])
            if linear_before_reset:
                new = np.tanh(given[:, n] + reset * (state @ wr[n].T + br[n]))
            else:
                new = np.tanh(given[:, n] + (reset * state) @ wr[n].T + br[n])
            state = (1 - update) * new + update * state
            states.append(state)
        return [np.stack(states), state]

    def in_webnn(builder: Any, x: Any, w: Any, r: Any, a: Any, b: Any, h: Any) -> Any:
        last, whole = builder.gru(
            x, w, r, STEPS, HIDDEN, bias=a, recurrent_bias=b, initial_hidden_state=h, return_sequence=True,
            reset_after=linear_before_reset,
        )  # fmt: skip
        return [whole, last]

    both = of_input + of_state
    bias = np.concatenate([both[: 2 * HIDDEN], of_input[_rows(2)], of_state[_rows(2)]]) if linear_before_reset else both

    def in_openvino(opset: Any, x: Any, h: Any) -> Any:
        made = opset.gru_sequence(
            _batch_first(opset, x), _batch_first(opset, h), opset.constant(_LENGTHS), opset.constant(w),
            opset.constant(r), opset.constant(bias[None]), HIDDEN, "forward", linear_before_reset=linear_before_reset,
        )  # fmt: skip
        return [_as_onnx(opset, made.output(0)), _batch_first(opset, made.output(1))]

    def in_script(x: Any, w: Any, r: Any, b: Any, h: Any) -> Any:
        made = script.gru(
            x, w, r, b, h, None, [_GATE, _STATE], script.RecurrentNetworkDirection.FORWARD, int(linear_before_reset),
            script.OutputOptions.Both,
        )  # fmt: skip
        return [made.sequence, made.single]

    return FrontEndCase(
        f"gru, linear before reset {linear_before_reset}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "GRU", [x, w, r, np.concatenate([of_input, of_state])[None], None, h], outputs=("y", "last"),
                hidden_size=HIDDEN, linear_before_reset=int(linear_before_reset),
            ),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x, w, r, of_input[None], of_state[None], h),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x, h),
            "pydirectml": lambda device, folder: by_pydirectml(
                device, in_script, *_wide(x, w, r, np.concatenate([of_input, of_state])[None, None], h)
            ),
        },
        reference,
    )  # fmt: skip


def _lstm() -> FrontEndCase:
    """Gates input, output, forget, cell in ONNX; forget, input, cell, output in OpenVINO."""
    x, w, r, (of_input, of_state), h = _inputs(4)
    c = (_RNG.standard_normal((1, BATCH, HIDDEN)) / 2).astype(np.float32)

    def reference() -> list[Array]:
        state, cell, states = h[0].astype(np.float64), c[0].astype(np.float64), []
        bias = (of_input + of_state).astype(np.float64)
        i, o, f, g = map(_rows, range(4))
        for row in x.astype(np.float64):
            found = row @ w[0].astype(np.float64).T + state @ r[0].astype(np.float64).T + bias
            cell = _sigmoid(found[:, f]) * cell + _sigmoid(found[:, i]) * np.tanh(found[:, g])
            state = _sigmoid(found[:, o]) * np.tanh(cell)
            states.append(state)
        return [np.stack(states), state, cell]

    def in_webnn(builder: Any, x: Any, w: Any, r: Any, a: Any, b: Any, h: Any, c: Any) -> Any:
        last, cell, whole = builder.lstm(
            x, w, r, STEPS, HIDDEN, bias=a, recurrent_bias=b, initial_hidden_state=h, initial_cell_state=c,
            return_sequence=True,
        )  # fmt: skip
        return [whole, last, cell]

    order = [2, 0, 3, 1]
    weights, recurrence = (_in_order(array, order, 1) for array in (w, r))
    bias = _in_order(of_input + of_state, order, 0)[None]

    def in_openvino(opset: Any, x: Any, h: Any, c: Any) -> Any:
        made = opset.lstm_sequence(
            *(_batch_first(opset, given) for given in (x, h, c)), opset.constant(_LENGTHS), opset.constant(weights),
            opset.constant(recurrence), opset.constant(bias), HIDDEN, "forward",
        )  # fmt: skip
        states = [_batch_first(opset, made.output(at)) for at in (1, 2)]
        return [_as_onnx(opset, made.output(0)), *states]

    def in_script(x: Any, w: Any, r: Any, b: Any, h: Any, c: Any) -> Any:
        made = script.lstm(x, w, r, b, h, c)
        return [made.sequence, made.single, made.cell_single]

    return FrontEndCase(
        "lstm",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "LSTM", [x, w, r, np.concatenate([of_input, of_state])[None], None, h, c],
                outputs=("y", "last", "cell"), hidden_size=HIDDEN,
            ),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x, w, r, of_input[None], of_state[None], h, c),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x, h, c),
            "pydirectml": lambda device, folder: by_pydirectml(
                device, in_script, *_wide(x, w, r, np.concatenate([of_input, of_state])[None, None], h, c)
            ),
        },
        reference,
    )  # fmt: skip


def _rnn() -> FrontEndCase:
    x, w, r, (of_input, of_state), h = _inputs(1)
    bias = of_input + of_state

    def reference() -> list[Array]:
        state, states = h[0].astype(np.float64), []
        for row in x.astype(np.float64):
            state = np.tanh(row @ w[0].astype(np.float64).T + state @ r[0].astype(np.float64).T + bias)
            states.append(state)
        return [np.stack(states), state]

    def in_openvino(opset: Any, x: Any, h: Any) -> Any:
        made = opset.rnn_sequence(
            _batch_first(opset, x), _batch_first(opset, h), opset.constant(_LENGTHS), opset.constant(w),
            opset.constant(r), opset.constant(bias[None]), HIDDEN, "forward",
        )  # fmt: skip
        return [_as_onnx(opset, made.output(0)), _batch_first(opset, made.output(1))]

    return FrontEndCase(
        "rnn",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "RNN", [x, w, r, np.concatenate([of_input, of_state])[None], None, h], outputs=("y", "last"),
                hidden_size=HIDDEN,
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x, h),
        },
        reference,
    )  # fmt: skip


RECURRENT_CASES = [_gru(True), _gru(False), _lstm(), _rnn()]
