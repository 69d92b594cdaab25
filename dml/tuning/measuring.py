"""Measurement of one operator on a busy device, with its data already there."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import fields
from typing import Any

import numpy as np

from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.api.recorder import CommandList
from dml.descriptors.binding import DML_BINDING_TABLE_DESC, DML_BUFFER_BINDING
from dml.graph.builder import Builder
from dml.runtime.buffer import Buffer
from dml.tensors import DML_BUFFER_TENSOR_DESC, numpy_dtype


def compiled(device: Device, desc: Any, weights: Collection[str] = (), scale: float = 1.0) -> CompiledOperator:
    """Compile the operator by itself or, if it has weights, in a graph with these tensors as constants.

    scale: factor of the weights.
    """
    if not weights:
        return device.compile_operator(device.create_operator(desc))
    graph = Builder(device)
    given: dict[str, Any] = {
        name: graph.constant(numbers(tensor, scale).reshape(tensor.Sizes))
        if name in weights
        else graph.input(name, tensor.Sizes, tensor.DataType)
        for name, tensor in desc.inputs()
        if isinstance(tensor, DML_BUFFER_TENSOR_DESC)
    }
    tensors = {name for name, _ in (*desc.inputs(), *desc.outputs())}
    others = {f.name: getattr(desc, f.name) for f in fields(desc) if f.name not in tensors}
    outputs = {name: tensor for name, tensor in desc.outputs() if isinstance(tensor, DML_BUFFER_TENSOR_DESC)}
    results = graph.node(type(desc), outputs, **given, **others)
    return graph.compile({name: results[name] for name in outputs})


def numbers(tensor: DML_BUFFER_TENSOR_DESC, scale: float = 1.0) -> Any:
    """Return floats of -0.5 to 0.5 times ``scale``, or small integers: zeros are faster on some devices. The numbers
    repeat with a prime period."""
    dtype = numpy_dtype(tensor.DataType)
    random = np.random.default_rng(0)
    count = tensor.TotalTensorSizeInBytes // dtype.itemsize
    if dtype.kind == "f":
        pool = ((random.random(999983, np.float32) - np.float32(0.5)) * np.float32(scale)).astype(dtype)
    else:
        pool = random.integers(0, 100, 999983).astype(dtype)
    return np.resize(pool, count)


class MeasuredOperator:
    """A compiled operator with its buffers.

    buffers: inputs by name, shared by operators with equal inputs; the missing ones are made and added.
    """

    def __init__(self, operator: CompiledOperator, buffers: dict[str, Buffer] | None = None) -> None:
        self.device = device = operator.get_device()
        self.operator = operator
        self.outputs: dict[str, tuple[DML_BUFFER_TENSOR_DESC, Buffer]] = {}
        properties = operator.get_binding_properties()
        persistent = _scratch(device, properties.PersistentResourceSize)
        if persistent is not None:
            self._initialize(persistent)
        self._table = device.create_binding_table(DML_BINDING_TABLE_DESC(operator))
        buffers = {} if buffers is None else buffers
        inputs: list[Any] = []
        for slot in operator.input_slots:
            if slot.name not in buffers and slot.tensor is not None:
                buffers[slot.name] = device.create_buffer(numbers(slot.tensor))
            inputs.append(DML_BUFFER_BINDING(buffers[slot.name]) if slot.name in buffers else None)
        outputs: list[Any] = []
        for slot in operator.output_slots:
            if slot.tensor is None:
                outputs.append(None)
                continue
            found = device.create_buffer(slot.tensor.TotalTensorSizeInBytes)
            self.outputs[slot.name] = slot.tensor, found
            outputs.append(DML_BUFFER_BINDING(found))
        self._table.bind_inputs(inputs)
        self._table.bind_outputs(outputs)
        self._table.bind_temporary_resource(_scratch(device, properties.TemporaryResourceSize))
        self._table.bind_persistent_resource(persistent)

    def _initialize(self, persistent: DML_BUFFER_BINDING) -> None:
        device = self.device
        initializer = device.create_operator_initializer([self.operator])
        table = device.create_binding_table(DML_BINDING_TABLE_DESC(initializer))
        table.bind_outputs([persistent])
        table.bind_temporary_resource(_scratch(device, initializer.get_binding_properties().TemporaryResourceSize))
        commands = device.create_command_list()
        device.create_command_recorder().record_dispatch(commands, initializer, table)
        commands.execute()

    def recorded(self, runs: int) -> CommandList:
        """Record and run once a command list of ``runs`` runs."""
        recorder, commands = self.device.create_command_recorder(), self.device.create_command_list()
        for _ in range(runs):
            recorder.record_dispatch(commands, self.operator, self._table)
        commands.execute()
        return commands

    def results(self) -> dict[str, Any]:
        """Return the last run's outputs by name."""
        return {name: buffer.read(numpy_dtype(tensor.DataType)) for name, (tensor, buffer) in self.outputs.items()}


def seconds(commands: CommandList) -> float:
    """Return the seconds of one submission."""
    start = time.perf_counter()
    commands.execute()
    return time.perf_counter() - start


def keep_busy(commands: CommandList, during: float) -> None:
    """Run it repeatedly for ``during`` seconds: an idle GPU lowers its clock."""
    start = time.perf_counter()
    while time.perf_counter() - start < during:
        commands.execute()


def _scratch(device: Device, size: int) -> DML_BUFFER_BINDING | None:
    return DML_BUFFER_BINDING(device.create_buffer(size)) if size else None
