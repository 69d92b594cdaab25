"""GRU, LSTM and RNN.

The DML operators do all of it except ``clip`` of GRU and RNN: those are unrolled into products and element-wise
operators, step by step, exactly. Activations take their alpha and beta in their order, as far as they use them; what is
missing is the default of the ONNX operator of that name. Affine is DirectML's LINEAR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dml import enums
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.errors import DMLError

from ..registry import onnx_op
from ..trace import Node
from ..value import (
    INT32,
    UINT32,
    Value,
    cast,
    constant,
    expanded,
    join,
    matmul,
    maximum,
    minimum,
    part,
    reshape,
    transpose,
    unary,
    where,
)
from ..value import emit as emit_operator

#: Name in lower case -> the operator, and the fields that alpha and beta go to with their defaults.
_ACTIVATIONS: dict[str, tuple[type[OperatorDesc], dict[str, float], dict[str, float]]] = {
    "relu": (act.DML_ACTIVATION_RELU_OPERATOR_DESC, {}, {}),
    "tanh": (act.DML_ACTIVATION_TANH_OPERATOR_DESC, {}, {}),
    "sigmoid": (act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, {}, {}),
    "softsign": (act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC, {}, {}),
    "softplus": (act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, {}, {}),
    "leakyrelu": (act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, {"Alpha": 0.01}, {}),
    "thresholdedrelu": (act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, {"Alpha": 1.0}, {}),
    "elu": (act.DML_ACTIVATION_ELU_OPERATOR_DESC, {"Alpha": 1.0}, {}),
    "affine": (act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, {"Alpha": 1.0}, {"Beta": 0.0}),
    "scaledtanh": (act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, {"Alpha": 1.0}, {"Beta": 1.0}),
    "hardsigmoid": (act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, {"Alpha": 0.2}, {"Beta": 0.5}),
}
_DIRECTIONS = {
    "forward": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    "reverse": enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD,
    "bidirectional": enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}


class Layer:
    """What the three operators share, in DirectML's layouts: S steps, B batch, I input, D directions, H hidden."""

    def __init__(self, node: Node, gates: int, defaults: Sequence[str]) -> None:
        self.node = node
        name = node.text("direction", "forward").lower()
        if name not in _DIRECTIONS:
            raise DMLError(f"{node}: direction must be one of {', '.join(_DIRECTIONS)}, found {name!r}")
        self.direction = _DIRECTIONS[name]
        self.directions = 2 if name == "bidirectional" else 1
        self.batch_first = node.integer("layout", 0) == 1
        x, w, r = node.input(0), node.input(1), node.input(2)
        self.x = transpose(x, (1, 0, 2)) if self.batch_first else x
        if x.rank != 3 or w.rank != 3 or r.rank != 3:
            raise DMLError(f"{node}: X, W and R must have rank 3")
        self.steps, self.batch, self.size = self.x.shape
        self.hidden = r.shape[2]
        if node.integer("hidden_size", self.hidden) != self.hidden:
            raise DMLError(
                f"{node}: hidden_size must be {self.hidden}, as in R, found {node.integer('hidden_size', 0)}"
            )
        self.w = self._sized(w, "W", (self.directions, gates * self.hidden, self.size))
        self.r = self._sized(r, "R", (self.directions, gates * self.hidden, self.hidden))
        bias = node.optional(3)
        self.bias = None if bias is None else self._sized(bias, "B", (self.directions, 2 * gates * self.hidden))
        lengths = node.optional(4)
        self.lengths = None if lengths is None else self._sized(lengths, "sequence_lens", (self.batch,))
        self.functions = self._functions(defaults)
        self.clip = float(node.attributes["clip"]) if node.attributes.get("clip", 0.0) else None

    def _sized(self, value: Value, name: str, shape: tuple[int, ...]) -> Value:
        if value.shape != shape:
            raise DMLError(f"{self.node}: {name} must have shape {shape}, found {value.shape}")
        return value

    def state(self, at: int) -> Value | None:
        """An initial state as {D, B, H}."""
        value = self.node.optional(at)
        if value is None:
            return None
        if self.batch_first:
            value = transpose(value, (1, 0, 2))
        return self._sized(value, "the initial state", (self.directions, self.batch, self.hidden))

    def _functions(self, defaults: Sequence[str]) -> list[OperatorDesc]:
        node = self.node
        given = [name.decode() for name in node.attributes.get("activations", ())] or list(defaults) * self.directions
        if len(given) != len(defaults) * self.directions:
            raise DMLError(f"{node}: activations must be {len(defaults) * self.directions}, found {len(given)}")
        alphas, betas = (
            iter(node.attributes.get("activation_alpha", ())),
            iter(node.attributes.get("activation_beta", ())),
        )
        made = []
        for name in given:
            if name.lower() not in _ACTIVATIONS:
                raise DMLError(f"{node}: activations must be among ONNX's, found {name!r}")
            cls, alpha, beta = _ACTIVATIONS[name.lower()]
            fields = {field: next(alphas, default) for field, default in alpha.items()}
            fields |= {field: next(betas, default) for field, default in beta.items()}
            if name.lower() == "softplus":
                fields["Steepness"] = 1.0
            made.append(cls(**fields))
        return made

    def fields(self) -> dict[str, Any]:
        """The inputs and attributes that the DML operators share."""
        lengths = self.lengths
        if lengths is not None:
            # A negative length would be a huge one as UINT32; lengths are few, so the maximum costs nothing.
            lengths = reshape(cast(maximum(lengths, lengths.filled(0)), UINT32), (1, 1, 1, self.batch))
        return {
            "InputTensor": reshape(self.x, (1, *self.x.shape)),
            "WeightTensor": reshape(self.w, (1, *self.w.shape)),
            "RecurrenceTensor": reshape(self.r, (1, *self.r.shape)),
            "BiasTensor": None if self.bias is None else reshape(self.bias, (1, 1, *self.bias.shape)),
            "SequenceLengthsTensor": lengths,
            "ActivationDescs": self.functions,
            "Direction": self.direction,
        }

    def sequence_sizes(self) -> tuple[int, ...]:
        return (self.steps, self.directions, self.batch, self.hidden)

    def last_sizes(self) -> tuple[int, ...]:
        return (1, self.directions, self.batch, self.hidden)

    def results(self, sequence: Value | None, *states: Value | None) -> list[Value | None]:
        """Y {S, D, B, H} and the last states {1, D, B, H} in the node's layout."""
        found: list[Value | None] = [sequence]
        found += [None if s is None else reshape(s, (self.directions, self.batch, self.hidden)) for s in states]
        if self.batch_first:
            found[0] = None if sequence is None else transpose(sequence, (2, 0, 1, 3))
            found[1:] = [None if s is None else transpose(s, (1, 0, 2)) for s in found[1:]]
        return found

    def emit(self, cls: type[OperatorDesc], names: Sequence[str], **more: Any) -> list[Value | None]:
        """The DML operator, with those of its outputs that the node names (at least one)."""
        wanted = [at for at in range(len(names)) if self.node.wants(at)] or [0]
        sizes = [self.sequence_sizes(), *[self.last_sizes()] * (len(names) - 1)]
        outputs = {names[at]: (sizes[at], self.x.dtype) for at in wanted}
        made = emit_operator(cls, outputs, self.node.builder, **self.fields(), **more)
        return self.results(*(made.get(name) for name in names))

    # The same, unrolled

    def direction_of(self, d: int) -> bool:
        """Whether direction number d runs backwards."""
        return d == 1 or self.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD

    def activation(self, which: int, x: Value) -> Value:
        """Activation number ``which`` of the clipped values."""
        desc = self.functions[which]
        if self.clip is not None:
            x = minimum(maximum(x, x.filled(-self.clip)), x.filled(self.clip))
        attributes = {i.name: getattr(desc, i.name) for i in desc.fields_info if i.kind == "attribute"}
        return unary(type(desc), x, **attributes)

    def inputs_product(self, d: int, bias: Value | None) -> list[Value]:
        """x W^T + bias of one direction, {B, gates H} for each step: one product for all of them."""
        rows = reshape(self.x, (self.steps * self.batch, self.size))
        made = matmul(rows, self.matrix(self.w, d), transpose_b=True)
        if bias is not None:
            made = made + bias
        return [part(made, 0, t * self.batch, self.batch) for t in range(self.steps)]

    def matrix(self, weights: Value, d: int, start: int = 0, gates: int | None = None) -> Value:
        """The rows of one direction's weights that belong to gates from ``start`` on."""
        own = reshape(part(weights, 0, d, 1), weights.shape[1:])
        return own if gates is None else part(own, 0, start * self.hidden, gates * self.hidden)

    def biases(self, d: int, start: int, gates: int) -> Value | None:
        """The biases of one direction from gate ``start`` on (those of R follow those of W), {1, gates H}."""
        if self.bias is None:
            return None
        return part(part(self.bias, 0, d, 1), 1, start * self.hidden, gates * self.hidden)

    def unrolled(self, initial: Value | None, steps: Sequence[Callable[[int, Value], Value]]) -> list[Value | None]:
        """Y and Y_h where ``steps[direction](step, state {B, H})`` gives the next state.

        A row beyond its sequence's length keeps its state and gives zero; so a reversed sequence starts at its own last
        element.
        """
        zeros = constant(self.node.builder, np.zeros((self.batch, self.hidden), self.x.dtype))
        sequences, finals = [], []
        for d, step in enumerate(steps):
            h = zeros if initial is None else reshape(part(initial, 0, d, 1), (self.batch, self.hidden))
            order = range(self.steps)
            states: dict[int, Value] = {}
            for t in reversed(order) if self.direction_of(d) else order:
                new = step(t, h)
                if self.lengths is None:
                    h = states[t] = new
                else:
                    running = expanded(reshape(self.lengths > t, (self.batch, 1)), new.shape)
                    h, states[t] = where(running, new, h), where(running, new, zeros)
            finals.append(reshape(h, (1, 1, self.batch, self.hidden)))
            sequences.append(join([reshape(states[t], (1, 1, self.batch, self.hidden)) for t in order], 0))
        return self.results(join(sequences, 1), join(finals, 1))


