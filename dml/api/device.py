"""Devices (IDMLDevice) and two shortcuts: ``dispatch`` and ``list_devices``."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.binding import BindingTable
from dml.api.device_array import DeviceArray, to_device
from dml.api.dispatched import Dispatched
from dml.api.lifetimes import follow
from dml.api.objects import DeviceChild, DMLObject, require_device
from dml.api.operator import CompiledOperator, Dispatchable, Operator, OperatorInitializer
from dml.api.recorder import CommandList, CommandRecorder
from dml.arguments import as_array, checked
from dml.capability import check_feature_support, short_name, supports_in_place
from dml.capability import feature_level as level_of
from dml.compiler.lowering import compile_operator
from dml.compiler.target import Target
from dml.descriptors.base import DML_OPERATOR_DESC, OperatorDesc, unwrap
from dml.descriptors.binding import (
    DML_BINDING_TABLE_DESC,
    DML_FEATURE_DATA_FEATURE_LEVELS,
    DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT,
    DML_FEATURE_QUERY_FEATURE_LEVELS,
    DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT,
)
from dml.descriptors.graph import DML_GRAPH_DESC, DML_OPERATOR_GRAPH_NODE_DESC
from dml.enums import DML_CREATE_DEVICE_FLAGS, DML_EXECUTION_FLAGS, DML_FEATURE, DML_FEATURE_LEVEL
from dml.errors import HRESULT, DMLError
from dml.graph.compile import compile_graph
from dml.graph.model import Graph, GraphField
from dml.graph.reading import read_graph
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context, open_context
from dml.runtime.devices import VulkanDevice, choose, list_devices
from dml.runtime.queue import Fence
from dml.runtime.recording import execute
from dml.stages import stage
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.validator import validate
from dml.words import html_table

__all__ = ["Device", "create_device", "dispatch", "list_devices"]


class Device(DMLObject):
    """A Vulkan device that behaves as a DirectML runtime of one feature level. ``create_device`` makes it.

    Its objects work only with this Device object, except buffers: like Direct3D's resources, these belong to the
    physical device, and all its Device objects share them.
    """

    _internal = frozenset({"adopt", "context", "dispatched", "require_open", "vulkan"})

    def __init__(
        self,
        vulkan: VulkanDevice,
        feature_level: DML_FEATURE_LEVEL,
        execution_flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE,
    ) -> None:
        super().__init__()
        self.vulkan = vulkan
        self.feature_level = feature_level
        #: Added to the flags of every compilation, front ends' included.
        self.execution_flags = DML_EXECUTION_FLAGS(execution_flags)
        self._context: Context | None = open_context(vulkan)
        #: Operators compiled by ``dispatch``.
        self.dispatched = Dispatched()
        self._context.spare.add(self.dispatched)
        self._children: weakref.WeakSet[DeviceChild] = weakref.WeakSet()

    def _about(self) -> str:
        vulkan = self.vulkan
        level = f"feature level {short_name(self.feature_level)}"
        return ", ".join([vulkan.name, vulkan.driver, level, *(["closed"] if self.is_closed else [])])

    def _repr_html_(self) -> str:
        about = [("feature level", short_name(self.feature_level)), *self.vulkan.properties()[1:]]
        return html_table("Device (closed)" if self.is_closed else "Device", ["property", "value"], about)

    @property
    def context(self) -> Context:
        """The physical device's context, shared by its Device objects. Raises DMLError after ``close``."""
        if self._context is None:
            raise DMLError(f"Device: this device ({self.vulkan.name}) is closed", HRESULT.DXGI_ERROR_INVALID_CALL)
        return self._context

    def _target(self, flags: DML_EXECUTION_FLAGS) -> Target:
        """Return the target with these flags and the device's own applied."""
        return self.vulkan.target.under(self.execution_flags | flags)

    def _binds_late(self, flags: DML_EXECUTION_FLAGS) -> bool:
        return bool((self.execution_flags | flags) & DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE)

    @property
    def is_closed(self) -> bool:
        return self._context is None

    def require_open(self) -> None:
        """Raise DMLError if the device is closed."""
        _ = self.context

    def adopt(self, child: DeviceChild) -> None:
        """Register an object to release when the device is closed. Raises DMLError if it is closed."""
        self.require_open()
        self._children.add(child)

    def close(self) -> None:
        """Free the device memory of everything it made: compiled operators, command lists, binding tables.

        Afterwards these and the device raise DMLError when compiling, binding, recording or executing. Buffers stay
        valid: they can be read, written, and bound on another Device object of the physical device, and are freed with
        the last reference. Other Device objects are not affected. Closing twice does nothing.
        """
        if self._context is not None:
            self._context.queue.finish()
            self.dispatched.clear()
            for child in list(self._children):
                child.release()
            self._context = None

    def __enter__(self) -> Device:
        self.require_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @checked
    def evict(self, objects: Sequence[Dispatchable]) -> None:
        """Declare that compiled operators and initializers of this device need no device memory for now.

        They are only checked: a Vulkan driver moves memory by itself, and an evicted object can still be used.
        Reference: idmldevice-evict.
        """
        for item in objects:
            require_device(item, self, "Device.evict")

    @checked
    def make_resident(self, objects: Sequence[Dispatchable]) -> None:
        """Declare that evicted objects are needed again. They are only checked. Reference: idmldevice-makeresident."""
        for item in objects:
            require_device(item, self, "Device.make_resident")

    def check_feature_support(
        self, feature: DML_FEATURE, query: DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT | DML_FEATURE_QUERY_FEATURE_LEVELS
    ) -> DML_FEATURE_DATA_TENSOR_DATA_TYPE_SUPPORT | DML_FEATURE_DATA_FEATURE_LEVELS:
        """Answer DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT or DML_FEATURE_FEATURE_LEVELS.

        Raises DMLError for another feature or query, and if none of the requested levels is supported. Reference:
        idmldevice-checkfeaturesupport.
        """
        return check_feature_support(feature, query, self.feature_level)

    def create_operator(self, desc: OperatorDesc | DML_OPERATOR_DESC) -> Operator:
        """Create a validated operator. Raises DMLError if the description breaks a rule at this feature level.

        Reference: idmldevice-createoperator.
        """
        desc = unwrap(desc)
        validate(desc, self.feature_level)
        return Operator(self, desc)

    @checked
    def compile_operator(
        self, operator: Operator, flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE
    ) -> CompiledOperator:
        """Compile an operator for this device.

        flags: DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION allows FLOAT16 arithmetic in half precision where the
        device is faster with it; otherwise arithmetic is in float32. DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE lets
        bindings change between recording and execution. DML_EXECUTION_FLAG_DISABLE_META_COMMANDS has no effect: there
        are none. The device's own flags are added. Raises DMLError for other bits, and if the operator exceeds the
        device's limits. References: idmldevice-compileoperator, dml_execution_flags.
        """
        require_device(operator, self, "Device.compile_operator")
        desc = operator.desc
        with stage("plan"):
            program = compile_operator(desc, self._target(flags))
        return CompiledOperator(
            self,
            program,
            short_name(desc.OPERATOR_TYPE),
            desc.inputs(),
            desc.outputs(),
            in_place=supports_in_place(desc.OPERATOR_TYPE),
            binds_late=self._binds_late(flags),
        )

    @checked
    def compile_graph(
        self,
        desc: DML_GRAPH_DESC,
        flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE,
        *,
        optimize: bool = True,
        inputs: Sequence[DML_BUFFER_TENSOR_DESC] | None = None,
        outputs: Sequence[DML_BUFFER_TENSOR_DESC] | None = None,
    ) -> CompiledOperator:
        """Compile a graph of operators to one program. Inputs and outputs are identified by the names of their edges,
        or by index.

        flags: as for ``compile_operator``. optimize: False runs each operator separately, for comparisons. inputs,
        outputs: tensors of other sizes or data types, over the same bytes, in which ``dispatch`` takes and returns
        arrays; by default, those of the first operator that uses each. Raises DMLError if the graph breaks a rule of
        DML_GRAPH_DESC, has operators of another device, or exceeds the device's limits, or if ``inputs`` or ``outputs``
        differ from the graph's in number or bytes. Reference: idmldevice1-compilegraph.
        """
        graph = read_graph(desc, self.feature_level)
        for index, node in enumerate(desc.Nodes):
            node_desc = node.Desc
            if isinstance(node_desc, DML_OPERATOR_GRAPH_NODE_DESC) and node_desc.Operator.get_device() is not self:
                require_device(node_desc.Operator, self, f"DML_GRAPH_DESC.Nodes[{index}].Operator")
        return self._compile_graph(graph, flags, optimize=optimize, inputs=inputs, outputs=outputs)

    def _compile_graph(
        self,
        graph: Graph,
        flags: DML_EXECUTION_FLAGS,
        *,
        optimize: bool,
        inputs: Sequence[DML_BUFFER_TENSOR_DESC] | None,
        outputs: Sequence[DML_BUFFER_TENSOR_DESC] | None,
    ) -> CompiledOperator:
        """Compile a graph of this device's operators; see ``compile_graph``."""
        self.require_open()
        with stage("plan"):
            program = compile_graph(graph, self._target(flags), optimize=optimize)
        return CompiledOperator(
            self,
            program,
            "DML_GRAPH_DESC",
            _seen_as(graph.input_fields, inputs, "inputs"),
            _seen_as(graph.output_fields, outputs, "outputs"),
            is_graph=True,
            binds_late=self._binds_late(flags),
        )

    @checked
    def create_operator_initializer(self, operators: Sequence[CompiledOperator] = ()) -> OperatorInitializer:
        """Create an initializer for these operators; its ``reset`` may change them.

        The page asks that every operator be initialized exactly once before execution. Here that is required if
        PersistentResourceSize is not 0: each persistent resource belongs to the initialization that wrote it. It may be
        initialized again, in the same place or another, to replace the tensors that DML owns. An operator without a
        persistent resource needs no initialization; programs that initialize it as DirectML asks run unchanged. Raises
        DMLError for operators of another device. Reference: idmldevice-createoperatorinitializer.
        """
        return OperatorInitializer(self, operators)

    @checked
    def create_binding_table(self, desc: DML_BINDING_TABLE_DESC | None = None) -> BindingTable:
        """Create a table without bindings; without a description it needs a ``reset`` before use.

        Raises DMLError for a dispatchable of another device, and for fewer descriptors than it needs. Reference:
        idmldevice-createbindingtable.
        """
        return BindingTable(self, desc)

    def create_command_recorder(self) -> CommandRecorder:
        """Create a recorder of dispatches into command lists. Reference: idmldevice-createcommandrecorder."""
        return CommandRecorder(self)

    @checked
    def create_command_list(self, *, timed: bool = False) -> CommandList:
        """Create an empty command list, as Direct3D does for DirectML programs. timed: it can be profiled."""
        return CommandList(self, timed=timed)

    @checked
    def execute_command_lists(self, command_lists: Sequence[CommandList], *, wait: bool = True) -> Fence:
        """Run the lists in order, in one submission if that is short enough for a desktop's watchdog.

        Combines Direct3D's ExecuteCommandLists and Signal. wait: False returns at once. Returns the fence that signals
        their completion. Raises DMLError for a list of another device; if a dispatch needs an initialization that was
        not executed, before anything runs; and if the device is lost.
        """
        self.require_open()
        for given in command_lists:
            require_device(given, self, "Device.execute_command_lists")
        current = [given.current() for given in command_lists]
        follow([use for _, uses in current for use in uses], "Device.execute_command_lists")
        recordings = [recording for recorded, _ in current for recording in recorded]
        return execute(self.context, recordings, wait=wait) or Fence.done(self.context.queue)

    @property
    def has_timestamps(self) -> bool:
        """Whether profiles use the device's timestamps; otherwise the host times each submission."""
        return self.context.has_timestamps

    def create_buffer(self, data: int | npt.ArrayLike) -> Buffer:
        """Create a buffer of that many zero bytes, or with an array's bytes, as Direct3D does for DirectML programs.

        data: an integer of any kind is a size in bytes; an array is data, even without dimensions. Raises DMLError for
        sizes below 1 and other numbers, and (E_OUTOFMEMORY) for more than the device has.
        """
        context = self.context
        if isinstance(data, int | np.integer) and not isinstance(data, bool):
            return context.buffer(_buffer_size(int(data)))
        if isinstance(data, bool | float | complex | np.generic):
            raise DMLError(f"Device.create_buffer: takes a size in bytes or an array, found {data!r}")
        array = as_array(data, "Device.create_buffer")
        buffer = context.buffer(_buffer_size(array.nbytes))
        buffer.write(array)
        return buffer

    def to_device(self, array: npt.ArrayLike) -> DeviceArray:
        """Copy an array to the device; dispatches take the result in its place, any number of times.

        Raises DMLError for a type that DirectML lacks (a bool becomes a UINT8, a bfloat16 a FLOAT32).
        """
        return to_device(self.context, array)

    def get_parent_device(self) -> VulkanDevice:
        """Return the Vulkan device, where DirectML returns the Direct3D device. Reference:
        idmldevice-getparentdevice."""
        return self.vulkan

    @checked
    def set_mute_debug_output(self, mute: bool) -> None:
        """Turn Direct3D's message queue on or off. There is none here: errors raise DMLError either way. Reference:
        idmldebugdevice-setmutedebugoutput."""

    def get_device_removed_reason(self) -> HRESULT:
        """Return S_OK while the device works, else why it was lost."""
        return self.context.removed_reason


