"""What the page's scripts are given: outcomes summed up per operator, data type and run, and the failures in full."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dml.capability import short_name
from dml.conformance.coverage import total
from dml.descriptors import operators
from dml.enums import DML_TENSOR_DATA_TYPE

#: In the order in which the page shows them: each with its sign and word.
STATUSES = (("passed", "✓", "passed"), ("failed", "✗", "failed"), ("loose", "≈", "loose"),
            ("not_tested", "–", "not tested"), ("unsupported", "○", "unsupported"))  # fmt: skip
#: Where an operator has one data type only, and its cases name none.
ONE_TYPE = "its own"


def runs_of(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Every run of every report, numbered from 1, with the index of its report and its counts per status."""
    runs: list[dict[str, Any]] = []
    for at, report in enumerate(reports):
        for run in report["runs"]:
            found = Counter(outcome["status"] for outcome in run["results"])
            counts = {status: found[status] for status, _, _ in STATUSES}
            runs.append({**run, "number": len(runs) + 1, "report": at, "counts": counts})
    return runs


def covered(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The runs that know which kernels exist for their device: total, and of each kernel the variants that did not run,
    without the kernel's name."""
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
    """operators: [name, family], by family; data_types: names; cells, one per operator, data type and run.

    A cell has the counts per status, the histogram, the worst outcome by its share of what is allowed, and the reasons
    of what was not tested or unsupported, with how often each.
    """
    outcomes: dict[tuple[str, str, int], list[Mapping[str, Any]]] = defaultdict(list)
    for at, run in enumerate(runs):
        for outcome in run["results"]:
            outcomes[outcome["operator"], outcome["data_type"] or ONE_TYPE, at].append(outcome)
    families = _families()
    names = sorted({name for name, _, _ in outcomes}, key=lambda name: (families.get(name, "other"), name))
    types = sorted({kind for _, kind, _ in outcomes}, key=_type_order)
    operator_at = {name: at for at, name in enumerate(names)}
    type_at = {name: at for at, name in enumerate(types)}
    cells = [
        {"operator": operator_at[name], "type": type_at[kind], "run": run, **_cell(found)}
        for (name, kind, run), found in outcomes.items()
    ]
    cells.sort(key=lambda cell: (cell["operator"], cell["type"], cell["run"]))
    return {"operators": [[name, families.get(name, "other")] for name in names], "data_types": types, "cells": cells}


def failures(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes that failed, each with the index of its run."""
    return [
        {**outcome, "run": at, "data_type": outcome["data_type"] or ONE_TYPE}
        for at, run in enumerate(runs)
        for outcome in run["results"]
        if outcome["status"] == "failed"
    ]


def loose(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Per run, operator and data type the case farthest beyond its tight limit, and how many are, farthest first."""
    found: dict[tuple[int, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        for outcome in run["results"]:
            if outcome.get("loose"):
                found[run["number"], outcome["operator"], outcome["data_type"] or ONE_TYPE].append(outcome)
    made = []
    for (number, operator, kind), outcomes in found.items():
        farthest = max(outcomes, key=lambda outcome: _weight(outcome["loose"]["tight_share"]))
        of = {"run": number, "operator": operator, "data_type": kind, "cases": len(outcomes), "case": farthest["case"]}
        made.append({**of, **farthest["loose"]})
    return sorted(made, key=lambda one: -_weight(one["tight_share"]))


def worst(outcomes: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The tensor that took the largest share of what it is allowed, with its case; None where all are exact."""
    measured = (
        {"case": outcome["case"], **tensor} for outcome in outcomes for tensor in outcome.get("tensors") or ()
        if tensor.get("share") is not None
    )  # fmt: skip
    return max(measured, key=lambda tensor: _weight(tensor["share"]), default=None)


def _weight(share: Any) -> float:
    """A share that is no number is worse than any."""
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


def _families() -> dict[str, str]:
    """GRU -> recurrent: the module of its description."""
    return {short_name(kind): desc.__module__.split(".")[2] for kind, desc in operators().items()}


def _type_order(name: str) -> tuple[int, str]:
    """Floating-point types first, wide ones before narrow ones, as the capability tables have them."""
    order = ("FLOAT64", "FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "INT4",
             "UINT64", "UINT32", "UINT16", "UINT8", "UINT4")  # fmt: skip
    return (order.index(name), name) if name in order else (len(order), name)


def type_names() -> list[str]:
    """Every data type, in the page's order."""
    return sorted((short_name(kind) for kind in DML_TENSOR_DATA_TYPE if kind), key=_type_order)
