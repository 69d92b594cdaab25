"""Key and value caches written in place (past and present bound to one value), compared with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Array, in_onnxruntime, model_of
from onnx import TensorProto, helper

import dml
from dml.frontends import onnx as ort
from dml.frontends.onnx.map.operators import attention_products

FLOAT, HALF = np.float32, np.float16
BINDING = {"present_k": "past_k", "present_v": "past_v"}


class Decoder:
    """A GroupQueryAttention with a cache of ``room`` positions, updated in place by dml and copied by onnxruntime."""

    def __init__(
        self, device: dml.Device, *, heads: tuple[int, int] = (4, 2), size: int = 16, room: int = 12, batch: int = 2,
        dtype: Any = FLOAT, rotary: bool = False, packed: bool = False, norms: bool = False, sink: bool = False,
        quantized: tuple[int, str] | None = None, **attributes: Any,
    ) -> None:  # fmt: skip
        self.rng = np.random.default_rng(size + room)
        self.batch, self.heads, self.size, self.dtype, self.packed = batch, heads, size, np.dtype(dtype), packed
        bits, kind = quantized or (0, "NONE")
        cache_dtype = {0: self.dtype, 8: np.dtype(np.int8), 4: np.dtype(np.uint8)}[bits]
        width = size * bits // 8 if bits else size
        self.caches = {name: np.zeros((batch, heads[1], room, width), cache_dtype) for name in BINDING.values()}
        self.fixed: dict[str, Array] = {}
        if rotary:
            attributes["do_rotary"] = 1
            self.fixed |= {name: self.floats(room + 20, size // 2) for name in ("cos", "sin")}
        if sink:
            self.fixed["sink"] = self.floats(heads[0])
        if bits:
            count = 1 if kind == "PER_TENSOR" else heads[1] * size
            for name in ("k_scale", "v_scale"):
                self.fixed[name] = np.abs(self.floats(count).astype(FLOAT)) / 2 ** (bits - 2) + FLOAT(0.01)
            attributes |= {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits}
        if norms:
            self.fixed |= {name: self.floats(size) for name in ("q_norm", "k_norm")}
        names = ["query", "" if packed else "key", "" if packed else "value", "past_k", "past_v", "lengths", "total"]
        names += [name if name in self.fixed else "" for name in ("cos", "sin")] + ["", ""]
        names += [name if name in self.fixed else "" for name in ("sink", "k_scale", "v_scale", "q_norm", "k_norm")]
        while not names[-1]:
            names.pop()
        node = helper.make_node(
            "GroupQueryAttention", names, ["y", *BINDING], domain="com.microsoft",
            num_heads=heads[0], kv_num_heads=heads[1], **attributes,
        )  # fmt: skip
        self.model = model_of(
            [node], self.step(1, [0] * batch), ["y", *BINDING], 17, symbolic=True, initializers=self.fixed,
            domains={"com.microsoft": 1}, ranks=dict.fromkeys(BINDING, 4),
        )  # fmt: skip
        for entry in self.model.graph.output[1:]:
            entry.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(cache_dtype)
        total = next(entry for entry in self.model.graph.input if entry.name == "total")
        total.CopyFrom(helper.make_tensor_value_info("total", TensorProto.INT32, []))
        self.session = ort.InferenceSession(self.model.SerializeToString(), device=device)
        self.values = {name: ort.OrtValue.ortvalue_from_numpy(array, "dml") for name, array in self.caches.items()}
        self.shared = {name: value.on(device) for name, value in self.values.items()}

    def floats(self, *shape: int) -> Array:
        return self.rng.uniform(-1, 1, shape).astype(self.dtype)

    def step(self, steps: int, before: list[int]) -> dict[str, Array]:
        """Return inputs with ``steps`` new positions after each batch element's past."""
        heads, key_heads = self.heads
        width = (
            {"query": heads + 2 * key_heads} if self.packed else {"query": heads, "key": key_heads, "value": key_heads}
        )
        given = {name: self.floats(self.batch, steps, count * self.size) for name, count in width.items()}
        ends = np.array(before, np.int32) + steps
        return {**given, **self.caches, "lengths": ends - 1, "total": np.array(ends.max(), np.int32)}

    def run(self, inputs: dict[str, Array]) -> Array:
        """Run with the caches bound as past and as present; return the output."""
        binding = self.session.io_binding()
        for name, array in inputs.items():
            if name not in self.values:
                binding.bind_cpu_input(name, array)
        binding.bind_output("y")
        for present, past in BINDING.items():
            binding.bind_ortvalue_input(past, self.values[past])
            binding.bind_ortvalue_output(present, self.values[past])
        self.session.run_with_iobinding(binding)
        return np.asarray(binding.get_outputs()[0].numpy())

    def expected(self, inputs: dict[str, Array]) -> list[Array]:
        """Return onnxruntime's outputs. Its CPU provider lacks norms: query and key are normalized before, in
        float64."""
        if "q_norm" not in self.fixed:
            return in_onnxruntime(self.model, inputs)
        plain = onnx.ModelProto()
        plain.CopyFrom(self.model)
        (node,) = plain.graph.node
        epsilon = next(entry.f for entry in node.attribute if entry.name == "qk_norm_epsilon")
        del node.input[14:]
        for name, weight in (("query", "q_norm"), ("key", "k_norm")):
            heads = inputs[name].astype(np.float64).reshape(*inputs[name].shape[:2], -1, self.size)
            heads /= np.sqrt(np.mean(heads**2, -1, keepdims=True) + epsilon)
            made = heads * self.fixed[weight].astype(np.float64)
            inputs = inputs | {name: made.reshape(inputs[name].shape).astype(self.dtype)}
        return in_onnxruntime(plain, inputs)

    def check(self, steps: int, before: list[int], tolerance: float) -> None:
        """Assert that the output and the new cache entries equal onnxruntime's and that no other entry changes."""
        inputs = self.step(steps, before)
        found = self.run(inputs)
        expected, *presents = self.expected(inputs)
        np.testing.assert_allclose(found.astype(FLOAT), expected.astype(FLOAT), rtol=tolerance, atol=tolerance)
        for name, present in zip(BINDING.values(), presents, strict=True):
            assert self.values[name].on(self.session.device) is self.shared[name]
            now = self.values[name].numpy()
            for b, past in enumerate(before):
                kept = np.ones(now.shape[2], bool)
                kept[past : past + steps] = False
                assert np.array_equal(now[b][:, kept], self.caches[name][b][:, kept])
                new = slice(past, past + steps)
                if now.dtype.kind == "f":
                    np.testing.assert_allclose(now[b][:, new].astype(FLOAT), present[b][:, new].astype(FLOAT),
                                               rtol=tolerance, atol=tolerance)  # fmt: skip
                else:  # ties between two steps may round either way
                    assert np.mean(now[b][:, new] != present[b][:, new]) < 0.02
            self.caches[name] = now

    @property
    def plans(self) -> int:
        (part,) = self.session._model.parts
        assert not part.on_host
        return len(part.plans)


CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary, packed": {"rotary": True, "packed": True},
    "interleaved": {"rotary": True, "rotary_interleaved": 1},
    "window": {"local_window_size": 3},
    "softcap": {"softcap": 1.5, "rotary": True},
    "smooth": {"smooth_softmax": 1},
    "sink, window": {"sink": True, "local_window_size": 2},
    "norms": {"norms": True, "rotary": True, "qk_norm_epsilon": 1e-5},
    "8 bits": {"quantized": (8, "PER_TENSOR")},
    "4 bits": {"quantized": (4, "PER_CHANNEL"), "rotary": True},
    "heads of 256": {"size": 256, "heads": (2, 1)},
}


@pytest.mark.parametrize("name", CASES)
def test_a_prompt_and_steps_in_place(device: dml.Device, name: str) -> None:
    """A prompt, then steps until one cache is full, with a different length per batch element: two plans, no copies."""
    decoder = Decoder(device, **CASES[name])
    decoder.check(5, [0, 0], 2e-5)
    for before in ([5, 3], [6, 4], [11, 9]):
        decoder.check(1, before, 2e-5)
    assert decoder.plans == 2


@pytest.mark.parametrize("name", ["plain", "window", "softcap", "norms"])
def test_float16_in_place(device: dml.Device, name: str) -> None:
    """Caches stay FLOAT16. onnxruntime also rounds scores to FLOAT16, which leaves three digits."""
    decoder = Decoder(device, **CASES[name], dtype=HALF)
    decoder.check(4, [0, 0], 4e-3)
    for before in ([4, 2], [5, 3], [6, 11]):
        decoder.check(1, before, 4e-3)


@settings(max_examples=8)
@given(
    size=st.sampled_from([8, 64, 72, 128]), heads=st.sampled_from([(1, 1), (6, 2), (8, 8)]),
    room=st.integers(4, 40), prompt=st.integers(1, 20), window=st.sampled_from([-1, 1, 7]),
)  # fmt: skip
def test_sizes(device: dml.Device, size: int, heads: tuple[int, int], room: int, prompt: int, window: int) -> None:
    """Prompts of all lengths, a chunk after a past, and the last position of a cache."""
    prompt = min(prompt, room - 2)
    decoder = Decoder(device, size=size, heads=heads, room=room, batch=1, local_window_size=window)
    decoder.check(prompt, [0], 2e-5)
    chunk = min(3, room - prompt - 1)
    decoder.check(chunk, [prompt], 2e-5)
    decoder.check(1, [room - 1], 2e-5)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_full_cache_is_told_with_its_length(device: dml.Device, steps: int) -> None:
    decoder = Decoder(device, room=8, batch=1)
    decoder.check(steps, [8 - steps], 2e-5)
    message = "node GroupQueryAttention: the cache has room for 8 positions, found 9"
    with pytest.raises(dml.DMLError, match=message):
        decoder.run(decoder.step(steps, [9 - steps]))
    before = {name: value.numpy() for name, value in decoder.values.items()}
    assert all(np.array_equal(before[name], array) for name, array in decoder.caches.items())
    with pytest.raises(dml.DMLError, match=r"found (9|10) new positions|found 10"):
        decoder.run(decoder.step(10, [0]))


