"""Runs a model: uploads its resources, compiles and initializes its dispatchables, then executes its commands."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.api.arrays import Array
from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.errors import HRESULT, DMLError
from dml.files import write_whole
from dml.frontends.dxdispatch import images
from dml.frontends.dxdispatch.document import placed
from dml.frontends.dxdispatch.model import (
    Bindings,
    DispatchCommand,
    DxDispatchable,
    DxGraph,
    DxModel,
    DxSource,
    PrintCommand,
    WriteFileCommand,
)
from dml.frontends.dxdispatch.onnx_model import DxOnnx, OnnxReady
from dml.frontends.dxdispatch.resources import Resource
from dml.frontends.dxdispatch.serialized import read_graph
from dml.frontends.dxdispatch.timing import Timing
from dml.frontends.npy import write_npy
from dml.runtime.buffer import Buffer
from dml.runtime.recording import KernelTime
from dml.tensors import numpy_dtype


@dataclass(frozen=True)
class _Ready:
    """A compiled and initialized dispatchable.

    inputs, outputs: (bind point, number of tensors) in binding order. sizes: bind point -> bytes of the zeroed buffer
    that is bound if the command binds nothing there.
    """

    compiled: CompiledOperator
    inputs: list[tuple[str, int]]
    outputs: list[tuple[str, int]]
    persistent: d.DML_BUFFER_BINDING | None
    sizes: Mapping[str, int] = field(default_factory=dict)


class Session:
    """A model on a device, with its dispatchables compiled and initialized.

    say: called with each line of output. timing: the repetitions of a dispatch command and the report of their times.
    print_commands: report the beginning and end of each command.
    """

    def __init__(
        self,
        model: DxModel,
        device: Device,
        *,
        say: Callable[[str], None] = print,
        timing: Timing | None = None,
        print_commands: bool = False,
    ) -> None:
        self.model = model
        self.device = device
        self._say = say
        self._timing = timing or Timing()
        self._print_commands = print_commands
        self.buffers: dict[str, Buffer] = {}
        #: Deferred resource -> number of bytes that an ONNX model wrote to it.
        self._written: dict[str, int] = {}
        for name, resource in model.resources.items():
            if not resource.deferred:
                with _located(f"resources.{name}"):
                    self.buffers[name] = _filled(device, resource)
        self._ready: dict[str, _Ready] = {}
        self._onnx: dict[str, OnnxReady] = {}
        for name, dispatchable in model.dispatchables.items():
            if isinstance(dispatchable, DxOnnx):
                with _located(dispatchable.path):
                    self._onnx[name] = OnnxReady(dispatchable, device)
            else:
                self._ready[name] = self._prepare(dispatchable)

    def run(self) -> None:
        """Execute the commands in order; each sees the results of the earlier ones. Raises DMLError naming the
        command."""
        for command in self.model.commands:
            if self._print_commands:
                self._say(f"Begin {command.path}: {type(command).__name__.removesuffix('Command')}")
            with _located(command.path):
                if isinstance(command, DispatchCommand):
                    self._dispatch(command)
                elif isinstance(command, PrintCommand):
                    self._say(self._printed(command))
                else:
                    self._write(command)
            if self._print_commands:
                self._say(f"End {command.path}")

    def describe(self) -> str:
        """Describe the dispatchables' programs."""
        words = {name: ready.compiled.describe() for name, ready in self._ready.items()}
        words |= {name: ready.describe() for name, ready in self._onnx.items()}
        return "\n".join(f"{name}: {words[name]}" for name in self.model.dispatchables)

    def profile(self) -> dict[str, list[KernelTime]]:
        """Return the kernel times of each dispatch command, by its location in the file. Nothing is printed or
        written.

        Each command runs twice and the second run is measured, because drivers finish compilation in the first.
        """
        times = {}
        for command in self.model.commands:
            if isinstance(command, DispatchCommand):
                with _located(command.path):
                    name = f"{command.path} {command.dispatchable.name}"
                    if isinstance(command.dispatchable, DxOnnx):
                        ready = self._onnx[command.dispatchable.name]
                        times[name] = ready.profile(self._fed(ready, command.bindings))
                        self._run_onnx(command)
                        continue
                    commands = self._record(command, timed=True)
                    commands.execute()
                    times[name] = commands.profile()
        return times

    def array(self, resource: Resource, count: int | None = None) -> Array:
        """Return a resource's current values."""
        if resource.deferred and resource.name not in self._written:
            raise DMLError(f"resource {resource.name!r} is deferred, and no model has written to it")
        used = self._written.get(resource.name, resource.used)
        dtype = numpy_dtype(resource.data_type)
        return self.buffers[resource.name].read(dtype, used // resource.element_size if count is None else count)

    # Dispatchables

    def _prepare(self, dispatchable: DxDispatchable | DxGraph) -> _Ready:
        with _located(dispatchable.path):
            if isinstance(dispatchable, DxGraph):
                return self._prepare_graph(dispatchable)
            device, desc = self.device, dispatchable.desc
            operator = device.create_operator(desc)
            # A graph has no input for an absent optional tensor; an operator has one that binds nothing.
            inputs, outputs = (
                [
                    (name, len(t) if isinstance(t, tuple) else 1)
                    for name, t in fields
                    if t is not None or not dispatchable.as_graph
                ]
                for fields in (desc.inputs(), desc.outputs())
            )
            if dispatchable.as_graph:
                compiled = device.compile_graph(_graph(operator), dispatchable.flags)
            else:
                compiled = device.compile_operator(operator, dispatchable.flags)
            persistent = self._initialized(compiled, self._points(dispatchable.bindings, inputs, inputs))
            return _Ready(compiled, inputs, outputs, persistent)

    def _prepare_graph(self, dispatchable: DxGraph) -> _Ready:
        graph = read_graph(dispatchable.source)
        desc = graph.desc(self.device, dispatchable.source.parent)
        compiled = self.device.compile_graph(desc, dispatchable.flags)
        inputs, outputs = ([(name, 1) for name in names] for names in (graph.inputs, graph.outputs))
        sizes = {name: tensor.TotalTensorSizeInBytes for name, tensor in graph.tensors().items()}
        return _Ready(compiled, inputs, outputs, self._initialized(compiled, [None] * len(inputs)), sizes)

    def _initialized(
        self, compiled: CompiledOperator, inputs: list[d.DML_BUFFER_BINDING | None]
    ) -> d.DML_BUFFER_BINDING | None:
        """Initialize a compiled operator; return its persistent resource."""
        device = self.device
        persistent = self._scratch(compiled.get_binding_properties().PersistentResourceSize)
        initializer = device.create_operator_initializer([compiled])
        table = device.create_binding_table(d.DML_BINDING_TABLE_DESC(initializer))
        table.bind_inputs([d.DML_BUFFER_ARRAY_BINDING(tuple(b or d.DML_BUFFER_BINDING(None) for b in inputs))])
        table.bind_outputs([persistent])
        table.bind_temporary_resource(self._scratch(initializer.get_binding_properties().TemporaryResourceSize))
        commands = device.create_command_list()
        device.create_command_recorder().record_dispatch(commands, initializer, table)
        commands.execute()
        return persistent

    def _scratch(self, size: int) -> d.DML_BUFFER_BINDING | None:
        return d.DML_BUFFER_BINDING(self.device.context.buffer(size, host=False)) if size else None

    def _zeros(self, size: int | None) -> d.DML_BUFFER_BINDING | None:
        return d.DML_BUFFER_BINDING(self.device.create_buffer(size)) if size else None

    def _points(
        self, bindings: Bindings, points: list[tuple[str, int]], known: list[tuple[str, int]]
    ) -> list[d.DML_BUFFER_BINDING | None]:
        """Return the binding of each point; the bindings of tensor arrays are consecutive."""
        names = [name for name, _ in known]
        for name in bindings:
            if name not in names:
                raise DMLError(f"bindings.{name}: there is no bind point {name!r}; there are {', '.join(names)}")
        found: list[d.DML_BUFFER_BINDING | None] = []
        for name, count in points:
            given = bindings.get(name)
            if given is None:
                found += [None] * count
                continue
            if len(given) != count:
                raise DMLError(f"bindings.{name}: takes {count} resources, found {len(given)}")
            # from the offset to the resource's end, regardless of elementCount, as DxDispatch binds DirectML's tensors
            found += [d.DML_BUFFER_BINDING(self.buffers[source.resource.name], source.offset) for source in given]
        return found

    # Commands

    def _record(self, command: DispatchCommand, *, timed: bool = False) -> Any:
        ready, device = self._ready[command.dispatchable.name], self.device
        table = device.create_binding_table(d.DML_BINDING_TABLE_DESC(ready.compiled))
        known = ready.inputs + ready.outputs
        for bind, points in ((table.bind_inputs, ready.inputs), (table.bind_outputs, ready.outputs)):
            bound = self._points(command.bindings, points, known)
            bind(
                [given or self._zeros(ready.sizes.get(name)) for given, name in zip(bound, _names(points), strict=True)]
            )
        table.bind_temporary_resource(self._scratch(ready.compiled.get_binding_properties().TemporaryResourceSize))
        table.bind_persistent_resource(ready.persistent)
        commands = device.create_command_list(timed=timed)
        device.create_command_recorder().record_dispatch(commands, ready.compiled, table)
        return commands

    def _fed(self, ready: OnnxReady, bindings: Bindings) -> dict[str, Array]:
        """Return the arrays bound to an ONNX model's inputs, in the shapes of the bindings or the model."""
        feeds = {}
        for name, sources in bindings.items():
            if name not in ready.inputs and name not in ready.outputs:
                known = ", ".join([*ready.inputs, *ready.outputs])
                raise DMLError(
                    f"{sources[0].path if sources else name}: the model has no input or output {name!r}; it has {known}"
                )
            if len(sources) != 1:
                raise DMLError(f"bindings.{name}: takes 1 resource, found {len(sources)}")
            if name in ready.inputs:
                feeds[name] = self._array_at(sources[0], ready.inputs[name])
        return feeds

    def _array_at(self, source: DxSource, like: Array) -> Array:
        if source.resource.deferred and source.resource.name not in self._written:
            raise placed(source.path, "is deferred, and no model has written to it")
        shape = like.shape if source.shape is None else source.shape
        count, buffer = math.prod(shape), self.buffers[source.resource.name]
        end = source.offset + count * like.itemsize
        if end > buffer.size:
            where = f"byte {end} of a resource of {buffer.size}"
            raise placed(source.path, f"{like.dtype} of shape {shape} ends at {where}")
        return buffer.read(like.dtype, count, source.offset).reshape(shape)

    def _run_onnx(self, command: DispatchCommand) -> None:
        """Run the model on the bound resources. Deferred outputs are created in the size of the result."""
        ready = self._onnx[command.dispatchable.name]
        found = ready.run(self._fed(ready, command.bindings))
        for name, sources in command.bindings.items():
            if name not in ready.outputs:
                continue
            source, array = sources[0], np.ascontiguousarray(found[name])
            resource, data = source.resource, array.reshape(-1).view(np.uint8)
            if source.shape is not None and source.shape != array.shape:
                raise placed(source.path, f"its shape is {source.shape}, the model makes {array.shape}")
            if resource.deferred:
                if array.dtype != numpy_dtype(resource.data_type):
                    raise placed(source.path, f"holds {resource.data_type.name}, the model makes {array.dtype}")
                padded = np.zeros(max(4, -(-data.size // 4) * 4), np.uint8)
                padded[: data.size] = data
                self.buffers[resource.name] = self.device.create_buffer(padded)
                self._written[resource.name] = data.size
            elif source.offset + data.size > self.buffers[resource.name].size:
                raise placed(source.path, f"the model makes {data.size} bytes, the resource has {resource.size}")
            else:
                self.buffers[resource.name].write(data, source.offset)

    def _dispatch(self, command: DispatchCommand) -> None:
        is_onnx = isinstance(command.dispatchable, DxOnnx)
        run = partial(self._run_onnx, command) if is_onnx else self._record(command).execute
        for line in self._timing.report(command.dispatchable.name, self._timing.measure(run)):
            self._say(line)

    def _printed(self, command: PrintCommand) -> str:
        values = self.array(command.resource)
        name = command.resource.name
        if not command.verbose:
            return f"Resource '{name}': {', '.join(map(_text, values))}"
        bits = values.view(f"u{values.itemsize}")
        width, digits = len(str(max(0, len(values) - 1))), values.itemsize * 2
        lines = [
            f"[{index:{width}}] {_text(value)} (0x{pattern:0{digits}X})"
            for index, (value, pattern) in enumerate(zip(values, bits.tolist(), strict=True))
        ]
        return "\n".join([f"Resource '{name}':", *lines])

    def _shaped(self, command: WriteFileCommand) -> Array:
        count = math.prod(command.dimensions) if command.dimensions else None
        return self.array(command.resource, count).reshape(command.dimensions or -1)

    def _write(self, command: WriteFileCommand) -> None:
        path = self.model.folder.create(command.target)
        resource = command.resource
        if path.suffix.lower() == ".npy":
            write_npy(path, self._shaped(command))
        elif path.suffix.lower() in images.SUFFIXES:
            write_whole(path, images.encode(self._shaped(command), path.suffix))
        else:
            write_whole(path, self.buffers[resource.name].read().tobytes())


def _names(points: list[tuple[str, int]]) -> list[str]:
    """Return the bind point of each tensor."""
    return [name for name, count in points for _ in range(count)]


def _filled(device: Device, resource: Resource) -> Buffer:
    """Return a new buffer with a resource's initial values."""
    buffer = device.create_buffer(resource.size)
    try:
        buffer.write(resource.values(), resource.start)
    except MemoryError:
        raise DMLError(f"no memory for {resource.used} bytes of values", HRESULT.E_OUTOFMEMORY) from None
    return buffer


def _text(value: Any) -> str:
    """Format a number as C++ streams do: floats with six significant digits."""
    return f"{value:g}" if isinstance(value, np.floating) else str(value)


@contextmanager
def _located(path: str) -> Iterator[None]:
    """Add the location in the file to errors."""
    try:
        yield
    except DMLError as error:
        error.at(path, "document")
        raise


def _graph(operator: Any) -> d.DML_GRAPH_DESC:
    """Return a graph with one node; each of its tensors is an input or output of the graph."""
    edges: dict[str, list[Any]] = {"in": [], "out": []}
    sides: Mapping[str, Any] = {"in": operator.desc.inputs(), "out": operator.desc.outputs()}
    for side, fields in sides.items():
        index = 0
        for name, tensor in fields:
            for item in range(len(tensor)) if isinstance(tensor, tuple) else [None]:
                if tensor is not None:
                    label, count = name if item is None else f"{name}[{item}]", len(edges[side])
                    edges[side].append(
                        d.DML_INPUT_GRAPH_EDGE_DESC(count, 0, index, label)
                        if side == "in"
                        else d.DML_OUTPUT_GRAPH_EDGE_DESC(0, index, count, label)
                    )
                index += 1
    return d.DML_GRAPH_DESC(
        InputCount=len(edges["in"]),
        OutputCount=len(edges["out"]),
        Nodes=(d.DML_OPERATOR_GRAPH_NODE_DESC(operator),),
        InputEdges=tuple(edges["in"]),
        OutputEdges=tuple(edges["out"]),
    )
