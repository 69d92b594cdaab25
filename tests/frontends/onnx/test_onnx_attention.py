"""Attention, rotary embeddings and products with packed weights of com.microsoft, compared with ONNX Runtime's CPU
kernels.

Packed queries, keys and values, which those kernels lack, are compared with float64 arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.compiler.program import Access
from dml.frontends.onnx import prepare

RNG = np.random.default_rng(17)
FLOAT = np.float32


def floats(*shape: int) -> Array:
    return RNG.uniform(-1, 1, shape).astype(FLOAT)


def bytes_(*shape: int) -> Array:
    return RNG.integers(0, 255, shape, endpoint=True).astype(np.uint8)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int32)


def agree(
    device: dml.Device, op: str, inputs: dict[str, Array | None], ranks: dict[str, int], tolerance: float = 1e-5,
    constants: tuple[str, ...] = (), **attributes: Any,
) -> None:  # fmt: skip
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    outputs = {name: (rank, FLOAT) for name, rank in ranks.items()}
    model, given = node_model(op, inputs, outputs, constants=constants, **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), tolerance)


def refused(
    device: dml.Device, op: str, inputs: dict[str, Array | None], ranks: dict[str, int], **attributes: Any
) -> str:
    model, given = node_model(op, inputs, {name: (rank, FLOAT) for name, rank in ranks.items()}, **attributes)
    with pytest.raises(dml.DMLError) as caught:
        prepare(model, device, fallback=False).run(given)
    return caught.value.message


# RotaryEmbedding


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding_of_whole_heads(device: dml.Device, interleaved: int) -> None:
    positions = np.array([[2, 0, 4], [1, 3, 3]], np.int64)
    inputs = {"x": floats(2, 3, 16), "p": positions, "c": floats(8, 4), "s": floats(8, 4)}
    agree(device, "RotaryEmbedding", inputs, {"y": 3}, 1e-6, interleaved=interleaved)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding_of_part_of_each_head(device: dml.Device, interleaved: int) -> None:
    positions = np.array([[2, 0, 4], [1, 3, 3]], np.int64)
    inputs = {"x": floats(2, 3, 16), "p": positions, "c": floats(8, 2), "s": floats(8, 2)}
    more = {"num_heads": 2, "rotary_embedding_dim": 4}
    agree(device, "RotaryEmbedding", inputs, {"y": 3}, 1e-6, interleaved=interleaved, **more)


def test_rotary_embedding_from_a_first_position(device: dml.Device) -> None:
    inputs = {"x": floats(2, 2, 3, 8), "p": np.array([1], np.int64), "c": floats(8, 4), "s": floats(8, 4)}
    agree(device, "RotaryEmbedding", inputs, {"y": 4}, 1e-6)
    agree(device, "RotaryEmbedding", inputs, {"y": 4}, 1e-6, scale=2.0)


def test_refused_rotary_embeddings(device: dml.Device) -> None:
    inputs: dict[str, Array | None] = {
        "x": floats(2, 3, 16), "p": np.zeros((2, 3), np.int64), "c": floats(8, 4), "s": floats(8, 4)
    }  # fmt: skip
    message = refused(device, "RotaryEmbedding", inputs, {"y": 3}, is_packed_batching=1)
    assert message == "node RotaryEmbedding: is_packed_batching = 1 is not mapped"
    message = refused(device, "RotaryEmbedding", {**inputs, "c": floats(8, 9), "s": floats(8, 9)}, {"y": 3},
                      num_heads=1, rotary_embedding_dim=18)  # fmt: skip
    assert "with 9 columns to rotate 18 elements of heads of 16, found (8, 9) and (8, 9)" in message
    for rotated, width in ((0, 4), (8, 8), (8, 2)):
        wrong = {**inputs, "c": floats(8, width), "s": floats(8, width)}
        message = refused(device, "RotaryEmbedding", wrong, {"y": 3}, num_heads=1, rotary_embedding_dim=rotated)
        assert f"with {(rotated or 16) // 2} columns" in message


# MatMulNBits


@pytest.mark.parametrize("constants", [(), ("b", "s")], ids=["fed", "held"])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("k, block", [(32, 16), (40, 16)])
def test_products_with_weights_of_4_bits(
    device: dml.Device, k: int, block: int, zeros: str, constants: tuple[str, ...]
) -> None:
    """With 40 columns in blocks of 16, the last block is not full, and the zero points end in half a byte."""
    blocks = -(-k // block)
    zero = {"none": None, "packed": bytes_(5, -(-blocks // 2)), "floats": floats(5, blocks)}[zeros]
    inputs = {"a": floats(2, 3, k), "b": bytes_(5, blocks, block // 2), "s": floats(5, blocks), "z": zero}
    sizes = {"N": 5, "K": k, "bits": 4, "block_size": block}
    agree(device, "MatMulNBits", inputs, {"y": 3}, 2e-4, constants, **sizes)


def test_products_with_weights_of_8_bits_and_a_bias(device: dml.Device) -> None:
    inputs = {
        "a": floats(3, 32),
        "b": bytes_(5, 2, 16),
        "s": floats(5, 2),
        "z": bytes_(5, 2),
        "g": None,
        "c": floats(5),
    }
    agree(device, "MatMulNBits", inputs, {"y": 2}, 2e-3, N=5, K=32, bits=8, block_size=16)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
def test_products_with_a_group_index_per_column(device: dml.Device, bits: int, zeros: str) -> None:
    """g_idx gives each column of the weights the index of its scale and zero point, in any order.

    onnxruntime's CPU provider supports it for 4 bits, and assumes 8 for every packed zero point.
    """
    n, k, blocks = 5, 48, 3
    zero = {"none": None, "packed": bytes_(n, 3 if bits == 8 else 2), "floats": floats(n, blocks)}[zeros]
    groups = np.random.default_rng(5).permutation(np.repeat(np.arange(blocks, dtype=np.int32), 16))
    a, packed, scales = floats(2, k), bytes_(n, blocks, 2 * bits), floats(n, blocks)
    inputs = {"a": a, "b": packed, "s": scales, "z": zero, "g": groups}
    model, given = node_model("MatMulNBits", inputs, {"y": (2, FLOAT)}, N=n, K=k, bits=bits, block_size=16)

    def unpacked(array: Array, columns: int) -> Array:
        if bits == 8:
            return array.reshape(n, -1)[:, :columns].astype(np.float64)
        return np.stack([array & 15, array >> 4], -1).reshape(n, -1)[:, :columns].astype(np.float64)

    middle = np.full((n, blocks), 2.0 ** (bits - 1))
    points = middle if zero is None else zero if zeros == "floats" else unpacked(zero, blocks)
    weights = (unpacked(packed, k) - points[:, groups]) * scales[:, groups].astype(np.float64)
    expected = (a @ weights.T).astype(FLOAT)
    assert_close(prepare(model, device, fallback=False).run(given), [expected], 1e-3 if bits == 8 else 1e-4)
    if bits == 4 and zeros != "packed":
        assert_close(in_onnxruntime(model, given), [expected], 1e-4)


def test_refused_products_with_weights_of_few_bits(device: dml.Device) -> None:
    inputs: dict[str, Array | None] = {"a": floats(3, 32), "b": bytes_(5, 2, 4), "s": floats(5, 2)}
    sizes = {"N": 5, "K": 32, "block_size": 16}
    message = refused(device, "MatMulNBits", inputs, {"y": 2}, bits=3, **sizes)
    assert message == "node MatMulNBits: bits = 3 is not mapped, 2, 4 and 8 are"
    message = refused(device, "MatMulNBits", inputs, {"y": 2}, bits=4, **sizes)
    assert "B must have shape (5, 2, 8) and scales (5, 2), found (5, 2, 4)" in message


# GroupQueryAttention: 4 heads of 16, two to a key and value head.

HEADS, KEY_HEADS, SIZE = 4, 2, 16


def cache(
    batch: int, steps: int, room: int, before: tuple[int, ...], total: int, *, packed: bool = False,
    turned: bool = False,
) -> dict[str, Array | None]:  # fmt: skip
    width = (HEADS + 2 * KEY_HEADS if packed else HEADS) * SIZE
    past = (batch, KEY_HEADS, room, SIZE)
    return {
        "q": floats(batch, steps, width),
        "k": None if packed else floats(batch, steps, KEY_HEADS * SIZE),
        "v": None if packed else floats(batch, steps, KEY_HEADS * SIZE),
        "past_k": floats(*past) if room else None,
        "past_v": floats(*past) if room else None,
        "lengths": ints(*(steps + count - 1 for count in before)),
        "total": np.array(total, np.int32),
        "cos": floats(32, SIZE // 2) if turned else None,
        "sin": floats(32, SIZE // 2) if turned else None,
        "positions": None,
        "bias": None,
    }


def agree_gqa(device: dml.Device, inputs: dict[str, Array | None], **attributes: Any) -> None:
    if inputs["cos"] is not None:
        attributes["do_rotary"] = 1
    ranks = {"y": 3, "present_k": 4, "present_v": 4}
    agree(device, "GroupQueryAttention", inputs, ranks, num_heads=HEADS, kv_num_heads=KEY_HEADS, **attributes)


def test_group_query_attention_of_a_prompt(device: dml.Device) -> None:
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3))
    agree_gqa(device, cache(2, 3, 7, (0, 0), 3))  # with an empty past


@pytest.mark.parametrize("interleaved", [0, 1])
def test_group_query_attention_turns_a_prompt(device: dml.Device, interleaved: int) -> None:
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3, packed=True, turned=True), rotary_interleaved=interleaved)


@pytest.mark.parametrize("columns, sines", [(SIZE, SIZE), (SIZE // 4, SIZE // 4), (SIZE // 2, SIZE)])
def test_group_query_attention_refuses_angles_of_another_width(device: dml.Device, columns: int, sines: int) -> None:
    inputs = cache(1, 3, 0, (0,), 3) | {"cos": floats(32, columns), "sin": floats(32, sines)}
    given = {name: array for name, array in inputs.items() if name not in ("positions", "bias")}
    attributes = {"num_heads": HEADS, "kv_num_heads": KEY_HEADS, "do_rotary": 1}
    ranks = {"y": 3, "present_k": 4, "present_v": 4}
    message = refused(device, "GroupQueryAttention", given, ranks, **attributes)
    assert f"for heads of {SIZE}, found {(32, columns)} and {(32, sines)}" in message


@pytest.mark.parametrize("room", [5, 9], ids=["grows", "has-room"])
@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turned"])
def test_group_query_attention_of_one_more_position(device: dml.Device, room: int, turned: bool) -> None:
    """The batch elements' pasts have different lengths."""
    agree_gqa(device, cache(2, 1, room, (5, 3), 6, packed=turned, turned=turned))


