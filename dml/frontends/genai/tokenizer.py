"""Tokenizers by the ``tokenizers`` package, chat templates by jinja2 in its sandbox."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import tokenizers
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers.decoders import DecodeStream

from dml.arguments import checked
from dml.errors import HRESULT, DMLError

from .config import Config, read_json
from .model import Model
from .tensors import Tensor

#: Ids of marks by a model's type, for folders older than these entries.
_MARKS: Mapping[str, Mapping[str, int]] = {
    "phi3": {"bot_token_id": 200025, "eot_token_id": 200026},
    "qwen2": {"bot_token_id": 151657, "eot_token_id": 151658},
    "qwen3": {"bot_token_id": 151657, "eot_token_id": 151658, "bor_token_id": 151667, "eor_token_id": 151668},
}
Ids = npt.NDArray[np.int32]
_OPTIONS = ("add_special_tokens", "skip_special_tokens")


class Tokenizer:
    """The tokenizer.json of a folder, with the chat template there. source: a Model, its Config or the folder.

    Raises DMLError where there is none, or none that the ``tokenizers`` package reads.
    """

    @checked
    def __init__(self, source: Model | Config | str | os.PathLike[str]) -> None:
        given = source.config if isinstance(source, Model) else source
        self._config = config = given if isinstance(given, Config) else Config(given)
        self._folder = folder = config.folder
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise DMLError(f"{path}: no such file; save it with transformers' fast tokenizer", _NOT_FOUND)
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # (the package raises Exception itself)
            raise DMLError(f"{path}: the tokenizers package cannot read it: {error}") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._options = dict.fromkeys(_OPTIONS, True)
        self._templates: dict[str, Any] = {}

    def update_options(self, **options: Any) -> None:
        """Set add_special_tokens or skip_special_tokens: a bool, or "true" and "false"."""
        for name, value in options.items():
            if name not in _OPTIONS:
                raise DMLError(f"Tokenizer.update_options: no option {name!r}; there are {', '.join(_OPTIONS)}")
            text = str(value).lower()
            if text not in ("true", "false", "1", "0"):
                raise DMLError(f"Tokenizer.update_options: {name} takes true or false, found {value!r}")
            self._options[name] = text in ("true", "1")

    # Token ids

    @property
    def bos_token_id(self) -> int:
        return self._config.token("bos_token_id")

    @property
    def pad_token_id(self) -> int:
        return self._config.token("pad_token_id")

    @property
    def eos_token_ids(self) -> Ids:
        return np.array(self._config.tokens("eos_token_id"), np.int32)

    @property
    def bot_token_id(self) -> int:
        """What begins a tool call."""
        return self._mark("bot_token_id")

    @property
    def eot_token_id(self) -> int:
        """What ends a tool call."""
        return self._mark("eot_token_id")

    @property
    def bor_token_id(self) -> int:
        """What begins reasoning."""
        return self._mark("bor_token_id")

    @property
    def eor_token_id(self) -> int:
        """What ends reasoning."""
        return self._mark("eor_token_id")

    def _mark(self, name: str) -> int:
        """A token id of genai_config.json, or the one that the model's type is known to have."""
        known = _MARKS.get(str(self._config.section("model").get("type")), {}).get(name)
        return known if known is not None and not self._config.tokens(name) else self._config.token(name)

    def to_token_id(self, text: str) -> int:
        """The id of a token; -1 where the vocabulary lacks it."""
        found = self._tokenizer.token_to_id(text)
        return -1 if found is None else int(found)

    # Text to ids and back

    @checked
    def encode(self, text: str) -> Ids:
        """The ids of a text, INT32."""
        if not isinstance(text, str):
            raise DMLError(f"Tokenizer.encode: takes text, found {type(text).__name__}")
        found = self._tokenizer.encode(text, add_special_tokens=self._options["add_special_tokens"])
        return np.array(found.ids, np.int32)

    def encode_batch(self, texts: Sequence[str]) -> Tensor:
        """The ids of texts, a row each, filled with pad_token_id on the right."""
        rows = [self.encode(text) for text in texts]
        made = np.full((len(rows), max(map(len, rows), default=0)), self.pad_token_id, np.int32)
        for row, ids in zip(made, rows, strict=True):
            row[: len(ids)] = ids
        return Tensor(made)

    @checked
    def decode(self, tokens: npt.ArrayLike) -> str:
        ids = _ids(tokens, "Tokenizer.decode")
        return str(self._tokenizer.decode(ids, skip_special_tokens=self._options["skip_special_tokens"]))

    def decode_batch(self, tokens: Tensor | npt.ArrayLike) -> list[str]:
        return [self.decode(row) for row in np.asarray(tokens)]

    def create_stream(self) -> TokenizerStream:
        return TokenizerStream(self._tokenizer, self._options["skip_special_tokens"])

    # Chat

    @checked
    def apply_chat_template(
        self,
        messages: str,
        *,
        template_str: str | None = None,
        tools: str | None = None,
        add_generation_prompt: bool = True,
    ) -> str:
        """The text of a conversation, as the model was trained to read it.

        messages, tools: JSON text; messages are objects with role and content. template_str: a Jinja template in place
        of the folder's chat_template.jinja or tokenizer_config.json.
        Raises DMLError for a missing template, for text that is not JSON, and for what the template refuses.
        """
        told = _parsed(messages, "messages")
        if not isinstance(told, list):
            raise DMLError(f"apply_chat_template: messages must be a JSON array, found {type(told).__name__}")
        values = {
            "messages": told,
            "tools": _parsed(tools, "tools") if tools else None,
            "add_generation_prompt": add_generation_prompt,
            **self._special_tokens(),
        }
        text = template_str or self._template()
        try:
            return str(_ENVIRONMENT.from_string(text).render(values))
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise DMLError(f"apply_chat_template: {type(error).__name__}: {error}") from None

    def _template(self) -> str:
        path = self._folder / "chat_template.jinja"
        if path.is_file():
            return path.read_text(encoding="utf-8")
        found = self._tokenizer_config().get("chat_template")
        if isinstance(found, list):  # several by name
            found = next((one.get("template") for one in found if one.get("name") == "default"), None)
        if not isinstance(found, str):
            raise DMLError(
                f"{self._folder}: no chat template, in chat_template.jinja or tokenizer_config.json", _NOT_FOUND
            )
        return found

    def _special_tokens(self) -> dict[str, str]:
        """bos_token, eos_token and the like, as templates name them."""
        made = {}
        for name, value in self._tokenizer_config().items():
            text = value.get("content") if isinstance(value, dict) else value
            if name.endswith("_token") and isinstance(text, str):
                made[name] = text
        return made

    def _tokenizer_config(self) -> dict[str, Any]:
        path = self._folder / "tokenizer_config.json"
        return read_json(path) if path.is_file() else {}


class TokenizerStream:
    """Text of tokens as they come. A token that ends within a character gives nothing until the rest has come."""

    def __init__(self, tokenizer: Any, skip_special_tokens: bool) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=skip_special_tokens)

    @checked
    def decode(self, token: int) -> str:
        (token,) = _ids([token], "TokenizerStream.decode")
        return self._stream.step(self._tokenizer, token) or ""


_NOT_FOUND = HRESULT.DXGI_ERROR_NOT_FOUND


def _ids(tokens: npt.ArrayLike, where: str) -> list[int]:
    found = np.asarray(tokens)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu") or np.any(found < 0):
        raise DMLError(f"{where}: takes a list of token ids, found {tokens!r}")
    return [int(one) for one in found]


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise DMLError(f"apply_chat_template: {what} must be JSON: {error}") from None


def _environment() -> ImmutableSandboxedEnvironment:
    """Jinja as chat templates expect it: transformers' settings and functions."""
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])

    def refuse(message: str) -> None:
        raise TemplateError(message)

    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    made.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    return made


_ENVIRONMENT = _environment()
