"""The subjects of products, convolutions, poolings, normalizations, recurrent networks and attention."""

from __future__ import annotations

import numpy as np
import pytest
from subject_checks import check_described, check_on_device, named

import dml
from dml.conformance.case import cases
from dml.conformance.subject import subjects
from dml.descriptors import OperatorDesc
from dml.descriptors.base import operators

MODULES = ("gemm", "convolution", "pooling", "normalization", "recurrent", "attention")


def home(operator: type[OperatorDesc]) -> str:
    """The family that an operator's structure stands in."""
    return operator.__module__.removeprefix("dml.descriptors.").partition(".")[0]


SUBJECTS = [subject for subject in subjects().values() if home(subject.operator) in MODULES]


def test_each_operator_of_the_families_is_a_subject():
    expected = {operator for operator in operators().values() if home(operator) in MODULES}
    assert {subject.operator for subject in SUBJECTS} == expected
    assert len(expected) == 37


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_described(subject):
    check_described(subject)


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_limits_are_numbers(subject):
    """Not so wide that anything would pass."""
    for case in cases(subject, 1):
        expected = case.subject.reference(case.desc, case.inputs())
        for name, one in expected.items():
            assert np.all(np.isfinite(one.absolute)), (case.id, name)


@pytest.mark.parametrize("subject", SUBJECTS, ids=named)
def test_quick_suite(device: dml.Device, subject):
    check_on_device(device, subject)
