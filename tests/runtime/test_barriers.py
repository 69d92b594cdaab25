"""Barriers between dependent dispatches: synchronization validation reports one that is missing, and no other."""

from __future__ import annotations

import re

import pytest

from dml.runtime.writing import _Spans
from toy_dispatches import messages

#: The buffers (read, written) by the first dispatch and by the second, for each kind of dependency.
KINDS = {
    "READ-AFTER-WRITE": ((0, 1), (1, 2)),
    "WRITE-AFTER-READ": ((0, 1), (2, 0)),
    "WRITE-AFTER-WRITE": ((0, 1), (2, 1)),
}
#: Barrier decisions that each miss one kind of dependency.
BROKEN = {
    "none": "",
    "READ-AFTER-WRITE": "meet(past.written, later.written) or meet(past.read, later.written)",
    "WRITE-AFTER-READ": "meet(past.written, later.read + later.written)",
}


# The layer of Debian 12 (1.3.239) does not report two writes without a barrier: the next test looks at the decision.
@pytest.mark.parametrize("missing", BROKEN)
def test_the_layer_reports_a_barrier_that_is_missing(vulkan, tmp_path, missing):
    decision = BROKEN[missing]
    breaking = f"meet = writing._meet\nwriting._Spans.conflict = lambda past, later: {decision}" if decision else ""
    found = set(re.findall(r"SYNC-HAZARD-([A-Z-]+)", messages(vulkan, tmp_path, KINDS.values(), breaking)))
    assert found == ({missing} - {"none"})


@pytest.mark.parametrize(("first", "second", "depends"), [
    ("w", "r", True), ("r", "w", True), ("w", "w", True), ("r", "r", False),
])  # fmt: skip
@pytest.mark.parametrize("offset", [0, 255, 256])
def test_accesses_of_a_common_byte_conflict_unless_both_read(first, second, depends, offset):
    buffer = object()
    past, later = _Spans(), _Spans()
    for spans, access, start in ((past, first, 0), (later, second, offset)):
        (spans.read if access == "r" else spans.written).append((buffer, start, start + 256))
    assert past.conflict(later) == (depends and offset < 256)
    other = _Spans()
    other.written.append((object(), 0, 256))
    assert not past.conflict(other)