def _sum(a: Value, b: Value | None) -> Value:
    return a if b is None else a + b


@onnx_op("GRU")
def gru(node: Node) -> list[Value | None]:
    """All versions: 1 has no linear_before_reset (off), 1 and 3 say by output_sequence whether Y is wanted.

    Y is given wherever the node names it.
    """
    layer = Layer(node, 3, ("Sigmoid", "Tanh"))
    linear = bool(node.integer("linear_before_reset", 0))
    initial = layer.state(5)
    if layer.clip is None:
        return layer.emit(
            DML_GRU_OPERATOR_DESC,
            ("OutputSequenceTensor", "OutputSingleTensor"),
            HiddenInitTensor=None if initial is None else reshape(initial, (1, *initial.shape)),
            LinearBeforeReset=linear,
        )
    return layer.unrolled(initial, [_gru_step(layer, d, linear) for d in range(layer.directions)])


def _gru_step(layer: Layer, d: int, linear: bool) -> Callable[[int, Value], Value]:
    """One direction's step. The biases of R join those of W but for the hidden gate's, which the reset gate scales."""
    h, both = layer.hidden, 2 * layer.hidden
    gate_bias, hidden_bias = layer.biases(d, 0, 3), layer.biases(d, 5, 1)
    if gate_bias is not None:
        recurrent = layer.biases(d, 3, 2)
        assert recurrent is not None
        assert hidden_bias is not None
        rest = hidden_bias.filled(0, (1, h)) if linear else hidden_bias
        gate_bias = gate_bias + join([recurrent, rest], 1)
    products = layer.inputs_product(d, gate_bias)
    gates, candidate = layer.matrix(layer.r, d, 0, 2), layer.matrix(layer.r, d, 2, 1)

    def step(t: int, state: Value) -> Value:
        x = products[t]
        made = layer.activation(2 * d, part(x, 1, 0, both) + matmul(state, gates, transpose_b=True))
        z, reset = part(made, 1, 0, h), part(made, 1, h, h)
        if linear:
            inner = reset * _sum(matmul(state, candidate, transpose_b=True), hidden_bias)
        else:
            inner = matmul(reset * state, candidate, transpose_b=True)
        new = layer.activation(2 * d + 1, part(x, 1, both, h) + inner)
        return (1.0 - z) * new + z * state

    return step


