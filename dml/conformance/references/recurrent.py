"""Recurrent networks in float64 NumPy, row by row and step by step: slow and plain.

With `Rounded` numbers, results have a bound of the float32 error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.references.rounded import Numbers, Rounded, each, joined

Array = npt.NDArray[Any]
Function = Callable[[Numbers], Numbers]


def _split(x: Numbers, count: int) -> list[Numbers]:
    """Split into equal parts along the first axis."""
    size = x.shape[0] // count
    return [x[part * size : (part + 1) * size] for part in range(count)]


@dataclass(frozen=True)
class RecurrentReference:
    """The parts that all kinds share: G gates, D directions, S steps, B rows, H hidden units and I inputs of a step.

    x {S, B, I}, w {D, G * H, I}, r {D, G * H, H}, bias {D, 2 * G * H} (first the input's, then the recurrence's) and h0
    {D, B, H} (by default zero), lengths {B} (by default all steps). functions: the activations, one direction after the
    other.
    """

    x: Numbers
    w: Numbers
    r: Numbers
    bias: Numbers | None
    h0: Numbers | None
    lengths: Array | None
    functions: Sequence[Function]
    direction: str

    @property
    def directions(self) -> list[str]:
        return ["FORWARD", "BACKWARD"] if self.direction == "BIDIRECTIONAL" else [self.direction]

    def biases(self, direction: int) -> tuple[Numbers, Numbers]:
        """Return the input's and the recurrence's biases."""
        if self.bias is None:
            zeros = np.zeros(self.w.shape[1])
            return zeros, zeros
        first, second = _split(self.bias[direction], 2)
        return first, second

    def state(self, given: Numbers | None) -> Numbers:
        """Return an initial state {D, B, H}."""
        if given is not None:
            return given
        zeros = np.zeros((len(self.directions), self.x.shape[1], self.r.shape[-1]))
        return Rounded(zeros) if isinstance(self.x, Rounded) else zeros

    def functions_of(self, direction: int) -> Sequence[Function]:
        count = len(self.functions) // len(self.directions)
        return self.functions[direction * count : (direction + 1) * count]

    def run(self, step: Callable[..., tuple[Numbers, ...]], *states: Numbers) -> tuple[Numbers, ...]:
        """Run the steps of each direction and row in order; results are zero beyond a row's length.

        step(direction number, x of one step and row, *states of the row) -> the new states, the output first. Returns
        the sequence {S, D, B, H} and the last states.
        """
        steps, batch, _ = self.x.shape
        nothing = 0 * states[0][0:1, 0:1]
        rows: dict[tuple[int, int, int], Numbers] = {}
        last = [[[state[d : d + 1, row : row + 1] for row in range(batch)] for d in range(len(self.directions))]
                for state in states]  # fmt: skip
        for d, direction in enumerate(self.directions):
            for row in range(batch):
                n = steps if self.lengths is None else min(int(self.lengths[row]), steps)
                for t in range(n) if direction == "FORWARD" else range(n - 1, -1, -1):
                    new = step(d, self.x[t, row], *(s[d][row][0, 0] for s in last))
                    for s, value in zip(last, new, strict=True):
                        s[d][row] = each(value, lambda v: v[None, None])
                    rows[t, d, row] = last[0][d][row]

        def state_of(parts: list[list[Numbers]]) -> Numbers:
            return joined([joined(of_direction, 1) for of_direction in parts], 0)

        count = len(self.directions)
        sequence = [
            state_of([[rows.get((t, d, row), nothing) for row in range(batch)] for d in range(count)])
            for t in range(steps)
        ]
        whole = joined([each(state, lambda v: v[None]) for state in sequence], 0)
        return (whole, *(state_of(parts) for parts in last))


def _both(biases: tuple[Numbers, Numbers]) -> Numbers:
    return biases[0] + biases[1]


def gru(network: RecurrentReference, linear_before_reset: bool) -> tuple[Numbers, ...]:
    """Gates z, r, h. Returns the sequence and the last state."""

    def step(d: int, x: Numbers, h: Numbers) -> tuple[Numbers, ...]:
        f, g = network.functions_of(d)
        input_bias, bias = network.biases(d)
        wz, wr, wh = _split(network.w[d] @ x + input_bias, 3)
        rz, rr, rh = _split(network.r[d], 3)
        bz, br, bh = _split(bias, 3)
        z = f(wz + rz @ h + bz)
        reset = f(wr + rr @ h + br)
        linear = reset * (rh @ h + bh) if linear_before_reset else rh @ (reset * h) + bh
        return ((1 - z) * g(wh + linear) + z * h,)

    return network.run(step, network.state(network.h0))


def rnn(network: RecurrentReference) -> tuple[Numbers, ...]:
    """Returns the sequence and the last state."""

    def step(d: int, x: Numbers, h: Numbers) -> tuple[Numbers, ...]:
        (f,) = network.functions_of(d)
        return (f(network.w[d] @ x + network.r[d] @ h + _both(network.biases(d))),)

    return network.run(step, network.state(network.h0))


def lstm(
    network: RecurrentReference, c0: Numbers | None, peepholes: Numbers | None, clip: float | None, coupled: bool
) -> tuple[Numbers, ...]:
    """Gates i, o, f, c. c0 {D, B, H}, peepholes {D, 3 * H}: i, o, f. clip bounds the arguments of f and g.

    Returns the sequence and the last states.
    """
    p = np.zeros((len(network.directions), 3 * network.r.shape[-1])) if peepholes is None else peepholes

    def clipped(v: Numbers) -> Numbers:
        if clip is None:
            return v
        limits = -float(np.float32(clip)), float(np.float32(clip))
        return Rounded(np.clip(v.value, *limits), v.error) if isinstance(v, Rounded) else np.clip(v, *limits)

    def step(d: int, x: Numbers, h: Numbers, c: Numbers) -> tuple[Numbers, ...]:
        f, g, last = network.functions_of(d)
        i, o, forget, candidate = _split(network.w[d] @ x + network.r[d] @ h + _both(network.biases(d)), 4)
        p_i, p_o, p_f = _split(p[d], 3)
        i = f(clipped(i + p_i * c))
        forget = 1 - i if coupled else f(clipped(forget + p_f * c))
        new = forget * c + i * g(clipped(candidate))
        return f(clipped(o + p_o * new)) * last(new), new

    return network.run(step, network.state(network.h0), network.state(c0))
