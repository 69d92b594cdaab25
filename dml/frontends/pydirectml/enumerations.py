"""PyDirectML's enumerations: DirectML's, with enumerators without their common prefix."""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import Any

from dml import enums

_EXPORTED: dict[str, Any] = {}


def _shortened(name: str, of: type[IntEnum] | type[IntFlag], prefix: str) -> Any:
    """Return the enumeration under PyDirectML's name.

    Its enumerators become names of the module; for equal names, the last enumeration wins.
    """
    members = {full.removeprefix(prefix): int(member) for full, member in of.__members__.items()}
    base: Any = of.__base__
    enumeration = base(name, members, module=__name__)
    _EXPORTED.update(enumeration.__members__)
    return enumeration


TensorDataType: Any = _shortened("TensorDataType", enums.DML_TENSOR_DATA_TYPE, "DML_TENSOR_DATA_TYPE_")
TensorFlags: Any = _shortened("TensorFlags", enums.DML_TENSOR_FLAGS, "DML_TENSOR_FLAG_")
MatrixTransform: Any = _shortened("MatrixTransform", enums.DML_MATRIX_TRANSFORM, "DML_MATRIX_TRANSFORM_")
RecurrentNetworkDirection: Any = _shortened(
    "RecurrentNetworkDirection", enums.DML_RECURRENT_NETWORK_DIRECTION, "DML_RECURRENT_NETWORK_DIRECTION_"
)
ConvolutionMode: Any = _shortened("ConvolutionMode", enums.DML_CONVOLUTION_MODE, "DML_CONVOLUTION_MODE_")
ConvolutionDirection: Any = _shortened(
    "ConvolutionDirection", enums.DML_CONVOLUTION_DIRECTION, "DML_CONVOLUTION_DIRECTION_"
)
InterpolationMode: Any = _shortened("InterpolationMode", enums.DML_INTERPOLATION_MODE, "DML_INTERPOLATION_MODE_")
PaddingMode: Any = _shortened("PaddingMode", enums.DML_PADDING_MODE, "DML_PADDING_MODE_")
ExecutionFlags: Any = _shortened("ExecutionFlags", enums.DML_EXECUTION_FLAGS, "DML_EXECUTION_FLAG_")
OperatorType: Any = _shortened("OperatorType", enums.DML_OPERATOR_TYPE, "DML_OPERATOR_")


class OutputOptions(IntEnum):
    """Outputs that a GRU returns."""

    Both = 0
    Sequence = 1
    Single = 2


def exported() -> dict[str, Any]:
    """Return the enumerators that are names of the module."""
    return dict(_EXPORTED)
