"""Networks from images or noise to images: segmentation, super resolution, style, diffusion."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tools.zoo_of_models.classifiers import image
from tools.zoo_of_models.entry import Exported, torch_model
from tools.zoo_of_models.layers import Attention, Residual, conv


class UNet(nn.Module):
    """A U-Net of two levels, with transposed convolutions."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.first = nn.Sequential(conv(3, width), conv(width, width))
        self.second = nn.Sequential(conv(width, 2 * width), conv(2 * width, 2 * width))
        self.deep = nn.Sequential(conv(2 * width, 4 * width), conv(4 * width, 4 * width))
        self.up_second = nn.ConvTranspose2d(4 * width, 2 * width, 2, 2)
        self.back_second = conv(4 * width, 2 * width)
        self.up_first = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.back_first = conv(2 * width, width)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = self.first(x)
        second = self.second(F.max_pool2d(first, 2))
        deep = self.deep(F.max_pool2d(second, 2))
        second = self.back_second(torch.cat([second, self.up_second(deep)], 1))
        return self.out(self.back_first(torch.cat([first, self.up_first(second)], 1)))


@torch_model("u-net", 13, legacy=True)
def unet() -> Exported:
    return Exported(UNet(), (image(),))


class Timed(nn.Module):
    """A diffusion model's residual block: group normalization, and the time's embedding added between convolutions."""

    def __init__(self, width: int):
        super().__init__()
        self.before = nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))
        self.time = nn.Linear(32, width)
        self.after = nn.Sequential(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, width, 3, padding=1))

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        return x + self.after(self.before(x) + self.time(time)[:, :, None, None])


class Diffusion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.enter, self.down, self.deep = nn.Conv2d(4, 32, 3, 1, 1), Timed(32), Timed(32)
        self.norm, self.attend = nn.GroupNorm(4, 32), Attention(32, 4)
        self.shrink, self.up, self.out = nn.Conv2d(32, 32, 3, 2, 1), Timed(32), nn.Conv2d(32, 4, 3, 1, 1)
        self.register_buffer("rates", torch.exp(-torch.arange(16) / 2))

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        angles = step[:, None] * self.rates
        time = torch.cat([angles.sin(), angles.cos()], -1)
        x = self.down(self.enter(x), time)
        deep = self.deep(self.shrink(x), time)
        batch, width, high, wide = deep.shape
        deep = deep + self.attend(self.norm(deep).flatten(2).transpose(1, 2)).transpose(1, 2).view(
            batch, width, high, wide
        )
        return self.out(self.up(x + F.interpolate(deep, scale_factor=2.0, mode="nearest"), time))


@torch_model("u-net of a diffusion model", 18)
def diffusion() -> Exported:
    return Exported(Diffusion(), (image(16, 2, 4), torch.tensor([3.0, 700.0])))


