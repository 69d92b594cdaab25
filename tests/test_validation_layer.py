"""The validation modes report a missing barrier between two dependent dispatches, and a read beyond a binding."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import validation

TESTS = Path(__file__).parent

# Two dispatches in one sequence; the second reads the first one's result.
CHAIN = '''
import kp
import numpy as np
from dml.glslang import Source, compile

TEXT = """#version 450
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer A { uint a[]; };
layout(std430, binding = 1) writeonly buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x] + 1u; }
"""

def chain(barrier):
    spirv = compile(Source("chain.comp", TEXT))
    manager, none = kp.Manager(0), np.empty(0, np.uint32)
    a, b, c = (manager.tensor_t(np.zeros(64, np.uint32)) for _ in range(3))
    sequence = manager.sequence()
    sequence.record(kp.OpTensorSyncDevice([a]))
    sequence.record(kp.OpAlgoDispatch(manager.algorithm([a, b], spirv, (1, 1, 1), none, none)))
    if barrier:
        sequence.record(kp.OpMemoryBarrier([b]))
    sequence.record(kp.OpAlgoDispatch(manager.algorithm([b, c], spirv, (1, 1, 1), none, none)))
    sequence.record(kp.OpTensorSyncLocal([c]))
    sequence.eval()
    assert c.data().tolist() == [2] * 64
'''


@pytest.mark.parametrize("barrier", [True, False])
def test_the_layer_reports_exactly_the_race(tmp_path, barrier):
    log = tmp_path / "log"
    script = tmp_path / "chain.py"
    script.write_text(f"{CHAIN}\nchain({barrier})\n", encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, **validation.environment(tmp_path, log)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert log.exists(), "the layer was not loaded (Debian: vulkan-validationlayers)"
    messages = log.read_text()
    if barrier:
        assert messages.strip() == ""
    else:
        assert "SYNC-HAZARD-READ-AFTER-WRITE" in messages


# Binds half of a buffer, and reads its elements from `first` on.
PART = '''
import dml
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime.recording import Place, Recording, spirv

TEXT = """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) writeonly buffer B { uint b[]; };
void main() { b[gl_GlobalInvocationID.x] = a[gl_GlobalInvocationID.x + FIRST]; }
"""

def part(first):
    context = dml.create_device(0).context
    source = Source("part.comp", TEXT, (("FIRST", str(first)),))
    places = [StorageBinding(Region(Space.OUTPUT, 0, 0, 128), Access.READ),
              StorageBinding(Region(Space.OUTPUT, 1, 0, 128), Access.WRITE)]
    dispatches = [Dispatch("part.comp", source, tuple(places), (1, 1, 1), node="part")]
    buffers = [context.buffer(256) for _ in places]
    Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
'''


@pytest.mark.skipif(validation.layer_version() < validation.RENAMED, reason="this layer checks whole buffers only")
@pytest.mark.parametrize("first", [0, 1])
def test_the_layer_reports_exactly_the_read_beyond_a_binding(tmp_path, first):
    log = tmp_path / "log"
    run = subprocess.run(
        [sys.executable, "-c", f"{PART}\npart({first})\n"],
        env={**os.environ, **validation.environment(tmp_path, log, bounds=True)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert log.exists(), "the layer was not loaded (Debian: vulkan-validationlayers)"
    assert ("out of bounds" in log.read_text()) == bool(first), log.read_text()


def test_the_mode_fails_the_test_that_races_and_no_other(tmp_path):
    cases = """
        def test_clean():
            chain(True)

        def test_racy():
            chain(False)

        def test_clean_again():
            chain(True)
    """
    (tmp_path / "test_race.py").write_text(CHAIN + textwrap.dedent(cases), encoding="utf-8")
    arguments = ["-p", "conftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(tmp_path), "-rA"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, "-n", "1", "--vulkan-validation", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == pytest.ExitCode.TESTS_FAILED, run.stdout + run.stderr
    assert "1 failed, 2 passed" in run.stdout
    assert [line for line in run.stdout.splitlines() if line.startswith("FAILED") and "::test_racy" in line]
    assert "SYNC-HAZARD-READ-AFTER-WRITE" in run.stdout
