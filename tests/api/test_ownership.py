"""Objects belong to their device; closing a device frees its objects."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dml
from dml.runtime.context import Context
from harness import tensor

OWNED = dml.DML_TENSOR_FLAG_OWNED_BY_DML
ONES = np.ones((2, 3), np.float32)


def add_desc(flags: int = 0) -> dml.OperatorDesc:
    t = tensor("FLOAT32", (2, 3))
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(
        ATensor=t, BTensor=tensor("FLOAT32", (2, 3), Flags=flags), OutputTensor=t
    )


def compiled_add(device: dml.Device, flags: int = 0) -> Any:
    return device.compile_operator(device.create_operator(add_desc(flags)))


def table_for(device: dml.Device, dispatchable: Any) -> Any:
    return device.create_binding_table(dml.DML_BINDING_TABLE_DESC(dispatchable))


def bound_add(device: dml.Device, compiled: Any) -> tuple[Any, Any]:
    """Return a complete binding table and the output's buffer."""
    table, out = table_for(device, compiled), device.create_buffer(24)
    table.bind_inputs([dml.DML_BUFFER_BINDING(device.create_buffer(ONES))] * 2)
    table.bind_outputs([dml.DML_BUFFER_BINDING(out)])
    return table, out


@pytest.fixture
def other(device: dml.Device) -> Iterator[dml.Device]:
    """Open a second Device object of the same physical device and kind."""
    with dml.Device(device.vulkan, device.feature_level) as made:
        yield made


def graph_of(operator: Any) -> dml.DML_GRAPH_DESC:
    return dml.DML_GRAPH_DESC(
        InputCount=1, OutputCount=1, Nodes=[dml.DML_OPERATOR_GRAPH_NODE_DESC(operator)],
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0), dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 1)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
    )  # fmt: skip


def record(own: dml.Device, recorder: dml.Device, commands: dml.Device) -> None:
    compiled = compiled_add(own)
    table, _ = bound_add(own, compiled)
    recorder.create_command_recorder().record_dispatch(commands.create_command_list(), compiled, table)


FOREIGN: dict[str, Callable[[dml.Device, dml.Device], Any]] = {
    "Operator": lambda own, other: own.compile_operator(other.create_operator(add_desc())),
    "Operator in a graph": lambda own, other: own.compile_graph(graph_of(other.create_operator(add_desc()))),
    "CompiledOperator": lambda own, other: own.create_operator_initializer([compiled_add(other)]),
    "CompiledOperator reset": lambda own, other: own.create_operator_initializer().reset([compiled_add(other)]),
    "CompiledOperator table": lambda own, other: table_for(own, compiled_add(other)),
    "OperatorInitializer": lambda own, other: table_for(own, other.create_operator_initializer()),
    "CommandList": lambda own, other: record(own, own, other),
    "CompiledOperator recorder": lambda own, other: record(own, other, other),
    "CompiledOperator evict": lambda own, other: own.evict([compiled_add(other)]),
    "OperatorInitializer resident": lambda own, other: own.make_resident([other.create_operator_initializer()]),
}  # fmt: skip


@pytest.mark.parametrize("what", FOREIGN)
def test_objects_of_another_device_object(device: dml.Device, other: dml.Device, what: str) -> None:
    FOREIGN[what](device, device)
    with pytest.raises(dml.DMLError, match=f"the {what.split()[0]} belongs to another Device object of .* not to this"):
        FOREIGN[what](device, other)


def test_objects_of_another_physical_device(device: dml.Device) -> None:
    """The same device under another name stands in for another device."""
    with dml.Device(replace(device.vulkan, name="Another"), device.feature_level) as other:
        operator = other.create_operator(add_desc())
        with pytest.raises(dml.DMLError) as error:
            device.compile_operator(operator)
    assert f"belongs to Another, not to this device ({device.vulkan.name})" in str(error.value)


def test_buffers_of_another_physical_device(device: dml.Device) -> None:
    """Foreign buffers are refused in every binding. A separate context simulates the other device."""
    foreign = dml.DML_BUFFER_BINDING(Context(device.vulkan).buffer(4096))
    own = dml.DML_BUFFER_BINDING(device.create_buffer(4096))
    owning = compiled_add(device, OWNED)
    initializer = device.create_operator_initializer([owning])
    for where, bind in {
        "ADD.BTensor": lambda b: table_for(device, compiled_add(device)).bind_inputs([own, b]),
        "ADD.OutputTensor": lambda b: table_for(device, compiled_add(device)).bind_outputs([b]),
        "persistent resource": lambda b: table_for(device, owning).bind_persistent_resource(b),
        "temporary resource": lambda b: table_for(device, with_temporary(device)).bind_temporary_resource(b),
        "ADD.BTensor ": lambda b: table_for(device, initializer).bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([None, b])]),
        "ADD: persistent resource": lambda b: table_for(device, initializer).bind_outputs([b]),
    }.items():
        bind(own)
        with pytest.raises(dml.DMLError, match=f"{where.strip()}: the buffer belongs to .*, not to the table's"):
            bind(foreign)


