"""Descriptions that QUANTIZE, DEQUANTIZE and DYNAMIC_QUANTIZE_LINEAR refuse."""

from __future__ import annotations

import numpy as np
import pytest
from test_quantization_values import dequantize_of, dynamic_of, quantize_of

import dml
from harness import refuse, tensor


def test_quantize_and_dequantize_rules():
    x = np.zeros((4, 6), np.float32)
    tensors = [np.ones((2, 3), np.float32), np.zeros((2, 3), np.int8)]
    good = quantize_of(x, tensors, "INT8")
    back = dequantize_of(np.zeros((4, 6), np.int8), tensors, "FLOAT32")
    for desc in (good, back):
        dml.validate(desc)
        scale, zero = desc.QuantizationTensors
        refuse(desc.replace(QuantizationTensors=(scale,)), "QuantizationTensors", "2 item(s)")
        only = dml.DML_QUANTIZATION_TYPE_SCALE
        refuse(desc.replace(QuantizationType=only), "QuantizationTensors", "1 item(s)")
        none = dml.DML_QUANTIZATION_TYPE_NONE
        refuse(desc.replace(QuantizationType=none), "QuantizationType", "SCALE or SCALE_ZERO_POINT")
        odd = tensor("FLOAT32", (3, 3)), tensor("INT8", (3, 3))
        refuse(desc.replace(QuantizationTensors=odd), "QuantizationTensors[0]", "divide")
        refuse(desc.replace(QuantizationTensors=(scale, tensor("INT8", (1, 3)))), "QuantizationTensors[1]", "(2, 3)")
        refuse(desc.replace(QuantizationTensors=(tensor("FLOAT16", (2, 3)), zero)), "QuantizationTensors[0]", "FLOAT32")
        refuse(desc.replace(QuantizationTensors=(scale, tensor("UINT8", (2, 3)))), "QuantizationTensors[1]", "INT8")
        output_type = desc.OutputTensor.DataType
        refuse(desc.replace(OutputTensor=tensor(output_type, (4, 5))), "OutputTensor", "(4, 6)")
    with pytest.raises(dml.DMLError, match="available from feature level 6_3"):
        dml.validate(good, dml.DML_FEATURE_LEVEL_6_2)


def test_dynamic_rules():
    good = dynamic_of(np.zeros((2, 3), np.float32), "UINT8")
    dml.validate(good)
    refuse(good.replace(OutputTensor=tensor("UINT8", (3, 2))), "OutputTensor", "(2, 3)")
    refuse(good.replace(OutputScaleTensor=tensor("FLOAT32", (1, 2))), "OutputScaleTensor", "one element")
    refuse(good.replace(OutputZeroPointTensor=tensor("UINT8", (2, 1))), "OutputZeroPointTensor", "one element")
    refuse(good.replace(OutputZeroPointTensor=tensor("INT8", (1, 1))), "OutputZeroPointTensor", "data type")
    refuse(good.replace(OutputScaleTensor=tensor("FLOAT16", (1, 1))), "OutputScaleTensor.DataType")