@pytest.mark.parametrize("room", [5, 9], ids=["grows", "has-room"])
def test_group_query_attention_of_some_more_positions(device: dml.Device, room: int) -> None:
    agree_gqa(device, cache(1, 3, room, (5,), 8, turned=True))


@pytest.mark.parametrize("softcap", [0.0, 0.75])
@pytest.mark.parametrize("cached", [FLOAT, np.float16])
@pytest.mark.parametrize("dtype", [FLOAT, np.float16])
def test_group_query_attention_of_a_padded_sequence(
    device: dml.Device, dtype: Any, cached: Any, softcap: float
) -> None:
    """A sequence padded at its end is shorter than its past: seqlens_k counts, not total_sequence_length. The cache may
    have another type than the query."""
    inputs = {
        name: array.astype(cached if name.startswith("past") else dtype)
        if getattr(array, "dtype", 0) == FLOAT
        else array
        for name, array in cache(1, 1, 8, (5,), 9).items()
    }
    outputs = {"y": (3, dtype), "present_k": (4, cached), "present_v": (4, cached)}
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    attributes = {"num_heads": HEADS, "kv_num_heads": KEY_HEADS, "softcap": softcap}
    model, given = node_model("GroupQueryAttention", inputs, outputs, **attributes)
    tolerance = 1e-5 if dtype == cached == FLOAT else 2e-3
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), tolerance)


