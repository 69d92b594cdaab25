"""PyDirectML's operator functions, run through its builder, bindings and device and compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.frontends import pydirectml

FLOAT32 = pydirectml.TensorDataType.FLOAT32
RNG = np.random.default_rng(7)


@pytest.fixture
def script(device, monkeypatch):
    """Set up a script's builder and bindings on the device under test."""
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    return Script()


class Script:
    def __init__(self):
        self.device = pydirectml.Device()
        self.builder = pydirectml.GraphBuilder(self.device)
        self.bindings = []

    def input(self, array, sizes=None, flags=pydirectml.TensorFlags.NONE, data_type=FLOAT32, strides=None):
        desc = (
            pydirectml.TensorDesc(data_type, flags, sizes or array.shape)
            if strides is None
            else pydirectml.TensorDesc(data_type, sizes, strides)
        )
        tensor = pydirectml.input_tensor(self.builder, len(self.bindings), desc)
        self.bindings.append(pydirectml.Binding(tensor, array))
        return tensor

    def run(self, *outputs):
        model = self.builder.build(pydirectml.ExecutionFlags.NONE, list(outputs))
        return [np.array(out) for out in self.device.compute(model, self.bindings, list(outputs))]


def close(result, expected, tolerance=2e-6):
    """Compare within the error of sums of about a hundred float32 products, relative to the largest element."""
    assert result.shape == expected.shape
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected, atol=tolerance * max(1.0, np.abs(expected).max()), rtol=0)


def random(*sizes):
    return RNG.uniform(-2, 2, sizes)


def test_arithmetic(script):
    a, b = random(1, 2, 3, 4), random(1, 2, 3, 4) + 3
    x, y = script.input(a), script.input(b)
    made = {
        "x + y": a + b, "x - y": a - b, "x * y": a * b, "x / y": a / b, "x % y": np.fmod(a, b),
        "x + 2": a + 2, "x - 2": a - 2, "x * 2": a * 2, "x / 2": a / 2, "-x": -a,
        "2 + x": 2 + a, "2 - x": 2 - a, "2 * x": 2 * a, "3 / y": 3 / b,
    }  # fmt: skip
    outputs = [eval(text, {"x": x, "y": y}) for text in made]
    for text, result, expected in zip(made, script.run(*outputs), made.values(), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, err_msg=text)


def test_augmented_assignment_changes_the_object(script):
    a, b = random(1, 1, 2, 3), random(1, 1, 2, 3) + 3
    x, y = script.input(a), script.input(b)
    total = alias = x + 0.0
    total += y
    total -= 1
    total *= y
    total /= 2
    total %= y
    assert total is alias
    close(script.run(alias)[0], np.fmod((a + b - 1) * b / 2, b), 1e-5)


def test_convolution(script):
    x, w, bias = random(1, 2, 5, 6), random(3, 2, 3, 3), random(3)
    owned = pydirectml.TensorFlags.OWNED_BY_DML
    made = pydirectml.convolution(
        script.input(x),
        script.input(w, flags=owned),
        script.input(bias, [1, 3, 1, 1], owned),
        strides=[2, 1],
        start_padding=[1, 1],
        end_padding=[1, 0],
        fused_activation=pydirectml.FusedActivation(pydirectml.OperatorType.ACTIVATION_LEAKY_RELU, 0.25),
    )
    padded = np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::2]
    expected = np.einsum("nchwij,kcij->nkhw", windows, w) + bias[:, None, None]
    assert made.get_output_desc().sizes == [1, 3, 3, 5]
    close(script.run(made)[0], np.where(expected > 0, expected, expected / 4))


def backward(x, w, bias, sizes, stride):
    result = np.zeros(sizes) + bias[:, None, None]
    for i in range(x.shape[2]):
        for j in range(x.shape[3]):
            patch = np.einsum("nc,ckij->nkij", x[:, :, i, j], w)
            result[:, :, i * stride : i * stride + 3, j * stride : j * stride + 3] += patch
    return result


@pytest.mark.parametrize("size", [9, 10])
def test_backward_convolution_takes_its_sizes(script, size):
    """With stride 2, two output sizes match the input; the larger has a row and a column that no window reaches."""
    x, w, bias = random(1, 2, 4, 4), random(2, 3, 3, 3), random(3)
    made = pydirectml.convolution(
        script.input(x),
        script.input(w),
        script.input(bias, [1, 3, 1, 1]),
        direction=pydirectml.ConvolutionDirection.BACKWARD,
        strides=[2, 2],
        output_sizes=[1, 3, size, size],
    )
    close(script.run(made)[0], backward(x, w, bias, (1, 3, size, size), 2))


