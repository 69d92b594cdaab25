"""A model's weights on the device, compared with the host's before each run.

PyTorch counts writes to a tensor, but not those through ``weight.data`` or a NumPy array over its memory. So each run
reads and hashes all bytes of the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
import xxhash
from torch.utils.weak import WeakIdRef

from dml.api.device import Device
from dml.frontends.onnx import PreparedModel, prepare
from dml.frontends.torch.arrays import to_array

#: After this many successive runs with a changed value, a weight becomes an input.
_SUCCESSIVE_CHANGES = 3
#: Maximum sets of weights that are on the device for one graph.
_MOST_SETS = 256


class WeightedModel:
    """An ONNX model some of whose inputs are weights: constants on the device until they change.

    places: input name -> index of the argument. weights: names of the inputs that are weights. Raises DMLError for a
    model that cannot be mapped.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        places: Mapping[str, int],
        weights: Sequence[str],
        device: Device,
        arguments: Sequence[Any],
    ) -> None:
        self._model = model
        self._places = places
        self._device = device
        self._digests = {name: _digest(arguments[places[name]]) for name in weights}
        self._changes = dict.fromkeys(weights, 0)
        self.prepared = self._prepared(arguments, self._digests)

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the model's outputs as arrays."""
        given = {name: _array(arguments[index]) for name, index in self._places.items() if name not in self._digests}
        return self.prepared.run(given)

    def compare(self, arguments: Sequence[Any]) -> None:
        """Prepare the model again if weights have changed."""
        found = {name: _digest(arguments[self._places[name]]) for name in self._digests}
        changes = {name: self._changes[name] + 1 if now != self._digests[name] else 0 for name, now in found.items()}
        if any(changes.values()):
            constant = {name: now for name, now in found.items() if changes[name] < _SUCCESSIVE_CHANGES}
            # the state is updated last: if preparation fails, the next run finds the same changes
            self.prepared = self._prepared(arguments, constant)
            self._digests = constant
        self._changes = changes

    def _prepared(self, arguments: Sequence[Any], constant: Container[str]) -> PreparedModel:
        """Prepare the model with these weights as initializers."""
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        del model.graph.input[:]
        for given in self._model.graph.input:
            if given.name not in constant:
                model.graph.input.append(given)
                continue
            array = to_array(arguments[self._places[given.name]])
            model.graph.initializer.add(
                name=given.name, data_type=given.type.tensor_type.elem_type, dims=array.shape, raw_data=array.tobytes()
            )
        return prepare(model, self._device, fallback=False)


class WeightedModels:
    """A model for each set of weight tensors: dynamo compiles modules of one structure once.

    make: prepares the model with the weights among arguments. weights: their indices. freeze: assume that their
    values never change.
    """

    def __init__(
        self,
        make: Callable[[Sequence[Any]], WeightedModel],
        weights: Sequence[int],
        arguments: Sequence[Any],
        *,
        freeze: bool,
    ) -> None:
        self._make = make
        self._weights = weights
        self._freeze = freeze
        #: By the weights' identities, the least recently used first.
        self._models = {self._key(arguments): make(arguments)}

    def run(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Return the model's outputs as arrays."""
        key = self._key(arguments)
        model = self._models.get(key)
        if model is None:
            model = self._other(arguments)
        else:
            if not self._freeze:
                model.compare(arguments)
            del self._models[key]
        self._models[key] = model
        return model.run(arguments)

    def _other(self, arguments: Sequence[Any]) -> WeightedModel:
        """Return a model for new weights. It is an old one with its weights replaced if the old weights no longer
        exist, or if there are _MOST_SETS models already: then the least recently used."""
        old = next((key for key in self._models if any(weight() is None for weight in key)), None)
        if old is None:
            if len(self._models) < _MOST_SETS:
                return self._make(arguments)
            old = next(iter(self._models))
        model = self._models.pop(old)
        model.compare(arguments)
        return model

    def _key(self, arguments: Sequence[Any]) -> tuple[WeakIdRef, ...]:
        return tuple(WeakIdRef(arguments[index]) for index in self._weights)


def _array(argument: Any) -> Any:
    return to_array(argument) if isinstance(argument, torch.Tensor) else np.asarray(argument)


def _digest(tensor: torch.Tensor) -> bytes:
    """Return a 128-bit digest of a tensor's elements."""
    elements = np.ascontiguousarray(to_array(tensor)).reshape(-1)
    return bytes(xxhash.xxh3_128_digest(elements.view(np.uint8).data))