@pytest.mark.parametrize("steps", [1, 3])
def test_group_query_attention_joins_a_whole_past_as_it_is(device: dml.Device, steps: int) -> None:
    """FLOAT16 stays FLOAT16."""
    inputs = cache(1, steps, 5, (5,), 5 + steps)
    given = {
        name: array.astype(np.float16) if isinstance(array, np.ndarray) and array.dtype == FLOAT else array
        for name, array in inputs.items()
        if array is not None
    }
    outputs = {"y": (3, np.float16), "present_k": (4, np.float16), "present_v": (4, np.float16)}
    model, feeds = node_model("GroupQueryAttention", given, outputs, num_heads=HEADS, kv_num_heads=KEY_HEADS)
    prepared = prepare(model, device, fallback=False)
    found, expected = prepared.run(feeds), in_onnxruntime(model, feeds)
    assert_close(found[:1], expected[:1], 2e-3)  # float16 has steps of 5e-4 at 0.5 to 1
    assert [array.tolist() for array in found[1:]] == [array.tolist() for array in expected[1:]]
    plan, _ = prepared.compiled_for(feeds)
    assert plan.compiled is not None
    written = [
        binding.region.size
        for dispatch in plan.compiled.program.dispatches
        for binding in dispatch.bindings
        if dispatch.label == "attention/total.comp" and binding.access is Access.WRITE
    ]
    assert written == [KEY_HEADS * (5 + steps) * SIZE * 2] * 2  # two bytes each


