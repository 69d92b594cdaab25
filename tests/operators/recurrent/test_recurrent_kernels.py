"""Every partition of GRU, LSTM and RNN into dispatches, workgroups and tiles, against float64 NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from recurrent_cases import DIRECTIONS, OPTIONAL_INPUTS, OUTPUTS, Case, check, data, describe, expect

import dml
from dml.compiler.selection import max_steps
from dml.compiler.selection.recurrent import RESIDENT_WORK, RecurrenceCut, RecurrenceSizes, recurrence_cut
from dml.compiler.target import DeviceClass, Target
from harness import assert_exact, run

#: Partitions of the recurrence that other devices use, as changes to this device's own.
CUTS: dict[str, dict[str, Any]] = {
    "steps": {"stepwise": True, "resident": False},
    "steps, several tiles": {"stepwise": True, "resident": False, "workgroup": 8, "units": 2, "rows": 3},
    "several tiles": {"resident": False, "workgroup": 16, "units": 1, "rows": 2},
    "many units and rows": {"resident": False, "workgroup": 8, "units": 3, "rows": 8},
    "resident": {"resident": True, "workgroup": 8, "units": 2, "rows": 2},
    "a GPU's": {"resident": False, "workgroup": 32, "units": 2, "rows": 4},
    "state shared": {"shares": 8, "workgroup": 8, "units": 3, "rows": 2},
    "state shared, steps": {"shares": 8, "stepwise": True, "workgroup": 8, "units": 1, "rows": 4},
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("kind", ["GRU", "GRU, reset first", "LSTM", "RNN"])
def test_cuts(device: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str, cut: str) -> None:
    """All partitions give the same results."""
    if "shares" in CUTS[cut] and not recurrence_cut(device.vulkan.target, RecurrenceSizes(1, 1, 4, 5, 37, 2)).shares:
        pytest.skip("the device's subgroups share nothing")

    def other(target: Target, sizes: RecurrenceSizes) -> RecurrenceCut:
        chosen = replace(recurrence_cut(target, sizes), **{"shares": 0, **CUTS[cut]})
        return replace(chosen, tiles=-(-sizes.hidden // (chosen.workgroup * chosen.units)))

    monkeypatch.setattr("dml.compiler.operators.recurrent.recurrence.recurrence_cut", other)
    attributes = {"LinearBeforeReset": kind == "GRU"} if kind.startswith("GRU") else {}
    check(device, Case(kind.split(",")[0], (4, 5, 3, 37), "BIDIRECTIONAL", attributes=attributes))


def test_weights_resident_at_size(device: dml.Device) -> None:
    """Enough work for CPU drivers to keep the weights resident."""
    assert RESIDENT_WORK <= 3 * 64 * 64 * 90 * 8
    check(device, Case("GRU", (90, 8, 5, 64), attributes={"LinearBeforeReset": False}))


def test_state_above_shared_memory(device: dml.Device) -> None:
    """A state that exceeds shared memory needs a dispatch per step."""
    hidden = device.vulkan.target.shared_memory // 8 + 4
    case = Case("RNN", (2, 2, 3, hidden), absent=OPTIONAL_INPUTS)
    assert recurrence_cut(device.vulkan.target, RecurrenceSizes(1, 1, 2, 2, hidden, 1)).stepwise
    check(device, case)


PARTS = {
    "RNN": Case("RNN", (43, 5, 3, 10), "BIDIRECTIONAL", lengths=(43, 0, 7, 16, 50)),
    "GRU": Case("GRU", (42, 3, 4, 37), data_type="FLOAT16"),
    "GRU, reset first": Case("GRU", (41, 4, 3, 9), "BACKWARD", attributes={"LinearBeforeReset": False}),
    "LSTM": Case("LSTM", (45, 3, 4, 11), "BIDIRECTIONAL"),
    "no state given or wanted": Case("LSTM", (45, 3, 4, 11), absent=(*OPTIONAL_INPUTS, *OUTPUTS[1:])),
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("device_class", [DeviceClass.CPU, DeviceClass.DISCRETE])
def test_parts_are_the_whole_to_the_bit(
    seen_as: Callable[..., dml.Device], name: str, device_class: DeviceClass
) -> None:
    """A sequence in several dispatches gives the same bits as in one."""
    case = PARTS[name]
    inputs = data(case)
    found = []
    for fewer in (None, 384):
        device = seen_as(device_class=device_class, fewer_steps=fewer)
        compiled = device.compile_operator(device.create_operator(describe(case, inputs)))
        loops = [d for d in compiled.program.dispatches if d.label == f"recurrent/{case.kind.lower()}.comp"]
        assert (len(loops) > 1) == (fewer is not None)
        assert len(loops) < case.sizes[0]
        assert max(dispatch.steps for dispatch in loops) <= max_steps(device.vulkan.target)
        found.append(compiled.dispatch(inputs))
    for output, whole in found[0].items():
        if whole is not None:
            assert_exact(found[1][output], whole)


def test_a_long_sequence(device: dml.Device) -> None:
    """More time steps than llvmpipe's loop limit, past which loops silently end."""
    case = Case("GRU", (5000, 1, 2, 16), attributes={"LinearBeforeReset": True}, lengths=(5000,))
    inputs = data(case)
    outputs, expected = run(device, describe(case, inputs), inputs), expect(case, inputs)
    for name, result in outputs.items():
        np.testing.assert_allclose(result, expected[name], 1e-4, 1e-5, err_msg=name)


