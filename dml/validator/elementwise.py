"""Rules of the element-wise operators.

Most need none: their tensors' equal sizes and data types are in the capability table's `same`.
"""

from __future__ import annotations

from ..descriptors import DML_ELEMENT_WISE_ADD1_OPERATOR_DESC
from .base import Check, rule


@rule(DML_ELEMENT_WISE_ADD1_OPERATOR_DESC)
def add1(desc: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, check: Check) -> None:
    check.fused_activation()
