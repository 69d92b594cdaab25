"""GroupNormalization 18 and 21, compared with a plain reference, ONNX Runtime and onnx.reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from models import Array, assert_close, in_onnxruntime, in_reference, model_of
from onnx import helper

import dml
from dml.frontends.onnx import prepare


def reference(x: Array, scale: Array, bias: Array, groups: int, epsilon: float, per_channel: bool) -> Array:
    n, channels = x.shape[:2]
    grouped = x.astype(np.float64).reshape(n, groups, -1)
    grouped = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + epsilon)
    each = channels if per_channel else groups
    shape = (1, each, -1)
    flat = grouped.reshape(n, each, -1)
    return (flat * scale.astype(np.float64).reshape(shape) + bias.astype(np.float64).reshape(shape)).reshape(x.shape)


def model(inputs: dict[str, Array], version: int, **attributes: Any) -> Any:
    node = helper.make_node("GroupNormalization", ["x", "scale", "bias"], ["y"], **attributes)
    return model_of([node], inputs, ["y"], version)


@st.composite
def cases(draw: Any) -> tuple[int, dict[str, Array], dict[str, Any]]:
    version = draw(st.sampled_from([18, 21]))
    groups, each = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    spatial = tuple(draw(st.lists(st.integers(1, 4), min_size=0, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = groups if version == 18 else groups * each
    inputs = {
        "x": rng.uniform(-2, 2, (draw(st.integers(1, 3)), groups * each, *spatial)).astype(np.float32),
        "scale": rng.uniform(-2, 2, count).astype(np.float32),
        "bias": rng.uniform(-2, 2, count).astype(np.float32),
    }
    attributes: dict[str, Any] = {"num_groups": groups}
    # Groups of nearly equal elements are divided by the root of epsilon: a small one would magnify float32's rounding.
    attributes["epsilon"] = draw(st.sampled_from([1e-2, 0.5]))
    return version, inputs, attributes


@pytest.mark.slow
@settings(max_examples=12, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(cases())
def test_any_group_normalization(device: dml.Device, case: Any) -> None:
    version, inputs, attributes = case
    found = prepare(model(inputs, version, **attributes), device).run(inputs)
    groups, epsilon = attributes["num_groups"], attributes["epsilon"]
    expected = reference(*inputs.values(), groups, epsilon, version >= 21)
    assert_close(found, [expected.astype(np.float32)], 2e-5)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-5), (np.float16, 4e-3)])
@pytest.mark.parametrize("stash", [1, 10])
def test_version_21_agrees_with_onnxruntime_and_onnx_reference(
    device: dml.Device, dtype: Any, tolerance: float, stash: int
) -> None:
    if stash == 10 and dtype is np.float32:
        pytest.skip("float16 statistics of float32 tensors are less exact than ours")
    rng = np.random.default_rng(1)
    inputs = {
        "x": rng.uniform(-2, 2, (2, 6, 3, 5)).astype(dtype),
        "scale": rng.uniform(-2, 2, 6).astype(dtype),
        "bias": rng.uniform(-2, 2, 6).astype(dtype),
    }
    made = model(inputs, 21, num_groups=3, stash_type=stash)
    found = prepare(made, device).run(inputs)
    if stash == 1:
        assert_close(found, in_onnxruntime(made, inputs), tolerance)
    assert_close(found, in_reference(made, inputs), max(tolerance, 2e-2 if stash == 10 else 0))


def test_version_18_runs_though_the_checker_refuses_it(device: dml.Device) -> None:
    rng = np.random.default_rng(2)
    inputs = {
        "x": rng.uniform(-2, 2, (1, 4, 3)).astype(np.float32),
        "scale": np.array([1.5, -0.5], np.float32),
        "bias": np.array([0.25, 1.0], np.float32),
    }
    made = model(inputs, 18, num_groups=2)
    with pytest.raises(onnx.checker.ValidationError, match="deprecated"):
        onnx.checker.check_model(made)
    expected = reference(*inputs.values(), 2, 1e-5, False)
    assert_close(prepare(made, device).run(inputs), [expected.astype(np.float32)], 2e-5)
    assert_close(in_reference(made, inputs), [expected.astype(np.float32)], 2e-5)


@pytest.mark.parametrize(
    "channels, groups, count, message",
    [(4, 3, 4, "num_groups must divide 4 channels, found 3"), (4, 2, 2, "scale must have shape")],
)
def test_what_does_not_fit_is_named(device: dml.Device, channels: int, groups: int, count: int, message: str) -> None:
    inputs = {name: np.ones((1, channels, 2) if name == "x" else count, np.float32) for name in ("x", "scale", "bias")}
    with pytest.raises(dml.DMLError, match=message):
        prepare(model(inputs, 21, num_groups=groups), device).run(inputs)


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("skip", ["as x", "flat", "rank 4"])
@pytest.mark.parametrize(("activation", "has_bias"), [(0, False), (1, True)])
def test_skip_group_norm(device: dml.Device, last: int, skip: str, activation: int, has_bias: bool) -> None:
    """SkipGroupNorm compared with its specification in float64, since onnxruntime's CPU provider lacks it."""
    rng, (n, channels, height, width) = np.random.default_rng(7), (2, 6, 3, 4)
    shape = (n, height, width, channels) if last else (n, channels, height, width)
    each = {"flat": (n, channels), "rank 4": (n, 1, 1, channels) if last else (n, channels, 1, 1)}.get(skip, shape)
    inputs = {
        "x": rng.uniform(-2, 2, shape).astype(np.float32),
        "gamma": rng.uniform(-2, 2, channels).astype(np.float32),
        "beta": rng.uniform(-2, 2, channels).astype(np.float32),
        "skip": rng.uniform(-2, 2, each).astype(np.float32),
        "bias": rng.uniform(-2, 2, channels).astype(np.float32),
    }
    if not has_bias:
        del inputs["bias"]
    node = helper.make_node("SkipGroupNorm", list(inputs), ["y", "s"], domain="com.microsoft", groups=3, epsilon=0.01,
                            channels_last=last, activation=activation)  # fmt: skip
    made = model_of([node], inputs, ["y", "s"], 17, domains={"com.microsoft": 1})
    found = prepare(made, device, fallback=False).run(inputs)
    wide = (n, 1, 1, channels) if last else (n, channels, 1, 1)
    added = inputs["x"].astype(np.float64) + (inputs["skip"] if skip == "as x" else inputs["skip"].reshape(wide))
    added = added + inputs.get("bias", np.zeros(channels)).reshape((1, *wide[1:]))
    first = np.moveaxis(added, -1, 1) if last else added
    expected = reference(first, inputs["gamma"], inputs["beta"], 3, 0.01, True)
    expected = np.moveaxis(expected, 1, -1) if last else expected
    if activation:
        expected = expected / (1 + np.exp(-expected))
    assert_close(found, [expected.astype(np.float32), added.astype(np.float32)], 1e-5)


def test_skip_group_norm_refuses_misfitting_shapes(device: dml.Device) -> None:
    inputs = {"x": (2, 3, 3, 6), "gamma": (6,), "beta": (6,), "skip": (2, 5)}
    arrays = {name: np.zeros(shape, np.float32) for name, shape in inputs.items()}
    node = helper.make_node("SkipGroupNorm", list(arrays), ["y"], domain="com.microsoft", groups=3)
    made = model_of([node], arrays, ["y"], 17, domains={"com.microsoft": 1})
    with pytest.raises(dml.DMLError, match=r"skip must have the shape of X or \(2, 6\), found \(2, 5\)"):
        prepare(made, device, fallback=False).run(arrays)
