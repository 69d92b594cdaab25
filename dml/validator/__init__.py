"""Whether a description is one that DirectML would accept at a feature level.

`base` holds the Check that rules are written with, `common` what every operator shares, `faults` how all faults are
found at once, and one module per family the rules of its operators; a new module in this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import Literal, overload

from ..capability import LATEST, operator_introduced
from ..capability import feature_level as _feature_level
from ..descriptors import DML_OPERATOR_DESC, OperatorDesc, unwrap
from ..enums import DML_FEATURE_LEVEL
from ..errors import DMLError
from .base import Accepted, Check, rule
from .common import check_operator
from .faults import faults_of

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_module.name}", __name__)


_accepted: Accepted[tuple[OperatorDesc, DML_FEATURE_LEVEL]] = Accepted()


@overload
def validate(
    desc: OperatorDesc | DML_OPERATOR_DESC,
    feature_level: DML_FEATURE_LEVEL | str = LATEST,
    *,
    all: Literal[False] = False,
) -> None: ...
@overload
def validate(
    desc: OperatorDesc | DML_OPERATOR_DESC, feature_level: DML_FEATURE_LEVEL | str = ..., *, all: Literal[True]
) -> list[DMLError]: ...
def validate(
    desc: OperatorDesc | DML_OPERATOR_DESC, feature_level: DML_FEATURE_LEVEL | str = LATEST, *, all: bool = False
) -> list[DMLError] | None:
    """Accept an operator's description or raise a DMLError with E_INVALIDARG.

    The message names the operator, the tensor or field, the rule (with the feature level it comes from) and the value
    that broke it. Needs no device.

    all: raise nothing and return every fault as such an error, the one that would be raised first; none for a
    description that is right. What follows from another fault may be among them, or be found only without it.
    """
    key = unwrap(desc), _feature_level(feature_level)
    if key not in _accepted:
        if all and (found := faults_of(*key)):
            return found
        check_operator(Check(*key))
        _accepted.add(key)
    return [] if all else None


def needed_level(desc: OperatorDesc) -> DML_FEATURE_LEVEL:
    """The lowest feature level that accepts a description, the operator with these tensors. Raises what ``validate``
    does where there is none."""
    since = operator_introduced(desc.OPERATOR_TYPE)
    for level in sorted(level for level in DML_FEATURE_LEVEL if since <= level <= LATEST):
        try:
            validate(desc, level)
        except DMLError:
            continue
        return level
    validate(desc)
    raise AssertionError(desc)  # the latest is among them


__all__ = ["Check", "needed_level", "rule", "validate"]
