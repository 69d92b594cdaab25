"""A model's weights on the device, compared with the host's before each run.

PyTorch counts a tensor's writes, but not those through ``weight.data`` or a NumPy array of its memory. So all bytes are
hashed: a run reads as many bytes more from the host's memory as the weights have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
import xxhash

from dml.api.device import Device
from dml.frontends.onnx import PreparedModel, prepare
from dml.frontends.torch.arrays import to_array

#: A weight that has changed before so many runs in succession becomes an input.
_SUCCESSIVE_CHANGES = 3


class WeightedModel:
    """An ONNX model of which some inputs are weights: constants on the device until they change.

    places: each input's place among the arguments, by name. weights: the inputs that are weights. freeze: whether they
    are taken to stay as they are. Raises DMLError for a model that cannot be mapped.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        places: Mapping[str, int],
        weights: Sequence[str],
        device: Device,
        arguments: Sequence[Any],
        *,
        freeze: bool,
    ) -> None:
        self._model = model
        self._places = places
        self._device = device
        self._freeze = freeze
        self._digests = {name: _digest(arguments[places[name]]) for name in weights}
        self._changes = dict.fromkeys(weights, 0)
        self.prepared = self._prepared(arguments)

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The model's outputs, as arrays."""
        if not self._freeze:
            self._compare(arguments)
        given = {name: _array(arguments[at]) for name, at in self._places.items() if name not in self._digests}
        return self.prepared.run(given)

    def _compare(self, arguments: Sequence[Any]) -> None:
        """Prepare the model again where weights have changed."""
        changed = False
        for name, before in list(self._digests.items()):
            now = _digest(arguments[self._places[name]])
            if now == before:
                self._changes[name] = 0
                continue
            changed = True
            self._digests[name] = now
            self._changes[name] += 1
            if self._changes[name] == _SUCCESSIVE_CHANGES:
                del self._digests[name]
        if changed:
            self.prepared = self._prepared(arguments)

    def _prepared(self, arguments: Sequence[Any]) -> PreparedModel:
        """The model with its weights among the initializers."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        del model.graph.input[:]
        for given in self._model.graph.input:
            if given.name not in self._digests:
                model.graph.input.append(given)
                continue
            array = to_array(arguments[self._places[given.name]])
            model.graph.initializer.add(
                name=given.name,
                data_type=given.type.tensor_type.elem_type,
                dims=array.shape,
                raw_data=array.tobytes(),
            )
        return prepare(model, self._device, fallback=False)


def _array(argument: Any) -> Any:
    return to_array(argument) if isinstance(argument, torch.Tensor) else np.asarray(argument)


def _digest(tensor: torch.Tensor) -> bytes:
    """A digest of a tensor's elements, in 128 bits."""
    elements = np.ascontiguousarray(to_array(tensor)).reshape(-1)
    found: bytes = xxhash.xxh3_128_digest(elements.view(np.uint8).data)
    return found
