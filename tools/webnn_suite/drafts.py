"""What older copies of the suite ask for as the specification's drafts said it: the same numbers, in today's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.frontends.webnn import MLGraphBuilder, MLOperand, MLOperandDescriptor


def in_todays_words(
    builder: MLGraphBuilder, name: str, values: list[Any], constants: Mapping[MLOperand, Any]
) -> list[Any] | None:
    """The arguments of an operation as it takes them today; None where no draft said otherwise. constants: their data.

    softmax took no axis, and matrices alone: each row by itself. Scale and zero point had fewer dimensions than what
    they quantize, and were aligned with its last ones.
    """
    operand = values[0] if values else None
    if not isinstance(operand, MLOperand):
        return None
    if name == "softmax" and len(operand.shape) == 2 and not (len(values) > 1 and isinstance(values[1], int)):
        return [operand, 1, *values[1:]]
    if name in ("quantizeLinear", "dequantizeLinear") and len(values) > 1 and isinstance(values[1], MLOperand):
        missing = len(operand.shape) - len(values[1].shape)
        if missing <= 0:
            return None
        return [operand, *(_aligned(builder, one, missing, constants) for one in values[1:3]), *values[3:]]
    return None


def _aligned(builder: MLGraphBuilder, value: Any, missing: int, constants: Mapping[MLOperand, Any]) -> Any:
    if not isinstance(value, MLOperand):
        return value
    shape = (1,) * missing + value.shape
    if value in constants:  # (reshape takes no 4-bit integers)
        return builder.constant(MLOperandDescriptor(value.data_type, shape), constants[value])
    return builder.reshape(value, shape)
