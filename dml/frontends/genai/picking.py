"""Selection of the best tokens on the device, so that a search reads only a few numbers per step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml import enums
from dml.api.device import Device
from dml.api.device_array import DeviceArray
from dml.frontends.meaning.casts import as_type
from dml.graph.builder import Builder, Tensor
from dml.recent import Recent
from dml.tensors import data_type_of

Ids = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float32]
#: Score of a token that must not be chosen.
LOWEST = float(np.finfo(np.float32).min)
_FLOAT32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
_UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32
_LAST = -1  # axis
#: Number of graphs that a Picker keeps.
_KEPT = 16


@dataclass(frozen=True)
class Blocked:
    """Tokens that must not be chosen. tokens: {rows, n}. scores: added to the tokens' scores: LOWEST, or 0 for entries
    that only pad a row."""

    tokens: npt.NDArray[np.uint32]
    scores: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Edits:
    """Changes of scores before tokens are chosen.

    penalized: tokens {rows, n}; ``penalty`` divides their positive scores and multiplies negative ones. banned: tokens
    that must not be chosen in any row.
    """

    penalized: npt.NDArray[np.uint32] | None = None
    penalty: float = 1.0
    banned: tuple[int, ...] = ()
    blocked: Blocked | None = None

    def feeds(self) -> dict[str, Any]:
        """Return the graph's input arrays."""
        found: dict[str, Any] = {} if self.penalized is None else {"penalized": self.penalized}
        if self.blocked is not None:
            found |= {"blocked": self.blocked.tokens, "scores": self.blocked.scores}
        return found


@dataclass(frozen=True)
class Best:
    """The best tokens of each row, in order.

    tokens, scores: {rows, k}; mass: {rows, 1}, the sum of exp((score - best score) / temperature) over all tokens.
    """

    tokens: Ids
    scores: Numbers
    mass: Numbers


class Picker:
    """Graphs that select tokens, compiled for each shape of logits."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._graphs: Recent[Any, Any] = Recent(_KEPT)

    def likeliest(self, logits: DeviceArray, edits: Edits) -> Ids:
        """Return the token with the highest score at the last position, for each row of logits {rows, n,
        vocabulary}."""

        def outputs(x: Tensor) -> dict[str, Tensor]:
            return {"token": op.reduce(x, enums.DML_REDUCE_FUNCTION_ARGMAX, [1])}

        tokens: Ids = self._run(logits, edits, ("likeliest",), outputs)["token"].astype(np.int64)
        return tokens[:, 0]

    def best(self, logits: DeviceArray, count: int, edits: Edits, temperature: float = 1.0) -> Best:
        """Return the ``count`` best tokens of each row at the last position."""
        count = min(count, logits.shape[_LAST])

        def outputs(x: Tensor) -> dict[str, Tensor]:
            scores, tokens = op.top_k(x, count, 1)
            scaled = (x - op.slice_(scores, (0, 0), (x.sizes[0], 1)).broadcast(x.sizes)) * (1.0 / temperature)
            mass = op.reduce(op.exp(scaled), enums.DML_REDUCE_FUNCTION_SUM, [1])
            return {"scores": scores, "tokens": tokens, "mass": mass}

        found = self._run(logits, edits, ("best", count, temperature), outputs)
        return Best(found["tokens"].astype(np.int64), found["scores"], found["mass"])

    def last(self, logits: DeviceArray) -> Numbers:
        """Return the scores at the last position, {rows, 1, vocabulary}."""
        found = self._run(logits, Edits(), ("last",), lambda x: {"scores": op.identity(x)})["scores"]
        scores: Numbers = found[:, None]
        return scores

    def _run(self, logits: DeviceArray, edits: Edits, what: tuple[Any, ...], make: Any) -> dict[str, Any]:
        feeds: dict[str, Any] = {"logits": logits, **edits.feeds()}
        shapes = tuple((name, array.shape, array.dtype) for name, array in feeds.items())
        key = (shapes, edits.penalty, edits.banned, what)
        graph = self._graphs.get(key)
        if graph is None:
            builder = Builder(self._device)
            x = _last_position(builder.input("logits", logits.shape, data_type_of(logits.dtype)))
            if edits.penalized is not None:
                x = _penalized(x, builder.input("penalized", edits.penalized.shape, _UINT32), edits.penalty)
            if edits.blocked is not None:
                tokens, scores = edits.blocked.tokens, edits.blocked.scores
                taken = builder.input("blocked", tokens.shape, _UINT32)
                x = _blocked(x, taken, builder.input("scores", scores.shape, _FLOAT32))
            if edits.banned:
                x = _banned(x, edits.banned)
            graph = builder.compile(make(x))
            self._graphs.put(key, graph)
        return graph.dispatch(feeds)


def _last_position(logits: Tensor) -> Tensor:
    """Return the last position of {rows, n, vocabulary}, of any float type, as {rows, vocabulary} in FLOAT32."""
    rows, count, vocabulary = logits.sizes
    chosen = op.slice_(logits, (0, count - 1, 0), (rows, 1, vocabulary))
    return as_type(chosen, _FLOAT32).reshape(rows, vocabulary)


def _penalized(x: Tensor, tokens: Tensor, penalty: float) -> Tensor:
    found = op.gather_elements(x, tokens, 1)
    changed = op.if_(op.less_than(found, 0.0), found * penalty, found * (1.0 / penalty))
    return op.scatter_elements(x, tokens, changed, 1)


def _blocked(x: Tensor, tokens: Tensor, scores: Tensor) -> Tensor:
    lowered = op.maximum(op.gather_elements(x, tokens, 1) + scores, LOWEST)
    return op.scatter_elements(x, tokens, lowered, 1)


def _banned(x: Tensor, tokens: tuple[int, ...]) -> Tensor:
    indices = np.tile(np.array(tokens, np.uint32), (x.sizes[0], 1))
    return op.scatter_elements(x, x.builder.constant(indices), np.full(indices.shape, LOWEST, np.float32), 1)
