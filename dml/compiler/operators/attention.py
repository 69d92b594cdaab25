"""Multi-head attention: in one kernel, or as two products with a masked softmax in between.

Heads and stacked parts are views of tensors.

Sizes: B batch, N query heads, M key and value heads, S queries, K new keys, T all keys, H and V head sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import overload

from dml.compiler.apply import apply, raw
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.prelude import Bound, read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.softmax import softmax
from dml.compiler.operators.attention_kernels import AttentionOperands, attend_at_once
from dml.compiler.operators.gemm.layout import transposed, with_aligned_rows
from dml.compiler.operators.gemm.matmul import ProductFinish, matmul
from dml.compiler.operators.key_value_cache import insert
from dml.compiler.operators.movement.move import move_each
from dml.compiler.operators.movement.views import trailing
from dml.compiler.parts import narrow
from dml.compiler.program import Operand
from dml.compiler.scalar import Leaf, node
from dml.compiler.selection.attention import attention_softmax, scores_together
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.enums import DML_MULTIHEAD_ATTENTION_MASK_TYPE, DML_TENSOR_DATA_TYPE_FLOAT32

_Mask = DML_MULTIHEAD_ATTENTION_MASK_TYPE
_NONE = _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
_PACKED = _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END
_BOOLEAN = _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN
#: Rank of the mask without leading dimensions of size 1, by type.
_MASK_RANKS = {
    _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH: 2,
    _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: 2,
    _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: 1,
    _Mask.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN: 4,
}


#: Maximum bytes of scores in memory at once, half of them before their softmax.
MOST_SCORES = 128 << 20

_Attention = DML_MULTIHEAD_ATTENTION_OPERATOR_DESC | DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC


@lowering(DML_MULTIHEAD_ATTENTION_OPERATOR_DESC, DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC)
def attention(desc: _Attention, builder: ProgramBuilder) -> None:
    """Lower the operator, with these choices where the reference is silent:

    - The filter value is added to masked scores, of any mask type, by the formula ("add mask"), so a fully masked row
      equals the unmasked result.
    - Present keys and values include the bias, which is added to new ones only.
    - With past lengths, a batch element's new keys follow the filled part of its past; later positions are masked, and
      are zero in the present outputs. Consecutive query heads share a key and value head.
    - Lengths without past tensors: the present tensors are a cache that holds the past, as in ONNX Runtime's
      GroupQueryAttention. New rows are written into it; later positions are masked and stay unchanged.
    - With the mask of 3 * batch + 2 numbers, starts are offsets into the whole batch; a query attends from its
      sequence's start to the next start, for at most the key length. Query starts have no effect: they would only mask
      whole rows.
    """
    if isinstance(desc, DML_MULTIHEAD_ATTENTION_OPERATOR_DESC):
        heads = key_heads = desc.HeadCount
    else:
        heads, key_heads = desc.QueryHeadCount, desc.KeyValueHeadCount
    query, key, value = _parts(builder, heads, key_heads)
    query_bias, key_bias, value_bias = _biases(builder.get("BiasTensor"), query, key, value)
    query = query if query_bias is None else _biased(builder, query, query_bias)
    lengths = builder.get("PastSequenceLengthsTensor")
    lengths = lengths and trailing(lengths, 1)
    new = key.sizes[2]
    key = _total(builder, "Key", key, key_bias, lengths)
    value = _total(builder, "Value", value, value_bias, lengths)
    result = _shared_heads(split_heads(trailing(builder["OutputTensor"], 3), heads), key_heads)
    mask = _mask(desc, builder)
    relative = builder.get("RelativePositionBiasTensor")
    more = {"relative": relative and trailing(relative, 4), "mask": mask, "lengths": lengths}
    attended = AttentionOperands(
        _shared_heads(query, key_heads),
        key,
        value,
        result,
        {name: operand for name, operand in more.items() if operand is not None},
        new=new,
        scale=float(desc.Scale),
        filter=float(desc.MaskFilterValue),
        kind=int(_NONE if mask is None else desc.MaskType),
    )
    if attend_at_once(builder, attended):
        return
    for rows in _parts_of_rows(builder, query, key_heads, key.sizes[2], whole_batch=desc.MaskType == _PACKED):
        own, relative = rows.of(query, heads=1, queries=2), rows.of(more["relative"], heads=1, queries=2)
        count = rows.heads[1]
        scores = _scores(builder, own, rows.of(key, key_heads=1), relative, count, float(desc.Scale))
        weights = _softmax(desc, builder, scores, _mask_of(desc, mask, rows), rows.of(lengths), new)
        values = _shared_heads(rows.of(value, key_heads=1), count)
        matmul(builder, _shared_heads(weights, count), values, None, rows.of(result, key_heads=1, queries=3))


@dataclass(frozen=True)
class _Rows:
    """A range of batch elements, key heads and queries whose scores are in memory at once. each: query heads that share
    a key head."""

    batch: tuple[int, int]
    heads: tuple[int, int]
    queries: tuple[int, int]
    each: int

    @overload
    def of(self, operand: Operand, batch: int = 0, **axes: int) -> Operand: ...
    @overload
    def of(self, operand: None, batch: int = 0, **axes: int) -> None: ...
    def of(self, operand: Operand | None, batch: int = 0, **axes: int) -> Operand | None:
        """Return the range's part of an operand. batch: its dimension. axes: ``heads``, ``key_heads`` and ``queries``,
        where it has them."""
        if operand is None:
            return None
        first, count = self.heads
        ranges = {"heads": (first * self.each, count * self.each), "key_heads": self.heads, "queries": self.queries}
        return narrow(operand, (batch, *axes.values()), (self.batch, *(ranges[name] for name in axes)))


def _mask_of(desc: _Attention, mask: Operand | None, rows: _Rows) -> Operand | None:
    """Return the range's part of the mask; a packed mask has offsets into the whole batch."""
    if desc.MaskType == _PACKED:
        return mask
    return rows.of(mask, heads=1, queries=2) if desc.MaskType == _BOOLEAN else rows.of(mask, 1)


