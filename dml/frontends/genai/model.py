"""A model folder, loaded on a device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.frontends.onnx.run.backend import open_device, prepare

from .config import Config
from .current_device import current_device
from .decoder import Decoder
from .encoder import AudioEncoder
from .picking import Picker
from .refused import with_refused_names

if TYPE_CHECKING:
    from .params import GeneratorParams
    from .processor import MultiModalProcessor

#: Sections of models that have more than a decoder and an audio encoder.
_OTHERS = ("embedding", "vision", "speech", "joiner")


@with_refused_names
class Model:
    """The models of a folder that onnxruntime-genai's model builder wrote: a decoder, and for speech an encoder.

    source: the folder, or its Config. device: a Device or an argument of ``dml.create_device``; it overrides the
    Config's provider options. Raises DMLError for missing files, and for models with other sections.
    """

    @checked
    def __init__(self, source: Config | str | os.PathLike[str], *, device: int | str | Device | None = None) -> None:
        self.config = config = source if isinstance(source, Config) else Config(source)
        sections = config.section("model")
        found = [name for name in _OTHERS if sections.get(name)]
        if found or not sections.get("decoder"):
            lacks = f"model type {self.type!r} has {', '.join(found)}" if found else "there is no model.decoder"
            raise DMLError(
                f"{config.folder}: {lacks}; supported are decoders, and audio encoders with decoders", HRESULT.E_NOTIMPL
            )
        self.context_length = config.number("model.context_length")
        decoder = config.source("model.decoder")
        chosen = config.device if device is None else device
        if chosen is None:
            chosen = current_device()
        self.device = chosen if isinstance(chosen, Device) else open_device(chosen)
        self.decoder = Decoder(prepare(decoder, self.device), config)
        #: The audio encoder; None for text models.
        self.encoder: AudioEncoder | None = None
        if sections.get("encoder"):
            prepared = prepare(config.source("model.encoder"), self.device)
            self.encoder = AudioEncoder(prepared, self.decoder, config)
        self.picker = Picker(self.device)

    def create_multimodal_processor(self) -> MultiModalProcessor:
        """Return a processor that converts prompts and sounds to the model's inputs."""
        from .processor import MultiModalProcessor

        return MultiModalProcessor(self)

    def generate(self, params: GeneratorParams) -> list[npt.NDArray[np.int32]]:
        """Return all sequences for ``params.input_ids``, as before onnxruntime-genai 0.6."""
        from .generator import Generator

        generator = Generator(self, params)
        while not generator.is_done():
            generator.generate_next_token()
        return generator.sequences()

    @property
    def type(self) -> str:
        """The architecture's name in genai_config.json."""
        return str(self.config.section("model").get("type", ""))

    @property
    def device_type(self) -> str:
        return "DML"
