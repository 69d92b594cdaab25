"""ONNX's Attention (version 23), compared with float64 arithmetic.

Results are FLOAT32 sums of products of numbers below 1: 2e-5 is about 100 ulp. FLOAT16 rounds queries and scores: 4e-3
is 4 ulp near 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from models import Array, node_model

import dml
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.backend import PreparedModel

FLOAT, HALF = np.float32, np.float16
TOLERANCES = {FLOAT: 2e-5, HALF: 4e-3}


def reference(
    query: Array, key: Array, value: Array, opened: Array | None, bias: Array | None, scale: float | None
) -> Array:
    """Return attention {B, N, S, V} of a query {B, N, S, H} over keys {B, M, T, H}; rows without a key are zero."""
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    times = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, times, 1) for x in (key, value))
    scores = query @ key.transpose(0, 1, 3, 2) * (query.shape[3] ** -0.5 if scale is None else scale)
    scores = scores + (0 if bias is None else bias.astype(np.float64))
    if opened is not None:
        scores = np.where(opened, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isinf(most), 0, most))
    return np.asarray(weights / np.maximum(weights.sum(-1, keepdims=True), 1e-300) @ value)


def flat(x: Array) -> Array:
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def mask_of(kind: str, sizes: tuple[int, int, int, int], rng: np.random.Generator) -> Array | None:
    """Return a mask that broadcasts to {B, N, S, T}; one of its rows is closed, unless it has a single one.

    kind: rank or "all", and "bool" or "float".
    """
    if kind == "none":
        return None
    batch, _, steps, total = sizes
    shapes = {
        "1d": (total,),
        "2d": (steps, total),
        "3d": (1, steps, total),
        "4d": (batch, 1, steps, total),
        "all": sizes,
    }
    name, _, what = kind.partition(" ")
    opened = rng.random(shapes[name]) < 0.7
    if opened.ndim > 1:
        opened[..., 0, :] = False
    if what == "bool":
        return opened
    return np.where(opened, rng.uniform(-2, 2, opened.shape), -np.inf).astype(FLOAT)


KINDS = [f"{name} {what}" for name in ("1d", "2d", "3d", "4d", "all") for what in ("bool", "float")]


@settings(max_examples=40, deadline=None)
@given(
    heads=st.sampled_from([(1, 1), (6, 2), (4, 4), (8, 1)]),
    steps=st.sampled_from([1, 2, 17]),
    others=st.sampled_from([0, 1, 30]),
    past=st.sampled_from([0, 1, 30]),
    rank=st.sampled_from([3, 4]),
    sizes=st.sampled_from([(8, 8), (12, 5)]),
    mask=st.sampled_from(["none", *KINDS]),
    is_causal=st.booleans(),
    dtype=st.sampled_from([FLOAT, HALF]),
    scale=st.sampled_from([None, 0.3, 0.0]),
)
@example((8, 1), 1, 300, 0, 4, (8, 8), "4d bool", False, HALF, None)
@example((6, 2), 1, 0, 300, 4, (12, 5), "all float", True, FLOAT, None)
@example((4, 4), 17, 0, 30, 3, (8, 8), "2d bool", True, FLOAT, 0.3)
@example((6, 2), 2, 30, 0, 3, (8, 8), "3d float", True, FLOAT, 0.3)
def test_attention(
    device: dml.Device, heads: tuple[int, int], steps: int, others: int, past: int, rank: int,
    sizes: tuple[int, int], mask: str, is_causal: bool, dtype: Any, scale: float | None,
) -> None:  # fmt: skip
    """others: number of keys in addition to one per query."""
    rng = np.random.default_rng(steps + past)
    (count, key_heads), (size, value_size), batch, new = heads, sizes, 2, steps + others

    def made(*shape: int) -> Array:
        return np.asarray(rng.uniform(-1, 1, shape).astype(dtype))

    query, key, value = (
        made(batch, count, steps, size),
        made(batch, key_heads, new, size),
        made(batch, key_heads, new, value_size),
    )
    before = [made(batch, key_heads, past, size), made(batch, key_heads, past, value_size)] if past else []
    own = mask_of(mask, (batch, count, steps, past + new), rng)
    own = own.astype(dtype) if own is not None and own.dtype == FLOAT else own
    given_ = [flat(x) if rank == 3 else x for x in (query, key, value)]
    inputs = dict(zip(("q", "k", "v", "mask", "past_k", "past_v"), [*given_, own, *before], strict=False))
    inputs = {name: x for name, x in inputs.items() if x is not None or before}
    attributes: dict[str, Any] = {} if scale is None else {"scale": scale}
    if rank == 3:
        attributes |= {"q_num_heads": count, "kv_num_heads": key_heads}
    outputs = {"y": (rank, dtype)} | ({"present_k": (4, dtype), "present_v": (4, dtype)} if past else {})
    model, feeds = node_model(
        "Attention", inputs, outputs, domain="", version=23, is_causal=int(is_causal), **attributes
    )
    found = prepare(model, device, fallback=False).run(feeds)
    all_keys, all_values = (
        (np.concatenate([a, b], 2) for a, b in zip(before, (key, value), strict=True)) if past else (key, value)
    )
    opened = np.tri(steps, past + new, past, dtype=bool) if is_causal else None
    if own is not None and own.dtype == bool:
        opened = own if opened is None else own & opened
    bias = own if own is not None and own.dtype != bool else None
    expected = reference(query, all_keys, all_values, opened, bias, scale)
    np.testing.assert_allclose(found[0], flat(expected) if rank == 3 else expected, atol=TOLERANCES[dtype])
    for present, wanted in zip(found[1:], (all_keys, all_values), strict=False):
        np.testing.assert_array_equal(present, wanted)


@pytest.mark.parametrize("masked", [False, True])
def test_a_growing_past(device: dml.Device, masked: bool) -> None:
    """Twelve steps, from an empty past; after the first ones, plans are made from a pattern."""
    rng = np.random.default_rng(3)
    keys, values = (np.zeros((1, 2, 0, 16), FLOAT) for _ in range(2))
    prepared: PreparedModel | None = None
    for _ in range(12):
        query, key, value = (rng.uniform(-1, 1, (1, heads, 1, 16)).astype(FLOAT) for heads in (4, 2, 2))
        total = keys.shape[2] + 1
        mask = (np.arange(total) % 3 != 1).reshape(1, 1, 1, total) if masked else None
        inputs = {"q": query, "k": key, "v": value, "mask": mask, "past_k": keys, "past_v": values}
        outputs = {"y": (4, FLOAT), "present_k": (4, FLOAT), "present_v": (4, FLOAT)}
        model, feeds = node_model("Attention", inputs, outputs, domain="", version=23, is_causal=1)
        for entry in model.graph.input:
            for dim in entry.type.tensor_type.shape.dim:
                dim.dim_param = f"size {dim.dim_value}" if dim.dim_value > 1 else ""
        prepared = prepared or prepare(model, device, fallback=False)
        found, *present = prepared.run(feeds)
        keys, values = (np.concatenate(each, 2) for each in ((keys, key), (values, value)))
        np.testing.assert_array_equal(present[0], keys)
        np.testing.assert_array_equal(present[1], values)
        np.testing.assert_allclose(found, reference(query, keys, values, mask, None, None), atol=TOLERANCES[FLOAT])
    assert prepared is not None
    assert sum(each.saved for each in prepared.parts[0].patterns.values()) > 0


def test_keys_of_a_query_stay_where_they_are(device: dml.Device) -> None:
    """One query over keys without a past: two products and a softmax; keys are neither copied nor repeated."""
    rng = np.random.default_rng(4)
    q, k, v = (rng.uniform(-1, 1, (1, heads, steps, 64)).astype(HALF) for heads, steps in ((8, 1), (2, 512), (2, 512)))
    model, feeds = node_model("Attention", {"q": q, "k": k, "v": v}, {"y": (4, HALF)}, domain="", version=23)
    prepared = prepare(model, device, fallback=False)
    np.testing.assert_allclose(prepared.run(feeds)[0], reference(q, k, v, None, None, None), atol=TOLERANCES[HALF])
    plan, _ = prepared.compiled_for(feeds)
    assert plan.compiled is not None
    assert plan.compiled.program.temporary_size < k.nbytes


def test_a_level_without_the_operator_takes_the_function(vulkan: Any) -> None:
    rng = np.random.default_rng(5)
    q, k, v = (rng.uniform(-1, 1, (1, heads, 3, 16)).astype(FLOAT) for heads in (4, 2, 2))
    older = dml.create_device(vulkan.index, feature_level=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_6_0)
    model, feeds = node_model("Attention", {"q": q, "k": k, "v": v}, {"y": (4, FLOAT)}, domain="", version=23)
    (found,) = prepare(model, older, fallback=False).run(feeds)
    np.testing.assert_allclose(found, reference(q, k, v, None, None, None), atol=TOLERANCES[FLOAT])
