"""Object detectors, with box decoding and non-maximum suppression in the graph."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from torch.nn import functional as F

from tools.zoo_of_models.classifiers import image
from tools.zoo_of_models.entry import Arrays, Exported, onnx_model, torch_model
from tools.zoo_of_models.exporting import export, seeded
from tools.zoo_of_models.layers import conv


class SsdLite(nn.Module):
    """Depthwise heads on two maps; boxes (corners) [batch, anchors, 4], scores [batch, classes, anchors]."""

    def __init__(self, classes: int = 4):
        super().__init__()
        self.classes = classes
        self.first = nn.Sequential(conv(3, 16, 3, 2), conv(16, 16, 3, 2, groups=16), conv(16, 32, 1, act=nn.ReLU6()))
        self.second = nn.Sequential(conv(32, 32, 3, 2, groups=32), conv(32, 48, 1, act=nn.ReLU6()))
        self.places = nn.ModuleList([self._head(32, 2 * 4), self._head(48, 2 * 4)])
        self.kinds = nn.ModuleList([self._head(32, 2 * classes), self._head(48, 2 * classes)])
        anchors = []
        for size in (16, 8):
            centres = (torch.arange(size) + 0.5) / size
            middle = torch.stack(torch.meshgrid(centres, centres, indexing="ij"), -1).reshape(-1, 1, 2).expand(-1, 2, 2)
            sides = torch.tensor([[1.0, 1.0], [1.5, 0.7]]).expand(size * size, 2, 2) * 2 / size
            anchors.append(torch.cat([middle, sides], -1).reshape(-1, 4))
        self.register_buffer("anchors", torch.cat(anchors))

    @staticmethod
    def _head(width: int, out: int) -> nn.Module:
        return nn.Sequential(conv(width, width, 3, groups=width, act=nn.ReLU6()), nn.Conv2d(width, out, 1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        first = self.first(x)
        maps = (first, self.second(first))
        batch = x.shape[0]
        moves = torch.cat(
            [f(m).permute(0, 2, 3, 1).reshape(batch, -1, 4) for f, m in zip(self.places, maps, strict=True)], 1
        )
        kinds = [
            f(m).permute(0, 2, 3, 1).reshape(batch, -1, self.classes) for f, m in zip(self.kinds, maps, strict=True)
        ]
        middle = self.anchors[:, :2] + 0.1 * moves[..., :2] * self.anchors[:, 2:]
        half = self.anchors[:, 2:] * torch.exp(0.2 * moves[..., 2:]) / 2
        return torch.cat([middle - half, middle + half], -1), torch.cat(kinds, 1).softmax(-1).transpose(1, 2)


@onnx_model("ssdlite with non-maximum suppression", 13, "TorchScript and onnx")
def ssdlite(path: Path) -> Arrays:
    """Add the suppression and the gathering of chosen boxes to the exported file, as exporters of detectors do."""
    seeded()
    inputs = export(Exported(SsdLite(), (image(),)), path, 13, True)
    model = onnx.load(path)
    graph = model.graph
    boxes, scores = (output.name for output in graph.output)
    numbers = {
        "most": np.array([20], np.int64),
        "overlap": np.array([0.5], np.float32),
        "least": np.array([0.2], np.float32),
    }
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in numbers.items())
    graph.initializer.append(numpy_helper.from_array(np.array([0, 2], np.int64), "columns"))
    graph.node.extend(
        [
            helper.make_node("NonMaxSuppression", [boxes, scores, "most", "overlap", "least"], ["chosen"]),
            helper.make_node("Gather", ["chosen", "columns"], ["pairs"], axis=1),
            helper.make_node("GatherND", [boxes, "pairs"], ["detected"]),
            helper.make_node("GatherND", [scores, "chosen"], ["certainty"]),
        ]
    )
    graph.output.append(helper.make_tensor_value_info("chosen", TensorProto.INT64, ["count", 3]))
    graph.output.append(helper.make_tensor_value_info("detected", TensorProto.FLOAT, ["count", 4]))
    graph.output.append(helper.make_tensor_value_info("certainty", TensorProto.FLOAT, ["count"]))
    onnx.save(model, path)
    return inputs


class Yolo(nn.Module):
    """Cross-stage blocks, pooling with three window sizes, and boxes decoded from a grid."""

    def __init__(self) -> None:
        super().__init__()
        act = nn.SiLU()
        self.stem = nn.Sequential(conv(3, 16, 6, 2, act=act), conv(16, 32, 3, 2, act=act))
        self.split, self.deep = conv(32, 16, 1, act=act), nn.Sequential(conv(16, 16, 1, act=act), conv(16, 16, act=act))
        self.join, self.out = conv(64, 32, 1, act=act), nn.Conv2d(32, 3 * 9, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.split(self.stem(x))
        x = x + self.deep(x)
        pools = [x]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        y = self.out(self.join(torch.cat(pools, 1)))
        batch, _, high, wide = y.shape
        y = y.view(batch, 3, 9, high, wide).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(high), torch.arange(wide), indexing="ij")
        grid = torch.stack([columns, rows], -1).to(y.dtype)
        middle = (y[..., :2] * 2 - 0.5 + grid) * 4
        return torch.cat([middle, (y[..., 2:4] * 2) ** 2 * 10, y[..., 4:]], -1).view(batch, -1, 9)


@torch_model("yolo", 17, legacy=True)
def yolo() -> Exported:
    return Exported(Yolo(), (image(),))


class CenterNet(nn.Module):
    """The ten highest peaks of a heat map, with the other maps' values there."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2))
        self.heat, self.size = nn.Conv2d(32, 3, 1), nn.Conv2d(32, 2, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        deep = self.stem(x)
        heat = self.heat(deep).sigmoid()
        peaks = heat * (F.max_pool2d(heat, 3, 1, 1) == heat)
        scores, indices = peaks.flatten(1).topk(10)
        place = indices % (heat.shape[2] * heat.shape[3])
        sizes = self.size(deep).flatten(2).gather(2, place[:, None].expand(-1, 2, -1))
        return scores, indices, sizes


@torch_model("centernet", 18)
def centernet() -> Exported:
    return Exported(CenterNet(), (image(),))
