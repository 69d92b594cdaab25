"""Products and attention read tensors that copies repeat, such as the keys of heads that share them, without the
copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_blocks import memory

import dml
from dml.compiler.program import Space
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from harness import assert_sums

Array = npt.NDArray[Any]
SMALL = st.integers(1, 3)
FLOAT, HALF = np.float32, np.float16


def numbers(rng: np.random.Generator, dtype: Any, *sizes: int) -> Array:
    return (rng.random(sizes) - 0.5).astype(dtype)


def repeated(x: Tensor, times: int) -> Tensor:
    """Repeat each of the heads {B, M, T, H} for ``times`` query heads, as exported models do."""
    batch, heads, total, size = x.sizes
    strides = x.desc.strides
    wide = x.view((batch, heads, 1, total, size), (*strides[:2], 0, *strides[2:]))
    return wide.broadcast((batch, heads, times, total, size)).reshape(batch, heads * times, total, size)


def input_of(graph: Builder, name: str, array: Array) -> Tensor:
    return graph.input(name, array.shape, dml.data_type_of(array.dtype))


@given(
    heads=st.tuples(SMALL, SMALL, st.integers(1, 4)),
    sizes=st.tuples(st.sampled_from([1, 2, 5]), st.sampled_from([1, 7, 16]), st.sampled_from([1, 4, 8])),
    dtype=st.sampled_from([FLOAT, HALF]),
    source=st.sampled_from(["packed", "turned"]),
    query=st.sampled_from(["packed", "turned"]),
    between=st.sampled_from(["nothing", "scale", "wider"]),
    side=st.sampled_from(["keys", "values", "first"]),
    more=st.sampled_from(["nothing", "copied", "bias", "mask"]),
)
@example((2, 2, 4), (1, 16, 8), HALF, "turned", "turned", "scale", "keys", "mask")
@example((2, 3, 2), (5, 7, 4), FLOAT, "packed", "packed", "wider", "values", "bias")
@example((1, 3, 4), (5, 1, 8), HALF, "packed", "packed", "nothing", "values", "nothing")  # a subnormal result
@settings(deadline=None, max_examples=40)
def test_products_with_repeated_matrices(
    device: dml.Device, heads: tuple[int, int, int], sizes: tuple[int, int, int], dtype: Any, source: str, query: str,
    between: str, side: str, more: str,
) -> None:  # fmt: skip
    """Either operand, in any layout, with operators in between, and with other readers of the copy."""
    rng = np.random.default_rng(0)
    (batch, count, times), (steps, total, size) = heads, sizes
    if between == "wider":
        dtype = HALF
    stored = (batch, total, count, size) if source == "turned" else (batch, count, total, size)
    depth = total if side == "values" else size
    shape = (batch, steps, count * times, depth) if query == "turned" else (batch, count * times, steps, depth)
    k, q = numbers(rng, dtype, *stored), numbers(rng, FLOAT if between == "wider" else dtype, *shape)
    columns = size if side == "values" else total
    c = numbers(rng, q.dtype, batch, 1, steps, columns)
    graph = Builder(device)
    keys, rows = input_of(graph, "k", k), input_of(graph, "q", q)
    if source == "turned":
        keys, k = keys.transpose(0, 2, 1, 3), k.transpose(0, 2, 1, 3)
    if query == "turned":
        rows, q = rows.transpose(0, 2, 1, 3), q.transpose(0, 2, 1, 3)
    wide, expected = repeated(keys, times), np.repeat(k.astype(np.float64), times, 1)
    feeds_of_outputs = {"copy": wide} if more == "copied" else {}
    if between == "scale":
        wide, expected = wide * 0.5, expected * 0.5
    elif between == "wider":
        wide = op.cast(wide, dml.DML_TENSOR_DATA_TYPE_FLOAT32)
    exact, terms = q.astype(np.float64), abs(q.astype(np.float64))
    if side == "values":
        y = op.gemm(rows, wide)
    elif side == "keys":
        y, expected = op.gemm(rows, wide, transpose_b=True), expected.transpose(0, 1, 3, 2)
    else:
        y, expected = (
            op.gemm(wide, rows, transpose_b=True).transpose(0, 1, 3, 2).packed(),
            expected.transpose(0, 1, 3, 2),
        )
    wanted, magnitudes = exact @ expected, terms @ abs(expected)
    feeds = {"k": k.transpose(0, 2, 1, 3) if source == "turned" else k}
    feeds["q"] = q.transpose(0, 2, 1, 3) if query == "turned" else q
    if more == "bias" and side != "first":
        y = op.gemm(rows, wide, input_of(graph, "c", c), transpose_b=side == "keys")
    elif more in ("bias", "mask"):
        y = y + input_of(graph, "c", c).broadcast(y.sizes)
    if more in ("bias", "mask"):
        wanted, magnitudes, feeds["c"] = wanted + c, magnitudes + abs(c), c
    found = graph.compile({"y": y, **feeds_of_outputs}).dispatch({n: np.ascontiguousarray(x) for n, x in feeds.items()})
    # A scaled or rounded result in FLOAT16 may be rounded once more
    slack = 2.0**-9 if dtype == HALF else 0
    assert_sums(found["y"], wanted, magnitudes * (1 + slack * 2**24 / (depth + 6)), depth)
    if more == "copied":
        np.testing.assert_array_equal(found["copy"], np.repeat(k, times, 1))


@pytest.mark.parametrize("steps", [1, 5])
@pytest.mark.parametrize("dtype", [FLOAT, HALF])
@pytest.mark.parametrize("between", ["nothing", "scale"])
def test_repeated_keys_are_not_copied(device: dml.Device, steps: int, dtype: Any, between: str) -> None:
    """Scaled keys are stored without repetition; some kernels read FLOAT16 from copies in FLOAT32."""
    graph = Builder(device)
    data_type = dml.data_type_of(dtype)
    keys = graph.input("k", (2, 4, 512, 32), data_type)
    query = graph.input("q", (2, 32, steps, 32), data_type)
    wide = repeated(keys, 8)
    if between == "scale":
        wide = wide * 0.5
    program = graph.compile({"y": op.gemm(query, wide, transpose_b=True)}).program
    assert memory(program)[Space.TEMPORARY] <= (between == "scale") * keys.desc.TotalTensorSizeInBytes + (
        4 * (keys.desc.element_count + query.desc.element_count) if dtype == HALF else 0
    )


@given(
    batch=st.tuples(SMALL, SMALL), sizes=st.tuples(SMALL, st.integers(1, 9), st.integers(1, 9)),
    shared=st.tuples(st.booleans(), st.booleans()), turned=st.booleans(),
)  # fmt: skip
@settings(deadline=None, max_examples=30)
def test_a_batch_with_one_b(
    device: dml.Device, batch: tuple[int, int], sizes: tuple[int, int, int], shared: tuple[bool, bool], turned: bool
) -> None:
    """Batch elements that share b become rows of one product where the rows' strides allow it."""
    rng = np.random.default_rng(1)
    m, n, k = sizes
    a, c = numbers(rng, FLOAT, *batch, m, k), numbers(rng, FLOAT, *batch, m, n)
    b = numbers(rng, FLOAT, *(1 if one else size for one, size in zip(shared, batch, strict=True)), k, n)
    given = a.transpose(0, 2, 1, 3).copy() if turned else a
    graph = Builder(device)
    rows = input_of(graph, "a", given)
    y = op.gemm(rows.transpose(0, 2, 1, 3) if turned else rows, input_of(graph, "b", b), input_of(graph, "c", c))
    found = graph.compile({"y": op.relu(y)}).dispatch({"a": given, "b": b, "c": c})["y"]
    exact, magnitudes = (x.astype(np.float64) for x in (a, b)), abs(a).astype(np.float64) @ abs(b) + abs(c)
    assert_sums(found, np.maximum(next(exact) @ next(exact) + c, 0), magnitudes, k)


