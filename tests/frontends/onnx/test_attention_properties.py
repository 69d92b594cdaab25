"""Attention operators of com.microsoft at sizes on both sides of the mappings' thresholds, compared with float64
arithmetic.

Results are FLOAT32 sums of products of numbers below 1: 2e-5 is about 100 ulp. FLOAT16 rounds the inputs' projections
and the results: 4e-3 is 4 ulp near 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from models import Array, node_model

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.operators import attention_products

FLOAT, HALF = np.float32, np.float16
TOLERANCES = {FLOAT: 2e-5, HALF: 4e-3}
#: Numbers of query and key heads.
HEADS = st.sampled_from([(1, 1), (6, 2), (4, 4), (8, 1)])
#: Sequence lengths around a tile of 64; from 64 on, masks have at least 4,096 elements.
STEPS = st.sampled_from([1, 2, 15, 63, 64, 65, 130])
PASTS = st.sampled_from([0, 1, 62, 64, 129])


def softmax(x: Array) -> Array:
    made = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(made / made.sum(-1, keepdims=True))


def reference(
    query: Array, key: Array, value: Array, opened: Array | None = None, bias: Array | None = None, *,
    scale: float | None = None, softcap: float = 0.0, sink: Array | None = None,
) -> Array:  # fmt: skip
    """Return attention {B, S, N V} of a query {B, N, S, H} over keys {B, M, T, H} and values {B, M, T, V}.

    opened: True for visible keys. bias: added to scores. sink: one more score per head, without a value.
    """
    query, key, value = (x.astype(np.float64) for x in (query, key, value))
    times = query.shape[1] // key.shape[1]
    key, value = (np.repeat(x, times, 1) for x in (key, value))
    scores = query @ key.transpose(0, 1, 3, 2) * (query.shape[3] ** -0.5 if scale is None else scale)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias.astype(np.float64)
    if opened is not None:
        scores = np.where(opened, scores, -np.inf)
    if sink is not None:
        column = np.broadcast_to(sink.astype(np.float64).reshape(1, -1, 1, 1), (*scores.shape[:3], 1))
        shares = softmax(np.concatenate([scores, column], -1))[..., :-1]
    else:
        shares = softmax(scores)
    mixed = (shares @ value).transpose(0, 2, 1, 3)
    return np.asarray(mixed.reshape(*mixed.shape[:2], -1))


def split(x: Array, heads: int) -> Array:
    """Turn {B, S, N H} into {B, N, S, H}."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def rotated(x: Array, positions: Array, cosines: Array, sines: Array, *, interleaved: bool) -> Array:
    """Rotate x {B, N, S, H} by the angles of positions {B, S}; elements after the rotated pairs stay unchanged."""
    made, pairs = x.astype(np.float64), cosines.shape[1]
    cos, sin = (cache.astype(np.float64)[positions][:, None] for cache in (cosines, sines))
    chosen = (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
    if not interleaved:
        chosen = (slice(0, pairs), slice(pairs, 2 * pairs))
    a, b = (made[..., one].copy() for one in chosen)
    made[..., chosen[0]], made[..., chosen[1]] = cos * a - sin * b, sin * a + cos * b
    return made


class Numbers:
    """Generates random arrays of a data type."""

    def __init__(self, seed: int, dtype: Any = FLOAT) -> None:
        self.rng, self.dtype = np.random.default_rng(seed), dtype

    def __call__(self, *shape: int) -> Array:
        return self.rng.uniform(-1, 1, shape).astype(self.dtype)

    def angles(self, count: int, pairs: int) -> tuple[Array, Array]:
        turns = self.rng.uniform(-3, 3, (count, pairs))
        return np.cos(turns).astype(self.dtype), np.sin(turns).astype(self.dtype)


def close(found: Any, expected: Array, dtype: Any) -> None:
    array = np.asarray(found)
    assert (array.shape, array.dtype) == (expected.shape, np.dtype(dtype))
    np.testing.assert_allclose(array.astype(np.float64), expected, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype])


MORE = ("", "rotary", "interleaved", "window", "softcap", "sink", "smooth", "bias", "packed", "scale")


