"""Subjects of products, convolutions, poolings, normalizations, recurrent networks and attention."""

from __future__ import annotations

import pytest
from family_checks import check_on, check_references, names_of

from dml.conformance.subject import subjects
from dml.descriptors import attention, convolution, gemm, normalization, pooling, recurrent

FAMILIES = (gemm, convolution, pooling, normalization, recurrent, attention)
OPERATORS = names_of(FAMILIES)


def test_every_operator_has_its_subject():
    assert len(OPERATORS) == 37
    assert set(OPERATORS) <= set(subjects())


@pytest.mark.parametrize("name", OPERATORS)
def test_cases_validate_and_have_references(name):
    check_references(name)


@pytest.mark.parametrize("name", OPERATORS)
def test_each_label_passes(device, name):
    check_on(device, name)
