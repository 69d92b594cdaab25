"""WebNN's GRU and LSTM, for a sequence and for one step, compared with NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from webnn_graphs import compute

from dml.frontends.webnn import MLGraphBuilder as Builder

RNG = np.random.default_rng(7)
STEPS, BATCH, SIZE, HIDDEN = 5, 3, 4, 6
FUNCTIONS = {"relu": lambda x: np.maximum(x, 0), "sigmoid": expit, "tanh": np.tanh}


def floats(*shape):
    return RNG.uniform(-0.7, 0.7, shape).astype(np.float32)


def close(found, expected):
    """Compare within the error of a few steps of sigmoid and tanh of ten-term sums."""
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


def gates(x, count):
    """Split {gates * H, ...} by gate."""
    return np.split(np.asarray(x, np.float64), count)


def gru_step(x, h, w, r, wb, rb, *, reset_after, layout, activations):
    """Return the state after one step; the names of the gates are the layout's letters."""
    f, g = (FUNCTIONS[name] for name in activations)
    (wz, wr, wn), (rz, rr, rn), (bz, br, bn), (cz, cr, cn) = (
        [dict(zip(layout, gates(each, 3), strict=True))[letter] for letter in "zrn"] for each in (w, r, wb, rb)
    )
    z, reset = f(x @ wz.T + h @ rz.T + bz + cz), f(x @ wr.T + h @ rr.T + br + cr)
    recurrent = reset * (h @ rn.T + cn) if reset_after else (reset * h) @ rn.T + cn
    return z * h + (1 - z) * g(x @ wn.T + bn + recurrent)


def lstm_step(x, h, c, w, r, wb, rb, p, *, layout, activations):
    """Return the state and the cell after one step."""
    f, g, k = (FUNCTIONS[name] for name in activations)
    parts = {}
    for letter, *of in zip(layout, *(gates(each, 4) for each in (w, r, wb, rb)), strict=True):
        parts[letter] = x @ of[0].T + h @ of[1].T + of[2] + of[3]
    pi, po, pf = gates(p, 3)
    cell = f(parts["f"] + pf * c) * c + f(parts["i"] + pi * c) * g(parts["g"])
    return f(parts["o"] + po * cell) * k(cell), cell


def both_ways(direction):
    return {"forward": [1], "backward": [-1], "both": [1, -1]}[direction]


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("layout", ["zrn", "rzn"])
@pytest.mark.parametrize("reset_after", [True, False])
def test_gru(device, direction, layout, reset_after):
    ways = both_ways(direction)
    count, names = len(ways), ("sigmoid", "tanh")
    x, w, r = floats(STEPS, BATCH, SIZE), floats(count, 3 * HIDDEN, SIZE), floats(count, 3 * HIDDEN, HIDDEN)
    wb, rb, h = floats(count, 3 * HIDDEN), floats(count, 3 * HIDDEN), floats(count, BATCH, HIDDEN)
    expected = np.zeros((STEPS, count, BATCH, HIDDEN))
    for d, way in enumerate(ways):
        state = h[d].astype(np.float64)
        for t in range(STEPS)[::way]:
            state = gru_step(x[t], state, w[d], r[d], wb[d], rb[d],
                             reset_after=reset_after, layout=layout, activations=names)  # fmt: skip
            expected[t, d] = state
    last = np.stack([expected[::way][-1, d] for d, way in enumerate(ways)])
    found = compute(
        device, Builder.gru, x, w, r, steps=STEPS, hidden_size=HIDDEN, bias=wb, recurrent_bias=rb,
        initial_hidden_state=h, reset_after=reset_after, return_sequence=True, direction=direction, layout=layout,
    )  # fmt: skip
    close(found[0], last)
    close(found[1], expected)


def test_a_step_of_gru_with_one_bias_and_other_functions(device):
    x, w, r, h = floats(BATCH, SIZE), floats(3 * HIDDEN, SIZE), floats(3 * HIDDEN, HIDDEN), floats(BATCH, HIDDEN)
    rb, zeros = floats(3 * HIDDEN), np.zeros(3 * HIDDEN)
    names = ["relu", "sigmoid"]
    for layout in ("zrn", "rzn"):
        found = compute(
            device, Builder.gru_cell, x, w, r, h, hidden_size=HIDDEN, recurrent_bias=rb, layout=layout,
            activations=names,
        )  # fmt: skip
        close(found, gru_step(x, h, w, r, zeros, rb, reset_after=True, layout=layout, activations=names))


@pytest.mark.parametrize("direction", ["forward", "backward", "both"])
@pytest.mark.parametrize("layout", ["iofg", "ifgo"])
def test_lstm(device, direction, layout):
    ways = both_ways(direction)
    count, names = len(ways), ("sigmoid", "tanh", "tanh")
    x, w, r = floats(STEPS, BATCH, SIZE), floats(count, 4 * HIDDEN, SIZE), floats(count, 4 * HIDDEN, HIDDEN)
    wb, rb, p = floats(count, 4 * HIDDEN), floats(count, 4 * HIDDEN), floats(count, 3 * HIDDEN)
    h, c = floats(count, BATCH, HIDDEN), floats(count, BATCH, HIDDEN)
    states, cells = np.zeros((STEPS, count, BATCH, HIDDEN)), np.zeros((count, BATCH, HIDDEN))
    for d, way in enumerate(ways):
        state, cell = h[d].astype(np.float64), c[d].astype(np.float64)
        for t in range(STEPS)[::way]:
            state, cell = lstm_step(x[t], state, cell, w[d], r[d], wb[d], rb[d], p[d],
                                    layout=layout, activations=names)  # fmt: skip
            states[t, d] = state
        cells[d] = cell
    last = np.stack([states[::way][-1, d] for d, way in enumerate(ways)])
    found = compute(
        device, Builder.lstm, x, w, r, steps=STEPS, hidden_size=HIDDEN, bias=wb, recurrent_bias=rb, peephole_weight=p,
        initial_hidden_state=h, initial_cell_state=c, return_sequence=True, direction=direction, layout=layout,
    )  # fmt: skip
    for one, expected in zip(found, (last, cells, states), strict=True):
        close(one, expected)


def test_a_step_of_lstm(device):
    x, w, r = floats(BATCH, SIZE), floats(4 * HIDDEN, SIZE), floats(4 * HIDDEN, HIDDEN)
    h, c, wb, p = floats(BATCH, HIDDEN), floats(BATCH, HIDDEN), floats(4 * HIDDEN), floats(3 * HIDDEN)
    names = ("sigmoid", "relu", "tanh")
    found = compute(
        device, Builder.lstm_cell, x, w, r, h, c, hidden_size=HIDDEN, bias=wb, peephole_weight=p, layout="ifgo",
        activations=names,
    )  # fmt: skip
    zeros = np.zeros(4 * HIDDEN)
    expected = lstm_step(x, h, c, w, r, wb, zeros, p, layout="ifgo", activations=names)
    for one, value in zip(found, expected, strict=True):
        close(one, value)


def test_defaults(device):
    x, w, r = floats(2, 1, SIZE), floats(1, 3 * HIDDEN, SIZE), floats(1, 3 * HIDDEN, HIDDEN)
    (last,) = compute(device, Builder.gru, x, w, r, steps=2, hidden_size=HIDDEN)
    state, zeros = np.zeros((1, HIDDEN)), np.zeros(3 * HIDDEN)
    for t in range(2):
        state = gru_step(x[t], state, w[0], r[0], zeros, zeros,
                         reset_after=True, layout="zrn", activations=("sigmoid", "tanh"))  # fmt: skip
    close(last[0], state)
