"""Rules of the activations.

Most need none: their tensors' equal sizes and data types are in the capability table's `same`.
"""

from __future__ import annotations

from ..descriptors import DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC
from ..enums import DML_FEATURE_LEVEL
from .base import Check, rule


@rule(DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, fused=True)
def softplus(desc: DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, check: Check) -> None:
    """Steepness below 1 came with 6_4 (feature level history; the page still forbids it)."""
    if check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4:
        check.that(desc.Steepness >= 1, "Steepness", "must be at least 1 before feature level 6_4")
