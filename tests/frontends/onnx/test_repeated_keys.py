"""Exported attention that repeats keys and values for the query heads that share them (Hugging Face's repeat_kv),
compared with float64 arithmetic.

Results are FLOAT32 sums of products of numbers below 1: 2e-5 is about 100 ulp. FLOAT16 rounds queries and scores: 4e-3
is 4 ulp near 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from models import Array
from onnx_graphs import check_plan
from test_attention_properties import reference

import dml
from dml.frontends.onnx import prepare

FLOAT, HALF = np.float32, np.float16
TOLERANCES = {FLOAT: 2e-5, HALF: 4e-3}
SIZE = 16
#: Number of query heads, and of key heads.
HEADS = [(1, 1), (4, 2), (6, 1), (8, 2), (3, 3)]

#: Scores by style: products as in Hugging Face's eager attention; with scaled factors, as PyTorch's exporter writes
#: scaled_dot_product_attention; ONNX's operator, which new exporters write.
SCORES = {
    "eager": """
        kt = Transpose <perm = [0, 1, 3, 2]> (keys)
        products = MatMul (query, kt)
        scores = Mul (products, scale)
        """,
    "scaled": """
        kt = Transpose <perm = [0, 1, 3, 2]> (keys)
        ks = Mul (kt, root)
        qs = Mul (query, root)
        scores = MatMul (qs, ks)
        """,
}


def decoder_attention(style: str, heads: int, key_heads: int, dtype: Any, masked: bool) -> bytes:
    """Return a model of attention over past and new keys; the sizes of batch and sequences are dynamic."""
    kind = "float16" if dtype == HALF else "float"
    constants = {
        "query_sizes": [0, -1, heads, SIZE], "key_sizes": [0, -1, key_heads, SIZE], "two": [2],
        "times": [heads // key_heads], "counts": [key_heads], "heads": [heads], "sizes": [SIZE],
        "flat": [0, -1, heads * SIZE],
    }  # fmt: skip

    def keys(name: str, result: str) -> str:
        return f"""
        {name}_split = Reshape ({name}, key_sizes)
        {name}_heads = Transpose <perm = [0, 2, 1, 3]> ({name}_split)
        present_{name} = Concat <axis = 2> (past_{name}, {name}_heads)
        {name}_batch = Shape <start = 0, end = 1> (present_{name})
        {name}_total = Shape <start = 2, end = 3> (present_{name})
        {name}_wide_sizes = Concat <axis = 0> ({name}_batch, counts, times, {name}_total, sizes)
        {name}_sizes = Concat <axis = 0> ({name}_batch, heads, {name}_total, sizes)
        {name}_five = Unsqueeze (present_{name}, two)
        {name}_wide = Expand ({name}_five, {name}_wide_sizes)
        {result} = Reshape ({name}_wide, {name}_sizes)
        """

    if style == "operator":
        mixed = f"mixed = Attention <scale = {SIZE**-0.5}> (query, keys, values{', mask' if masked else ''})"
    else:
        added = "shown = Add (scores, mask)" if masked else "shown = Identity (scores)"
        mixed = f"{SCORES[style]} {added} weights = Softmax <axis = -1> (shown) mixed = MatMul (weights, values)"
    past = ", ".join(f"{kind}[b, {key_heads}, p, {SIZE}] past_{name}" for name in "kv")
    mask = f", {kind}[b, 1, s, t] mask" if masked else ""
    presents = ", ".join(f"{kind}[b, {key_heads}, t, {SIZE}] present_{name}" for name in "kv")
    version = 23 if style == "operator" else 17
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": {version}]>
    attention ({kind}[b, s, {heads * SIZE}] q, {kind}[b, s, {key_heads * SIZE}] k, {kind}[b, s, {key_heads * SIZE}] v,
               {past}{mask}) => ({kind}[b, s, {heads * SIZE}] y, {presents}) {{
        q_split = Reshape (q, query_sizes)
        query = Transpose <perm = [0, 2, 1, 3]> (q_split)
        {keys("k", "keys")} {keys("v", "values")} {mixed}
        turned = Transpose <perm = [0, 2, 1, 3]> (mixed)
        y = Reshape (turned, flat)
    }}""")
    arrays = {name: np.array(numbers) for name, numbers in constants.items()}
    arrays |= {"scale": np.array(SIZE**-0.5, dtype), "root": np.array(SIZE**-0.25, dtype)}
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in arrays.items())
    return bytes(model.SerializeToString())


