"""Layers shared by several architectures."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def conv(
    last: int,
    width: int,
    size: int | tuple[int, int] = 3,
    stride: int = 1,
    *,
    groups: int = 1,
    dilation: int = 1,
    act: nn.Module | None = None,
) -> nn.Module:
    """Return a convolution with "same" padding, batch normalization and an activation (default: Relu)."""
    pads = tuple(dilation * (one // 2) for one in (size if isinstance(size, tuple) else (size, size)))
    own = nn.Conv2d(last, width, size, stride, pads, dilation, groups, bias=False)
    return nn.Sequential(own, nn.BatchNorm2d(width), act or nn.ReLU())


def head(last: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, classes))


class Residual(nn.Module):
    """A residual block: after(deep(x) + short(x))."""

    def __init__(self, deep: nn.Module, short: nn.Module | None = None, after: nn.Module | None = None):
        super().__init__()
        self.deep, self.short, self.after = deep, short or nn.Identity(), after or nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.after(self.deep(x) + self.short(x))


class Concat(nn.Module):
    """Concatenates the branches' results along the channels."""

    def __init__(self, *branches: nn.Module):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


class Excite(nn.Module):
    """Squeeze and excitation: scales channels by a function of their means."""

    def __init__(self, width: int, gate: nn.Module | None = None):
        super().__init__()
        self.narrow, self.wide = nn.Conv2d(width, max(width // 4, 4), 1), nn.Conv2d(max(width // 4, 4), width, 1)
        self.gate = gate or nn.Sigmoid()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.gate(self.wide(F.relu(self.narrow(F.adaptive_avg_pool2d(x, 1)))))


class ChannelsLast(nn.Module):
    """Applies a layer for the last dimension to the channels of images."""

    def __init__(self, layer: nn.Module):
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Attention(nn.Module):
    """Multi-head attention over x [batch, length, width]."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.project, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.project(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        scores = q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5
        weights = (scores if bias is None else scores + bias).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