@pytest.mark.parametrize("window", [1, 3])
def test_group_query_attention_within_a_window(device: dml.Device, window: int) -> None:
    agree_gqa(device, cache(2, 6, 0, (0, 0), 6), local_window_size=window)
    agree_gqa(device, cache(2, 1, 7, (6, 4), 7), local_window_size=window)


def test_group_query_attention_with_a_bias(device: dml.Device) -> None:
    agree_gqa(device, cache(2, 4, 0, (0, 0), 4) | {"bias": floats(1, HEADS, 4, 4)})
    agree_gqa(device, cache(2, 1, 9, (6, 4), 7) | {"bias": floats(2, 1, 1, 7)})


def test_group_query_attention_with_positions(device: dml.Device) -> None:
    given = np.array([[2, 3, 4], [5, 6, 7]], np.int64)
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3, turned=True) | {"positions": given})
    agree_gqa(device, cache(2, 1, 5, (5, 3), 6, turned=True) | {"positions": np.array([[9], [4]], np.int64)})


def test_group_query_attention_looks_both_ways(device: dml.Device) -> None:
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3), causal=0, scale=0.5)
    agree_gqa(device, cache(1, 3, 9, (5,), 8), causal=0)
    agree_gqa(device, cache(2, 1, 9, (6, 4), 7), causal=0, softcap=0.75)


@pytest.mark.parametrize("before, steps", [(3, 1), (8, 1), (9, 2)])
def test_group_query_attention_over_a_window_with_a_bias(device: dml.Device, before: int, steps: int) -> None:
    """The cache holds the last positions of a longer sequence, whose keys the bias counts from the first."""
    total = before + steps
    inputs = cache(1, steps, 6, (before,), total) | {"bias": floats(1, HEADS, steps, total)}
    attributes = {"num_heads": HEADS, "kv_num_heads": KEY_HEADS, "local_window_size": 3, "sliding_window_cache": 1}
    outputs = {"y": (3, FLOAT), "present_k": (4, FLOAT), "present_v": (4, FLOAT)}
    model, given = node_model("GroupQueryAttention", inputs, outputs, **attributes)
    assert_close(prepare(model, device).run(given)[:1], in_onnxruntime(model, given)[:1], 1e-5)


