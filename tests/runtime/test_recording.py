"""Recordings: order, barriers, byte ranges, parts for watchdogs, and reuse over many runs."""

from __future__ import annotations

import gc
import math
import resource
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

import dml
from dml.compiler.features import Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.compiler.target import DeviceClass, Target
from dml.glslang import Source
from dml.runtime import commands, writing
from dml.runtime.arena import Arena, Islands
from dml.runtime.context import Context
from dml.runtime.recording import Place, Recording, spirv
from dml.runtime.writing import grid_parts, most_work
from harness import tensor

#: y = 2 x + 1, over words.
STEP = Source(
    "tests/step.comp",
    """#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push { uint from; uint to; } push_;
layout(set = 0, binding = 0) readonly buffer X { uint x[]; };
layout(set = 0, binding = 1) buffer Y { uint y[]; };
void main() { uint i = gl_GlobalInvocationID.x; y[push_.to + i] = 2u * x[push_.from + i] + 1u; }
""",
)
SIZE = 4096


def step(source: Region, result: Region) -> Dispatch:
    bindings = (StorageBinding(source, Access.READ), StorageBinding(result, Access.WRITE))
    return Dispatch("step", STEP, bindings, (SIZE // 4 // 64, 1, 1), invocations=64)


class Counted:
    """Counts the barriers between dispatches that recordings request."""

    def __init__(self, monkeypatch) -> None:
        self.barriers = 0
        between = commands.between

        def counted():
            self.barriers += 1
            return between()

        monkeypatch.setattr(commands, "between", counted)


def run(context: Context, dispatches):
    """Run with each region in a separate buffer; the first is the input, the rest are outputs."""
    buffers = [context.buffer(SIZE) for _ in range(4)]
    buffers[0].write(np.arange(1024, dtype=np.uint32))
    Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
    return np.array([buffer.read(np.uint32) for buffer in buffers])


def at(k: int) -> Region:
    return Region(Space.TEMPORARY, k, 0, SIZE)


CHAIN = [step(at(0), at(1)), step(at(1), at(2)), step(at(2), at(3))]
FAN = [step(at(0), at(1)), step(at(0), at(2)), step(at(0), at(3))]
REUSE = [step(at(0), at(1)), step(at(1), at(2)), step(at(0), at(1)), step(at(1), at(3))]


@pytest.mark.parametrize("dispatches, barriers", [(CHAIN, 2), (FAN, 0), (REUSE, 3)])
def test_barriers_stand_exactly_between_dependent_dispatches(device, monkeypatch, dispatches, barriers):
    """Read after write and write after read need a barrier; two reads do not."""
    counted = Counted(monkeypatch)
    rows = run(device.context, dispatches)
    assert counted.barriers == barriers
    x = np.arange(1024)
    expected = {id(CHAIN): [2 * x + 1, 4 * x + 3, 8 * x + 7], id(FAN): [2 * x + 1] * 3}
    expected[id(REUSE)] = [2 * x + 1, 4 * x + 3, 4 * x + 3]
    np.testing.assert_array_equal(rows[1:4], np.array(expected[id(dispatches)]))


def test_regions_of_one_buffer_are_dependencies_by_their_bytes(device, monkeypatch):
    """24 dispatches over 4 regions of one buffer: a barrier where one reads or overwrites what another wrote."""
    counted = Counted(monkeypatch)
    parts = [Region(Space.TEMPORARY, 0, k * SIZE, SIZE) for k in range(4)]
    independent = [step(parts[k % 2], parts[2 + k % 2]) for k in range(2)]
    buffer = device.context.buffer(4 * SIZE)
    buffer.write(np.arange(2048, dtype=np.uint32))
    Recording(device.context, independent, spirv(independent), lambda region: Place(buffer)).run()
    assert counted.barriers == 0
    x = np.arange(2048)
    np.testing.assert_array_equal(buffer.read(np.uint32)[2048:], 2 * x + 1)
    Recording(device.context, independent * 12, spirv(independent * 12), lambda region: Place(buffer)).run()
    assert counted.barriers == 11, "each pair overwrites what the pair before wrote"


@pytest.mark.parametrize("offset", [16, 48, 4096 + 16])
def test_regions_begin_anywhere(device, offset):
    """Descriptors begin at multiples of minStorageBufferOffsetAlignment; the kernel gets the remainder."""
    buffer = device.context.buffer(5 * SIZE)
    buffer.write(np.arange(1024, dtype=np.uint32), offset)
    dispatches = [step(Region(Space.INPUT, 0, 0, SIZE), Region(Space.OUTPUT, 0, 2 * SIZE, SIZE))]
    Recording(device.context, dispatches, spirv(dispatches), lambda region: Place(buffer, offset)).run()
    np.testing.assert_array_equal(
        buffer.read(np.uint32, 1024, offset + 2 * SIZE), 2 * np.arange(1024, dtype=np.uint32) + 1
    )
    assert not buffer.read(np.uint8, 2 * SIZE - SIZE, offset + SIZE).any(), "nothing else was written"


def test_an_arena_separates_disjoint_regions(device):
    parts = [Region(Space.TEMPORARY, 0, *span) for span in ((0, SIZE), (SIZE, SIZE), (2 * SIZE, SIZE), (2 * SIZE, 256))]
    arena = Arena(device.context, Islands(parts))
    places = [arena.place(part) for part in parts]
    assert len({id(place.buffer) for place in places}) == 3
    assert places[2].buffer is places[3].buffer
    assert [place.offset + part.offset for place, part in zip(places, parts, strict=True)] == [0, 0, 0, 0]


def test_pipelines_are_the_devices(device):
    """One kernel over many buffers is one pipeline, which stays for a while after its last use."""
    context = Context(device.vulkan)
    buffers = [context.buffer(8 * SIZE) for _ in range(3)]
    for buffer in buffers:
        Recording(context, CHAIN, spirv(CHAIN), lambda region, buffer=buffer: Place(buffer, region.index * SIZE))
    gc.collect()
    assert len(context.pipelines) == 1


def test_compiled_kernels_are_one_sequence(device):
    """A driver that compiles at first use gets a sequence per kernel on the first run; later runs are one sequence."""
    context = Context(device.vulkan)
    kernels = [Source("tests/factor.comp", STEP.text.replace("2u", f"{k + 2}u")) for k in range(3)]
    dispatches = [replace(step(at(k), at(k + 1)), source=kernel) for k, kernel in enumerate(kernels)]
    buffers = [context.buffer(SIZE) for _ in range(4)]
    x = np.arange(1024, dtype=np.uint32)
    recording = Recording(context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index]))
    assert len(recording.pipelines) == 3
    counts = []
    for k in range(3):
        buffers[0].write(x + k)
        recording.run()
        counts.append(sum(len(batch.sequences) for batch in recording.batches))
        np.testing.assert_array_equal(buffers[3].read(np.uint32), 4 * (3 * (2 * (x + k) + 1) + 1) + 1)
    assert counts == ([3, 1, 1] if context.compiles_late else [1, 1, 1])


