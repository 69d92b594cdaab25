"""Every operator's subject: valid cases, references of the outputs' sizes, and a quick suite that passes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dml
from dml.conformance.case import Case, cases
from dml.conformance.execution import run_case
from dml.conformance.graphs import SUITE_OPERATOR_TYPE, GraphDesc, check
from dml.conformance.layouts import repeated, tensors
from dml.conformance.subject import Subject, subjects
from dml.descriptors.attention import OWN_INSERT_ROWS_OPERATOR_DESC
from dml.descriptors.base import operators
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.descriptors.movement import OWN_REDUCE_INTO_ROWS_OPERATOR_DESC
from dml.graph import operations as op
from dml.tensors import numpy_dtype

#: Allowed characters of a label, so that a case's id can be parsed.
LABEL = re.compile(r"[A-Za-z0-9_.+-]+")
SUBJECTS = [pytest.param(subject, id=name) for name, subject in subjects().items()]


def test_every_operator_has_a_subject():
    found = [subject.operator for subject in subjects().values() if not issubclass(subject.operator, GraphDesc)]
    own = [OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC, OWN_INSERT_ROWS_OPERATOR_DESC, OWN_REDUCE_INTO_ROWS_OPERATOR_DESC]
    assert found == [*operators().values(), *own]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_ids_identify_labels(subject: Subject):
    for name, values in subject.all_parameters.items():
        assert LABEL.fullmatch(name)
        assert values
        assert [label for label in values if not LABEL.fullmatch(label)] == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_described(subject: Subject):
    """Every default case is valid and equals the case parsed from its id; its reference has the outputs' sizes."""
    found = 0
    for case in cases(subject, 2):
        check(case.desc)
        assert Case.parse(case.id).labels == case.labels
        check_reference(case)
        found += 1
    assert found >= 4


@pytest.mark.parametrize("sizes, data_type", [((2, 4), "FLOAT32"), ((1, 2, 3), "FLOAT32"), ((2, 3), "FLOAT16")])
def test_graphs_make_the_outputs_that_they_describe(sizes: tuple[int, ...], data_type: str) -> None:
    class Relu(GraphDesc):
        OPERATOR_TYPE = SUITE_OPERATOR_TYPE.SUITE_OPERATOR_GRAPH_FUSED

    def described(made: dml.DML_BUFFER_TENSOR_DESC) -> Relu:
        given = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 3))
        return Relu({"x": given}, {"y": made}, lambda _, inputs: {"y": op.relu(inputs["x"])})

    check(described(dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 3))))
    with pytest.raises(dml.DMLError, match="GRAPH_FUSED: its outputs must be as described"):
        check(described(dml.DML_BUFFER_TENSOR_DESC(data_type, sizes)))


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
        if case.labels["values"] == "ordinary":  # no limit is so wide that any result would pass
            assert np.all(np.isfinite(one.absolute)), (case.id, name)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_quick_suite(device: dml.Device, subject: Subject):
    for case in cases(subject, 1):
        outcome = run_case(device, case)
        assert outcome["status"] == "passed", (case.id, outcome["reason"])
