"""GRUSequence-5, LSTMSequence, RNNSequence and their cells. Reference: OpenVINO's pages of these operations.

In OpenVINO the batch comes first, and one bias is the sum of ONNX's two; for a GRU with linear_before_reset it holds
four gates. The order of an LSTM's gates is f i c o.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isinf

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning import recurrence as rec
from dml.frontends.meaning.activations import recurrent_activations
from dml.frontends.meaning.casts import as_type
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.graph.builder import Tensor

_DEFAULTS = {"GRU": ["sigmoid", "tanh"], "LSTM": ["sigmoid", "tanh", "tanh"], "RNN": ["tanh"]}
_GATES = {"GRU": 3, "LSTM": 4, "RNN": 1}
#: Indices of ONNX's gates i o f c in OpenVINO's order f i c o.
_LSTM_ORDER = (1, 3, 0, 2)


def _layer(c: IrContext, kind: str, states: int) -> rec.RecurrentLayer:
    """Return the layer's tensors and attributes for ``dml.frontends.meaning.recurrence``.

    Its inputs are x, ``states`` states, the lengths (a cell has none), weights, recurrence and bias.
    """
    x, w = _input(c), 1 + states
    lengths = None
    if not c.layer.type.endswith("Cell"):
        lengths, w = _lengths(c, w), w + 1
    weights, recurrence = c.tensor(w), c.tensor(w + 1)
    bias = c.tensor(w + 2) if len(c.values) > w + 2 else None
    if weights.rank == 2:  # a cell
        weights, recurrence = (t.reshape(1, *t.sizes) for t in (weights, recurrence))
        bias = None if bias is None else bias.reshape(1, *bias.sizes)
    if not x.rank == weights.rank == recurrence.rank == 3:
        found = f"{x.sizes}, {weights.sizes} and {recurrence.sizes}"
        raise c.error(f"its input, weights and recurrence weights need three dimensions (a cell's two), found {found}")
    hidden, gates, linear = recurrence.sizes[2], _GATES[kind], kind == "GRU" and c.layer.flag("linear_before_reset")
    if c.layer.integer("hidden_size", hidden) != hidden:
        raise c.error(f"hidden_size must be {hidden}, as the recurrence weights have it")
    width = (gates + linear) * hidden
    if bias is not None and bias.sizes[1:] != (width,):
        raise c.error(f"its bias must have {width} elements for each direction, found sizes {bias.sizes}")
    direction = c.layer.text("direction", "forward")
    c.check(direction in rec.DIRECTIONS, f"direction {direction!r} is not one of {', '.join(rec.DIRECTIONS)}")
    names = c.layer.texts("activations") or _DEFAULTS[kind]
    count, wanted = recurrence.sizes[0], len(_DEFAULTS[kind])
    if len(names) not in (wanted, wanted * count):  # converted models list the activations of each direction
        raise c.error(f"activations must be {wanted}, found {names}")
    chosen = recurrent_activations(names, c.layer.numbers("activations_alpha"), c.layer.numbers("activations_beta"))
    clip = c.layer.number("clip", 0.0)
    if kind == "LSTM":
        weights, recurrence = (rec.in_gate_order(t, _LSTM_ORDER) for t in (weights, recurrence))
        bias = None if bias is None else rec.in_gate_order(bias, _LSTM_ORDER)
    return rec.RecurrentLayer(
        x,
        weights,
        recurrence,
        None if bias is None else _both(bias, linear),
        _state(c, 1),
        lengths,
        chosen * (wanted * count // len(names)),
        rec.DIRECTIONS[direction],
        None if clip == 0 or isinf(clip) else clip,
    )


def _both(bias: Tensor, linear_before_reset: bool) -> Tensor | None:
    """Return the bias {D, gates * H} or {D, 4 * H} as ONNX's {D, 2 * gates * H}: the input's bias, then the state's."""
    if not linear_before_reset:
        return rec.joined_bias(bias, None)
    directions, width = bias.sizes
    hidden = width // 4
    gates, state = op.split(bias, 1, [3 * hidden, hidden])
    zeros = bias.builder.constant(np.zeros((directions, 2 * hidden)), bias.data_type)
    return op.join([gates, zeros, state], 1)


def _lengths(c: IrContext, index: int) -> Tensor:
    value = c.values[index]
    if not isinstance(value, Tensor):
        return c.graph.constant(np.asarray(value).astype(np.uint32))
    return as_type(value, enums.DML_TENSOR_DATA_TYPE_UINT32)


def _state(c: IrContext, index: int) -> Tensor:
    """Return a state {B, D, H}, or a cell's {B, H}, as {D, B, H}."""
    state = c.tensor(index)
    return state.transpose(1, 0, 2) if state.rank == 3 else state.reshape(1, *state.sizes)


def _results(c: IrContext, tensors: Sequence[Tensor]) -> list[IrValue]:
    """Return the sequence as {B, D, S, H} and the states as {B, D, H}; for a cell, only the states, as {B, H}."""
    sequence, *states = tensors
    if c.layer.type.endswith("Cell"):
        return [state.view(state.sizes[1:]) for state in states]
    return [sequence.transpose(2, 1, 0, 3), *(state.transpose(1, 0, 2) for state in states)]


def _input(c: IrContext) -> Tensor:
    """Return the input {B, S, I}, or a cell's {B, I}, as {S, B, I}."""
    x = c.tensor(0)
    return x.transpose(1, 0, 2) if x.rank == 3 else x.reshape(1, *x.sizes)


@layer("GRUSequence", "GRUCell")
def gru(c: IrContext) -> Sequence[IrValue]:
    linear = c.layer.flag("linear_before_reset")
    return _results(c, rec.gru(_layer(c, "GRU", states=1), linear_before_reset=linear))


@layer("RNNSequence", "RNNCell")
def rnn(c: IrContext) -> Sequence[IrValue]:
    return _results(c, rec.rnn(_layer(c, "RNN", states=1)))


@layer("LSTMSequence", "LSTMCell")
def lstm(c: IrContext) -> Sequence[IrValue]:
    return _results(c, rec.lstm(_layer(c, "LSTM", states=2), initial_cell=_state(c, 2)))
