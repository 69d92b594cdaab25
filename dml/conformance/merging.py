"""Merging of reports: shards of one run, and several devices. Reports that do not match are refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dml.conformance import report
from dml.conformance.coverage import merged
from dml.conformance.places import IDENTITY
from dml.conformance.report import Record
from dml.errors import DMLError

#: Fields that identify the code that ran, and fields of a suite that identify its cases.
_OF_THE_CODE, _OF_A_SUITE = ("dml_version", "commit"), ("size", "seed", "filter", "only")


def merge(reports: Sequence[Record], names: Sequence[str]) -> Record:
    """Merge reports; the result is complete if every device has all shards.

    names: the reports' names, for messages. Raises DMLError for different suites or versions, and if two hold the same
    shard of the same device.
    """
    first = reports[0]
    for other, name in zip(reports[1:], names[1:], strict=True):
        check_suites(first, other, names[0], name, _OF_THE_CODE)
    runs: dict[tuple[Any, ...], list[tuple[Record, str]]] = {}
    for entry, name in zip(reports, names, strict=True):
        seen: Counter[tuple[Any, ...]] = Counter()  # a machine may have several devices of a kind
        for run in entry["runs"]:
            device = tuple(run["device"][key] for key in IDENTITY)
            runs.setdefault((*device, seen[device]), []).append((run, name))
            seen[device] += 1
    shards = _together(
        [(entry["suite"]["shard"], name) for entry, name in zip(reports, names, strict=True)], may_repeat=True
    )
    counts = {entry["suite"]["shard"]: entry["suite"]["cases"] for entry in reports}
    suite = {**first["suite"], "shard": shards, "cases": sum(counts.values())}
    merged = [_merge_runs(parts, shards) for parts in runs.values()]
    return {**first, "created": min(entry["created"] for entry in reports), "suite": suite, "runs": merged}


def _merge_runs(parts: Sequence[tuple[Record, str]], shards: str) -> Record:
    """Merge one device's runs; shards: those present for any device."""
    shard = _together([(run["shard"], f"{name}, {report.title(run['device'])}") for run, name in parts])
    return {
        "device": parts[0][0]["device"],
        "shard": shard,
        "seconds": round(sum(run["seconds"] for run, _ in parts), 3),
        "complete": shard == shards and all(run["complete"] for run, _ in parts),
        "coverage": merged([run["coverage"] for run, _ in parts]) if all(run["coverage"] for run, _ in parts) else None,
        "results": report.in_order([outcome for run, _ in parts for outcome in run["results"]]),
    }


def _together(shards: Sequence[tuple[str, str]], *, may_repeat: bool = False) -> str:
    """Merge shards: 1/3 and 3/3 -> 1+3/3. may_repeat: the same shard may be there for several devices."""
    found: dict[int, str] = {}
    total = shards[0][0].partition("/")[2]
    for text, name in shards:
        parts, _, of = text.partition("/")
        if of != total:
            raise DMLError(f"{name}: is shard {text}, {shards[0][1]} is of {total} shards")
        for part in map(int, parts.split("+")):
            if part in found and not may_repeat:
                raise DMLError(f"{name}: holds shard {part}/{of}, as {found[part]} does")
            found[part] = name
    return "1/1" if len(found) == int(total) else f"{'+'.join(map(str, sorted(found)))}/{total}"


def check_suites(first: Record, other: Record, first_name: str, name: str, same: Sequence[str] = ()) -> None:
    """Raise DMLError unless both reports are of one suite, with the same value in each of these fields."""
    pairs = [(key, first[key], other[key]) for key in same]
    pairs += [(f"suite.{key}", first["suite"].get(key), other["suite"].get(key)) for key in _OF_A_SUITE]
    for key, one, two in pairs:
        if one != two:
            raise DMLError(f"{name} has {key} {two!r}, {first_name} has {one!r}")
