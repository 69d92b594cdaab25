"""JSON as DxDispatch accepts it, with comments and trailing commas. Each value knows its location in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from dml.errors import HRESULT, DMLError

_SKIPPED = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[\]}])')
_KINDS = {dict: "an object", list: "an array", str: "a string", bool: "true or false", type(None): "null"}


def placed(path: str, problem: str, hresult: HRESULT = HRESULT.E_INVALIDARG) -> DMLError:
    """Return an error with a location in the file."""
    error = DMLError(problem, hresult)
    error.at(path, "document")
    return error


@dataclass(frozen=True)
class Json:
    """A value and its path from the file's root, such as ``resources.A.initialValues[2]``."""

    value: Any
    path: str

    def fail(self, problem: str) -> NoReturn:
        raise placed(self.path or "the file", problem)

    def _expect(self, kind: type, wanted: str) -> Any:
        if type(self.value) is not kind:
            self.fail(f"must be {wanted}, found {_KINDS.get(type(self.value), 'a number')}")
        return self.value

    def string(self) -> str:
        return str(self._expect(str, "a string"))

    def boolean(self) -> bool:
        return bool(self._expect(bool, "true or false"))

    def integer(self, low: int, high: int) -> int:
        if type(self.value) is not int:
            self.fail(f"must be an integer, found {_KINDS.get(type(self.value), 'a number with a fraction')}")
        if not low <= self.value <= high:
            self.fail(f"must be from {low} to {high}, found {self.value}")
        return int(self.value)

    def unsigned(self, bits: int = 32) -> int:
        return self.integer(0, (1 << bits) - 1)

    def unsigned_array(self) -> tuple[int, ...]:
        return tuple(item.unsigned() for item in self.items())

    def unsigned_member(self, *names: str, bits: int = 32) -> int:
        """Return the member with one of these names; 0 if there is none."""
        found = self.get(*names)
        return 0 if found is None else found.unsigned(bits)

    def number(self) -> float:
        """Return a number; "nan", "inf" and "-inf", in any case, are accepted for values that JSON lacks."""
        value = self.value
        if isinstance(value, str) and value.lower() in ("nan", "inf", "-inf"):
            return float(value)
        if type(value) not in (int, float):
            self.fail('must be a number, "nan", "inf" or "-inf"')
        try:
            return float(value)
        except OverflowError:
            self.fail("the number is too large")

    def items(self) -> list[Json]:
        array = self._expect(list, "an array")
        return [Json(item, f"{self.path}[{index}]") for index, item in enumerate(array)]

    def members(self) -> Iterator[tuple[str, Json]]:
        members = self._expect(dict, "an object")
        return ((name, self._child(name)) for name in members)

    def _child(self, name: str) -> Json:
        return Json(self.value[name], f"{self.path}.{name}" if self.path else name)

    def get(self, *names: str) -> Json | None:
        """Return the member with the first of these names that is present and not null; else None."""
        members = self._expect(dict, "an object")
        for name in names:
            if members.get(name) is not None:
                return self._child(name)
        return None

    def need(self, *names: str) -> Json:
        found = self.get(*names)
        if found is None:
            self.fail(f"needs a member {names[0]!r}")
        return found

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, list)

    @property
    def is_string(self) -> bool:
        return isinstance(self.value, str)


def _blank(match: re.Match[str]) -> str:
    """Replace comments by blanks, which keeps lines and columns; leave strings alone."""
    text = match.group()
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DMLError(f"the member {twice!r} is repeated in one object")
    return members


def _constant(text: str) -> NoReturn:
    raise DMLError(f'JSON has no {text}; write "nan", "inf" or "-inf"')


def parse(data: bytes) -> Json:
    """Return the root value of a file. Text after it is ignored, as in DxDispatch.

    Raises DMLError, with line and column if known, for invalid JSON.
    """
    try:
        text = data.decode("utf-8-sig")
        text = _SKIPPED.sub(_blank, text)
        text = _TRAILING.sub(lambda match: match.group(1) or " ", text)
        decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)
        root, _ = decoder.raw_decode(text, len(text) - len(text.lstrip()))
        json.dumps(root, ensure_ascii=False).encode()  # raises for half of a surrogate pair, which is not valid text
    except json.JSONDecodeError as error:
        raise DMLError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except UnicodeError as error:
        raise DMLError(f"the file is not UTF-8 text: {error}") from None
    except RecursionError:
        raise DMLError("the file nests too deeply") from None
    except ValueError as error:
        raise DMLError(f"the file is not JSON: {error}") from None
    return Json(root, "")
