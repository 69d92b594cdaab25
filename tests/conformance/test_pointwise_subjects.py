"""The subjects of the element-wise operators, activations, quantization, random numbers and the optimizer."""

from __future__ import annotations

import pytest
from subject_checks import check_described, check_on_device, named, of_families

import dml
from dml.conformance.subject import subjects
from dml.descriptors import OperatorDesc
from dml.descriptors.base import operators

MODULES = ("elementwise", "activation", "quantization", "random", "training")
SUBJECTS = of_families(*MODULES, "elementwise_quantization")


def home(operator: type[OperatorDesc]) -> str:
    """The family that an operator's structure stands in."""
    return operator.__module__.removeprefix("dml.descriptors.").partition(".")[0]


def test_each_operator_of_the_families_is_a_subject():
    expected = {operator for operator in operators().values() if home(operator) in MODULES}
    assert {subject.operator for subject in SUBJECTS} == expected
    assert {subject.operator for subject in subjects().values() if home(subject.operator) in MODULES} == expected


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_described(subject):
    check_described(subject)


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_quick_suite(device: dml.Device, subject):
    check_on_device(device, subject)
