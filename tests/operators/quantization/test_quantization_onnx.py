"""QUANTIZE, DEQUANTIZE and DYNAMIC_QUANTIZE_LINEAR compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from test_quantization_values import dequantize_of, dynamic_of, output, quantize_of

from harness import assert_exact, run
from onnx_peer import onnx_run


@pytest.mark.parametrize("to", ["int8", "uint8"])
def test_per_channel(device, to):
    rng = np.random.default_rng(0)
    scale = rng.uniform(0.5, 2.0, 3).astype(np.float32)
    x = (rng.integers(-300, 300, (2, 3, 40)) / 2 * scale[:, None]).astype(np.float32)  # half are ties, up to rounding
    zero_point = np.array([3, 0, 100], to)
    expected = onnx_run("QuantizeLinear", {"x": x, "scale": scale, "zero_point": zero_point}, axis=1)[0]
    tensors = [scale.reshape(1, 3, 1), zero_point.reshape(1, 3, 1)]
    result = output(device, quantize_of(x, tensors, to.upper()), x, tensors)
    assert_exact(result, expected)
    back = onnx_run("DequantizeLinear", {"q": expected, "scale": scale, "zero_point": zero_point}, axis=1)[0]
    assert_exact(output(device, dequantize_of(result, tensors, "FLOAT32"), result, tensors), back)


@pytest.mark.parametrize("low, high", [(-3, 5), (2, 9), (-7, -1)])
def test_dynamic(device, low, high):
    x = np.random.default_rng(1).uniform(low, high, (11, 13)).astype(np.float32)
    y, scale, zero_point = onnx_run("DynamicQuantizeLinear", {"x": x}, outputs=3)
    result = run(device, dynamic_of(x, "UINT8"), {"InputTensor": x})
    assert_exact(result["OutputTensor"], y)
    assert_exact(result["OutputScaleTensor"], scale.reshape(1, 1))
    assert_exact(result["OutputZeroPointTensor"], zero_point.reshape(1, 1))