#: Options of attention that DirectML's operator lacks.
MORE: dict[str, dict[str, Any]] = {
    "softcap": {"softcap": 0.75},
    "smooth": {"smooth_softmax": 1},
    "sink": {"sink": floats(HEADS)},
    "all": {"softcap": 2.5, "sink": floats(HEADS), "scale": 0.4},
}


@pytest.mark.parametrize("more", MORE)
def test_group_query_attention_with_limits_and_sinks(device: dml.Device, more: str) -> None:
    """Prompts, steps of one and of several positions, pasts of different lengths, a window, a bias."""
    attributes = dict(MORE[more])
    sink = {"sink": attributes.pop("sink", None)}
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3) | sink, **attributes)
    agree_gqa(device, cache(2, 3, 7, (0, 0), 3, packed=True, turned=True) | sink, **attributes)
    agree_gqa(device, cache(2, 1, 9, (5, 3), 6, turned=True) | sink, **attributes)
    agree_gqa(device, cache(1, 3, 5, (5,), 8) | sink, **attributes)
    agree_gqa(device, cache(2, 6, 0, (0, 0), 6) | sink, local_window_size=3, **attributes)
    agree_gqa(device, cache(2, 1, 7, (6, 4), 7) | sink, local_window_size=3, **attributes)
    agree_gqa(device, cache(2, 4, 0, (0, 0), 4) | {"bias": floats(1, HEADS, 4, 4)} | sink, **attributes)
    agree_gqa(device, cache(2, 3, 0, (0, 0), 3) | sink, causal=0, **attributes)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
