"""Every fault of a description at once, where a Check alone raises the first."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ..descriptors import OperatorDesc
from ..enums import DML_FEATURE_LEVEL
from ..errors import DMLError
from .base import Check
from .common import check_operator


class CollectingCheck(Check):
    """A Check that notes what is wrong and goes on, so that rules run to their end.

    A rule may rely on what it checked before. So a second fault at the same place is left out, and what else a rule
    raises after a fault is taken to follow from it.
    """

    def __init__(self, desc: OperatorDesc, level: DML_FEATURE_LEVEL) -> None:
        super().__init__(desc, level)
        #: By place: "InputTensor.DataType", of "GEMM.InputTensor.DataType: must be ...".
        self._faults: dict[str, DMLError] = {}

    @property
    def faults(self) -> list[DMLError]:
        """What was found, in order."""
        return list(self._faults.values())

    def attempt(self, check: Callable[..., None], *args: Any) -> None:
        try:
            check(*args)
        except DMLError as error:
            self.note(error)
        except Exception:
            if not self._faults:
                raise

    def is_faulty(self, *fields: str) -> bool:
        return any(place.partition(".")[0] in fields for place in self._faults)

    def note(self, error: DMLError) -> None:
        """Keep a fault, the first at its place."""
        place = error.message.removeprefix(f"{self.name}.").partition(":")[0]
        self._faults.setdefault(place, error)


def _noting(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def noted(self: CollectingCheck, *args: Any, **kwargs: Any) -> None:
        try:
            method(self, *args, **kwargs)
        except DMLError as error:
            self.note(error)

    return noted


#: Those methods of a Check that check something; the others answer.
_CHECKING = [
    name
    for name, method in inspect.getmembers(Check, inspect.isfunction)
    if not name.startswith("_") and name not in ("attempt", "fail", "is_faulty", "tensor", "tensors")
]
for _name in _CHECKING:
    setattr(CollectingCheck, _name, _noting(getattr(Check, _name)))


def faults_of(desc: OperatorDesc, level: DML_FEATURE_LEVEL) -> list[DMLError]:
    """All that is wrong with a description at a feature level, in the order in which it is checked."""
    check = CollectingCheck(desc, level)
    check.attempt(check_operator, check)
    return check.faults


__all__ = ["CollectingCheck", "faults_of"]
