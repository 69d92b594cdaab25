"""Small networks of common kinds, compared with NumPy in float64, with and without optimization.

The numbers of each network are dispatches and bytes of temporary memory after optimization, on CPU drivers (others get
other kernels), with the drivers' storage buffers and with Vulkan's minimum of four. They may shrink; growth means that
a pass stopped working. `pytest -rP tests/graph/test_networks.py` prints the numbers with and without optimization.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import dml
from dml.compiler.target import DeviceClass
from dml.enums import DML_PADDING_MODE_REFLECTION
from dml.graph.builder import Builder
from dml.graph.operations import (
    average_pooling,
    batch_normalization,
    convolution,
    gemm,
    gru,
    mean_variance_normalization,
    multihead_attention,
    padding,
    relu,
    sigmoid,
    softmax,
    tanh,
    upsample_2d,
)
from harness import can_bind

RNG = np.random.default_rng(11)


def random(*sizes, scale=1.0):
    """Return random numbers that are exact in float32, so that device and reference get the same inputs."""
    return RNG.normal(0, scale, sizes).astype(np.float32)


def f64(*arrays):
    return [array.astype(np.float64) for array in arrays]


def np_convolution(x, w, bias=None, stride=1, pad=0):
    size = w.shape[-1]
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))[:, :, ::stride, ::stride]
    y = np.einsum("nchwij,kcij->nkhw", windows, w, optimize=True)
    return y if bias is None else y + bias[:, None, None]


def np_batch_norm(x, mean, variance, scale, bias, epsilon=1e-5):
    mean, variance, scale, bias = (v[:, None, None] for v in (mean, variance, scale, bias))
    return scale * (x - mean) / np.sqrt(variance + epsilon) + bias


def np_instance_norm(x, scale, bias, epsilon=1e-5):
    mean, variance = x.mean((2, 3), keepdims=True), x.var((2, 3), keepdims=True)
    return scale * (x - mean) / np.sqrt(variance + epsilon) + bias


def np_softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def np_sigmoid(x):
    return 1 / (1 + np.exp(-x))


@dataclass
class Network:
    """A network's builder, outputs, inputs, and expected results."""

    builder: Builder
    outputs: dict
    inputs: dict
    expected: dict

    def check(self, most, most_at_four, tolerance):
        plain = self.builder.compile(self.outputs, optimize=False)
        compiled = self.builder.compile(self.outputs)
        found = [(len(c.program.dispatches), c.program.temporary_size) for c in (plain, compiled)]
        print(f"dispatches {found[0][0]} -> {found[1][0]}, temporary {found[0][1]} -> {found[1][1]} B, "
              f"initialization {len(compiled.program.initialize)} dispatches")  # fmt: skip
        for graph in (compiled, plain):
            results = graph.dispatch(self.inputs)
            again = graph.dispatch(self.inputs)
            for name, expected in self.expected.items():
                np.testing.assert_array_equal(results[name], again[name])
                scale = np.abs(expected).max()
                assert scale > 0.01
                np.testing.assert_allclose(results[name], expected, rtol=0, atol=tolerance * scale)
        assert found[1][0] < found[0][0], found
        device = self.builder.device
        assert isinstance(device, dml.Device)
        if device.vulkan.device_class is DeviceClass.CPU:
            dispatches, temporary = most if can_bind(device, 8) else most_at_four
            assert found[1][0] <= dispatches, found
            assert found[1][1] <= temporary, found


