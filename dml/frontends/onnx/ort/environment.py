"""onnxruntime's functions outside sessions: versions, providers, logging, seeds, copies."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dml import __version__ as own_version
from dml.arguments import checked
from dml.errors import DMLError
from dml.runtime.devices import list_devices

from .missing_names import API_VERSION
from .ort_value import OrtValue

#: The provider for the device, and the provider for nodes that cannot be mapped.
OWN_PROVIDER, HOST_PROVIDER = "DmlExecutionProvider", "CPUExecutionProvider"


@checked
def set_default_logger_verbosity(verbosity: int) -> None:
    """Do nothing: only warnings are ever shown."""


def get_available_providers() -> list[str]:
    return [OWN_PROVIDER, HOST_PROVIDER]


get_all_providers = get_available_providers


def get_device() -> str:
    return "DML"


def get_version_string() -> str:
    """Return the version of onnxruntime whose names this package offers."""
    return API_VERSION


def get_build_info() -> str:
    return f"directml-vulkan {own_version}, by the names of onnxruntime {API_VERSION}"


def has_collective_ops() -> bool:
    """Return False: processes cannot share a model across devices."""
    return False


def enable_telemetry_events() -> None:
    """Do nothing: no telemetry is ever sent."""


disable_telemetry_events = enable_telemetry_events


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Do nothing: neither CUDA nor cuDNN is used."""


@checked
def set_seed(seed: int) -> None:
    """Seed random nodes that have no seed attribute; they run on the host.

    They run on onnxruntime, if installed, or on onnx's reference evaluator, which uses NumPy's global generator.
    """
    np.random.seed(seed % 2**32)
    with suppress(ModuleNotFoundError):
        import onnxruntime

        onnxruntime.set_seed(seed)


@checked
def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: object = None) -> None:
    """Copy each value into the corresponding one, on the host or on a device.

    Raises DMLError if their numbers, shapes or types differ, before anything is copied.
    """
    if len(src) != len(dst):
        raise DMLError(f"copy_tensors: src and dst must have equal lengths, found {len(src)} and {len(dst)}")
    pairs = [(source.numpy(), target) for source, target in zip(src, dst, strict=True)]
    for index, (array, target) in enumerate(pairs):
        wanted, found = _kind(array), _kind(target.numpy())
        if wanted != found:
            raise DMLError(f"copy_tensors: dst[{index}] must be {wanted}, as src[{index}] is, found {found}")
    for array, target in pairs:
        target.update_inplace(array)


def _kind(value: Any) -> str:
    """Describe a tensor's type and shape; other values by their type."""
    return f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__


def print_debug_info() -> None:
    """Print versions and devices."""
    print(get_build_info())
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.platform()}")
    for device in list_devices():
        print(f"device {device.index}: {device.name}, {device.driver}")
