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