def _parts_of_rows(
    builder: ProgramBuilder, query: Operand, key_heads: int, keys: int, *, whole_batch: bool
) -> Iterator[_Rows]:
    """Return ranges of rows whose scores are in memory at once: by heads, and by queries if one head's scores exceed
    ``MOST_SCORES`` or a binding."""
    batch, heads, queries, _ = query.sizes
    each = heads // key_heads
    most = min(builder.target.max_region, MOST_SCORES // 2)
    room = scores_together(builder.target, most)
    row = 4 * each * -(-keys // 4) * 4
    together = batch if whole_batch else max(1, min(batch, room // (queries * key_heads * row)))
    group = max(1, min(key_heads, room // (together * queries * row)))
    count = max(1, min(queries, most // (together * row)))
    for first in range(0, batch, together):
        for head in range(0, key_heads, group):
            for index in range(0, queries, count):
                own = (head, min(group, key_heads - head)), (index, min(count, queries - index))
                yield _Rows((first, min(together, batch - first)), *own, each)


def _mask(desc: _Attention, builder: ProgramBuilder) -> Operand | None:
    """Return the mask without leading dimensions of size 1; None if absent, or if the mask type is none."""
    mask = builder.get("MaskTensor")
    return None if mask is None or desc.MaskType == _NONE else trailing(mask, _MASK_RANKS[desc.MaskType])


def _biased(builder: ProgramBuilder, query: Operand, bias: Operand) -> Operand:
    """Return the query plus its bias {head, element}, as FLOAT32."""
    biased = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, query.sizes)
    apply(builder, node("$x0 + $x1", Leaf(0), Leaf(1)), biased, [query, _everywhere(bias, query.sizes)])
    return biased


def _everywhere(bias: Operand, sizes: tuple[int, ...]) -> Operand:
    """View a bias {head, element} in every batch element and position."""
    return bias.view(sizes, (0, bias.strides[0], 0, bias.strides[1]))


def _scores(
    builder: ProgramBuilder, query: Operand, key: Operand, relative: Operand | None, key_heads: int, scale: float
) -> Operand:
    """Compute ``scale * query x key + relative position bias``, {batch, head, query, key}."""
    batch, heads, queries, _ = query.sizes
    scores = with_aligned_rows(builder, DML_TENSOR_DATA_TYPE_FLOAT32, (batch, heads, queries, key.sizes[2]))
    matmul(
        builder,
        _shared_heads(query, key_heads),
        transposed(_shared_heads(key, key_heads)),
        relative and _shared_heads(relative, key_heads),
        _shared_heads(scores, key_heads),
        ProductFinish(scale),
    )
    return scores


def split_heads(operand: Operand, heads: int) -> Operand:
    """View {batch, sequence, head * element} as {batch, head, sequence, element}."""
    (batch, sequence, hidden), (by_batch, by_position, by_element) = operand.sizes, operand.strides
    size = hidden // heads
    return operand.view((batch, heads, sequence, size), (by_batch, size * by_element, by_position, by_element))


def _part(stacked: Operand, part: int) -> Operand:
    """View one part of {batch, sequence, head, part, element} as {batch, head, sequence, element}."""
    batch, sequence, heads, _, size = stacked.sizes
    by_batch, by_position, by_head, by_part, by_element = stacked.strides
    strides = (by_batch, by_head, by_position, by_element)
    return stacked.view((batch, heads, sequence, size), strides, part * by_part)


def _parts(builder: ProgramBuilder, heads: int, key_heads: int) -> tuple[Operand, Operand, Operand]:
    """Return query, key and value as {batch, head, sequence, element}, from separate or stacked tensors."""
    all_of, query_key = builder.get("StackedQueryKeyValueTensor"), builder.get("StackedQueryKeyTensor")
    key_value = builder.get("StackedKeyValueTensor")
    if all_of is not None:
        return _part(all_of, 0), _part(all_of, 1), _part(all_of, 2)
    if query_key is not None:
        value = split_heads(trailing(builder["ValueTensor"], 3), key_heads)
        return _part(query_key, 0), _part(query_key, 1), value
    query = split_heads(trailing(builder["QueryTensor"], 3), heads)
    if key_value is not None:
        return query, _part(key_value, 0), _part(key_value, 1)
    key, value = (split_heads(trailing(builder[name], 3), key_heads) for name in ("KeyTensor", "ValueTensor"))
    return query, key, value


def _biases(bias: Operand | None, *parts: Operand) -> list[Operand | None]:
    """Return the parts of the bias that belong to query, key and value, as {head, element} each."""
    if bias is None:
        return [None] * len(parts)
    bias = trailing(bias, 1)
    (stride,) = bias.strides
    views: list[Operand | None] = []
    first = 0
    for part in parts:
        _, heads, _, size = part.sizes
        views.append(bias.view((heads, size), (size * stride, stride), first * stride))
        first += heads * size
    return views


def _total(
    builder: ProgramBuilder, name: str, current: Operand, bias: Operand | None, lengths: Operand | None
) -> Operand:
    """Return all keys or values: past ones, then new ones with their bias; also write the present output."""
    past, present = builder.get(f"Past{name}Tensor"), builder.get(f"OutputPresent{name}Tensor")
    if past is None and lengths is not None and present is not None:
        cache = trailing(present, 4)
        insert(builder, current, lengths, cache, bias)
        return cache
    batch, heads, count, size = current.sizes
    moved, still = {"current": current}, {}
    if past is not None:
        moved["past"] = trailing(past, 4)
        count += moved["past"].sizes[2]
        if lengths is not None:
            still["lengths"] = lengths.view((batch, heads, count, size), (*lengths.strides, 0, 0, 0))
    if bias is not None:
        still["bias"] = _everywhere(bias, (batch, heads, count, size))
    if present is not None:
        _join(builder, trailing(present, 4), moved, still)
    if past is None and bias is None:
        return current
    if present is not None and bias is None:
        # The present output holds the rows unrounded.
        return trailing(present, 4)
    total = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (batch, heads, count, size))
    _join(builder, total, moved, still)
    return total


def _join(builder: ProgramBuilder, result: Operand, moved: Mapping[str, Operand], still: Mapping[str, Operand]) -> None:
    """Write past and new rows, with lengths and bias if given, to the result."""
    as_they_are = "bias" not in still and all(rows.data_type == result.data_type for rows in moved.values())
    if as_they_are:
        result, moved = raw(result), {name: raw(rows) for name, rows in moved.items()}
    move_each(
        builder, "attention/total.comp", result, moved, still, keep=() if as_they_are else (3,), split_axes=(0, 1)
    )


def _shared_heads(operand: Operand, key_heads: int) -> Operand:
    """View {batch, head, ...} as {batch, key head, one of its query heads, ...}."""
    batch, heads, *sizes = operand.sizes
    by_batch, by_head, *strides = operand.strides
    each = heads // key_heads
    return operand.view((batch, key_heads, each, *sizes), (by_batch, each * by_head, by_head, *strides))


def _softmax(
    desc: _Attention, builder: ProgramBuilder, scores: Operand, mask: Operand | None, lengths: Operand | None, new: int
) -> Operand:
    """Mask the scores and return their softmax along keys. new: number of keys that are not past ones."""
    batch, heads, queries, keys = scores.sizes
    bound: dict[str, Bound] = {}
    if mask is not None:
        bound["mask"] = read(mask)
    if lengths is not None:
        bound["lengths"] = read(lengths)
    rows, fours = batch * heads * queries, -(-keys // 4)
    chosen = attention_softmax(builder.target, keys)
    whole = scores.view((*scores.sizes[:3], 4 * fours), scores.strides)
    if chosen.masks_alone:
        other = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, whole.sizes)
        if not bound and keys % 4 == 0:
            softmax(builder, whole, other, (3,))
            return other
        bound |= {"scores": read(whole, vector=True), "masked": write(other, vector=True)}
    else:
        bound["scores"] = update(whole, vector=True)
    builder.dispatch(
        "attention/softmax.comp",
        bound,
        groups=-(-rows * fours // chosen.workgroup) if chosen.masks_alone else rows,
        space=(batch, heads, queries),
        workgroup=chosen.workgroup,
        constants={"KEYS": keys, "FOURS": fours, "NEW": new, "BATCH": batch, "FILTER": float(desc.MaskFilterValue)},
        defines={"MASK": int(_NONE if mask is None else desc.MaskType), "MASK_ALONE": int(chosen.masks_alone)},
        steps=chosen.steps,
        each=4,
    )
    if chosen.masks_alone:
        softmax(builder, other, whole, (3,))
    return scores
