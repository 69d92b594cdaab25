"""Rules of multi-head attention.

Letters: B batch size, S queries, K new keys, P past keys, T = P + K, N query heads, M key and value heads, H size of a
query's and a key's head, V size of a value's head. Tensors may have more leading dimensions of size 1 than their sizes
here, and fewer where those are 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..descriptors import DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from ..enums import DML_MULTIHEAD_ATTENTION_MASK_TYPE as MASK_TYPE
from ..shapes import trailing
from .base import Check, rule

#: What can give the query, the key and the value, and the one way in which each is then complete.
_SOURCES = {
    "Query": ("QueryTensor", "StackedQueryKeyTensor", "StackedQueryKeyValueTensor"),
    "Key": ("KeyTensor", "StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"),
    "Value": ("ValueTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"),
}


def _sizes(check: Check, name: str, expected: Sequence[int], why: str) -> None:
    for field, tensor in check.tensors(name):
        rank = len(expected)
        if any(size != 1 for size in tensor.Sizes[:-rank]) or trailing(tensor.Sizes, rank) != tuple(expected):
            check.fail(field, f"must have sizes {tuple(expected)} after leading ones ({why})", tensor.Sizes)


def _hidden(check: Check, name: str, heads: int, why: str) -> tuple[int, int, int]:
    """Batch, sequence and head size of a {batch, sequence, head * element} tensor."""
    ((_, tensor),) = check.tensors(name)
    batch, sequence, hidden = trailing(tensor.Sizes, 3)
    leading = all(size == 1 for size in tensor.Sizes[:-3])
    check.that(leading, name, "must have size 1 in the dimensions before the last three", tensor.Sizes)
    check.that(hidden % heads == 0, name, f"must have a last size that is a multiple of {heads} ({why})", tensor.Sizes)
    return batch, sequence, hidden // heads


def _stacked(check: Check, name: str, heads: int, parts: int, why: str) -> tuple[int, int, int]:
    """Batch, sequence and head size of a {batch, sequence, head, part, element} tensor."""
    ((_, tensor),) = check.tensors(name)
    batch, sequence, _, _, size = tensor.Sizes
    check.sizes(name, (batch, sequence, heads, parts, size), why=f"batch, sequence, {why}, {parts}, head size")
    return batch, sequence, size


def _attention(
    desc: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC | DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC,
    check: Check,
    heads: int,
    key_heads: int,
    head_fields: tuple[str, str],
) -> tuple[int, int]:
    """What both operators share. Returns the batch size and P."""
    of_heads, of_key_heads = head_fields
    for part, names in _SOURCES.items():
        given = [name for name in names if check.tensor(name) is not None]
        check.that(
            len(given) == 1, given[1] if len(given) > 1 else names[0],
            f"exactly one of {', '.join(names)} must be given ({part.lower()})", ", ".join(given) or None,
        )  # fmt: skip
    stacked = {name: check.tensor(name) is not None for names in _SOURCES.values() for name in names}
    if stacked["StackedQueryKeyValueTensor"] or stacked["StackedQueryKeyTensor"]:
        both = heads == key_heads
        check.that(both, of_key_heads, f"must be {of_heads}, {heads}, where query and key are stacked", key_heads)
    if stacked["StackedQueryKeyValueTensor"]:
        query = key = value = _stacked(check, "StackedQueryKeyValueTensor", heads, 3, of_heads)
    elif stacked["StackedQueryKeyTensor"]:
        query = key = _stacked(check, "StackedQueryKeyTensor", heads, 2, of_heads)
        value = _hidden(check, "ValueTensor", key_heads, of_key_heads)
    else:
        query = _hidden(check, "QueryTensor", heads, of_heads)
        if stacked["StackedKeyValueTensor"]:
            key = value = _stacked(check, "StackedKeyValueTensor", key_heads, 2, of_key_heads)
        else:
            key = _hidden(check, "KeyTensor", key_heads, of_key_heads)
            value = _hidden(check, "ValueTensor", key_heads, of_key_heads)
    batch, queries, size = query
    _, new, value_size = value
    name = "KeyTensor" if stacked["KeyTensor"] else "StackedKeyValueTensor"
    check.that(key[0] == batch, name, f"must have the query's batch size {batch}", key[0])
    check.that(key[2] == size, name, f"must have the query's head size {size}", key[2])
    check.that(
        value[:2] == key[:2], "ValueTensor", f"must have the key's batch and sequence sizes {key[:2]}", value[:2]
    )

    past = check.tensor("PastKeyTensor")
    together = (past is None) == (check.tensor("PastValueTensor") is None)
    check.that(together, "PastValueTensor", "must be given exactly where PastKeyTensor is")
    count = 0 if past is None else trailing(past.Sizes, 4)[2]
    total = count + new
    _sizes(check, "PastKeyTensor", (batch, key_heads, count, size), "batch, heads, past, head size")
    _sizes(check, "PastValueTensor", (batch, key_heads, count, value_size), "batch, heads, past, value head size")
    _sizes(check, "OutputPresentKeyTensor", (batch, key_heads, total, size), "batch, heads, past + new, head size")
    _sizes(
        check, "OutputPresentValueTensor", (batch, key_heads, total, value_size),
        "batch, heads, past + new, value head size",
    )  # fmt: skip
    _sizes(
        check, "BiasTensor", (heads * size + key_heads * (size + value_size),), "those of query, key and value together"
    )
    _sizes(check, "RelativePositionBiasTensor", (batch, heads, queries, total), "batch, heads, queries, past + new")
    _sizes(check, "OutputTensor", (batch, queries, heads * value_size), "batch, queries, heads * value head size")
    masks: dict[MASK_TYPE, tuple[tuple[int, ...], str]] = {
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH: ((1, batch), "1, batch"),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: ((2, batch), "2, batch"),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: (
            (3 * batch + 2,), "3 * batch + 2",
        ),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN: (
            (batch, heads, queries, total), "batch, heads, queries, past + new",
        ),
    }  # fmt: skip
    masked = check.tensor("MaskTensor") is not None
    named = desc.MaskType != MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
    check.that(
        masked == named, "MaskTensor", f"must be given exactly where MaskType ({desc.MaskType.name}) is not NONE"
    )
    if named:
        _sizes(check, "MaskTensor", *masks[desc.MaskType])
    return batch, count


@rule(DML_MULTIHEAD_ATTENTION_OPERATOR_DESC)
def multihead_attention(desc: DML_MULTIHEAD_ATTENTION_OPERATOR_DESC, check: Check) -> None:
    check.at_least("HeadCount", 1)
    _attention(desc, check, desc.HeadCount, desc.HeadCount, ("HeadCount", "HeadCount"))


@rule(DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC)
def multihead_attention1(desc: DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, check: Check) -> None:
    check.at_least("QueryHeadCount", 1)
    check.at_least("KeyValueHeadCount", 1)
    check.that(
        desc.QueryHeadCount % desc.KeyValueHeadCount == 0, "QueryHeadCount",
        f"must be a multiple of KeyValueHeadCount, {desc.KeyValueHeadCount}",
    )  # fmt: skip
    batch, past = _attention(
        desc, check, desc.QueryHeadCount, desc.KeyValueHeadCount, ("QueryHeadCount", "KeyValueHeadCount")
    )
    if desc.PastSequenceLengthsTensor is not None:
        check.that(past > 0, "PastSequenceLengthsTensor", "must not be given without PastKeyTensor")
        _sizes(check, "PastSequenceLengthsTensor", (batch,), "batch")
