"""MLGraph: a compiled graph, which a context dispatches on tensors.

A dispatch binds the tensors' own buffers, so it copies nothing between host and device. The recording for a set of
buffers is kept for later dispatches on the same buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import dml.api.device as api
from dml.api.operator import CompiledOperator, Dispatchable
from dml.api.recorder import CommandList
from dml.descriptors.binding import DML_BINDING_TABLE_DESC, DML_BUFFER_BINDING
from dml.frontends.webnn.operands import MLOperandDescriptor
from dml.recent import Recent
from dml.runtime.buffer import Buffer

#: Number of kept recordings, each for a set of buffers: a stream that alternates between a few states needs one for
#: each.
KEPT_RECORDINGS = 8


class MLGraph:
    """A compiled graph, which ``MLGraphBuilder.build`` creates. inputs, outputs: name -> descriptor."""

    def __init__(
        self,
        device: api.Device,
        compiled: CompiledOperator,
        inputs: Mapping[str, MLOperandDescriptor],
        outputs: Mapping[str, MLOperandDescriptor],
    ) -> None:
        self.inputs = dict(inputs)
        self.outputs = dict(outputs)
        self._device = device
        self._compiled: CompiledOperator | None = compiled
        self._recorded: Recent[tuple[Buffer, ...], CommandList] = Recent(KEPT_RECORDINGS)
        properties = compiled.get_binding_properties()
        self._temporary = _bound(device, properties.TemporaryResourceSize)
        self._persistent = _bound(device, properties.PersistentResourceSize)
        self._initialize(compiled)

    @property
    def is_destroyed(self) -> bool:
        return self._compiled is None

    def describe(self) -> str:
        """Return a description of the compiled program; see ``CompiledOperator.describe``."""
        return "destroyed" if self._compiled is None else self._compiled.describe()

    def destroy(self) -> None:
        """Free the graph's device memory. Earlier dispatches are not affected; a second call does nothing."""
        if self._compiled is not None:
            self._compiled.release()
        self._compiled = self._temporary = self._persistent = None
        self._recorded.clear()

    def forget(self, buffer: Buffer) -> None:
        """Drop the recordings that use a buffer."""
        for bound, _ in self._recorded.items():
            if buffer in bound:
                self._recorded.discard(bound)

    def run(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> None:
        """Run on these buffers, in the order of the descriptors, without waiting."""
        key = (*inputs, *outputs)
        commands = self._recorded.get(key)
        if commands is None:
            commands = self._record(inputs, outputs)
            self._recorded.put(key, commands)
        commands.execute(wait=False)

    def _record(self, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> CommandList:
        compiled = self._compiled
        assert compiled is not None
        table = self._device.create_binding_table(DML_BINDING_TABLE_DESC(compiled))
        named = dict(zip(self.inputs, inputs, strict=True))
        table.bind_inputs(
            [None if slot.tensor is None else DML_BUFFER_BINDING(named[slot.name]) for slot in compiled.input_slots]
        )
        table.bind_outputs([DML_BUFFER_BINDING(buffer) for buffer in outputs])
        table.bind_temporary_resource(self._temporary)
        table.bind_persistent_resource(self._persistent)
        commands = self._device.create_command_list()
        self._device.create_command_recorder().record_dispatch(commands, compiled, table)
        return commands

    def _initialize(self, compiled: CompiledOperator) -> None:
        if self._persistent is None:
            return
        initializer: Dispatchable = self._device.create_operator_initializer([compiled])
        table = self._device.create_binding_table(DML_BINDING_TABLE_DESC(initializer))
        table.bind_inputs([None])
        table.bind_outputs([self._persistent])
        commands = self._device.create_command_list()
        self._device.create_command_recorder().record_dispatch(commands, initializer, table)
        commands.execute()


def _bound(device: api.Device, size: int) -> DML_BUFFER_BINDING | None:
    """Return a binding of a new buffer of that size; None for size 0."""
    return DML_BUFFER_BINDING(device.create_buffer(size)) if size else None
