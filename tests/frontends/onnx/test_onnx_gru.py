"""GRU of every version with random attributes, compared with a plain reference, ONNX Runtime and onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, in_reference, model_of
from onnx import helper, numpy_helper

import dml
from dml.frontends.onnx import prepare

#: By activation: function of x, alpha and beta, and defaults of alpha and beta (None if unused).
ACTIVATIONS: dict[str, tuple[Any, float | None, float | None]] = {
    "Relu": (lambda x, a, b: np.maximum(x, 0), None, None),
    "Tanh": (lambda x, a, b: np.tanh(x), None, None),
    "Sigmoid": (lambda x, a, b: 1 / (1 + np.exp(-x)), None, None),
    "Softsign": (lambda x, a, b: x / (1 + np.abs(x)), None, None),
    "Softplus": (lambda x, a, b: np.log1p(np.exp(x)), None, None),
    "LeakyRelu": (lambda x, a, b: np.where(x < 0, a * x, x), 0.01, None),
    "ThresholdedRelu": (lambda x, a, b: np.where(x > a, x, 0), 1.0, None),
    "Elu": (lambda x, a, b: np.where(x < 0, a * np.expm1(x), x), 1.0, None),
    "Affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "ScaledTanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "HardSigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5),
}
#: Every example compiles its own kernels, so failures are not shrunk.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
#: Continuous functions: at a jump, float32 and float64 sums may fall on different sides.
SMOOTH = [name for name in ACTIVATIONS if name != "ThresholdedRelu"]
#: Functions with gates of at most 1: larger gates make states and their errors grow without bound.
BOUNDED = ["Sigmoid", "Tanh", "Softsign", "ScaledTanh", "HardSigmoid"]


def reference(inputs: dict[str, Array], attributes: dict[str, Any]) -> tuple[Array, Array]:
    """Return Y and Y_h in float64, computed row by row and step by step."""
    x, w, r = (inputs[name].astype(np.float64) for name in ("X", "W", "R"))
    batch_first = attributes.get("layout", 0) == 1
    if batch_first:
        x = x.transpose(1, 0, 2)
    steps, batch, _ = x.shape
    directions, hidden = r.shape[0], r.shape[2]
    bias = inputs.get("B", np.zeros((directions, 6 * hidden))).astype(np.float64)
    lengths = inputs.get("sequence_lens", np.full(batch, steps))
    state = inputs.get("initial_h")
    if state is not None and batch_first:
        state = state.transpose(1, 0, 2)
    h = np.zeros((directions, batch, hidden)) if state is None else state.astype(np.float64)
    names = attributes.get("activations", ["Sigmoid", "Tanh"] * directions)
    alphas, betas = iter(attributes.get("activation_alpha", ())), iter(attributes.get("activation_beta", ()))
    clip = attributes.get("clip", 0.0) or np.inf

    def bound(name: str) -> Any:
        function, alpha, beta = ACTIVATIONS[name]
        alpha = None if alpha is None else next(alphas, alpha)
        beta = None if beta is None else next(betas, beta)
        return lambda v: function(np.clip(v, -clip, clip), alpha, beta)

    functions = [bound(name) for name in names]
    y = np.zeros((steps, directions, batch, hidden))
    h = h.copy()
    for d in range(directions):
        backward = d == 1 or attributes.get("direction") == "reverse"
        f, g = functions[2 * d], functions[2 * d + 1]
        (wz, wr, wh), (rz, rr, rh) = np.split(w[d], 3), np.split(r[d], 3)
        wbz, wbr, wbh, rbz, rbr, rbh = np.split(bias[d], 6)
        for row in range(batch):
            order = range(int(lengths[row]))
            for t in reversed(order) if backward else order:
                now, before = x[t, row], h[d, row]
                z = f(wz @ now + rz @ before + wbz + rbz)
                reset = f(wr @ now + rr @ before + wbr + rbr)
                if attributes.get("linear_before_reset", 0):
                    new = g(wh @ now + reset * (rh @ before + rbh) + wbh)
                else:
                    new = g(wh @ now + rh @ (reset * before) + rbh + wbh)
                h[d, row] = y[t, d, row] = (1 - z) * new + z * before
    return (y.transpose(2, 0, 1, 3), h.transpose(1, 0, 2)) if batch_first else (y, h)


def arrays(
    rng: np.random.Generator, steps: int, batch: int, size: int, hidden: int, directions: int, layout: int = 0,
    present: tuple[str, ...] = (), dtype: Any = np.float32,
) -> dict[str, Array]:  # fmt: skip
    """Return random inputs. present: the optional ones to include."""
    shapes = {
        "X": (batch, steps, size) if layout else (steps, batch, size),
        "W": (directions, 3 * hidden, size),
        "R": (directions, 3 * hidden, hidden),
        "B": (directions, 6 * hidden),
        "initial_h": (batch, directions, hidden) if layout else (directions, batch, hidden),
    }
    made = {
        name: rng.uniform(-1, 1, shape).astype(dtype)
        for name, shape in shapes.items()
        if name in ("X", "W", "R") or name in present
    }
    if "sequence_lens" in present:
        made["sequence_lens"] = rng.integers(0, steps, batch, endpoint=True).astype(np.int32)
    return made


NAMES = ("X", "W", "R", "B", "sequence_lens", "initial_h")


def gru(
    inputs: dict[str, Array], attributes: dict[str, Any], version: int, outputs: tuple[str, str] = ("Y", "Y_h")
) -> Any:
    node = helper.make_node("GRU", [name if name in inputs else "" for name in NAMES], outputs, **attributes)
    ordered = {name: inputs[name] for name in NAMES if name in inputs}
    return model_of([node], ordered, [name for name in outputs if name], version, ranks={"Y": 4, "Y_h": 3})


def hidden_of(inputs: dict[str, Array]) -> int:
    return int(inputs["R"].shape[2])


@st.composite
def cases(draw: Any) -> tuple[int, dict[str, Array], dict[str, Any]]:
    """Draw a version, and inputs and attributes that it supports."""
    version = draw(st.sampled_from([1, 3, 7, 14, 22]))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    layout = draw(st.integers(0, 1)) if version >= 14 else 0
    present = tuple(name for name in NAMES[3:] if draw(st.booleans()))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [draw(st.integers(1, most)) for most in (4, 3, 4, 5)]
    inputs = arrays(rng, *sizes, directions, layout, present)
    attributes: dict[str, Any] = {"hidden_size": hidden_of(inputs)}
    if direction != "forward" or draw(st.booleans()):
        attributes["direction"] = direction
    if draw(st.booleans()):
        attributes["activations"] = [draw(st.sampled_from(kind)) for kind in (BOUNDED, SMOOTH) * directions]
        number = st.floats(0.125, 1.0, width=16)
        for name in ("activation_alpha", "activation_beta"):
            given_ = draw(st.lists(number, max_size=2 * directions))
            if given_:
                attributes[name] = given_
    if draw(st.integers(0, 3)) == 0:  # unrolled loops are slow to compile
        attributes["clip"] = draw(st.floats(0.125, 2.0, width=16))
    if version >= 3 and draw(st.booleans()):
        attributes["linear_before_reset"] = draw(st.integers(0, 1))
    if version < 7 and draw(st.booleans()):
        attributes["output_sequence"] = 1
    if layout:
        attributes["layout"] = 1
    return version, inputs, attributes


@pytest.mark.slow
@settings(max_examples=16, phases=PHASES)
@given(cases())
def test_gru_of_any_version_and_attributes(device: dml.Device, case: Any) -> None:
    version, inputs, attributes = case
    found = prepare(gru(inputs, attributes, version), device).run(inputs)
    expected = [part.astype(np.float32) for part in reference(inputs, attributes)]
    assert_close(found, expected, 2e-5)  # error of a few steps with sums of at most 10 products


@pytest.mark.slow
@settings(max_examples=6, phases=PHASES)
@given(cases())
def test_gru_agrees_with_onnxruntime(device: dml.Device, case: Any) -> None:
    """ONNX Runtime's CPU kernel takes layout 0 since opset 7; its defaults of alpha and beta differ from ONNX's."""
    version, inputs, attributes = case
    attributes.pop("layout", None)
    attributes.pop("output_sequence", None)
    for name in ("activations", "activation_alpha", "activation_beta"):
        attributes.pop(name, None)
    rng = np.random.default_rng(inputs["X"].size)
    directions, hidden = inputs["R"].shape[0], hidden_of(inputs)
    present = tuple(name for name in NAMES[3:] if name in inputs)
    inputs = arrays(rng, 3, 2, inputs["W"].shape[2], hidden, directions, 0, present)
    if "sequence_lens" in inputs:
        inputs["sequence_lens"] = np.maximum(inputs["sequence_lens"], 1)  # with length 0, ONNX Runtime's state is zero
    model = gru(inputs, attributes, 7 if version < 7 else version)
    assert_close(prepare(model, device).run(inputs), in_onnxruntime(model, inputs), 2e-5)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("linear", [0, 1])
def test_gru_agrees_with_onnx_reference(device: dml.Device, layout: int, linear: int) -> None:
    """onnx.reference supports one forward direction with initial state and bias."""
    inputs = arrays(np.random.default_rng(layout), 1 + 2 * (1 - layout), 2, 3, 4, 1, layout, ("B",))
    model = gru(inputs, {"hidden_size": 4, "layout": layout, "linear_before_reset": linear}, 22)
    expected = in_reference(model, inputs)
    found = prepare(model, device).run(inputs)
    assert_close(found, [part.reshape(own.shape) for part, own in zip(expected, found, strict=True)], 2e-5)


@pytest.mark.parametrize("dtype, tolerance", [(np.float16, 4e-3), (np.float64, 2e-5)])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_gru_of_other_float_types(device: dml.Device, dtype: Any, tolerance: float, clip: float | None) -> None:
    """float16 within a few ulp; float64 computed in float32."""
    inputs = arrays(np.random.default_rng(5), 3, 2, 3, 4, 2, 0, ("B", "sequence_lens", "initial_h"), dtype)
    attributes: dict[str, Any] = {"hidden_size": 4, "direction": "bidirectional"}
    if clip:
        attributes["clip"] = clip
    found = prepare(gru(inputs, attributes, 22), device).run(inputs)
    assert_close(found, [part.astype(dtype) for part in reference(inputs, attributes)], tolerance)


@pytest.mark.parametrize("name", SMOOTH)
def test_each_activation_by_name(device: dml.Device, name: str) -> None:
    inputs = arrays(np.random.default_rng(8), 2, 2, 3, 4, 1)
    attributes = {"hidden_size": 4, "activations": ["Sigmoid", name]}
    found = prepare(gru(inputs, attributes, 14), device).run(inputs)
    assert_close(found, [part.astype(np.float32) for part in reference(inputs, attributes)], 2e-5)


def test_alpha_and_beta_go_to_the_functions_that_take_them_in_order(device: dml.Device) -> None:
    inputs = arrays(np.random.default_rng(6), 3, 2, 3, 4, 2)
    attributes = {
        "hidden_size": 4,
        "direction": "bidirectional",
        "activations": ["HardSigmoid", "Tanh", "Affine", "LeakyRelu"],
        "activation_alpha": [0.25, 0.5],  # alpha of HardSigmoid and Affine; LeakyRelu's defaults to 0.01
        "activation_beta": [0.375],  # beta of HardSigmoid; Affine's defaults to 0
    }
    found = prepare(gru(inputs, attributes, 14), device).run(inputs)
    assert_close(found, [part.astype(np.float32) for part in reference(inputs, attributes)], 2e-5)


@pytest.mark.parametrize("outputs", [("Y", ""), ("", "Y_h")])
def test_one_output_alone(device: dml.Device, outputs: tuple[str, str]) -> None:
    inputs = arrays(np.random.default_rng(7), 3, 2, 3, 4, 1)
    found = prepare(gru(inputs, {"hidden_size": 4}, 14, outputs), device).run(inputs)
    y, last = reference(inputs, {"hidden_size": 4})
    assert_close(found, [(y if outputs[0] else last).astype(np.float32)], 2e-5)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"W": (1, 9, 3)}, "W must have shape"),
        ({"B": (1, 12)}, "B must have shape"),
        ({"sequence_lens": (3,)}, "sequence_lens must have shape"),
        ({"initial_h": (2, 2, 4)}, "initial state must have shape"),
    ],
)
def test_wrong_sizes_are_named(device: dml.Device, change: dict[str, Any], message: str) -> None:
    inputs = arrays(np.random.default_rng(8), 3, 2, 3, 4, 1, 0, NAMES[3:])
    inputs |= {name: np.ones(shape, inputs[name].dtype) for name, shape in change.items()}
    with pytest.raises(dml.DMLError, match=message):
        prepare(gru(inputs, {}, 14), device).run(inputs)


@pytest.mark.parametrize(
    "attributes, message",
    [
        ({"activations": ["Sine", "Tanh"]}, "is not one of"),
        ({"activations": ["Tanh"]}, "activations must have 2 names"),
        ({"direction": "sideways"}, "direction must be"),
        ({"hidden_size": 5}, "hidden_size must be 4"),
        ({"layout": 2}, "'layout' must be at most 1, found 2"),
    ],
)
def test_wrong_attributes_are_named(device: dml.Device, attributes: dict[str, Any], message: str) -> None:
    inputs = arrays(np.random.default_rng(9), 3, 2, 3, 4, 1)
    with pytest.raises(dml.DMLError, match=message):
        prepare(gru(inputs, attributes, 14), device).run(inputs)


@pytest.mark.parametrize(
    "lengths, message",
    [
        (np.array([3, 4], np.int32), "sequence_lens must be from 0 to 3, the steps of X, found 4"),
        (np.array([-1, 4], np.int32), "sequence_lens must be from 0 to 3, the steps of X, found -1"),
        (np.array([3, 2], np.float32), "sequence_lens must be integers, found float32"),
    ],
)
def test_wrong_constant_lengths_are_named(device: dml.Device, lengths: Array, message: str) -> None:
    inputs = arrays(np.random.default_rng(10), 3, 2, 3, 4, 1, 0, ("sequence_lens",)) | {"sequence_lens": lengths}
    model = gru(inputs, {}, 14)
    (given,) = (item for item in model.graph.input if item.name == "sequence_lens")
    model.graph.input.remove(given)
    model.graph.initializer.append(numpy_helper.from_array(inputs.pop("sequence_lens"), "sequence_lens"))
    with pytest.raises(dml.DMLError, match=message):
        prepare(model, device).run(inputs)


def test_lengths_beyond_the_steps_are_clamped(device: dml.Device) -> None:
    inputs = arrays(np.random.default_rng(11), 3, 2, 3, 4, 1, 0, ("sequence_lens",))
    model = gru(inputs, {}, 14)
    found = prepare(model, device).run(inputs | {"sequence_lens": np.array([9, -2], np.int32)})
    expected = prepare(model, device).run(inputs | {"sequence_lens": np.array([3, 0], np.int32)})
    assert_close(found, expected, 0)
