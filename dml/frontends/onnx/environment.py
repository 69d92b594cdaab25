"""onnxruntime's functions that belong to no session: what is here, how much is said, seeds, copies."""

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

#: The one provider that computes on a device, and what runs nodes that cannot be mapped.
OWN_PROVIDER, HOST_PROVIDER = "DmlExecutionProvider", "CPUExecutionProvider"
#: onnxruntime's severity of warnings: 0 is verbose, 1 information, 2 warnings, 3 errors, 4 fatal.
WARNING = 2

_default_severity = WARNING


@checked
def set_default_logger_severity(severity: int) -> None:
    """Say warnings (0 to 2), as is the default, or none (3, 4), in sessions whose options say no other severity."""
    global _default_severity
    if not 0 <= severity <= 4:
        raise DMLError(f"set_default_logger_severity: takes 0 to 4, found {severity}")
    _default_severity = severity


@checked
def set_default_logger_verbosity(verbosity: int) -> None:
    """Accepted: nothing is said at severity 0 beyond warnings."""


def says_warnings(severity: int = -1) -> bool:
    """Whether a session of this severity (-1: the default) says warnings."""
    return (_default_severity if severity < 0 else severity) <= WARNING


def get_available_providers() -> list[str]:
    return [OWN_PROVIDER, HOST_PROVIDER]


def get_all_providers() -> list[str]:
    return get_available_providers()


def get_device() -> str:
    return "DML"


def get_version_string() -> str:
    """The version of onnxruntime whose names these are."""
    return API_VERSION


def get_build_info() -> str:
    return f"directml-vulkan {own_version}, by the names of onnxruntime {API_VERSION}"


def has_collective_ops() -> bool:
    """Whether devices of several processes work on one model: they do not."""
    return False


def enable_telemetry_events() -> None:
    """Accepted: nothing is ever sent."""


def disable_telemetry_events() -> None:
    """Accepted: nothing is ever sent."""


def preload_dlls(cuda: bool = True, cudnn: bool = True, msvc: bool = True, directory: str | None = None) -> None:
    """Accepted: neither CUDA nor cuDNN is used."""


@checked
def set_seed(seed: int) -> None:
    """Seed the random nodes without a seed of their own, which run on the host: on onnxruntime, where it is installed,
    or on onnx's reference evaluator, which draws from NumPy's global generator."""
    np.random.seed(seed % 2**32)
    with suppress(ModuleNotFoundError):
        import onnxruntime

        onnxruntime.set_seed(seed)


@checked
def copy_tensors(src: Sequence[OrtValue], dst: Sequence[OrtValue], stream: object = None) -> None:
    """Copy each value into the one at its place, on whichever side they lie.

    Raises DMLError if their numbers, shapes or types differ, before anything is copied.
    """
    if len(src) != len(dst):
        raise DMLError(f"copy_tensors: takes as many values for dst as for src, found {len(src)} and {len(dst)}")
    pairs = [(source.numpy(), target) for source, target in zip(src, dst, strict=True)]
    for at, (array, target) in enumerate(pairs):
        wanted, found = _kind(array), _kind(target.numpy())
        if wanted != found:
            raise DMLError(f"copy_tensors: dst[{at}] must be {wanted}, as src[{at}] is, found {found}")
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
