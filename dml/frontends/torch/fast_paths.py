"""PyTorch's fused inference operators, and others that its exporter refuses or converts wrongly, decomposed into
operators that ONNX can express.

PyTorch's transformer modules call the fused operators in evaluation mode without gradients, and PyTorch has no
decomposition for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
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
    mask: Tensor | None,
) -> Tensor:
    """Self-attention of x {batch, length, channels}. mask: as for scaled_dot_product_attention."""
    batch, length, channels = x.shape
    packed = F.linear(x, qkv_weight, qkv_bias).reshape(batch, length, 3, heads, channels // heads)
    q, k, v = (each.transpose(1, 2) for each in packed.unbind(2))
    found = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return F.linear(found.transpose(1, 2).reshape(batch, length, channels), out_weight, out_bias)


def _mask(mask: Tensor | None, kind: int | None) -> Tensor | None:
    """Return a mask for scaled_dot_product_attention that broadcasts to {batch, heads, length, length}.

    mask: booleans that are True for masked keys, or numbers to add to the scores (PyTorch's own fast path returns NaN
    for those that are not 0 or -inf). kind: its shape: 0 for {length, length}, 1 for {batch, length}, 2 for a mask that
    broadcasts already.
    """
    if mask is None:
        return None
    if not mask.is_floating_point():
        mask = ~mask.to(torch.bool)
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
    attended = _mask(mask, mask_type)

    def attention(x: Tensor) -> Tensor:
        return _attention(x, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, attended)

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
    attended = _mask(mask, mask_type)
    return _attention(query, num_head, qkv_weight, qkv_bias, proj_weight, proj_bias, attended), None


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


def _copy(target: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Return source with the target's sizes and data type; the exporter does not broadcast it."""
    return source.to(target.dtype).expand(target.shape)