@pytest.mark.parametrize(
    "steps, room, before, total", [(3, 0, (0, 0), 3), (1, 9, (5, 3), 6), (1, 5, (5, 3), 6), (3, 9, (2,), 5)]
)
def test_group_query_attention_over_quantized_caches(
    device: dml.Device, bits: int, kind: str, steps: int, room: int, before: tuple[int, ...], total: int
) -> None:
    """The caches equal onnxruntime's byte by byte."""
    inputs, rng = cache(len(before), steps, room, before, total, turned=True), np.random.default_rng(bits)
    past = (len(before), KEY_HEADS, room, SIZE * bits // 8)
    dtype = np.int8 if bits == 8 else np.uint8
    if room:
        inputs |= {name: rng.integers(0, 256, past).astype(np.uint8).view(dtype) for name in ("past_k", "past_v")}
    else:
        inputs |= {name: np.zeros(past, dtype) for name in ("past_k", "past_v")}
    count = 1 if kind == "PER_TENSOR" else KEY_HEADS * SIZE
    scales = [rng.uniform(0.5, 1, count).astype(FLOAT) / 2 ** (bits - 2) for _ in range(2)]
    inputs |= {"sink": None, "k_scale": scales[0], "v_scale": scales[1]}
    outputs = {"y": (3, FLOAT), "present_k": (4, dtype), "present_v": (4, dtype)}
    model, given = node_model(
        "GroupQueryAttention", inputs, outputs, num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1,
        k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits,
    )  # fmt: skip
    found, expected = prepare(model, device, fallback=False).run(given), in_onnxruntime(model, given)
    assert [array.tolist() for array in found[1:]] == [array.tolist() for array in expected[1:]]
    assert len(np.unique(found[1])) > 2**bits // 4  # most numbers are not clipped
    assert_close(found[:1], expected[:1], 1e-5)


def test_a_growing_past_in_a_tensor_with_room_is_one_compiled_model(device: dml.Device) -> None:
    inputs = cache(1, 1, 9, (4,), 5)
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    outputs = {"y": (3, FLOAT), "present_k": (4, FLOAT), "present_v": (4, FLOAT)}
    model, given = node_model("GroupQueryAttention", inputs, outputs, num_heads=HEADS, kv_num_heads=KEY_HEADS)
    prepared = prepare(model, device)
    plan, _ = prepared.compiled_for(given)
    later = given | {"lengths": ints(7), "total": np.array(8, np.int32)}
    assert prepared.compiled_for(later)[0] is plan
    assert_close(prepared.run(later), in_onnxruntime(model, later), 1e-5)
    longer = given | {"lengths": ints(9), "total": np.array(10, np.int32)}
    assert prepared.compiled_for(longer)[0] is not plan


def test_refused_group_query_attention(device: dml.Device) -> None:
    inputs = {name: array for name, array in cache(2, 3, 0, (0, 0), 3).items() if array is not None}
    inputs = {"q": inputs["q"], "k": inputs["k"], "v": inputs["v"], "pk": None, "pv": None,
              "lengths": inputs["lengths"], "total": inputs["total"]}  # fmt: skip
    message = refused(device, "GroupQueryAttention", inputs, {"y": 3}, num_heads=4, kv_num_heads=2, qk_output=1)
    assert message == "node GroupQueryAttention: qk_output = 1 is not mapped"
    heads = {"num_heads": 4, "kv_num_heads": 2, "k_quant_type": "PER_TENSOR"}
    inputs |= dict.fromkeys(("cos", "sin", "positions", "bias", "sink")) | {"k_scale": floats(2)}
    message = refused(device, "GroupQueryAttention", inputs, {"y": 3}, **heads)
    assert message == "node GroupQueryAttention: attribute 'kv_cache_bit_width' must be 4 or 8, found 0"
    message = refused(device, "GroupQueryAttention", inputs, {"y": 3}, **heads, kv_cache_bit_width=8)
    assert message == "node GroupQueryAttention: k_scale must have 1 elements, found shape (2,)"
    inputs = dict.fromkeys(inputs) | {name: inputs[name] for name in ("q", "k", "v", "lengths", "total")}
    inputs = {name: array for name, array in inputs.items() if name not in ("k_scale",)} | {"sink": floats(3)}
    message = refused(device, "GroupQueryAttention", inputs, {"y": 3}, num_heads=4, kv_num_heads=2)
    assert message == "node GroupQueryAttention: head_sink must have 4 elements, found shape (3,)"
    message = refused(device, "GroupQueryAttention", inputs, {"y": 3}, num_heads=4, kv_num_heads=3)
    assert "num_heads be a multiple of kv_num_heads, found shape (2, 3, 64), 4 and 3" in message


# Attention, MultiHeadAttention and QAttention: 2 heads of 4.

MASKS = {
    "none": None,
    "lengths": ints(3, 2),
    "keys": np.array([[1, 1, 1], [1, 0, 1]], np.int32),
    "queries": np.array([[[1, 0, 1], [0, 1, 1], [0, 0, 1]], [[1, 1, 1], [1, 1, 0], [0, 1, 1]]], np.int32),
}


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", MASKS)
def test_attention_with_a_mask(device: dml.Device, mask: str, causal: int) -> None:
    inputs = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24), "m": MASKS[mask]}
    agree(device, "Attention", inputs, {"y": 3}, num_heads=2, unidirectional=causal)


def test_attention_with_ends_and_starts(device: dml.Device) -> None:
    inputs = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24), "m": ints(3, 3, 0, 1)}
    agree(device, "Attention", inputs, {"y": 3}, num_heads=2)


@pytest.mark.parametrize("filled", [-10000.0, -5.0])
@pytest.mark.parametrize("relative", [False, True])
def test_causal_attention_hides_later_keys_whatever_the_mask(device: dml.Device, filled: float, relative: bool) -> None:
    """A padded query attends to the padding before it, and no query to later keys."""
    inputs = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24), "m": ints(0, 1, 1, 0, 0, 1).reshape(2, 3),
              "past": None, "r": floats(1, 2, 3, 3) if relative else None}  # fmt: skip
    tolerance = 2e-3 if filled < -1000 else 1e-5  # neighbours of -10,000 in float32 differ by 1e-3
    agree(device, "Attention", inputs, {"y": 3}, tolerance, num_heads=2, unidirectional=1, mask_filter_value=filled)


