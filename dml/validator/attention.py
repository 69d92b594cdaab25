"""Rules of multi-head attention.

Letters: B batch size, S queries, K new keys, P past keys, T = P + K, N query heads, M key and value heads, H size of a
query's and a key's head, V size of a value's head. Tensors may have more leading dimensions of size 1 than their sizes
here, and fewer where those are 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import descriptors as d
from ..enums import DML_MULTIHEAD_ATTENTION_MASK_TYPE as MASK_TYPE
from ..enums import DML_TENSOR_DATA_TYPE_INT32
from ..shapes import trailing
from .base import Check, rule

#: The tensors that can hold the query, the key and the value, alone or stacked with others.
_SOURCES = {
    "Query": ("QueryTensor", "StackedQueryKeyTensor", "StackedQueryKeyValueTensor"),
    "Key": ("KeyTensor", "StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"),
    "Value": ("ValueTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"),
}


#: A description of either operator.
_Attention = d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC | d.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC


@dataclass(frozen=True)
class _Heads:
    """The numbers of query and key heads, and the fields that give them, for messages."""

    query: int
    key: int
    of_query: str
    of_key: str


@dataclass(frozen=True)
class _Projections:
    """The sizes derived from query, key and value: the letters B, S, K, H and V."""

    batch: int
    queries: int
    keys: int
    size: int
    value_size: int


def _sizes(check: Check, name: str, expected: Sequence[int], why: str) -> None:
    for field, tensor in check.tensors(name):
        rank = len(expected)
        if any(size != 1 for size in tensor.Sizes[:-rank]) or trailing(tensor.Sizes, rank) != tuple(expected):
            check.fail(field, f"must have sizes {tuple(expected)} after leading sizes of 1 ({why})", tensor.Sizes)


def _hidden(check: Check, name: str, heads: int, why: str) -> tuple[int, int, int]:
    """Return batch, sequence and head size of a {batch, sequence, head * element} tensor."""
    ((_, tensor),) = check.tensors(name)
    batch, sequence, hidden = trailing(tensor.Sizes, 3)
    leading = all(size == 1 for size in tensor.Sizes[:-3])
    check.that(leading, name, "must have size 1 in the dimensions before the last three", tensor.Sizes)
    check.that(hidden % heads == 0, name, f"must have a last size that is a multiple of {heads} ({why})", tensor.Sizes)
    return batch, sequence, hidden // heads


def _stacked(check: Check, name: str, heads: int, parts: int, why: str) -> tuple[int, int, int]:
    """Return batch, sequence and head size of a {batch, sequence, head, part, element} tensor."""
    ((_, tensor),) = check.tensors(name)
    batch, sequence, _, _, size = tensor.Sizes
    check.sizes(name, (batch, sequence, heads, parts, size), why=f"batch, sequence, {why}, {parts}, head size")
    return batch, sequence, size


def _attention(desc: _Attention, check: Check, heads: _Heads) -> tuple[int, int]:
    """Check the rules that both operators share; return B and P."""
    _one_source_each(check)
    sizes = _projections(check, heads)
    past = _cache(check, heads, sizes)
    _bias_and_output(check, heads, sizes, past)
    _mask(desc, check, heads, sizes, past)
    return sizes.batch, past


def _one_source_each(check: Check) -> None:
    """Require query, key and value from exactly one tensor each."""
    for part, names in _SOURCES.items():
        given = [name for name in names if check.tensor(name) is not None]
        check.that(
            len(given) == 1, given[1] if len(given) > 1 else names[0],
            f"exactly one of {', '.join(names)} must be given ({part.lower()})", ", ".join(given) or None,
        )  # fmt: skip


def _projections(check: Check, heads: _Heads) -> _Projections:
    """Require query, key and value to agree, however they are stacked."""
    given = {name for names in _SOURCES.values() for name in names if check.tensor(name) is not None}
    if "StackedQueryKeyValueTensor" in given or "StackedQueryKeyTensor" in given:
        check.that(heads.query == heads.key, heads.of_key,
                   f"must be {heads.of_query}, {heads.query}, where query and key are stacked", heads.key)  # fmt: skip
    if "StackedQueryKeyValueTensor" in given:
        query = key = value = _stacked(check, "StackedQueryKeyValueTensor", heads.query, 3, heads.of_query)
    elif "StackedQueryKeyTensor" in given:
        query = key = _stacked(check, "StackedQueryKeyTensor", heads.query, 2, heads.of_query)
        value = _hidden(check, "ValueTensor", heads.key, heads.of_key)
    else:
        query = _hidden(check, "QueryTensor", heads.query, heads.of_query)
        if "StackedKeyValueTensor" in given:
            key = value = _stacked(check, "StackedKeyValueTensor", heads.key, 2, heads.of_key)
        else:
            key = _hidden(check, "KeyTensor", heads.key, heads.of_key)
            value = _hidden(check, "ValueTensor", heads.key, heads.of_key)
    batch, queries, size = query
    name = "KeyTensor" if "KeyTensor" in given else "StackedKeyValueTensor"
    check.that(key[0] == batch, name, f"must have the query's batch size {batch}", key[0])
    check.that(key[2] == size, name, f"must have the query's head size {size}", key[2])
    check.that(
        value[:2] == key[:2], "ValueTensor", f"must have the key's batch and sequence sizes {key[:2]}", value[:2]
    )
    return _Projections(batch, queries, key[1], size, value[2])


def _cache(check: Check, heads: _Heads, sizes: _Projections) -> int:
    """Check past and present keys and values; return P."""
    past, lengths = check.tensor("PastKeyTensor"), getattr(check.desc, "PastSequenceLengthsTensor", None)
    together = (past is None) == (check.tensor("PastValueTensor") is None)
    check.that(together, "PastValueTensor", "must be given if and only if PastKeyTensor is")
    count = 0 if past is None else trailing(past.Sizes, 4)[2]
    if past is None and lengths is not None:
        count = _room(check, sizes)
    total = count + sizes.keys
    for name, positions, size, why in (
        ("PastKeyTensor", count, sizes.size, "batch, heads, past, head size"),
        ("PastValueTensor", count, sizes.value_size, "batch, heads, past, value head size"),
        ("OutputPresentKeyTensor", total, sizes.size, "batch, heads, past + new, head size"),
        ("OutputPresentValueTensor", total, sizes.value_size, "batch, heads, past + new, value head size"),
    ):
        _sizes(check, name, (sizes.batch, heads.key, positions, size), why)
    return count


def _room(check: Check, sizes: _Projections) -> int:
    """Return a cache's positions before the new ones, if it is written in place."""
    present = check.tensor("OutputPresentKeyTensor")
    for name in ("OutputPresentKeyTensor", "OutputPresentValueTensor"):
        given = check.tensor(name) is not None
        check.that(given, name, "must be given if PastSequenceLengthsTensor is and PastKeyTensor is not")
    positions = 0 if present is None else trailing(present.Sizes, 4)[2]
    check.that(
        positions >= sizes.keys, "OutputPresentKeyTensor", f"must have room for {sizes.keys} new positions", positions
    )
    return positions - sizes.keys


