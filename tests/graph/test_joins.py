"""Joins without copies: producers of inputs, and joins nested at the start of others, write into the outer tensor."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from dml.graph import operations as op
from dml.graph.builder import Builder
from harness import can_bind

CHANNELS, GROWTH, LAYERS = 8, 4, 5


def weights(dtype):
    random = np.random.default_rng(5)
    return [
        (random.uniform(-1, 1, (GROWTH, CHANNELS + GROWTH * layer, 1, 1)) / 4).astype(dtype) for layer in range(LAYERS)
    ]


def dense(x, filters, form):
    """Return a dense block: each layer reads the join of all earlier ones, joined anew or in a chain of joins."""
    parts = [x]
    for filter_ in filters:
        seen = op.join(parts, 1) if len(parts) > 1 else x
        made = op.relu(op.convolution(seen, filter_))
        parts = [*parts, made] if form == "lists" else [seen, made]
    return op.join(parts, 1)


def expected(x, filters):
    whole = x.astype(np.float64)
    for filter_ in filters:
        made = np.einsum("nchw,kc->nkhw", whole, filter_[:, :, 0, 0].astype(np.float64))
        whole = np.concatenate([whole, np.maximum(made, 0)], 1)
    return whole


@pytest.mark.parametrize("form", ["lists", "chain"])
@pytest.mark.parametrize(("dtype", "batch", "copies"), [("float32", 1, 1), ("float32", 2, 1), ("float16", 1, 1)])
def test_a_dense_block_copies_only_its_input(device, form, dtype, batch, copies):
    """The tolerance of FLOAT16 covers two roundings of 2^-11 for each intermediate sum."""
    filters = weights(dtype)
    x = np.random.default_rng(1).uniform(-1, 1, (batch, CHANNELS, 6, 6)).astype(dtype)
    b = Builder(device)
    compiled = b.compile({"y": dense(b.input("x", x.shape, dtype), filters, form)})
    kernels = Counter(dispatch.label.split("/")[0] for dispatch in compiled.program.dispatches)
    if can_bind(device, 5):
        assert kernels["elementwise"] == copies, compiled.describe()
    found = compiled.dispatch({"x": x})["y"]
    np.testing.assert_allclose(found, expected(x, filters), rtol=0, atol=1e-5 if dtype == "float32" else 1e-2)


@pytest.mark.parametrize("sizes", [(3, 3, 3), (15, 15, 15), (16, 16, 16), (5, 1, 1)])
def test_parts_that_share_words(device, sizes):
    """Rows of bytes end inside words: the outer join must not overwrite bytes that the inner join has written to the
    same word. With (5, 1, 1) that word is the inner join's last one."""
    arrays = [np.arange(k, k + size, dtype=np.uint8)[None] for k, size in zip((10, 50, 90), sizes, strict=True)]
    b = Builder(device)
    first, *others = (b.input(f"x{k}", array.shape, "uint8") for k, array in enumerate(arrays))
    inner = op.join(others, 1)
    compiled = b.compile({"inner": op.bit_not(inner), "outer": op.join([first, *others], 1)})
    found = compiled.dispatch({f"x{k}": array for k, array in enumerate(arrays)})
    np.testing.assert_array_equal(found["inner"], ~np.concatenate(arrays[1:], 1))
    np.testing.assert_array_equal(found["outer"], np.concatenate(arrays, 1))


@pytest.mark.parametrize("order", [("as is", "turned"), ("turned", "as is"), ("as is", "flat"), ("flat", "as is")])
def test_joins_that_see_the_same_values_in_different_layouts(device, order):
    """The later join's places hold the values in its own layout, and dimension count."""
    x = np.arange(9, dtype=np.float32).reshape(3, 3) - 2
    b = Builder(device)
    given = b.input("x", x.shape)
    parts = op.relu(given), op.negate(given)
    seen = {"as is": lambda v: v, "turned": lambda v: v.T, "flat": lambda v: v.reshape(1, 1, 9)}
    joined = {form: op.join([seen[form](part) for part in parts], 0) for form in order}
    found = b.compile({form: op.absolute(result) for form, result in joined.items()}).dispatch({"x": x})
    for form in order:
        wanted = np.concatenate([seen[form](np.maximum(x, 0)), seen[form](-x)])
        np.testing.assert_array_equal(found[form], np.abs(wanted))
