"""Normalizations.

Statistics are computed in float32 for every data type: the default of ``stash_type``, and its most precise choice on
the device.
"""

from __future__ import annotations

from math import prod

import numpy as np

import dml.graph.operations as op
from dml import descriptors as d
from dml.frontends.meaning.normalization import group_normalization
from dml.shapes import checked_axis, with_rank, with_size

from ...dtypes import FLOAT32, INT32, INT64
from ...registry import onnx_op
from ..functions import gather, mean, total
from ..node import OnnxNode, Unsupported
from ..traced_arrays import counted
from ..value import OnnxValue, applied, binary, cast, expanded, one, reshape, unary


def mean_variance(
    x: OnnxValue,
    axes: list[int],
    epsilon: float,
    scale: OnnxValue | None = None,
    bias: OnnxValue | None = None,
    *,
    variance: bool = True,
) -> OnnxValue:
    """Return (x - mean) / standard deviation over axes, scaled and shifted by tensors that broadcast."""
    function, parameters = op.mean_variance_normalization, (_same(scale, x), _same(bias, x))
    return applied(function, x, x.shape, sorted(axes), *parameters, normalize_variance=variance, epsilon=epsilon)


def _same(value: OnnxValue | None, x: OnnxValue) -> OnnxValue | None:
    """Convert a scale or bias to the data type and the rank of its operand."""
    return None if value is None else cast(reshape(value, with_rank(value.shape, x.rank)), x.dtype)


@onnx_op("GroupNormalization", since=18)
def group_normalization_(node: OnnxNode) -> OnnxValue:
    """GroupNormalization with scale and bias per channel, or per group before version 21."""
    x, scale, bias = node.input(0), node.input(1), node.input(2)
    node.check(x.rank >= 2, f"X must have at least rank 2, found shape {x.shape}")
    channels = x.shape[1]
    groups = node.integer("num_groups", 0)
    node.check(groups >= 1 and channels % groups == 0, f"num_groups must divide {channels} channels, found {groups}")
    wanted = (channels if node.version >= 21 else groups,)
    for name, value in (("scale", scale), ("bias", bias)):
        node.check(value.shape == wanted, f"{name} must have shape {wanted}, found {value.shape}")
    scale, bias = cast(scale, x.dtype), cast(bias, x.dtype)
    return applied(group_normalization, x, x.shape, groups, scale, bias, node.number("epsilon", 1e-5))


@onnx_op("GroupNorm", since=21)
@onnx_op("GroupNorm", domain="com.microsoft")
def group_norm(node: OnnxNode) -> OnnxValue:
    """Normalize groups; scale and bias per channel; channels last by default. activation: 0 none, 1 x * sigmoid(x)."""
    return _group_norm(node, node.input(0, least=2))


@onnx_op("SkipGroupNorm", domain="com.microsoft")
def skip_group_norm(node: OnnxNode) -> list[OnnxValue | None]:
    """Return GroupNorm of x + skip + bias, and that sum. skip: like x, or per channel, {N, C} or {N, 1, 1, C}."""
    x, skip, bias = node.input(0, least=2), node.input(3), node.optional(4, rank=1)
    last = bool(node.integer("channels_last", 1))
    axis = x.rank - 1 if last else 1
    channels = with_size((1,) * x.rank, axis, x.shape[axis])
    if skip.shape != x.shape:
        each = with_size(channels, 0, x.shape[0])
        fits = skip.size == x.shape[0] * x.shape[axis]
        node.check(fits, f"skip must have the shape of X or {(x.shape[0], x.shape[axis])}, found {skip.shape}")
        skip = expanded(reshape(skip, each), x.shape)
    added = x + skip
    if bias is not None:
        node.check(bias.size == x.shape[axis], f"bias must have {x.shape[axis]} elements, found shape {bias.shape}")
        added = added + reshape(bias, channels)
    return [_group_norm(node, added), added]


