"""ONNX models on the device: nodes become DirectML operators of one graph, compiled for each set of input shapes.

    model = dml.frontends.onnx.prepare("model.onnx")
    y, = model.run({"x": x})

or under onnxruntime's names, ``InferenceSession`` and others (see ``session``).

Nodes that DirectML operators cannot express run on the host, and a warning names them; shapes and constants are also
computed there. bool is UINT8 on the device; bfloat16 and float8 are held as FLOAT32, and rounded where they leave the
graph or are cast to. A type that an operator does not support is cast: FLOAT64 to FLOAT32 (results have float32's
precision), INT64 to INT32 and UINT64 to UINT32 (values must fit, as in ONNX Runtime's DirectML provider), 8- and
16-bit integers to 32-bit ones or FLOAT32, without loss.
"""

from typing import TYPE_CHECKING

from dml.frontends.extras import missing

try:
    import onnx  # noqa: F401  required by the modules below
except ModuleNotFoundError as error:
    raise missing("ONNX models need", "onnx", error) from error

from dml.errors import HostNodesWarning

from .load.loading import load_model
from .ort.described import ModelMetadata, NodeArg
from .ort.environment import (
    copy_tensors,
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    has_collective_ops,
    preload_dlls,
    print_debug_info,
    set_default_logger_verbosity,
    set_seed,
)
from .ort.missing_names import API_VERSION, missing_name
from .ort.ort_value import IOBinding, OrtValue
from .ort.session import InferenceSession
from .ort.session_options import ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions, SessionOptions
from .run.backend import PreparedModel, prepare, run_model, supports_device
from .run.severity import set_default_logger_severity

__all__ = [
    "ExecutionMode", "ExecutionOrder", "GraphOptimizationLevel", "HostNodesWarning", "IOBinding", "InferenceSession",
    "ModelMetadata", "NodeArg", "OrtValue", "PreparedModel", "RunOptions", "SessionOptions", "copy_tensors",
    "disable_telemetry_events", "enable_telemetry_events", "get_all_providers", "get_available_providers",
    "get_build_info", "get_device", "get_version_string", "has_collective_ops", "load_model", "preload_dlls",
    "prepare", "print_debug_info", "run_model", "set_default_logger_severity", "set_default_logger_verbosity",
    "set_seed", "supports_device",
]  # fmt: skip

#: The version of onnxruntime whose names this package offers: programs compare it.
__version__ = API_VERSION

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        raise missing_name(__name__, name)
