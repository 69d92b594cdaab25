"""Recurrent networks in float64 NumPy, row by row and step by step: slow, plain, and independent of the package."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Function = Callable[[Array], Array]


def sigmoid(x: Array) -> Array:
    return np.where(
        x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-np.maximum(x, 0)))
    )


@dataclass(frozen=True)
class Network:
    """What all kinds have, with G gates, D directions, S steps, B rows, H hidden units and I inputs of a step.

    x {S, B, I}, w {D, G * H, I}, r {D, G * H, H}, bias {D, 2 * G * H} (the input's, then the recurrence's) and h0
    {D, B, H} (zero where absent), lengths {B} (all steps where absent). functions: of each direction in turn.
    """

    x: Array
    w: Array
    r: Array
    bias: Array | None
    h0: Array | None
    lengths: Array | None
    functions: Sequence[Function]
    direction: str

    @property
    def directions(self) -> list[str]:
        return ["FORWARD", "BACKWARD"] if self.direction == "BIDIRECTIONAL" else [self.direction]

    def biases(self, direction: int) -> tuple[Array, Array]:
        """The input's and the recurrence's."""
        if self.bias is None:
            zeros = np.zeros(self.w.shape[1])
            return zeros, zeros
        first, second = np.split(self.bias[direction], 2)
        return first, second

    def state(self, given: Array | None) -> Array:
        """An initial state {D, B, H}."""
        if given is not None:
            return given
        return np.zeros((len(self.directions), self.x.shape[1], self.r.shape[-1]))

    def functions_of(self, direction: int) -> Sequence[Function]:
        count = len(self.functions) // len(self.directions)
        return self.functions[direction * count : (direction + 1) * count]

    def run(self, step: Callable[..., tuple[Array, ...]], *states: Array) -> tuple[Array, ...]:
        """Steps of each direction and row in its order; zero beyond a row's length.

        step(direction number, x of one step and row, *states of the row) -> the new states, the output first. Returns
        the sequence {S, D, B, H} and the last states.
        """
        steps, batch, _ = self.x.shape
        sequence = np.zeros((steps, len(self.directions), batch, self.r.shape[-1]))
        last = tuple(np.array(s, np.float64) for s in states)
        for d, direction in enumerate(self.directions):
            for row in range(batch):
                n = steps if self.lengths is None else min(int(self.lengths[row]), steps)
                for t in range(n) if direction == "FORWARD" else range(n - 1, -1, -1):
                    new = step(d, self.x[t, row], *(s[d, row] for s in last))
                    for s, value in zip(last, new, strict=True):
                        s[d, row] = value
                    sequence[t, d, row] = new[0]
        return sequence, *last


def gru(network: Network, linear_before_reset: bool) -> tuple[Array, ...]:
    """Gates z, r, h. Returns the sequence and the last state."""

    def step(d: int, x: Array, h: Array) -> tuple[Array, ...]:
        f, g = network.functions_of(d)
        input_bias, bias = network.biases(d)
        wz, wr, wh = np.split(network.w[d] @ x + input_bias, 3)
        rz, rr, rh = np.split(network.r[d], 3)
        bz, br, bh = np.split(bias, 3)
        z = f(wz + rz @ h + bz)
        reset = f(wr + rr @ h + br)
        linear = reset * (rh @ h + bh) if linear_before_reset else rh @ (reset * h) + bh
        return ((1 - z) * g(wh + linear) + z * h,)

    return network.run(step, network.state(network.h0))


def rnn(network: Network) -> tuple[Array, ...]:
    """Returns the sequence and the last state."""

    def step(d: int, x: Array, h: Array) -> tuple[Array, ...]:
        (f,) = network.functions_of(d)
        return (f(network.w[d] @ x + network.r[d] @ h + sum(network.biases(d))),)

    return network.run(step, network.state(network.h0))


def lstm(
    network: Network, c0: Array | None, peepholes: Array | None, clip: float | None, coupled: bool
) -> tuple[Array, ...]:
    """Gates i, o, f, c. c0 {D, B, H}, peepholes {D, 3 * H}: i, o, f. clip bounds the arguments of f and g.

    Returns the sequence and the last states.
    """
    p = np.zeros((len(network.directions), 3 * network.r.shape[-1])) if peepholes is None else peepholes

    def clipped(v: Array) -> Array:
        return v if clip is None else np.clip(v, -clip, clip)

    def step(d: int, x: Array, h: Array, c: Array) -> tuple[Array, ...]:
        f, g, last = network.functions_of(d)
        i, o, forget, candidate = np.split(network.w[d] @ x + network.r[d] @ h + sum(network.biases(d)), 4)
        p_i, p_o, p_f = np.split(p[d], 3)
        i = f(clipped(i + p_i * c))
        forget = 1 - i if coupled else f(clipped(forget + p_f * c))
        new = forget * c + i * g(clipped(candidate))
        return f(clipped(o + p_o * new)) * last(new), new

    return network.run(step, network.state(network.h0), network.state(c0))
