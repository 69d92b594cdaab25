"""Translate calls of older copies of the suite, which follow drafts of the specification, to current arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dml.frontends.webnn import MLGraphBuilder, MLOperand, MLOperandDescriptor


def in_todays_words(
    builder: MLGraphBuilder, name: str, values: list[Any], constants: Mapping[MLOperand, Any]
) -> list[Any] | None:
    """Return an operation's arguments in current form; None if the call needs no translation. constants: data of the
    graph's constants.

    In drafts, softmax took only matrices and worked along rows, without an axis. Scale and zero point could have fewer
    dimensions than the quantized tensor, aligned with its last ones.
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
    if value in constants:  # reshape does not accept 4-bit integers
        return builder.constant(MLOperandDescriptor(value.data_type, shape), constants[value])
    return builder.reshape(value, shape)
