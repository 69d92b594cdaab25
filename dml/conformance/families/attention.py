"""Multi-head attention: every form of query, key and value, masks, biases, past and present keys and values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors as d
from dml import enums
from dml.capability import short_name
from dml.conformance.layouts import UNTOUCHED, Tensor, from_bytes
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, data_types, enumerators, flags, sizes, tensor
from dml.conformance.references import attention as reference
from dml.conformance.references.rounded import Numbers, each, rounded
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled
from dml.conformance.variety import exact
from dml.descriptors.attention import OWN_INSERT_ROWS_OPERATOR_DESC
from dml.shapes import trailing, with_rank

Array = npt.NDArray[Any]

#: Batch, queries, new keys, past keys, head size, value head size. Stacked tensors require some of them to be equal.
_SIZES = sizes("2x3x4x0x5x6", "1x1x1x0x1x1", "2x5x7x3x8x4", "3x1x2x9x4x4", "1x33x35x0x16x24", "2x2x1x17x3x12",
               "1x2x1x300x8x12")  # fmt: skip
#: Forms of query, key and value.
_SOURCES = ("separate", "query_key", "key_value", "query_key_value")


def _mask_sizes(mask: str, scores: tuple[int, ...]) -> tuple[int, ...]:
    """Return the mask's sizes. scores: {B, N, S, T}."""
    batch = scores[0]
    return {
        "KEY_SEQUENCE_LENGTH": (1, batch),
        "KEY_SEQUENCE_END_START": (2, batch),
        "KEY_QUERY_SEQUENCE_LENGTH_START_END": (3 * batch + 2,),
        "BOOLEAN": scores,
    }[mask]


def _describe(choice: Choice) -> dict[str, Any]:
    """Describe the tensors. Sizes have the letters of the descriptors' module: B, S, K, P, H, V; N query heads, M key
    heads."""
    batch, queries, keys, past, size, value_size = choice.sizes
    counts = (
        {"QueryHeadCount": choice.heads[0], "KeyValueHeadCount": choice.heads[1]}
        if isinstance(choice.heads, tuple)
        else {"HeadCount": choice.heads}
    )
    heads, *_, key_heads = (*counts.values(), *counts.values())
    if choice.source.startswith("query_key"):
        keys = queries
        if heads != key_heads:
            raise Skip("stacked query and key need equal numbers of heads")
    if choice.source.endswith("key_value"):
        value_size = size
    total = past + keys
    has: dict[str, tuple[int, ...]] = {
        **_sources(choice.source, batch, queries, keys, heads, key_heads, size, value_size),
        "OutputTensor": (batch, queries, heads * value_size),
    }
    if choice.bias:
        has["BiasTensor"] = (heads * size + key_heads * (size + value_size),)
    if choice.relative:
        has["RelativePositionBiasTensor"] = (batch, heads, queries, total)
    if past:
        has["PastKeyTensor"] = (batch, key_heads, past, size)
        has["PastValueTensor"] = (batch, key_heads, past, value_size)
    if choice.present:
        has["OutputPresentKeyTensor"] = (batch, key_heads, total, size)
        has["OutputPresentValueTensor"] = (batch, key_heads, total, value_size)
    tensors = {
        name: tensor(choice.type, with_rank(shape, max(len(shape), choice.rank if len(shape) < 4 else 4)))
        for name, shape in has.items()
    }
    mask = short_name(choice.mask)
    if mask != "NONE":
        shape = _mask_sizes(mask, (batch, heads, queries, total))
        tensors["MaskTensor"] = tensor(
            enums.DML_TENSOR_DATA_TYPE_INT32, with_rank(shape, max(len(shape), choice.rank - 1))
        )
    if getattr(choice, "lengths", False):
        if not past:
            raise Skip("lengths without a past")
        tensors["PastSequenceLengthsTensor"] = tensor(choice.type, with_rank((batch,), choice.rank - 2))
    return {
        **tensors,
        **counts,
        "Scale": choice.scale or 1 / math.sqrt(size),
        "MaskFilterValue": choice.filter,
        "MaskType": choice.mask,
    }


