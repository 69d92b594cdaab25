"""Small models with symbolic sizes, inputs for them, and a comparison of their plans."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st

import dml
from dml.frontends.onnx import prepare
from example_module import example

Feeds = dict[str, Any]
_rng = np.random.default_rng(0)


def _random(*shape: int) -> Any:
    return _rng.standard_normal(shape).astype(np.float32)


def parsed(text: str, weights: dict[str, Any]) -> bytes:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')
    model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name) for name, array in weights.items())
    return bytes(model.SerializeToString())


@cache
def network() -> bytes:
    """Return a network for any batch and image size, which computes its shapes from the input's."""
    return parsed(
        """
        network (float[n, 3, h, w] x) => (float[n, k] y, float[n, 4, a, b] z) {
            c = Conv<pads = [1, 1, 1, 1]>(x, w0, b0)
            r = Relu(c)
            p = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)
            d = Conv<pads = [1, 1, 1, 1]>(p, w1)
            e = Add(d, p)
            s = Shape(x)
            two = Constant<value = int64[1] {2}>()
            four = Constant<value = int64[1] {4}>()
            hw = Slice(s, two, four)
            one = Constant<value = int64[1] {1}>()
            zero = Constant<value = int64[1] {0}>()
            nc = Slice(s, zero, one)
            nk = Concat<axis = 0>(nc, four, hw)
            up = Resize<mode = "nearest">(e, , , nk)
            f = Add(up, r)
            o = ConstantOfShape(hw)
            u = Unsqueeze(o, zero)
            z = Add(f, u)
            m = ReduceMean<keepdims = 0>(z, axes)
            y = MatMul(m, w2)
        }
        """,
        {"w0": _random(4, 3, 3, 3), "b0": _random(4), "w1": _random(4, 4, 3, 3), "w2": _random(4, 5)}
        | {"axes": np.array([2, 3])},
    )


@cache
def encoder() -> bytes:
    """Return two equal layers of attention for any batch and length, with a mask."""
    text, weights = "", {"table": _random(11, 16), "heads": np.array([0, 0, 2, 8]), "flat": np.array([0, 0, 16])}
    weights |= {"places": _random(32, 16), "closed": np.float32(-1e4), "one": np.float32(1), "zero": np.array(0)}
    weights |= {"step": np.array(1), "masked": np.array([1, 2])}
    x = "x0"
    for index in range(2):
        for name in ("q", "k", "v", "o"):
            weights[f"{name}{index}w"] = _random(16, 16)
        weights |= {f"g{index}": np.ones(16, np.float32), f"h{index}": np.zeros(16, np.float32)}
        for name, perm in (("q", "0, 2, 1, 3"), ("k", "0, 2, 3, 1"), ("v", "0, 2, 1, 3")):
            text += f"""
            {name}{index}a = MatMul({x}, {name}{index}w)
            {name}{index}b = Reshape({name}{index}a, heads)
            {name}{index} = Transpose<perm = [{perm}]>({name}{index}b)"""
        text += f"""
            s{index} = MatMul(q{index}, k{index})
            t{index} = Add(s{index}, open)
            u{index} = Softmax(t{index})
            m{index} = MatMul(u{index}, v{index})
            n{index} = Transpose<perm = [0, 2, 1, 3]>(m{index})
            p{index} = Reshape(n{index}, flat)
            r{index} = MatMul(p{index}, o{index}w)
            e{index} = Add(r{index}, {x})
            f{index} = LayerNormalization(e{index}, g{index}, h{index})
            x{index + 1} = Gelu(f{index})"""
        x = f"x{index + 1}"
    return parsed(
        f"""
        encoder (int64[n, s] ids, float[n, s] mask) => (float[n, s, 16] {x}) {{
            size = Shape(ids)
            length = Gather(size, step)
            range = Range(zero, length, step)
            a = Gather(table, ids)
            b = Gather(places, range)
            x0 = Add(a, b)
            i = Sub(one, mask)
            j = Mul(i, closed)
            open = Unsqueeze(j, masked)
            {text}
        }}
        """,
        weights,
    )


@cache
def looped() -> bytes:
    """Return a model for any length with a Loop and an If that inputs control, and foldable nodes around them."""
    return parsed(
        """
        looped (float[n, k] x, int64 times, bool which) => (float[n, k] y, float[m, k] z) {
            yes = Constant<value = bool {1}>()
            a = MatMul(x, w)
            b = Loop(times, yes, a) <body = body (int64 at, bool going, float[p, q] state)
                => (bool go, float[p, q] next) {
                go = Identity(going)
                c = MatMul(state, w)
                next = Add(c, x)
            }>
            y = Tanh(b)
            d = If(which) <then_branch = then () => (float[r, q] e) { e = Concat<axis = 0>(y, x) },
                else_branch = other () => (float[r, q] f) { f = Relu(y) }>
            z = MatMul(d, w)
        }
        """,
        {"w": _random(6, 6) / 3},
    )


@cache
def decoder() -> bytes:
    return bytes(example("decoding").gpt2())


def decoder_feeds(past: int, new: int) -> Feeds:
    caches = {f"past{index}": _rng.random((1, 4, past, 32), np.float32) for index in range(4)}
    return {"ids": np.arange(new)[None] * 7, **caches}


def encoder_feeds(batch: int, length: int) -> Feeds:
    mask = np.tril(np.ones((batch, length), np.float32))
    return {"ids": np.arange(batch * length).reshape(batch, length) % 11, "mask": mask}


def looped_feeds(length: int, times: int, which: bool) -> Feeds:
    return {"x": _rng.random((length, 6), np.float32), "times": np.array(times), "which": np.array(which)}


_small = st.integers(1, 4)
#: Name -> model, function from sizes to inputs, and strategy for sizes.
CASES: dict[str, tuple[Callable[[], bytes], Callable[..., Feeds], Any]] = {
    "decoder": (decoder, decoder_feeds, st.tuples(st.integers(0, 70), _small)),
    "encoder": (encoder, encoder_feeds, st.tuples(_small, st.integers(1, 32))),
    "network": (
        network,
        lambda n, h, w: {"x": _rng.random((n, 3, 2 * h, 2 * w), np.float32)},
        st.tuples(_small, st.integers(1, 17), st.integers(1, 17)),
    ),
    "looped": (looped, looped_feeds, st.tuples(st.integers(1, 9), st.integers(0, 3), st.booleans())),
}


def check_plan(prepared: Any, model: bytes, feeds: Feeds, device: dml.Device) -> None:
    """Assert that a prepared model's plan for these inputs equals a fresh model's."""
    plan, _ = prepared.compiled_for(feeds)
    expected, _ = prepare(model, device).compiled_for(feeds)
    assert plan.compiled.program.describe() == expected.compiled.program.describe()
    assert plan.compiled.program == expected.compiled.program
    assert plan.compiled.input_fields == expected.compiled.input_fields
    assert plan.compiled.output_fields == expected.compiled.output_fields
    assert repr(plan.outputs) == repr(expected.outputs)
    assert plan.record == expected.record
    assert [guard.expected for guard in plan.guards] == [guard.expected for guard in expected.guards]
