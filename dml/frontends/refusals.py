"""Names of other APIs that this package does not support: using one raises a DMLError that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

from dml.errors import HRESULT, DMLError


class RefusedName:
    """The value of an unsupported name: calling it, or reading one of its attributes, raises a DMLError."""

    def __init__(self, name: str, why: str) -> None:
        self._name = name
        self._why = why

    def __call__(self, *_: Any, **__: Any) -> NoReturn:
        self._refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise DMLError(f"{self._name}: {self._why}", HRESULT.E_NOTIMPL)


def by_name(names: Mapping[str, str]) -> dict[str, str]:
    """Return {name: reason} from {reason: names separated by spaces}."""
    return {name: reason for reason, together in names.items() for name in together.split()}


_Class = TypeVar("_Class", bound=type)


def refusing(reasons: Mapping[str, str]) -> Callable[[_Class], _Class]:
    """Return a decorator that adds the names "Class.member" in ``reasons`` to their class."""

    def decorate(kind: _Class) -> _Class:
        for name, why in reasons.items():
            owner, _, member = name.partition(".")
            if owner == kind.__name__ and member:
                setattr(kind, member, RefusedName(name, why))
        return kind

    return decorate