def _sources(
    source: str, batch: int, queries: int, keys: int, heads: int, key_heads: int, size: int, value_size: int
) -> dict[str, tuple[int, ...]]:
    query, key = (batch, queries, heads * size), (batch, keys, key_heads * size)
    value = (batch, keys, key_heads * value_size)
    if source == "query_key_value":
        return {"StackedQueryKeyValueTensor": (batch, queries, heads, 3, size)}
    if source == "query_key":
        return {"StackedQueryKeyTensor": (batch, queries, heads, 2, size), "ValueTensor": value}
    if source == "key_value":
        return {"QueryTensor": query, "StackedKeyValueTensor": (batch, keys, key_heads, 2, size)}
    return {"QueryTensor": query, "KeyTensor": key, "ValueTensor": value}


def _sizes(desc: Any) -> tuple[int, int, int, int, int]:
    """Return B, S, T, N and M."""
    heads = getattr(desc, "HeadCount", None) or desc.QueryHeadCount
    key_heads = getattr(desc, "KeyValueHeadCount", heads)
    batch, queries, _ = trailing(desc.OutputTensor.Sizes, 3)
    for name, axis in (("KeyTensor", -2), ("StackedKeyValueTensor", 1)):
        if getattr(desc, name) is not None:
            keys = getattr(desc, name).Sizes[axis]
            break
    else:
        keys = queries
    past = 0 if desc.PastKeyTensor is None else desc.PastKeyTensor.Sizes[-2]
    return batch, queries, past + keys, heads, key_heads


def _inputs(desc: Any, values: Values) -> Inputs:
    """Return inputs with at least one unmasked key per query, and any past lengths, including 0."""
    batch, queries, total, heads, _ = _sizes(desc)
    ends = values.rng.integers(1, total + 1, batch)
    starts = values.rng.integers(0, ends)
    # For each sequence: its number of keys; where its queries start; where its keys start. Starts are offsets into the
    # whole batch, and each list of starts is followed by the end of the last sequence.
    packed = (ends - starts, np.arange(batch + 1) * queries, np.arange(batch) * total + starts, [batch * total])
    masks = {
        "KEY_SEQUENCE_LENGTH": ends,
        "KEY_SEQUENCE_END_START": np.stack([ends, starts]),
        "KEY_QUERY_SEQUENCE_LENGTH_START_END": np.concatenate(packed),
        "BOOLEAN": values.rng.integers(0, 2, (batch, heads, queries, total)),
    }

    def make(name: str, given: Tensor) -> Any:
        if name == "MaskTensor":
            return masks[short_name(desc.MaskType)].reshape(given.Sizes).astype(np.int32)
        if name == "PastSequenceLengthsTensor":
            return np.rint(values.between(given, 0, desc.PastKeyTensor.Sizes[-2]))
        return values.between(given, -2, 2)

    return filled(desc, make)


def _projections(inputs: Inputs) -> tuple[Numbers, Numbers, Numbers]:
    """Return query, key and value {batch, sequence, head * element}, without their bias."""
    found: list[Numbers] = []
    for name, parts in (
        ("QueryTensor", 0), ("StackedQueryKeyTensor", 2), ("StackedQueryKeyValueTensor", 3),
        ("KeyTensor", 0), ("StackedKeyValueTensor", 2), ("ValueTensor", 0),
    ):  # fmt: skip
        (x,) = rounded(inputs, name)
        if x is None:
            continue
        if not parts:
            found.append(each(x, lambda v: v.reshape(trailing(v.shape, 3))))
        for part in range(parts):
            found.append(each(x[:, :, :, part], _joined_heads))
    query, key, value = found
    return query, key, value


def _joined_heads(x: Array) -> Array:
    return x.reshape(*x.shape[:2], -1)