def with_temporary(device: dml.Device) -> Any:
    x = tensor("FLOAT32", (1, 1, 1, 70000))
    desc = dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(x, x, 3, dml.DML_AXIS_DIRECTION_INCREASING, False)
    compiled = device.compile_operator(device.create_operator(desc))
    assert compiled.get_binding_properties().TemporaryResourceSize > 0
    return compiled


def test_buffers_are_shared_by_the_devices_of_one_physical_device(device: dml.Device, other: dml.Device) -> None:
    table, out = table_for(other, compiled_add(other)), other.create_buffer(24)
    table.bind_inputs([dml.DML_BUFFER_BINDING(device.create_buffer(ONES))] * 2)
    table.bind_outputs([dml.DML_BUFFER_BINDING(out)])
    commands = other.create_command_list()
    other.create_command_recorder().record_dispatch(commands, table.dispatchable, table)
    commands.execute()
    np.testing.assert_array_equal(out.read(np.float32), np.full(6, 2, np.float32))


def test_a_closed_device(device: dml.Device) -> None:
    """Closing frees memory and disables the device's objects, except buffers; other Device objects keep working."""
    with dml.create_device(device.vulkan.index) as closing:
        operator, compiled = closing.create_operator(add_desc()), compiled_add(closing)
        short = compiled.dispatch({"ATensor": ONES, "BTensor": ONES})
        initializer, recorder = closing.create_operator_initializer(), closing.create_command_recorder()
        table, out = bound_add(closing, compiled)
        commands, timed = closing.create_command_list(), closing.create_command_list(timed=True)
        recorder.record_dispatch(commands, compiled, table)
        commands.execute()
        resident = weakref.ref(compiled._resident)
        recordings = [weakref.ref(recording) for recording in commands.current()[0]]
    assert closing.is_closed
    closing.close()
    gc.collect()
    assert resident() is None
    assert [recording() for recording in recordings] == [None]
    inputs = {"ATensor": ONES, "BTensor": ONES}
    for use in (
        lambda: closing.__enter__(), lambda: closing.create_buffer(24), lambda: closing.create_operator(add_desc()),
        lambda: closing.compile_operator(operator), lambda: closing.compile_graph(graph_of(operator)),
        lambda: closing.create_operator_initializer(), lambda: closing.create_binding_table(),
        lambda: closing.create_command_recorder(), lambda: closing.create_command_list(),
        lambda: closing.evict([compiled]), lambda: closing.get_device_removed_reason(),
        lambda: dml.dispatch(add_desc(), inputs, closing), lambda: compiled.dispatch(inputs),
        lambda: compiled.profile(inputs), lambda: compiled.run_again(), lambda: initializer.reset([compiled]),
        lambda: table.reset(dml.DML_BINDING_TABLE_DESC(compiled)), lambda: table.bind_inputs([None, None]),
        lambda: recorder.record_dispatch(commands, compiled, table), lambda: commands.execute(),
        lambda: timed.profile(),
    ):  # fmt: skip
        with pytest.raises(dml.DMLError, match=r"this device .* is closed") as error:
            use()
        assert error.value.hresult == dml.HRESULT.DXGI_ERROR_INVALID_CALL
    np.testing.assert_array_equal(out.read(np.float32), np.full(6, 2, np.float32))
    np.testing.assert_array_equal(compiled_add(device).dispatch(inputs)["OutputTensor"], short["OutputTensor"])


def test_the_default_device_is_opened_again(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    from dml.api.device import _default_device

    _default_device().close()
    result = dml.dispatch(add_desc(), {"ATensor": ONES, "BTensor": ONES})
    np.testing.assert_array_equal(result["OutputTensor"], 2 * ONES)


def test_residency(device: dml.Device) -> None:
    """Dispatchable objects can be evicted and are still usable."""
    compiled = compiled_add(device)
    pageable = [compiled, device.create_operator_initializer([compiled])]
    device.evict(pageable)
    device.make_resident(pageable)
    device.evict([compiled])
    inputs = {"ATensor": ONES, "BTensor": ONES}
    np.testing.assert_array_equal(compiled.dispatch(inputs)["OutputTensor"], 2 * ONES)
    for wrong in ([device.create_operator(add_desc())], [device.create_command_list()], [None], compiled, None):
        for move in (device.evict, device.make_resident):
            with pytest.raises(dml.DMLError, match="objects takes Sequence") as error:
                move(wrong)
            assert error.value.hresult == dml.HRESULT.E_INVALIDARG
