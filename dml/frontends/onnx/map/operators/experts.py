"""Mixtures of experts of com.microsoft: MoE, and QMoE with weights of few bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

import numpy as np

import dml.graph.operations as op
from dml.errors import DMLError

from ...dtypes import FLOAT16, FLOAT32, UINT8, UINT32
from ...registry import onnx_op
from ..few_bits import dequantized_blocks, middle, unpacked
from ..functions import gather, gather_elements, join, matmul, part, slices, total, unzipped
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, cast, constant, expanded, maximum, minimum, reshape, unary, where
from .activation import softmax_along, tanh_gelu

#: Maximum bytes of the results of all experts at a time; more tokens are processed in chunks.
MOST_BYTES = 64 << 20
#: The sparse mixer considers scores within twice this relative distance of the largest.
_JITTER = 0.01
#: The score of an excluded expert.
_TAKEN = float(np.finfo(np.float32).min)


@dataclass(frozen=True)
class _Layer:
    """The weights of all experts {E, N, K}, possibly packed, and their bias {E, N}.

    numbers: computes the weights from slices of ``packed`` along the first axis.
    """

    packed: tuple[OnnxValue | None, ...]
    numbers: Callable[[tuple[OnnxValue | None, ...]], OnnxValue]
    bias: OnnxValue | None

    @property
    def rows(self) -> int:
        assert self.packed[0] is not None
        return self.packed[0].shape[1]

    def of(self, x: OnnxValue, chosen: OnnxValue | None) -> OnnxValue:
        """Multiply x {P, t, K} by the transposed weights of the chosen experts {P} (None: of all), and add their bias.

        A graph does not run the gathers of constant weights: products read the chosen ones.
        """
        picked = [
            item if item is None or chosen is None else gather(item, chosen, 0) for item in (*self.packed, self.bias)
        ]
        product = matmul(x, cast(self.numbers(tuple(picked[:-1])), x.dtype), transpose_b=True)
        bias = picked[-1]
        return product if bias is None else product + reshape(cast(bias, x.dtype), (bias.shape[0], 1, bias.shape[1]))


@onnx_op("MoE", domain="com.microsoft")
def mixture_of_experts(node: OnnxNode) -> OnnxValue:
    """Process tokens {..., H} by the k experts with the highest scores {T, E}; the results are weighted by the scores.

    For few tokens, only the weights of the chosen experts are read. If tokens * k exceeds the number of experts, all
    experts process all tokens, and experts that were not chosen get weight 0.
    """
    layers = []
    for index in (2, 4, 6):
        weights = node.optional(index, rank=3)
        layers.append(None if weights is None else _Layer((weights,), _as_given, node.optional(index + 1, rank=2)))
    return _mixed(node, layers, router_weights=None)


def _as_given(given: tuple[OnnxValue | None, ...]) -> OnnxValue:
    assert given[0] is not None
    return given[0]


@onnx_op("QMoE", domain="com.microsoft")
def quantized_mixture_of_experts(node: OnnxNode) -> OnnxValue:
    """Compute MoE with weights of 2, 4 or 8 bits, with a scale for each row or block."""
    kind = node.text("quant_type", "int")
    if kind != "int":
        raise Unsupported(f"quant_type = {kind!r} is not mapped")
    # onnxruntime on the host would read these weights as if they were not rearranged
    node.check(
        node.integer("weights_prepacked", -1) != 1,
        "weights rearranged for CUDA (weights_prepacked = 1) are not supported",
    )
    width = node.input(0, least=2).shape[-1]
    depths = {"fc1": width, "fc2": None, "fc3": width}
    layers = [_quantized_layer(node, index, name, depth) for index, (name, depth) in enumerate(depths.items())]
    return _mixed(node, layers, router_weights=node.optional(14, rank=2))


def _quantized_layer(node: OnnxNode, number: int, name: str, depth: int | None) -> _Layer | None:
    """Read the weights of one layer. depth: the required number of columns; None for any."""
    weights, scales = node.optional(2 + 3 * number, rank=3), node.optional(3 + 3 * number)
    if weights is None:
        return None
    bits = node.integer(f"{name}_expert_weight_bits", node.integer("expert_weight_bits", 4))
    if bits not in (2, 4, 8) or weights.dtype != UINT8:
        raise Unsupported(f"{name} weights of {bits} bits in {weights.dtype} are not mapped")
    experts, rows, columns = weights.shape[0], weights.shape[1], weights.shape[2] * 8 // bits
    if depth not in (None, columns):
        transposed = ""
        if weights.shape[1] == depth:
            transposed = "; they are transposed, as the builder writes them for CUDA: build for another provider"
        raise DMLError(
            f"{name} weights must have {depth} columns of {bits} bits, as the input has, "
            f"found {weights.shape}{transposed}"
        )
    block = node.integer("block_size", 0, least=0) or columns
    blocks = -(-columns // block)
    node.check(
        columns % block == 0, f"{name} weights must have a multiple of {block} columns, the block size, found {columns}"
    )
    if scales is None or scales.size != experts * rows * blocks:
        found = None if scales is None else scales.shape
        raise DMLError(f"{name}_scales must have shape {(experts, rows, blocks)}, found {found}")
    float_scales = scales if scales.dtype in (FLOAT32, FLOAT16) else cast(scales, FLOAT32)
    zeros = node.optional(11 + number)

    def numbers(given: tuple[OnnxValue | None, ...]) -> OnnxValue:
        packed, scale, zero = given
        assert packed is not None
        assert scale is not None
        codes = unpacked(packed, bits, columns)
        if zero is None:
            points = middle(node.builder, bits, 3)
        elif zero.rank == 3:
            points = unpacked(zero, bits, blocks)
        else:  # packed along the rows
            if rows * bits % 8:
                raise Unsupported(f"zero points of {rows} rows of {bits} bits are not mapped")
            points = reshape(unpacked(zero, bits, rows), scale.shape)
        return dequantized_blocks(codes, scale, points)

    bias = node.optional(4 + 3 * number, rank=2)
    return _Layer((weights, reshape(float_scales, (experts, rows, blocks)), zeros), numbers, bias)


def _mixed(node: OnnxNode, layers: list[_Layer | None], *, router_weights: OnnxValue | None) -> OnnxValue:
    x, scores = node.input(0, least=2), node.input(1, rank=2)
    first, second, third = layers
    if first is None or second is None:
        raise DMLError("the weights of fc1 and fc2 must be given")
    tokens, experts = scores.shape
    k = node.integer("k", 1, least=1, most=experts)
    width = x.shape[-1]
    if x.size != tokens * width:
        raise DMLError(f"router_probs must have a row for each token, found {scores.shape} for {x.shape}")
    rows = reshape(x, (tokens, width))
    chosen, shares = _routed(node, cast(scores, FLOAT32), k, router_weights)

    def through(batch: OnnxValue, picked: OnnxValue | None) -> OnnxValue:
        return second.of(_activated(node, first, third, batch, picked), picked)

    if tokens * k <= experts:
        each = expanded(reshape(rows, (tokens, 1, width)), (tokens, k, width))
        result = through(reshape(each, (tokens * k, 1, width)), reshape(chosen, (tokens * k,)))
        weighted = cast(reshape(result, (tokens, k, width)), FLOAT32) * reshape(shares, (tokens, k, 1))
        return reshape(cast(total(weighted, [1], keep=False), x.dtype), x.shape)
    weights = _spread(chosen, shares, experts)
    count = max(1, MOST_BYTES // (4 * experts * max(width, first.rows)))
    parts = []
    for index in range(0, tokens, count):
        own = min(count, tokens - index)
        batch = expanded(reshape(part(rows, 0, index, own), (1, own, width)), (experts, own, width))
        result = cast(through(batch, None), FLOAT32) * reshape(part(weights, 1, index, own), (experts, own, 1))
        parts.append(cast(total(result, [0], keep=False), x.dtype))
    return reshape(join(parts, 0), x.shape)


def _routed(node: OnnxNode, scores: OnnxValue, k: int, router_weights: OnnxValue | None) -> tuple[OnnxValue, OnnxValue]:
    """Return the k experts of each token {T, k} and their weights."""
    if node.integer("use_sparse_mixer", 0):
        return _sparsely_mixed(node, scores, k)
    _, chosen = _highest(scores, k)
    given = softmax_along(scores, 1) if router_weights is None else cast(router_weights, FLOAT32)
    shares = gather_elements(given, chosen, 1)
    if node.integer("normalize_routing_weights", 0):
        shares = shares / total(shares, [1])
    return chosen, shares


def _sparsely_mixed(node: OnnxNode, scores: OnnxValue, k: int) -> tuple[OnnxValue, OnnxValue]:
    """Choose the two highest-scoring experts one after the other; each weight is a softmax over the experts with scores
    near it (phi-moe)."""
    node.check(k == 2, f"use_sparse_mixer takes k = 2, found {k}")
    left, chosen, shares = scores, [], []
    experts = constant(node.builder, np.arange(scores.shape[1], dtype=np.uint32)[None])
    for _ in range(k):
        most, index = _highest(left, 1)
        factor = maximum(unary(op.absolute, scores), most)
        is_close = (most - scores) / factor <= 2 * _JITTER
        is_close = where(left > _TAKEN, is_close, is_close.filled(0))
        shares.append(gather_elements(softmax_along(where(is_close, left, left.filled(_TAKEN)), 1), index, 1))
        chosen.append(index)
        left = where(experts.equals(index), left.filled(_TAKEN), left)
    return join(chosen, 1), join(shares, 1)


def _highest(x: OnnxValue, k: int) -> tuple[OnnxValue, OnnxValue]:
    shape = (x.shape[0], k)
    values, indices = op.top_k(x.tensor, k, 1)
    return x.with_tensor(values, shape), x.with_tensor(indices, shape, UINT32)


def _spread(chosen: OnnxValue, shares: OnnxValue, experts: int) -> OnnxValue:
    """Return the weight of each expert for each token, {E, T}: 0 if it was not chosen."""
    tokens, k = chosen.shape
    numbers = constant(chosen.builder, np.arange(experts, dtype=np.uint32).reshape(experts, 1, 1))
    shares = reshape(shares, (1, tokens, k))
    found = where(numbers.equals(reshape(chosen, (1, tokens, k))), shares, shares.filled(0))
    return total(found, [2], keep=False)


# Between the layers


def _activated(
    node: OnnxNode, first: _Layer, third: _Layer | None, x: OnnxValue, chosen: OnnxValue | None
) -> OnnxValue:
    kind = node.one_of("activation_type", "relu", ("relu", "relu2", "gelu", "silu", "swiglu", "geglu", "identity"))
    hidden = first.of(x, chosen)
    fusion = node.integer("swiglu_fusion", 0, least=0, most=2)
    if kind not in ("swiglu", "geglu"):
        hidden = _PLAIN[kind](hidden)
        return hidden if third is None else hidden * third.of(x, chosen)
    if fusion:
        gate, up = _halves(node, hidden, interleaved=fusion == 1)
    elif third is not None:
        gate, up = hidden, third.of(x, chosen)
    else:
        raise DMLError(f"{kind} without swiglu_fusion takes the weights of fc3")
    if kind == "geglu":
        return tanh_gelu(gate) * up
    return _swiglu(node, gate, up)


def _halves(node: OnnxNode, x: OnnxValue, *, interleaved: bool) -> tuple[OnnxValue, OnnxValue]:
    width = x.shape[2]
    node.check(width % 2 == 0, f"fused gates must have an even number of rows, found {width}")
    gate, up = unzipped(x, width // 2) if interleaved else slices(x, 2, [width // 2] * 2)
    return gate, up


def _swiglu(node: OnnxNode, gate: OnnxValue, up: OnnxValue) -> OnnxValue:
    """gate * sigmoid(alpha gate) * (up + beta), with both limited: the gate before or after its activation."""
    limit = node.number("swiglu_limit", inf)
    after = bool(node.integer("swiglu_limit_after_activation", 0))
    if limit < inf:
        up = unary(op.clip, up, min=-limit, max=limit)
        gate = gate if after else minimum(gate, gate.filled(limit))
    gate = unary(op.swish, gate, sigmoid_input_scale=node.number("activation_alpha", 1.0))
    if after and limit < inf:
        gate = minimum(gate, gate.filled(limit))
    return gate * (up + node.number("activation_beta", 0.0))


def _relu(x: OnnxValue) -> OnnxValue:
    return unary(op.relu, x)


_PLAIN: dict[str, Callable[[OnnxValue], OnnxValue]] = {
    "relu": _relu,
    "relu2": lambda x: _relu(x) * _relu(x),
    "gelu": tanh_gelu,  # (onnxruntime's variant)
    "silu": lambda x: unary(op.swish, x, sigmoid_input_scale=1.0),
    "identity": lambda x: x,
}