def _average_pooling(
    x: Tensor,
    kernel: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Average pooling with a divisor, which the exporter ignores.

    Padding makes all windows whole, so that each mean times the window's size is its sum.
    """
    if divisor_override is None:
        return NotImplemented
    pool = {2: F.avg_pool2d, 3: F.avg_pool3d}[len(kernel)]
    pads: list[int] = []
    for size, length, step, pad in zip(
        x.shape[-len(kernel) :],
        kernel,
        stride or kernel,
        padding if len(padding) == len(kernel) else (*padding,) * len(kernel),
        strict=True,
    ):
        end = pad
        if ceil_mode:  # the last window starts in the input or in its first padding
            last = torch.sym_min((size + 2 * pad - length + step - 1) // step, (size + pad - 1) // step) * step
            end = torch.sym_max(pad, last + length - size - pad)
        pads = [pad, end, *pads]
    return pool(F.pad(x, pads), kernel, stride) * (math.prod(kernel) / divisor_override)


def _adaptive(pool: Any) -> Callable[..., Any]:
    """Return an adaptive pooling whose windows all have one size."""

    def pooled(x: Tensor, output_size: Sequence[int]) -> Any:
        sizes = x.shape[-len(output_size) :]
        if not all(isinstance(size, int) and size % count == 0 for size, count in zip(sizes, output_size, strict=True)):
            return NotImplemented
        window = [size // count for size, count in zip(sizes, output_size, strict=True)]
        return pool(x, window, window)

    return pooled


def _scatter_legacy(x: Tensor, dim: int, index: Tensor, source: Any, *, reduce: str) -> Tensor:
    """PyTorch's older scatter with reduction, "add" or "multiply". source: a tensor or a number."""
    if not isinstance(source, Tensor):
        source = torch.full_like(index, source, dtype=x.dtype)
    return x.scatter_reduce(dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def _aligned_corners(operator: Any) -> Callable[..., Any]:
    """Return a decomposition that resizes by output sizes if corners are aligned, because PyTorch then ignores scale
    factors and ONNX does not. It rounds bytes, which the exporter's Resize truncates."""

    def resized(x: Tensor, size: Any, align_corners: bool, scale_factors: Sequence[float] | None = None) -> Any:
        if x.dtype == torch.uint8:
            return operator(x.float(), size, align_corners, scale_factors).round().clamp(0, 255).to(x.dtype)
        if not align_corners or scale_factors is None:
            return NotImplemented
        return operator(x, [int(n * scale) for n, scale in zip(x.shape[2:], scale_factors, strict=True)], True, None)

    return resized


def _antialiased(reach: int, kernel: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    """Return a resizing with antialiasing by matrices: the exporter ignores scales and truncates bytes, and its corners
    are not PyTorch's.

    kernel: weights by distance, zero from reach on.
    """

    def resized(x: Tensor, sizes: Sequence[int], align_corners: bool, *scales: float | None) -> Any:
        if not align_corners and not any(scales) and x.is_floating_point():
            return NotImplemented
        rows, columns = (
            weights(x, axis, output, align_corners, scale)
            for axis, output, scale in zip((2, 3), sizes, scales or (None, None), strict=True)
        )
        if x.is_floating_point():
            return rows @ x @ columns.T
        return rounded(rows @ rounded(x.float() @ columns.T)).to(x.dtype)

    def rounded(x: Tensor) -> Tensor:
        """Round and limit to bytes, as PyTorch does along each axis."""
        return (x + 0.5).floor().clamp(0, 255)

    def weights(x: Tensor, axis: int, output: int, align_corners: bool, scale: float | None) -> Tensor:
        size = x.shape[axis]
        step = 1 / scale if scale else size / output
        if align_corners:
            step = (size - 1) / (output - 1) if output > 1 else 0.0
        stretch = max(step, 1.0)
        centers = (torch.arange(output)[:, None] + 0.5) * step
        elements = torch.arange(size)
        first = (centers - reach * stretch + 0.5).to(torch.int64)
        end = (centers + reach * stretch + 0.5).to(torch.int64)
        found = kernel((elements - centers + 0.5) / stretch) * ((elements >= first) & (elements < end))
        return (found / found.sum(1, keepdim=True)).to(x.dtype if x.is_floating_point() else torch.float32)

    return resized


def _triangle(x: Tensor) -> Tensor:
    return (1 - x.abs()).clamp(min=0)


def _cubic(x: Tensor) -> Tensor:
    """Keys' kernel with a = -0.5."""
    x = x.abs()
    outer = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, (1.5 * x - 2.5) * x * x + 1, torch.where(x < 2, outer, 0.0))


_HALVES = (torch.float16, torch.bfloat16)


def _in_float32(operator: Any) -> Callable[..., Any]:
    """Return a decomposition for half precision: computed in FLOAT32 and converted back, because the exporter's result
    would be FLOAT32."""

    def reduced(x: Tensor, *arguments: Any, dtype: torch.dtype | None = None, **named: Any) -> Any:
        if dtype is not None or x.dtype not in _HALVES:
            return NotImplemented
        return operator(x.float(), *arguments, **named).to(x.dtype)

    return reduced


def _extremum(operator: Any) -> Callable[..., Any]:
    """Return a decomposition that names all dimensions if the call names none, because the exporter requires names. It
    computes half precision in FLOAT32, as ``_in_float32`` does."""

    def reduced(x: Tensor, dim: Sequence[int] = (), keepdim: bool = False) -> Any:
        is_half = x.dtype in _HALVES
        if not is_half and (dim or not x.ndim):
            return NotImplemented
        return operator(x.float() if is_half else x, dim or list(range(x.ndim)), keepdim).to(x.dtype)

    return reduced


def _scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    """scatter_reduce by means, and by extrema without self.

    The exporter would replace elements by means instead of including them, and it starts extrema at the type's finite
    limits.
    """
    if reduce == "mean":
        source = source[tuple(map(slice, index.shape))]
        if not include_self:
            x = x.scatter(dim, index, 0)
        counts = torch.full_like(x, int(include_self)).scatter_add(dim, index, torch.ones_like(source))
        rounding = None if x.is_floating_point() else "floor"
        return torch.div(x.scatter_add(dim, index, source), counts.clamp(min=1), rounding_mode=rounding)
    if include_self or reduce not in ("amax", "amin") or not x.is_floating_point():
        return NotImplemented
    x = x.scatter(dim, index, -math.inf if reduce == "amax" else math.inf)
    return x.scatter_reduce(dim, index, source, reduce)


#: Coefficients of log(erfc(z) exp(z^2) / t) by powers of t = 2 / (2 + z); relative error 1.2e-7.
_ERFC = (
    *(-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806),
    *(0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277),
)


def _erfcx(x: Tensor) -> Tensor:
    """exp(x^2) erfc(x), which the exporter computes by 1 - erf(x): 0 from 4 on."""
    t = 1 / (1 + 0.5 * x.abs())
    found = torch.zeros_like(t)
    for coefficient in reversed(_ERFC):
        found = found * t + coefficient
    found = t * found.exp()
    return torch.where(x < 0, 2 * (x * x).exp() - found, found)


#: Rows of a tile of a grouped product.
_TILE = 16


def _grouped_product(x: Tensor, weight: Tensor, ends: Tensor) -> Tensor:
    """transformers' product of sorted rows with each group's matrix {groups, K, N}; rows beyond the last group are 0.

    ends: the index after each group's last row. A tile multiplies consecutive rows by the matrix of its first row's
    group; results of other groups' rows are not read. Constant matrices are read where they are, without a gather.
    """
    rows, groups = x.shape[0], weight.shape[0]
    tile = 1 if isinstance(rows, int) and rows <= groups else _TILE
    starts = torch.cat([torch.zeros_like(ends[:1]), ends[:-1]])
    tiles = (ends - starts + tile - 1) // tile
    last = tiles.cumsum(0)
    first = last - tiles
    number, row = torch.arange(torch.sym_min(rows, rows // tile + groups)), torch.arange(rows)
    group = (number[:, None] >= last).sum(1).clamp(max=groups - 1)
    read = (starts[group] + (number - first[group]) * tile)[:, None] + torch.arange(tile)
    found = torch.bmm(x[read.clamp(max=rows - 1)], weight[group])
    group = (row[:, None] >= ends).sum(1)
    is_grouped, group = group < groups, group.clamp(max=groups - 1)
    return torch.where(is_grouped[:, None], found.flatten(0, 1)[first[group] * tile + row - starts[group]], 0)


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

_SUMS = [
    torch.ops.aten.sum.default,
    torch.ops.aten.sum.dim_IntList,
    torch.ops.aten.prod.default,
    torch.ops.aten.prod.dim_int,
    torch.ops.aten.cumsum.default,
]

_RESIZED = [
    torch.ops.aten.upsample_bilinear2d.vec,
    torch.ops.aten.upsample_bicubic2d.vec,
    torch.ops.aten.upsample_trilinear3d.vec,
]

#: Decompositions by operator.
FAST_PATHS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.cross_entropy_loss.default: _cross_entropy,
    torch.ops.aten.copy.default: _copy,
    **{operator: _in_float32(operator) for operator in _SUMS},
    torch.ops.aten.amax.default: _extremum(torch.ops.aten.amax.default),
    torch.ops.aten.amin.default: _extremum(torch.ops.aten.amin.default),
    torch.ops.aten.scatter_reduce.two: _scatter_reduce,
    torch.ops.aten.scatter.reduce: _scatter_legacy,
    torch.ops.aten.scatter.value_reduce: _scatter_legacy,
    torch.ops.aten.adaptive_max_pool2d.default: _adaptive(torch.ops.aten.max_pool2d_with_indices),
    torch.ops.aten.adaptive_max_pool3d.default: _adaptive(torch.ops.aten.max_pool3d_with_indices),
    torch.ops.aten._adaptive_avg_pool3d.default: _adaptive(torch.ops.aten.avg_pool3d),
    torch.ops.aten.special_erfcx.default: _erfcx,
    torch.ops.aten.avg_pool2d.default: _average_pooling,
    torch.ops.aten.avg_pool3d.default: _average_pooling,
    **{operator: _aligned_corners(operator) for operator in _RESIZED},
    torch.ops.aten._upsample_bilinear2d_aa.default: _antialiased(1, _triangle),
    torch.ops.aten._upsample_bicubic2d_aa.default: _antialiased(2, _cubic),
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


def fast_paths() -> dict[Any, Callable[..., Any]]:
    """Return FAST_PATHS and the decompositions of operators that libraries have registered by now."""
    grouped = getattr(torch.ops.transformers, "grouped_mm_fallback", None)
    return FAST_PATHS if grouped is None else FAST_PATHS | {grouped.default: _grouped_product}