@pytest.mark.parametrize("groups", [(7, 1, 1), (3, 5, 1), (2, 3, 4)])
def test_parts_of_a_grid_make_it_up(groups):
    parts = list(grid_parts(groups, 6))
    assert len(parts) > 1
    covered = np.zeros(groups, int)
    for base, size in parts:
        covered[tuple(slice(b, b + s) for b, s in zip(base, size, strict=True))] += 1
        assert math.prod(size) <= 6
    assert (covered == 1).all()


@pytest.mark.parametrize(("device_class", "times"), [(DeviceClass.DISCRETE, 8), (DeviceClass.INTEGRATED, 1)])
def test_discrete_gpus_with_matrix_units_get_more_at_once(device_class: DeviceClass, times: int) -> None:
    def most(features: Features) -> float:
        device = SimpleNamespace(device_class=device_class, target=Target(device_class, features=features))
        return most_work(cast(Context, SimpleNamespace(device=device)))

    halves = MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
    assert most(Features(cooperative_matrices=(halves,))) == times * most(Features())


def test_long_work_is_split_into_submissions(device, monkeypatch):
    """A dispatch of many workgroups is split along its grid into several submissions, with the same result."""
    context = device.context
    whole = run(context, CHAIN)
    submitted = []
    submit = context.queue.submit
    monkeypatch.setattr(context.queue, "submit", lambda sequences, keep: submitted.append(1) or submit(sequences, keep))
    # A submission takes 4 of a dispatch's 16 workgroups, of 64 invocations each; 257 leaves a margin for rounding
    monkeypatch.setattr(writing, "SUBMISSION_SECONDS", 257 * writing.SUBMISSION_SECONDS / most_work(context))
    assert CHAIN[0].work == 1024
    buffers = [context.buffer(SIZE) for _ in range(4)]
    buffers[0].write(np.arange(1024, dtype=np.uint32))
    recording = Recording(context, CHAIN, spirv(CHAIN), lambda region: Place(buffers[region.index]))
    submitted.clear()
    recording.run()
    assert len(submitted) == 12
    np.testing.assert_array_equal(np.array([buffer.read(np.uint32) for buffer in buffers]), whole)


@pytest.mark.slow
@pytest.mark.no_validation
def test_many_dispatches_take_no_memory(device):
    """10,000 dispatches of a compiled operator with new data do not increase memory."""
    t = tensor("FLOAT32", (16,))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    compiled = device.compile_operator(device.create_operator(desc))
    x = np.arange(16, dtype=np.float32)

    def burst(count: int) -> None:
        for k in range(count):
            result = compiled.dispatch({"ATensor": x, "BTensor": np.full(16, k, np.float32)})
            assert result["OutputTensor"][3] == 3 + k

    burst(2000)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    burst(10000)
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 2048, f"the process grew by {grown} KiB"


def test_a_program_is_plain_data():
    """Two compilations of a description, without a device, give equal programs."""
    from dml.compiler.target import Target

    t = tensor("FLOAT16", (4, 5), "padded")
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=tensor("FLOAT16", (4, 5)))
    first, second = compile_operator(desc, Target()), compile_operator(desc, Target())
    assert first == second
    assert "elementwise/elementwise.comp" in first.describe()
