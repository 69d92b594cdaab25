"""Tokenizers from the ``tokenizers`` package, and chat templates run by jinja2 in its sandbox."""

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

from dml.arguments import as_array, check_unmasked, checked
from dml.errors import HRESULT, DMLError
from dml.files import reading

from .config import Config, read_json
from .model import Model
from .tensors import Tensor

#: Ids of special tokens by model type, for older folders whose configuration lacks them.
_MARKS: Mapping[str, Mapping[str, int]] = {
    "phi3": {"bot_token_id": 200025, "eot_token_id": 200026},
    "qwen2": {"bot_token_id": 151657, "eot_token_id": 151658},
    "qwen3": {"bot_token_id": 151657, "eot_token_id": 151658, "bor_token_id": 151667, "eor_token_id": 151668},
}
Ids = npt.NDArray[np.int32]
_OPTIONS = ("add_special_tokens", "skip_special_tokens")


class Tokenizer:
    """The tokenizer.json and the chat template of a folder. source: a Model, its Config or the folder.

    Raises DMLError for a missing file, and for one that the ``tokenizers`` package cannot read.
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
        except Exception as error:  # the package raises bare Exceptions
            raise DMLError(f"{path}: the tokenizers package cannot read it: {error}") from None
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._options = dict.fromkeys(_OPTIONS, True)

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
        """Id of the token that begins a tool call."""
        return self._mark("bot_token_id")

    @property
    def eot_token_id(self) -> int:
        """Id of the token that ends a tool call."""
        return self._mark("eot_token_id")

    @property
    def bor_token_id(self) -> int:
        """Id of the token that begins the model's reasoning."""
        return self._mark("bor_token_id")

    @property
    def eor_token_id(self) -> int:
        """Id of the token that ends the model's reasoning."""
        return self._mark("eor_token_id")

    def _mark(self, name: str) -> int:
        """Return a token id from genai_config.json, else the known id for the model's type."""
        known = _MARKS.get(str(self._config.section("model").get("type")), {}).get(name)
        return known if known is not None and not self._config.tokens(name) else self._config.token(name)

    def to_token_id(self, text: str) -> int:
        """Return the id of a token; -1 if the vocabulary lacks it."""
        found = self._tokenizer.token_to_id(text)
        return -1 if found is None else int(found)

    # Text to ids and back

    @checked
    def encode(self, text: str) -> Ids:
        """Return the ids of a text, INT32."""
        if not isinstance(text, str):
            raise DMLError(f"Tokenizer.encode: takes text, found {type(text).__name__}")
        found = self._tokenizer.encode(text, add_special_tokens=self._options["add_special_tokens"])
        return np.array(found.ids, np.int32)

    def encode_batch(self, texts: Sequence[str]) -> Tensor:
        """Return the ids of texts, a row each, padded with pad_token_id on the right."""
        rows = [self.encode(text) for text in texts]
        padded = np.full((len(rows), max(map(len, rows), default=0)), self.pad_token_id, np.int32)
        for row, ids in zip(padded, rows, strict=True):
            row[: len(ids)] = ids
        return Tensor(padded)

    @checked
    def decode(self, tokens: npt.ArrayLike) -> str:
        ids = _ids(tokens, "Tokenizer.decode")
        return str(self._tokenizer.decode(ids, skip_special_tokens=self._options["skip_special_tokens"]))

    def decode_batch(self, tokens: Tensor | npt.ArrayLike) -> list[str]:
        return [self.decode(row) for row in as_array(tokens, "Tokenizer.decode_batch")]

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
        """Return the text of a conversation in the format that the model was trained on.

        messages, tools: JSON text; messages are objects with role and content. template_str: a Jinja template, instead
        of the folder's chat_template.jinja or tokenizer_config.json. Raises DMLError for a missing template, for text
        that is not JSON, and for errors of the template.
        """
        parsed = _parsed(messages, "messages")
        if not isinstance(parsed, list):
            raise DMLError(f"apply_chat_template: messages must be a JSON array, found {type(parsed).__name__}")
        values = {
            "messages": parsed,
            "tools": _parsed(tools, "tools") if tools else None,
            "add_generation_prompt": add_generation_prompt,
            **self._special_tokens(),
        }
        text = template_str or self._template()
        try:
            return str(_ENVIRONMENT.from_string(text).render(values))
        except Exception as error:  # a template may do anything that the sandbox allows
            raise DMLError(f"apply_chat_template: {type(error).__name__}: {error}") from None

    def _template(self) -> str:
        path = self._folder / "chat_template.jinja"
        if path.is_file():
            with reading(path):
                return path.read_text(encoding="utf-8")
        found = self._tokenizer_config().get("chat_template")
        if isinstance(found, list):  # named templates
            named = {item.get("name"): item.get("template") for item in found if isinstance(item, dict)}
            found = named.get("default")
        if not isinstance(found, str):
            raise DMLError(
                f"{self._folder}: no chat template, in chat_template.jinja or tokenizer_config.json", _NOT_FOUND
            )
        return found

    def _special_tokens(self) -> dict[str, str]:
        """Return bos_token, eos_token and so on, by the names that templates use."""
        tokens = {}
        for name, value in self._tokenizer_config().items():
            text = value.get("content") if isinstance(value, dict) else value
            if name.endswith("_token") and isinstance(text, str):
                tokens[name] = text
        return tokens

    def _tokenizer_config(self) -> dict[str, Any]:
        path = self._folder / "tokenizer_config.json"
        return read_json(path) if path.is_file() else {}


class TokenizerStream:
    """Decodes tokens one at a time. A token that ends within a character yields "" until the character is complete."""

    def __init__(self, tokenizer: Any, skip_special_tokens: bool) -> None:
        self._tokenizer = tokenizer
        self._stream = DecodeStream(skip_special_tokens=skip_special_tokens)

    @checked
    def decode(self, token: int) -> str:
        (token,) = _ids([token], "TokenizerStream.decode")
        return self._stream.step(self._tokenizer, token) or ""


_NOT_FOUND = HRESULT.DXGI_ERROR_NOT_FOUND


def _ids(tokens: npt.ArrayLike, where: str) -> list[int]:
    check_unmasked(tokens, where)
    found = np.asarray(tokens)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu") or np.any((found < 0) | (found >= 2**32)):
        raise DMLError(f"{where}: takes a list of token ids, found {tokens!r}")
    return [int(item) for item in found]


def _parsed(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DMLError(f"apply_chat_template: {what} must be JSON: {error}") from None


def _environment() -> ImmutableSandboxedEnvironment:
    """Return a Jinja environment with the settings and functions of transformers, which chat templates expect."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )

    def refuse(message: str) -> None:
        raise TemplateError(message)

    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
    environment.filters["tojson"] = lambda value, indent=None: json.dumps(value, ensure_ascii=False, indent=indent)
    return environment


_ENVIRONMENT = _environment()
