"""PyTorch's fused inference operators, and others that its exporter refuses or converts wrongly, decomposed into
operators that ONNX can express.

PyTorch's transformer modules call the fused operators in evaluation mode without gradients, and PyTorch has no
decomposition for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F


def _attention(
    x: Tensor,
    heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    out_weight: Tensor,
    out_bias: Tensor,
    masked: Tensor | None,
) -> Tensor:
    """Self-attention of x {batch, length, channels}. masked: broadcasts to {batch, heads, length, length}."""
    batch, length, channels = x.shape
    packed = F.linear(x, qkv_weight, qkv_bias).reshape(batch, length, 3, heads, channels // heads)
    q, k, v = (each.transpose(1, 2) for each in packed.unbind(2))
    mask = None if masked is None else ~masked
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return F.linear(found.transpose(1, 2).reshape(batch, length, channels), out_weight, out_bias)


def _mask(mask: Tensor | None, kind: int | None) -> Tensor | None:
    """Return a mask that broadcasts to {batch, heads, length, length}.

    kind: the mask's shape: 0 for {length, length}, 1 for {batch, length}, 2 for a mask that broadcasts already.
    """
    if mask is None:
        return None
    mask = mask.to(torch.bool)
    if kind == 0:
        return mask[None, None]
    return mask[:, None, None] if kind == 1 else mask


def _encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Tensor:
    """torch._transformer_encoder_layer_fwd: torch.nn.TransformerEncoderLayer in evaluation mode."""
    masked = _mask(mask, mask_type)

    def attention(x: Tensor) -> Tensor:
        return _attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, masked)

    def feed_forward(x: Tensor) -> Tensor:
        hidden = F.linear(x, ffn_weight_1, ffn_bias_1)
        return F.linear(F.gelu(hidden) if use_gelu else F.relu(hidden), ffn_weight_2, ffn_bias_2)

    def norm_1(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_1, norm_bias_1, eps)

    def norm_2(x: Tensor) -> Tensor:
        return F.layer_norm(x, (embed_dim,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = src + attention(norm_1(src))
        return x + feed_forward(norm_2(x))
    x = norm_1(src + attention(src))
    return norm_2(x + feed_forward(x))


def _multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """torch._native_multi_head_attention for self-attention without returned weights; else NotImplemented."""
    if need_weights or query is not key or key is not value:
        return NotImplemented
    masked = _mask(mask, mask_type)
    return _attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, masked), None


def _dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *options: Any, **named: Any
) -> Any:
    """torch.nn.functional.scaled_dot_product_attention with the four dimensions that the exporter takes."""
    if q.ndim == 4:
        return NotImplemented
    if mask is not None:
        mask = _of_four(mask.expand(*q.shape[:-1], k.shape[-2]))
    found = F.scaled_dot_product_attention(_of_four(q), _of_four(k), _of_four(v), mask, *options, **named)
    return found.reshape(*q.shape[:-1], v.shape[-1])


def _of_four(x: Tensor) -> Tensor:
    """Add dimensions of size 1 in front, or merge the first ones."""
    return x.reshape(*(1,) * (4 - x.ndim), *x.shape) if x.ndim < 4 else x.flatten(0, x.ndim - 4)


def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """BatchNorm by the batch's own statistics, with the new running ones; the exporter takes every BatchNorm for one in
    evaluation mode."""
    if not training:
        return NotImplemented
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    variance, mean = torch.var_mean(wide, [0, *range(2, x.ndim)], correction=0, keepdim=True)
    scale = torch.rsqrt(variance + eps)
    y = (wide - mean) * scale
    per_channel = [-1, *(1,) * (x.ndim - 2)]
    if weight is not None:
        y = y * weight.reshape(per_channel)
    if bias is not None:
        y = y + bias.reshape(per_channel)
    mean, scale, variance = mean.flatten(), scale.flatten(), variance.flatten()
    count = x.numel() // x.shape[1]
    unbiased = variance * (count / (count - 1))
    new_mean = (running_mean + momentum * (mean - running_mean)).to(running_mean.dtype)
    new_var = (running_var + momentum * (unbiased - running_var)).to(running_var.dtype)
    return y.to(x.dtype), mean, scale, new_mean, new_var


def _cross_entropy(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """torch.nn.functional.cross_entropy with smoothed labels, which the exporter ignores, or with probabilities."""
    has_probabilities = target.is_floating_point()
    if not label_smoothing and not has_probabilities:
        return NotImplemented
    axis = min(1, x.ndim - 1)
    classes = x.shape[axis]
    logs = F.log_softmax(x, axis)
    weighted = logs if weight is None else logs * weight.reshape(-1, *(1,) * (x.ndim - axis - 1))
    if has_probabilities:
        losses = -(weighted * (target * (1 - label_smoothing) + label_smoothing / classes)).sum(axis)
        return _reduced(losses, reduction, torch.ones_like(losses))
    is_kept = target != ignore_index
    of_target = F.nll_loss(
        logs, target, weight, ignore_index=ignore_index, reduction=("none", "mean", "sum")[reduction]
    )
    of_all = torch.where(is_kept, -weighted.sum(axis), 0)
    weights = is_kept.to(x.dtype) if weight is None else weight[torch.where(is_kept, target, 0)] * is_kept
    return of_target * (1 - label_smoothing) + _reduced(of_all, reduction, weights) * (label_smoothing / classes)


def _reduced(losses: Tensor, reduction: int, weights: Tensor) -> Tensor:
    """Return the losses (0), their mean (1) or their sum (2)."""
    if reduction == 0:
        return losses
    return losses.sum() / weights.sum() if reduction == 1 else losses.sum()


def _shift(operator: Any) -> Callable[..., Any]:
    """Return a shift of bytes by way of INT32, since the exporter returns INT8."""

    def shifted(x: Any, by: Any) -> Any:
        tensors = [item for item in (x, by) if isinstance(item, Tensor)]
        if any(item.dtype != torch.uint8 for item in tensors):
            return NotImplemented
        x, by = (item.to(torch.int32) if isinstance(item, Tensor) else item for item in (x, by))
        return (operator(x, by) & 255).to(torch.uint8)

    return shifted


_SHIFTS = [
    getattr(operator, form)
    for operator in (torch.ops.aten.bitwise_left_shift, torch.ops.aten.bitwise_right_shift)
    for form in ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
]

#: Decompositions by operator.
FAST_PATHS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.cross_entropy_loss.default: _cross_entropy,
    **{operator: _shift(operator) for operator in _SHIFTS},
    torch.ops.aten.__lshift__.Tensor: torch.bitwise_left_shift,
    torch.ops.aten.__lshift__.Scalar: torch.bitwise_left_shift,
    torch.ops.aten.__rshift__.Tensor: torch.bitwise_right_shift,
    torch.ops.aten.__rshift__.Scalar: torch.bitwise_right_shift,
    torch.ops.aten._transformer_encoder_layer_fwd.default: _encoder_layer,
    torch.ops.aten._native_multi_head_attention.default: _multi_head_attention,
    torch.ops.aten.scaled_dot_product_attention.default: _dot_product_attention,
    torch.ops.aten._native_batch_norm_legit_functional.default: _batch_norm,
}
