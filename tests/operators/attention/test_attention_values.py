"""MULTIHEAD_ATTENTION and MULTIHEAD_ATTENTION1 against float64 NumPy, and their rules."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import reference_attention as reference
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from harness import run, tensor

MASKS = ("NONE", "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START", "KEY_QUERY_SEQUENCE_LENGTH_START_END", "BOOLEAN")
#: How query, key and value are given.
SOURCES = ("separate", "query key", "key value", "query key value")


@dataclass(frozen=True)
class Case:
    """sizes: batch, queries, new keys, past keys, head size, value head size. Stacking makes some of them equal."""

    sizes: tuple[int, int, int, int, int, int] = (2, 3, 4, 0, 5, 6)
    heads: tuple[int, int] = (2, 2)
    source: str = "separate"
    mask: str = "NONE"
    bias: bool = False
    relative: bool = False
    present: bool = False
    lengths: bool = False
    data_type: str = "FLOAT32"
    layouts: tuple[str, str] = ("packed", "packed")  # of the inputs, of the outputs
    rank: int = 3
    newer: bool = False  # MULTIHEAD_ATTENTION1
    filter_value: float = -64.0

    @property
    def consistent(self) -> Case:
        """The sizes that the stacking asks for, and the operator that the heads and lengths ask for."""
        batch, queries, keys, past, size, value_size = self.sizes
        if self.source.startswith("query key"):
            keys = queries
        if self.source.endswith("key value"):
            value_size = size
        heads = (self.heads[0], self.heads[0]) if self.source.startswith("query key") else self.heads
        lengths = self.lengths and past > 0
        newer = self.newer or heads[0] != heads[1] or lengths
        sizes = batch, queries, keys, past, size, value_size
        return replace(self, sizes=sizes, heads=heads, lengths=lengths, newer=newer)


def data(case: Case) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    batch, queries, keys, past, size, value_size = case.sizes
    heads, key_heads = case.heads
    kind = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{case.data_type}"])

    def uniform(*sizes: int) -> Any:
        return rng.uniform(-2, 2, sizes).astype(kind)

    inputs: dict[str, Any] = {}
    if case.source == "query key value":
        inputs["StackedQueryKeyValueTensor"] = uniform(batch, queries, heads, 3, size)
    elif case.source == "query key":
        inputs["StackedQueryKeyTensor"] = uniform(batch, queries, heads, 2, size)
    else:
        inputs["QueryTensor"] = uniform(batch, queries, heads * size)
    if case.source == "key value":
        inputs["StackedKeyValueTensor"] = uniform(batch, keys, key_heads, 2, size)
    elif case.source == "separate":
        inputs["KeyTensor"] = uniform(batch, keys, key_heads * size)
    if case.source in ("separate", "query key"):
        inputs["ValueTensor"] = uniform(batch, keys, key_heads * value_size)
    if case.bias:
        inputs["BiasTensor"] = uniform(heads * size + key_heads * (size + value_size))
    total = keys + past
    if case.relative:
        inputs["RelativePositionBiasTensor"] = uniform(batch, heads, queries, total)
    if past:
        inputs["PastKeyTensor"] = uniform(batch, key_heads, past, size)
        inputs["PastValueTensor"] = uniform(batch, key_heads, past, value_size)
    if case.lengths:
        inputs["PastSequenceLengthsTensor"] = rng.integers(0, past + 1, batch).astype(kind)
    ends = rng.integers(1, total + 1, batch)
    starts = rng.integers(0, ends)
    masks = {
        "KEY_SEQUENCE_LENGTH": ends[None],
        "KEY_SEQUENCE_END_START": np.stack([ends, starts]),
        "KEY_QUERY_SEQUENCE_LENGTH_START_END": np.concatenate(
            [ends - starts, np.arange(batch + 1) * queries, np.arange(batch) * total + starts, [batch * total]]
        ),
        "BOOLEAN": rng.integers(0, 2, (batch, heads, queries, total)),
    }
    if case.mask != "NONE":
        inputs["MaskTensor"] = masks[case.mask].astype(np.int32)
    ones = case.rank - 3
    ranks = {"QueryTensor": 3, "KeyTensor": 3, "ValueTensor": 3, "BiasTensor": 1, "MaskTensor": 1}
    for name, array in inputs.items():
        if name in ranks or array.ndim == 4:
            lead = min(ones, 5 - array.ndim)
            inputs[name] = array.reshape((1,) * lead + array.shape)
    return inputs


def describe(case: Case, inputs: dict[str, Any]) -> dml.OperatorDesc:
    batch, queries, keys, past, size, value_size = case.sizes
    heads, key_heads = case.heads
    ones = (1,) * (case.rank - 3)
    outputs = {"OutputTensor": (*ones, batch, queries, heads * value_size)}
    if case.present:
        ones = ones[:1]
        outputs["OutputPresentKeyTensor"] = (*ones, batch, key_heads, keys + past, size)
        outputs["OutputPresentValueTensor"] = (*ones, batch, key_heads, keys + past, value_size)
    fields: dict[str, Any] = {
        **{n: tensor(dml.data_type_of(a.dtype), a.shape, case.layouts[0]) for n, a in inputs.items()},
        **{n: tensor(case.data_type, sizes, case.layouts[1]) for n, sizes in outputs.items()},
        "Scale": 1 / math.sqrt(size),
        "MaskFilterValue": case.filter_value,
        "MaskType": dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE[f"DML_MULTIHEAD_ATTENTION_MASK_TYPE_{case.mask}"],
    }
    if case.newer:
        return dml.DML_MULTIHEAD_ATTENTION1_OPERATOR_DESC(**fields, QueryHeadCount=heads, KeyValueHeadCount=key_heads)
    return dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(**fields, HeadCount=heads)


def expect(case: Case, inputs: dict[str, Any]) -> dict[str, Any]:
    batch, queries, keys, past, size, value_size = case.sizes
    heads, key_heads = case.heads
    plain = {name: np.asarray(array, np.float64) for name, array in inputs.items()}

    def given(name: str, *sizes: int) -> Any:
        return plain[name].reshape(sizes) if name in plain else None

    query = given("QueryTensor", batch, queries, heads * size)
    key = given("KeyTensor", batch, keys, key_heads * size)
    value = given("ValueTensor", batch, keys, key_heads * value_size)
    for name in ("StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor"):
        if name in plain:
            parts = [
                plain[name][:, :, :, part].reshape(*plain[name].shape[:2], -1) for part in range(plain[name].shape[3])
            ]
            if "KeyValue" not in name:
                query, key = parts
            elif "Query" not in name:
                key, value = parts
            else:
                query, key, value = parts
    if case.bias:
        ends = np.cumsum([heads * size, key_heads * size])
        query, key, value = (
            x + b for x, b in zip((query, key, value), np.split(plain["BiasTensor"].ravel(), ends), strict=True)
        )
    kinds = {
        "BOOLEAN": (batch, heads, queries, keys + past),
        "KEY_SEQUENCE_LENGTH": (1, batch),
        "KEY_SEQUENCE_END_START": (2, batch),
        "KEY_QUERY_SEQUENCE_LENGTH_START_END": (3 * batch + 2,),
    }
    output, all_keys, all_values = reference.attention(
        reference.heads_of(query, heads),
        reference.heads_of(key, key_heads),
        reference.heads_of(value, key_heads),
        scale=float(np.float32(1 / math.sqrt(size))),
        kind=case.mask,
        mask=None if case.mask == "NONE" else inputs["MaskTensor"].reshape(kinds[case.mask]),
        filter_value=case.filter_value,
        relative=given("RelativePositionBiasTensor", batch, heads, queries, keys + past),
        past=(
            given("PastKeyTensor", batch, key_heads, past, size),
            given("PastValueTensor", batch, key_heads, past, value_size),
        ),
        lengths=given("PastSequenceLengthsTensor", batch),
    )
    results = {"OutputTensor": output}
    if case.present:
        results |= {"OutputPresentKeyTensor": all_keys, "OutputPresentValueTensor": all_values}
    return results


def check(device: dml.Device, case: Case) -> None:
    case = case.consistent
    inputs = data(case)
    desc = describe(case, inputs)
    outputs = run(device, desc, inputs)
    # float32: scores of some tens are rounded to 2e-6 (4e-6 where the filter is added to all),
    # which is the relative error of a weight. float16: all that is float32, then one rounding to 11 bits.
    rtol, atol = (1e-5, 1e-5) if case.data_type == "FLOAT32" else (2**-11 * 1.01, 1e-5)
    for name, expected in expect(case, inputs).items():
        result = outputs[name].astype(np.float64)
        assert result.shape == getattr(desc, name).Sizes
        np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol, atol, err_msg=name)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("number", range(4))
def test_masks(device: dml.Device, mask: str, number: int) -> None:
    """Every mask beside every way to give the inputs, with other options changing."""
    at = number + MASKS.index(mask)
    layouts = (("packed", "packed"), ("padded", "reversed"), ("reversed", "padded"), ("padded", "packed"))
    check(
        device,
        Case(
            (2, 3, 4, 3 if at % 2 else 0, 4, 6),
            source=SOURCES[number],
            mask=mask,
            bias=at % 3 == 0,
            relative=at % 2 == 0,
            present=at % 4 < 2,
            data_type="FLOAT16" if at % 3 == 1 else "FLOAT32",
            layouts=layouts[at % 4],
            rank=3 + at % 3,
            newer=at % 5 == 0,
        ),
    )


CASES = {
    "one of each": Case((1, 1, 1, 0, 1, 1), (1, 1)),
    "one query": Case((2, 1, 1, 9, 8, 8), (3, 3), present=True),
    "long rows": Case((1, 2, 300, 0, 8, 4), (1, 1), mask="KEY_SEQUENCE_LENGTH"),
    "bias and past": Case((2, 3, 3, 2, 4, 5), bias=True, present=True),
    "bias and past, float16": Case((2, 3, 3, 2, 4, 5), bias=True, present=True, data_type="FLOAT16"),
    "present without past": Case(present=True, layouts=("packed", "padded")),
    "two heads share": Case((2, 3, 5, 0, 4, 6), (4, 2), relative=True),
    "all heads share": Case((2, 3, 5, 2, 4, 6), (3, 1), present=True, bias=True, mask="BOOLEAN"),
    "shared, stacked": Case((2, 3, 5, 2, 4, 4), (4, 2), source="key value", data_type="FLOAT16"),
    "past lengths": Case((3, 2, 3, 4, 4, 6), lengths=True, present=True),
    "past lengths, masked": Case((3, 2, 3, 4, 4, 6), (4, 2), lengths=True, mask="KEY_SEQUENCE_LENGTH", bias=True),
    "past lengths, float16": Case((3, 2, 3, 4, 4, 6), lengths=True, present=True, data_type="FLOAT16"),
    "filter shifts": Case((2, 3, 6, 0, 4, 4), mask="BOOLEAN", filter_value=-1.5),
    "filter large": Case((2, 3, 6, 2, 4, 4), mask="KEY_SEQUENCE_LENGTH", filter_value=-10000.0),
    "filter positive": Case((2, 3, 6, 0, 4, 4), mask="KEY_SEQUENCE_END_START", filter_value=2.0),
    "aligned": Case((2, 16, 16, 0, 16, 16), source="query key value"),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(device: dml.Device, name: str) -> None:
    check(device, CASES[name])


def test_broadcast_mask(device: dml.Device) -> None:
    """One mask for all heads, by a stride of 0."""
    case = Case(mask="BOOLEAN").consistent
    inputs = data(case)
    inputs["MaskTensor"][:] = inputs["MaskTensor"][:, :1]
    sizes = inputs["MaskTensor"].shape
    _, _, queries, keys = sizes
    shared = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_INT32, sizes, (queries * keys, 0, keys, 1))
    outputs = run(device, replace(describe(case, inputs), MaskTensor=shared), inputs)
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 1e-5, 1e-5)


def test_everything_masked(device: dml.Device) -> None:
    """The filter is added: where all keys are masked alike, the scores decide as if none were."""
    case = Case((2, 3, 4, 0, 4, 4), mask="KEY_SEQUENCE_LENGTH", filter_value=-10000.0).consistent
    inputs = data(case)
    inputs["MaskTensor"][:] = 0
    # Adding -10000 leaves the scores their bits down to 2^-10.
    outputs = run(device, describe(case, inputs), inputs)
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 2e-3, 2e-3)


def test_large_scores(device: dml.Device) -> None:
    """Scores far beyond what exp() holds."""
    case = Case((1, 2, 5, 0, 4, 3), (1, 1)).consistent
    inputs = data(case)
    inputs["QueryTensor"] *= 300
    outputs = run(device, describe(case, inputs), inputs)
    # Scores of a thousand are rounded to 6e-5.
    np.testing.assert_allclose(outputs["OutputTensor"], expect(case, inputs)["OutputTensor"], 1e-3, 1e-3)


@settings(max_examples=10)
@given(
    sizes=st.tuples(*(st.integers(low, most) for low, most in ((1, 3), (1, 6), (1, 9), (0, 5), (1, 9), (1, 9)))),
    key_heads=st.integers(1, 2),
    each=st.integers(1, 3),
    source=st.sampled_from(SOURCES),
    mask=st.sampled_from(MASKS),
    flags=st.tuples(*[st.booleans()] * 4),
    data_type=st.sampled_from(["FLOAT32", "FLOAT16"]),
    layouts=st.tuples(*[st.sampled_from(["packed", "padded", "reversed"])] * 2),
)
def test_any(device: dml.Device, key_heads: int, each: int, flags: tuple[bool, bool, bool, bool], **more: Any) -> None:
    bias, relative, present, lengths = flags
    check(
        device,
        Case(
            heads=(key_heads * each, key_heads), bias=bias, relative=relative, present=present, lengths=lengths, **more
        ),
    )


def changed(case: Case, **changes: Any) -> dml.OperatorDesc:
    case = case.consistent
    return replace(describe(case, data(case)), **changes)


def float32(*sizes: int) -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor("FLOAT32", sizes)


def int32(*sizes: int) -> dml.DML_BUFFER_TENSOR_DESC:
    return tensor("INT32", sizes)


FULL = Case((2, 3, 4, 2, 5, 6), bias=True, relative=True, present=True)
SHARED = Case((2, 3, 4, 2, 5, 6), (4, 2), lengths=True)


@pytest.mark.parametrize(
    ("case", "changes", "message"),
    [
        (FULL, {"QueryTensor": None}, "exactly one of QueryTensor"),
        (FULL, {"StackedQueryKeyTensor": float32(2, 3, 2, 2, 5)}, "StackedQueryKeyTensor: exactly one of"),
        (FULL, {"StackedKeyValueTensor": float32(2, 4, 2, 2, 5)}, "StackedKeyValueTensor: exactly one of"),
        (FULL, {"HeadCount": 0}, "HeadCount: must be at least 1"),
        (FULL, {"HeadCount": 3}, "QueryTensor: must have a last size that is a multiple of 3"),
        (FULL, {"QueryTensor": float32(2, 2, 3, 10)}, "QueryTensor: must have size 1 in the dimensions before"),
        (FULL, {"KeyTensor": float32(1, 4, 10)}, "KeyTensor: must have the query's batch size 2"),
        (FULL, {"KeyTensor": float32(2, 4, 12)}, "KeyTensor: must have the query's head size 5"),
        (FULL, {"ValueTensor": float32(2, 5, 12)}, "ValueTensor: must have the key's batch and sequence sizes"),
        (FULL, {"BiasTensor": float32(31)}, "BiasTensor: must have sizes .32,."),
        (FULL, {"BiasTensor": float32(2, 32)}, "BiasTensor: must have sizes .32,."),
        (FULL, {"PastValueTensor": None}, "PastValueTensor: must be given exactly where PastKeyTensor"),
        (FULL, {"PastKeyTensor": float32(2, 2, 2, 6)}, "PastKeyTensor: must have sizes"),
        (FULL, {"PastValueTensor": float32(2, 2, 3, 6)}, "PastValueTensor: must have sizes"),
        (FULL, {"OutputPresentKeyTensor": float32(2, 2, 4, 5)}, "OutputPresentKeyTensor: must have sizes .2, 2, 6, 5"),
        (FULL, {"OutputPresentValueTensor": float32(2, 2, 6, 5)}, "OutputPresentValueTensor: must have sizes"),
        (FULL, {"RelativePositionBiasTensor": float32(2, 2, 3, 4)}, "RelativePositionBiasTensor: must have sizes"),
        (FULL, {"OutputTensor": float32(2, 3, 10)}, "OutputTensor: must have sizes .2, 3, 12"),
        (FULL, {"MaskTensor": int32(2, 2, 3, 6)}, "MaskTensor: must be given exactly where MaskType"),
        (replace(FULL, mask="BOOLEAN"), {"MaskTensor": None}, "MaskTensor: must be given exactly where MaskType"),
        (replace(FULL, mask="BOOLEAN"), {"MaskTensor": int32(2, 1, 3, 6)}, "MaskTensor: must have sizes .2, 2, 3, 6"),
        (replace(FULL, mask=MASKS[1]), {"MaskTensor": int32(1, 3)}, "MaskTensor: must have sizes .1, 2"),
        (replace(FULL, mask=MASKS[2]), {"MaskTensor": int32(1, 2)}, "MaskTensor: must have sizes .2, 2"),
        (replace(FULL, mask=MASKS[3]), {"MaskTensor": int32(7)}, "MaskTensor: must have sizes .8,"),
        (
            Case(source="query key value"),
            {"StackedQueryKeyValueTensor": float32(2, 3, 2, 2, 5)},
            "StackedQueryKeyValueTensor: must have sizes .2, 3, 2, 3, 5",
        ),
        (
            Case(source="key value"),
            {"StackedKeyValueTensor": float32(2, 4, 3, 2, 5)},
            "StackedKeyValueTensor: must have sizes .2, 4, 2, 2, 5",
        ),
        (SHARED, {"QueryHeadCount": 5}, "QueryHeadCount: must be a multiple of KeyValueHeadCount, 2"),
        (SHARED, {"KeyValueHeadCount": 0}, "KeyValueHeadCount: must be at least 1"),
        (SHARED, {"PastKeyTensor": None, "PastValueTensor": None}, "PastSequenceLengthsTensor: must not be given"),
        (SHARED, {"PastSequenceLengthsTensor": float32(3)}, "PastSequenceLengthsTensor: must have sizes .2,"),
        (Case(source="query key", newer=True), {"KeyValueHeadCount": 1}, "KeyValueHeadCount: must be QueryHeadCount"),
    ],
)  # fmt: skip
def test_refuses(case: Case, changes: dict[str, Any], message: str) -> None:
    dml.validate(changed(case))
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(changed(case, **changes))