def test_a_padded_prompt_in_place(device: dml.Device) -> None:
    """A shorter prompt is padded at its end, and later positions overwrite the padding."""
    decoder = Decoder(device, rotary=True)
    decoder.check(4, [0, 0], 2e-5)
    inputs = decoder.step(4, [0, 0])
    inputs["lengths"] = np.array([3, 1], np.int32)
    expected, *presents = decoder.expected(inputs)
    found = decoder.run(inputs)
    np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(found[1, :2], expected[1, :2], rtol=2e-5, atol=2e-5)
    for name, present in zip(BINDING.values(), presents, strict=True):
        decoder.caches[name] = decoder.values[name].numpy()
        np.testing.assert_allclose(decoder.caches[name][1, :, :2], present[1, :, :2], rtol=2e-5, atol=2e-5)
    decoder.check(1, [4, 2], 2e-5)


def test_an_output_that_nothing_writes_in_place_is_a_new_array(device: dml.Device) -> None:
    """The input stays intact for other nodes, and the bound value receives the new output."""
    nodes = [helper.make_node("Add", ["x", "one"], ["y"]), helper.make_node("Mul", ["x", "x"], ["z"])]
    x = np.arange(6, dtype=FLOAT).reshape(2, 3)
    model = model_of(nodes, {"x": x}, ["y", "z"], 17, initializers={"one": np.ones(1, FLOAT)})
    session = ort.InferenceSession(model.SerializeToString(), device=device)
    value = ort.OrtValue.ortvalue_from_numpy(x, "dml")
    for count in (1, 2):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", value)
        binding.bind_ortvalue_output("y", value)
        binding.bind_output("z")
        session.run_with_iobinding(binding)
        assert np.array_equal(value.numpy(), x + count)
        assert np.array_equal(binding.get_outputs()[1].numpy(), (x + count - 1) ** 2)


def test_shared_refuses_unknown_names(device: dml.Device) -> None:
    decoder = Decoder(device, batch=1)
    model = decoder.session._model
    with pytest.raises(dml.DMLError, match="shared: the model has no output 'past_k' or no input 'past_k'"):
        model.run(decoder.step(1, [0]), shared={"past_k": "past_k"})


@pytest.mark.parametrize(
    "more", [{}, {"softcap": 1.5, "rotary": True}, {"sink": True}, {"quantized": (8, "PER_TENSOR")}]
)
@pytest.mark.parametrize(("room", "window"), [(4, 4), (7, 4), (12, 3)])
def test_a_cache_that_holds_a_window(device: dml.Device, room: int, window: int, more: dict[str, Any]) -> None:
    """Outputs and remaining rows equal onnxruntime's for prompts longer than the cache, chunks and steps."""
    decoder = Decoder(device, room=room, batch=1, local_window_size=window, sliding_window_cache=1, **more)
    model, total = decoder.session._model, 0
    theirs = dict(decoder.caches)
    for steps in (room + 3, 1, 1, 2, 1, 5, 1):
        inputs = decoder.step(steps, [total])
        total += steps
        found = model.run({**inputs, **decoder.caches})
        expected = in_onnxruntime(decoder.model, inputs | theirs)
        np.testing.assert_allclose(found[0], expected[0], rtol=2e-5, atol=2e-5)
        gone = room - window + 1
        kept = total if total <= room else total - gone * -(-(total - room) // gone)
        for name, own, other in zip(BINDING.values(), found[1:], expected[1:], strict=True):
            wide = np.abs(own[:, :, :kept].astype(FLOAT) - other[:, :, :kept].astype(FLOAT))
            assert wide.max() <= (1 if own.dtype == np.int8 else 2e-5)
            decoder.caches[name], theirs[name] = own, other


def test_a_cache_smaller_than_its_window(device: dml.Device) -> None:
    """A cache smaller than the window never discards positions, and longer sequences are refused. onnxruntime refuses
    such a cache."""
    decoder = Decoder(device, room=6, batch=1, local_window_size=8, sliding_window_cache=1)
    plain = Decoder(device, room=6, batch=1, local_window_size=8)
    for steps, before in ((4, 0), (1, 4), (1, 5)):
        inputs = plain.step(steps, [before])
        np.testing.assert_allclose(decoder.run(inputs), in_onnxruntime(plain.model, inputs)[0], rtol=2e-5, atol=2e-5)
        plain.caches = {name: value.numpy() for name, value in decoder.values.items()}
    with pytest.raises(
        dml.DMLError, match=r"the cache holds 6 positions of a window of 8, too few for this sequence, found 7"
    ):
        decoder.run(plain.step(1, [6]))


@pytest.mark.parametrize("name", ["softcap", "sink, window", "4 bits"])
def test_a_long_prompt_goes_in_parts(device: dml.Device, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The scores of a seven-position prompt are computed for three positions at a time."""
    decoder = Decoder(device, **CASES[name])
    monkeypatch.setattr(attention_products, "MOST_SCORES", 4 * 2 * 4 * 12 * 3)
    decoder.check(7, [0, 0], 2e-5)
    decoder.check(1, [7, 6], 2e-5)
