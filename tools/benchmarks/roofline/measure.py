"""How long an operator takes on the device, its data there and the device at work."""

from __future__ import annotations

import statistics
import time
from dataclasses import fields
from typing import Any

import numpy as np

import dml
from dml.graph.builder import Builder
from roofline.work import Work

#: Runs in the longer of the two submissions whose difference is measured, and how often.
RUNS, TIMES = 21, 7
#: Seconds that the device works before: an idle GPU lowers its clock.
BUSY = 0.15


def seconds(device: dml.Device, work: Work) -> float:
    """Seconds of one run: the slope from a submission of one to one of RUNS, so that what a submission costs is not
    counted, and what lies between dispatches is."""
    one, many = _recorded(device, work)
    start = time.perf_counter()
    while time.perf_counter() - start < BUSY:
        many.execute()
    taken = [(_seconds(many) - _seconds(one)) / (RUNS - 1) for _ in range(TIMES)]
    return statistics.median(taken)


def _seconds(commands: Any) -> float:
    start = time.perf_counter()
    commands.execute()
    return time.perf_counter() - start


def _recorded(device: dml.Device, work: Work) -> list[Any]:
    """Command lists of one run, and of RUNS."""
    compiled = _compiled(device, work)
    properties = compiled.get_binding_properties()
    persistent = _scratch(device, properties.PersistentResourceSize)
    if persistent is not None:
        _initialize(device, compiled, persistent)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs([_bound(device, slot.tensor) for slot in compiled.input_slots])
    table.bind_outputs([_bound(device, slot.tensor) for slot in compiled.output_slots])
    table.bind_temporary_resource(_scratch(device, properties.TemporaryResourceSize))
    table.bind_persistent_resource(persistent)
    recorder = device.create_command_recorder()
    lists = []
    for runs in (1, RUNS):
        commands = device.create_command_list()
        for _ in range(runs):
            recorder.record_dispatch(commands, compiled, table)
        commands.execute()
        lists.append(commands)
    return lists


def _compiled(device: dml.Device, work: Work) -> Any:
    """The operator by itself, or where it has weights in a graph, whose constants they are."""
    if not work.weights:
        return device.compile_operator(device.create_operator(work.desc))
    graph = Builder(device)
    given = {
        name: graph.constant(_random(tensor).reshape(tensor.Sizes))
        if name in work.weights
        else graph.input(name, tensor.Sizes, tensor.DataType)
        for name, tensor in work.desc.inputs()
        if tensor is not None
    }
    tensors = {name for name, _ in (*work.desc.inputs(), *work.desc.outputs())}
    others = {f.name: getattr(work.desc, f.name) for f in fields(work.desc) if f.name not in tensors}
    outputs = {name: tensor for name, tensor in work.desc.outputs() if tensor is not None}
    made = graph.node(type(work.desc), outputs, **given, **others)
    return graph.compile({name: made[name] for name in outputs})


def _initialize(device: dml.Device, compiled: Any, persistent: Any) -> None:
    initializer = device.create_operator_initializer([compiled])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    table.bind_outputs([persistent])
    table.bind_temporary_resource(_scratch(device, initializer.get_binding_properties().TemporaryResourceSize))
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, initializer, table)
    commands.execute()


def _scratch(device: dml.Device, size: int) -> Any:
    return dml.DML_BUFFER_BINDING(device.create_buffer(size)) if size else None


def _bound(device: dml.Device, tensor: Any) -> Any:
    return None if tensor is None else dml.DML_BUFFER_BINDING(device.create_buffer(_random(tensor)))


def _random(tensor: Any) -> Any:
    """Numbers of -0.5 to 0.5: zeros are quicker on some devices. A pool of them, of a prime length, repeats."""
    pool = np.random.default_rng(0).random(999983, np.float32) - np.float32(0.5)
    dtype = np.float16 if tensor.DataType == dml.DML_TENSOR_DATA_TYPE_FLOAT16 else np.float32
    return np.resize(pool.astype(dtype), tensor.TotalTensorSizeInBytes // np.dtype(dtype).itemsize)
