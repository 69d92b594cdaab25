"""MLContext and MLTensor: the device for which graphs are built, and the buffers on which they are dispatched."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device, create_device, list_devices
from dml.arguments import checked
from dml.compiler.target import DeviceClass
from dml.errors import HRESULT, DMLError
from dml.frontends.webnn.data import from_bytes, matching_array, to_bytes
from dml.frontends.webnn.graph import MLGraph
from dml.frontends.webnn.limits import MLTensorLimits, any_operand, limits_at
from dml.frontends.webnn.operands import LARGEST_TENSOR, MLOperandDescriptor, MLTensorDescriptor, require_valid
from dml.frontends.webnn.steps import NamedInSnakeCase
from dml.runtime.buffer import Buffer

POWER_PREFERENCES = ("default", "high-performance", "low-power")


@dataclass(frozen=True)
class MLContextLostInfo:
    """The reason why a context is lost."""

    message: str


class MLTensor:
    """A tensor in the device's memory. ``MLContext.create_tensor`` creates it."""

    def __init__(self, context: MLContext, descriptor: MLTensorDescriptor, *, is_constant: bool = False) -> None:
        self.context = context
        self.descriptor = descriptor
        self.is_constant = is_constant
        # buffers are bound in whole words
        self._buffer: Buffer | None = context.device.create_buffer(-(-descriptor.byte_length // 4) * 4)

    @property
    def data_type(self) -> str:
        return self.descriptor.data_type

    @property
    def shape(self) -> tuple[int, ...]:
        return self.descriptor.shape

    @property
    def readable(self) -> bool:
        return self.descriptor.readable

    @property
    def writable(self) -> bool:
        return self.descriptor.writable

    @property
    def is_destroyed(self) -> bool:
        return self._buffer is None

    def buffer(self, where: str) -> Buffer:
        """Return the buffer. Raises DMLError (DXGI_ERROR_INVALID_CALL) if the tensor is destroyed."""
        if self._buffer is None:
            raise DMLError(f"{where}: the tensor is destroyed", HRESULT.DXGI_ERROR_INVALID_CALL)
        return self._buffer

    def destroy(self) -> None:
        """Free the memory; dispatches that use it still finish. A second call does nothing."""
        if self._buffer is not None:
            self.context.forget(self._buffer)
            self._buffer = None

    def __repr__(self) -> str:
        return f"MLTensor({self.data_type}, {self.shape}{', destroyed' if self.is_destroyed else ''})"


class MLContext(NamedInSnakeCase):
    """A device for which graphs are built and on which they run. ``create_context`` creates it."""

    def __init__(self, device: Device, power_preference: str = "default", *, owns_device: bool = False) -> None:
        self.device = device
        self.power_preference = power_preference
        self._owns_device = owns_device
        self._lost: MLContextLostInfo | None = None
        self._graphs: weakref.WeakSet[MLGraph] = weakref.WeakSet()
        self._tensors: weakref.WeakSet[MLTensor] = weakref.WeakSet()

    @property
    def accelerated(self) -> bool:
        """Whether a GPU computes; False for a software driver."""
        return not self.device.vulkan.target.is_cpu

    @property
    def lost(self) -> MLContextLostInfo | None:
        """The reason why the context is lost; None while it works."""
        return self._lost

    @property
    def is_lost(self) -> bool:
        return self._lost is not None

    def limits(self, operation: str) -> dict[str, MLTensorLimits]:
        """Return the limits of one operation's operands. Raises DMLError for an unknown operation."""
        limits = limits_at(self.device.feature_level).get(operation)
        if limits is None:
            raise DMLError(f"MLContext.limits: there is no operation {operation!r}")
        return limits

    def op_support_limits(self) -> dict[str, Any]:
        """Return the device's limits: MLOpSupportLimits with names in snake_case.

        "input", "constant" and "output" are MLTensorLimits. Each operation's name gives those of its operands:
        ``op_support_limits()["conv2d"]["filter"].data_types``.
        """
        general = any_operand(self.device.feature_level)
        return {
            "preferred_input_layout": "nchw",
            "max_tensor_byte_length": LARGEST_TENSOR,
            "input": general,
            "constant": general,
            "output": general,
            **{name: dict(operands) for name, operands in limits_at(self.device.feature_level).items()},
        }

    @checked
    def create_tensor(self, descriptor: MLTensorDescriptor) -> MLTensor:
        """Return a tensor of zeros. Raises DMLError for an invalid descriptor, and if the context is lost."""
        self._require("create_tensor")
        require_valid(descriptor, "MLContext.create_tensor")
        return self._adopt(MLTensor(self, descriptor))

    @checked
    def create_constant_tensor(self, descriptor: MLOperandDescriptor, data: npt.ArrayLike | bytes) -> MLTensor:
        """Return a tensor for ``MLGraphBuilder.constant``; it never changes. data: as for ``write_tensor``."""
        self._require("create_constant_tensor")
        require_valid(descriptor, "MLContext.create_constant_tensor")
        array = matching_array(descriptor, data, "MLContext.create_constant_tensor")
        tensor = self._adopt(
            MLTensor(self, MLTensorDescriptor(descriptor.data_type, descriptor.shape), is_constant=True)
        )
        tensor.buffer("MLContext.create_constant_tensor").write(to_bytes(array))
        return tensor

    @checked
    def write_tensor(self, tensor: MLTensor, data: npt.ArrayLike | bytes) -> None:
        """Replace a tensor's elements.

        data: an array of its data type, or exactly its bytes (as bytes or UINT8). Raises DMLError for other data, for
        tensors that are not writable or belong to another context, and (DXGI_ERROR_INVALID_CALL) for destroyed ones.
        """
        buffer = self._own(tensor, "write_tensor")
        if not tensor.writable:
            raise DMLError("MLContext.write_tensor: the tensor is not writable")
        buffer.write(to_bytes(matching_array(tensor.descriptor, data, "MLContext.write_tensor")))

    @checked
    def read_tensor(self, tensor: MLTensor) -> npt.NDArray[Any]:
        """Return a copy of a tensor's elements, after all dispatches so far, as an array of its shape.

        Raises DMLError for tensors that are not readable or belong to another context, and (DXGI_ERROR_INVALID_CALL)
        for destroyed ones.
        """
        buffer = self._own(tensor, "read_tensor")
        if not tensor.readable:
            raise DMLError("MLContext.read_tensor: the tensor is not readable")
        return from_bytes(tensor.descriptor, buffer.read(np.uint8, tensor.descriptor.byte_length))

    @checked
    def dispatch(self, graph: MLGraph, inputs: Mapping[str, MLTensor], outputs: Mapping[str, MLTensor]) -> None:
        """Compute the graph's outputs from its inputs, without waiting; ``read_tensor`` waits.

        inputs, outputs: a tensor for each of the graph's names, with the same data type and shape. Raises DMLError if
        one is missing, unknown, repeated, of another context or of another type or shape, and (DXGI_ERROR_INVALID_CALL)
        for a destroyed graph or tensor.
        """
        where = "MLContext.dispatch"
        if graph.is_destroyed:
            raise DMLError(f"{where}: the graph is destroyed", HRESULT.DXGI_ERROR_INVALID_CALL)
        if graph not in self._graphs:
            raise DMLError(f"{where}: the graph belongs to another context")
        given = [*inputs.values(), *outputs.values()]
        if len({id(tensor) for tensor in given}) != len(given):
            raise DMLError(f"{where}: a tensor is given more than once")
        for tensor in given:
            if tensor.context is not self:
                raise DMLError(f"{where}: {tensor!r} belongs to another context")
        graph.run(
            _in_order(inputs, graph.inputs, f"{where}: inputs"), _in_order(outputs, graph.outputs, f"{where}: outputs")
        )

    def destroy(self) -> None:
        """Destroy the context's graphs and tensors; nothing can be created afterwards. A second call does nothing."""
        if self._lost is not None:
            return
        self._lost = MLContextLostInfo("destroy() was called")
        for graph in list(self._graphs):
            graph.destroy()
        for tensor in list(self._tensors):
            tensor.destroy()
        if self._owns_device:
            self.device.close()

    def adopt(self, graph: MLGraph) -> MLGraph:
        """Register a graph with this context."""
        self._graphs.add(graph)
        return graph

    def forget(self, buffer: Buffer) -> None:
        """Tell the graphs that a buffer is destroyed."""
        for graph in list(self._graphs):
            graph.forget(buffer)

    def _adopt(self, tensor: MLTensor) -> MLTensor:
        self._tensors.add(tensor)
        return tensor

    def _require(self, what: str) -> None:
        if self._lost is not None:
            raise DMLError(f"MLContext.{what}: the context is lost", HRESULT.DXGI_ERROR_INVALID_CALL)

    def _own(self, tensor: MLTensor, what: str) -> Buffer:
        if tensor.context is not self:
            raise DMLError(f"MLContext.{what}: the tensor belongs to another context")
        return tensor.buffer(f"MLContext.{what}")


def _in_order(given: Mapping[str, MLTensor], wanted: Mapping[str, MLOperandDescriptor], where: str) -> list[Buffer]:
    """Return the buffers in the order of the descriptors."""
    if set(given) != set(wanted):
        raise DMLError(f"{where}: needs {sorted(wanted)}, found {sorted(given)}")
    buffers = []
    for name, descriptor in wanted.items():
        tensor = given[name]
        if tensor.is_constant:
            raise DMLError(f"{where}: {name!r} must not be a constant tensor")
        if (tensor.data_type, tensor.shape) != (descriptor.data_type, descriptor.shape):
            raise DMLError(f"{where}: {name!r} is {descriptor.data_type} {descriptor.shape}, found {tensor!r}")
        buffers.append(tensor.buffer(f"{where}: {name!r}"))
    return buffers


@checked
def create_context(
    device: Device | int | str | None = None, *, power_preference: str = "default", accelerated: bool = True
) -> MLContext:
    """Return a context on a Vulkan device.

    device: a Device, which stays open when the context is destroyed, or an argument of ``dml.create_device``.
    power_preference, accelerated: hints, used if neither ``device`` nor DML_VULKAN_DEVICE names a device: "low-power"
    prefers an integrated GPU to a discrete one, and accelerated=False prefers a CPU's driver.

    Raises DMLError for a preference other than "default", "high-performance" and "low-power", and if there is no such
    device.
    """
    if power_preference not in POWER_PREFERENCES:
        known = ", ".join(POWER_PREFERENCES)
        raise DMLError(f"create_context: power_preference must be one of {known}, found {power_preference!r}")
    if isinstance(device, Device):
        return MLContext(device, power_preference)
    if device is None and not os.environ.get("DML_VULKAN_DEVICE"):
        low = DeviceClass.INTEGRATED if power_preference == "low-power" else None
        wanted = low if accelerated else DeviceClass.CPU
        device = next((item.index for item in list_devices() if item.device_class is wanted), None)
    return MLContext(create_device(device), power_preference, owns_device=True)