def _bias_and_output(check: Check, heads: _Heads, sizes: _Projections, past: int) -> None:
    of_all = heads.query * sizes.size + heads.key * (sizes.size + sizes.value_size)
    _sizes(check, "BiasTensor", (of_all,), "those of query, key and value together")
    scores = (sizes.batch, heads.query, sizes.queries, past + sizes.keys)
    _sizes(check, "RelativePositionBiasTensor", scores, "batch, heads, queries, past + new")
    output = (sizes.batch, sizes.queries, heads.query * sizes.value_size)
    _sizes(check, "OutputTensor", output, "batch, queries, heads * value head size")


def _mask(desc: _Attention, check: Check, heads: _Heads, sizes: _Projections, past: int) -> None:
    """Require a mask, with the sizes of MaskType, if and only if MaskType requires one."""
    batch = sizes.batch
    scores = (batch, heads.query, sizes.queries, past + sizes.keys)
    masks: dict[MASK_TYPE, tuple[tuple[int, ...], str]] = {
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_LENGTH: ((1, batch), "1, batch"),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_SEQUENCE_END_START: ((2, batch), "2, batch"),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_KEY_QUERY_SEQUENCE_LENGTH_START_END: (
            (3 * batch + 2,), "3 * batch + 2",
        ),
        MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN: (scores, "batch, heads, queries, past + new"),
    }  # fmt: skip
    given = check.tensor("MaskTensor") is not None
    wanted = desc.MaskType != MASK_TYPE.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
    check.that(
        given == wanted, "MaskTensor", f"must be given if and only if MaskType ({desc.MaskType.name}) is not NONE"
    )
    if wanted:
        _sizes(check, "MaskTensor", *masks[desc.MaskType])


@rule(d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC)
def multihead_attention(desc: d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC, check: Check) -> None:
    check.at_least("HeadCount", 1)
    _attention(desc, check, _Heads(desc.HeadCount, desc.HeadCount, "HeadCount", "HeadCount"))


@rule(d.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC)
def multihead_attention1(desc: d.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC, check: Check) -> None:
    check.at_least("QueryHeadCount", 1)
    check.at_least("KeyValueHeadCount", 1)
    check.that(
        desc.QueryHeadCount % desc.KeyValueHeadCount == 0, "QueryHeadCount",
        f"must be a multiple of KeyValueHeadCount, {desc.KeyValueHeadCount}",
    )  # fmt: skip
    heads = _Heads(desc.QueryHeadCount, desc.KeyValueHeadCount, "QueryHeadCount", "KeyValueHeadCount")
    batch, _ = _attention(desc, check, heads)
    if desc.PastSequenceLengthsTensor is not None:
        of_past = desc.PastKeyTensor is not None and desc.OutputTensor.DataType
        kinds = {DML_TENSOR_DATA_TYPE_INT32} | ({of_past} if of_past else set())
        found = desc.PastSequenceLengthsTensor.DataType
        words = "must be INT32, or with PastKeyTensor of its data type"
        check.that(found in kinds, "PastSequenceLengthsTensor", words, found.name)
        _sizes(check, "PastSequenceLengthsTensor", (batch,), "batch")


@rule(d.OWN_INSERT_ROWS_OPERATOR_DESC)
def insert_rows(desc: d.OWN_INSERT_ROWS_OPERATOR_DESC, check: Check) -> None:
    batch, heads, _, size = desc.RowsTensor.Sizes
    check.sizes("PositionsTensor", (batch,), why="a position for each batch element")
    room = desc.OutputTensor.Sizes[2]
    check.sizes("OutputTensor", (batch, heads, room, size), why="those of RowsTensor, with rows of any number")