@onnx_op("RNN")
def rnn(node: Node) -> list[Value | None]:
    layer = Layer(node, 1, ("Tanh",))
    initial = layer.state(5)
    if layer.clip is None:
        return layer.emit(
            DML_RNN_OPERATOR_DESC,
            ("OutputSequenceTensor", "OutputSingleTensor"),
            HiddenInitTensor=None if initial is None else reshape(initial, (1, *initial.shape)),
        )
    return layer.unrolled(initial, [_rnn_step(layer, d) for d in range(layer.directions)])


def _rnn_step(layer: Layer, d: int) -> Callable[[int, Value], Value]:
    bias = layer.biases(d, 0, 1)
    if bias is not None:
        bias = _sum(bias, layer.biases(d, 1, 1))
    products, recurrence = layer.inputs_product(d, bias), layer.matrix(layer.r, d)

    def step(t: int, state: Value) -> Value:
        return layer.activation(d, products[t] + matmul(state, recurrence, transpose_b=True))

    return step


@onnx_op("LSTM")
def lstm(node: Node) -> list[Value | None]:
    layer = Layer(node, 4, ("Sigmoid", "Tanh", "Tanh"))
    initial, cell, peephole = layer.state(5), layer.state(6), node.optional(7)
    if peephole is not None:
        if peephole.shape != (layer.directions, 3 * layer.hidden):
            raise DMLError(f"{node}: P must have shape {(layer.directions, 3 * layer.hidden)}, found {peephole.shape}")
        peephole = reshape(peephole, (1, 1, *peephole.shape))
    return layer.emit(
        DML_LSTM_OPERATOR_DESC,
        ("OutputSequenceTensor", "OutputSingleTensor", "OutputCellSingleTensor"),
        HiddenInitTensor=None if initial is None else reshape(initial, (1, *initial.shape)),
        CellMemInitTensor=None if cell is None else reshape(cell, (1, *cell.shape)),
        PeepholeTensor=peephole,
        ClipThreshold=layer.clip or 0.0,
        UseClipThreshold=layer.clip is not None,
        CoupleInputForget=bool(node.integer("input_forget", 0)),
    )


@onnx_op("ReverseSequence")
def reverse_sequence(node: Node) -> Value:
    """The first n elements of the time axis reversed, n given per batch."""
    from dml.descriptors.movement import DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC

    from ..value import one

    x, lengths = node.input(0), node.input(1)
    batch, time = node.axis("batch_axis", 1, x.rank), node.axis("time_axis", 0, x.rank)
    sizes = tuple(1 if axis == time else size for axis, size in enumerate(x.shape))
    along = tuple(size if axis == batch else 1 for axis, size in enumerate(x.shape))
    counted = expanded(reshape(cast(lengths, UINT32), along), sizes)
    return one(DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC, x, x.shape, InputTensor=x, SequenceLengthsTensor=counted,
               Axis=time)  # fmt: skip


__all__ = ["INT32", "Layer", "gru", "lstm", "reverse_sequence", "rnn"]
