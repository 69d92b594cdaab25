"""Rules of the quantization operators.

The pages of QUANTIZE and DEQUANTIZE do not describe the tensors. Here the scale has the float tensor's data type and
the zero point the integer tensor's; their sizes divide the input's into blocks.
"""

from __future__ import annotations

from .. import descriptors as d
from ..enums import DML_QUANTIZATION_TYPE
from .base import Check, rule

_COUNTS = {
    DML_QUANTIZATION_TYPE.DML_QUANTIZATION_TYPE_SCALE: 1,
    DML_QUANTIZATION_TYPE.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT: 2,
}


@rule(d.DML_QUANTIZE_OPERATOR_DESC, floats="InputTensor")
@rule(d.DML_DEQUANTIZE_OPERATOR_DESC, floats="OutputTensor")
def quantize(desc: d.DML_QUANTIZE_OPERATOR_DESC | d.DML_DEQUANTIZE_OPERATOR_DESC, check: Check, floats: str) -> None:
    check.that(desc.QuantizationType in _COUNTS, "QuantizationType", "must be SCALE or SCALE_ZERO_POINT")
    count = _COUNTS[desc.QuantizationType]
    check.length("QuantizationTensors", count, why=desc.QuantizationType.name)
    sizes = desc.InputTensor.Sizes
    check.sizes("OutputTensor", sizes, why="those of InputTensor")
    integers = "OutputTensor" if floats == "InputTensor" else "InputTensor"
    for (field, tensor), owner in zip(check.tensors("QuantizationTensors"), (floats, integers), strict=False):
        expected = getattr(desc, owner).DataType
        check.that(tensor.DataType == expected, field, f"must have the data type of {owner}, {expected.name}",
                   tensor.DataType)  # fmt: skip
        check.that(all(size % part == 0 for size, part in zip(sizes, tensor.Sizes, strict=True)), field,
                   f"must have sizes that divide those of InputTensor, {sizes}", tensor.Sizes)  # fmt: skip
    check.sizes("QuantizationTensors", desc.QuantizationTensors[0].Sizes, why="the same for scale and zero point")


@rule(d.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC)
def dynamic_quantize_linear(desc: d.DML_DYNAMIC_QUANTIZE_LINEAR_OPERATOR_DESC, check: Check) -> None:
    check.sizes("OutputTensor", desc.InputTensor.Sizes, why="those of InputTensor")
    single = (1,) * desc.InputTensor.rank
    check.sizes("OutputScaleTensor", single, why="one element")
    check.sizes("OutputZeroPointTensor", single, why="one element")
