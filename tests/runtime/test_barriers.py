"""Barriers between dependent dispatches: synchronization validation reports one that is missing, and no other."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import validation
from dml.runtime.writing import _Spans

# Two dispatches of a kernel that reads one buffer and writes another: each kind of dependency in its own recording.
DISPATCHES = """
import sys
import dml
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime import writing
from dml.runtime.recording import Place, Recording, spirv

TEXT = '''#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
void main() { y[gl_GlobalInvocationID.x] = x[gl_GlobalInvocationID.x] + 1u; }
'''
#: The buffers (read, written) by the first dispatch and by the second.
KINDS = {
    "READ-AFTER-WRITE": ((0, 1), (1, 2)),
    "WRITE-AFTER-READ": ((0, 1), (2, 0)),
    "WRITE-AFTER-WRITE": ((0, 1), (2, 1)),
}
meet = writing._meet
BROKEN = {
    "READ-AFTER-WRITE": lambda past, later: meet(past.written, later.written) or meet(past.read, later.written),
    "WRITE-AFTER-READ": lambda past, later: meet(past.written, later.read + later.written),
}
if sys.argv[2] in BROKEN:
    writing._Spans.conflict = BROKEN[sys.argv[2]]
context = dml.create_device(sys.argv[1]).context
regions = [Region(Space.OUTPUT, index, 0, 256) for index in range(3)]
for pairs in KINDS.values():
    dispatches = [
        Dispatch(
            "toy/add.comp",
            Source("toy/add.comp", TEXT),
            (StorageBinding(regions[read], Access.READ), StorageBinding(regions[written], Access.WRITE)),
            (1, 1, 1),
        )
        for read, written in pairs
    ]
    buffers = [context.buffer(256) for _ in regions]
    Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
"""


# The layer of Debian 12 (1.3.239) does not report two writes without a barrier: the next test looks at the decision.
@pytest.mark.parametrize("missing", ["none", "READ-AFTER-WRITE", "WRITE-AFTER-READ"])
def test_the_layer_reports_a_barrier_that_is_missing(vulkan, tmp_path, missing):
    if not validation.layer_is_installed():
        pytest.skip("the validation layer is not installed (Debian: vulkan-validationlayers)")
    log = tmp_path / "log"
    run = subprocess.run(
        [sys.executable, "-c", DISPATCHES, vulkan.name, missing],
        env={**os.environ, **validation.environment(tmp_path, log)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    found = set(re.findall(r"SYNC-HAZARD-([A-Z-]+)", log.read_text()))
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
