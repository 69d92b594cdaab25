"""References on inputs that random cases rarely have."""

from __future__ import annotations

import numpy as np

import dml
from dml.conformance.axes import open_as
from dml.conformance.case import Case
from dml.conformance.execution import run_case
from dml.conformance.references.rounded import Rounded
from dml.conformance.references.suppression import suppress


def test_boxes_without_area_overlap_nothing():
    """Empty boxes overlap nothing, not even each other, though the quotient of their areas is undefined."""
    boxes = np.array([[[1, 1, 1, 3], [1, 1, 1, 3], [0, 0, 2, 2], [0, 0, 2, 2]]], np.float32)
    scores = np.array([[[4, 3, 2, 1]]], np.float32)
    for inclusive in (False, True):
        kept = suppress(boxes, scores, 4, 0.5, None, centers=False, inclusive=inclusive)
        assert [box for *_, box in kept] == [0, 1, 2]


def test_an_unbounded_error_times_nothing_is_nothing():
    """If an unbounded error were infinity, its product with 0 would be NaN, and the comparison would then require
    equality."""
    quotient = Rounded(np.ones(1), 0.5) / Rounded(np.ones(1), 2.0)
    assert quotient.error[0] > 1e100
    for product in (quotient * np.zeros(1), quotient.value[None] @ quotient, quotient[None] @ np.zeros((1, 1))):
        assert not np.isnan(product.error).any()
    assert (quotient * np.zeros(1)).error[0] < 1e-30


def test_cases_that_random_runs_found(device: dml.Device):
    for name, axis in (
        ("NON_MAX_SUPPRESSION:type=FLOAT32,least=yes,scores=no,inclusive=yes,layout=mixed", "integrated"),
        (
            "LSTM:type=FLOAT32,sizes=31x12x383x1,bias=yes,lengths=yes,outputs=sequence,activations=SOFTMAX,"
            "peepholes=yes,clip=0.4,layout=padded",
            "discrete",
        ),
    ):
        outcome = run_case(open_as(device.vulkan, axis), Case.parse(name))
        assert outcome["status"] == "passed", outcome["failure"] or outcome["loose"]
