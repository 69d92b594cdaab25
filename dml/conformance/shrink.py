"""Minimization of a failing case: fewer elements and simpler parameters of the same operator that still fail."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from dml.api.device import Device
from dml.conformance import execution
from dml.conformance.case import Case
from dml.conformance.layouts import element_count
from dml.conformance.parameters import Skip

#: Maximum cases to try.
TRIES = 100

#: Elements of all tensors, then number of parameters not at their defaults.
Weight = tuple[int, int]


def smallest(device: Device, case: Case, seed: int, seconds: float) -> dict[str, Any] | None:
    """Return the smallest failing case found in the given seconds, id and message; None if none is smaller.

    Repeatedly moves to the smallest case that differs in one parameter and still fails. Raises DMLError if the device
    is lost.
    """
    end, tries = time.monotonic() + seconds, TRIES
    best, found, passed = case, None, set[str]()
    searching = True
    while searching:
        searching = False
        for candidate in _smaller(best):
            if time.monotonic() > end or not tries:
                return found
            if candidate.id in passed:
                continue
            tries -= 1
            outcome = execution.run_case(device, candidate, seed)
            if outcome["status"] == "failed":
                best, searching = candidate, True
                found = {"case": candidate.id, "message": outcome["failure"]["message"]}
                break
            passed.add(candidate.id)
    return found


def _smaller(case: Case) -> Iterator[Case]:
    """Yield lighter cases that differ in one parameter, smallest first."""
    weight = _weight(case)
    found = []
    for name, values in case.subject.all_parameters.items():
        for label in values:
            changed = Case(case.subject, {**case.labels, name: label})
            if label != case.labels[name] and (lighter := _weight(changed)) is not None:
                found.append((lighter, changed))
    found.sort(key=lambda each: each[0])
    return (changed for lighter, changed in found if weight is None or lighter < weight)


def _weight(case: Case) -> Weight | None:
    """Return the case's number of elements and of labels that are not the defaults; None for parameters that exclude
    each other."""
    try:
        desc = case.desc
    except Skip:
        return None
    defaults = {name: next(iter(values)) for name, values in case.subject.all_parameters.items()}
    return element_count(desc), sum(case.labels[name] != label for name, label in defaults.items())