def residual_cnn(device):
    """Return a network: convolution, two residual blocks (one halves the size), mean over the image, classifier."""
    b = Builder(device)
    image = random(2, 3, 16, 16)
    x, y = b.input("image", image.shape), image.astype(np.float64)

    def block(x, y, channels, stride, shortcut):
        same = {"start_padding": (1, 1), "end_padding": (1, 1)}
        w1, w2 = random(channels, y.shape[1], 3, 3, scale=0.2), random(channels, channels, 3, 3, scale=0.2)
        norms = [[random(channels, scale=0.1), random(channels) ** 2 + 0.5, random(channels), random(channels)]
                 for _ in range(2)]  # fmt: skip
        a = relu(batch_normalization(convolution(x, w1, strides=(stride, stride), **same), *norms[0]))
        a = batch_normalization(convolution(a, w2, **same), *norms[1])
        n = np.maximum(np_batch_norm(np_convolution(y, *f64(w1), stride=stride, pad=1), *f64(*norms[0])), 0)
        n = np_batch_norm(np_convolution(n, *f64(w2), pad=1), *f64(*norms[1]))
        if shortcut:
            ws = random(channels, y.shape[1], 1, 1, scale=0.5)
            x, y = convolution(x, ws, strides=(stride, stride)), np_convolution(y, *f64(ws), stride=stride)
        return relu(a + x), np.maximum(n + y, 0)

    w, bias = random(8, 3, 3, 3, scale=0.3), random(8)
    x = relu(convolution(x, w, bias, start_padding=(1, 1), end_padding=(1, 1)))
    y = np.maximum(np_convolution(y, *f64(w, bias), pad=1), 0)
    x, y = block(x, y, 8, 1, False)
    x, y = block(x, y, 16, 2, True)
    x, y = average_pooling(x, (8, 8)), y.mean((2, 3))
    classes, offset = random(16, 10), random(10)
    logits = gemm(x.reshape(1, 1, 2, 16), b.constant(classes).view((1, 1, 16, 10)))
    x = softmax(logits + b.constant(offset).view((1, 1, 1, 10)), axes=(3,))
    return Network(b, {"classes": x}, {"image": image}, {"classes": np_softmax(y @ classes + offset)[None, None]})


