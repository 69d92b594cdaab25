"""Mixtures of experts, compared with the specification in float64 and with ONNX Runtime's CPU provider."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.operators import experts

FLOAT, HALF = np.float32, np.float16


def softmax(x: Array) -> Array:
    made = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(made / made.sum(-1, keepdims=True))


def sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def activated(kind: str, fusion: int, made: Array, third: Array | None, options: dict[str, Any]) -> Array:
    plain = {
        "relu": lambda x: np.maximum(x, 0),
        "relu2": lambda x: np.maximum(x, 0) ** 2,
        "silu": lambda x: x * sigmoid(x),
        "gelu": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
        "identity": lambda x: x,
    }
    if kind in plain:
        found = plain[kind](made)
        return np.asarray(found if third is None else found * third)
    gate, up = (made[0::2], made[1::2]) if fusion == 1 else np.split(made, 2) if fusion else (made, third)
    assert up is not None
    if kind == "geglu":
        return np.asarray(plain["gelu"](gate) * up)
    limit = options.get("swiglu_limit", np.inf)
    up = np.clip(up, -limit, limit) + options["activation_beta"]
    if options.get("swiglu_limit_after_activation"):
        return np.asarray(np.minimum(gate * sigmoid(options["activation_alpha"] * gate), limit) * up)
    gate = np.minimum(gate, limit)
    return np.asarray(gate * sigmoid(options["activation_alpha"] * gate) * up)


def mixed(inputs: dict[str, Any], weights: list[Array | None], options: dict[str, Any]) -> Array:
    """Return the specification's mixture, token by token. weights: of fc1, fc2 and fc3."""
    x, scores = inputs["x"].astype(np.float64), inputs["router"].astype(np.float64)
    made = np.zeros_like(x)
    for t, row in enumerate(scores):
        order = np.argsort(-row, kind="stable")[: options["k"]]
        shares = (softmax(row) if inputs.get("mix") is None else inputs["mix"][t].astype(np.float64))[order]
        if options.get("normalize_routing_weights"):
            shares = shares / shares.sum()
        for e, share in zip(order, shares, strict=True):

            def layer(at: int, v: Array, e: int = e) -> Array | None:
                if weights[at] is None:
                    return None
                bias = inputs.get(f"b{at + 1}")
                return np.asarray(weights[at][e] @ v + (0 if bias is None else bias[e].astype(np.float64)))

            first, third = layer(0, x[t]), layer(2, x[t])
            assert first is not None
            between = activated(options["activation_type"], options.get("swiglu_fusion", 0), first, third, options)
            made[t] += share * np.asarray(layer(1, between))
    return made


#: Activation, fusion of gates, and whether there is a third layer.
KINDS = [
    *(("relu", 0, False), ("relu2", 0, False), ("gelu", 0, False), ("silu", 0, True), ("identity", 0, False)),
    *(("swiglu", 1, False), ("swiglu", 2, False), ("swiglu", 0, True), ("geglu", 1, False), ("geglu", 2, False)),
]
SWIGLU = {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 1.5}


