"""DirectML's descriptor API on Vulkan compute.

Structures, enumerations and constants keep their DirectML names and are names of this package. Making descriptors,
validating them and asking what a feature level supports need neither Vulkan nor Kompute; the rest is imported at its
first use.
"""

import importlib as _importlib
import sys as _sys
from importlib.util import find_spec as _find_spec
from typing import TYPE_CHECKING

from . import descriptors as _descriptors
from . import enums as _enums
from . import tensors as _tensors
from .descriptors import *  # noqa: F403
from .enums import *  # noqa: F403
from .enums.naming import attribute_error as _attribute_error
from .enums.naming import did_you_mean as _did_you_mean
from .errors import HRESULT as HRESULT
from .errors import DMLError as DMLError
from .tensors import *  # noqa: F403

__version__ = "1.0.0"

if TYPE_CHECKING:
    from .api.binding import BindingTable as BindingTable
    from .api.device import Device as Device
    from .api.device import create_device as create_device
    from .api.device import dispatch as dispatch
    from .api.device import list_devices as list_devices
    from .api.device_array import DeviceArray as DeviceArray
    from .api.operator import CompiledOperator as CompiledOperator
    from .api.operator import Operator as Operator
    from .api.operator import OperatorInitializer as OperatorInitializer
    from .api.recorder import CommandList as CommandList
    from .api.recorder import CommandRecorder as CommandRecorder
    from .capability import OperatorSupport as OperatorSupport
    from .capability import TensorSupport as TensorSupport
    from .capability import operator_introduced as operator_introduced
    from .capability import operator_support as operator_support
    from .capability import supports_in_place as supports_in_place
    from .capability import tensor_data_type_supported as tensor_data_type_supported
    from .capability.differences import support_difference as support_difference
    from .capability.questions import supported_operators as supported_operators
    from .frontends.levels import needed_level as needed_level
    from .runtime.buffer import Buffer as Buffer
    from .runtime.queue import Fence as Fence
    from .validator import validate as validate

if not TYPE_CHECKING:  # Type checkers know only the names imported above.
    _LAZY = {name: module for module, names in {
        ".api.binding": "BindingTable",
        ".runtime.buffer": "Buffer",
        ".api.recorder": "CommandList CommandRecorder",
        ".api.operator": "CompiledOperator Operator OperatorInitializer",
        ".api.device": "Device create_device dispatch list_devices",
        ".capability": "OperatorSupport TensorSupport operator_introduced operator_support supports_in_place "
                       "tensor_data_type_supported",
        ".api.device_array": "DeviceArray",
        ".runtime.queue": "Fence",
        ".frontends.levels": "needed_level",
        ".capability.questions": "supported_operators",
        ".capability.differences": "support_difference",
        ".validator": "validate",
    }.items() for name in names.split()}  # fmt: skip
    __all__ = sorted({
        "DMLError", "HRESULT", *_descriptors.__all__, *_enums.__all__, *_tensors.__all__, *_LAZY,
    })  # fmt: skip

    def __getattr__(name: str) -> object:
        if name not in _LAZY:
            # `from dml import cache` also asks for the attribute before it imports the module
            is_module = not name.startswith("__") and _find_spec(f"{__name__}.{name}")
            hint = f"; import {__name__}.{name} first" if is_module else _did_you_mean(name, __all__)
            raise _attribute_error(f"module {__name__!r} has no attribute {name!r}", hint, name, _sys.modules[__name__])
        value = getattr(_importlib.import_module(_LAZY[name], __name__), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
