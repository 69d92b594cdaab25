"""The encoder of a speech model: the decoder reads its outputs at each step."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dml.api.device_array import DeviceArray
from dml.errors import DMLError
from dml.frontends.onnx.dtypes import dtype_of
from dml.frontends.onnx.run.backend import PreparedModel

from .config import Config
from .decoder import Decoder, name_of_layer

_HIDDEN_STATES = "encoder_hidden_states"


class AudioEncoder:
    """Converts audio features to keys and values of the decoder's cross attention; in older models, to hidden states.

    Raises DMLError for an encoder without an output that the decoder reads.
    """

    def __init__(self, prepared: PreparedModel, decoder: Decoder, config: Config) -> None:
        self.prepared = prepared
        file = config.file("model.encoder")
        self.features = str(config.section("model.encoder.inputs").get("audio_features", "audio_features"))
        if self.features not in prepared.inputs:
            raise DMLError(f"{file}: has no input {self.features!r}; it has {', '.join(prepared.inputs)}")
        (entry,) = (item for item in prepared.model.graph.input if item.name == self.features)
        self.dtype = dtype_of(entry.type.tensor_type.elem_type)
        outputs, taken = prepared.outputs, decoder.prepared.inputs
        #: Encoder output -> the decoder's input.
        self.links = {name: into for name, into in _links(config) if name in outputs and into in taken}
        if not self.links:
            raise DMLError(f"{file}: none of its outputs ({', '.join(outputs)}) is an input of the decoder")

    def run(self, features: npt.NDArray[Any]) -> dict[str, DeviceArray]:
        """Return the decoder's inputs, on the device, for features {batch, mels, frames}."""
        if features.ndim != 3 or features.dtype.kind != "f":
            raise DMLError(
                f"{self.features}: takes floats of shape (batch, mels, frames), "
                f"found {features.dtype} of shape {features.shape}"
            )
        names = self.prepared.outputs
        found = self.prepared.run({self.features: features.astype(self.dtype)}, keep=names)
        return {self.links[name]: output for name, output in zip(names, found, strict=True) if name in self.links}


def _links(config: Config) -> list[tuple[str, str]]:
    """Return the possible pairs of an encoder output and a decoder input."""
    outputs = config.section("model.encoder.outputs")
    taken = config.section("model.decoder.inputs")
    found = [(str(outputs.get(_HIDDEN_STATES, _HIDDEN_STATES)), str(taken.get(_HIDDEN_STATES, _HIDDEN_STATES)))]
    for layer in config.layers():
        for kind in ("key", "value"):
            present = outputs.get(f"cross_present_{kind}_names", f"present_{kind}_cross_%d")
            past = taken.get(f"cross_past_{kind}_names", f"past_{kind}_cross_%d")
            found.append((name_of_layer(present, layer), name_of_layer(past, layer)))
    return found
