"""The feature levels for the page: dml.capability's tables, a row per change."""

from __future__ import annotations

from typing import Any

from dml.capability import TensorSupport, operator_introduced, operator_support, short_name
from dml.descriptors import operators
from dml.enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION

from .data import type_names


def level_tables() -> dict[str, Any]:
    """Return a dictionary: levels, their names in order; types, the data types in order; support, an entry per
    operator.

    support: {"operator", "family", "since", "steps": [{"from": index of a level, "tensors": [[name, kind, lowest and
    highest dimension count, indices of data types]]}]}; REDUCE appears once per function.
    """
    support = []
    for kind, desc in operators().items():
        functions = list(DML_REDUCE_FUNCTION) if short_name(kind) == "REDUCE" else [None]
        for function in functions:
            support.append(
                {
                    "operator": short_name(kind),
                    "function": None if function is None else short_name(function),
                    "family": desc.__module__.split(".")[2],
                    "since": short_name(operator_introduced(kind)),
                    "steps": _steps(kind, function),
                }
            )
    support.sort(key=lambda entry: (entry["family"], entry["operator"]))
    levels = [short_name(level) for level in sorted(DML_FEATURE_LEVEL)]
    return {"levels": levels, "level_types": type_names(), "support": support}


def _steps(kind: DML_OPERATOR_TYPE, function: DML_REDUCE_FUNCTION | None) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    for index, level in enumerate(sorted(DML_FEATURE_LEVEL)):
        found = operator_support(kind, level, function)
        if found is None:
            continue
        tensors = [_row(name, tensor) for name, tensor in found.items()]
        if not steps or steps[-1]["tensors"] != tensors:
            steps.append({"from": index, "tensors": tensors})
    return steps


def _row(name: str, tensor: TensorSupport) -> list[Any]:
    order = type_names()
    counts = [tensor.dimension_counts.start, tensor.dimension_counts.stop - 1]
    return [
        name,
        tensor.kind_in_words,
        counts,
        sorted(order.index(short_name(data_type)) for data_type in tensor.data_types),
    ]
