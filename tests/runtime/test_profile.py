"""Profiles: the time of each dispatch of a compiled operator, a graph or a command list."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import dml
from dml.frontends.kernel_times import write_trace
from dml.graph.builder import Builder
from dml.graph.operations import gemm, relu
from dml.runtime.queue import Fence
from dml.runtime.recording import KernelTime, Recording


@pytest.fixture
def compiled(device):
    graph = Builder(device)
    x = graph.input("x", (1, 1, 64, 64))
    rng = np.random.default_rng(3)
    weights = [rng.uniform(-1, 1, (1, 1, 64, 64)).astype(np.float32) for _ in range(2)]
    y = gemm(relu(gemm(x, graph.constant(weights[0]))), graph.constant(weights[1]))
    return graph.compile({"y": y})


def data(value=1.0):
    return {"x": np.full((1, 1, 64, 64), value, np.float32)}


@pytest.fixture(params=["device", "host"])
def clock(request, device, monkeypatch):
    """The device's timestamps, and their replacement on devices without any."""
    if request.param == "device" and not device.has_timestamps:
        pytest.skip("the device has no timestamps")
    monkeypatch.setattr(device.context, "has_timestamps", request.param == "device")
    return request.param


def test_each_dispatch_is_timed(clock, compiled):
    before = compiled.dispatch(data())["y"]
    for _ in range(3):
        times = compiled.profile(data())
        assert [(t.node, t.kernel) for t in times] == [(d.node, d.label) for d in compiled.program.dispatches]
        assert [t.kernel.split("/")[0] for t in times] == ["gemm", "gemm"]
        assert "RELU" in times[0].node
        assert all(0 < t.nanoseconds < 60e9 for t in times)
    np.testing.assert_array_equal(compiled.dispatch(data())["y"], before)


def test_a_profile_uses_the_given_inputs(clock, compiled):
    before = compiled.dispatch(data(2))["y"]
    compiled.profile(data(-1))
    assert not np.array_equal(compiled.dispatch(data(-1))["y"], before)
    with pytest.raises(dml.DMLError, match="an array must be given"):
        compiled.profile({})


def test_the_first_profile_excludes_compilation(compiled, monkeypatch):
    """An unmeasured run comes first, so that no kernel's time includes the driver's compilation."""
    done = []
    for name in ("run", "profile"):
        function = getattr(Recording, name)
        monkeypatch.setattr(Recording, name, lambda self, n=name, f=function: (done.append(n), f(self))[1])
    compiled.profile(data())
    assert done[-2:] == ["run", "profile"]  # initialization ran before
    done.clear()
    compiled.profile(data())
    assert done == ["profile"]


def test_the_device_knows_its_clock(device):
    vulkan = device.vulkan
    assert device.has_timestamps == (vulkan.timestamp_bits > 0)
    if device.has_timestamps:
        assert vulkan.timestamp_bits >= 36  # Vulkan's minimum
        assert vulkan.timestamp_period > 0


def test_the_counter_may_pass_its_end(device, compiled, monkeypatch):
    """A 36-bit counter that overflows between two timestamps."""
    if not device.has_timestamps:
        pytest.skip("the device has no timestamps")
    compiled.profile(data())
    recording = compiled._resident._recordings["timed"]
    turn = (1 << 36) - 5  # stamp 0; the clock overflows within the first operation
    real = recording._sequences

    class Stamped:
        def __init__(self, sequence):
            self.sequence = sequence

        def get_timestamps(self):
            return [turn, *range(3, 303, 10)]

    monkeypatch.setattr(recording, "_positions", [[(0, 0)], [(0, 1)]])
    monkeypatch.setattr(recording, "start", lambda sequences: Fence.done(device.context.queue))
    monkeypatch.setattr(recording, "_sequences", [Stamped(sequence) for sequence in real])
    monkeypatch.setattr(device.context, "device", replace(device.vulkan, timestamp_bits=36, timestamp_period=2.0))
    assert [t.nanoseconds for t in recording.profile()] == [2 * 8, 2 * 10]


def test_command_lists(clock, device):
    desc = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (256,))
    operator = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=desc, BTensor=desc, OutputTensor=desc)
    compiled = device.compile_operator(device.create_operator(operator))
    buffers = [device.create_buffer(np.full(256, value, np.float32)) for value in (1, 2, 0)]
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    bindings = [dml.DML_BUFFER_BINDING(buffer, 0, 1024) for buffer in buffers]
    table.bind_inputs(bindings[:2])
    table.bind_outputs(bindings[2:])
    commands = device.create_command_list(timed=True)
    recorder = device.create_command_recorder()
    recorder.record_dispatch(commands, compiled, table)
    recorder.record_dispatch(commands, compiled, table)
    assert len(commands.profile()) == 2
    np.testing.assert_array_equal(buffers[2].read(np.float32), 3)
    plain = device.create_command_list()
    with pytest.raises(dml.DMLError, match=r"create_command_list\(timed=True\)"):
        plain.profile()


def test_a_program_without_dispatches(device):
    """All work was done at initialization."""
    commands = device.create_command_list(timed=True)
    assert commands.profile() == []


def test_traces_are_chromes(tmp_path):
    profile = {"a": [KernelTime("node 0", "x/a.comp", 1500), KernelTime("", "x/b.comp", 500)], "b": []}
    write_trace(tmp_path / "trace.json", profile, "a clock")
    trace = json.loads((tmp_path / "trace.json").read_text())
    spans = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [(s["name"], s["ts"], s["dur"], s["tid"]) for s in spans] == [
        ("node 0", 0, 1.5, 1),
        ("x/b.comp", 1.5, 0.5, 1),
    ]
    names = [event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"]
    assert names == ["dml (a clock)", "a", "b"]
    with pytest.raises(dml.DMLError, match=r"trace\.json"):
        write_trace(tmp_path / "trace.json" / "none.json", profile, "a clock")
