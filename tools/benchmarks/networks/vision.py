"""Networks over images: ResNet-18, MobileNetV2, SqueezeNet 1.1, and a diffusion model's U-Net."""

from __future__ import annotations

from networks.building import Input, Model, Network
from networks.mobilenetv2 import add_to, layers

_BATCHES = {"batch": {"batch": 2}, "third": {"batch": 3}}


def _classifier(title: str, net: Network, result: str, rank: int, size: int) -> Model:
    inputs = (Input("x", ("batch", 3, size, size)),)
    return Model(title, net.model(inputs, {result: rank}), inputs, {"batch": 1}, _BATCHES)


def _pooled(net: Network, x: str, channels: int) -> str:
    flat = net.node("Flatten", net.node("GlobalAveragePool", x))
    dense = net.weight(1000, channels, scale=channels**-0.5)
    return net.node("Gemm", flat, dense, net.weight(1000, scale=0.1), transB=1)


def resnet18() -> Model:
    """Return ResNet-18 with its normalizations folded into the convolutions, as exporters write it."""
    net = Network()
    x = net.node("Relu", net.conv("x", 3, 64, 7, stride=2, pad=3))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for width in (64, 128, 256, 512):
        for repeat in range(2):
            stride = 2 if repeat == 0 and width > 64 else 1
            y = net.node("Relu", net.conv(x, channels, width, 3, stride=stride, pad=1))
            y = net.conv(y, width, width, 3, pad=1)
            if stride > 1:
                x = net.conv(x, channels, width, 1, stride=stride)
            x = net.node("Relu", net.node("Add", y, x))
            channels = width
    return _classifier("ResNet-18 128", net, _pooled(net, x, channels), 2, 128)


def mobilenet() -> Model:
    net = Network()
    x = add_to(net, layers(net.random))
    return _classifier("MobileNetV2 224", net, _pooled(net, x, 1280), 2, 224)


def squeezenet() -> Model:
    net = Network()

    def pool(x: str) -> str:
        return net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)

    x = net.node("Relu", net.conv("x", 3, 64, 3, stride=2))
    channels = 64
    for narrow, width, is_pooled in (
        (16, 64, True), (16, 64, False), (32, 128, True), (32, 128, False),
        (48, 192, True), (48, 192, False), (64, 256, False), (64, 256, False),
    ):  # fmt: skip
        x = net.node("Relu", net.conv(pool(x) if is_pooled else x, channels, narrow, 1))
        ones = net.node("Relu", net.conv(x, narrow, width, 1))
        threes = net.node("Relu", net.conv(x, narrow, width, 3, pad=1))
        x = net.node("Concat", ones, threes, axis=1)
        channels = 2 * width
    x = net.node("Relu", net.conv(x, channels, 1000, 1))
    return _classifier("SqueezeNet 224", net, net.node("Flatten", net.node("GlobalAveragePool", x)), 2, 224)


def unet() -> Model:
    """Return a U-Net of two levels: residual blocks with GroupNormalization and SiLU, attention in the middle,
    skips."""
    net = Network()

    def normalized(x: str, channels: int) -> str:
        scale = net.constant(1 + 0.1 * net.random.standard_normal(channels))
        x = net.node("GroupNormalization", x, scale, net.weight(channels, scale=0.1), num_groups=8, epsilon=1e-5)
        return net.node("Mul", x, net.node("Sigmoid", x))

    def block(x: str, c_in: int, c_out: int) -> str:
        y = net.conv(normalized(x, c_in), c_in, c_out, 3, pad=1)
        y = net.conv(normalized(y, c_out), c_out, c_out, 3, pad=1)
        return net.node("Add", y, x if c_in == c_out else net.conv(x, c_in, c_out, 1))

    def attention(x: str, channels: int) -> str:
        flat = net.node("Reshape", normalized(x, channels), net.shape(0, channels, -1))
        rows = net.node("Transpose", flat, perm=[0, 2, 1])
        q, k, v = (net.linear(rows, channels, channels) for _ in range(3))
        scores = net.node("MatMul", q, net.node("Transpose", k, perm=[0, 2, 1]))
        scores = net.node("Mul", scores, net.constant(channels**-0.5))
        mixed = net.node("MatMul", net.node("Softmax", scores, axis=-1), v)
        mixed = net.linear(mixed, channels, channels)
        back = net.node("Transpose", mixed, perm=[0, 2, 1])
        return net.node("Add", net.node("Reshape", back, net.node("Shape", x)), x)

    x = net.conv("x", 4, 32, 3, pad=1)
    first = block(x, 32, 32)
    second = block(net.conv(first, 32, 64, 3, stride=2, pad=1), 64, 64)
    x = net.conv(second, 64, 64, 3, stride=2, pad=1)
    x = block(attention(block(x, 64, 64), 64), 64, 64)
    for skip, c_skip, c_out in ((second, 64, 64), (first, 32, 32)):
        x = net.node("Resize", x, "", net.constant([1, 1, 2, 2]), mode="nearest")
        x = block(net.node("Concat", net.conv(x, 64, 64, 3, pad=1), skip, axis=1), 64 + c_skip, c_out)
    x = net.conv(normalized(x, 32), 32, 4, 3, pad=1)
    inputs = (Input("x", ("batch", 4, "height", "width")),)
    return Model(
        "U-Net, GroupNormalization", net.model(inputs, {x: 4}, opset=21), inputs,
        {"batch": 1, "height": 32, "width": 32},
        {"batch": {"batch": 2}, "length": {"height": 48, "width": 40}, "third": {"batch": 3, "height": 24}},
    )  # fmt: skip
