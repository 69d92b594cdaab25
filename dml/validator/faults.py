"""Collection of all faults of a description; a Check alone raises the first."""

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
    """A Check that records faults and continues, so that rules run to their end.

    A rule may rely on earlier checks. So a second fault at the same place is dropped, and any other exception after a
    fault is taken to follow from it.
    """

    def __init__(self, desc: OperatorDesc, level: DML_FEATURE_LEVEL) -> None:
        super().__init__(desc, level)
        #: Faults by place: "InputTensor.DataType" for "GEMM.InputTensor.DataType: must be ...".
        self._faults: dict[str, DMLError] = {}

    @property
    def faults(self) -> list[DMLError]:
        """The faults, in order."""
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
        """Record a fault unless its place already has one."""
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


#: The methods of Check that check; the others answer questions.
_CHECKING = [
    name
    for name, method in inspect.getmembers(Check, inspect.isfunction)
    if not name.startswith("_") and name not in ("attempt", "fail", "is_faulty", "tensor", "tensors")
]
for _name in _CHECKING:
    setattr(CollectingCheck, _name, _noting(getattr(Check, _name)))


def faults_of(desc: OperatorDesc, level: DML_FEATURE_LEVEL) -> list[DMLError]:
    """Return all faults of a description at a feature level, in the order of the checks."""
    check = CollectingCheck(desc, level)
    check.attempt(check_operator, check)
    return check.faults


__all__ = ["CollectingCheck", "faults_of"]
