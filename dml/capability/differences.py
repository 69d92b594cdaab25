"""Differences between two feature levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..descriptors import operators as all_operators
from ..enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from ..enums.naming import short_name
from . import feature_level, operator_support, operator_type
from .support import TensorSupport


@dataclass(frozen=True)
class SupportDifference:
    """Changes to one operator. is_new: the older level lacks it.

    tensors: the tensors that differ, as the older level accepts them (None if it has none) and as the newer one does;
    for a new operator all.
    """

    operator: DML_OPERATOR_TYPE
    is_new: bool
    tensors: Mapping[str, tuple[TensorSupport | None, TensorSupport]]

    def lists(self) -> dict[str, dict[str, Any]]:
        """Changes of each tensor that differs, as lists, for programs."""
        return {name: _lists(old, new) for name, (old, new) in self.tensors.items()}

    def changes(self) -> dict[str, str]:
        """Return, as text, what the newer level newly accepts for each changed tensor."""
        return {name: "; ".join(_changes(old, new)) for name, (old, new) in self.tensors.items()}


def support_difference(
    older: DML_FEATURE_LEVEL | str,
    newer: DML_FEATURE_LEVEL | str,
    operators: Iterable[DML_OPERATOR_TYPE | str] | None = None,
) -> list[SupportDifference]:
    """Return the operators, of these or of all, that differ between two feature levels in either order.

    Raises DMLError for an unknown level or operator.
    """
    low, high = sorted((feature_level(older), feature_level(newer)))
    found = []
    for kind in all_operators() if operators is None else map(operator_type, operators):
        before, after = operator_support(kind, low), operator_support(kind, high)
        if after is None or before == after:
            continue
        old: Mapping[str, TensorSupport] = before or {}
        tensors = {name: (old.get(name), new) for name, new in after.items() if old.get(name) != new}
        found.append(SupportDifference(kind, before is None, tensors))
    return found


def _lists(old: TensorSupport | None, new: TensorSupport) -> dict[str, Any]:
    before = frozenset[DML_TENSOR_DATA_TYPE]() if old is None else old.data_types
    return {
        "is_new": old is None,
        "data_types_added": [short_name(kind) for kind in sorted(new.data_types - before)],
        "data_types_removed": [short_name(kind) for kind in sorted(before - new.data_types)],
        "dimension_counts": [new.dimension_counts.start, new.dimension_counts.stop - 1],
        "dimension_counts_before": None if old is None else [old.dimension_counts.start, old.dimension_counts.stop - 1],
        "optional": new.optional,
        "optional_before": None if old is None else old.optional,
        "sizes": None if new.sizes is None else list(new.sizes),
        "sizes_before": None if old is None or old.sizes is None else list(old.sizes),
    }


def _changes(old: TensorSupport | None, new: TensorSupport) -> list[str]:
    if old is None:
        return [f"new, {new.kind_in_words}: {new.counts_in_words} dimensions, {new.data_types_in_words}"]
    found = []
    if added := sorted(new.data_types - old.data_types):
        found.append(f"also {', '.join(map(short_name, added))}")
    if removed := sorted(old.data_types - new.data_types):
        found.append(f"not {', '.join(map(short_name, removed))}")
    if new.dimension_counts != old.dimension_counts:
        found.append(f"{new.counts_in_words} dimensions, before {old.counts_in_words}")
    if new.kind_in_words != old.kind_in_words:
        found.append(f"{new.kind_in_words}, before {old.kind_in_words}")
    if new.sizes != old.sizes:
        found.append(f"sizes {new.sizes_in_words or 'any'}, before {old.sizes_in_words or 'any'}")
    return found


__all__ = ["SupportDifference", "support_difference"]
