"""PyDirectML's device, graph builder, bindings and tensor data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device as VulkanDevice
from dml.api.device import create_device
from dml.api.operator import CompiledOperator
from dml.arguments import as_array, checked
from dml.compiler.target import DeviceClass
from dml.enums import DML_EXECUTION_FLAGS, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.frontends.pydirectml.expressions import Expression
from dml.frontends.pydirectml.tensors import TensorDesc
from dml.graph.builder import Builder, Tensor
from dml.runtime.advice import no_vulkan
from dml.runtime.devices import DEVICE_VARIABLE, list_devices
from dml.tensors import DML_BUFFER_TENSOR_DESC, element_bits

Words = npt.NDArray[np.uint32]


class TensorData(np.ndarray[Any, np.dtype[Any]]):
    """A tensor's elements: a float32 array, as PyDirectML has no other."""

    def __new__(cls, data: npt.ArrayLike) -> TensorData:
        return as_array(data, "pydirectml.TensorData").astype(np.float32, order="C").view(cls)


class Binding:
    """Data for an input: a copy of the array, converted to float32 unless it has the tensor's data type.

    The array's shape may differ from the tensor's. Raises DMLError if it has fewer bytes than the tensor.
    """

    @checked
    def __init__(self, expr: Expression, data: npt.ArrayLike) -> None:
        self.desc = expr.get_output_desc()
        desc = self.desc.desc
        array = as_array(data, "pydirectml.Binding")
        if array.dtype != desc.dtype:
            array = array.astype(np.float32)
        size = desc.TotalTensorSizeInBytes
        # Sizes in bytes are multiples of 4, so the last word may contain padding
        raw = np.ascontiguousarray(array).tobytes()
        if -(-len(raw) // 4) * 4 < size:
            raise DMLError(
                f"pydirectml.Binding: the tensor of sizes {desc.Sizes} takes {size} bytes, "
                f"an array of shape {array.shape} and type {array.dtype} has {len(raw)}"
            )
        self.words: Words = np.frombuffer(raw[:size].ljust(size, b"\0"), np.uint32)


class Model:
    """A compiled graph. ``GraphBuilder.build`` creates it."""

    def __init__(self, op: CompiledOperator, places: dict[int, int]) -> None:
        self.op = op
        #: Input number in the script -> index in the graph.
        self.places = places
        #: The most recent bindings of inputs that DML owns.
        self.owned: dict[int, Binding] = {}


class GraphBuilder:
    """Collects the graph of the operator functions' calls; begin with ``input_tensor``."""

    @checked
    def __init__(self, device: Device) -> None:
        self.builder = Builder(device.vulkan)
        self._descs: list[DML_BUFFER_TENSOR_DESC] = []
        self._places: dict[int, int] = {}

    @checked
    def add_input(self, index: int, desc: TensorDesc) -> Expression:
        if index in self._places:
            raise DMLError(f"pydirectml.input_tensor: the graph already has an input {index}")
        own = desc.desc
        tensor = self.builder.input(str(index), own.Sizes, own.DataType, own.Strides)
        self._places[index] = len(self._descs)
        self._descs.append(_words(own))
        return Expression(Tensor(self.builder, tensor.source, own))

    @checked
    def build(self, flags: Any, outputs: Sequence[Expression]) -> Model:
        """Compile the graph that the outputs need. flags: ExecutionFlags, as for ``compile_graph``."""
        tensors = [output.written for output in outputs]
        for tensor in tensors:
            if tensor.source[0] == "input":
                raise DMLError("GraphBuilder.build: an output must not be an input of the graph; add an identity")
        seen = self._descs, [_words(tensor.desc) for tensor in tensors]
        compiled = self.builder.compile(tensors, DML_EXECUTION_FLAGS(int(flags)), seen=seen)
        return Model(compiled, dict(self._places))


class Device:
    """A device. use_gpu: the best GPU; else a CPU's driver, like PyDirectML's WARP. use_debug_layer has no effect.

    The environment variable DML_VULKAN_DEVICE overrides this choice.
    """

    def __init__(self, use_gpu: bool = True, use_debug_layer: bool = False) -> None:
        wanted = None
        if not use_gpu and not os.environ.get(DEVICE_VARIABLE):
            wanted = next((d.index for d in list_devices() if d.device_class is DeviceClass.CPU), None)
            if wanted is None:
                raise no_vulkan("pydirectml.Device(use_gpu=False): no driver runs Vulkan on the CPU")
        self.vulkan: VulkanDevice = create_device(wanted)
        self._use_gpu = bool(use_gpu)

    def __repr__(self) -> str:
        return f"dml.Device on {'GPU' if self._use_gpu else 'CPU'}"

    @checked
    def compute(
        self, model: Model, inputs: Sequence[Binding | None], outputs: Sequence[Expression | None]
    ) -> list[TensorData]:
        """Run a model. inputs: bindings in the order of the inputs' numbers. outputs: the expressions it was built
        for.

        The results have the expressions' sizes and float32 elements; other 32-bit types are returned bit for bit. A
        tensor owned by DML is uploaded again only when it has a new Binding.
        """
        count = len(model.op.output_fields)
        if len(outputs) != count:
            raise DMLError(f"Device.compute: the model has {count} outputs, found {len(outputs)}")
        given: dict[int, Words] = {}
        for index, binding in enumerate(inputs):
            place = model.places.get(index)
            if place is None:
                raise DMLError(f"Device.compute: the model has no input {index}")
            slot = model.op.input_slots[place]
            if binding is None or slot.tensor is None or model.owned.get(place) is binding:
                continue
            if len(binding.words) * 4 != slot.tensor.TotalTensorSizeInBytes:
                raise DMLError(
                    f"Device.compute: input {index} takes {slot.tensor.TotalTensorSizeInBytes} bytes, "
                    f"its binding has {len(binding.words) * 4}"
                )
            given[place] = binding.words
        results = model.op.dispatch(given)
        for index, binding in enumerate(inputs):
            place = model.places[index]
            if binding is not None and place in model.op.program.owned:
                model.owned[place] = binding
        words = [results[name] for name, _ in model.op.output_fields]
        return [_data(array, out.tensor.desc) for array, out in zip(words, outputs, strict=True) if out is not None]


@checked
def input_tensor(scope: GraphBuilder, input_index: int, tensor_desc: TensorDesc) -> Expression:
    """Add the graph's input with this number."""
    return scope.add_input(input_index, tensor_desc)


def _words(desc: DML_BUFFER_TENSOR_DESC) -> DML_BUFFER_TENSOR_DESC:
    """Return a description of the tensor's bytes as UINT32."""
    return DML_BUFFER_TENSOR_DESC(
        DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UINT32, (desc.TotalTensorSizeInBytes // 4,), Flags=desc.Flags
    )


def _data(words: Words, desc: DML_BUFFER_TENSOR_DESC) -> TensorData:
    """Return the bytes as the tensor that the script expects."""
    dtype = desc.dtype if element_bits(desc.DataType) != 32 else np.dtype(np.float32)
    steps = tuple(stride * dtype.itemsize for stride in desc.strides)
    array = np.lib.stride_tricks.as_strided(words.view(dtype), desc.Sizes, steps)
    return array.copy().view(TensorData)