@pytest.mark.parametrize("slices", [4, 8, 32])
@pytest.mark.parametrize("batch", [1, 3, 37])
@pytest.mark.parametrize("kind", ["GRU", "GRU, reset first", "LSTM", "RNN"])
def test_slices(as_discrete: dml.Device, monkeypatch: pytest.MonkeyPatch, kind: str, batch: int, slices: int) -> None:
    """On GPUs each step is a dispatch, in which several invocations share a sum along k."""
    monkeypatch.setattr("dml.compiler.selection.recurrent.LARGEST_STATE_OF_A_WORKGROUP", 0)
    monkeypatch.setattr("dml.compiler.selection.recurrent._MOST_SLICES", slices)
    monkeypatch.setattr("dml.compiler.selection.recurrent.ENOUGH_GROUPS", 4)
    cut = recurrence_cut(as_discrete.vulkan.target, RecurrenceSizes(4, 1, 3, batch, 37, 2))
    assert cut.stepwise
    assert 4 <= cut.slices <= slices
    attributes = {"LinearBeforeReset": kind == "GRU"} if kind.startswith("GRU") else {}
    check(as_discrete, Case(kind.split(",")[0], (3, batch, 5, 37), "BIDIRECTIONAL", attributes=attributes))


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_few_registers(seen_as: Callable[..., dml.Device], kind: str) -> None:
    """Few registers, as on an Adreno 618, allow fewer units and slices per workgroup."""
    device = seen_as("discrete", vendor=0x5143, device=0x06010800, driver=18)
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    cut = recurrence_cut(device.vulkan.target, RecurrenceSizes(gates, 1, 2, 5, 132, 1))
    assert cut.slices <= 8
    assert 3 * gates * cut.units * cut.block <= 128
    check(device, Case(kind, (2, 5, 3, 132), absent=OPTIONAL_INPUTS))


MANY: dict[str, Case] = {
    "RNN": Case("RNN", (4, 9, 3, 36), "BIDIRECTIONAL"),
    "GRU": Case("GRU", (4, 19, 5, 260), "BIDIRECTIONAL"),
    "GRU, reset first": Case("GRU", (5, 17, 4, 68), "BIDIRECTIONAL", attributes={"LinearBeforeReset": False}),
    "GRU, halves": Case("GRU", (3, 33, 4, 64), "BACKWARD", data_type="FLOAT16"),
    "LSTM": Case("LSTM", (5, 40, 6, 128), "BIDIRECTIONAL", attributes={"CoupleInputForget": True}),
    "LSTM, layouts": Case("LSTM", (3, 9, 6, 12), "BIDIRECTIONAL", layouts=("padded", "reversed")),
    "no state given or wanted": Case("LSTM", (3, 9, 4, 8), absent=(*OPTIONAL_INPUTS, *OUTPUTS[1:])),
    "no sequence out": Case("GRU", (4, 9, 4, 8), absent=("OutputSequenceTensor",)),
}


