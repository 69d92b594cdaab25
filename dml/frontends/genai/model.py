"""A model folder on a device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.frontends.onnx.backend import open_device, prepare

from .config import Config
from .decoder import Decoder
from .encoder import AudioEncoder
from .picking import Picker

if TYPE_CHECKING:
    from .processor import MultiModalProcessor

#: Sections of models that are more than a decoder and an encoder of audio features.
_OTHERS = ("embedding", "vision", "speech", "joiner")


class Model:
    """The models of a folder that onnxruntime-genai's model builder wrote: a decoder, with an encoder for speech.

    source: the folder, or its Config. device: a Device or what ``dml.create_device`` takes, in place of the Config's
    provider options.
    Raises DMLError for missing files, and for models of other parts.
    """

    @checked
    def __init__(self, source: Config | str | os.PathLike[str], *, device: int | str | Device | None = None) -> None:
        self.config = config = source if isinstance(source, Config) else Config(source)
        sections = config.section("model")
        self.type = str(sections.get("type", ""))
        found = [name for name in _OTHERS if sections.get(name)]
        if found or not sections.get("decoder"):
            lacks = f"model type {self.type!r} has {', '.join(found)}" if found else "there is no model.decoder"
            raise DMLError(
                f"{config.folder}: {lacks}; models of a decoder, and of an audio encoder with one, are supported",
                HRESULT.E_NOTIMPL,
            )
        self.context_length = config.number("model.context_length")
        path = config.file("model.decoder")
        chosen = config.device if device is None else device
        self.device = chosen if isinstance(chosen, Device) else open_device(chosen)
        self.decoder = Decoder(prepare(path, self.device), config)
        #: None for models of text alone.
        self.encoder: AudioEncoder | None = None
        if sections.get("encoder"):
            prepared = prepare(config.file("model.encoder"), self.device)
            self.encoder = AudioEncoder(prepared, self.decoder, config)
        self.picker = Picker(self.device)

    def create_multimodal_processor(self) -> MultiModalProcessor:
        """What turns prompts and sounds into the model's inputs."""
        from .processor import MultiModalProcessor

        return MultiModalProcessor(self)

    @property
    def device_type(self) -> str:
        return "DML"
