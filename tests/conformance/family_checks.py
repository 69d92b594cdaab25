"""What every family's subjects must do: describe and validate their cases, know the outputs, pass on a device."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import numpy as np

import dml
from dml.capability import short_name
from dml.conformance.case import Case, cases
from dml.conformance.execution import run_case
from dml.conformance.layouts import tensors
from dml.conformance.subject import subjects
from dml.descriptors.base import OperatorDesc


def names_of(modules: Iterable[ModuleType]) -> list[str]:
    """The operators whose descriptions stand in these modules of dml.descriptors."""
    found = []
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, OperatorDesc) and value.__module__ == module.__name__:
                found.append(short_name(value.OPERATOR_TYPE))
    return found


def check_references(name: str, strength: int = 2) -> None:
    """Every case validates, and its reference gives each output in its sizes, with limits that are numbers."""
    count = 0
    for case in cases(subjects()[name], strength):
        count += 1
        desc = case.desc
        dml.validate(desc, dml.DML_FEATURE_LEVEL_6_4)
        assert Case.parse(case.id) == case
        inputs = case.inputs()
        for field, at, tensor in tensors(desc.inputs()):
            array = inputs[field] if at is None else inputs[field][at]
            assert array.shape == tensor.Sizes, (case.id, field)
            assert array.dtype == dml.numpy_dtype(tensor.DataType), (case.id, field)
        expected = case.subject.reference(desc, inputs)
        for field, at, tensor in tensors(desc.outputs()):
            one = expected[field] if at is None else expected[field][at]
            assert one.values.shape == tensor.Sizes, (case.id, field)
            assert np.all(np.isfinite(one.absolute)), (case.id, field)
            assert one.is_exact == (one.why == "exact") or "exact, but" in one.why, (case.id, field)
    assert count >= 10, count


def check_on(device: dml.Device, name: str) -> None:
    """Each label of each parameter passes once."""
    for case in cases(subjects()[name], 1):
        outcome = run_case(device, case)
        assert outcome["status"] == "passed", (case.id, outcome["reason"])