def style_transfer(device):
    """Return a network: reflected borders, instance normalization, a residual block, upsampling, tanh at the end."""
    b = Builder(device)
    image = random(1, 3, 20, 20)
    x, y = b.input("image", image.shape), image.astype(np.float64)

    def layer(x, y, channels, size, stride, activation):
        w, bias = random(channels, y.shape[1], size, size, scale=0.3), random(channels, scale=0.1)
        scale, shift = random(1, channels, 1, 1) + 1, random(1, channels, 1, 1, scale=0.1)
        at = ((0, 0, size // 2, size // 2),) * 2
        x = convolution(padding(x, *at, DML_PADDING_MODE_REFLECTION), w, bias, strides=(stride, stride))
        x = mean_variance_normalization(x, (2, 3), b.constant(scale), b.constant(shift))
        y = np.pad(y, [(0, 0), (0, 0), *[(size // 2,) * 2] * 2], "reflect")
        y = np_instance_norm(np_convolution(y, *f64(w, bias), stride=stride), *f64(scale, shift))
        return (relu(x), np.maximum(y, 0)) if activation else (x, y)

    x, y = layer(x, y, 8, 5, 1, True)
    x, y = layer(x, y, 12, 3, 2, True)
    kept = x, y
    x, y = layer(x, y, 12, 3, 1, True)
    x, y = layer(x, y, 12, 3, 1, False)
    x, y = x + kept[0], y + kept[1]
    x, y = upsample_2d(x, 2, 2), y.repeat(2, 2).repeat(2, 3)
    x, y = layer(x, y, 8, 3, 1, True)
    w, bias = random(3, 8, 5, 5, scale=0.1), random(3, scale=0.1)
    x = tanh(convolution(x, w, bias, start_padding=(2, 2), end_padding=(2, 2))) * 127.5 + 127.5
    y = np.tanh(np_convolution(y, *f64(w, bias), pad=2)) * 127.5 + 127.5
    return Network(b, {"picture": x}, {"image": image}, {"picture": y})


def recurrent(device):
    """Return a network: a GEMM with an activation, a GRU over its rows, a GEMM of the GRU's outputs."""
    b = Builder(device)
    steps, batch, features, size, hidden, classes = 6, 2, 5, 8, 7, 4
    frames = random(1, 1, steps * batch, features)
    x = b.input("frames", frames.shape)
    w, offset = random(features, size, scale=0.5), random(size, scale=0.2)
    gw, gr = random(1, 1, 3 * hidden, size, scale=0.4), random(1, 1, 3 * hidden, hidden, scale=0.4)
    gb = random(1, 1, 1, 6 * hidden, scale=0.2)
    v, last = random(hidden, classes), random(classes)
    a = relu(gemm(x, b.constant(w).view((1, 1, *w.shape))) + b.constant(offset).view((1, 1, 1, size)))
    sequence, single = gru(a.view((1, steps, batch, size)), gw, gr, gb)
    y = gemm(sequence.view((1, 1, steps * batch, hidden)), b.constant(v).view((1, 1, *v.shape)))
    y = softmax(y + b.constant(last).view((1, 1, 1, classes)), axes=(3,))
    n = np.maximum(frames[0, 0].astype(np.float64) @ w + offset, 0).reshape(steps, batch, size)
    wb, rb = np.split(gb.astype(np.float64).ravel(), 2)
    h, out = np.zeros((batch, hidden)), []
    for step in range(steps):
        wz, wr, wh = np.split(n[step] @ gw[0, 0].T + wb, 3, 1)
        rz, rr, rh = np.split(h @ gr[0, 0].T + rb, 3, 1)
        z = np_sigmoid(wz + rz)
        h = (1 - z) * np.tanh(wh + np_sigmoid(wr + rr) * rh) + z * h
        out.append(h)
    expected = np_softmax(np.concatenate(out) @ v + last)[None, None]
    return Network(b, {"y": y, "state": single}, {"frames": frames}, {"y": expected, "state": h[None, None]})


def attention(device):
    """Return a transformer's encoder layer: attention and a gated network, each with residual sum and normalization."""
    b = Builder(device)
    batch, count, size, heads, inner = 2, 6, 16, 4, 24
    tokens = random(batch, count, size)
    x = b.input("tokens", tokens.shape)
    weights = [random(size, size, scale=0.3) for _ in range(4)]
    up, gate, down = random(size, inner, scale=0.3), random(size, inner, scale=0.3), random(inner, size, scale=0.3)

    def project(x, w):
        rows = x.reshape(1, 1, batch * count, w.shape[0])
        return gemm(rows, b.constant(w).view((1, 1, *w.shape))).reshape(batch, count, w.shape[1])

    def normalized(x):
        four = x.reshape(1, batch, count, size)
        return mean_variance_normalization(four, (3,)).reshape(batch, count, size)

    q, k, v = (project(x, w) for w in weights[:3])
    a = normalized(x + project(multihead_attention(q, k, v, heads), weights[3]))
    y = normalized(a + project(sigmoid(project(a, gate)) * project(a, up), down))

    def np_normalized(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)

    n = tokens.astype(np.float64)
    nq, nk, nv = ((n @ w).reshape(batch, count, heads, -1).transpose(0, 2, 1, 3) for w in weights[:3])
    scores = np_softmax(nq @ nk.swapaxes(2, 3) / np.sqrt(size // heads))
    mixed = (scores @ nv).transpose(0, 2, 1, 3).reshape(batch, count, size)
    m = np_normalized(n + mixed @ weights[3])
    expected = np_normalized(m + (np_sigmoid(m @ gate) * (m @ up)) @ down)
    return Network(b, {"y": y}, {"tokens": tokens}, {"y": expected})


#: network, dispatches and temporary bytes, the same with four storage buffers, tolerance relative to the largest
#: element: float32 sums of up to hundreds of products, whose errors normalization magnifies.
NETWORKS = [
    (residual_cnn, (18, 55808), (18, 61440), 2e-5),
    (style_transfer, (23, 52992), (24, 52992), 2e-5),
    (recurrent, (5, 1536), (5, 1536), 1e-5),
    (attention, (13, 3840), (13, 3840), 1e-5),
]


@pytest.mark.every_parameter
@pytest.mark.parametrize("network,most,most_at_four,tolerance", NETWORKS, ids=[n[0].__name__ for n in NETWORKS])
def test_network(device, network, most, most_at_four, tolerance):
    network(device).check(most, most_at_four, tolerance)