def test_backward_convolution_without_sizes(script):
    x = script.input(random(1, 1, 4, 4))
    with pytest.raises(dml.DMLError, match="needs output_sizes"):
        pydirectml.convolution(x, x, direction=pydirectml.ConvolutionDirection.BACKWARD)


def test_gemm(script):
    a, b, c = random(1, 1, 5, 3), random(1, 1, 5, 4), random(1, 1, 3, 4)
    made = pydirectml.gemm(
        script.input(a),
        script.input(b),
        script.input(c),
        trans_a=pydirectml.MatrixTransform.TRANSPOSE,
        alpha=0.5,
        beta=2.0,
        fused_activation=pydirectml.FusedActivation(pydirectml.OperatorType.ACTIVATION_RELU),
    )
    close(script.run(made)[0], np.maximum(0.5 * np.swapaxes(a, 2, 3) @ b + 2 * c, 0))


def test_pooling(script):
    x = random(1, 2, 6, 6)
    windows = np.lib.stride_tricks.sliding_window_view(x, (2, 3), (2, 3))[:, :, ::2, ::3]
    tensor = script.input(x)
    largest = pydirectml.max_pooling(tensor, [2, 3], strides=[2, 3], output_indices=True)
    mean = pydirectml.average_pooling(tensor, [2, 3], [2, 3], [0, 0], [0, 0], 0)
    assert pydirectml.max_pooling(tensor, [2, 3]).indices.is_empty
    values, indices, average = script.run(largest.values, largest.indices, mean)
    close(values, windows.max((4, 5)))
    close(average, windows.mean((4, 5)))
    places = indices.view(np.uint32)  # integers keep their bits
    np.testing.assert_array_equal(x.ravel()[places].astype(np.float32), values)


def test_normalizations(script):
    x, scale, bias = random(2, 3, 4, 5), random(1, 3, 1, 1), random(1, 3, 1, 1)
    mean, variance = random(1, 3, 1, 1), random(1, 3, 1, 1) + 3
    tensors = [script.input(value) for value in (x, scale, bias, mean, variance)]
    relu = pydirectml.FusedActivation(pydirectml.OperatorType.ACTIVATION_RELU)
    instance = pydirectml.mean_variance_normalization(*tensors[:3], [2, 3], 1, 1e-5, relu)
    batch = pydirectml.batch_normalization(tensors[0], *tensors[3:5], *tensors[1:3], 1, 1e-5)
    local = pydirectml.local_response_normalization(tensors[0], True, 3, 0.1, 0.75, 1.0)
    results = script.run(instance, batch, local)
    m, v = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    close(results[0], np.maximum(scale * (x - m) / np.sqrt(v + 1e-5) + bias, 0), 1e-5)
    close(results[1], scale * (x - mean) / np.sqrt(variance + 1e-5) + bias, 1e-5)
    squares = np.pad(x**2, [(0, 0), (1, 1), (0, 0), (0, 0)])
    sums = squares[:, :-2] + squares[:, 1:-1] + squares[:, 2:]
    close(results[2], x / (1 + 0.1 / 3 * sums) ** 0.75, 1e-5)


def test_rearrangements(script):
    x = random(1, 2, 3, 4)
    tensor = script.input(x)
    padded = pydirectml.padding(tensor, pydirectml.PaddingMode.REFLECTION, 0.0, [0, 0, 1, 2], [0, 0, 2, 1])
    window = pydirectml.slice(tensor, [0, 1, 0, 1], [1, 1, 3, 3], [1, 1, 2, 2])
    joined = pydirectml.join([tensor, tensor, tensor], 1)
    larger = pydirectml.up_sample_2d(tensor, pydirectml.Size2D(3, 2), pydirectml.InterpolationMode.NEAREST_NEIGHBOR)
    scaled = pydirectml.value_scale_2d(pydirectml.slice(tensor, [0] * 4, [1, 1, 3, 4], [1] * 4), 2.0, [0.5])
    turned = pydirectml.activation_identity(pydirectml.reinterpret(tensor, FLOAT32, [1, 2, 4, 3], [24, 12, 1, 4]))
    results = script.run(padded, window, joined, larger, scaled, turned)
    close(results[0], np.pad(x, [(0, 0), (0, 0), (1, 2), (2, 1)], "reflect"))
    close(results[1], x[:, 1:2, 0:3:2, 1:4:2])
    close(results[2], np.concatenate([x, x, x], 1))
    close(results[3], x.repeat(2, 2).repeat(3, 3))
    close(results[4], 2 * x[:, :1] + 0.5)
    close(results[5], x.swapaxes(2, 3))


