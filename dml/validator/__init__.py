"""Validation: whether DirectML would accept a description at a feature level.

`base` holds the Check that rules use, `common` the rules of every operator, `faults` the collection of all faults, and
one module per family the rules of its operators. Modules in this folder are discovered.
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
    """Accept an operator's description, or raise a DMLError with E_INVALIDARG.

    The message names the operator, the tensor or field, the rule (with its feature level) and the offending value.
    Needs no device.

    all: instead of raising, return every fault as such an error, first the one that would be raised; none for a valid
    description. A fault may cause or hide others.
    """
    key = unwrap(desc), _feature_level(feature_level)
    if key not in _accepted:
        if all and (found := faults_of(*key)):
            return found
        check_operator(Check(*key))
        _accepted.add(key)
    return [] if all else None


def needed_level(desc: OperatorDesc) -> DML_FEATURE_LEVEL:
    """Return the lowest feature level that accepts the operator with these tensors. Raises as ``validate`` does if none
    does."""
    since = operator_introduced(desc.OPERATOR_TYPE)
    for level in sorted(level for level in DML_FEATURE_LEVEL if since <= level <= LATEST):
        try:
            validate(desc, level)
        except DMLError:
            continue
        return level
    validate(desc)
    raise AssertionError(desc)  # the loop has returned at the latest level


__all__ = ["Check", "needed_level", "rule", "validate"]