@settings(max_examples=20)
@given(
    batch=st.integers(1, 2), heads=HEADS, size=st.sampled_from([16, 64, 80, 128]), steps=STEPS, past=PASTS,
    spare=st.sampled_from([0, 7]), more=st.sampled_from(MORE), dtype=st.sampled_from([FLOAT, HALF]),
    in_place=st.booleans(), parts=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
@example(batch=1, heads=(32, 8), size=64, steps=1, past=2047, spare=1, more="rotary", dtype=HALF, in_place=True,
         parts=False, seed=0)  # fmt: skip
@example(batch=1, heads=(4, 2), size=64, steps=300, past=0, spare=0, more="softcap", dtype=FLOAT, in_place=False,
         parts=True, seed=0)  # fmt: skip
def test_group_query_attention(
    device: dml.Device, batch: int, heads: tuple[int, int], size: int, steps: int, past: int, spare: int, more: str,
    dtype: Any, in_place: bool, parts: bool, seed: int,
) -> None:  # fmt: skip
    """Batch elements have pasts of different lengths; a cache grows, has free positions, or is written in place."""
    numbers, (count, key_heads) = Numbers(seed, dtype), heads
    pasts = np.array([past, max(0, past - 1)][:batch]) if steps == 1 else np.full(batch, past)
    total = int(pasts.max()) + steps
    room = total + spare if in_place else past + spare if past else 0
    new = [numbers(batch, steps, width * size) for width in (count, key_heads, key_heads)]
    caches = [numbers(batch, key_heads, room, size) for _ in range(2)]
    attributes: dict[str, Any] = {"num_heads": count, "kv_num_heads": key_heads}
    inputs: dict[str, Array | None] = dict(zip(("q", "k", "v"), new, strict=True))
    if more == "packed":
        inputs |= {"q": np.concatenate(new, 2), "k": None, "v": None}
    inputs |= dict(zip(("past_k", "past_v"), caches if room else (None, None), strict=True))
    inputs["lengths"] = (pasts + steps - 1).astype(np.int32)
    inputs["total"] = np.array(total, np.int32)
    inputs |= dict.fromkeys(("cos", "sin", "positions", "bias", "sink"))
    query, key, value = split(new[0], count), split(new[1], key_heads), split(new[2], key_heads)
    own = pasts[:, None] + np.arange(steps)
    given_to: dict[str, Any] = {}
    if more in ("rotary", "interleaved"):
        cosines, sines = numbers.angles(total + 3, size // 16 * 8)
        inputs |= {"cos": cosines, "sin": sines}
        attributes |= {"do_rotary": 1, "rotary_interleaved": int(more == "interleaved")}
        query, key = (rotated(x, own, cosines, sines, interleaved=more == "interleaved") for x in (query, key))
    window = 5 if more == "window" else total + 1
    if more == "window":
        attributes["local_window_size"] = window
    if more == "softcap":
        attributes["softcap"] = given_to["softcap"] = 0.75
    if more == "sink":
        inputs["sink"] = given_to["sink"] = numbers(count)
    if more == "smooth":
        attributes["smooth_softmax"], given_to["sink"] = 1, np.zeros(count)
    if more == "scale":
        attributes["scale"] = given_to["scale"] = 0.3
    if more == "bias":
        inputs["bias"] = numbers(1, count, steps, total)
        given_to["bias"] = inputs["bias"]
    held = [np.zeros((batch, key_heads, total, size)) for _ in range(2)]
    for index, (cache, rows) in enumerate(zip(caches, (key, value), strict=True)):
        for row, length in enumerate(pasts):
            held[index][row, :, :length] = cache[row, :, :length]
            held[index][row, :, length : length + steps] = rows[row]
    keys = np.arange(total)
    opened = (keys <= own[..., None]) & (keys > own[..., None] - window)
    expected = reference(query, held[0], held[1], opened[:, None], **given_to)
    model, fed = node_model("GroupQueryAttention", inputs, {"y": (3, dtype), "pk": (4, dtype), "pv": (4, dtype)},
                            **attributes)  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        if parts:
            patch.setattr(attention_products, "MOST_SCORES", 4 * batch * count * total * 20)
        prepared = prepare(model, device, fallback=False)
        shared = {"pk": "past_k", "pv": "past_v"} if in_place else None
        if in_place:
            fed |= {name: device.to_device(fed[name]) for name in ("past_k", "past_v")}
        found = prepared.run(fed, shared=shared)
    close(found[0], expected, dtype)
    for array, rows in zip(found[1:], held, strict=True):
        made = np.asarray(array)
        assert made.shape[2] == max(total, room)
        for row, length in enumerate(pasts):
            last = int(length) + steps
            np.testing.assert_allclose(made[row, :, :last], rows[row, :, :last], rtol=2e-3 if dtype is HALF else 1e-5,
                                       atol=2e-3 if dtype is HALF else 1e-5)  # fmt: skip


def mask_of(kind: str, rng: np.random.Generator, batch: int, steps: int, total: int) -> tuple[Array | None, Array]:
    """Return a mask for the operators, and the visible keys {B, 1, S, T}. The first key is always visible."""
    keys = np.arange(total)
    if kind == "lengths":
        ends = rng.integers(1, total + 1, batch).astype(np.int32)
        return ends, (keys < ends[:, None])[:, None, None]
    if kind == "keys":
        mask = rng.integers(0, 2, (batch, total)).astype(np.int32)
        mask[:, 0] = 1
        return mask, mask.astype(bool)[:, None, None]
    if kind == "queries":
        mask = rng.integers(0, 2, (batch, steps, total)).astype(np.int32)
        mask[:, :, 0] = 1
        return mask, mask.astype(bool)[:, None]
    return None, np.ones((1, 1, 1, 1), bool)


FORMS = ("apart", "stacked", "stacked keys", "heads apart")


@settings(max_examples=20)
@given(
    batch=st.integers(1, 2), heads=st.sampled_from([1, 3, 8]), size=st.sampled_from([8, 32, 64]), steps=STEPS,
    cross=st.sampled_from([0, 1, 70]), past=st.sampled_from([0, 1, 66]), form=st.sampled_from(FORMS),
    mask=st.sampled_from(["none", "lengths", "keys", "queries"]), relative=st.booleans(), biased=st.booleans(),
    causal=st.booleans(), dtype=st.sampled_from([FLOAT, HALF]), seed=st.integers(0, 99),
)  # fmt: skip
@example(batch=1, heads=12, size=64, steps=1, cross=1500, past=0, form="heads apart", mask="none", relative=False,
         biased=False, causal=False, dtype=FLOAT, seed=0)  # fmt: skip
def test_multi_head_attention(
    device: dml.Device, batch: int, heads: int, size: int, steps: int, cross: int, past: int, form: str, mask: str,
    relative: bool, biased: bool, causal: bool, dtype: Any, seed: int,
) -> None:  # fmt: skip
    """Self-attention and cross-attention, in each form of inputs that the operator accepts."""
    numbers, width = Numbers(seed, dtype), heads * size
    if form == "stacked":
        cross = 0
    if form in ("stacked keys", "heads apart") or cross:
        past, causal = 0, False
    biased = biased and form != "heads apart"
    new = cross or steps
    total = past + new
    query, key, value = (numbers(batch, count, width) for count in (steps, new, new))
    apart = [numbers(batch, heads, past, size) for _ in range(2)]
    bias = numbers(3 * width) if biased else None
    given_mask, opened = mask_of(mask, numbers.rng, batch, steps, total)
    added = numbers(1, heads, steps, total) if relative else None

    def stacked(*parts: Array) -> Array:
        return np.stack([x.reshape(batch, -1, heads, size) for x in parts], 3)

    inputs: dict[str, Array | None] = {"q": query, "k": key, "v": value}
    if form == "stacked":
        inputs = {"q": stacked(query, key, value), "k": None, "v": None}
    elif form == "stacked keys":
        inputs = {"q": query, "k": stacked(key, value), "v": None}
    elif form == "heads apart":
        inputs = {"q": query, "k": split(key, heads).copy(), "v": split(value, heads).copy()}
    inputs |= {"bias": bias, "mask": given_mask, "relative": added}
    inputs |= dict(zip(("past_k", "past_v"), apart if past else (None, None), strict=True))
    parts = [query, key, value]
    if bias is not None:
        parts = [x.astype(np.float64) + bias[index * width : (index + 1) * width] for index, x in enumerate(parts)]
    heads_of = [split(x, heads) for x in parts]
    keys_values = [np.concatenate([before, rows], 2) for before, rows in zip(apart, heads_of[1:], strict=True)]
    if causal:
        opened = opened & np.tri(steps, total, past, dtype=bool)
    outputs: dict[str, tuple[int, Any]] = {"y": (3, dtype)}
    if form == "apart":
        outputs |= {"pk": (4, dtype), "pv": (4, dtype)}
    model, fed = node_model("MultiHeadAttention", inputs, outputs, num_heads=heads, unidirectional=int(causal))
    found = prepare(model, device, fallback=False).run(fed)
    close(found[0], reference(heads_of[0], keys_values[0], keys_values[1], opened, added), dtype)
    for array, expected in zip(found[1:], keys_values, strict=False):
        close(array, expected, dtype)


@settings(max_examples=15)
@given(
    batch=st.integers(1, 2), heads=st.sampled_from([1, 4]), size=st.sampled_from([8, 64]),
    width=st.sampled_from([16, 48, 128]), steps=STEPS, past=PASTS, biased=st.booleans(), relative=st.booleans(),
    mask=st.sampled_from(["none", "lengths", "keys", "queries"]), causal=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_attention(
    device: dml.Device, batch: int, heads: int, size: int, width: int, steps: int, past: int, biased: bool,
    relative: bool, mask: str, causal: bool, seed: int,
) -> None:  # fmt: skip
    """The projection of query, key and value, then attention, with and without a past."""
    numbers, wide, total = Numbers(seed), heads * size, past + steps
    x = numbers(batch, steps, width)
    weights = numbers(width, 3 * wide) / FLOAT(width**0.5)
    bias = numbers(3 * wide) if biased else None
    before = numbers(2, batch, heads, past, size)
    given_mask, opened = mask_of(mask, numbers.rng, batch, steps, total)
    added = numbers(batch, heads, steps, total) if relative else None
    inputs: dict[str, Array | None] = {"x": x, "w": weights, "b": bias, "mask": given_mask}
    inputs |= {"past": before if past else None, "relative": added}
    projected = x.astype(np.float64) @ weights.astype(np.float64) + (0 if bias is None else bias.astype(np.float64))
    query, key, value = (split(part, heads) for part in np.split(projected, 3, 2))
    keys_values = [np.concatenate([one, rows], 2) for one, rows in zip(before, (key, value), strict=True)]
    if causal:
        opened = opened & np.tri(steps, total, past, dtype=bool)
    model, fed = node_model("Attention", inputs, {"y": (3, FLOAT), "present": (5, FLOAT)}, constants=("w",),
                            num_heads=heads, unidirectional=int(causal))  # fmt: skip
    found = prepare(model, device, fallback=False).run(fed)
    close(found[0], reference(query, keys_values[0], keys_values[1], opened, added), FLOAT)
    close(found[1], np.stack(keys_values), FLOAT)


@settings(max_examples=12)
@given(
    batch=st.integers(1, 2), heads=st.sampled_from([1, 4]), size=st.sampled_from([8, 64]), past=PASTS,
    spare=st.sampled_from([-1, 0, 5]), masked=st.booleans(), beams=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_decoder_masked_self_attention(
    device: dml.Device, batch: int, heads: int, size: int, past: int, spare: int, masked: bool, beams: bool, seed: int
) -> None:
    """One new position after a growing past (spare: -1), or in a cache with free positions; with beam indirection."""
    numbers, width = Numbers(seed), heads * size
    past = max(1, past)
    total, room = past + 1, past + 1 + spare if spare >= 0 else past
    x, weights, bias = numbers(batch, 1, width), numbers(width, 3 * width) / FLOAT(width**0.5), numbers(3 * width)
    before = numbers(2, batch, heads, room, size)
    inputs: dict[str, Array | None] = {"x": x, "w": weights, "b": bias, "mask": None, "past": before, "relative": None}
    opened = np.ones((batch, total), bool)
    if masked:
        opened = numbers.rng.integers(0, 2, (batch, total)).astype(bool)
        opened[:, -1] = True
        inputs["mask"] = opened.astype(np.int32)
    came = np.tile(np.arange(batch)[:, None], (1, total))
    beams = beams and spare >= 0 and batch > 1
    if spare >= 0:
        inputs["length"] = np.array([past], np.int32)
    if beams:
        came[:, :past] = numbers.rng.integers(0, batch, (batch, past))
        indirection = np.zeros((1, batch, room), np.int32)
        indirection[0, :, :total] = came
        inputs |= {"width": np.array([batch], np.int32), "indirection": indirection}
    projected = x.astype(np.float64) @ weights.astype(np.float64) + bias.astype(np.float64)
    query, key, value = (split(part, heads) for part in np.split(projected, 3, 2))
    keys_values = [np.concatenate([one[:, :, :past], rows], 2) for one, rows in zip(before, (key, value), strict=True)]
    seen = [
        np.stack([rows[came[b], :, np.arange(total)].transpose(1, 0, 2) for b in range(batch)]) for rows in keys_values
    ]
    attributes = {"past_present_share_buffer": 1} if spare >= 0 else {}
    model, fed = node_model("DecoderMaskedSelfAttention", inputs, {"y": (3, FLOAT), "present": (5, FLOAT)},
                            constants=("width",) if beams else (), num_heads=heads, **attributes)  # fmt: skip
    found = prepare(model, device, fallback=False).run(fed)
    close(found[0], reference(query, seen[0], seen[1], opened[:, None, None]), FLOAT)
    close(found[1][:, :, :, :total], np.stack(keys_values), FLOAT)


@settings(max_examples=12)
@given(
    batch=st.integers(1, 2), heads=st.sampled_from([(2, 1), (4, 2), (6, 6)]), size=st.sampled_from([16, 64]),
    block=st.sampled_from([16, 64]), blocks=st.integers(1, 5), layouts=st.sampled_from([1, 2]),
    steps=st.sampled_from([1, 2, 31, 64, 65]), end=st.floats(0, 1), rotary=st.booleans(), packed=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_sparse_attention(
    device: dml.Device, batch: int, heads: tuple[int, int], size: int, block: int, blocks: int, layouts: int,
    steps: int, end: float, rotary: bool, packed: bool, seed: int,
) -> None:  # fmt: skip
    """A prompt, or one position after a past, anywhere in the cache, with random layouts of visible blocks."""
    numbers, (count, key_heads), room = Numbers(seed), heads, block * blocks
    steps = min(steps, room)
    total = steps if steps > 1 else steps + int(end * (room - steps))
    past = total - steps
    layout = np.tril(numbers.rng.integers(0, 2, (layouts, blocks, blocks))) | np.eye(blocks, dtype=int)
    rows = np.concatenate([np.zeros((layouts, 1), int), layout.sum(2).cumsum(1)], 1).astype(np.int32)
    columns = np.full((layouts, rows.max()), -1, np.int32)
    for index, one in enumerate(layout):
        chosen = np.nonzero(one)[1]
        columns[index, : len(chosen)] = chosen
    new = [numbers(batch, steps, width * size) for width in (count, key_heads, key_heads)]
    caches = [numbers(batch, key_heads, room, size) for _ in range(2)]
    cosines, sines = numbers.angles(room, size // 2)
    inputs: dict[str, Array | None] = dict(zip(("q", "k", "v"), new, strict=True))
    if packed:
        inputs |= {"q": np.concatenate(new, 2), "k": None, "v": None}
    inputs |= dict(zip(("past_k", "past_v"), caches, strict=True))
    inputs |= {"rows": rows, "columns": columns, "total": np.array([total], np.int32),
               "totals": np.full(batch, total, np.int32), "cos": cosines if rotary else None,
               "sin": sines if rotary else None}  # fmt: skip
    own = np.tile(past + np.arange(steps), (batch, 1))
    query, key, value = split(new[0], count), split(new[1], key_heads), split(new[2], key_heads)
    if rotary:
        query, key = (rotated(x, own, cosines, sines, interleaved=False) for x in (query, key))
    keys_values = [np.concatenate([cache[:, :, :past], x], 2) for cache, x in zip(caches, (key, value), strict=True)]
    keys = np.arange(total)
    opened = np.stack([
        (layout[head % layouts][own[0] // block][:, keys // block] > 0) & (keys <= own[0][:, None])
        for head in range(count)
    ])[None]  # fmt: skip
    model, fed = node_model("SparseAttention", inputs, {"y": (3, FLOAT), "pk": (4, FLOAT), "pv": (4, FLOAT)},
                            constants=("rows", "columns"), num_heads=count, kv_num_heads=key_heads,
                            sparse_block_size=block, do_rotary=int(rotary))  # fmt: skip
    found = prepare(model, device, fallback=False).run(fed)
    close(found[0], reference(query, keys_values[0], keys_values[1], opened), FLOAT)
    for array, expected in zip(found[1:], keys_values, strict=True):
        close(array[:, :, :total], expected, FLOAT)


@settings(max_examples=16)
@given(
    batch=st.integers(1, 3), heads=st.sampled_from([1, 5]), size=st.sampled_from([8, 64, 96]),
    part=st.sampled_from([0, 2, 4]), steps=st.sampled_from([1, 7, 65, 300]), interleaved=st.booleans(),
    by_heads=st.booleans(), first=st.booleans(), dtype=st.sampled_from([FLOAT, HALF]), seed=st.integers(0, 99),
)  # fmt: skip
def test_rotary_embedding(
    device: dml.Device, batch: int, heads: int, size: int, part: int, steps: int, interleaved: bool, by_heads: bool,
    first: bool, dtype: Any, seed: int,
) -> None:  # fmt: skip
    """Whole heads, or the first size / part elements of each, are rotated; positions per element, or only the first
    one."""
    numbers, turned = Numbers(seed, dtype), size // part if part else size
    x = numbers(batch, steps, heads * size)
    cosines, sines = numbers.angles(steps + 20, turned // 2)
    start = int(numbers.rng.integers(0, 20))
    positions = np.tile(start + np.arange(steps), (batch, 1))
    if not first:
        positions = numbers.rng.integers(0, steps + 20, (batch, steps))
    inputs: dict[str, Array | None] = {
        "x": np.ascontiguousarray(split(x, heads)) if by_heads else x,
        "positions": np.array([start]) if first else positions, "cos": cosines, "sin": sines,
    }  # fmt: skip
    attributes: dict[str, int] = {"interleaved": int(interleaved)}
    if part or not by_heads:
        attributes |= {"num_heads": heads, "rotary_embedding_dim": turned if part else 0}
    model, fed = node_model("RotaryEmbedding", inputs, {"y": (4 if by_heads else 3, dtype)}, **attributes)
    expected = rotated(split(x, heads), positions, cosines, sines, interleaved=interleaved)
    if not by_heads:
        expected = expected.transpose(0, 2, 1, 3).reshape(x.shape)
    (found,) = prepare(model, device, fallback=False).run(fed)
    close(found, expected, dtype)


@settings(max_examples=16)
@given(
    batch=st.integers(1, 3), groups=st.sampled_from([1, 4, 32]), each=st.sampled_from([1, 3, 10]),
    pixels=st.sampled_from([(1, 1), (3, 5), (16, 16), (64, 65)]), last=st.booleans(), activation=st.booleans(),
    skip=st.sampled_from(["whole", "channels", "apart"]), biased=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_skip_group_norm(
    device: dml.Device, batch: int, groups: int, each: int, pixels: tuple[int, int], last: bool, activation: bool,
    skip: str, biased: bool, seed: int,
) -> None:  # fmt: skip
    """Sums of x, the skip input and a bias, normalized over groups of channels."""
    numbers, channels = Numbers(seed), groups * each
    x = numbers(batch, *pixels, channels)
    gamma, beta, bias = (numbers(channels) for _ in range(3))
    whole = {"whole": x.shape, "channels": (batch, channels), "apart": (batch, 1, 1, channels)}[skip]
    skipped = numbers(*whole)
    total = x.astype(np.float64) + skipped.reshape(whole if skip != "channels" else (batch, 1, 1, channels))
    if biased:
        total = total + bias
    grouped = total.reshape(batch, -1, groups, each)
    mean, spread = (getattr(grouped, one)(axis=(1, 3), keepdims=True) for one in ("mean", "var"))
    expected = ((grouped - mean) / np.sqrt(spread + 1e-3)).reshape(total.shape) * gamma + beta
    if activation:
        expected = expected / (1 + np.exp(-expected))

    def laid(array: Array) -> Array:
        return array if last or array.ndim < 4 else np.ascontiguousarray(array.transpose(0, 3, 1, 2))

    inputs: dict[str, Array | None] = {"x": laid(x), "gamma": gamma, "beta": beta, "skip": laid(skipped)}
    if biased:
        inputs["bias"] = bias
    model, fed = node_model("SkipGroupNorm", inputs, {"y": (4, FLOAT), "sum": (4, FLOAT)}, groups=groups,
                            channels_last=int(last), activation=int(activation), epsilon=1e-3)  # fmt: skip
    found = prepare(model, device, fallback=False).run(fed)
    np.testing.assert_allclose(found[0], laid(expected), rtol=1e-4, atol=1e-4)  # division by a variance near 0
    close(found[1], laid(total), FLOAT)
