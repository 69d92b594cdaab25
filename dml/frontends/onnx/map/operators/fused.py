"""Operators of the com.microsoft.dml domain: an ONNX operator with an activation.

ONNX Runtime's DirectML provider writes them into a model that it optimized. ``fused_activation`` names the activation;
attributes such as ``fused_alpha`` are its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...registry import onnx_op
from ..node import OnnxNode
from ..value import OnnxValue
from .activation import activated
from .attention import refuse
from .convolution import convolution, convolution_transpose
from .elementwise import variadic
from .gemm import gemm, matmul_
from .normalization import batch_normalization, instance_normalization, mean_variance_normalization

_FUSED: dict[str, Callable[[OnnxNode], Any]] = {
    "DmlFusedAdd": variadic,
    "DmlFusedBatchNormalization": batch_normalization,
    "DmlFusedConv": convolution,
    "DmlFusedConvTranspose": convolution_transpose,
    "DmlFusedGemm": gemm,
    "DmlFusedInstanceNormalization": instance_normalization,
    "DmlFusedMatMul": matmul_,
    "DmlFusedMeanVarianceNormalization": mean_variance_normalization,
    "DmlFusedSum": variadic,
}


@onnx_op(*_FUSED, domain="com.microsoft.dml")
def fused(node: OnnxNode) -> OnnxValue:
    refuse(node, {3: "Min", 4: "Max"} if node.op == "DmlFusedConv" else {}, {1: "1"})
    result = _FUSED[node.op](node)
    return activated(
        node, result[0] if isinstance(result, list) else result, node.text("fused_activation", ""), "fused_"
    )