def _group_norm(node: OnnxNode, x: OnnxValue) -> OnnxValue:
    last = bool(node.integer("channels_last", 1))
    groups, activation = node.integer("groups", 0), node.integer("activation", 0)
    channels = x.shape[-1 if last else 1]
    node.check(groups >= 1 and channels % groups == 0, f"groups must divide {channels} channels, found {groups}")
    node.check(activation in (0, 1), f"activation must be 0 or 1, found {activation}")
    parameters = [node.input(index) for index in (1, 2)]
    for name, value in zip(("gamma", "beta"), parameters, strict=True):
        node.check(value.size == channels, f"{name} must have {channels} elements, found shape {value.shape}")
    own, epsilon = [cast(value, x.dtype) for value in parameters], node.number("epsilon", 1e-5)
    result = applied(group_normalization, x, x.shape, groups, *own, epsilon, channels_last=last)
    return unary(op.swish, result, sigmoid_input_scale=1.0) if activation else result


@onnx_op("InstanceNormalization")
def instance_normalization(node: OnnxNode) -> OnnxValue:
    x, scale, bias = node.input(0, least=2), node.input(1), node.input(2)
    sizes = (1, x.shape[1], *(1,) * (x.rank - 2))
    axes = list(range(2, x.rank))
    return mean_variance(x, axes, node.number("epsilon", 1e-5), reshape(scale, sizes), reshape(bias, sizes))


@onnx_op("LayerNormalization")
@onnx_op("LayerNormalization", since=17)
def layer_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    """Return Y, Mean and InvStdDev; the statistics are float32, stash_type's default."""
    x, scale, bias = node.input(0), node.input(1), node.optional(2)
    axes = list(range(node.axis("axis", -1, x.rank), x.rank))
    epsilon = node.number("epsilon", 1e-5)
    results: list[OnnxValue | None] = [mean_variance(x, axes, epsilon, scale, bias), None, None]
    if node.wants(1) or node.wants(2):
        exact = cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
        middle = mean(exact, axes)
        results[1] = cast(middle, FLOAT32)
        if node.wants(2):
            results[2] = _inverse_root(mean(binary(op.difference_square, exact, middle), axes) + epsilon)
    return results


def _inverse_root(x: OnnxValue) -> OnnxValue:
    return cast(unary(op.recip, unary(op.sqrt, x)), FLOAT32)


def root_mean_square(x: OnnxValue, scale: OnnxValue | None, axes: list[int], epsilon: float) -> OnnxValue:
    """Return x divided by its root mean square, scaled."""
    function = op.mean_variance_normalization
    return applied(function, x, x.shape, axes, _same(scale, x), normalize_mean=False, epsilon=epsilon)


@onnx_op("RMSNormalization", since=23)
@onnx_op("SimplifiedLayerNormalization")
@onnx_op("SimplifiedLayerNormalization", domain="com.microsoft")
def rms_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    """Return Y and, for SimplifiedLayerNormalization, the inverse root mean square in float32."""
    x, epsilon = node.input(0), node.number("epsilon", 1e-5)
    axes = list(range(node.axis("axis", -1, x.rank), x.rank))
    normalized = root_mean_square(x, node.input(1), axes, epsilon)
    if not node.wants(1):
        return [normalized, None]
    exact = cast(x, FLOAT32) if x.dtype.itemsize < 4 else x
    return [normalized, _inverse_root(mean(exact * exact, axes) + epsilon)]


@onnx_op("EmbedLayerNormalization", domain="com.microsoft")
def embed_layer_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    """Return the normalized sum of word, position and segment embeddings, the lengths of the masks, and the sum."""
    words, segments = node.input(0, rank=2), node.optional(1)
    batch, steps = words.shape
    positions = node.optional(8)
    if positions is None:
        positions = node.constant(counted((1, steps), INT64))
    embedded = gather(node.input(2, rank=2), words, 0) + gather(node.input(3, rank=2), positions, 0)
    if segments is not None:
        embedded = embedded + gather(node.input(4, rank=2), segments, 0)
    y = mean_variance(embedded, [2], node.number("epsilon", 1e-12), node.input(5), node.input(6))
    mask, counts = node.optional(7), None
    if node.wants(1):
        counts = node.constant(np.zeros(batch, np.int32)) if mask is None else total(cast(mask, INT32), [1], keep=False)
    return [y, counts, embedded]