class DeepLab(nn.Module):
    """Parallel dilated convolutions, pooling over the whole image, and a bilinear resize."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2))
        self.branches = nn.ModuleList([conv(32, 16, 3, dilation=rate) for rate in (1, 2, 4)])
        self.mean, self.out = (
            nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(32, 16, 1), nn.ReLU()),
            nn.Conv2d(64, 5, 1),
        )

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        deep = self.stem(x)
        mean = F.interpolate(self.mean(deep), size=deep.shape[-2:], mode="bilinear")
        y = self.out(torch.cat([*(branch(deep) for branch in self.branches), mean], 1))
        scores = F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return scores, scores.argmax(1)


@torch_model("deeplab-v3", 16, legacy=True)
def deeplab() -> Exported:
    return Exported(DeepLab(), (image(),))


class Pyramid(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([conv(3, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 64, 3, 2)])
        self.side = nn.ModuleList([nn.Conv2d(width, 24, 1) for width in (16, 32, 64)])
        self.out = nn.ModuleList([nn.Conv2d(24, 24, 3, padding=1) for _ in range(3)])

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        found = []
        for down, side in zip(self.down, self.side, strict=True):
            x = down(x)
            found.append(side(x))
        for level in (1, 0):
            found[level] = found[level] + F.interpolate(found[level + 1], size=found[level].shape[-2:], mode="nearest")
        return [out(one) for out, one in zip(self.out, found, strict=True)]


@torch_model("feature pyramid", 13, legacy=True)
def pyramid() -> Exported:
    return Exported(Pyramid(), (image(),))


class Hourglass(nn.Module):
    """Key points as in pose estimation: downsampling, bicubic upsampling, and a soft argmax of heat maps."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2)), Residual(conv(32, 32))
        self.out = nn.Conv2d(32, 6, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        heat = F.interpolate(self.out(self.deep(self.down(x))), scale_factor=2.0, mode="bicubic", align_corners=False)
        weights = heat.flatten(2).softmax(-1).view(heat.shape)
        along = torch.arange(heat.shape[-1], dtype=heat.dtype)
        return heat, torch.stack([(weights.sum(2) * along).sum(-1), (weights.sum(3) * along).sum(-1)], -1)


@torch_model("hourglass", 14, legacy=True)
def hourglass() -> Exported:
    return Exported(Hourglass(), (image(48),))


@torch_model("espcn super resolution", 11, legacy=True)
def espcn() -> Exported:
    net = nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.PReLU(32), nn.Conv2d(32, 16, 3, padding=1), nn.PReLU(16),
        nn.Conv2d(16, 9, 3, padding=1), nn.PixelShuffle(3),
    )  # fmt: skip
    return Exported(net, (image(24, 1, 1),))


@torch_model("dcgan generator", 12, legacy=True)
def dcgan() -> Exported:
    net = nn.Sequential(
        nn.ConvTranspose2d(32, 64, 4, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.LeakyReLU(0.2),
        nn.ConvTranspose2d(32, 16, 3, 2, 1, 1, groups=4), nn.ELU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    return Exported(net, (image(1, 2, 32),))


@torch_model("style transfer", 15, legacy=True)
def style() -> Exported:
    def block(last: int, width: int, size: int, stride: int) -> nn.Module:
        own = nn.Conv2d(last, width, size, stride)
        return nn.Sequential(nn.ReflectionPad2d(size // 2), own, nn.InstanceNorm2d(width, affine=True), nn.ReLU())

    net = nn.Sequential(
        block(3, 16, 9, 1), block(16, 32, 3, 2), Residual(block(32, 32, 3, 1)), nn.Upsample(scale_factor=2),
        block(32, 16, 3, 1), nn.ReplicationPad2d(4), nn.Conv2d(16, 3, 9), nn.Tanh(),
    )  # fmt: skip
    return Exported(net, (image(32),))


class VariationalAutoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Softplus(), nn.Linear(64, 16))
        self.decode = nn.Sequential(nn.Linear(8, 64), nn.Mish(), nn.Linear(64, 784), nn.Sigmoid())

    def forward(self, x: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, spread = self.encode(x).chunk(2, -1)
        loss = -0.5 * (1 + spread - mean.square() - spread.exp()).sum(-1)
        return self.decode(mean + noise * (0.5 * spread).exp()), loss


@torch_model("variational autoencoder", 18)
def autoencoder() -> Exported:
    return Exported(VariationalAutoencoder(), (image(28, 2, 1), torch.randn(2, 8)))


class Spatial(nn.Module):
    """A spatial transformer: the image sampled through an affine map predicted from it."""

    def __init__(self) -> None:
        super().__init__()
        self.where = nn.Sequential(conv(1, 8, 5, 2), nn.Flatten(), nn.Linear(1568, 6), nn.Tanh())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        grid = F.affine_grid(self.where(x).view(-1, 2, 3), x.shape, align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)


@torch_model("spatial transformer", 20)
def spatial() -> Exported:
    return Exported(Spatial(), (image(28, 2, 1),))
