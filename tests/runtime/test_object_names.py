"""Names of Vulkan's objects: when they are set, and that the validation layer's messages show them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import validation
from dml.compiler.program import Dispatch
from dml.glslang import DEBUG_VARIABLE, Source
from dml.runtime import names


@pytest.fixture
def environment(monkeypatch):
    """The environment without the variables that request names."""
    for name in (DEBUG_VARIABLE, names.DUMP_VARIABLE, *names.LAYER_VARIABLES):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def dispatch(node=""):
    return Dispatch("gemm/tiled.comp", Source("", ""), (), (1, 1, 1), node=node)


def test_names_are_given_where_somebody_looks(environment):
    assert not names.are_wanted()
    for name in (DEBUG_VARIABLE, names.DUMP_VARIABLE, "VK_INSTANCE_LAYERS", "ENABLE_VULKAN_RENDERDOC_CAPTURE"):
        environment.setenv(name, "1")
        assert names.are_wanted()
        environment.delenv(name)


def test_a_kernels_name_tells_its_code_apart():
    name = names.of_kernel(dispatch(), b"spirv")
    assert name.startswith("gemm-tiled-")
    assert name == names.of_kernel(dispatch(node="another"), b"spirv")
    assert name != names.of_kernel(dispatch(), b"other")


def test_a_dispatch_is_called_by_its_kernel_and_its_nodes():
    assert names.of_dispatch(dispatch()) == "gemm/tiled.comp"
    assert names.of_dispatch(dispatch(node="first + second")) == "gemm/tiled.comp for first + second"


# Two dependent dispatches without a barrier, which the validation layer reports.
RACE = """
import sys
import dml
from dml.compiler.program import Access, StorageBinding, Dispatch, Region, Space
from dml.glslang import Source
from dml.runtime import writing
from dml.runtime.recording import Place, Recording, spirv

TEXT = '''#version 450
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) buffer Y { uint y[]; };
void main() { y[gl_GlobalInvocationID.x] = x[gl_GlobalInvocationID.x] + 1u; }
'''
context = dml.create_device(sys.argv[1]).context
regions = [Region(Space.OUTPUT, index, 0, 256) for index in range(3)]
dispatches = [
    Dispatch(
        "toy/add.comp",
        Source("toy/add.comp", TEXT),
        (StorageBinding(regions[index], Access.READ), StorageBinding(regions[index + 1], Access.WRITE)),
        (1, 1, 1),
        node=node,
    )
    for index, node in enumerate(("first", "second"))
]
if sys.argv[2] == "race":
    writing._Spans.conflict = lambda *_: False
buffers = [context.buffer(256) for _ in regions]
Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
"""


@pytest.mark.parametrize("race", ["race", "none"])
def test_the_layers_message_about_a_race_names_what_races(vulkan, tmp_path, race):
    if not validation.layer_is_installed():
        pytest.skip("the validation layer is not installed (Debian: vulkan-validationlayers)")
    log = tmp_path / "log"
    run = subprocess.run(
        [sys.executable, "-c", RACE, vulkan.name, race],
        env={**os.environ, **validation.environment(tmp_path, log)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    messages = log.read_text()
    if race == "none":
        assert messages == ""
        return
    assert "SYNC-HAZARD" in messages
    for name in ("toy-add-", "toy/add.comp for second", "dml shared memory"):
        assert name in messages
