"""Decompositions for NaN, where PyTorch and ONNX differ or DirectML refuses a NaN attribute."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def with_nan(decomposition: Callable[..., Any]) -> Callable[..., Any]:
    """Apply a decomposition only if an argument is the number NaN, which DirectML refuses in attributes but not in
    tensors."""

    def decompose(*arguments: Any, **named: Any) -> Any:
        if not any(isinstance(value, float) and math.isnan(value) for value in (*arguments, *named.values())):
            return NotImplemented
        return decomposition(*arguments, **named)

    return decompose


def _sign(x: Tensor) -> Tensor:
    """Compute PyTorch's sign, which is 0 for NaN; ONNX's is NaN."""
    if not x.is_floating_point():
        return NotImplemented
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def _clamp(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    """Return NaN everywhere: a limit is NaN, which ONNX would treat as no limit."""
    return torch.full_like(x, math.nan)


def _addmm(added: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return added * beta + (a @ b) * alpha


def _elu(x: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Tensor:
    return torch.where(x > 0, x * scale, torch.expm1(x * input_scale) * alpha * scale)


def _leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    return torch.where(x > 0, x, x * negative_slope)


#: Decompositions by operator.
NOT_NUMBERS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.sign.default: _sign,
    torch.ops.aten.addmm.default: with_nan(_addmm),
    torch.ops.aten.elu.default: with_nan(_elu),
    torch.ops.aten.leaky_relu.default: with_nan(_leaky_relu),
    torch.ops.aten.clamp.default: with_nan(_clamp),
    torch.ops.aten.clamp_min.default: with_nan(_clamp),
    torch.ops.aten.clamp_max.default: with_nan(_clamp),
    torch.ops.aten.hardtanh.default: with_nan(_clamp),
}