def test_masked_keys_of_halves_stay_above_later_keys(device: dml.Device) -> None:
    """The bias would carry FLOAT16's lowest number to minus infinity."""
    values = np.array([1, 10, 100], np.float16).reshape(1, 3, 1)
    inputs: dict[str, Array | None] = {
        "q": np.zeros((1, 3, 1), np.float16), "k": np.zeros((1, 3, 1), np.float16), "v": values, "bias": None,
        "mask": ints(0, 1, 1).reshape(1, 3), "relative": np.full((1, 1, 3, 3), -20, np.float16),
    }  # fmt: skip
    model, given = node_model(
        "MultiHeadAttention", inputs, {"y": (3, np.float16)}, num_heads=1, unidirectional=1,
        mask_filter_value=float(np.finfo(np.float16).min),
    )  # fmt: skip
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-3)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_a_past(device: dml.Device, causal: int) -> None:
    inputs = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24), "m": ints(5, 4), "past": floats(2, 2, 2, 2, 4)}
    agree(device, "Attention", inputs, {"y": 3, "present": 5}, num_heads=2, unidirectional=causal)


def test_attention_with_a_bias_and_sizes(device: dml.Device) -> None:
    inputs = {
        "x": floats(2, 3, 8),
        "w": floats(8, 28),
        "b": floats(28),
        "m": None,
        "past": None,
        "r": floats(1, 2, 3, 3),
    }
    agree(device, "Attention", inputs, {"y": 3}, num_heads=2, qkv_hidden_sizes=[8, 8, 12])


def test_refused_attention(device: dml.Device) -> None:
    inputs: dict[str, Array | None] = {"x": floats(2, 3, 8), "w": floats(8, 24), "b": floats(24)}
    message = refused(device, "Attention", inputs, {"y": 3}, num_heads=2, do_rotary=1)
    assert message == "node Attention: do_rotary = 1 is not mapped"


def test_multi_head_attention_with_a_past(device: dml.Device) -> None:
    q, past = floats(2, 3, 8), (2, 2, 2, 4)
    inputs = {"q": q, "k": floats(2, 3, 8), "v": floats(2, 3, 8), "b": floats(24), "m": None, "r": None,
              "pk": floats(*past), "pv": floats(*past)}  # fmt: skip
    for causal in (0, 1):
        ranks = {"y": 3, "present_k": 4, "present_v": 4}
        agree(device, "MultiHeadAttention", dict(inputs), ranks, num_heads=2, unidirectional=causal)


def test_multi_head_attention_with_heads_apart(device: dml.Device) -> None:
    inputs = {"q": floats(2, 3, 8), "k": floats(2, 2, 4, 4), "v": floats(2, 2, 4, 4)}
    agree(device, "MultiHeadAttention", inputs, {"y": 3}, num_heads=2)


def test_cross_attention_adds_only_the_query_s_bias(device: dml.Device) -> None:
    """Keys and values that are given by heads already include their bias."""
    inputs = {"q": floats(2, 3, 8), "k": floats(2, 2, 4, 4), "v": floats(2, 2, 4, 4), "b": floats(24)}
    agree(device, "MultiHeadAttention", inputs, {"y": 3}, num_heads=2)