def case(
    rng: Any, tokens: int, many: int, k: int, sizes: tuple[int, int], kind: tuple[str, int, bool], bias: bool
) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Return the inputs without weights, the attributes, and the number of rows of fc1."""
    width, inner = sizes
    name, fusion, has_third = kind
    rows = 2 * inner if fusion else inner
    inputs: dict[str, Any] = {
        "x": rng.uniform(-1, 1, (tokens, width)).astype(FLOAT),
        "router": rng.uniform(-3, 3, (tokens, many)).astype(FLOAT),
        "b1": rng.uniform(-1, 1, (many, rows)).astype(FLOAT) if bias else None,
        "b2": rng.uniform(-1, 1, (many, width)).astype(FLOAT) if bias else None,
        "b3": rng.uniform(-1, 1, (many, inner)).astype(FLOAT) if bias and has_third else None,
    }
    options = {"k": k, "activation_type": name, "normalize_routing_weights": int(tokens % 2)}
    if fusion:
        options["swiglu_fusion"] = fusion
    if name == "swiglu":
        options |= SWIGLU | ({"swiglu_limit_after_activation": 1} if tokens % 3 == 0 else {})
    return inputs, options, rows


def trimmed(inputs: dict[str, Any]) -> dict[str, Any]:
    while next(reversed(inputs.values())) is None:
        inputs.popitem()
    return inputs


@settings(max_examples=15)
@given(
    tokens=st.integers(1, 9), many=st.integers(1, 6), k=st.integers(1, 3), sizes=st.sampled_from([(8, 12), (16, 4)]),
    kind=st.sampled_from(KINDS), bias=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_mixtures(
    device: dml.Device, tokens: int, many: int, k: int, sizes: tuple[int, int], kind: tuple[str, int, bool],
    bias: bool, seed: int,
) -> None:  # fmt: skip
    """Few tokens read only their experts; many go through all experts."""
    check_mixture(device, tokens, many, k, sizes, kind, bias, seed)


def check_mixture(
    device: dml.Device,
    tokens: int,
    many: int,
    k: int,
    sizes: tuple[int, int],
    kind: tuple[str, int, bool],
    bias: bool,
    seed: int,
) -> None:
    rng, k = np.random.default_rng(seed), min(k, many)
    inputs, options, rows = case(rng, tokens, many, k, sizes, kind, bias)
    width, inner = sizes
    shapes = [(many, rows, width), (many, width, inner), (many, inner, width) if kind[2] else None]
    weights = [None if shape is None else rng.uniform(-1, 1, shape).astype(FLOAT) for shape in shapes]
    fed = {"x": inputs["x"], "router": inputs["router"]}
    for index, weight in enumerate(weights):
        fed |= {f"w{index + 1}": weight, f"b{index + 1}": inputs[f"b{index + 1}"]}
    model, given_ = node_model("MoE", trimmed(fed), {"y": (2, FLOAT)}, **options)
    found = prepare(model, device, fallback=False).run(given_)
    assert_close(found, [mixed(inputs, weights, options).astype(FLOAT)], 2e-5)
    differs = kind[2] or kind[0] in ("relu2", "geglu") or "swiglu_limit_after_activation" in options
    if not differs and options.get("swiglu_fusion") != 2:
        assert_close(found, in_onnxruntime(model, given_), 2e-5)


@pytest.mark.parametrize("fusion", [1, 2])
def test_gates_limited_after_their_activation(device: dml.Device, fusion: int) -> None:
    """onnxruntime's CPU provider limits them before."""
    check_mixture(device, 3, 4, 2, (8, 12), ("swiglu", fusion, False), True, 1)


def test_tokens_go_in_parts(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experts, "MOST_BYTES", 4 * 3 * 12 * 2)  # bytes of the results of two tokens
    check_mixture(device, 7, 3, 2, (8, 12), KINDS[0], True, 1)


def numbers_of(packed: Array, bits: int, count: int) -> Array:
    fields = np.unpackbits(packed, axis=-1, bitorder="little")[..., : count * bits].reshape(
        *packed.shape[:-1], count, bits
    )
    return np.asarray(fields @ (1 << np.arange(bits)).astype(np.float64))


