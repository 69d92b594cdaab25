"""Descriptions of the random operators."""
from __future__ import annotations

from ..enums import DML_RANDOM_GENERATOR_TYPE
from .base import Input, OperatorDesc, OptionalOutput, Output, operator


@operator
class DML_RANDOM_GENERATOR_OPERATOR_DESC(OperatorDesc):
    """Describes DML_OPERATOR_RANDOM_GENERATOR.

    Reference: dml_random_generator_operator_desc.
    """

    InputStateTensor: Input
    OutputTensor: Output
    OutputStateTensor: OptionalOutput = None
    Type: DML_RANDOM_GENERATOR_TYPE
