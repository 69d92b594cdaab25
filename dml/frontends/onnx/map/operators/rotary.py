"""Rotary position embeddings of ONNX Runtime's com.microsoft domain; ONNX's own is a function of other operators."""

from __future__ import annotations

from dml.errors import DMLError

from ...dtypes import INT64
from ...registry import onnx_op
from ..functions import gather, join, part, slices, unzipped, zipped
from ..node import OnnxNode, Unsupported
from ..traced_arrays import counted
from ..value import OnnxValue, cast, reshape, transpose


def rotated(
    x: OnnxValue, positions: OnnxValue, cosines: OnnxValue, sines: OnnxValue, *, interleaved: bool
) -> OnnxValue:
    """Rotate pairs of elements of each head by the angles of their positions.

    x: {batch, sequence, head, element}. positions: {batch or 1, sequence}. cosines, sines: {position, pairs}; elements
    after the pairs are copied. Pairs are adjacent if ``interleaved``, else from the first and the second half.
    """
    pairs = cosines.shape[1]
    cos, sin = (reshape(gather(cache, positions, 0), (*positions.shape, 1, pairs)) for cache in (cosines, sines))
    a, b = unzipped(x, pairs) if interleaved else slices(x, 3, (pairs, pairs))
    turned = cos * a - sin * b, sin * a + cos * b
    result = zipped(*turned) if interleaved else join(turned, 3)
    rest = x.shape[3] - 2 * pairs
    return join([result, part(x, 3, 2 * pairs, rest)], 3) if rest else result


def turned(
    node: OnnxNode,
    query: OnnxValue,
    key: OnnxValue,
    size: int,
    past: OnnxValue | None,
    caches: tuple[int, int] = (7, 8),
    ids: int | None = 9,
) -> list[OnnxValue]:
    """Return query and key of an attention with their rotary embeddings. past: {B}, or None.

    caches: indices of the inputs with cosines and sines. ids: index of the input with positions, if the operator has
    one.
    """
    batch, steps = query.shape[:2]
    positions = node.constant(counted((1, steps), INT64))
    given = None if ids is None else node.optional(ids)
    if given is not None and past is None:
        positions = reshape(part(reshape(cast(given, INT64), (1, given.size)), 1, 0, 1), (1, 1)) + positions
    elif given is not None:
        positions = reshape(cast(given, INT64), (batch, steps))
    elif past is not None:
        positions = reshape(cast(past, INT64), (batch, 1)) + positions
    interleaved = bool(node.integer("rotary_interleaved", 0))
    results = []
    cosines, sines = (node.input(index, rank=2) for index in caches)
    # onnxruntime's rule: its kernels process eight elements at a time
    width, most = cosines.shape[1], size // 16 * 8
    if sines.shape != cosines.shape or not 0 < width <= most or width % 8:
        raise DMLError(
            f"cos_cache and sin_cache must have equal shapes with a multiple of 8 columns, at most {most} for "
            f"heads of {size}, found {cosines.shape} and {sines.shape}"
        )
    for x in (query, key):
        split = reshape(x, (batch, steps, x.shape[2] // size, size))
        results.append(reshape(rotated(split, positions, cosines, sines, interleaved=interleaved), x.shape))
    return results


@onnx_op("RotaryEmbedding", domain="com.microsoft")
def rotary_embedding(node: OnnxNode) -> OnnxValue:
    """Rotate {batch, sequence, heads * element} or {batch, head, sequence, element}. Positions are given for the whole
    sequence, or only for its first element.

    The attribute scale has no effect, as in onnxruntime.
    """
    x, positions, cosines, sines = node.input(0), node.input(1), node.input(2, rank=2), node.input(3, rank=2)
    if node.integer("is_packed_batching", 0):
        raise Unsupported(f"is_packed_batching = {node.integer('is_packed_batching', 0)} is not mapped")
    node.check(x.rank in (3, 4), f"input must have rank 3 or 4, found shape {x.shape}")
    dim = node.integer("rotary_embedding_dim", 0, least=0)
    if x.rank == 4:
        split = transpose(x, (0, 2, 1, 3))
    else:
        heads = node.integer("num_heads", 0, least=0)
        size = x.shape[2] // heads if heads else 2 * cosines.shape[1]
        if not size or x.shape[2] % size:
            raise DMLError(f"input of shape {x.shape} does not divide into heads of {size}")
        split = reshape(x, (*x.shape[:2], x.shape[2] // size, size))
    # Without rotary_embedding_dim all elements of a head are rotated.
    wanted = dim or split.shape[3]
    if sines.shape != cosines.shape or 2 * cosines.shape[1] != wanted or wanted > split.shape[3]:
        raise DMLError(
            f"cos_cache and sin_cache must have equal shapes, with {wanted // 2} columns to rotate {wanted} elements "
            f"of heads of {split.shape[3]}, found {cosines.shape} and {sines.shape}"
        )
    batch, steps = split.shape[:2]
    if positions.size == 1 and positions.rank < 2:
        positions = reshape(cast(positions, INT64), (1, 1)) + node.constant(counted((1, steps), INT64))
    elif positions.shape != (batch, steps):
        raise DMLError(f"position_ids must have shape (1,) or {(batch, steps)}, found {positions.shape}")
    interleaved = bool(node.integer("interleaved", 0))
    result = rotated(split, positions, cosines, sines, interleaved=interleaved)
    return transpose(result, (0, 2, 1, 3)) if x.rank == 4 else reshape(result, x.shape)
