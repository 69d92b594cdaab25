"""OpenVINO IR models (.xml and .bin) as DML graphs, under OpenVINO's names: programs change one import.

    import dml.frontends.openvino as ov

    compiled = ov.Core().compile_model("model.xml", "GPU")
    result = compiled({"x": x})[compiled.output(0)]

or as dictionaries of arrays, on one of dml's devices:

    outputs = ov.read_model("model.xml").compile(device)({"x": x})

A model with dynamic parameter sizes is planned once for each set of input sizes. Errors are DMLErrors.
"""

from typing import TYPE_CHECKING

from dml.frontends.refusals import RefusedName

from .compiled_model import CompiledModel
from .core import Core, compile_model, get_version, shutdown
from .element_types import Type
from .host_tensor import Tensor
from .infer_request import AsyncInferQueue, InferRequest, ProfilingInfo
from .model import Model, read_model
from .ports import ConstOutput
from .refused import API_VERSION, REFUSED
from .shapes import Dimension, PartialShape, Shape

#: A Model's outputs are ports like a CompiledModel's.
Output = ConstOutput
#: The version of openvino whose names this package offers.
__version__ = API_VERSION

__all__ = [
    "AsyncInferQueue", "CompiledModel", "ConstOutput", "Core", "Dimension", "InferRequest", "Model", "Output",
    "PartialShape", "ProfilingInfo", "Shape", "Tensor", "Type", "compile_model", "get_version", "read_model",
    "shutdown",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> RefusedName:
        if name in REFUSED:
            return RefusedName(name, REFUSED[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
