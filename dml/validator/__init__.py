"""Whether a description is one that DirectML would accept at a feature level.

`base` holds the Check that rules are written with, `common` what every operator shares, and one module per family the
rules of its operators; a new module in this folder is found by itself.
"""

from __future__ import annotations

import importlib
import pkgutil

from ..capability import LATEST
from ..capability import feature_level as _feature_level
from ..descriptors import DML_OPERATOR_DESC, OperatorDesc, unwrap
from ..enums import DML_FEATURE_LEVEL
from .base import Accepted, Check, rule
from .common import check_operator

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f".{_module.name}", __name__)


_accepted: Accepted[tuple[OperatorDesc, DML_FEATURE_LEVEL]] = Accepted()


def validate(desc: OperatorDesc | DML_OPERATOR_DESC, feature_level: DML_FEATURE_LEVEL | str = LATEST) -> None:
    """Accept an operator's description or raise a DMLError with E_INVALIDARG.

    The message names the operator, the tensor or field, the rule (with the feature level it comes from) and the value
    that broke it. Needs no device.
    """
    key = unwrap(desc), _feature_level(feature_level)
    if key not in _accepted:
        check_operator(Check(*key))
        _accepted.add(key)


__all__ = ["Check", "rule", "validate"]
