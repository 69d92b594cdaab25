"""Microsoft's PyDirectML: its names over this library, so that its scripts run unchanged.

    python -m dml.frontends.pydirectml script.py [arguments]

or ``import dml.frontends.pydirectml as dml`` in place of ``import pydirectml as dml``.
"""

from inspect import isfunction
from typing import TYPE_CHECKING, Any

from dml.frontends.pydirectml.device import Binding, Device, GraphBuilder, Model, TensorData, input_tensor
from dml.frontends.pydirectml.enumerations import (
    ConvolutionDirection,
    ConvolutionMode,
    ExecutionFlags,
    InterpolationMode,
    MatrixTransform,
    OperatorType,
    OutputOptions,
    PaddingMode,
    RecurrentNetworkDirection,
    TensorDataType,
    TensorFlags,
    exported,
)
from dml.frontends.pydirectml.expressions import Expression
from dml.frontends.pydirectml.operators.common import FusedActivation
from dml.frontends.pydirectml.operators.elementwise import (
    activation_identity,
    activation_linear,
    activation_relu,
    activation_sigmoid,
    activation_soft_max,
    activation_tanh,
    add,
    divide,
    multiply,
    subtract,
    value_scale_2d,
)
from dml.frontends.pydirectml.operators.gemm import gemm
from dml.frontends.pydirectml.operators.graph_functions import checked, functions
from dml.frontends.pydirectml.operators.movement import gather, join, padding, reinterpret, slice, up_sample_2d
from dml.frontends.pydirectml.operators.normalization import (
    batch_normalization,
    local_response_normalization,
    mean_variance_normalization,
)
from dml.frontends.pydirectml.operators.recurrent import GRUOutputs, LSTMOutputs, gru, lstm
from dml.frontends.pydirectml.operators.windows import MaxPoolingOutputs, average_pooling, convolution, max_pooling
from dml.frontends.pydirectml.tensors import Dimensions, Size2D, TensorDesc, TensorPolicy

if TYPE_CHECKING:  # type checkers cannot see the names that are added below

    def __getattr__(name: str) -> Any: ...


globals().update(exported())
_MORE = functions(globals())
globals().update(_MORE)

__all__ = [
    "Binding", "ConvolutionDirection", "ConvolutionMode", "Device", "Dimensions", "ExecutionFlags",
    "Expression", "FusedActivation", "GRUOutputs", "GraphBuilder", "InterpolationMode", "LSTMOutputs",
    "MatrixTransform", "MaxPoolingOutputs", "Model", "OperatorType", "OutputOptions", "PaddingMode",
    "RecurrentNetworkDirection", "Size2D", "TensorData", "TensorDataType", "TensorDesc", "TensorFlags",
    "TensorPolicy", "activation_identity", "activation_linear", "activation_relu", "activation_sigmoid",
    "activation_soft_max", "activation_tanh", "add", "average_pooling", "batch_normalization", "convolution",
    "divide", "gather", "gemm", "gru", "input_tensor", "join", "local_response_normalization", "lstm",
    "max_pooling", "mean_variance_normalization", "multiply", "padding", "reinterpret", "slice", "subtract",
    "up_sample_2d", "value_scale_2d", *exported(), *_MORE,
]  # fmt: skip

globals().update({name: checked(globals()[name]) for name in set(__all__) - set(_MORE) if isfunction(globals()[name])})
