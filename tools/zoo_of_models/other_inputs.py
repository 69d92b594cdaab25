"""Networks whose inputs are sounds, points, graphs, videos or tables."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from tools.zoo_of_models.classifiers import image
from tools.zoo_of_models.entry import Exported, torch_model


class WaveNet(nn.Module):
    """Causal convolutions of growing dilation, gated, with residual and skip connections."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.enter = nn.Conv1d(1, width, 1)
        self.both = nn.ModuleList([nn.Conv1d(width, 2 * width, 2, dilation=2**index) for index in range(4)])
        self.back = nn.ModuleList([nn.Conv1d(width, width, 1) for _ in range(4)])
        self.out = nn.Conv1d(width, 32, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.enter(x)
        skips = torch.zeros_like(x)
        for index, (both, back) in enumerate(zip(self.both, self.back, strict=True)):
            first, second = both(F.pad(x, (2**index, 0))).chunk(2, 1)
            gated = first.tanh() * second.sigmoid()
            skips, x = skips + gated, x + back(gated)
        return self.out(skips.relu()).log_softmax(1)


@torch_model("wavenet", 14, legacy=True)
def wavenet() -> Exported:
    return Exported(WaveNet(), (torch.randn(2, 1, 100),))


@torch_model("c3d video classifier", 16, legacy=True)
def video() -> Exported:
    net = nn.Sequential(
        nn.Conv3d(3, 8, 3, padding=1), nn.BatchNorm3d(8), nn.ReLU(), nn.MaxPool3d((1, 2, 2)),
        nn.Conv3d(8, 16, 3, padding=1), nn.ReLU(), nn.AvgPool3d(2), nn.Flatten(), nn.Linear(2048, 10),
    )  # fmt: skip
    return Exported(net, (torch.randn(1, 3, 4, 32, 32),))


class PointNet(nn.Module):
    """Layers per point, a learned rotation of all points, and the maximum of each feature."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten()
        )
        self.matrix = nn.Linear(32, 9)
        self.deep = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 64, 1))
        self.out = nn.Linear(64, 10)

    def forward(self, points: torch.Tensor) -> torch.Tensor:
        matrix = self.matrix(self.turn(points)).view(-1, 3, 3) + torch.eye(3)
        return self.out(self.deep(torch.bmm(matrix, points)).amax(-1))


@torch_model("pointnet", 18)
def pointnet() -> Exported:
    return Exported(PointNet(), (torch.randn(2, 3, 128),))


class GraphAttention(nn.Module):
    """Graph attention: messages along edges, weighted by a softmax per receiving node, added by scattering."""

    def __init__(self, width: int = 16):
        super().__init__()
        self.enter, self.score, self.out = nn.Linear(width, width), nn.Linear(2 * width, 1), nn.Linear(width, 4)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        nodes = self.enter(nodes)
        sources, targets = nodes[edges[0]], nodes[edges[1]]
        weights = F.leaky_relu(self.score(torch.cat([sources, targets], -1)), 0.2).exp()
        to = edges[1][:, None]
        totals = torch.zeros(nodes.shape[0], 1).scatter_add(0, to, weights)
        sums = torch.zeros_like(nodes).scatter_add(0, to.expand(-1, nodes.shape[1]), weights * sources)
        return self.out(F.elu(sums / (totals + 1e-9)))


@torch_model("graph attention", 16, legacy=True)
def graph() -> Exported:
    return Exported(GraphAttention(), (torch.randn(20, 16), torch.randint(0, 20, (2, 60))))


class WideAndDeep(nn.Module):
    """A recommender: embeddings of categories, sums of word embeddings, numbers, and pairwise products."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = nn.ModuleList([nn.Embedding(10, 8) for _ in range(3)])
        self.words = nn.Embedding(50, 8)
        self.wide, self.deep = nn.Linear(4, 1), nn.Sequential(nn.Linear(36, 32), nn.SELU(), nn.Linear(32, 1))

    def forward(self, numbers: torch.Tensor, kinds: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        parts = [one(kinds[:, index]) for index, one in enumerate(self.kinds)] + [self.words(words).sum(1)]
        pairs = sum((parts[i] * parts[j]).sum(-1, keepdim=True) for i in range(4) for j in range(i))
        return (self.wide(numbers) + self.deep(torch.cat([*parts, numbers], -1)) + pairs).sigmoid()


@torch_model("recommender, wide and deep", 18)
def recommender() -> Exported:
    kinds, words = torch.randint(0, 10, (5, 3)), torch.randint(0, 50, (5, 7))
    return Exported(WideAndDeep(), (torch.randn(5, 4), kinds, words))


class Siamese(nn.Module):
    """The distance between the normalized embeddings of two images, by one network."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 5, 2), nn.Softsign(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3), nn.Hardtanh(), nn.Flatten(),
            nn.Linear(256, 32),
        )  # fmt: skip

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first, second = F.normalize(self.net(x)), F.normalize(self.net(y))
        return F.cosine_similarity(first, second), F.pairwise_distance(first, second)


@torch_model("siamese", 18)
def siamese() -> Exported:
    return Exported(Siamese(), (image(28, 3, 1), image(28, 3, 1)))
