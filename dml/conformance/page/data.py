"""Data for the page's scripts: outcomes per operator, data type and run, and all failures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dml.capability import short_name
from dml.conformance.compare import ulp_text
from dml.conformance.coverage import total
from dml.conformance.failures import KINDS, kind_of
from dml.conformance.subject import subjects
from dml.enums import DML_TENSOR_DATA_TYPE

#: Status, symbol and name, in the page's order.
STATUSES = (("passed", "✓", "passed"), ("failed", "✗", "failed"), ("loose", "≈", "loose"),
            ("not_tested", "–", "not tested"), ("unsupported", "○", "unsupported"))  # fmt: skip
#: Data type shown for operators that have only one: their cases name none.
ONE_TYPE = "its own"


def runs_of(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return every report's runs, numbered from 1, with the report's index and the counts by status."""
    runs: list[dict[str, Any]] = []
    for index, report in enumerate(reports):
        for run in report["runs"]:
            found = Counter(outcome["status"] for outcome in run["results"])
            counts = {status: found[status] for status, _, _ in STATUSES}
            runs.append({**run, "number": len(runs) + 1, "report": index, "counts": counts})
    return runs


def covered(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the runs with known coverage: the total, and each kernel's missed variants, without the kernel's name."""
    found = []
    for run in runs:
        if not (record := run.get("coverage")):
            continue
        missing: dict[str, list[str]] = defaultdict(list)
        for name in record["missing"]:
            kernel, _, rest = name.partition(" ")
            missing[kernel].append(rest or kernel)
        kernels = [{**one, "missing": missing[one["kernel"]]} for one in record["kernels"]]
        kernels.sort(key=lambda one: (one["run"] > 0, one["run"] == one["variants"], one["kernel"]))
        found.append({**run, "coverage": {**record, "kernels": kernels}, "total": total(record)})
    return found


def matrix(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return operators, [name, family] by family; data_types, names; and cells, one per operator, data type and run.

    A cell has the counts by status, the histogram, the worst outcome by its share of the allowed error, and the reasons
    of cases that were not tested or unsupported, with their numbers.
    """
    outcomes: dict[tuple[str, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for index, run in enumerate(runs):
        for outcome in run["results"]:
            outcomes[outcome["operator"], outcome["data_type"] or ONE_TYPE, index].append(outcome)
    families = {name: subject.family for name, subject in subjects().items()}
    names = sorted({name for name, _, _ in outcomes}, key=lambda name: (families.get(name, "other"), name))
    types = sorted({kind for _, kind, _ in outcomes}, key=_type_order)
    operator_at = {name: index for index, name in enumerate(names)}
    type_at = {name: index for index, name in enumerate(types)}
    cells = [
        {"operator": operator_at[name], "type": type_at[kind], "run": run, **_cell(found)}
        for (name, kind, run), found in outcomes.items()
    ]
    cells.sort(key=lambda cell: (cell["operator"], cell["type"], cell["run"]))
    return {"operators": [[name, families.get(name, "other")] for name in names], "data_types": types, "cells": cells}


def failures(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the failed outcomes by kind, each with its run's index and the description of its kind."""
    found = [
        {**outcome, "run": index, "data_type": outcome["data_type"] or ONE_TYPE, "kind": KINDS[kind_of(outcome)]}
        for index, run in enumerate(runs)
        for outcome in run["results"]
        if outcome["status"] == "failed"
    ]
    order = list(KINDS.values())
    return sorted(found, key=lambda failure: order.index(failure["kind"]))


def loose(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return, per run, operator and data type, the case farthest beyond its tight limit, and the number of loose cases;
    farthest first."""
    found: dict[tuple[int, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        for outcome in run["results"]:
            if outcome.get("loose"):
                found[run["number"], outcome["operator"], outcome["data_type"] or ONE_TYPE].append(outcome)
    rows = []
    for (number, operator, kind), outcomes in found.items():
        farthest = max(outcomes, key=lambda outcome: _weight(outcome["loose"]["tight_share"]))
        of = {"run": number, "operator": operator, "data_type": kind, "cases": len(outcomes), "case": farthest["case"]}
        far = farthest["loose"]
        texts = {name: "none" if far[name] is None else ulp_text(far[name]) for name in ("ulp", "tight_ulp")}
        rows.append({**of, **far, **texts})
    return sorted(rows, key=lambda one: -_weight(one["tight_share"]))


def worst(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the tensor with the largest share of its allowed error, with its case; None if all are exact."""
    measured = (
        {"case": outcome["case"], **tensor} for outcome in outcomes for tensor in outcome.get("tensors") or ()
        if tensor.get("share") is not None
    )  # fmt: skip
    return max(measured, key=lambda tensor: _weight(tensor["share"]), default=None)


def _weight(share: Any) -> float:
    """Return a weight for sorting: NaN is worse than any share."""
    number = float(share)
    return number if number == number else float("inf")


def _cell(outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    counts = Counter(outcome["status"] for outcome in outcomes)
    reasons = Counter(
        (outcome["status"], outcome.get("reason") or "no reason is given") for outcome in outcomes
        if outcome["status"] in ("not_tested", "unsupported")
    )  # fmt: skip
    histogram = [sum(bins) for bins in zip(*(o["histogram"] for o in outcomes if o.get("histogram")), strict=True)]
    return {
        "counts": [counts[status] for status, _, _ in STATUSES],
        "histogram": histogram,
        "worst": worst(outcomes),
        "reasons": [[status, reason, count] for (status, reason), count in reasons.most_common()],
    }


def _type_order(name: str) -> tuple[int, str]:
    """Sort floating-point types first, wide before narrow, as the capability tables do."""
    order = ("FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "INT4",
             "UINT64", "UINT32", "UINT16", "UINT8", "UINT4")  # fmt: skip
    return (order.index(name), name) if name in order else (len(order), name)


def type_names() -> list[str]:
    """Return every data type, in the page's order."""
    return sorted((short_name(kind) for kind in DML_TENSOR_DATA_TYPE if kind), key=_type_order)