@settings(max_examples=15)
@given(
    tokens=st.sampled_from([1, 2, 7]), bits=st.tuples(*[st.sampled_from([2, 4, 8])] * 2), mix=st.booleans(),
    block=st.sampled_from([0, 16]), zeros=st.booleans(), kind=st.sampled_from(KINDS), constant=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_mixtures_of_few_bits(
    device: dml.Device, tokens: int, bits: tuple[int, int], block: int, zeros: bool, kind: tuple[str, int, bool],
    constant: bool, seed: int, mix: bool,
) -> None:  # fmt: skip
    """Cases: scales per row or per block, zero points packed along either axis, and another number of bits for fc2."""
    rng, many, sizes = np.random.default_rng(seed), 4, (32, 16)
    inputs, options, rows = case(rng, tokens, many, 2, sizes, kind, True)
    inputs["mix"] = rng.uniform(0, 1, (tokens, many)).astype(FLOAT) if mix else None
    options |= {"expert_weight_bits": bits[0], "fc2_expert_weight_bits": bits[1], "weights_prepacked": 0}
    if block:
        options["block_size"] = block
    width, inner = sizes
    fed = {"x": inputs["x"], "router": inputs["router"]}
    points: dict[str, Any] = {}
    weights: list[Array | None] = []
    for index, (lines, columns) in enumerate([(rows, width), (width, inner), (inner, width)]):
        if index == 2 and not kind[2]:
            fed |= {"w3": None, "s3": None, "b3": None}
            points["z3"] = None
            weights.append(None)
            continue
        own = bits[1] if index == 1 else bits[0]
        blocks = columns // block if block else 1
        packed = rng.integers(0, 256, (many, lines, columns * own // 8)).astype(np.uint8)
        scale = rng.uniform(0.01, 0.1, (many, lines, blocks)).astype(FLOAT)
        zero = np.full((many, lines, blocks), 2.0 ** (own - 1))
        points[f"z{index + 1}"] = None
        if zeros:
            shape = (many, lines, -(-blocks * own // 8)) if block else (many, lines * own // 8)
            held = rng.integers(0, 256, shape).astype(np.uint8)
            zero = numbers_of(held, own, blocks) if block else numbers_of(held, own, lines)[..., None]
            points[f"z{index + 1}"] = held
        codes = numbers_of(packed, own, columns).reshape(many, lines, blocks, -1)
        weights.append(((codes - zero[..., None]) * scale.astype(np.float64)[..., None]).reshape(many, lines, columns))
        fed |= {
            f"w{index + 1}": packed,
            f"s{index + 1}": scale if block else scale[..., 0],
            f"b{index + 1}": inputs[f"b{index + 1}"],
        }
    fed |= {**points, "mix": inputs["mix"]}
    names = tuple(name for name, array in fed.items() if array is not None and name[0] in "wszb") if constant else ()
    model, given_ = node_model("QMoE", trimmed(fed), {"y": (2, FLOAT)}, constants=names, **options)
    found = prepare(model, device, fallback=False).run(given_)
    assert_close(found, [mixed(inputs, weights, options).astype(FLOAT)], 1e-4)


def test_the_sparse_mixer(device: dml.Device) -> None:
    """Each of the two experts is weighted by a softmax over the scores within a fiftieth of its own score."""
    rng = np.random.default_rng(3)
    inputs, options, _ = case(rng, 6, 5, 2, (8, 12), KINDS[4], False)
    inputs["router"] = (3 + rng.uniform(-0.08, 0.08, (6, 5))).astype(FLOAT)
    scores, mix, order = inputs["router"].astype(np.float64), np.zeros((6, 5)), np.zeros((6, 2), int)
    for t, row in enumerate(scores):
        left = row.copy()
        for index in range(2):
            most = left.max()
            order[t, index] = left.argmax()
            far = (most - row) / np.maximum(np.abs(row), most) > 0.02
            mix[t, order[t, index]] = softmax(np.where(far, -np.inf, left))[order[t, index]]
            left[order[t, index]] = -np.inf
    weights = [rng.uniform(-1, 1, shape).astype(FLOAT) for shape in ((5, 12, 8), (5, 8, 12))]
    fed = {"x": inputs["x"], "router": inputs["router"], "w1": weights[0], "b1": None, "w2": weights[1]}
    model, given_ = node_model("MoE", fed, {"y": (2, FLOAT)}, k=2, activation_type="identity", use_sparse_mixer=1)
    found = prepare(model, device, fallback=False).run(given_)
    options["normalize_routing_weights"] = 0
    expected = mixed(inputs | {"mix": mix}, [*weights, None], options)
    assert_close(found, [expected.astype(FLOAT)], 2e-5)


def test_few_tokens_read_only_their_experts(device: dml.Device) -> None:
    """One token multiplies only its k experts: intermediate results have the size of k experts' weights."""
    rng = np.random.default_rng(0)
    fed = {"x": rng.uniform(-1, 1, (1, 64)).astype(FLOAT), "router": rng.uniform(-1, 1, (1, 16)).astype(FLOAT),
           "w1": rng.uniform(-1, 1, (16, 128, 64)).astype(FLOAT), "b1": None,
           "w2": rng.uniform(-1, 1, (16, 64, 128)).astype(FLOAT)}  # fmt: skip
    model, given_ = node_model("MoE", fed, {"y": (2, FLOAT)}, constants=("w1", "w2"), k=2)
    plan, _ = prepare(model, device, fallback=False).compiled_for(given_)
    assert plan.compiled is not None
    assert plan.compiled.program.temporary_size < 3 * 2 * 128 * 64 * 4


@pytest.mark.parametrize(("tokens", "most"), [(1, 1), (64, 48)])
def test_experts_of_real_size_are_not_dequantized_as_a_whole(device: dml.Device, tokens: int, most: int) -> None:
    """Working memory in MiB: one token needs no copy of its experts' packed weights (4.5 MiB each, with scales); many
    tokens need a part of one expert's. As FLOAT32, two experts take 128 MiB, all eight 512."""
    experts_, width, inner, block = 8, 2048, 4096, 64
    fed: dict[str, Any] = {"x": np.zeros((tokens, width), FLOAT), "router": np.zeros((tokens, experts_), FLOAT)}
    for index, (rows, columns) in enumerate([(inner, width), (width, inner)], 1):
        fed[f"w{index}"] = np.zeros((experts_, rows, columns // 2), np.uint8)
        fed[f"s{index}"] = np.full((experts_, rows, columns // block), index, FLOAT)  # equal weights would be shared
        fed[f"b{index}"] = None
    constants = ("w1", "s1", "w2", "s2")
    model, given_ = node_model(
        "QMoE", trimmed(fed), {"y": (2, FLOAT)}, constants=constants, k=2, block_size=block, activation_type="silu"
    )
    plan, _ = prepare(model, device, fallback=False).compiled_for(given_)
    assert plan.compiled is not None
    program = plan.compiled.program
    assert program.temporary_size <= most << 20
    assert not program.initialize


def test_refused_mixtures(device: dml.Device) -> None:
    inputs, options, rows = case(np.random.default_rng(0), 2, 3, 1, (8, 4), KINDS[0], False)
    fed = {"x": inputs["x"], "router": inputs["router"], "w1": np.zeros((3, rows, 8), FLOAT), "b1": None,
           "w2": np.zeros((3, 8, 4), FLOAT)}  # fmt: skip
    for changes, attributes, message in (
        ({}, {"activation_type": "swiglu"}, "swiglu without swiglu_fusion takes the weights of fc3"),
        ({}, {"k": 4}, "attribute 'k' must be at most 3, found 4"),
        ({"router": np.zeros((3, 3), FLOAT)}, {}, r"a row for each token, found \(3, 3\) for \(2, 8\)"),
        ({}, {"use_sparse_mixer": 1}, "use_sparse_mixer takes k = 2, found 1"),
    ):
        model, given_ = node_model("MoE", fed | changes, {"y": (2, FLOAT)}, **{**options, **attributes})
        with pytest.raises(dml.DMLError, match=message):
            prepare(model, device, fallback=False).run(given_)


@pytest.mark.parametrize(
    "shape, message",
    [
        ((3, 16, 8), r"fc1 weights must have 16 columns of 8 bits, .* found \(3, 16, 8\); they are transposed, as"),
        ((3, 8, 12), r"fc1 weights must have 16 columns of 8 bits, as the input has, found \(3, 8, 12\)$"),
    ],
)
def test_weights_of_another_layout_are_named(device: dml.Device, shape: tuple[int, int, int], message: str) -> None:
    fed = {"x": np.zeros((2, 16), FLOAT), "router": np.zeros((2, 3), FLOAT), "w1": np.zeros(shape, np.uint8),
           "s1": np.ones((3, 8), FLOAT), "b1": None, "w2": np.zeros((3, 16, 8), np.uint8),
           "s2": np.ones((3, 16), FLOAT)}  # fmt: skip
    model, given_ = node_model("QMoE", fed, {"y": (2, FLOAT)}, k=1, activation_type="relu", expert_weight_bits=8)
    with pytest.raises(dml.DMLError) as caught:
        prepare(model, device, fallback=False).run(given_)
    assert re.search(message, caught.value.message)


def test_experts_rearranged_for_cuda_are_refused(device: dml.Device) -> None:
    fed = {"x": np.zeros((2, 16), FLOAT), "router": np.zeros((2, 3), FLOAT), "w1": np.zeros((3, 8, 16), np.uint8),
           "s1": np.ones((3, 8), FLOAT), "b1": None, "w2": np.zeros((3, 16, 8), np.uint8),
           "s2": np.ones((3, 16), FLOAT)}  # fmt: skip
    model, given_ = node_model("QMoE", fed, {"y": (2, FLOAT)}, k=1, activation_type="relu", expert_weight_bits=8,
                               weights_prepacked=1)  # fmt: skip
    with pytest.raises(dml.DMLError, match=r"QMoE.*rearranged for CUDA \(weights_prepacked = 1\)"):
        prepare(model, device).run(given_)