@onnx_op("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain="com.microsoft")
def skip_layer_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    simplified = node.op.startswith("SkipSimplified")
    if node.wants(1) or node.wants(2):
        raise Unsupported("its outputs mean and inv_std_var are not mapped")
    x = node.input(0) + node.input(1)
    bias = node.optional(3 if simplified else 4)
    if bias is not None:
        x = x + bias
    epsilon = node.number("epsilon", 1e-12)
    axes = [x.rank - 1]
    if simplified:
        normalized = root_mean_square(x, node.input(2), axes, epsilon)
    else:
        normalized = mean_variance(x, axes, epsilon, node.input(2), node.optional(3))
    return [normalized, None, None, x]


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization(node: OnnxNode) -> OnnxValue:
    x = node.input(0)
    # Before version 9 there is across_channels instead of axes.
    axes = node.ints("axes") or [0, *range(1 if node.integer("across_channels", 0) else 2, x.rank)]
    chosen = [checked_axis(axis, x.rank) for axis in axes]
    # ONNX adds 1e-9 to the standard deviation, which matters where that is 0: its square here has the same effect.
    return mean_variance(x, chosen, 1e-18, variance=bool(node.integer("normalize_variance", 1)))


@onnx_op("BatchNormalization")
def batch_normalization(node: OnnxNode) -> list[OnnxValue | None]:
    """Normalize (versions 1 to 15); the outputs of training (from 14 on) are the running mean and variance."""
    x = node.input(0)
    channels = (1, x.shape[1], *(1,) * (x.rank - 2)) if x.rank > 1 else (1,)
    scale, bias, middle, variance = (node.input(index) for index in range(1, 5))
    epsilon = node.number("epsilon", 1e-5)
    spatial = bool(node.integer("spatial", 1))
    if not spatial:  # before version 9: statistics for each element of a sample
        channels = (1, *x.shape[1:])
    if node.version >= 14 and node.integer("training_mode", 0):
        return _batch_training(node, x, channels, epsilon)
    tensors = [cast(reshape(value, channels), x.dtype) for value in (middle, variance, scale, bias)]
    y = applied(op.batch_normalization, x, x.shape, *tensors, spatial=spatial, epsilon=epsilon)
    return [y, *[None] * 4]


def _batch_training(node: OnnxNode, x: OnnxValue, channels: tuple[int, ...], epsilon: float) -> list[OnnxValue | None]:
    momentum = node.number("momentum", 0.9)
    scale, bias = (cast(reshape(node.input(index), channels), x.dtype).tensor for index in (1, 2))
    y, *statistics = op.batch_normalization_training(x.tensor, scale, bias, epsilon=epsilon)
    results: list[OnnxValue | None] = [x.with_tensor(y)]
    for index, tensor in enumerate(statistics, 3):
        running = node.input(index)
        new = cast(reshape(x.with_tensor(tensor, channels), running.shape), running.dtype)
        results.append(running * momentum + new * (1.0 - momentum))
    return results


@onnx_op("LRN")
def local_response_normalization(node: OnnxNode) -> OnnxValue:
    x = node.input(0, least=2)
    size = node.integer("size", 1, least=1)
    view = x if x.rank == 4 else reshape(x, (x.shape[0], x.shape[1], 1, prod(x.shape[2:])))
    result = applied(
        op.local_response_normalization,
        view,
        view.shape,
        local_size=size,
        alpha=node.number("alpha", 1e-4),
        beta=node.number("beta", 0.75),
        bias=node.number("bias", 1.0),
    )
    return reshape(result, x.shape)


@onnx_op("LpNormalization")
def lp_normalization(node: OnnxNode) -> OnnxValue:
    """Divide by the norm along an axis; zeros stay zeros, because the norm is at least the smallest normal float32."""
    x = node.input(0)
    return one(
        d.DML_LP_NORMALIZATION_OPERATOR_DESC,
        x,
        x.shape,
        InputTensor=x,
        Axis=node.axis("axis", -1, x.rank),
        Epsilon=1.1754943508222875e-38,
        P=node.integer("p", 2),
    )