def _reference(desc: Any, inputs: Inputs) -> Outputs:
    batch, queries, total, heads, key_heads = _sizes(desc)
    query, key, value = _projections(inputs)
    bias, relative, past_key, past_value = (
        None if x is None else each(x, lambda v: v.reshape(trailing(v.shape, 4)))
        for x in rounded(inputs, "BiasTensor", "RelativePositionBiasTensor", "PastKeyTensor", "PastValueTensor")
    )
    if bias is not None:
        line, ends = each(bias, np.ravel), [query.shape[-1], query.shape[-1] + key.shape[-1]]
        query, key, value = query + line[: ends[0]], key + line[ends[0] : ends[1]], value + line[ends[1] :]
    mask = short_name(desc.MaskType)
    mask_values = None
    if mask != "NONE":
        mask_values = inputs["MaskTensor"].reshape(_mask_sizes(mask, (batch, heads, queries, total)))
    lengths = inputs.get("PastSequenceLengthsTensor")
    results = reference.attention(
        reference.heads_of(query, heads),
        reference.heads_of(key, key_heads),
        reference.heads_of(value, key_heads),
        scale=desc.Scale,
        kind=mask,
        mask=mask_values,
        filter_value=desc.MaskFilterValue,
        relative=relative,
        past=(past_key, past_value),
        lengths=None if lengths is None else lengths.ravel(),
    )
    outputs: dict[str, Any] = {}
    for name, result in zip(
        ("OutputTensor", "OutputPresentKeyTensor", "OutputPresentValueTensor"), results, strict=True
    ):
        if getattr(desc, name) is not None:
            why = "float32 sums in any order, and exponentials"
            outputs[name] = result.expected(getattr(desc, name), why)
    return outputs


def _parameters(heads: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "OutputTensor",
        "sizes": _SIZES,
        "heads": heads,
        "source": {source: source for source in _SOURCES},
        "mask": enumerators(enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE),
        # Scores so far apart that most exponentials are 0
        "scale": {"root": None, "90": 90.0},
        "filter": {"-64": -64.0, "-1e4": -1e4, "-1": -1.0},
        "bias": flags(),
        "relative": flags(),
        "present": flags(),
        "rank": {"3": 3, "4": 4, "5": 5},
    }


subject(
    d.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
    parameters=_parameters({"2": 2, "1": 1, "5": 5}),
    describe=_describe,
    reference=_reference,
    inputs=_inputs,
    values=("ordinary",),
)
subject(
    d.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC,
    parameters={
        **_parameters({"4.2": (4, 2), "2.2": (2, 2), "3.1": (3, 1), "1.1": (1, 1)}),
        "lengths": flags(),
    },
    describe=_describe,
    reference=_reference,
    inputs=_inputs,
    values=("ordinary",),
)


def _inserted(choice: Choice) -> dict[str, Any]:
    batch, heads, rows, places, size = choice.sizes
    return {
        "RowsTensor": tensor(choice.type, (batch, heads, rows, size)),
        "PositionsTensor": tensor(enums.DML_TENSOR_DATA_TYPE_INT32, (batch,)),
        "OutputTensor": tensor(choice.type, (batch, heads, places, size)),
    }


def _positions(desc: Any, values: Values) -> Inputs:
    """Return positions before the cache, in it, and after it."""
    places = desc.OutputTensor.Sizes[2]
    return filled(
        desc,
        lambda name, tensor: values.integers(tensor, -2, places) if name == "PositionsTensor" else values.fill(tensor),
    )


def _cache(desc: Any, inputs: Inputs) -> Expected:
    """Return the expected cache. It begins with the contents of outputs before a run; rows past its end are dropped."""
    before = np.full(int(desc.OutputTensor.TotalTensorSizeInBytes), UNTOUCHED, np.uint8)
    cache = from_bytes(before, desc.OutputTensor)
    rows = inputs["RowsTensor"]
    for batch, position in enumerate(np.maximum(inputs["PositionsTensor"], 0)):
        kept = max(0, min(rows.shape[2], cache.shape[2] - int(position)))
        cache[batch, :, int(position) : int(position) + kept] = rows[batch, :, :kept]
    return exact(cache)


subject(
    OWN_INSERT_ROWS_OPERATOR_DESC,
    parameters={
        "type": data_types("FLOAT32", "FLOAT16", "INT8", "UINT8"),
        "sizes": sizes("2x3x2x7x5", "1x1x1x1x1", "3x2x1x9x8", "2x2x4x6x64"),
    },
    describe=_inserted,
    reference=_cache,
    inputs=_positions,
    layouts=("packed", "padded", "permuted", "mixed"),
    values=("ordinary",),
)
