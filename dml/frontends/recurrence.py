"""GRU, LSTM and RNN as ONNX and OpenVINO define them, in a DML graph: by the operator where its descriptor can say
everything, step by step in other operators where it cannot (a clip threshold before the activations of GRU and RNN).

Sizes: x {S, B, I}, weights {D, gates * H, I}, recurrence {D, gates * H, H}, bias {D, 2 * gates * H} (of the input, then
of the state), initial states {D, B, H}, lengths {B} UINT32. Gates as in ONNX: z r h; i o f c. Results: the sequence
{S, D, B, H}, zero beyond a length, and the last states {D, B, H}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors import activation as act
from dml.descriptors.base import OperatorDesc
from dml.descriptors.movement import DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.enums import DML_RECURRENT_NETWORK_DIRECTION
from dml.errors import DMLError
from dml.graph.builder import Tensor
from dml.shapes import with_rank
from dml.tensors import DML_BUFFER_TENSOR_DESC, ordered_strides

DIRECTIONS = {
    "forward": enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    "reverse": enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD,
    "bidirectional": enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}
#: By lower-case ONNX name: the activation, its fields and their defaults (of the ONNX operator of that name).
_ACTIVATIONS: dict[str, tuple[type[OperatorDesc], dict[str, float]]] = {
    "affine": (act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, {"Alpha": 1.0, "Beta": 0.0}),
    "elu": (act.DML_ACTIVATION_ELU_OPERATOR_DESC, {"Alpha": 1.0}),
    "hardsigmoid": (act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, {"Alpha": 0.2, "Beta": 0.5}),
    "leakyrelu": (act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, {"Alpha": 0.01}),
    "relu": (act.DML_ACTIVATION_RELU_OPERATOR_DESC, {}),
    "scaledtanh": (act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, {"Alpha": 1.0, "Beta": 1.0}),
    "sigmoid": (act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, {}),
    "softplus": (act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, {"Steepness": 1.0}),
    "softsign": (act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC, {}),
    "tanh": (act.DML_ACTIVATION_TANH_OPERATOR_DESC, {}),
    "thresholdedrelu": (act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, {"Alpha": 1.0}),
}


def activations(
    names: Sequence[str], alphas: Sequence[float] = (), betas: Sequence[float] = ()
) -> tuple[OperatorDesc, ...]:
    """The fused activations of these names. Each takes its parameters from the lists in turn, else their defaults.

    Raises DMLError for an unknown name.
    """
    rest = {"Alpha": list(alphas), "Beta": list(betas)}
    made = []
    for name in names:
        if name.lower() not in _ACTIVATIONS:
            raise DMLError(f"activation {name!r} is not one of {', '.join(sorted(_ACTIVATIONS))}")
        cls, defaults = _ACTIVATIONS[name.lower()]
        fields = {field: rest[field].pop(0) if rest.get(field) else value for field, value in defaults.items()}
        made.append(cls(**fields))
    return tuple(made)


@dataclass(frozen=True)
class RecurrentLayer:
    """The tensors and attributes that the three kinds share. clip: None or a threshold."""

    x: Tensor
    weights: Tensor
    recurrence: Tensor
    bias: Tensor | None
    initial: Tensor | None
    lengths: Tensor | None
    activations: tuple[OperatorDesc, ...]
    direction: DML_RECURRENT_NETWORK_DIRECTION
    clip: float | None = None

    @property
    def hidden(self) -> int:
        return self.recurrence.sizes[2]

    @property
    def directions(self) -> int:
        return self.recurrence.sizes[0]

    def fields(self) -> dict[str, Any]:
        """The fields that the three descriptors share."""
        bias, initial, lengths = self.bias, self.initial, self.lengths
        return {
            "InputTensor": _as4(self.x),
            "WeightTensor": _as4(self.weights),
            "RecurrenceTensor": _as4(self.recurrence),
            "BiasTensor": None if bias is None else _as4(bias),
            "HiddenInitTensor": None if initial is None else _as4(initial),
            "SequenceLengthsTensor": None if lengths is None else _as4(lengths),
            "ActivationDescs": self.activations,
            "Direction": self.direction,
        }

    def outputs(self, *states: str) -> dict[str, DML_BUFFER_TENSOR_DESC]:
        sequence, batch, _ = self.x.sizes
        kind, each = self.x.data_type, (self.directions, batch, self.hidden)
        last = DML_BUFFER_TENSOR_DESC(kind, (1, *each))
        # What both directions make of a step of a sequence lies together: so the next layer reads it without a copy
        order = (0, 2, 1, 3) if self.directions == 2 else range(4)
        whole = DML_BUFFER_TENSOR_DESC(kind, (sequence, *each), ordered_strides((sequence, *each), order))
        return {"OutputSequenceTensor": whole, **dict.fromkeys(states, last)}


def _as4(tensor: Tensor) -> Tensor:
    """With leading dimensions of size 1 up to four."""
    return tensor.view(with_rank(tensor.sizes, 4), with_rank(tensor.desc.strides, 4, 0))


def _state(made: dict[str, Any], name: str) -> Tensor:
    tensor = made[name]
    assert isinstance(tensor, Tensor)
    return tensor.view(tensor.sizes[1:])


def gru(layer: RecurrentLayer, *, linear_before_reset: bool) -> tuple[Tensor, Tensor]:
    """The sequence and the last state."""
    if layer.clip is not None:
        return _step_by_step(layer, lambda at, t, h: _gru(at, t, h, linear_before_reset))
    made = layer.x.builder.node(
        DML_GRU_OPERATOR_DESC,
        layer.outputs("OutputSingleTensor"),
        LinearBeforeReset=linear_before_reset,
        **layer.fields(),
    )
    return made["OutputSequenceTensor"], _state(made, "OutputSingleTensor")


def rnn(layer: RecurrentLayer) -> tuple[Tensor, Tensor]:
    """The sequence and the last state."""
    if layer.clip is not None:
        return _step_by_step(layer, _rnn)
    made = layer.x.builder.node(DML_RNN_OPERATOR_DESC, layer.outputs("OutputSingleTensor"), **layer.fields())
    return made["OutputSequenceTensor"], _state(made, "OutputSingleTensor")


def lstm(
    layer: RecurrentLayer,
    *,
    initial_cell: Tensor | None = None,
    peephole: Tensor | None = None,
    input_forget: bool = False,
) -> tuple[Tensor, Tensor, Tensor]:
    """The sequence, the last state and the last cell. peephole {D, 3 * H}: i o f."""
    made = layer.x.builder.node(
        DML_LSTM_OPERATOR_DESC,
        layer.outputs("OutputSingleTensor", "OutputCellSingleTensor"),
        CellMemInitTensor=None if initial_cell is None else _as4(initial_cell),
        PeepholeTensor=None if peephole is None else _as4(peephole),
        ClipThreshold=layer.clip or 0.0,
        UseClipThreshold=layer.clip is not None,
        CoupleInputForget=input_forget,
        **layer.fields(),
    )
    return (
        made["OutputSequenceTensor"],
        _state(made, "OutputSingleTensor"),
        _state(made, "OutputCellSingleTensor"),
    )


# Step by step


@dataclass(frozen=True)
class _Direction:
    """One direction, its input in running order. projected {S, B, gates * H}: x by the weights, with its bias."""

    layer: RecurrentLayer
    projected: Tensor
    recurrence: Tensor
    state_bias: Tensor | None
    activations: Sequence[OperatorDesc]

    def activate(self, which: int, x: Tensor) -> Tensor:
        """clip, then f (0) or g (1)."""
        desc, clip = self.activations[which], self.layer.clip
        clipped = x if clip is None else op.clip(x, min=-clip, max=clip)
        attributes = {i.name: getattr(desc, i.name) for i in desc.fields_info if i.kind == "attribute"}
        return x.builder.one(type(desc), x.sizes, x.data_type, InputTensor=clipped, **attributes)

    def step(self, t: int) -> Tensor:
        size = self.projected.sizes
        return op.slice_(self.projected, (t, 0, 0), (1, *size[1:])).view(size[1:])

    def part(self, x: Tensor, gate: int, count: int = 1) -> Tensor:
        """Columns of ``count`` gates from ``gate`` on."""
        h = self.layer.hidden
        return op.slice_(x, (0, gate * h), (x.sizes[0], count * h))

    def recur(self, h: Tensor, gate: int, count: int = 1) -> Tensor:
        """The state by the recurrence weights of some gates, with their bias."""
        size = self.layer.hidden
        weights = op.slice_(self.recurrence, (gate * size, 0), (count * size, size))
        product = op.gemm(h, weights, transpose_b=True)
        return product if self.state_bias is None else product + self.part(self.state_bias, gate, count)


_Step = Callable[[_Direction, int, Tensor], Tensor]


def _rnn(at: _Direction, t: int, h: Tensor) -> Tensor:
    return at.activate(0, at.step(t) + at.recur(h, 0))


def _gru(at: _Direction, t: int, h: Tensor, linear_before_reset: bool) -> Tensor:
    x = at.step(t)
    gates = at.activate(0, at.part(x, 0, 2) + at.recur(h, 0, 2))
    z, r = at.part(gates, 0), at.part(gates, 1)
    candidate = r * at.recur(h, 2) if linear_before_reset else at.recur(r * h, 2)
    n = at.activate(1, at.part(x, 2) + candidate)
    return n + z * (h - n)


def _step_by_step(layer: RecurrentLayer, step: _Step) -> tuple[Tensor, Tensor]:
    both = layer.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    backward = layer.direction == enums.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD
    per_direction = len(layer.activations) // layer.directions
    sequences, lasts = [], []
    for d in range(layer.directions):
        chosen = layer.activations[d * per_direction : (d + 1) * per_direction]
        sequence, last = _one_direction(layer, d, backward or (both and d == 1), chosen, step)
        sequences.append(sequence.reshape(sequence.sizes[0], 1, *sequence.sizes[1:]))
        lasts.append(last.reshape(1, *last.sizes))
    return op.join(sequences, 1), op.join(lasts, 0)


def _one_direction(
    layer: RecurrentLayer, d: int, backward: bool, chosen: Sequence[OperatorDesc], step: _Step
) -> tuple[Tensor, Tensor]:
    builder = layer.x.builder
    steps, batch, width = layer.x.sizes
    x = _reversed(layer.x, layer.lengths) if backward else layer.x
    weights, recurrence = (_row(t, d) for t in (layer.weights, layer.recurrence))
    columns = weights.sizes[0]
    projected = op.gemm(x.reshape(steps * batch, width), weights, transpose_b=True)
    state_bias = None
    if layer.bias is not None:
        input_bias, state_bias = op.split(op.slice_(layer.bias, (d, 0), (1, 2 * columns)), 1, [columns, columns])
        projected = projected + input_bias
    at = _Direction(layer, projected.view((steps, batch, columns)), recurrence, state_bias, chosen)
    zero = builder.constant(np.zeros((1, 1)), layer.x.data_type).broadcast((batch, layer.hidden))
    h = zero.packed() if layer.initial is None else _row(layer.initial, d)
    outputs = []
    for t in range(steps):
        new = step(at, t, h)
        if layer.lengths is None:
            h = new
            outputs.append(new)
        else:
            now = builder.constant(np.full((1, 1), t, np.uint32)).broadcast((batch, 1))
            running = op.less_than(now, layer.lengths.view((batch, 1)))
            h = op.if_(running, new, h)
            outputs.append(op.if_(running, new, zero))
    whole = op.join([y.reshape(1, batch, layer.hidden) for y in outputs], 0)
    return (_reversed(whole, layer.lengths) if backward else whole), h


def _row(tensor: Tensor, d: int) -> Tensor:
    """tensor[d]."""
    rest = tensor.sizes[1:]
    return op.slice_(tensor, (d, *(0,) * len(rest)), (1, *rest)).view(rest)


def _reversed(x: Tensor, lengths: Tensor | None) -> Tensor:
    """{S, B, ...} with each sequence's own steps in reverse order."""
    steps = x.sizes[0]
    sizes = (1, *x.sizes[1:])
    if lengths is None:
        counts = x.builder.constant(np.full(1, steps, np.uint32)).broadcast(sizes)
    else:
        counts = lengths.view(sizes, (0, 1, *(0,) * (x.rank - 2)))
    cls = DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC
    return x.builder.one(cls, x.sizes, x.data_type, InputTensor=x, SequenceLengthsTensor=counts, Axis=0)
