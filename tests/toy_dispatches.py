"""Pairs of dispatches of a small kernel, recorded under the validation layer in a separate process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import validation
from dml.runtime.devices import VulkanDevice

#: Numbers of the buffers that a dispatch reads and writes.
Accesses = tuple[int, int]

_SCRIPT = """
import json
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
exec(sys.argv[3])
context = dml.create_device(sys.argv[1]).context
regions = [Region(Space.OUTPUT, index, 0, 256) for index in range(3)]
for pair in json.loads(sys.argv[2]):
    dispatches = [
        Dispatch(
            "toy/add.comp",
            Source("toy/add.comp", TEXT),
            (StorageBinding(regions[read], Access.READ), StorageBinding(regions[written], Access.WRITE)),
            (1, 1, 1),
            node=node,
        )
        for node, (read, written) in zip(("first", "second"), pair)
    ]
    buffers = [context.buffer(256) for _ in regions]
    Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
"""


def messages(vulkan: VulkanDevice, folder: Path, pairs: Iterable[tuple[Accesses, Accesses]], breaking: str = "") -> str:
    """Run each pair of dispatches in a separate recording, and return the layer's reports; skip without a layer.

    breaking: Python that changes dml.runtime.writing, named ``writing``, before.
    """
    if not validation.layer_is_installed():
        pytest.skip("the validation layer is not installed (Debian: vulkan-validationlayers)")
    log = folder / "log"
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT, vulkan.name, json.dumps(list(pairs)), breaking],
        env={**os.environ, **validation.environment(folder, log)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return log.read_text()