@pytest.mark.parametrize("parts", [2, 3])
def test_multi_head_attention_of_packed_tensors(device: dml.Device, parts: int) -> None:
    packed = floats(2, 3, 2, parts, 4)
    query = floats(2, 3, 8)
    inputs: dict[str, Array | None] = {"q": query, "kv": packed} if parts == 2 else {"qkv": packed}
    model, given = node_model("MultiHeadAttention", inputs, {"y": (3, FLOAT)}, num_heads=2)
    apart = packed.astype(np.float64).transpose(3, 0, 2, 1, 4)  # axes: part, batch, head, sequence, element
    q = query.astype(np.float64).reshape(2, 3, 2, 4).transpose(0, 2, 1, 3) if parts == 2 else apart[0]
    weights = np.exp(q @ apart[-2].swapaxes(2, 3) / 2)
    weights /= weights.sum(-1, keepdims=True)
    expected = (weights @ apart[-1]).transpose(0, 2, 1, 3).reshape(2, 3, 8).astype(FLOAT)
    assert_close(prepare(model, device).run(given), [expected], 1e-5)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("past", [False, True], ids=["first", "past"])
def test_quantized_attention(device: dml.Device, past: bool, kind: Any) -> None:
    """Signed weights have a scale per column, and seven bits: with eight, ONNX Runtime saturates sums of two products
    on processors without VNNI."""
    weights = bytes_(8, 24).view(kind) >> (1 if kind is np.int8 else 0)
    count = 24 if kind is np.int8 else 1
    inputs = {
        "x": bytes_(2, 3, 8), "w": weights, "b": floats(24), "xs": np.array(0.01, FLOAT),
        "ws": np.linspace(0.01, 0.02, count, dtype=FLOAT).reshape(-1 if count > 1 else ()), "m": ints(3, 2),
        "xz": np.array(120, np.uint8), "wz": np.full(count, 7, kind).reshape(-1 if count > 1 else ()),
        "past": floats(2, 2, 2, 2, 4) if past else None,
    }  # fmt: skip
    if past:
        inputs["m"] = None
    ranks = {"y": 3, "present": 5}
    agree(device, "QAttention", inputs, ranks, 1e-4, num_heads=2, unidirectional=int(past))


# FLOAT16, which some of ONNX Runtime's CPU kernels lack, is compared with FLOAT32 results, within FLOAT16's precision.


def half_cases() -> dict[str, tuple[dict[str, Array | None], dict[str, int], dict[str, Any]]]:
    gqa = {
        name: array
        for name, array in cache(2, 1, 9, (5, 3), 6, turned=True).items()
        if name not in ("positions", "bias")
    }
    present = {"y": 3, "present_k": 4, "present_v": 4}
    weights: dict[str, Array | None] = {
        "a": floats(2, 32),
        "b": bytes_(5, 2, 8),
        "s": floats(5, 2) / 9,
        "z": bytes_(5, 1),
    }
    attention = {
        "x": floats(2, 3, 8),
        "w": floats(8, 24),
        "b": floats(24),
        "m": ints(5, 4),
        "past": floats(2, 2, 2, 2, 4),
    }
    return {
        "GroupQueryAttention": (gqa, present, {"num_heads": HEADS, "kv_num_heads": KEY_HEADS, "do_rotary": 1}),
        "MatMulNBits": (weights, {"y": 2}, {"N": 5, "K": 32, "bits": 4, "block_size": 16}),
        "Attention": (attention, {"y": 3, "present": 5}, {"num_heads": 2, "unidirectional": 1}),
    }


@pytest.mark.parametrize("op", ["GroupQueryAttention", "MatMulNBits", "Attention"])
def test_float16(device: dml.Device, op: str) -> None:
    inputs, ranks, attributes = half_cases()[op]
    results = []
    for kind in (np.float32, np.float16):
        halves = {name: array.astype(kind) if array is not None and array.dtype == FLOAT else array
                for name, array in inputs.items()}  # fmt: skip
        model, given = node_model(op, halves, {name: (rank, kind) for name, rank in ranks.items()}, **attributes)
        results.append(prepare(model, device).run(given))
    for exact, found in zip(*results, strict=True):
        assert found.dtype == np.float16
        np.testing.assert_allclose(found.astype(FLOAT), exact, rtol=1e-2, atol=1e-2)