def _buffer_size(size: int) -> int:
    if size < 1:
        raise DMLError(f"Device.create_buffer: a buffer has at least 1 byte, found {size}")
    return size


def _seen_as(
    fields: Sequence[GraphField], tensors: Sequence[DML_BUFFER_TENSOR_DESC] | None, kind: str
) -> list[GraphField]:
    """Return the fields with ``tensors`` as their descriptions, which must have as many bytes as the fields' own;
    return the fields unchanged if ``tensors`` is None. kind: "inputs" or "outputs", for an error."""
    if tensors is None:
        return list(fields)
    if len(tensors) != len(fields):
        raise DMLError(
            f"Device.compile_graph: the graph has {len(fields)} {kind}, found descriptions of {len(tensors)}"
        )
    seen: list[GraphField] = []
    for (name, own), tensor in zip(fields, tensors, strict=True):
        if own is not None and own.TotalTensorSizeInBytes != tensor.TotalTensorSizeInBytes:
            raise DMLError(
                f"Device.compile_graph: {name} has {own.TotalTensorSizeInBytes} bytes, its description gives "
                f"{tensor.TotalTensorSizeInBytes}"
            )
        seen.append((name, None if own is None else tensor))
    return seen


@checked
def create_device(
    device: int | str | None = None,
    flags: DML_CREATE_DEVICE_FLAGS = DML_CREATE_DEVICE_FLAGS.DML_CREATE_DEVICE_FLAG_NONE,
    *,
    minimum_feature_level: DML_FEATURE_LEVEL | str = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0,
    feature_level: DML_FEATURE_LEVEL | str = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_4,
    execution_flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE,
) -> Device:
    """Open a Vulkan device.

    device: its index or a part of its name; None takes DML_VULKAN_DEVICE from the environment, else the best: discrete,
    integrated, virtual, then CPU. feature_level: behave as a runtime of that level, also by name, "3_0". flags have no
    effect: validation is always on. execution_flags: added to every compilation, models of front ends included. Raises
    DMLError (DXGI_ERROR_UNSUPPORTED) without Vulkan or such a device, or if ``minimum_feature_level`` is above
    ``feature_level``; (E_INVALIDARG) for an unknown feature level. Reference: dmlcreatedevice1.
    """
    minimum, level = level_of(minimum_feature_level), level_of(feature_level)
    if minimum > level:
        raise DMLError(
            f"create_device: minimum_feature_level {minimum.name} is above the device's {level.name}",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return Device(choose(device), level, execution_flags)


_default: Device | None = None


def _default_device() -> Device:
    """Return the device for calls that name none, opened once."""
    global _default
    if _default is None or _default.is_closed:
        _default = create_device()
    return _default


@checked
def dispatch(
    desc: OperatorDesc | DML_OPERATOR_DESC,
    inputs: Mapping[str, Any],
    device: Device | None = None,
    *,
    keep: Sequence[str | int] = (),
) -> dict[str, Any]:
    """Validate, compile and run a description on NumPy arrays: tensor name -> array, both ways.

    device: None opens the default device once. See ``CompiledOperator.dispatch``; here tensors that DML owns are given
    each time. The most recently dispatched operators are kept with their buffers, up to a number of bytes, until the
    device is closed. Raises DMLError for a description that breaks a rule at the device's feature level, a missing,
    unknown or wrong array, and a closed or lost device.
    """
    device = device or _default_device()
    device.require_open()
    desc = unwrap(desc)
    compiled = device.dispatched.find(desc)
    if compiled is not None:
        return compiled.dispatch_all(inputs, keep)
    compiled = device.compile_operator(device.create_operator(desc))
    results = compiled.dispatch(inputs, keep=keep)
    device.dispatched.keep(desc, compiled)
    return results