@pytest.mark.parametrize("name", MANY)
def test_many_sequences(seen_as: Callable[..., dml.Device], monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Each step of many sequences is a matrix product on CPU drivers, and a kernel that reads it."""
    device, case = seen_as(device_class=DeviceClass.CPU), MANY[name]
    monkeypatch.setattr("dml.compiler.selection.recurrent.MULTIPLIED_WORK", 0)
    program = device.compile_operator(device.create_operator(describe(case, data(case)))).program
    assert not any("pack" in dispatch.label for dispatch in program.dispatches)
    check(device, case)


@pytest.mark.parametrize("hidden", [164, 168, 170])
def test_many_sequences_at_size(seen_as: Callable[..., dml.Device], hidden: int) -> None:
    """From enough work on, if four units fill a vector."""
    device, case = seen_as(device_class=DeviceClass.CPU), Case("LSTM", (6, 9, 7, hidden))
    cut = recurrence_cut(device.vulkan.target, RecurrenceSizes(4, 1, 6, 9, hidden, 1))
    assert cut.multiplied == (hidden == 168)
    check(device, case)


SPANS: dict[str, dict[str, Any]] = {
    "all": {},
    "no sequence out": {"absent": ("SequenceLengthsTensor", "OutputSequenceTensor")},
    "lengths, halves": {"lengths": (61, 0, 4, 33, 17), "data_type": "FLOAT16", "layouts": ("padded", "reversed")},
    "no state given or wanted": {"absent": (*OPTIONAL_INPUTS, *OUTPUTS[1:])},
}


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", SPANS)
@pytest.mark.parametrize("kind", ["GRU", "GRU, reset first", "LSTM"])
@pytest.mark.parametrize("axis", ["plain", "discrete"])
def test_spans_of_steps(seen_as: Callable[..., dml.Device], axis: str, kind: str, name: str, direction: str) -> None:
    """The input's contributions at all steps are larger than a binding: spans of steps share one temporary."""
    attributes = {"LinearBeforeReset": kind == "GRU"} if kind.startswith("GRU") else {}
    case = Case(kind.split(",")[0], (60, 5, 6, 10), direction, attributes=attributes, **SPANS[name])
    device = seen_as(axis, max_storage_buffer_range=12_256)
    program = device.compile_operator(device.create_operator(describe(case, data(case)))).program
    assert sum("pack" in dispatch.label for dispatch in program.dispatches) == 1 + (direction == "BIDIRECTIONAL")
    assert program.temporary_size < 4 * 12_000
    check(device, case)


@pytest.mark.parametrize("data_type", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("axis", ["plain", "discrete"])
def test_weights_of_both_directions(seen_as: Callable[..., dml.Device], axis: str, data_type: str) -> None:
    """The weights of one direction fit a binding, those of both do not."""
    check(
        seen_as(axis, max_storage_buffer_range=45_312),
        Case("LSTM", (3, 2, 6, 40), "BIDIRECTIONAL", data_type=data_type),
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_weights_of_one_direction(seen_as: Callable[..., dml.Device], kind: str, direction: str) -> None:
    """The weights of a single direction exceed a binding: steps are composed of products in parts."""
    case = Case(kind, (3, 2, 6, 40), direction, lengths=(3, 1))
    device = seen_as(max_storage_buffer_range=4_352)
    program = device.compile_operator(device.create_operator(describe(case, data(case)))).program
    assert not any("pack" in dispatch.label for dispatch in program.dispatches)
    check(device, case)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_steps_of_many_sequences(seen_as: Callable[..., dml.Device], kind: str, direction: str) -> None:
    """A single step's input contributions exceed a binding: the sequences are computed in parts."""
    case = Case(kind, (3, 90, 6, 10), direction, lengths=tuple(n % 4 for n in range(90)))
    check(seen_as(max_storage_buffer_range=3_256 if kind == "RNN" else 8_256), case)
