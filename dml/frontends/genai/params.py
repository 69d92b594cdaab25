"""Search options: defaults from genai_config.json, changed by a program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.arguments import as_array, checked
from dml.errors import DMLError

from .model import Model
from .refused import with_refused_names

_MOST_BEAMS = 32


@dataclass
class SearchOptions:
    """onnxruntime-genai's search options and their defaults.

    max_length: number of tokens in prompt and answer together. chunk_size: prompt tokens per run; 0 chooses it by the
    memory that the logits need. diversity_penalty: without effect, as in onnxruntime-genai. no_repeat_ngram_size: no
    sequence of this many tokens occurs twice; 0 for no limit. past_present_share_buffer: write caches in place if the
    model can. random_seed: -1 for a different seed each time. num_return_sequences: beams to return.
    """

    batch_size: int = 1
    chunk_size: int = 0
    diversity_penalty: float = 0.0
    do_sample: bool = False
    early_stopping: bool = True
    length_penalty: float = 1.0
    max_length: int = 0
    min_length: int = 0
    no_repeat_ngram_size: int = 0
    num_beams: int = 1
    num_return_sequences: int = 1
    past_present_share_buffer: bool = True
    random_seed: int = -1
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int = 50
    top_p: float = 1.0

    def set(self, name: str, value: Any) -> None:
        """Set an option. Raises DMLError for an unknown name, and for a value of another type."""
        if name not in _FIELDS:
            raise DMLError(f"search options: no option {name!r}; there are {', '.join(_FIELDS)}")
        kind = type(getattr(self, name))
        try:
            is_number = np.ndim(value) == 0 and not isinstance(value, str | bytes) and not np.iscomplexobj(value)
            number = float(value) if is_number else None
        except (TypeError, ValueError, OverflowError):
            number = None
        if number is None or (kind is int and not number.is_integer()):
            raise DMLError(f"search options: {name} takes a value of type {kind.__name__}, found {value!r}")
        setattr(self, name, kind(value))

    def check(self, context_length: int) -> None:
        """Raise DMLError for values that exclude each other or are out of range."""
        rules = (
            ("batch_size", self.batch_size >= 1, "at least 1"),
            ("chunk_size", self.chunk_size >= 0, "0 or more"),
            (
                "max_length",
                1 <= self.max_length <= context_length,
                f"1 to the model's context_length, {context_length}",
            ),
            ("num_beams", 1 <= self.num_beams <= _MOST_BEAMS, f"1 to {_MOST_BEAMS}"),
            (
                "num_return_sequences",
                1 <= self.num_return_sequences <= self.num_beams,
                f"1 to num_beams, {self.num_beams}",
            ),
            ("top_k", self.top_k >= 0, "0 or more"),
            ("top_p", 0.0 <= self.top_p <= 1.0, "0 to 1"),
            ("temperature", self.temperature >= 0.0, "0 or more"),
            ("repetition_penalty", self.repetition_penalty > 0.0, "more than 0"),
            ("no_repeat_ngram_size", self.no_repeat_ngram_size >= 0, "0 or more"),
            ("do_sample", not self.do_sample or self.num_beams == 1, "False with beams"),
        )
        for name, holds, needed in rules:
            if not holds:
                raise DMLError(f"search options: {name} must be {needed}, found {getattr(self, name)}")


_FIELDS = [field.name for field in dataclasses.fields(SearchOptions)]


@with_refused_names
class GeneratorParams:
    """The search options of one Generator; the defaults are those of genai_config.json.

    Before onnxruntime-genai 0.6 these objects also held the prompt: ``input_ids``, ``set_inputs``,
    ``set_model_input``, ``whisper_input_features``. A Generator takes these when it is created.
    """

    @checked
    def __init__(self, model: Model) -> None:
        self.search = SearchOptions(max_length=model.context_length)
        for name, value in model.config.section("search").items():
            if name in _FIELDS:  # newer builders also write options for other engines
                self.search.set(name, value)

        #: The prompt, or None; a new Generator appends it.
        self.input_ids: Any = None
        #: Audio features, or None.
        self.whisper_input_features: Any = None
        self._model = model
        self._inputs: dict[str, Any] = {}

    @property
    def vocab_size(self) -> int:
        return self._model.decoder.vocabulary

    @property
    def pad_token_id(self) -> int:
        return self._model.config.token("pad_token_id")

    @property
    def eos_token_id(self) -> int:
        return self._model.config.token("eos_token_id")

    def set_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Give a processor's inputs to the next Generator."""
        self._inputs |= inputs

    def set_model_input(self, name: str, value: npt.ArrayLike) -> None:
        self._inputs[name] = value

    def inputs(self) -> dict[str, Any]:
        """Return everything for ``Generator.set_inputs``; token ids {batch, n} are last."""
        encoder = self._model.encoder
        ids = self._inputs.get(self._model.decoder.ids, self.input_ids)
        found = {name: value for name, value in self._inputs.items() if name != self._model.decoder.ids}
        if self.whisper_input_features is not None:
            if encoder is None:
                raise DMLError("GeneratorParams.whisper_input_features: the model has no encoder that takes them")
            found[encoder.features] = self.whisper_input_features
        if ids is not None:
            found[self._model.decoder.ids] = np.atleast_2d(as_array(ids, "GeneratorParams.input_ids"))
        return found

    def try_graph_capture_with_max_batch_size(self, size: int) -> None:
        """Do nothing: steps of every size are recorded once and replayed."""

    try_use_cuda_graph_with_max_batch_size = try_graph_capture_with_max_batch_size

    def set_search_options(self, **options: Any) -> None:
        for name, value in options.items():
            self.search.set(name, value)

    def get_search_options(self) -> dict[str, Any]:
        return dataclasses.asdict(self.search)
