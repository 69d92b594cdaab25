"""Key and value cache operations of GroupQueryAttention that DirectML lacks: row insertion, quantized caches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dml.graph.operations as op
from dml.descriptors.attention import OWN_INSERT_ROWS_OPERATOR_DESC

from ...dtypes import FLOAT32, INT32, UINT8
from ..functions import gather_elements, unzipped, zipped
from ..node import OnnxNode, Unsupported
from ..traced_arrays import counted
from ..value import OnnxValue, cast, constant, expanded, one, reshape, unary, where, within


def inserted(new: OnnxValue, past: OnnxValue, positions: OnnxValue) -> OnnxValue:
    """Return the past {B, M, T, C} with new rows {B, M, S, C} at each batch element's position, then zeros."""
    steps, room = new.shape[2], past.shape[2]
    start = reshape(positions, (positions.size, 1, 1, 1))
    places = constant(past.builder, counted((1, 1, room, 1))) - start
    if steps == 1:
        moved = expanded(new, past.shape)
    else:
        moved = gather_elements(new, expanded(within(places, 0, steps - 1), past.shape), 2)
    return where(places < 0, past, where(places < steps, moved, moved.filled(0)))


def inserted_in_place(new: OnnxValue, shape: Sequence[int], positions: OnnxValue) -> OnnxValue:
    """Write new rows {B, M, S, C} at ``positions`` of a cache {B, M, T, C} that is bound as the model's output."""
    return one(
        OWN_INSERT_ROWS_OPERATOR_DESC,
        new,
        shape,
        RowsTensor=new,
        PositionsTensor=reshape(cast(positions, INT32), (positions.size,)),
    )


def written(new: OnnxValue, past: OnnxValue, positions: OnnxValue, *, in_place: bool) -> OnnxValue:
    """Write new rows into the past starting at ``positions``: in place, or into a copy."""
    return inserted_in_place(new, past.shape, positions) if in_place else inserted(new, past, positions)


def full_cache(room: int) -> str:
    """Return the error message for a sequence longer than the cache."""
    return f"the cache has room for {room} positions"


@dataclass(frozen=True)
class KeyValueCache:
    """The storage of cached keys or values: the model's data type, or 8 or 4 bits (two per byte) with scales.

    scale: one number, or one for each head and element, {1, M, 1, H}.
    """

    bits: int = 0
    scale: OnnxValue | None = None

    @classmethod
    def of(cls, node: OnnxNode, index: int, heads: int, size: int) -> KeyValueCache:
        """Read the node's attributes. index: 0 for keys, 1 for values."""
        name = ("k", "v")[index]
        kind = node.one_of(f"{name}_quant_type", "NONE", ("NONE", "PER_TENSOR", "PER_CHANNEL"))
        if kind == "NONE":
            return cls()
        bits, scale = node.integer("kv_cache_bit_width", 0), node.input(12 + index)
        node.check(bits in (4, 8), f"attribute 'kv_cache_bit_width' must be 4 or 8, found {bits}")
        before = node.optional(3 + index, rank=4)
        if before is not None and before.dtype != (np.int8 if bits == 8 else UINT8):
            raise Unsupported(f"a past of {bits} bits in {before.dtype} is not mapped")
        wanted = 1 if kind == "PER_TENSOR" else heads * size
        node.check(scale.size == wanted, f"{name}_scale must have {wanted} elements, found shape {scale.shape}")
        return cls(bits, reshape(cast(scale, FLOAT32), (1, heads, 1, size) if wanted > 1 else (1, 1, 1, 1)))

    def stored(self, x: OnnxValue) -> OnnxValue:
        if self.scale is None:
            return x
        least = -(2.0 ** (self.bits - 1))
        steps = unary(op.clip, unary(op.round_, cast(x, FLOAT32) / self.scale), min=least, max=-least - 1)
        if self.bits == 8:
            return cast(steps, np.int8)
        low, high = unzipped(steps, steps.shape[3] // 2)
        return cast(low + 8 + (high + 8) * 16, UINT8)

    def loaded(self, x: OnnxValue) -> OnnxValue:
        if self.scale is None:
            return x
        steps = cast(x, FLOAT32)
        if self.bits == 4:
            high = unary(op.floor, steps * 0.0625)
            steps = zipped(steps - high * 16, high) - 8
        return steps * self.scale
