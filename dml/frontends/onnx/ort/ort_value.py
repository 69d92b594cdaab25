"""onnxruntime's OrtValue and IOBinding: values that a program binds, on the host or on the device."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import numpy.typing as npt
from onnx import helper

from dml.api.device import Device
from dml.api.device_array import DeviceArray
from dml.arguments import as_array
from dml.errors import HRESULT, DMLError

from ..dtypes import Array, DType, dtype_of
from ..run.host_part import on_host
from .described import array_type_name
from .missing_names import missing_method

if TYPE_CHECKING:
    from .session import InferenceSession

#: onnxruntime's names for memory of the host, of this device, and of devices that other providers use.
_HOST, _DEVICE = ("cpu",), ("dml", "gpu", "vulkan")
_OTHERS = ("cann", "cuda", "npu", "rocm", "webgpu")


def _is_device(device_type: str, where: str) -> bool:
    name = str(device_type).lower()
    if name not in (*_HOST, *_DEVICE):
        hint = "; this device is dml, whatever its vendor" if name in _OTHERS else ""
        raise DMLError(f"{where}: device_type is one of {', '.join((*_HOST, *_DEVICE))}, found {device_type!r}{hint}")
    return name in _DEVICE


class OrtValue:
    """A value, on the host or on a session's device. The functions named ``ortvalue_from_...`` create it.

    A value for the device is uploaded when a session first uses it, and stays there.
    """

    def __init__(self, value: Any, *, on_device: bool = False) -> None:
        self._value = value
        self._on_device = on_device or isinstance(value, DeviceArray)

    @staticmethod
    def ortvalue_from_numpy(array: npt.ArrayLike, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """Return the array itself for the host, a copy for the device."""
        given, on_device = as_array(array, "OrtValue"), _is_device(device_type, "OrtValue")
        return OrtValue(given.copy() if on_device else given, on_device=on_device)

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0
    ) -> OrtValue:
        """Return zeros. element_type: a NumPy dtype or an ONNX data type."""
        dtype = _dtype(element_type)
        try:
            array = np.zeros(tuple(shape), dtype)
        except (TypeError, ValueError, MemoryError) as error:
            raise DMLError(f"OrtValue: cannot create an array of shape {shape!r} and type {dtype}: {error}") from None
        return OrtValue(array, on_device=_is_device(device_type, "OrtValue"))

    @staticmethod
    def from_dlpack(data: Any, is_bool_tensor: bool = False) -> OrtValue:
        """Import another library's array, without a copy if it is in host memory."""
        if isinstance(data, DeviceArray):
            return OrtValue(data)
        array = np.from_dlpack(data)
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: npt.ArrayLike, onnx_element_type: int) -> OrtValue:
        """View an array's bytes as another type of the same width, for types that NumPy lacks: bfloat16, float8."""
        array, dtype = as_array(data, "OrtValue"), dtype_of(onnx_element_type)
        if array.dtype.itemsize != dtype.itemsize:
            raise DMLError(f"OrtValue: {dtype} has {dtype.itemsize} bytes, found {array.dtype}")
        return OrtValue(array.view(dtype))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def __repr__(self) -> str:
        about = f"{self.data_type()} {self.shape()}" if self.is_tensor() else self.data_type()
        return f"<OrtValue: {about}, {self.device_name()}>"

    def __dlpack__(self, **options: Any) -> Any:
        return self._value.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        found: tuple[int, int] = self._value.__dlpack_device__()
        return found

    def on(self, device: Device) -> Any:
        """Return the value in the form that a model on that device takes."""
        if self._on_device and isinstance(self._value, np.ndarray):
            self._value = device.to_device(self._value)
        return self._value

    def numpy(self) -> Any:
        """Return the array itself, or a copy on the host if it is on the device."""
        return on_host(self._value)

    def update_inplace(self, array: npt.ArrayLike) -> None:
        """Copy an array's elements into the value. Raises DMLError for another shape or type."""
        given = as_array(array, "OrtValue.update_inplace")
        self._check("OrtValue.update_inplace", given)
        if self._on_device:
            self._value = given.copy()
        else:
            self._value[...] = given

    def become(self, value: Any) -> None:
        """Replace the value by the output that it is bound to."""
        if isinstance(value, np.ndarray | DeviceArray):
            self._check("an output's OrtValue", value)
        if self._on_device:
            self._value = value
        elif isinstance(value, np.ndarray):
            self._value[...] = value
        else:
            self._value = on_host(value)

    def _check(self, where: str, given: Array | DeviceArray) -> None:
        own = self._value
        if (own.shape, own.dtype) != (given.shape, given.dtype):
            raise DMLError(f"{where}: has {own.dtype} of shape {own.shape}, found {given.dtype} of shape {given.shape}")

    @property
    def is_on_device(self) -> bool:
        return self._on_device

    def shape(self) -> list[int]:
        return list(self._value.shape)

    def data_type(self) -> str:
        """onnxruntime's name of the type: tensor(float)."""
        if not self.is_tensor():
            return "seq()" if not self._value else f"seq({array_type_name(self._value[0].dtype)})"
        return array_type_name(self._value.dtype)

    @property
    def device_array(self) -> DeviceArray | None:
        """Return the array on the device; None if it is not there yet."""
        return self._value if isinstance(self._value, DeviceArray) else None

    def device_name(self) -> str:
        return "dml" if self._on_device else "cpu"

    def tensor_size_in_bytes(self) -> int:
        return int(self._value.nbytes)

    def has_value(self) -> bool:
        return self._value is not None

    def is_tensor(self) -> bool:
        return isinstance(self._value, np.ndarray | DeviceArray)

    def is_sparse_tensor(self) -> bool:
        return False

    def element_type(self) -> int:
        """Return the ONNX data type of a tensor's elements."""
        if not self.is_tensor():
            raise DMLError("OrtValue.element_type: only tensors have one")
        return int(helper.np_dtype_to_tensor_dtype(self._value.dtype))

    def is_tensor_sequence(self) -> bool:
        return isinstance(self._value, list)

    def data_ptr(self) -> int:
        """Return the address of the elements. Raises DMLError if they are not in host memory."""
        if self._on_device or not self.is_tensor():
            raise DMLError(
                "OrtValue.data_ptr: only arrays on the host have an address; bind_ortvalue_input and "
                "bind_ortvalue_output of an IOBinding take the OrtValue itself",
                HRESULT.E_NOTIMPL,
            )
        return int(self._value.ctypes.data)


