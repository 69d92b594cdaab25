"""Search options: those of genai_config.json, changed by a program."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

from .model import Model

_MOST_BEAMS = 32


@dataclass
class SearchOptions:
    """onnxruntime-genai's search options and their defaults.

    max_length: tokens of prompt and answer together. chunk_size: prompt tokens per run; 0 leaves it to the memory that
    the logits take. past_present_share_buffer: write caches in place where the model can. random_seed: -1 for another
    one each time. num_return_sequences: of beams.
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
        """Set an option. Raises DMLError for an unknown name and a value of another type."""
        if name not in _FIELDS:
            raise DMLError(f"search options: no option {name!r}; there are {', '.join(_FIELDS)}")
        kind = type(getattr(self, name))
        number = isinstance(value, int | float) or hasattr(value, "__float__")
        if not number or (kind is int and value != int(value)):
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
            ("do_sample", not self.do_sample or self.num_beams == 1, "False with beams"),
        )
        for name, holds, needed in rules:
            if not holds:
                raise DMLError(f"search options: {name} must be {needed}, found {getattr(self, name)}")
        for name in ("no_repeat_ngram_size", "diversity_penalty"):
            if getattr(self, name):
                raise DMLError(f"search options: {name} is not supported", HRESULT.E_NOTIMPL)


_FIELDS = [field.name for field in dataclasses.fields(SearchOptions)]


class GeneratorParams:
    """The search options of one Generator, first those of genai_config.json."""

    @checked
    def __init__(self, model: Model) -> None:
        self.search = SearchOptions(max_length=model.context_length)
        for name, value in model.config.section("search").items():
            if name in _FIELDS:  # (newer builders write options for other engines, too)
                self.search.set(name, value)

    def set_search_options(self, **options: Any) -> None:
        for name, value in options.items():
            self.search.set(name, value)

    def get_search_options(self) -> dict[str, Any]:
        return dataclasses.asdict(self.search)

    def set_guidance(self, *_: Any, **__: Any) -> None:
        raise DMLError("GeneratorParams.set_guidance: guided generation is not supported", HRESULT.E_NOTIMPL)
