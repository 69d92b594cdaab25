"""Attention cases: their descriptions and data, and the expected results from float64 NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dml
from dml.conformance.references import attention as reference
from harness import run, tensor

MASKS = ("NONE", "KEY_SEQUENCE_LENGTH", "KEY_SEQUENCE_END_START", "KEY_QUERY_SEQUENCE_LENGTH_START_END", "BOOLEAN")
#: Stackings of query, key and value.
SOURCES = ("separate", "query key", "key value", "query key value")


@dataclass(frozen=True)
class Case:
    """An attention test case. sizes: batch, queries, new keys, past keys, head size, value head size. Stacked inputs
    make some of them equal."""

    sizes: tuple[int, int, int, int, int, int] = (2, 3, 4, 0, 5, 6)
    heads: tuple[int, int] = (2, 2)
    source: str = "separate"
    mask: str = "NONE"
    bias: bool = False
    relative: bool = False
    present: bool = False
    lengths: bool = False
    in_place: bool = False  # the present tensors hold the past; implies lengths
    data_type: str = "FLOAT32"
    layouts: tuple[str, str] = ("packed", "packed")  # layouts of the inputs, and of the outputs
    rank: int = 3
    newer: bool = False  # MULTIHEAD_ATTENTION1
    filter_value: float = -64.0

    @property
    def consistent(self) -> Case:
        """The case with sizes that fit its stacking, and with MULTIHEAD_ATTENTION1 where its heads or lengths require
        it."""
        batch, queries, keys, past, size, value_size = self.sizes
        if self.source.startswith("query key"):
            keys = queries
        if self.source.endswith("key value"):
            value_size = size
        heads = (self.heads[0], self.heads[0]) if self.source.startswith("query key") else self.heads
        lengths = (self.lengths and past > 0) or self.in_place
        newer = self.newer or heads[0] != heads[1] or lengths
        sizes = batch, queries, keys, past, size, value_size
        present = self.present or self.in_place
        return replace(self, sizes=sizes, heads=heads, lengths=lengths, newer=newer, present=present)


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
        inputs["PastSequenceLengthsTensor"] = rng.integers(0, past + 1, batch).astype(
            np.int32 if case.in_place else kind
        )
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
    if case.in_place:
        inputs = {name: array for name, array in inputs.items() if name not in ("PastKeyTensor", "PastValueTensor")}
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
    if case.in_place:  # new rows are read from the cache, in its data type
        kind = dml.numpy_dtype(dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{case.data_type}"])
        key, value = (x.astype(kind).astype(np.float64) for x in (key, value))
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
    outputs = run_in_place(device, desc, case, inputs) if case.in_place else run(device, desc, inputs)
    # float32: scores of several tens are rounded to 2e-6 (4e-6 where the filter is added to all), which is the relative
    # error of a weight. float16: the float32 error, then one rounding to 11 bits.
    rtol, atol = (1e-5, 1e-5) if case.data_type == "FLOAT32" else (2**-11 * 1.01, 1e-5)
    for name, expected in expect(case, inputs).items():
        result = outputs[name].astype(np.float64)
        assert result.shape == getattr(desc, name).Sizes
        np.testing.assert_allclose(result.reshape(expected.shape), expected, rtol, atol, err_msg=name)


def run_in_place(device: dml.Device, desc: dml.OperatorDesc, case: Case, inputs: dict[str, Any]) -> dict[str, Any]:
    """Run a description whose present tensors hold the past; zero the output rows past each length, as in the
    reference.

    Checks that every row of the caches except the new ones stays unchanged.
    """
    batch, _, keys, past, *_ = case.sizes
    rng = np.random.default_rng(3)
    lengths = inputs["PastSequenceLengthsTensor"].ravel()
    before: dict[str, Any] = {}
    for name in ("Key", "Value"):
        sizes = getattr(desc, f"OutputPresent{name}Tensor").Sizes
        cache = rng.uniform(-9, 9, sizes).astype(inputs.get("QueryTensor", next(iter(inputs.values()))).dtype)
        held = inputs.get(f"Past{name}Tensor")
        if held is not None:
            cache[..., :past, :] = held.reshape(cache[..., :past, :].shape)
        before[f"OutputPresent{name}Tensor"] = cache
    into = {name: device.to_device(cache) for name, cache in before.items()}
    compiled = device.compile_operator(device.create_operator(desc))
    given = {name: array for name, array in inputs.items() if name not in ("PastKeyTensor", "PastValueTensor")}
    outputs = {name: np.array(found) for name, found in compiled.dispatch(given, into=into).items()}
    for name, cache in before.items():
        for b in range(batch):
            new = slice(lengths[b], lengths[b] + keys)
            stays = np.ones(past + keys, bool)
            stays[new] = False
            found = outputs[name].reshape(-1, *cache.shape[-3:])[b]
            assert np.array_equal(found[:, stays], cache.reshape(-1, *cache.shape[-3:])[b][:, stays])
            found[:, new.stop :] = 0
    return outputs
