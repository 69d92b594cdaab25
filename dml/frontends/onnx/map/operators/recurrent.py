"""GRU, LSTM and RNN: ONNX's layouts, defaults and checks (the networks: ``dml.frontends.meaning.recurrence``).

Activations take alpha and beta in order, as far as they use them; missing ones have the default of the ONNX operator
of that name. Affine is DirectML's LINEAR.
"""

from __future__ import annotations

from collections.abc import Sequence

import dml.graph.operations as op
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.frontends.meaning import recurrence
from dml.frontends.meaning.activations import recurrent_activations
from dml.graph.builder import Tensor
from dml.shapes import with_size

from ...dtypes import FLOAT16, FLOAT32, UINT32
from ...registry import onnx_op
from ..node import OnnxNode
from ..value import OnnxValue, applied, cast, expanded, maximum, reshape, transpose


class OnnxRecurrence:
    """The inputs and attributes that the three operators share: S steps, B batch, I input, D directions, H hidden.

    weights: W and R, if they are not the node's inputs.
    """

    def __init__(
        self, node: OnnxNode, gates: int, defaults: Sequence[str], weights: tuple[OnnxValue, OnnxValue] | None = None
    ) -> None:
        self.node = node
        name = node.text("direction", "forward").lower()
        if name not in recurrence.DIRECTIONS:
            raise DMLError(f"direction must be one of {', '.join(recurrence.DIRECTIONS)}, found {name!r}")
        self.directions = 2 if name == "bidirectional" else 1
        self.batch_first = node.integer("layout", 0, least=0, most=1) == 1
        x, (w, r) = node.input(0), weights or (node.input(1), node.input(2))
        found = f"found shapes {x.shape}, {w.shape} and {r.shape}"
        node.check(x.rank == w.rank == r.rank == 3, f"X, W and R must have rank 3, {found}")
        self.dtype = x.dtype
        self.x = transpose(x, (1, 0, 2)) if self.batch_first else x
        self.steps, self.batch, size = self.x.shape
        self.hidden = r.shape[2]
        if node.integer("hidden_size", self.hidden) != self.hidden:
            raise DMLError(f"hidden_size must be {self.hidden}, found {node.integer('hidden_size', 0)}")
        self.w = sized(w, "W", (self.directions, gates * self.hidden, size))
        self.r = sized(r, "R", (self.directions, gates * self.hidden, self.hidden))
        bias, lengths = node.optional(3), node.optional(4)
        self.bias = None if bias is None else sized(bias, "B", (self.directions, 2 * gates * self.hidden))
        self.lengths = None if lengths is None else self._checked_lengths(lengths)
        self.initial = self.state(5)
        self.activations = self._activations(defaults)
        self.direction = recurrence.DIRECTIONS[name]
        self.clip = float(node.attributes["clip"]) if node.attributes.get("clip", 0.0) else None

    @property
    def is_empty(self) -> bool:
        return not self.steps * self.batch

    @property
    def network(self) -> recurrence.RecurrentLayer:
        """The network on the device, which needs at least one step and one batch element."""
        return recurrence.RecurrentLayer(
            x=on_device(self.x),
            weights=on_device(self.w),
            recurrence=on_device(self.r),
            bias=on_device_if(self.bias),
            initial=on_device_if(self.initial),
            lengths=self._lengths(),
            activations=self.activations,
            direction=self.direction,
            clip=self.clip,
        )

    def state(self, index: int) -> OnnxValue | None:
        """Return an initial state as {D, B, H}."""
        value = self.node.optional(index)
        if value is None:
            return None
        if self.batch_first and value.rank == 3:
            value = transpose(value, (1, 0, 2))
        return sized(value, "the initial state", (self.directions, self.batch, self.hidden))

    def _checked_lengths(self, lengths: OnnxValue) -> OnnxValue:
        """Check the shape and type of the lengths, and constant ones against the steps; the device clamps others."""
        sized(lengths, "sequence_lens", (self.batch,))
        if lengths.dtype.kind not in "iu":
            raise DMLError(f"sequence_lens must be integers, found {lengths.dtype}")
        if lengths.array is not None and lengths.array.size:
            least, most = int(lengths.array.min()), int(lengths.array.max())
            if least < 0 or most > self.steps:
                wrong = least if least < 0 else most
                raise DMLError(f"sequence_lens must be from 0 to {self.steps}, the steps of X, found {wrong}")
        return lengths

    def _lengths(self) -> Tensor | None:
        if self.lengths is None:
            return None
        # A negative length would become a huge UINT32.
        return cast(maximum(self.lengths, self.lengths.filled(0)), UINT32).tensor

    def _activations(self, defaults: Sequence[str]) -> tuple[OperatorDesc, ...]:
        attributes = self.node.attributes
        count = len(defaults) * self.directions
        names = [name.decode() for name in attributes.get("activations", ())] or list(defaults) * self.directions
        if len(names) != count:
            raise DMLError(f"activations must have {count} names, found {len(names)}")
        return recurrent_activations(
            names, attributes.get("activation_alpha", ()), attributes.get("activation_beta", ())
        )

    def results(self, sequence: Tensor, *states: Tensor) -> list[OnnxValue]:
        """Return Y {S, D, B, H} and the last states {D, B, H} in the node's layout and type."""
        kind = FLOAT16 if self.dtype == FLOAT16 else FLOAT32
        return self._laid_out(*(cast(self.x.with_tensor(t, t.sizes, kind), self.dtype) for t in (sequence, *states)))

    def results_without_steps(self, *initial: OnnxValue | None) -> list[OnnxValue]:
        """Return an empty Y and the initial states, or zeros, as the last ones."""
        sequence = self.x.filled(0, (self.steps, self.directions, self.batch, self.hidden))
        zeros = self.x.filled(0, sequence.shape[1:])
        return self._laid_out(sequence, *(zeros if state is None else state for state in initial))

    def _laid_out(self, sequence: OnnxValue, *states: OnnxValue) -> list[OnnxValue]:
        if not self.batch_first:
            return [sequence, *states]
        return [transpose(sequence, (2, 0, 1, 3)), *(transpose(state, (1, 0, 2)) for state in states)]


