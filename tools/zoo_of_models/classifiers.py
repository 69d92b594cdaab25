"""Small convolutional image classifiers, from LeNet to DenseNet."""

from __future__ import annotations

import torch
from torch import nn

from tools.zoo_of_models.entry import Exported, torch_model
from tools.zoo_of_models.layers import Concat, Residual, conv, head


def image(size: int = 64, batch: int = 1, channels: int = 3) -> torch.Tensor:
    return torch.randn(batch, channels, size, size)


@torch_model("lenet", 11, legacy=True)
def lenet() -> Exported:
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10),
        nn.Softmax(-1),
    )  # fmt: skip
    return Exported(net, (image(28, 2, 1),))


@torch_model("alexnet", 12, legacy=True)
def alexnet() -> Exported:
    net = nn.Sequential(
        nn.Conv2d(3, 32, 11, 4, 2), nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(32, 64, 5, 1, 2),
        nn.ReLU(), nn.LocalResponseNorm(5), nn.MaxPool2d(3, 2), nn.Conv2d(64, 64, 3, 1, 1), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Flatten(), nn.Dropout(), nn.Linear(576, 128), nn.ReLU(),
        nn.Linear(128, 100), nn.LogSoftmax(-1),
    )  # fmt: skip
    return Exported(net, (image(127),))


@torch_model("vgg-11 with batch normalization", 13, legacy=True)
def vgg() -> Exported:
    layers: list[nn.Module] = []
    last = 3
    for width in (16, 0, 32, 0, 48, 48, 0, 64, 64, 0):
        layers.append(conv(last, width) if width else nn.MaxPool2d(2))
        last = width or last
    return Exported(
        nn.Sequential(*layers, nn.Flatten(), nn.Linear(1024, 100), nn.ReLU(), nn.Linear(100, 10)), (image(),)
    )


def basic(last: int, width: int, stride: int) -> nn.Module:
    short = conv(last, width, 1, stride, act=nn.Identity()) if stride > 1 or last != width else nn.Identity()
    return Residual(
        nn.Sequential(conv(last, width, 3, stride), conv(width, width, act=nn.Identity())), short, nn.ReLU()
    )


def bottleneck(last: int, width: int, stride: int, groups: int = 1) -> nn.Module:
    narrow = width // 2
    deep = (
        conv(last, narrow, 1),
        conv(narrow, narrow, 3, stride, groups=groups),
        conv(narrow, width, 1, act=nn.Identity()),
    )
    short = conv(last, width, 1, stride, act=nn.Identity()) if stride > 1 or last != width else nn.Identity()
    return Residual(nn.Sequential(*deep), short, nn.ReLU())


def resnet_18() -> nn.Module:
    width = 32
    stages = [basic(width, width, 1), basic(width, width, 1)]
    for index in range(3):
        wide = width << index
        stages += [basic(wide, 2 * wide, 2), basic(2 * wide, 2 * wide, 1)]
    return nn.Sequential(conv(3, width, 7, 2), nn.MaxPool2d(3, 2, 1), *stages, head(8 * width, 100))


@torch_model("resnet-18", 17, legacy=True)
def resnet() -> Exported:
    return Exported(resnet_18(), (image(96),))


@torch_model("resnet-50", 18)
def resnet_50() -> Exported:
    stages, last = [], 16
    for index, count in enumerate((3, 4, 6, 3)):
        for number in range(count):
            stages.append(bottleneck(last, 32 << index, 2 if index and not number else 1))
            last = 32 << index
    return Exported(nn.Sequential(conv(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1), *stages, head(last, 100)), (image(),))


@torch_model("resnext", 20)
def resnext() -> Exported:
    blocks = [bottleneck(32, 64, 1, 8), bottleneck(64, 64, 1, 8), bottleneck(64, 128, 2, 8)]
    return Exported(nn.Sequential(conv(3, 32, 3, 2), *blocks, head(128, 10)), (image(48, 2),))


@torch_model("squeezenet", 11, legacy=True)
def squeezenet() -> Exported:
    def fire(last: int, squeeze: int, wide: int) -> nn.Module:
        both = Concat(
            nn.Sequential(nn.Conv2d(squeeze, wide, 1), nn.ReLU()),
            nn.Sequential(nn.Conv2d(squeeze, wide, 3, padding=1), nn.ReLU()),
        )
        return nn.Sequential(nn.Conv2d(last, squeeze, 1), nn.ReLU(), both)

    net = nn.Sequential(
        nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True), fire(32, 8, 32), fire(64, 8, 32),
        nn.MaxPool2d(3, 2, ceil_mode=True), fire(64, 16, 48), fire(96, 16, 48), nn.Conv2d(96, 50, 1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    )  # fmt: skip
    return Exported(net, (image(),))


@torch_model("googlenet", 14, legacy=True)
def googlenet() -> Exported:
    def inception(last: int, width: int) -> nn.Module:
        return Concat(
            conv(last, width, 1),
            nn.Sequential(conv(last, width, 1), conv(width, width, 3)),
            nn.Sequential(conv(last, width // 2, 1), conv(width // 2, width, 5)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(last, width, 1)),
        )

    net = nn.Sequential(
        conv(3, 16, 7, 2), nn.MaxPool2d(3, 2, ceil_mode=True), inception(16, 8), inception(32, 16),
        nn.MaxPool2d(3, 2, ceil_mode=True), inception(64, 24), head(96, 20),
    )  # fmt: skip
    return Exported(net, (image(),))


@torch_model("inception-v3's factorized blocks", 16, legacy=True)
def inception_v3() -> Exported:
    def block(last: int) -> nn.Module:
        return Concat(
            conv(last, 16, 1),
            nn.Sequential(conv(last, 16, 1), conv(16, 16, (1, 7)), conv(16, 16, (7, 1))),
            nn.Sequential(nn.AvgPool2d(3, 1, 1), conv(last, 16, 1)),
        )

    return Exported(
        nn.Sequential(conv(3, 32, 3, 2), block(32), nn.MaxPool2d(3, 2), block(48), head(48, 10)), (image(75),)
    )


@torch_model("densenet", 15, legacy=True)
def densenet() -> Exported:
    def layer(last: int, growth: int) -> nn.Module:
        deep = (nn.BatchNorm2d(last), nn.ReLU(), nn.Conv2d(last, 4 * growth, 1, bias=False))
        after = (nn.BatchNorm2d(4 * growth), nn.ReLU(), nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))
        return Concat(nn.Identity(), nn.Sequential(*deep, *after))

    layers: list[nn.Module] = [conv(3, 16, 7, 2)]
    last = 16
    for count in (4, 4, 3):
        for _ in range(count):
            layers.append(layer(last, 8))
            last += 8
        layers += [nn.BatchNorm2d(last), nn.ReLU(), nn.Conv2d(last, last // 2, 1), nn.AvgPool2d(2)]
        last //= 2
    return Exported(nn.Sequential(*layers, head(last, 30)), (image(),))