def test_activations(script):
    x = random(1, 1, 3, 5)
    tensor = script.input(x)
    made = [
        pydirectml.activation_relu(tensor),
        pydirectml.activation_sigmoid(tensor),
        pydirectml.activation_tanh(tensor),
        pydirectml.activation_linear(tensor, 2.0, 1.0),
        pydirectml.activation_soft_max(tensor),
        pydirectml.add(tensor, tensor, pydirectml.FusedActivation(pydirectml.OperatorType.ACTIVATION_RELU)),
        pydirectml.multiply(pydirectml.subtract(tensor, tensor), pydirectml.divide(tensor, tensor)),
    ]
    e = np.exp(x)
    softmax = e / e.sum(-1, keepdims=True)
    expected = [np.maximum(x, 0), 1 / (1 + 1 / e), np.tanh(x), 2 * x + 1, softmax, np.maximum(2 * x, 0), 0 * x]
    for result, wanted in zip(script.run(*made), expected, strict=True):
        close(result, wanted)


@pytest.mark.parametrize("axis,count", [(0, 1), (1, 1), (2, 2)])
def test_gather(script, axis, count):
    """Indices are UINT32, or float32 arrays with the integers' bits, as PyDirectML requires."""
    x = random(1, 4, 5, 3) if axis else random(4, 1, 1, 3)
    indices = np.array([[3, 0]] if count == 1 else [[3, 0], [1, 2]], np.uint32)
    sizes = [1] * (4 - indices.ndim) + list(indices.shape)
    uint32 = pydirectml.TensorDataType.UINT32
    tensor = script.input(x)
    made = [
        pydirectml.gather(tensor, script.input(data, sizes, data_type=uint32), axis, count)
        for data in (indices, indices.view(np.float32))
    ]
    picked = np.take(x, indices if count == 2 else indices[0], axis)
    picked = picked.reshape(picked.shape[-4:])
    for result in script.run(*made):
        close(result, picked)


@pytest.mark.parametrize("option", ["Both", "Sequence", "Single"])
def test_gru(script, option):
    steps, batch, size, hidden = 3, 2, 4, 5
    x, w = random(1, steps, batch, size), random(1, 1, 3 * hidden, size)
    r, b = random(1, 1, 3 * hidden, hidden), random(1, 1, 1, 6 * hidden)
    f, g = (pydirectml.FusedActivation(pydirectml.OperatorType[f"ACTIVATION_{name}"]) for name in ("SIGMOID", "TANH"))
    made = pydirectml.gru(
        script.input(x),
        script.input(w),
        script.input(r),
        script.input(b),
        activation_descs=[f, g],
        direction=pydirectml.RecurrentNetworkDirection.FORWARD,
        output_options=pydirectml.OutputOptions[option],
    )
    h, sequence = np.zeros((batch, hidden)), []
    wb, rb = np.split(b.ravel(), 2)
    for step in range(steps):
        wz, wr, wh = np.split(x[0, step] @ w[0, 0].T + wb, 3, 1)
        rz, rr, rh = np.split(h @ r[0, 0].T + rb, 3, 1)
        z, reset = 1 / (1 + np.exp(-wz - rz)), 1 / (1 + np.exp(-wr - rr))
        h = (1 - z) * np.tanh(wh + reset * rh) + z * h
        sequence.append(h)
    expected = {"sequence": np.array(sequence)[:, None], "single": h[None, None]}
    wanted = {"Both": ["sequence", "single"], "Sequence": ["sequence"], "Single": ["single"]}[option]
    for name, result in zip(wanted, script.run(*(getattr(made, name) for name in wanted)), strict=True):
        close(result, expected[name], 1e-5)
    if option != "Both":
        assert (made.single if option == "Sequence" else made.sequence).is_empty
