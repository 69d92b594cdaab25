"""The subjects of the operators that move, reduce and resample elements."""

from __future__ import annotations

import pytest
from subject_checks import check_described, check_on_device, named, of_families

import dml
from dml.conformance.subject import subjects
from dml.descriptors.base import operators

SUBJECTS = of_families(
    "movement_copies", "movement_indices", "movement_order", "movement_values", "reduction", "selection", "resample"
)


def test_each_operator_of_the_families_is_a_subject():
    homes = {f"dml.descriptors.{name}" for name in ("movement", "reduction", "resample")}
    expected = {operator for operator in operators().values() if operator.__module__ in homes}
    assert {subject.operator for subject in SUBJECTS} == expected
    assert {subject.operator for subject in subjects().values() if subject.operator.__module__ in homes} == expected


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_described(subject):
    check_described(subject)


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_quick_suite(device: dml.Device, subject):
    check_on_device(device, subject)
