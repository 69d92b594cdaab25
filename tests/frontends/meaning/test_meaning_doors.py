"""Operations that several formats share: all front ends return the same bits, and values near a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from doors import by_onnx, by_openvino, by_webnn

import dml
from dml.frontends.meaning.resampling import ResizedAxis, nearest_elements, weights
from harness import assert_exact

Array = npt.NDArray[Any]


class DoorCase(NamedTuple):
    """An operation. doors: a function per front end that runs it on a device; takes a folder for its files. reference:
    result in float64. tolerance: absolute, for results around 1.
    """

    name: str
    doors: dict[str, Callable[[dml.Device, Path], Sequence[Array]]]
    reference: Callable[[], Sequence[Array]]
    tolerance: float = 2e-5


_RNG = np.random.default_rng(28)
X = _RNG.standard_normal((1, 2, 5, 6)).astype(np.float32)


def _resized(name: str, mode: str, sizes: tuple[int, int], coordinates: str = "half_pixel") -> DoorCase:
    """Resize X to other sizes along the last two axes."""
    axes = [
        ResizedAxis(size, wanted, wanted / size, mode=coordinates)
        for size, wanted in zip(X.shape[2:], sizes, strict=True)
    ]

    def reference() -> list[Array]:
        made = X.astype(np.float64)
        for at, axis in enumerate(axes, 2):
            if mode == "nearest":
                made = np.take(made, nearest_elements(axis, "round_prefer_floor"), at)
            else:
                made = np.moveaxis(np.moveaxis(made, at, -1) @ weights(axis, "linear", False, False, 0.0).T, -1, at)
        return [made]

    shape = np.array([1, 2, *sizes], np.int64)
    doors = {
        "onnx": lambda device, folder: by_onnx(
            device, "Resize", [X, None, None, shape], constants=[3], mode=mode,
            coordinate_transformation_mode=coordinates,
        ),
    }  # fmt: skip
    if coordinates == "half_pixel":
        own = "nearest-neighbor" if mode == "nearest" else mode
        doors["webnn"] = lambda device, folder: by_webnn(
            device, lambda builder, x: builder.resample2d(x, mode=own, sizes=list(sizes)), X
        )

    def interpolated(opset: Any, x: Any) -> Any:
        own = "linear_onnx" if mode == "linear" else mode
        return opset.interpolate(
            x, opset.constant(np.array(sizes, np.int64)), mode=own, shape_calculation_mode="sizes",
            axes=opset.constant(np.array([2, 3], np.int64)), coordinate_transformation_mode=coordinates,
        )  # fmt: skip

    doors["openvino"] = lambda device, folder: by_openvino(device, folder, interpolated, X)
    return DoorCase(f"resize {name}", doors, reference)


def _scattered(name: str, onnx_name: str, reduce: Any) -> DoorCase:
    """Scatter updates into elements; some indices repeat, some are negative."""
    indices = np.array([[0, -1, 2], [0, 1, 3], [3, -1, 2]], np.int64)
    x, updates = (_RNG.standard_normal(sizes).astype(np.float32) for sizes in ((4, 3), (3, 3)))

    def reference() -> list[Array]:
        made = x.astype(np.float64)
        reduce.at(made, (indices, np.arange(3)[None]), updates.astype(np.float64))
        return [made]

    def updated(opset: Any, x: Any, updates: Any) -> Any:
        return opset.scatter_elements_update(x, opset.constant(indices), updates, np.int64(0), name)

    return DoorCase(
        f"scatter {name}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "ScatterElements", [x, indices, updates], constants=[1], axis=0, reduction=onnx_name
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, updated, x, updates),
        },
        reference,
    )


def _grouped(groups: int) -> DoorCase:
    """Group normalization with a scale and a bias for each channel."""
    x = _RNG.standard_normal((2, 6, 3, 5)).astype(np.float32)
    scale, bias = (_RNG.standard_normal(6).astype(np.float32) for _ in range(2))

    def reference() -> list[Array]:
        wide = x.astype(np.float64).reshape(2, groups, -1)
        made = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-5)
        return [made.reshape(x.shape) * scale.reshape(6, 1, 1) + bias.reshape(6, 1, 1)]

    return DoorCase(
        f"group normalization, {groups}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "GroupNormalization", [x, scale, bias], num_groups=groups, epsilon=1e-5
            ),
            "openvino": lambda device, folder: by_openvino(
                device, folder, lambda opset, x, a, b: opset.group_normalization(x, a, b, groups, 1e-5), x, scale, bias
            ),
        },
        reference,
    )


def _layer_normalized() -> DoorCase:
    x = _RNG.standard_normal((3, 4, 7)).astype(np.float32)
    scale, bias = (_RNG.standard_normal(7).astype(np.float32) for _ in range(2))

    def reference() -> list[Array]:
        wide = x.astype(np.float64)
        made = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-5)
        return [made * scale + bias]

    return DoorCase(
        "layer normalization",
        {
            "onnx": lambda device, folder: by_onnx(device, "LayerNormalization", [x, scale, bias], epsilon=1e-5),
            "webnn": lambda device, folder: by_webnn(
                device,
                lambda builder, x, a, b: builder.layer_normalization(x, scale=a, bias=b, axes=[2], epsilon=1e-5),
                x, scale, bias,
            ),
        },
        reference,
    )  # fmt: skip


def _activated(name: str, onnx_name: str, reference: Callable[[Array], Array]) -> DoorCase:
    x = np.linspace(-4, 4, 37, dtype=np.float32)
    return DoorCase(
        name,
        {
            "onnx": lambda device, folder: by_onnx(device, onnx_name, [x]),
            "webnn": lambda device, folder: by_webnn(device, lambda builder, x: getattr(builder, name)(x), x),
        },
        lambda: [reference(x.astype(np.float64))],
    )


def _gated(linear_before_reset: bool) -> DoorCase:
    """A GRU of one direction with both biases: gates update, reset, new."""
    steps, batch, width, hidden = 3, 2, 4, 5
    shapes = (
        (steps, batch, width),
        (1, 3 * hidden, width),
        (1, 3 * hidden, hidden),
        (1, 6 * hidden),
        (1, batch, hidden),
    )
    x, w, r, b, h = ((_RNG.standard_normal(shape) / 2).astype(np.float32) for shape in shapes)
    of_input, of_state = np.split(b, 2, 1)

    def sigmoid(v: Array) -> Array:
        return 1 / (1 + np.exp(-v))

    def reference() -> list[Array]:
        state, states = h[0].astype(np.float64), []
        wi, wr = w[0].astype(np.float64), r[0].astype(np.float64)
        bi, br = of_input[0].astype(np.float64), of_state[0].astype(np.float64)
        z, s, n = (slice(k * hidden, (k + 1) * hidden) for k in range(3))
        for row in x.astype(np.float64):
            given = row @ wi.T + bi
            update = sigmoid(given[:, z] + state @ wr[z].T + br[z])
            reset = sigmoid(given[:, s] + state @ wr[s].T + br[s])
            if linear_before_reset:
                new = np.tanh(given[:, n] + reset * (state @ wr[n].T + br[n]))
            else:
                new = np.tanh(given[:, n] + (reset * state) @ wr[n].T + br[n])
            state = (1 - update) * new + update * state
            states.append(state)
        return [np.stack(states), state]

    def made(builder: Any, x: Any, w: Any, r: Any, a: Any, c: Any, h: Any) -> Any:
        last, whole = builder.gru(
            x, w, r, steps, hidden, bias=a, recurrent_bias=c, initial_hidden_state=h, return_sequence=True,
            reset_after=linear_before_reset,
        )  # fmt: skip
        return [whole, last]

    return DoorCase(
        f"gru, linear before reset {linear_before_reset}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "GRU", [x, w, r, b, None, h], outputs=("y", "last"), hidden_size=hidden,
                linear_before_reset=int(linear_before_reset),
            ),
            "webnn": lambda device, folder: by_webnn(device, made, x, w, r, of_input, of_state, h),
        },
        reference,
    )  # fmt: skip


def _convolved(lower: bool) -> DoorCase:
    """A size-preserving convolution with three elements of padding in all: one end gets two."""
    x, w = (_RNG.integers(-4, 5, sizes).astype(np.float32) for sizes in ((1, 2, 7, 6), (3, 2, 4, 4)))

    def reference() -> list[Array]:
        start = 2 if lower else 1
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (start, 3 - start), (start, 3 - start)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (4, 4), (2, 3))
        return [np.einsum("nchwij,kcij->nkhw", windows, w.astype(np.float64))]

    def convolved(opset: Any, x: Any) -> Any:
        auto = "same_lower" if lower else "same_upper"
        return opset.convolution(x, opset.constant(w), [1, 1], [0, 0], [0, 0], [1, 1], auto)

    start, end = (2, 1) if lower else (1, 2)
    return DoorCase(
        f"automatic padding, {'lower' if lower else 'upper'}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "Conv", [x, w], constants=[1], auto_pad="SAME_LOWER" if lower else "SAME_UPPER"
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, convolved, x),
            "webnn": lambda device, folder: by_webnn(
                device, lambda builder, x, w: builder.conv2d(x, w, padding=[start, end, start, end]), x, w
            ),
        },
        reference,
    )


def _reduced_over_axes() -> DoorCase:
    x = _RNG.integers(-8, 9, (3, 4, 5)).astype(np.float32)
    axes = np.array([-1, 0], np.int64)
    return DoorCase(
        "reduction over axes from both ends",
        {
            "onnx": lambda device, folder: by_onnx(device, "ReduceSum", [x, axes], constants=[1], keepdims=0),
            "openvino": lambda device, folder: by_openvino(
                device, folder, lambda opset, x: opset.reduce_sum(x, opset.constant(axes), False), x
            ),
            "webnn": lambda device, folder: by_webnn(device, lambda builder, x: builder.reduce_sum(x, axes=[0, 2]), x),
        },
        lambda: [x.astype(np.float64).sum((0, 2))],
    )


CASES = [
    _resized("larger linear", "linear", (10, 9)),
    _resized("smaller linear", "linear", (3, 4)),
    _resized("one row", "linear", (1, 6)),
    _resized("corners", "linear", (7, 11), "align_corners"),
    _resized("nearest twice", "nearest", (10, 12)),
    _resized("nearest by fractions", "nearest", (7, 9)),
    _resized("nearest smaller", "nearest", (2, 3)),
    _scattered("sum", "add", np.add),
    _scattered("prod", "mul", np.multiply),
    _scattered("max", "max", np.maximum),
    _scattered("min", "min", np.minimum),
    _grouped(1),
    _grouped(3),
    _layer_normalized(),
    _activated("elu", "Elu", lambda x: np.where(x > 0, x, np.expm1(x))),
    _activated("hard_sigmoid", "HardSigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    _activated("hard_swish", "HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    _activated("leaky_relu", "LeakyRelu", lambda x: np.where(x > 0, x, 0.01 * x)),
    _activated("softplus", "Softplus", lambda x: np.log1p(np.exp(x))),
    _activated("softsign", "Softsign", lambda x: x / (1 + abs(x))),
    _convolved(False),
    _convolved(True),
    _reduced_over_axes(),
    _gated(True),
    _gated(False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_door_gives_the_same_bits(device, tmp_path, case):
    found = {name: door(device, tmp_path) for name, door in case.doors.items()}
    expected = case.reference()
    first, *others = found.values()
    assert len(first) == len(expected)
    for result, wanted in zip(first, expected, strict=True):
        np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=0, atol=case.tolerance)
    for results in others:
        for result, same in zip(results, first, strict=True):
            assert_exact(result.reshape(same.shape), same)
