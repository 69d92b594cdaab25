"""Recordings: order, barriers, the path for stock Kompute, and what stays the same over many runs."""

from __future__ import annotations

import gc
import resource

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Access, Binding, Dispatch, Region, Space
from dml.glslang import Source
from dml.runtime import context as runtime_context
from dml.runtime.arena import Arena
from dml.runtime.context import Context, kompute
from dml.runtime.recording import Place, Recording, spirv
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
    bindings = (Binding(source, Access.READ), Binding(result, Access.WRITE))
    return Dispatch("step", STEP, (), bindings, (SIZE // 4 // 64, 1, 1))


class Spy:
    """Kompute's module with the barriers counted."""

    def __init__(self, module) -> None:
        self._module = module
        self.barriers = 0

    def __getattr__(self, name):
        return getattr(self._module, name)

    def OpMemoryBarrier(self, *args, **kwargs):
        self.barriers += 1
        return self._module.OpMemoryBarrier(*args, **kwargs)


def run(context: Context, dispatches):
    """Each region in a buffer of its own; the first is the input, the rest are outputs."""
    buffers = [context.buffer(SIZE) for _ in range(4)]
    buffers[0].words[:] = np.arange(1024)
    recording = Recording(
        context,
        dispatches,
        spirv(dispatches),
        lambda region: Place(buffers[region.index]),
        inputs=buffers[:1],
        outputs=buffers[1:],
    )
    recording.run()
    return recording, np.array([buffer.words for buffer in buffers])


def at(k: int) -> Region:
    return Region(Space.TEMPORARY, k, 0, SIZE)


def test_one_buffer_is_one_dependency(device, monkeypatch):
    """A descriptor covers a whole buffer, so disjoint parts of one still get a barrier."""
    spy = Spy(kompute())
    monkeypatch.setattr("dml.runtime.recording.kompute", lambda: spy)
    parts = [Region(Space.TEMPORARY, 0, k * SIZE, SIZE) for k in range(3)]
    dispatches = [step(parts[0], parts[1]), step(parts[0], parts[2])]
    buffer = device.context.buffer(3 * SIZE)
    Recording(device.context, dispatches, spirv(dispatches), lambda region: Place(buffer))
    assert spy.barriers == 1


def test_an_arena_keeps_apart_what_does_not_overlap(device):
    parts = [Region(Space.TEMPORARY, 0, *span) for span in ((0, SIZE), (SIZE, SIZE), (2 * SIZE, SIZE), (2 * SIZE, 256))]
    dispatches = [step(parts[0], parts[1]), step(parts[2], parts[3])]
    arena = Arena(device.context, Space.TEMPORARY, dispatches)
    places = [arena.place(part) for part in parts]
    assert len({place.buffer.serial for place in places}) == 3
    assert places[2].buffer is places[3].buffer
    assert [place.offset + part.offset for place, part in zip(places, parts, strict=True)] == [0, 0, 0, 0]


CHAIN = [step(at(0), at(1)), step(at(1), at(2)), step(at(2), at(3))]
FAN = [step(at(0), at(1)), step(at(0), at(2)), step(at(0), at(3))]
REUSE = [step(at(0), at(1)), step(at(1), at(2)), step(at(0), at(1)), step(at(1), at(3))]


@pytest.mark.parametrize("dispatches, barriers", [(CHAIN, 2), (FAN, 0), (REUSE, 3)])
def test_barriers_stand_exactly_between_dependent_dispatches(device, monkeypatch, dispatches, barriers):
    """Read after write; none between readers; write after read."""
    spy = Spy(kompute())
    monkeypatch.setattr("dml.runtime.recording.kompute", lambda: spy)
    _, rows = run(device.context, dispatches)
    towards_host = int(device.context.unified)
    assert spy.barriers == barriers + towards_host
    x = np.arange(1024)
    expected = {id(CHAIN): [2 * x + 1, 4 * x + 3, 8 * x + 7], id(FAN): [2 * x + 1] * 3}
    expected[id(REUSE)] = [2 * x + 1, 4 * x + 3, 4 * x + 3]
    np.testing.assert_array_equal(rows[1:4], np.array(expected[id(dispatches)]))


@pytest.mark.parametrize("dispatches", [CHAIN, FAN, REUSE])
def test_stock_kompute_submits_where_it_has_no_barrier(device, monkeypatch, dispatches):
    """Without OpMemoryBarrier (stock kp 0.9.0) dependent dispatches go into submissions of their own."""

    class Stock:
        def __getattr__(self, name):
            if name == "OpMemoryBarrier":
                raise AttributeError(name)
            return getattr(kompute(), name)

    stock = Stock()
    monkeypatch.setattr(runtime_context, "kompute", lambda: stock)
    monkeypatch.setattr("dml.runtime.recording.kompute", lambda: stock)
    context = Context(device.vulkan)
    assert not context.has_barriers
    assert not context.unified
    recording, rows = run(context, dispatches)
    assert len(recording._sequences) == {id(CHAIN): 3, id(FAN): 1, id(REUSE): 4}[id(dispatches)]
    x = np.arange(1024)
    np.testing.assert_array_equal(rows[1], 2 * x + 1)
    np.testing.assert_array_equal(
        rows[3], {id(CHAIN): 8 * x + 7, id(FAN): 2 * x + 1, id(REUSE): 4 * x + 3}[id(dispatches)]
    )


def test_pipelines_are_kept_while_in_use(device):
    context = device.context
    gc.collect()
    before = len(context._pipelines)
    buffer = context.buffer(8 * SIZE)
    first = Recording(context, CHAIN, spirv(CHAIN), lambda region: Place(buffer, region.index * SIZE))
    second = Recording(context, CHAIN, spirv(CHAIN), lambda region: Place(buffer, region.index * SIZE))
    assert len(context._pipelines) == before + 1, "one kernel over one buffer is one pipeline"
    del first, second
    gc.collect()
    assert len(context._pipelines) == before


@pytest.mark.slow
@pytest.mark.no_validation
def test_many_dispatches_take_no_memory(device):
    """10,000 dispatches of a compiled operator with new data: no growth."""
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
    """What a descriptor lowers to compares equal from one compilation to the next, without a device."""
    from dml.compiler.target import Target

    t = tensor("FLOAT16", (4, 5), "padded")
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=tensor("FLOAT16", (4, 5)))
    first, second = compile_operator(desc, Target()), compile_operator(desc, Target())
    assert first == second
    assert "elementwise/elementwise.comp" in first.describe()
