"""Rules of the binding table's and the recorder's pages: unbinding, empty tables, alignment, late binding."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from harness import tensor

VOLATILE = dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
COUNT = 6


def add(device: dml.Device, flags: int = 0, owned: int = 0, alignment: int = 0) -> dml.CompiledOperator:
    a = tensor("FLOAT32", (COUNT,), GuaranteedBaseOffsetAlignment=alignment)
    b = tensor("FLOAT32", (COUNT,), Flags=owned)
    return device.compile_operator(device.create_operator(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(a, b, a)), flags)


def holding(device: dml.Device, number: float) -> dml.DML_BUFFER_BINDING:
    return dml.DML_BUFFER_BINDING(device.create_buffer(np.full(COUNT, number, np.float32)))


def read(binding: dml.DML_BUFFER_BINDING) -> list[float]:
    return list(np.unique(binding.Buffer.read(np.float32, COUNT)))


def table_for(device: dml.Device, compiled: dml.CompiledOperator) -> dml.BindingTable:
    return device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))


def recorded(device: dml.Device, compiled: dml.CompiledOperator, table: dml.BindingTable) -> dml.CommandList:
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    return commands


@pytest.mark.parametrize("nothing", [(), ([],), (None,)])
@pytest.mark.parametrize("what", ["inputs", "outputs"])
def test_binding_nothing_unbinds_all(device: dml.Device, what: str, nothing: tuple[object, ...]) -> None:
    """idmlbindingtable-bindinputs: "To unbind all input resources, supply a rangeCount of 0"; likewise for outputs."""
    compiled = add(device)
    table, out = table_for(device, compiled), holding(device, 0)
    table.bind_inputs([holding(device, 1)] * 2)
    table.bind_outputs([out])
    getattr(table, f"bind_{what}")(*nothing)
    with pytest.raises(dml.DMLError, match=rf"the {what[:-1]} resource 0 must be bound before a dispatch"):
        recorded(device, compiled, table)
    table.bind_inputs([holding(device, 2)] * 2)
    table.bind_outputs([out])
    recorded(device, compiled, table).execute()
    assert read(out) == [4]


def test_unbound_ranges_cause_no_hazard(device: dml.Device) -> None:
    """A range that partly overlaps an output is refused until it is unbound."""
    compiled = add(device)
    table, shared = table_for(device, compiled), device.create_buffer(64)
    table.bind_inputs([dml.DML_BUFFER_BINDING(shared)] * 2)
    table.bind_outputs([dml.DML_BUFFER_BINDING(shared, 16)])
    with pytest.raises(dml.DMLError, match="the regions must be identical"):
        recorded(device, compiled, table)
    table.bind_inputs()
    table.bind_inputs([holding(device, 1)] * 2)
    recorded(device, compiled, table).execute()
    assert list(shared.read(np.float32, COUNT, offset=16)) == [2] * COUNT


@pytest.mark.parametrize("nothing", [(), (None,)])
def test_an_empty_table_refuses_bindings(device: dml.Device, nothing: tuple[object, ...]) -> None:
    """idmlbindingtable-reset: a table without a description is empty; recorded dispatches keep their bindings."""
    compiled = add(device)
    table, out = table_for(device, compiled), holding(device, 0)
    table.bind_inputs([holding(device, 1)] * 2)
    table.bind_outputs([out])
    commands = recorded(device, compiled, table)
    table.reset(*nothing)
    for bind in (
        lambda: table.bind_inputs([out] * 2), lambda: table.bind_outputs([out]), lambda: table.bind_inputs(),
        lambda: table.bind_temporary_resource(None), lambda: table.bind_persistent_resource(None),
        lambda: recorded(device, compiled, table),
    ):  # fmt: skip
        with pytest.raises(dml.DMLError, match="the table has no dispatchable"):
            bind()
    commands.execute()
    assert read(out) == [2]


@pytest.mark.parametrize(
    ("alignment", "offset", "refused"),
    [(0, 16, False), (4, 8, True), (64, 64, False), (64, 16, True), (256, 128, True), (256, 512, False)],
)
def test_the_guaranteed_alignment_holds(device: dml.Device, alignment: int, offset: int, refused: bool) -> None:
    """dml_buffer_tensor_desc: offsets must be multiples of the alignment, at least of 16."""
    compiled = add(device, alignment=alignment)
    table, buffer = table_for(device, compiled), device.create_buffer(1024)
    places = dml.DML_BUFFER_BINDING(buffer, offset)
    other = dml.DML_BUFFER_BINDING(device.create_buffer(64), 16)
    for bind in (lambda: table.bind_inputs([places, other]), lambda: table.bind_outputs([places])):
        if refused:
            message = rf"Tensor: the binding's Offset must be a multiple of {max(16, alignment)}, found {offset}"
            with pytest.raises(dml.DMLError, match=message):
                bind()
        else:
            bind()


def test_volatile_descriptors_are_read_at_each_execution(device: dml.Device) -> None:
    """dml_execution_flags: bindings may be set, and changed, after a dispatch was recorded."""
    compiled = add(device, VOLATILE)
    table = table_for(device, compiled)
    commands = recorded(device, compiled, table)
    with pytest.raises(dml.DMLError, match="resource 0 must be bound before a dispatch"):
        commands.execute()
    first, second = holding(device, 0), holding(device, 0)
    table.bind_inputs([holding(device, 1), holding(device, 2)])
    table.bind_outputs([first])
    commands.execute()
    table.bind_inputs([holding(device, 10), holding(device, 20)])
    commands.execute()
    assert read(first) == [30]
    table.bind_outputs([second])
    commands.execute(wait=False)
    table.bind_outputs([first])  # earlier submissions keep their bindings
    assert (read(first), read(second)) == ([30], [30])
    table.bind_inputs([holding(device, 5)] * 2)
    commands.execute()
    assert (read(first), read(second)) == ([10], [30])


def test_volatile_bindings_are_checked_at_execution(device: dml.Device) -> None:
    compiled = add(device, VOLATILE)
    table, shared = table_for(device, compiled), device.create_buffer(64)
    table.bind_inputs([dml.DML_BUFFER_BINDING(shared)] * 2)
    table.bind_outputs([dml.DML_BUFFER_BINDING(shared, 16)])
    commands = recorded(device, compiled, table)
    with pytest.raises(dml.DMLError, match="the regions must be identical"):
        commands.execute()
    assert not shared.read(np.uint8).any()
    table.bind_outputs([holding(device, 0)])
    commands.execute()


def test_a_reset_keeps_volatile_bindings(device: dml.Device) -> None:
    compiled = add(device, VOLATILE)
    table, out = table_for(device, compiled), holding(device, 0)
    table.bind_inputs([holding(device, 1)] * 2)
    table.bind_outputs([out])
    commands = recorded(device, compiled, table)
    table.reset(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([holding(device, 7)] * 2)
    commands.execute()
    assert read(out) == [2]


def test_without_the_flag_recorded_bindings_are_used(device: dml.Device) -> None:
    compiled = add(device)
    table, out = table_for(device, compiled), holding(device, 0)
    table.bind_inputs([holding(device, 1)] * 2)
    table.bind_outputs([out])
    commands = recorded(device, compiled, table)
    table.bind_inputs([holding(device, 7)] * 2)
    commands.execute()
    assert read(out) == [2]


def test_volatile_lists_of_several(device: dml.Device) -> None:
    """A list of two dispatches: the bindings of the first change after recording, and the second reads its output."""
    late, fixed = add(device, VOLATILE), add(device)
    between, out = holding(device, 0), holding(device, 0)
    table, other = table_for(device, late), table_for(device, fixed)
    other.bind_inputs([between] * 2)
    other.bind_outputs([out])
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    recorder.record_dispatch(commands, late, table)
    recorder.record_dispatch(commands, fixed, other)
    table.bind_outputs([between])
    for number in (1, 2, 3):
        table.bind_inputs([holding(device, number)] * 2)
        for _ in range(2):
            commands.execute()
            assert read(out) == [4 * number]


def test_a_volatile_persistent_resource(device: dml.Device) -> None:
    """A persistent resource bound after recording must be initialized, too."""
    compiled = add(device, VOLATILE, dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    size = compiled.get_binding_properties().PersistentResourceSize
    persistents = []
    for number in (5, 6):
        persistents.append(dml.DML_BUFFER_BINDING(device.create_buffer(size)))
        initializer = device.create_operator_initializer([compiled])
        table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
        nothing = dml.DML_BUFFER_BINDING(None)
        table.bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([nothing, holding(device, number)])])
        table.bind_outputs([persistents[-1]])
        recorded(device, initializer, table).execute()
    table, out = table_for(device, compiled), holding(device, 0)
    commands = recorded(device, compiled, table)
    table.bind_inputs([holding(device, 1), None])
    table.bind_outputs([out])
    for number, persistent in zip((5, 6), persistents, strict=True):
        table.bind_persistent_resource(persistent)
        commands.execute()
        assert read(out) == [1 + number]
    table.bind_persistent_resource(dml.DML_BUFFER_BINDING(device.create_buffer(size)))
    with pytest.raises(dml.DMLError, match="before an initializer of the operator wrote it"):
        commands.execute()


@pytest.mark.parametrize("flags", [8, 1 << 16, 1 | 8, -16])
def test_unknown_execution_flags_are_refused(device: dml.Device, flags: int) -> None:
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(*[tensor("FLOAT32", (COUNT,))] * 3)
    with pytest.raises(dml.DMLError, match="flags takes DML_EXECUTION_FLAGS"):
        device.compile_operator(device.create_operator(desc), flags)
    with pytest.raises(dml.DMLError, match="flags takes DML_EXECUTION_FLAGS"):
        dml.create_device(device.vulkan.index, execution_flags=dml.DML_EXECUTION_FLAGS(flags))
