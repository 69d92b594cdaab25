"""Attention of decoders over caches, compared with ONNX Runtime's CPU provider, or float64 arithmetic if it has
none."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.operators import attention_products, decoder_attention

FLOAT, HALF = np.float32, np.float16


def floats(rng: Any, *shape: int) -> Array:
    return np.asarray(rng.uniform(-1, 1, shape).astype(FLOAT))


def run(device: dml.Device, op: str, inputs: dict[str, Array | None], ranks: dict[str, int], **attributes: Any) -> Any:
    """Run a node; return the model, its inputs and the outputs."""
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    outputs = {name: (rank, FLOAT) for name, rank in ranks.items()}
    model, given_ = node_model(op, inputs, outputs, **attributes)
    return model, given_, prepare(model, device, fallback=False)


def shared_in_onnxruntime(model: Any, inputs: dict[str, Array]) -> list[Array]:
    """Run onnxruntime's CPU provider with one buffer for each past and present; return the outputs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    copies = {name: array.copy() for name, array in inputs.items()}  # keep the values' memory alive
    values = {name: onnxruntime.OrtValue.ortvalue_from_numpy(array) for name, array in copies.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    binding.bind_output("y")
    for present, past in (("present_k", "past_k"), ("present_v", "past_v")):
        binding.bind_ortvalue_output(present, values[past])
    session.run_with_iobinding(binding)
    return [binding.get_outputs()[0].numpy(), copies["past_k"], copies["past_v"]]


def softmax(x: Array) -> Array:
    made = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(made / made.sum(-1, keepdims=True))


def attended(query: Array, key: Array, value: Array, opened: Array, heads: int, bias: Array | float = 0.0) -> Array:
    """Return attention in float64 of query {B, S, N H}, key and value {B, M, T, H}; opened broadcasts to {B, N, S,
    T}."""
    batch, steps, width = query.shape
    size = width // heads
    q = query.astype(np.float64).reshape(batch, steps, heads, size).transpose(0, 2, 1, 3)
    k, v = (np.repeat(x.astype(np.float64), heads // x.shape[1], 1) for x in (key, value))
    scores = np.where(opened, q @ k.transpose(0, 1, 3, 2) / np.sqrt(size) + bias, -np.inf)
    return np.asarray((softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, steps, -1))


RANKS = {"y": 3, "present_k": 4, "present_v": 4}


def decoder_inputs(rng: Any, batch: int, heads: int, size: int, room: int, past: int) -> dict[str, Any]:
    names = ("query", "key", "value")
    made: dict[str, Any] = {name: floats(rng, batch, 1, heads * size) for name in names}
    made |= {"mask": None, "bias": None, "past_k": floats(rng, batch, heads, room, size)}
    return made | {"past_v": floats(rng, batch, heads, room, size), "past": np.array([past], np.int32)}


@settings(max_examples=10)
@given(
    batch=st.integers(1, 3), heads=st.integers(1, 3), size=st.sampled_from([8, 64]), room=st.integers(1, 9),
    past=st.integers(0, 8), masked=st.booleans(), biased=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_decoder_masked_multi_head_attention(
    device: dml.Device, batch: int, heads: int, size: int, room: int, past: int, masked: bool, biased: bool, seed: int
) -> None:
    """From an empty cache to a full one; positions after the new one are ignored."""
    rng, past = np.random.default_rng(seed), min(past, room - 1)
    inputs = decoder_inputs(rng, batch, heads, size, room, past)
    if masked:
        inputs["mask"] = rng.integers(0, 2, (batch, past + 1)).astype(np.int32)
        inputs["mask"][:, -1] = 1
    if biased:
        inputs["bias"] = floats(rng, 1, heads, 1, past + 1)
    caches = [inputs[name].copy() for name in ("past_k", "past_v")]
    for cache, name in zip(caches, ("key", "value"), strict=True):
        cache[:, :, past] = inputs[name].reshape(batch, heads, size)
    opened = np.ones((batch, 1, 1, past + 1), bool) if not masked else inputs["mask"][:, None, None] > 0
    expected = attended(inputs["query"], *(c[:, :, : past + 1] for c in caches), opened, heads,
                        0.0 if inputs["bias"] is None else inputs["bias"])  # fmt: skip
    _, given_, model = run(device, "DecoderMaskedMultiHeadAttention", inputs, dict(RANKS), num_heads=heads,
                           past_present_share_buffer=1)  # fmt: skip
    found = model.run(given_)
    np.testing.assert_allclose(found[0], expected, rtol=2e-5, atol=2e-5)
    for own, cache in zip(found[1:], caches, strict=True):
        np.testing.assert_array_equal(own[:, :, : past + 1], cache[:, :, : past + 1])
    shared = {"present_k": device.to_device(given_["past_k"]), "present_v": device.to_device(given_["past_v"])}
    given_ |= {"past_k": shared["present_k"], "past_v": shared["present_v"]}
    again = model.run(given_, shared={"present_k": "past_k", "present_v": "past_v"})
    np.testing.assert_allclose(np.array(again[0]), expected, rtol=2e-5, atol=2e-5)
    for own, array, cache in zip(again[1:], shared.values(), caches, strict=True):
        assert own is array
        np.testing.assert_array_equal(own.numpy(), cache)


def test_decoder_masked_attention_of_growing_pasts_and_encoders(device: dml.Device) -> None:
    """A growing past, and the keys and values of an encoder, compared with onnxruntime."""
    rng = np.random.default_rng(1)
    inputs = decoder_inputs(rng, 2, 2, 8, 5, 0)
    inputs["past"] = None
    _, given_, prepared = run(device, "DecoderMaskedMultiHeadAttention", dict(inputs), dict(RANKS), num_heads=2)
    caches = [
        np.concatenate([given_[past], given_[new].reshape(2, 1, 2, 8).transpose(0, 2, 1, 3)], 2)
        for past, new in (("past_k", "key"), ("past_v", "value"))
    ]
    expected = attended(given_["query"], *caches, np.ones((1, 1, 1, 6), bool), 2).astype(FLOAT)
    assert_close(prepared.run(given_), [expected, *caches], 2e-5)
    cross = {"query": floats(rng, 2, 1, 16), "key": floats(rng, 2, 2, 6, 8), "value": floats(rng, 2, 2, 6, 8)}
    model, given_, prepared = run(device, "DecoderMaskedMultiHeadAttention", cross, {"y": 3}, num_heads=2)
    assert_close(prepared.run(given_), in_onnxruntime(model, given_), 2e-5)


def test_beams_continue_other_beams(device: dml.Device) -> None:
    """cache_indirection gives for each position the beam that wrote it."""
    rng, beams, heads, size, room, past = np.random.default_rng(2), 3, 2, 8, 6, 4
    inputs = decoder_inputs(rng, beams, heads, size, room, past)
    came = rng.integers(0, beams, (1, beams, room)).astype(np.int32)
    came[:, :, past] = np.arange(beams)
    inputs |= {"beams": np.array([beams], np.int32), "came": came}
    _, given_, model = run(device, "DecoderMaskedMultiHeadAttention", dict(inputs), dict(RANKS), num_heads=heads,
                           past_present_share_buffer=1)  # fmt: skip
    keys_values = []
    for name, new in (("past_k", "key"), ("past_v", "value")):
        cache = given_[name].copy()
        cache[:, :, past] = given_[new].reshape(beams, heads, size)
        rows = [cache[came[0, :, t], :, t] for t in range(past + 1)]
        keys_values.append(np.stack(rows, 2))
    expected = attended(given_["query"], *keys_values, np.ones((1, 1, 1, past + 1), bool), heads)
    np.testing.assert_allclose(model.run(given_)[0], expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("past", [0, 3])
def test_decoder_masked_self_attention(device: dml.Device, past: int) -> None:
    rng, batch, heads, size, room = np.random.default_rng(3), 2, 2, 8, 4
    inputs: dict[str, Array | None] = {
        "x": floats(rng, batch, 1, 12), "w": floats(rng, 12, 48), "b": floats(rng, 48), "mask": None,
        "past": floats(rng, 2, batch, heads, room, size), "bias": None, "length": np.array([past], np.int32),
    }  # fmt: skip
    ranks = {"y": 3, "present": 5}
    _, given_, model = run(
        device, "DecoderMaskedSelfAttention", inputs, ranks, num_heads=2, past_present_share_buffer=1
    )
    made = given_["x"].astype(np.float64) @ given_["w"] + given_["b"]
    query, key, value = np.split(made, 3, 2)
    cache = given_["past"].astype(np.float64)
    cache[:, :, :, past] = np.stack([key, value]).reshape(2, batch, heads, size)
    expected = attended(query, *cache[:, :, :, : past + 1], np.ones((1, 1, 1, past + 1), bool), heads)
    found = model.run(given_)
    np.testing.assert_allclose(found[0], expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[1][:, :, :, : past + 1], cache[:, :, :, : past + 1], rtol=2e-5, atol=2e-5)
    held = device.to_device(given_["past"])
    again = model.run({**given_, "past": held}, shared={"present": "past"})
    assert again[1] is held
    np.testing.assert_allclose(np.array(again[0]), expected, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(held.numpy(), cache, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize(("steps", "past"), [(3, 0), (1, 4), (2, 3), (1, 6)])
def test_multi_head_attention_over_a_cache(device: dml.Device, causal: int, steps: int, past: int) -> None:
    """Past and present share a cache of seven positions, filled by six and one."""
    rng, batch, heads, size, room = np.random.default_rng(4), 2, 2, 8, 7
    inputs: dict[str, Array | None] = {
        **{name: floats(rng, batch, steps, heads * size) for name in ("q", "k", "v")},
        "b": floats(rng, 3 * heads * size),
        "m": None, "r": None, **{name: floats(rng, batch, heads, room, size) for name in ("past_k", "past_v")},
        "length": np.array([past], np.int32),
    }  # fmt: skip
    _, given_, model = run(device, "MultiHeadAttention", inputs, dict(RANKS), num_heads=heads, unidirectional=causal)
    parts = [x + b for x, b in zip((given_[n] for n in "qkv"), np.split(given_["b"], 3), strict=True)]
    caches = [given_[name].copy() for name in ("past_k", "past_v")]
    for cache, new in zip(caches, parts[1:], strict=True):
        cache[:, :, past : past + steps] = new.reshape(batch, steps, heads, size).transpose(0, 2, 1, 3)
    keys, own = np.arange(past + steps), past + np.arange(steps)[:, None]
    opened = (keys <= own if causal else keys >= 0 * own)[None, None]
    expected = attended(parts[0], *(c[:, :, : past + steps] for c in caches), opened, heads)
    held = {name: device.to_device(given_[name]) for name in ("past_k", "past_v")}
    found = model.run({**given_, **held}, shared={"present_k": "past_k", "present_v": "past_v"})
    np.testing.assert_allclose(np.array(found[0]), expected, rtol=2e-5, atol=2e-5)
    for array, cache in zip(held.values(), caches, strict=True):
        np.testing.assert_allclose(array.numpy(), cache, rtol=1e-6, atol=1e-6)
    with pytest.raises(dml.DMLError, match=f"the cache has room for 7 positions, found {7 + steps}"):
        model.run({**given_, **held, "length": np.array([7], np.int32)})


@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize(("steps", "past"), [(40, 0), (1, 40), (1, 95)])
def test_sparse_attention(device: dml.Device, steps: int, past: int, rotary: int) -> None:
    """Two layouts of blocks of 16 for four heads: a prompt, then steps up to the cache's last position."""
    rng, batch, heads, key_heads, size, room, block = np.random.default_rng(5), 2, 4, 2, 16, 96, 16
    blocks = room // block
    layouts = np.tril(rng.integers(0, 2, (2, blocks, blocks))) | np.eye(blocks, dtype=int)
    rows = np.concatenate([np.zeros((2, 1), int), layouts.sum(2).cumsum(1)], 1).astype(np.int32)
    columns = np.full((2, rows.max()), -1, np.int32)
    for index, layout in enumerate(layouts):
        found = np.nonzero(layout)[1]
        columns[index, : len(found)] = found
    inputs: dict[str, Array | None] = {
        "q": floats(rng, batch, steps, heads * size), "k": floats(rng, batch, steps, key_heads * size),
        "v": floats(rng, batch, steps, key_heads * size),
        **{name: floats(rng, batch, key_heads, room, size) for name in ("past_k", "past_v")},
        "rows": rows, "columns": columns, "total": np.array([past + steps], np.int32),
        "totals": np.full(batch, past + steps, np.int32),
        **{name: floats(rng, room, size // 2) if rotary else None for name in ("cos", "sin")},
    }  # fmt: skip
    model, given_, prepared = run(device, "SparseAttention", inputs, dict(RANKS), num_heads=heads,
                                  kv_num_heads=key_heads, sparse_block_size=block, do_rotary=rotary)  # fmt: skip
    expected = shared_in_onnxruntime(model, given_)
    found = prepared.run(given_)
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=2e-5)
    caches = {name: device.to_device(given_[name]) for name in ("past_k", "past_v")}
    again = prepared.run({**given_, **caches}, shared={"present_k": "past_k", "present_v": "past_v"})
    np.testing.assert_allclose(np.array(again[0]), expected[0], rtol=2e-5, atol=2e-5)
    for own, own_held, theirs in zip(found[1:], caches.values(), expected[1:], strict=True):
        np.testing.assert_allclose(own[:, :, : past + steps], theirs[:, :, : past + steps], rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(own_held.numpy()[:, :, : past + steps], own[:, :, : past + steps])


# --- SparseAttention at the sizes of Phi-3-small


def phi_layouts(blocks: int) -> Array:
    """Return Phi-3-small's eight layouts {8, blocks, blocks}: each head sees 16 local blocks and every eighth block,
    starting at a different one."""
    own, keys = np.arange(blocks)[:, None], np.arange(blocks)
    every = [(keys + head + 1) % 8 == 0 for head in range(8)]
    return np.stack([(keys <= own) & ((own - keys < 16) | vertical) for vertical in every])


def compressed(layouts: Array) -> tuple[Array, Array]:
    """Return layouts as compressed rows and columns."""
    rows = np.pad(layouts.sum(2).cumsum(1), ((0, 0), (1, 0))).astype(np.int32)
    columns = np.full((len(layouts), rows.max()), -1, np.int32)
    for own, layout in zip(columns, layouts, strict=True):
        found = np.nonzero(layout)[1]
        own[: len(found)] = found
    return rows, columns


def phi_attention(steps: int, past: int, room: int, dtype: Any, *, sparse: bool) -> tuple[Any, dict[str, Array]]:
    """Return a model of Phi-3-small's attention, sparse or dense, and its inputs."""
    rng, heads, key_heads, size, block = np.random.default_rng(7), 32, 8, 128, 64
    inputs: dict[str, Array] = {
        name: floats(rng, 1, steps, count * size).astype(dtype)
        for name, count in (("q", heads), ("k", key_heads), ("v", key_heads))
    }
    inputs |= {name: floats(rng, 1, key_heads, room, size).astype(dtype) for name in ("past_k", "past_v")}
    total, sizes = np.array([past + steps], np.int32), {"num_heads": heads, "kv_num_heads": key_heads}
    outputs = {"y": (3, dtype), "present_k": (4, dtype), "present_v": (4, dtype)}
    if not sparse:
        return node_model("GroupQueryAttention", inputs | {"ends": total - 1, "total": total}, outputs, **sizes)
    rows, columns = compressed(phi_layouts(room // block))
    inputs |= {"rows": rows, "columns": columns, "total": total, "totals": total}
    constants = ("rows", "columns")
    return node_model("SparseAttention", inputs, outputs, constants=constants, sparse_block_size=block, **sizes)


SHARED = {"present_k": "past_k", "present_v": "past_v"}


@pytest.mark.parametrize("dtype", [FLOAT, HALF])
@pytest.mark.parametrize(("steps", "past", "room"), [(1, 8191, 8192), (3, 4093, 4096), (70, 4090, 8192)])
def test_sparse_attention_of_real_size(device: dml.Device, steps: int, past: int, room: int, dtype: Any) -> None:
    """One token, a few, and a prompt whose mask is too large for all heads at once."""
    model, given_ = phi_attention(steps, past, room, dtype, sparse=True)
    held = {name: device.to_device(given_[name]) for name in ("past_k", "past_v")}
    found = np.array(prepare(model, device, fallback=False).run({**given_, **held}, shared=SHARED)[0])
    keys, values = (held[name].numpy()[0].astype(np.float64) for name in ("past_k", "past_v"))
    np.testing.assert_array_equal(keys[:, past : past + steps], given_["k"].reshape(steps, 8, 128).transpose(1, 0, 2))
    layouts, queries = phi_layouts(room // 64), given_["q"].reshape(steps, 32, 128).astype(np.float64)
    for step in sorted({0, steps // 2, steps - 1}):
        own = past + step
        for head in (0, 5, 13, 31):
            opened = (np.arange(room) <= own) & np.repeat(layouts[head % 8][own // 64], 64)
            weights = softmax(keys[head // 4][opened] @ queries[step, head] * 128**-0.5)
            expected = weights @ values[head // 4][opened]
            result = found[0, step, 128 * head : 128 * (head + 1)]
            np.testing.assert_allclose(result, expected, atol=2e-6 if dtype == FLOAT else 1e-3)


@pytest.mark.parametrize("steps", [1, 16, 128, 2048])
def test_sparse_attention_needs_as_much_memory_as_dense(device: dml.Device, steps: int) -> None:
    """The additional memory is that of the mask of all heads and its parts, apart from a part of the scores."""
    taken = []
    for sparse in (True, False):
        model, given_ = phi_attention(steps, 4096 if steps == 1 else 0, 8192, FLOAT, sparse=sparse)
        (part,) = prepare(model, device, fallback=False).parts
        plan, _ = part.compiled_for(given_, SHARED)
        taken.append(plan.compiled.program.temporary_size)
    mask = min(4 * 32 * 8192 * steps, decoder_attention.MOST_MASK)
    assert taken[0] <= max(taken[1], attention_products.MOST_SCORES + (8 << 20)) + 2 * mask
    if steps == 1:
        assert taken[0] <= taken[1] + 2 * mask