def _dtype(element_type: Any) -> DType:
    """Return the dtype of an ONNX data type, or of a type that NumPy accepts. Raises DMLError for anything else."""
    if isinstance(element_type, int):
        return dtype_of(element_type)
    try:
        found: DType = np.dtype(element_type)
    except (TypeError, ValueError):
        raise DMLError(f"element_type: takes a NumPy dtype or an ONNX data type, found {element_type!r}") from None
    return found


def _at(address: int, element_type: Any, shape: Sequence[int]) -> Array:
    """Return the array at a host address."""
    dtype = _dtype(element_type)
    if dtype.hasobject or min(shape, default=0) < 0:
        raise DMLError(f"IOBinding: cannot create an array of shape {tuple(shape)} and type {dtype}")
    memory = (ctypes.c_char * (prod(shape) * dtype.itemsize)).from_address(address)
    return np.frombuffer(memoryview(memory), dtype).reshape(tuple(shape))


class IOBinding:
    """Inputs and outputs of a session, bound by name for ``run_with_iobinding``. ``session.io_binding()`` creates
    it."""

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        #: Name -> value to write to; True for a new array on the device, False for one on the host.
        self._outputs: dict[str, OrtValue | bool] = {}
        self._results: list[OrtValue] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_method(self, name)

    def __repr__(self) -> str:
        return f"<IOBinding: inputs {', '.join(self._inputs) or 'none'}; outputs {', '.join(self._outputs) or 'none'}>"

    def bind_cpu_input(self, name: str, arr_on_cpu: npt.ArrayLike) -> None:
        self.bind_ortvalue_input(name, OrtValue(as_array(arr_on_cpu, f"IOBinding: input {name!r}")))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input. Raises DMLError for an unknown name."""
        self._session.check_input(name)
        self._inputs[name] = ortvalue

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Bind host memory. Raises DMLError for device memory: bind an OrtValue or a DeviceArray instead."""
        _no_address(device_type, f"IOBinding.bind_input: {name!r}")
        self.bind_ortvalue_input(name, OrtValue(_at(buffer_ptr, element_type, shape)))

    def bind_output(
        self, name: str, device_type: str = "cpu", device_id: int = 0, element_type: Any = None,
        shape: Sequence[int] | None = None, buffer_ptr: int | None = None,
    ) -> None:  # fmt: skip
        """Bind a new array, on the host or on the device; or host memory at an address."""
        self._session.check_output(name)
        if buffer_ptr is None:
            self._outputs[name] = _is_device(device_type, f"IOBinding.bind_output: {name!r}")
            return
        _no_address(device_type, f"IOBinding.bind_output: {name!r}")
        if element_type is None or shape is None:
            raise DMLError(f"IOBinding.bind_output: {name!r}: memory needs element_type and shape")
        self._outputs[name] = OrtValue(_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._session.check_output(name)
        self._outputs[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Do nothing: runs wait for uploads."""

    def synchronize_outputs(self) -> None:
        """Do nothing: runs are complete when they return."""

    def get_outputs(self) -> list[OrtValue]:
        """Return the last run's outputs, in binding order."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [result.numpy() for result in self._results]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()

    # Used by InferenceSession

    @property
    def feeds(self) -> Mapping[str, OrtValue]:
        return self._inputs

    @property
    def wanted(self) -> dict[str, bool]:
        """Return the bound outputs, and whether each stays on the device."""
        return {
            name: bound.is_on_device if isinstance(bound, OrtValue) else bound for name, bound in self._outputs.items()
        }

    @property
    def bound_outputs(self) -> dict[str, OrtValue]:
        """Return the values that outputs are bound to."""
        return {name: bound for name, bound in self._outputs.items() if isinstance(bound, OrtValue)}

    def take(self, outputs: Mapping[str, Any]) -> None:
        """Store the outputs of a run in the bound values."""
        self._results = []
        for name, bound in self._outputs.items():
            if isinstance(bound, OrtValue):
                bound.become(outputs[name])
                self._results.append(bound)
            else:
                self._results.append(OrtValue(outputs[name]))


def _no_address(device_type: str, where: str) -> None:
    if _is_device(device_type, where):
        raise DMLError(f"{where}: memory of the device has no address; bind an OrtValue", HRESULT.E_NOTIMPL)
