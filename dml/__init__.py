"""DirectML's descriptor API on Vulkan compute.

Structures, enumerations and constants keep their DirectML names and are names of this package. Making descriptors,
validating them and asking what a feature level supports need neither Vulkan nor Kompute; the rest is imported at its
first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .descriptors import *  # noqa: F403
from .enums import *  # noqa: F403
from .errors import HRESULT as HRESULT
from .errors import DMLError as DMLError
from .tensors import *  # noqa: F403

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .api.device import Device as Device
    from .api.device import create_device as create_device
    from .api.device import dispatch as dispatch
    from .api.device import list_devices as list_devices
    from .api.device_array import DeviceArray as DeviceArray
    from .capability import OperatorSupport as OperatorSupport
    from .capability import TensorSupport as TensorSupport
    from .capability import operator_support as operator_support
    from .capability.differences import support_difference as support_difference
    from .validator import validate as validate

_LAZY = {
    "Device": ".api.device",
    "create_device": ".api.device",
    "dispatch": ".api.device",
    "list_devices": ".api.device",
    "OperatorSupport": ".capability",
    "DeviceArray": ".api.device_array",
    "TensorSupport": ".capability",
    "operator_support": ".capability",
    "support_difference": ".capability.differences",
    "validate": ".validator",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name], __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
