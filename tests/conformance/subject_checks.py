"""What holds of every subject: its cases are valid, and its references fit their outputs."""

from __future__ import annotations

from typing import Any

import dml
from dml.conformance.case import Case, cases
from dml.conformance.execution import run_case
from dml.conformance.layouts import repeated, tensors
from dml.conformance.subject import Subject, subjects
from dml.tensors import numpy_dtype


def of_families(*families: str) -> list[Subject]:
    """The subjects of some modules of dml.conformance.families."""
    return [subject for subject in subjects().values() if subject.family in families]


def named(subject: Subject) -> str:
    """What pytest calls it."""
    return subject.name


def check_described(subject: Subject) -> None:
    """Every case of the default suite is valid and found again by its id; its reference has the outputs' sizes."""
    found = 0
    for case in cases(subject, 2):
        desc = case.desc
        dml.validate(desc)
        assert Case.parse(case.id).labels == case.labels
        check_reference(case)
        found += 1
    assert found >= 4


def check_reference(case: Case) -> None:
    desc, made = case.desc, case.inputs()
    given: dict[str, Any] = {}
    for name, at, tensor in tensors(desc.inputs()):
        array = repeated(made[name] if at is None else made[name][at], tensor)
        assert array.dtype == numpy_dtype(tensor.DataType), (case.id, name)
        if at is None:
            given[name] = array
        else:
            given.setdefault(name, []).append(array)
    assert given.keys() == made.keys(), case.id
    expected = case.subject.reference(desc, given)
    for name, at, tensor in tensors(desc.outputs()):
        one = expected[name] if at is None else expected[name][at]
        assert one.values.shape == tensor.Sizes, (case.id, name)
        kind = numpy_dtype(tensor.DataType)
        assert one.values.dtype == ("f8" if kind.kind == "f" else kind), (case.id, name)


def check_on_device(device: dml.Device, subject: Subject) -> None:
    """The quick suite passes."""
    for case in cases(subject, 1):
        outcome = run_case(device, case)
        assert outcome["status"] == "passed", (case.id, outcome["reason"])