@pytest.mark.parametrize("dtype", [FLOAT, HALF])
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("steps", [1, 50])
def test_attention_with_repeated_heads(device: dml.Device, dtype: Any, masked: bool, steps: int) -> None:
    """MULTIHEAD_ATTENTION shares keys and values instead of copying them; its result stays the same."""
    rng = np.random.default_rng(2)
    k, v = numbers(rng, dtype, 2, 2, 70, 16), numbers(rng, dtype, 2, 2, 70, 16)
    q, mask = numbers(rng, dtype, 2, steps, 8 * 16), rng.integers(0, 2, (2, 1, steps, 70)).astype(np.int32)
    mask[..., 0] = 1
    graph = Builder(device)

    def flat(x: Tensor) -> Tensor:
        return repeated(x, 4).transpose(0, 2, 1, 3).reshape(2, 70, 8 * 16)

    key, value = (input_of(graph, name, x) for name, x in (("k", k), ("v", v)))
    seen = input_of(graph, "m", mask).broadcast((2, 8, steps, 70)) if masked else None
    y = op.multihead_attention(input_of(graph, "q", q), flat(key), flat(value), 8, mask=seen)
    compiled = graph.compile({"y": y})
    found = compiled.dispatch({"q": q, "k": k, "v": v, **({"m": mask} if masked else {})})["y"]
    exact_k, exact_v = (np.repeat(x.astype(np.float64), 4, 1) for x in (k, v))
    scores = q.reshape(2, steps, 8, 16).transpose(0, 2, 1, 3) @ exact_k.transpose(0, 1, 3, 2) / 4
    scores = np.exp(np.where(mask if masked else True, scores, -np.inf))
    expected = (scores / scores.sum(-1, keepdims=True) @ exact_v).transpose(0, 2, 1, 3).reshape(q.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 if dtype == HALF else 2e-6)
    bound = {binding.region.size for dispatch in compiled.program.dispatches for binding in dispatch.bindings}
    assert 4 * k.nbytes not in bound


def test_present_heads_stay_repeated(device: dml.Device) -> None:
    rng = np.random.default_rng(2)
    k, v, q = numbers(rng, FLOAT, 1, 2, 4, 4), numbers(rng, FLOAT, 1, 2, 4, 4), numbers(rng, FLOAT, 1, 2, 24)
    graph = Builder(device)
    given = {name: input_of(graph, name, x) for name, x in (("q", q), ("k", k), ("v", v))}
    keys, values = (repeated(given[name], 3).transpose(0, 2, 1, 3).reshape(1, 4, 24) for name in "kv")
    present = graph.output(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1, 6, 4, 4))
    found = graph.node(
        dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        {"OutputTensor": given["q"].desc, "OutputPresentKeyTensor": present, "OutputPresentValueTensor": present},
        QueryTensor=given["q"], KeyTensor=keys, ValueTensor=values, Scale=0.5, MaskFilterValue=-1e4, HeadCount=6,
        MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    names = {"k": "OutputPresentKeyTensor", "v": "OutputPresentValueTensor"}
    results = graph.compile({name: found[output] for name, output in names.items()}).dispatch({"q": q, "k": k, "v": v})
    np.testing.assert_array_equal(results["k"], np.repeat(k, 3, 1))
    np.testing.assert_array_equal(results["v"], np.repeat(v, 3, 1))
