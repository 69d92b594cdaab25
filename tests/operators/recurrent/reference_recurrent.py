"""Recurrent networks in float64 NumPy, row by row and step by step: slow, plain, and independent of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]


def sigmoid(x: Array) -> Array:
    return np.where(
        x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0)))
    )


def run(
    step: Callable[..., tuple[Array, ...]],
    x: Array,
    states: Sequence[Array],
    lengths: Array | None,
    directions: Sequence[str],
) -> tuple[Array, tuple[Array, ...]]:
    """Steps of each direction and row in its order; zero beyond a row's length.

    step(direction number, x of one step and row, *states of the row) -> the new states, the output first.
    x {steps, batch, input}; states {directions, batch, hidden} each. Returns the sequence {steps, directions, batch,
    hidden} and the last states.
    """
    steps, batch, _ = x.shape
    hidden = states[0].shape[-1]
    sequence = np.zeros((steps, len(directions), batch, hidden))
    last = tuple(np.array(s, np.float64) for s in states)
    for d, direction in enumerate(directions):
        for row in range(batch):
            n = steps if lengths is None else min(int(lengths[row]), steps)
            for t in range(n) if direction == "forward" else range(n - 1, -1, -1):
                new = step(d, x[t, row], *(s[d, row] for s in last))
                for s, value in zip(last, new, strict=True):
                    s[d, row] = value
                sequence[t, d, row] = new[0]
    return sequence, last


def directions_of(name: str) -> list[str]:
    return {"FORWARD": ["forward"], "BACKWARD": ["backward"], "BIDIRECTIONAL": ["forward", "backward"]}[name]


def gru(
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None,
    h0: Array | None,
    lengths: Array | None,
    functions: Sequence[Function],
    direction: str,
    linear_before_reset: bool,
) -> tuple[Array, Array]:
    """x {S, B, I}, w {D, 3H, I}, r {D, 3H, H}, bias {D, 6H}, h0 {D, B, H}; gates z, r, h."""
    names = directions_of(direction)
    hidden = r.shape[-1]
    x, w, r = (np.asarray(a, np.float64) for a in (x, w, r))
    b = np.zeros((len(names), 6 * hidden)) if bias is None else np.asarray(bias, np.float64)
    h0 = np.zeros((len(names), x.shape[1], hidden)) if h0 is None else h0

    def step(d: int, x_t: Array, h: Array) -> tuple[Array, ...]:
        f, g = functions[2 * d], functions[2 * d + 1]
        wz, wr, wh = np.split(w[d] @ x_t + b[d, : 3 * hidden], 3)
        rz, rr, rh = np.split(r[d], 3)
        bz, br, bh = np.split(b[d, 3 * hidden :], 3)
        z = f(wz + rz @ h + bz)
        reset = f(wr + rr @ h + br)
        linear = reset * (rh @ h + bh) if linear_before_reset else rh @ (reset * h) + bh
        return ((1 - z) * g(wh + linear) + z * h,)

    sequence, (last,) = run(step, x, [h0], lengths, names)
    return sequence, last


def rnn(
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None,
    h0: Array | None,
    lengths: Array | None,
    functions: Sequence[Function],
    direction: str,
) -> tuple[Array, Array]:
    """x {S, B, I}, w {D, H, I}, r {D, H, H}, bias {D, 2H}, h0 {D, B, H}."""
    names = directions_of(direction)
    hidden = r.shape[-1]
    x, w, r = (np.asarray(a, np.float64) for a in (x, w, r))
    b = np.zeros((len(names), 2 * hidden)) if bias is None else np.asarray(bias, np.float64)
    h0 = np.zeros((len(names), x.shape[1], hidden)) if h0 is None else h0

    def step(d: int, x_t: Array, h: Array) -> tuple[Array, ...]:
        return (functions[d](w[d] @ x_t + r[d] @ h + b[d, :hidden] + b[d, hidden:]),)

    sequence, (last,) = run(step, x, [h0], lengths, names)
    return sequence, last


def lstm(
    x: Array,
    w: Array,
    r: Array,
    bias: Array | None,
    h0: Array | None,
    c0: Array | None,
    lengths: Array | None,
    peepholes: Array | None,
    functions: Sequence[Function],
    direction: str,
    clip: float | None,
    coupled: bool,
) -> tuple[Array, Array, Array]:
    """x {S, B, I}, w {D, 4H, I}, r {D, 4H, H}, bias {D, 8H}, h0 and c0 {D, B, H}, peepholes {D, 3H}: i, o, f(, c).

    clip bounds the arguments of f and g.
    """
    names = directions_of(direction)
    hidden = r.shape[-1]
    x, w, r = (np.asarray(a, np.float64) for a in (x, w, r))
    b = np.zeros((len(names), 8 * hidden)) if bias is None else np.asarray(bias, np.float64)
    p = np.zeros((len(names), 3 * hidden)) if peepholes is None else np.asarray(peepholes, np.float64)
    zeros = np.zeros((len(names), x.shape[1], hidden))

    def step(d: int, x_t: Array, h: Array, c: Array) -> tuple[Array, ...]:
        f, g = (
            function if clip is None else (lambda v, function=function: function(np.clip(v, -clip, clip)))
            for function in functions[3 * d : 3 * d + 2]
        )
        last = functions[3 * d + 2]
        i, o, forget, candidate = np.split(w[d] @ x_t + r[d] @ h + b[d, : 4 * hidden] + b[d, 4 * hidden :], 4)
        p_i, p_o, p_f = np.split(p[d], 3)
        i = f(i + p_i * c)
        forget = 1 - i if coupled else f(forget + p_f * c)
        new = forget * c + i * g(candidate)
        return f(o + p_o * new) * last(new), new

    states = [zeros if h0 is None else h0, zeros if c0 is None else c0]
    sequence, (last_h, last_c) = run(step, x, states, lengths, names)
    return sequence, last_h, last_c
