"""Attention that a model writes as product, softmax and product: many scores are computed for a few heads at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_repeats import FLOAT, HALF, SMALL, Array, input_of, numbers, repeated

import dml
from dml.compiler.program import Program
from dml.compiler.selection import attention
from dml.compiler.target import DeviceClass, Target
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.planning.planner import Planner


def softmax(x: Array) -> Array:
    made = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(made / made.sum(-1, keepdims=True))


def products(program: Program) -> int:
    return sum(dispatch.label.startswith("gemm/") for dispatch in program.dispatches)


@given(
    heads=st.tuples(SMALL, SMALL, SMALL), sizes=st.tuples(SMALL, st.sampled_from([1, 4, 7]), st.sampled_from([3, 8])),
    dtype=st.sampled_from([FLOAT, HALF]), most=st.sampled_from([1, 100, 300, 1 << 20]),
    mask=st.sampled_from(["none", "scaled", "of queries", "of heads", "as C"]), turned=st.booleans(),
)  # fmt: skip
@example((2, 2, 3), (3, 7, 8), FLOAT, 300, "of heads", True)
@example((3, 2, 2), (2, 4, 8), HALF, 100, "as C", False)
@settings(deadline=None, max_examples=40)
def test_scores_in_parts(
    device: dml.Device, heads: tuple[int, int, int], sizes: tuple[int, int, int], dtype: Any, most: int, mask: str,
    turned: bool,
) -> None:  # fmt: skip
    """Any number of heads, which may share keys, with terms added to the scores, and results in any layout."""
    rng = np.random.default_rng(0)
    (batch, count, each), (steps, total, size) = heads, sizes
    q = numbers(rng, dtype, batch, count * each, steps, size)
    k, v = (numbers(rng, dtype, batch, count, total, size) for _ in range(2))
    m = numbers(rng, dtype, batch, count * each if mask == "of heads" else 1, steps, total)
    graph = Builder(device)
    query, keys, values, added = (input_of(graph, name, x) for name, x in zip("qkvm", (q, k, v, m), strict=True))
    scores = op.gemm(query, repeated(keys, each), added if mask == "as C" else None, transpose_b=True)
    if mask not in ("none", "as C"):
        scores = scores * 0.5 + added.broadcast(scores.sizes)
    mixed = op.gemm(op.softmax(scores, [3]), repeated(values, each))
    if turned:
        mixed = mixed.transpose(0, 2, 1, 3).reshape(batch, steps, count * each * size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention, "_SCORES_ON_CPUS", most)
        compiled = graph.compile({"y": mixed})
    found = compiled.dispatch({"q": q, "k": k, "v": v, **({} if mask == "none" else {"m": m})})["y"]
    exact = [x.astype(np.float64) for x in (q, np.repeat(k, each, 1), np.repeat(v, each, 1))]
    products = exact[0] @ exact[1].transpose(0, 1, 3, 2)
    products = products if mask == "none" else products * (1 if mask == "as C" else 0.5) + m
    expected = softmax(products) @ exact[2]
    if turned:
        expected = expected.transpose(0, 2, 1, 3).reshape(found.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 if dtype == HALF else 2e-6)


def test_whispers_encoder_holds_the_scores_of_one_head() -> None:
    """12 heads of 1,500 positions have 103 MiB of scores, one head has 9. Their softmax is a second tensor."""
    graph = Builder(Planner(Target(DeviceClass.CPU)))
    q, k, v = (graph.input(name, (1, 12, 1500, 64)) for name in "qkv")
    y = op.gemm(op.softmax(op.gemm(q, k, transpose_b=True) * 0.125, [3]), v)
    program = graph.compile({"y": y}).program
    assert program.temporary_size < 20 << 20
    assert products(program) == 24


@pytest.mark.parametrize("which", ["scores", "weights", "of queries", "nothing"])
def test_scores_that_are_needed_whole(device: dml.Device, monkeypatch: pytest.MonkeyPatch, which: str) -> None:
    """Scores with another reader, a softmax over another axis, and scores below the limit are computed at once."""
    monkeypatch.setattr(attention, "_SCORES_ON_CPUS", 4 * 6 * 5 * 7 if which == "nothing" else 1)
    rng = np.random.default_rng(1)
    arrays = {"q": numbers(rng, FLOAT, 2, 3, 5, 4), "k": numbers(rng, FLOAT, 2, 3, 7, 4)}
    arrays["v"] = numbers(rng, FLOAT, 2, 3, 7, 4)
    graph = Builder(device)
    q, k, v = (input_of(graph, name, x) for name, x in arrays.items())
    scores = op.gemm(q, k, transpose_b=True)
    weights = op.softmax(scores, [2 if which == "of queries" else 3])
    more = {"scores": scores, "weights": weights}
    compiled = graph.compile({"y": op.gemm(weights, v), **({which: more[which]} if which in more else {})})
    assert products(compiled.program) == 2
    found = compiled.dispatch(arrays)
    exact = arrays["q"].astype(np.float64) @ arrays["k"].transpose(0, 1, 3, 2)
    shares = softmax(exact.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2) if which == "of queries" else softmax(exact)
    np.testing.assert_allclose(found["y"], shares @ arrays["v"], rtol=0, atol=2e-6)


@pytest.mark.parametrize("batch, parts", [(1008, 2), (1009, 1)])
def test_parts_of_few_matrices_are_too_many(batch: int, parts: int) -> None:
    """1,009 is a prime: parts of equal sizes would have one matrix each."""
    graph = Builder(Planner(Target(DeviceClass.CPU)))
    q, k, v = (graph.input(name, (batch, 50, 16)) for name in "qkv")
    y = op.gemm(op.softmax(op.gemm(q, k, transpose_b=True), [2]), v)
    assert products(graph.compile({"y": y}).program) == 2 * parts