def feeds_of(batch: int, heads: int, key_heads: int, past: int, new: int, dtype: Any, masked: bool) -> dict[str, Array]:
    rng = np.random.default_rng(past + new)

    def numbers(*sizes: int) -> Array:
        return ((rng.random(sizes) - 0.5) * 2).astype(dtype)

    feeds = {"q": numbers(batch, new, heads * SIZE)}
    feeds |= {name: numbers(batch, new, key_heads * SIZE) for name in "kv"}
    feeds |= {f"past_{name}": numbers(batch, key_heads, past, SIZE) for name in "kv"}
    if masked:
        opened = np.tri(new, past + new, past, dtype=bool)
        feeds["mask"] = np.where(opened, numbers(batch, 1, new, past + new), -3e4).astype(dtype)
    return feeds


def check(found: list[Any], feeds: dict[str, Array], heads: int, key_heads: int) -> None:
    """Compare a run's results with float64 arithmetic."""

    def split(x: Array, count: int) -> Array:
        return x.reshape(*x.shape[:2], count, SIZE).transpose(0, 2, 1, 3)

    presents = [np.concatenate([feeds[f"past_{name}"], split(feeds[name], key_heads)], 2) for name in "kv"]
    for present, expected in zip(found[1:], presents, strict=True):
        np.testing.assert_array_equal(present, expected)
    wanted = reference(split(feeds["q"], heads), *presents, bias=feeds.get("mask"))
    np.testing.assert_allclose(found[0], wanted, rtol=0, atol=TOLERANCES[feeds["q"].dtype.type])


@given(
    style=st.sampled_from([*SCORES, "operator"]), heads=st.sampled_from(HEADS), dtype=st.sampled_from([FLOAT, HALF]),
    masked=st.booleans(), batch=st.integers(1, 2), past=st.sampled_from([0, 1, 63, 130]),
    new=st.sampled_from([1, 2, 65]),
)  # fmt: skip
@example("eager", (8, 2), FLOAT, True, 2, 63, 1)
@example("scaled", (8, 2), HALF, True, 2, 63, 65)
@example("operator", (6, 1), FLOAT, True, 1, 63, 1)
@settings(deadline=None, max_examples=25)
def test_exported_attention(
    device: dml.Device, style: str, heads: tuple[int, int], dtype: Any, masked: bool, batch: int, past: int, new: int
) -> None:
    feeds = feeds_of(batch, *heads, past, new, dtype, masked)
    prepared = prepare(decoder_attention(style, *heads, dtype, masked), device)
    check(prepared.run(feeds), feeds, *heads)


@pytest.mark.parametrize("style", [*SCORES, "operator"])
def test_a_growing_past(device: dml.Device, style: str) -> None:
    """Plans for traced sizes give the same results, and equal fresh ones."""
    model = decoder_attention(style, 8, 2, FLOAT, masked=True)
    prepared = prepare(model, device)
    for past in range(3, 12):
        feeds = feeds_of(1, 8, 2, past, 1, FLOAT, masked=True)
        check(prepared.run(feeds), feeds, 8, 2)
    check_plan(prepared, model, feeds_of(1, 8, 2, 12, 1, FLOAT, masked=True), device)


@pytest.mark.parametrize("style", [*SCORES, "operator"])
@pytest.mark.parametrize("new", [1, 33])
def test_repeated_keys_are_not_stored(device: dml.Device, style: str, new: int) -> None:
    """At 16 query heads for each key head, working memory is less than the repeated keys and values."""
    feeds = feeds_of(1, 16, 1, 2048 - new, new, FLOAT, masked=True)
    prepared = prepare(decoder_attention(style, 16, 1, FLOAT, masked=True), device)
    check(prepared.run(feeds), feeds, 16, 1)
    program = prepared.compiled_for(feeds)[0].compiled.program
    scores = 2 * 4 * 16 * 2048 * new
    assert program.temporary_size < scores + 4 * 16 * 2048 * SIZE // 2
