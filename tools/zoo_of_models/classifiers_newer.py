"""Image classifiers since MobileNet: depthwise convolutions, squeeze and excitation, windows, patches."""

from __future__ import annotations

import torch
from torch import nn

from tools.zoo_of_models.classifiers import image
from tools.zoo_of_models.entry import Exported, torch_model
from tools.zoo_of_models.layers import Attention, ChannelsLast, Excite, Residual, conv, head


@torch_model("mobilenet-v1", 11, legacy=True)
def mobilenet_v1() -> Exported:
    layers, last = [conv(3, 16, 3, 2)], 16
    for width, stride in ((32, 1), (64, 2), (64, 1), (128, 2)):
        layers += [conv(last, last, 3, stride, groups=last), conv(last, width, 1)]
        last = width
    return Exported(nn.Sequential(*layers, head(last, 50)), (image(),))


def inverted(last: int, width: int, stride: int, act: type[nn.Module], excite: nn.Module | None = None) -> nn.Module:
    wide = 4 * last
    inner = (
        conv(last, wide, 1, act=act()),
        conv(wide, wide, 3, stride, groups=wide, act=act()),
        excite or nn.Identity(),
    )
    deep = nn.Sequential(*inner, conv(wide, width, 1, act=nn.Identity()))
    return Residual(deep) if last == width and stride == 1 else deep


def mobilenet_v2_net() -> nn.Module:
    blocks = [inverted(16, 24, 2, nn.ReLU6), inverted(24, 24, 1, nn.ReLU6), inverted(24, 32, 2, nn.ReLU6)]
    return nn.Sequential(conv(3, 16, 3, 2, act=nn.ReLU6()), *blocks, conv(32, 128, 1, act=nn.ReLU6()), head(128, 50))


@torch_model("mobilenet-v2", 13, legacy=True)
def mobilenet_v2() -> Exported:
    return Exported(mobilenet_v2_net(), (image(),))


@torch_model("mobilenet-v3", 14, legacy=True)
def mobilenet_v3() -> Exported:
    def block(last: int, width: int, stride: int) -> nn.Module:
        return inverted(last, width, stride, nn.Hardswish, Excite(4 * last, nn.Hardsigmoid()))

    stem = conv(3, 16, 3, 2, act=nn.Hardswish())
    return Exported(nn.Sequential(stem, block(16, 24, 2), block(24, 24, 1), block(24, 40, 2), head(40, 50)), (image(),))


@torch_model("efficientnet", 18)
def efficientnet() -> Exported:
    def block(last: int, width: int, stride: int) -> nn.Module:
        return inverted(last, width, stride, nn.SiLU, Excite(4 * last))

    stem = conv(3, 16, 3, 2, act=nn.SiLU())
    return Exported(nn.Sequential(stem, block(16, 24, 2), block(24, 24, 1), block(24, 40, 2), head(40, 50)), (image(),))


@torch_model("mnasnet in float16", 17, legacy=True, precision="float16")
def half() -> Exported:
    blocks = [inverted(16, 24, 2, nn.ReLU), inverted(24, 24, 1, nn.ReLU)]
    net = nn.Sequential(conv(3, 16, 3, 2), *blocks, head(24, 20))
    return Exported(net.half(), (image().half(),))


class Shuffled(nn.Module):
    """ShuffleNet's unit: half of the channels bypass the convolutions, then the halves are interleaved."""

    def __init__(self, width: int):
        super().__init__()
        half = width // 2
        self.deep = nn.Sequential(
            conv(half, half, 1), conv(half, half, 3, groups=half, act=nn.Identity()), conv(half, half, 1)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        passed, other = x.chunk(2, 1)
        both = torch.cat([passed, self.deep(other)], 1)
        batch, width, high, wide = both.shape
        return both.view(batch, 2, width // 2, high, wide).transpose(1, 2).reshape(batch, width, high, wide)


@torch_model("shufflenet-v2", 12, legacy=True)
def shufflenet() -> Exported:
    return Exported(nn.Sequential(conv(3, 32, 3, 2), *(Shuffled(32) for _ in range(3)), head(32, 10)), (image(48),))


class RepVgg(nn.Module):
    """RepVGG's block: three branches, one convolution each."""

    def __init__(self, width: int):
        super().__init__()
        self.wide = conv(width, width, 3, act=nn.Identity())
        self.narrow = conv(width, width, 1, act=nn.Identity())
        self.same = nn.BatchNorm2d(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.wide(x) + self.narrow(x) + self.same(x))


@torch_model("repvgg", 19)
def repvgg() -> Exported:
    return Exported(nn.Sequential(conv(3, 24, 3, 2), *(RepVgg(24) for _ in range(3)), head(24, 10)), (image(40, 2),))


class Scale(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.by = nn.Parameter(torch.rand(width, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


@torch_model("convnext", 18)
def convnext() -> Exported:
    def block(width: int) -> nn.Module:
        inner = ChannelsLast(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        )
        return Residual(nn.Sequential(nn.Conv2d(width, width, 7, padding=3, groups=width), inner, Scale(width)))

    down = nn.Sequential(ChannelsLast(nn.LayerNorm(32)), nn.Conv2d(32, 64, 2, 2))
    net = nn.Sequential(nn.Conv2d(3, 32, 4, 4), block(32), block(32), down, block(64), head(64, 20))
    return Exported(net, (image(),))


class Windowed(nn.Module):
    """Swin's block: attention in windows of 4 x 4, shifted or not, with a bias by relative position."""

    def __init__(self, width: int, size: int, shift: int):
        super().__init__()
        self.size, self.shift = size, shift
        self.before, self.attend = nn.LayerNorm(width), Attention(width, 4)
        self.deep = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )
        self.bias = nn.Parameter(torch.randn(49, 4))
        positions = torch.stack(torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")).flatten(1)
        apart = positions[:, :, None] - positions[:, None, :] + 3
        self.register_buffer("apart", apart[0] * 7 + apart[1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, size, width = x.shape[0], self.size, x.shape[-1]
        y = self.before(x)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        count = size // 4
        y = y.view(batch, count, 4, count, 4, width).transpose(2, 3).reshape(-1, 16, width)
        y = self.attend(y, self.bias[self.apart].permute(2, 0, 1))
        y = y.view(batch, count, count, 4, 4, width).transpose(2, 3).reshape(batch, size, size, width)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.deep(x)


class Swin(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 4, 4)
        self.first = nn.Sequential(Windowed(32, 16, 0), Windowed(32, 16, 2))
        self.merge = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 64, bias=False))
        self.second = nn.Sequential(Windowed(64, 8, 0), Windowed(64, 8, 2), nn.LayerNorm(64))
        self.classes = nn.Linear(64, 20)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(self.patches(x).permute(0, 2, 3, 1))
        x = torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)
        return self.classes(self.second(self.merge(x)).mean((1, 2)))


@torch_model("swin", 17, legacy=True)
def swin() -> Exported:
    return Exported(Swin(), (image(),))


class Mixer(nn.Module):
    """MLP-Mixer's layer over x [batch, patches, width]."""

    def __init__(self, patches: int, width: int):
        super().__init__()
        self.across = nn.Sequential(nn.Linear(patches, 64), nn.GELU(), nn.Linear(64, patches))
        self.along = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.across(self.first(x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.second(x))


@torch_model("mlp-mixer", 21)
def mixer() -> Exported:
    net = nn.Sequential(
        nn.Conv2d(3, 32, 8, 8), nn.Flatten(2), Mixer(32, 64), Mixer(32, 64), nn.Flatten(), nn.Linear(2048, 10)
    )
    return Exported(net, (image(),))
