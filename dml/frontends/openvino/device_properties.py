"""OpenVINO's properties, named by text: those of devices, and those that a configuration may set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.api.device import Device
from dml.compiler.target import DeviceClass
from dml.enums import DML_EXECUTION_FLAGS
from dml.enums.naming import did_you_mean
from dml.errors import DMLError

#: Properties that are accepted without effect: the device manages its own threads, streams and kernel cache.
_ACCEPTED = (
    "ALLOW_AUTO_BATCHING", "AUTO_BATCH_TIMEOUT", "CACHE_DIR", "CACHE_MODE", "COMPILATION_NUM_THREADS",
    "DEVICE_PRIORITIES", "DYNAMIC_QUANTIZATION_GROUP_SIZE", "ENABLE_CPU_PINNING", "ENABLE_HYPER_THREADING",
    "ENABLE_MMAP", "EXECUTION_MODE_HINT", "INFERENCE_NUM_THREADS", "KV_CACHE_PRECISION", "LOG_LEVEL",
    "MODEL_PRIORITY", "MODEL_PTR", "NUM_STREAMS", "PERFORMANCE_HINT", "PERFORMANCE_HINT_NUM_REQUESTS", "PERF_COUNT",
    "SCHEDULING_CORE_TYPE", "WEIGHTS_PATH", "WORKLOAD_TYPE",
)  # fmt: skip
_PRECISION = "INFERENCE_PRECISION_HINT"
_HALF = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION


class DeviceProperties:
    """The properties of a device and of a configuration for it.

    Raises DMLError for an unknown property, and for a precision other than f32 and f16.
    """

    def __init__(self, config: Mapping[Any, Any] | None = None) -> None:
        self._config = {str(name): value for name, value in (config or {}).items()}
        self.device: Device | None = None
        for name in self._config:
            if name not in (*_ACCEPTED, _PRECISION, "DEVICE_ID"):
                raise DMLError(f"property {name!r} is not known{did_you_mean(name, _ACCEPTED)}")
        self._precision = _word(self._config.get(_PRECISION, "f32"))
        if self._precision not in ("f32", "f16", "dynamic"):
            raise DMLError(f"{_PRECISION}: takes f32 or f16, found {self._config[_PRECISION]!r}")

    def with_more(self, config: Mapping[Any, Any] | None) -> DeviceProperties:
        return DeviceProperties({**self._config, **{str(name): value for name, value in (config or {}).items()}})

    @property
    def device_id(self) -> str | None:
        found = self._config.get("DEVICE_ID")
        return None if found is None else str(found)

    @property
    def execution_flags(self) -> DML_EXECUTION_FLAGS:
        """Execution flags: f16 allows FLOAT16 tensors to be computed in half precision."""
        return _HALF if self._precision == "f16" else DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE

    def get(self, name: str) -> Any:
        """Return a property. Raises DMLError for an unknown one."""
        properties = {} if self.device is None else device_properties(self.device)
        if name == "SUPPORTED_PROPERTIES":
            return dict.fromkeys(properties, "RO") | dict.fromkeys((*_ACCEPTED, _PRECISION, "DEVICE_ID"), "RW")
        if name == _PRECISION:
            return self._precision
        found = properties | self._config
        if name not in found:
            raise DMLError(f"property {name!r} is not known, or was not set{did_you_mean(name, found)}")
        return found[name]


def device_properties(device: Device) -> dict[str, Any]:
    """Return a device's properties by OpenVINO's names."""
    vulkan = device.vulkan
    discrete = vulkan.device_class is DeviceClass.DISCRETE
    return {
        "FULL_DEVICE_NAME": vulkan.name,
        "DEVICE_ARCHITECTURE": vulkan.driver,
        "DEVICE_TYPE": "DISCRETE" if discrete else "INTEGRATED",
        "EXECUTION_DEVICES": [f"GPU.{vulkan.index}"],
        "GPU_DEVICE_TOTAL_MEM_SIZE": vulkan.memory,
        "OPTIMAL_NUMBER_OF_INFER_REQUESTS": 2,
        "OPTIMIZATION_CAPABILITIES": ["FP32", "FP16", "INT8"],
        "RANGE_FOR_ASYNC_INFER_REQUESTS": (1, 2, 1),
        "RANGE_FOR_STREAMS": (1, 1),
    }


def _word(precision: Any) -> str:
    """Return the name of a Type (this package's or OpenVINO's), or the text itself."""
    name = precision.get_type_name() if hasattr(precision, "get_type_name") else str(precision)
    return {"fp32": "f32", "fp16": "f16", "float": "f32", "half": "f16"}.get(name.lower(), name.lower())
