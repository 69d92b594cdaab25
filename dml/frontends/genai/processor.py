"""onnxruntime-genai's MultiModalProcessor, for speech: converts prompts and sounds to a model's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

from .audio import Audios, LogMel
from .tensors import NamedTensors, Tensor
from .tokenizer import Tokenizer, TokenizerStream

if TYPE_CHECKING:
    from .model import Model


class MultiModalProcessor:
    """``model.create_multimodal_processor()`` creates it. Raises DMLError for models without audio features as
    input."""

    def __init__(self, model: Model) -> None:
        if model.encoder is None:
            raise DMLError(
                f"create_multimodal_processor: model type {model.type!r} takes text alone; use Tokenizer",
                HRESULT.E_NOTIMPL,
            )
        self._encoder = model.encoder
        self._ids = model.decoder.ids
        self._features = LogMel(model.config)
        self._tokenizer = Tokenizer(model)
        self._tokenizer.update_options(add_special_tokens=False)  # the prompts contain the special tokens

    def __call__(
        self, prompt: str | Sequence[str] | None = None, *, audios: Audios | None = None, images: Any = None
    ) -> NamedTensors:
        """Return inputs for ``Generator.set_inputs``: token ids of the prompts, and features of one sound for each."""
        if images is not None:
            raise DMLError("MultiModalProcessor: images are not supported", HRESULT.E_NOTIMPL)
        prompts = [prompt] if isinstance(prompt, str) else list(prompt or [])
        if not isinstance(audios, Audios) or not prompts or len(audios.sounds) != len(prompts):
            sounds = len(audios.sounds) if isinstance(audios, Audios) else "none"
            raise DMLError(f"MultiModalProcessor: a prompt for each sound is needed, found {len(prompts)} and {sounds}")
        inputs = NamedTensors()
        inputs[self._encoder.features] = Tensor(self._features(audios).astype(self._encoder.dtype))
        inputs[self._ids] = self._tokenizer.encode_batch(prompts)
        return inputs

    @checked
    def decode(self, tokens: npt.ArrayLike) -> str:
        return self._tokenizer.decode(tokens)

    def create_stream(self) -> TokenizerStream:
        return self._tokenizer.create_stream()
