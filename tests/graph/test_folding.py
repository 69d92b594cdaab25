"""Batch normalization folded into the convolution before it, compared with NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from harness import can_bind


@pytest.fixture(autouse=True)
def small_sums_too(monkeypatch):
    """Fuse additions to small results, too, which selection keeps separate on CPU drivers."""
    monkeypatch.setattr("dml.graph.fusion.adds_separately", lambda target, image: False)


SIZES = (2, 6, 9, 8)


def steps(compiled: Any) -> list[str]:
    return [line.split()[1] for line in compiled.describe().splitlines() if line.startswith("dispatch")]


class Network:
    """A convolution with batch normalization, and its float64 results. Methods take ``given``, which makes the
    parameter tensors."""

    def __init__(self, device: dml.Device, dtype: str = "FLOAT32", groups: int = 1, window: int = 3, bias: bool = True):
        rng = np.random.default_rng(3)
        self.kind = np.float16 if dtype == "FLOAT16" else np.float32
        self.builder = Builder(device)
        self.inputs: dict[str, np.ndarray] = {}
        self.values = {
            "weights": rng.uniform(-1, 1, (6, 6 // groups, window, window)),
            "bias": rng.uniform(-1, 1, (1, 6, 1, 1)) if bias else None,
            **{name: rng.uniform(-1, 1, (1, 6, 1, 1)) for name in ("mean", "scale", "shift")},
            "variance": rng.uniform(0.5, 2, (1, 6, 1, 1)),
            "x": rng.uniform(-1, 1, SIZES),
        }
        self.values = {name: None if v is None else v.astype(self.kind) for name, v in self.values.items()}
        self.groups, self.pad = groups, window // 2

    def fed(self, name: str, *, owned: bool = False) -> Tensor:
        array = self.values[name]
        assert array is not None
        self.inputs[name] = array
        return self.builder.input(name, array.shape, dml.data_type_of(array.dtype), owned_by_dml=owned)

    def constant(self, name: str) -> Tensor:
        return self.builder.constant(self.values[name])

    def owned(self, name: str) -> Tensor:
        return self.fed(name, owned=True)

    def convolution(self, given: Any) -> tuple[Tensor, Tensor]:
        x = self.fed("x")
        bias = None if self.values["bias"] is None else given("bias")
        return x, op.convolution(
            x, given("weights"), bias, start_padding=(self.pad,) * 2, end_padding=(self.pad,) * 2, groups=self.groups
        )

    def normalized(self, y: Tensor, given: Any, activation: Any = None) -> Tensor:
        return op.batch_normalization(
            y, *map(given, ("mean", "variance", "scale", "shift")), epsilon=1e-3, activation=activation
        )

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the convolution and its normalization in float64."""
        v = {name: None if a is None else a.astype(np.float64) for name, a in self.values.items()}
        x = np.pad(v["x"], ((0, 0), (0, 0), (self.pad,) * 2, (self.pad,) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(x, v["weights"].shape[2:], (2, 3))
        y = np.concatenate(
            [
                np.einsum("nchwij,kcij->nkhw", part, weights, optimize=True)
                for part, weights in zip(
                    np.split(windows, self.groups, 1), np.split(v["weights"], self.groups), strict=True
                )
            ],
            1,
        ) + (0 if v["bias"] is None else v["bias"])
        return y, v["scale"] * (y - v["mean"]) / np.sqrt(v["variance"] + 1e-3) + v["shift"]

    def check(self, compiled: Any, expected: np.ndarray, stored: np.ndarray | None = None) -> None:
        """Compare a run with ``expected``.

        stored: intermediate values that were also rounded, because a separate dispatch reads them.
        """
        result = compiled.dispatch(self.inputs)["y"]
        half = self.kind is np.float16
        once_more = 2**-11 * float(np.abs(stored).max()) if half and stored is not None else 0.0
        np.testing.assert_allclose(result, expected, rtol=2**-10.9 if half else 0, atol=2e-5 + once_more)


@pytest.mark.parametrize(
    "dtype, groups, window, bias",
    [
        ("FLOAT32", 1, 3, True),
        ("FLOAT32", 1, 1, False),
        ("FLOAT32", 3, 3, False),
        ("FLOAT16", 1, 3, False),
        ("FLOAT16", 2, 1, True),
    ],
)
@pytest.mark.parametrize("given", ["constant", "owned"])
def test_known_parameters_become_weights(device, dtype, groups, window, bias, given):
    """The normalization, the sum and the activation add no dispatches to the convolution's.

    If the convolution cannot bind the addition's operand, addition and activation are one more dispatch.
    """
    network = Network(device, dtype, groups, window, bias)
    parameter = getattr(network, given)
    x, y = network.convolution(parameter)
    alone = network.builder.compile({"y": y})
    compiled = network.builder.compile({"y": op.relu(network.normalized(y, parameter) + x)})
    fused = can_bind(device, 5)
    assert steps(compiled) == steps(alone) + ([] if fused else ["elementwise/vector.comp"])
    normal = network.expected()[1]
    total = np.maximum(normal + network.values["x"].astype(np.float64), 0)
    network.check(compiled, total, None if fused else normal)


def test_a_normalization_with_an_activation(device):
    network = Network(device)
    _, y = network.convolution(network.constant)
    activation = dml.DML_ACTIVATION_ELU_OPERATOR_DESC(InputTensor=None, OutputTensor=None, Alpha=1.5)
    compiled = network.builder.compile({"y": network.normalized(y, network.constant, activation)})
    (normal,) = network.expected()[1:]
    network.check(compiled, np.where(normal > 0, normal, 1.5 * np.expm1(normal)))


@pytest.mark.parametrize("given", ["weights", "parameters"])
def test_what_comes_with_every_dispatch_is_not_folded(device, given):
    """Folding parameters that are inputs would repeat with every dispatch, so the normalization becomes an epilogue."""
    network = Network(device)
    of_weights, of_normal = (network.fed, network.constant) if given == "weights" else (network.constant, network.fed)
    _, y = network.convolution(of_weights)
    alone = network.builder.compile({"y": y})
    compiled = network.builder.compile({"y": network.normalized(y, of_normal)})
    more = ["elementwise/vector.comp"] if given == "parameters" else []  # this kernel computes the scale factors
    if not can_bind(device, 7):
        # A separate dispatch, after copying two parameters into one buffer (at initialization if they are known)
        more += ["movement/copy_words.comp"] * 2 if given == "parameters" else []
        more += ["elementwise/vector.comp"]
    assert len(steps(compiled)) == len(steps(alone)) + len(more)
    network.check(compiled, network.expected()[1])


def test_a_convolution_with_other_readers_keeps_its_weights(device):
    network = Network(device)
    _, y = network.convolution(network.constant)
    compiled = network.builder.compile({"y": network.normalized(y, network.constant), "plain": y})
    plain, normal = network.expected()
    network.check(compiled, normal)
    np.testing.assert_allclose(compiled.dispatch(network.inputs)["plain"], plain, rtol=0, atol=2e-5)


def test_an_activation_between_them_keeps_them_apart(device):
    network = Network(device)
    _, y = network.convolution(network.constant)
    compiled = network.builder.compile({"y": network.normalized(op.relu(y), network.constant)})
    v = {name: array.astype(np.float64) for name, array in network.values.items()}
    made = np.maximum(network.expected()[0], 0)
    network.check(compiled, v["scale"] * (made - v["mean"]) / np.sqrt(v["variance"] + 1e-3) + v["shift"])


def test_large_means_cost_no_precision(device):
    """Bias and mean cancel in the folded offset before anything is rounded."""
    network = Network(device, bias=True)
    network.values["bias"] = network.values["bias"] + np.float32(1000)
    network.values["mean"] = network.values["mean"] + np.float32(1000)
    _, y = network.convolution(network.constant)
    compiled = network.builder.compile({"y": network.normalized(y, network.constant)})
    network.check(compiled, network.expected()[1])
