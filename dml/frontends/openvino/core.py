"""OpenVINO's Core: models are read and compiled for Vulkan devices, which it calls GPU.0, GPU.1 and so on."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dml import __version__ as own_version
from dml.api.device import Device, _default_device, create_device
from dml.arguments import checked
from dml.errors import HRESULT, DMLError
from dml.runtime.devices import list_devices

from .compiled_model import CompiledModel
from .convert import is_mapped
from .device_properties import DeviceProperties, device_properties
from .host_tensor import Tensor
from .ir import ENDS
from .model import Model, read_model
from .refused import API_VERSION, with_refused_names


class DeviceVersion(NamedTuple):
    """A device's entry in ``Core.get_versions``."""

    description: str
    build_number: str
    major: int
    minor: int
    patch: int


@with_refused_names
class Core:
    """Reads models and compiles them for devices.

    Devices: "GPU" and "AUTO" are the default of ``dml.create_device()``; "GPU.1" is the second device that Vulkan
    lists.
    """

    @checked
    def __init__(self, xml_config_file: str | Path | None = None) -> None:
        if xml_config_file:
            raise DMLError("Core: OpenVINO's plugin configuration files are not supported", HRESULT.E_NOTIMPL)
        self._properties = DeviceProperties()

    @property
    def available_devices(self) -> list[str]:
        """The Vulkan devices: GPU, or GPU.0, GPU.1 and so on if there are several."""
        count = len(list_devices())
        return ["GPU"] if count == 1 else [f"GPU.{index}" for index in range(count)]

    def get_available_devices(self) -> list[str]:
        return self.available_devices

    @checked
    def read_model(self, model: Any, weights: Any = None, config: Mapping[Any, Any] | None = None) -> Model:
        """Read an .xml file, or the bytes of one, with the .bin next to it or with ``weights``, a path or bytes.

        Raises DMLError for other formats and for files that are not such a model.
        """
        DeviceProperties(config)
        if isinstance(weights, Tensor):
            weights = weights.data.tobytes()
        model, weights = (item.getvalue() if isinstance(item, io.BytesIO) else item for item in (model, weights))
        if isinstance(model, str) and model.lstrip().startswith("<"):
            model = model.encode()
        if not isinstance(model, bytes):
            suffix = Path(model).suffix.lower() if isinstance(model, str | Path) else type(model).__name__
            if suffix == ".onnx":
                raise DMLError(
                    f"{model}: dml.frontends.onnx runs ONNX models; Core reads .xml, which openvino.convert_model and "
                    "save_model make",
                    HRESULT.E_NOTIMPL,
                )
            if suffix != ".xml":
                raise DMLError(f"Core.read_model: takes an .xml file or its bytes, found {suffix or model!r}")
        return read_model(model, weights or None)

    @checked
    def compile_model(
        self, model: Any, device_name: Any = None, config: Mapping[Any, Any] | None = None, *, weights: Any = None
    ) -> CompiledModel:
        """Compile a model, or anything that ``read_model`` takes, for a device.

        config: properties, their names as text. INFERENCE_PRECISION_HINT "f16" allows half precision; others have no
        effect. Raises DMLError that lists every layer that cannot be mapped, and for an unknown device or property.
        """
        if isinstance(device_name, Mapping):  # compile_model(model, config)
            device_name, config = None, device_name
        properties = self._properties.with_more(config)
        properties.device = device = _opened(_text(device_name), properties)
        read = model if isinstance(model, Model) else self.read_model(model, weights)
        return CompiledModel(read, device, properties)

    @checked
    def query_model(
        self, model: Model, device_name: Any = "GPU", properties: Mapping[Any, Any] | None = None
    ) -> dict[str, str]:
        """Return the layers that have a mapping to operators: layer name -> device name."""
        _index(_text(device_name), DeviceProperties(properties))
        layers = model.network.layers
        return {layer.name: _text(device_name) for layer in layers if layer.type in ENDS or is_mapped(layer.type)}

    @checked
    def get_property(self, device_name: Any, property: Any = None) -> Any:
        """Return a property of a device, or of the Core if called with one argument. Raises DMLError if unknown."""
        if property is None:
            return self.available_devices if str(device_name) == "AVAILABLE_DEVICES" else self._properties.get(
                str(device_name)
            )  # fmt: skip
        properties = self._properties.with_more(None)
        properties.device = _opened(_text(device_name), properties)
        return self.available_devices if str(property) == "AVAILABLE_DEVICES" else properties.get(str(property))

    @checked
    def set_property(self, device_name: Any, properties: Mapping[Any, Any] | None = None) -> None:
        """Set properties for later compilations: set_property({...}), or set_property("GPU", {...})."""
        if properties is None:
            if not isinstance(device_name, Mapping):
                raise DMLError("Core.set_property: takes a mapping of properties")
            properties = device_name
        else:
            _index(_text(device_name), self._properties)
        self._properties = self._properties.with_more(properties)

    @checked
    def get_versions(self, device_name: Any) -> dict[str, DeviceVersion]:
        device = _opened(_text(device_name), self._properties)
        properties = device_properties(device)
        major, minor, patch = device.vulkan.api_version
        version = DeviceVersion(properties["FULL_DEVICE_NAME"], f"directml-vulkan {own_version}", major, minor, patch)
        return {_text(device_name): version}


@checked
def compile_model(model: Any, device_name: Any = "AUTO", config: Mapping[Any, Any] | None = None) -> CompiledModel:
    """Compile a model, or anything that ``Core.read_model`` takes, for a device; see ``Core.compile_model``."""
    return Core().compile_model(model, device_name, config)


def get_version() -> str:
    """Return the version of openvino whose names this package offers."""
    return API_VERSION


def shutdown() -> None:
    """Do nothing: a device is closed when nothing refers to it."""


def _text(device_name: Any) -> str:
    return "AUTO" if device_name is None else str(device_name)


def _index(name: str, properties: DeviceProperties) -> int | None:
    """Return a device's index from OpenVINO's name; None means the default device."""
    kind, _, rest = name.partition(":")
    if kind == "AUTO":
        first = next((item.strip() for item in rest.split(",") if item.strip().startswith("GPU")), "GPU")
        return _index(first, properties)
    kind, dot, number = name.partition(".")
    if kind != "GPU" or (dot and not number.isdecimal()):
        raise DMLError(
            f"device {name!r}: models run on Vulkan devices, by the names GPU, GPU.1 and AUTO; import openvino itself "
            "for its CPU and NPU plugins",
            HRESULT.E_NOTIMPL,
        )
    number = number or properties.device_id or ""
    return int(number) if number.isdecimal() else None


def _opened(name: str, properties: DeviceProperties) -> Device:
    index, flags = _index(name, properties), properties.execution_flags
    if index is None and not flags:
        return _default_device()
    return create_device(index, execution_flags=flags)
