"""Operators with a persistent resource must run after their initialization, with the range that it wrote."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from dml.graph import operations
from dml.graph.builder import Builder
from harness import tensor

OWNED = dml.DML_TENSOR_FLAG_OWNED_BY_DML


class Program:
    """An operator with an owned input, its persistent resource, and methods that record its commands."""

    def __init__(self, device: dml.Device, compiled: Any = None, buffer: Any = None, offset: int = 0) -> None:
        t, owned = tensor("FLOAT32", (2, 3)), tensor("FLOAT32", (2, 3), Flags=OWNED)
        desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=owned, OutputTensor=t)
        self.device = device
        self.compiled = compiled or device.compile_operator(device.create_operator(desc))
        size = self.compiled.get_binding_properties().PersistentResourceSize
        self.persistent = dml.DML_BUFFER_BINDING(buffer or device.create_buffer(size), offset, size)
        self.out = device.create_buffer(24)

    def initialize(self, commands: Any) -> None:
        initializer = self.device.create_operator_initializer([self.compiled])
        table = self.device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
        source = dml.DML_BUFFER_BINDING(self.device.create_buffer(np.full(6, 5, np.float32)))
        table.bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([None, source])])
        table.bind_outputs([self.persistent])
        self.device.create_command_recorder().record_dispatch(commands, initializer, table)

    def dispatch(self, commands: Any) -> None:
        table = self.device.create_binding_table(dml.DML_BINDING_TABLE_DESC(self.compiled))
        table.bind_inputs([dml.DML_BUFFER_BINDING(self.device.create_buffer(np.arange(6, dtype=np.float32))), None])
        table.bind_outputs([dml.DML_BUFFER_BINDING(self.out)])
        table.bind_persistent_resource(self.persistent)
        self.device.create_command_recorder().record_dispatch(commands, self.compiled, table)

    def list_of(self, *parts: Any) -> Any:
        commands = self.device.create_command_list(timed=True)
        for part in parts:
            part(commands)
        return commands

    def refuses(self, commands: Any) -> None:
        message = (
            r": ELEMENT_WISE_ADD reads its persistent resource \(bytes 0 to 256\) before an initializer of "
            "the operator wrote it"
        )
        for run in (commands.execute, commands.profile):
            with pytest.raises(dml.DMLError, match=message):
                run()
        assert not self.out.read().any(), "nothing ran"

    def computes(self, commands: Any) -> None:
        commands.execute()
        np.testing.assert_array_equal(self.out.read(np.float32), np.arange(6) + 5)


def test_a_dispatch_before_its_initialization(device: dml.Device) -> None:
    """The order of execution counts, not the order of recording."""
    one = Program(device)
    dispatch, initialize = one.list_of(one.dispatch), one.list_of(one.initialize)
    one.refuses(dispatch)
    initialize.execute()
    one.computes(dispatch)
    initialize.execute()
    one.computes(dispatch)


def test_both_in_one_list(device: dml.Device) -> None:
    one = Program(device)
    one.refuses(one.list_of(one.dispatch, one.initialize))
    one.refuses(one.list_of(one.dispatch))
    one.computes(one.list_of(one.initialize, one.dispatch))
    one.computes(one.list_of(one.dispatch))


def test_an_initialization_counts_at_its_place(device: dml.Device) -> None:
    """A copy of the initialized bytes in another buffer does not count as initialized, nor do the bytes that an
    operator of equal description initialized."""
    one = Program(device)
    one.list_of(one.initialize).execute()
    elsewhere = Program(device, one.compiled, device.create_buffer(one.persistent.Buffer.read()))
    elsewhere.refuses(elsewhere.list_of(elsewhere.dispatch))
    other = Program(device, buffer=one.persistent.Buffer)
    other.refuses(other.list_of(other.dispatch))
    one.computes(one.list_of(one.dispatch))


def test_another_initialization_over_the_bytes_ends_it(device: dml.Device) -> None:
    buffer = device.create_buffer(1024)
    one, beside, over = Program(device, None, buffer), Program(device, None, buffer, 256), Program(device, None, buffer)
    one.list_of(one.initialize, beside.initialize).execute()
    one.computes(one.list_of(one.dispatch))
    over.list_of(over.initialize).execute()
    one.out.write(np.zeros(6, np.float32))
    one.refuses(one.list_of(one.dispatch))
    beside.computes(beside.list_of(beside.dispatch))


def test_a_failed_recording_initializes_nothing(device: dml.Device) -> None:
    one = Program(device)
    initializer = device.create_operator_initializer([one.compiled])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    table.bind_outputs([one.persistent])
    commands = device.create_command_list()
    with pytest.raises(dml.DMLError, match="must be bound before a dispatch"):
        device.create_command_recorder().record_dispatch(commands, initializer, table)
    commands.execute()
    one.refuses(one.list_of(one.dispatch))


def test_graphs_with_constants(device: dml.Device) -> None:
    """Folded constants are also stored in the persistent resource."""
    builder = Builder(device)
    x = builder.input("x", (1, 1, 4, 4))
    filters = builder.constant(np.ones((1, 1, 3, 3), np.float32))
    compiled = builder.compile({"y": operations.convolution(x, operations.relu(filters))})
    properties = compiled.get_binding_properties()
    assert properties.PersistentResourceSize
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([dml.DML_BUFFER_BINDING(device.create_buffer(np.ones(16, np.float32)))])
    table.bind_outputs([dml.DML_BUFFER_BINDING(device.create_buffer(16))])
    table.bind_persistent_resource(dml.DML_BUFFER_BINDING(device.create_buffer(properties.PersistentResourceSize)))
    if properties.TemporaryResourceSize:
        table.bind_temporary_resource(dml.DML_BUFFER_BINDING(device.create_buffer(properties.TemporaryResourceSize)))
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    with pytest.raises(dml.DMLError, match="DML_GRAPH_DESC reads its persistent resource"):
        commands.execute()
