"""Description of the random number generator."""

from __future__ import annotations

from ..enums import DML_RANDOM_GENERATOR_TYPE
from .base import Input, OperatorDesc, OptionalOutput, Output, operator


@operator
class DML_RANDOM_GENERATOR_OPERATOR_DESC(OperatorDesc):
    """Random 32-bit words from a counter and a key, by the algorithm Type.

    InputStateTensor, OutputStateTensor: {..., 6} words for Philox: four of the counter, two of the key. OutputTensor:
    any sizes. The output state continues the sequence.
    """

    InputStateTensor: Input
    OutputTensor: Output
    OutputStateTensor: OptionalOutput = None
    Type: DML_RANDOM_GENERATOR_TYPE