def on_device(value: OnnxValue) -> Tensor:
    """Return a tensor of FLOAT16 or FLOAT32; other types become FLOAT32."""
    return (value if value.dtype in (FLOAT16, FLOAT32) else cast(value, FLOAT32)).tensor


def on_device_if(value: OnnxValue | None) -> Tensor | None:
    return None if value is None else on_device(value)


def sized(value: OnnxValue, name: str, shape: tuple[int, ...]) -> OnnxValue:
    """Return the value if it has this shape."""
    if value.shape != shape:
        raise DMLError(f"{name} must have shape {shape}, found {value.shape}")
    return value


@onnx_op("GRU")
def gru(node: OnnxNode) -> list[OnnxValue]:
    """Compute a GRU of any version. Versions 1 and 3 have output_sequence, and version 1 no linear_before_reset (off).

    The whole sequence Y is returned if the node names that output.
    """
    layer = OnnxRecurrence(node, 3, ("Sigmoid", "Tanh"))
    if layer.is_empty:
        return layer.results_without_steps(layer.initial)
    linear = bool(node.integer("linear_before_reset", 0))
    return layer.results(*recurrence.gru(layer.network, linear_before_reset=linear))


@onnx_op("RNN")
def rnn(node: OnnxNode) -> list[OnnxValue]:
    layer = OnnxRecurrence(node, 1, ("Tanh",))
    if layer.is_empty:
        return layer.results_without_steps(layer.initial)
    return layer.results(*recurrence.rnn(layer.network))


@onnx_op("LSTM")
def lstm(node: OnnxNode) -> list[OnnxValue]:
    return lstm_of(node, OnnxRecurrence(node, 4, ("Sigmoid", "Tanh", "Tanh")))


def lstm_of(node: OnnxNode, layer: OnnxRecurrence) -> list[OnnxValue]:
    """Compute an LSTM. layer: its inputs and attributes, except for the initial cell (input 6) and the peepholes (input
    7)."""
    cell, peephole = layer.state(6), node.optional(7)
    if peephole is not None:
        sized(peephole, "P", (layer.directions, 3 * layer.hidden))
    if layer.is_empty:
        return layer.results_without_steps(layer.initial, cell)
    results = recurrence.lstm(
        layer.network,
        initial_cell=on_device_if(cell),
        peephole=on_device_if(peephole),
        input_forget=bool(node.integer("input_forget", 0)),
    )
    return layer.results(*results)


@onnx_op("ReverseSequence", since=10)
def reverse_sequence(node: OnnxNode) -> OnnxValue:
    """Reverse the first n elements of the time axis; n is given per batch element."""
    x, lengths = node.input(0), node.input(1)
    batch, time = node.axis("batch_axis", 1, x.rank), node.axis("time_axis", 0, x.rank)
    sizes = with_size(x.shape, time, 1)
    along = tuple(size if axis == batch else 1 for axis, size in enumerate(x.shape))
    counted = expanded(reshape(cast(lengths, UINT32), along), sizes)
    return applied(op.reverse_subsequences, x, x.shape, counted, time)
