"""Export PyTorch modules to ONNX with either exporter, and weights with which outputs depend on inputs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import nn

from tools.zoo_of_models.entry import Arrays, Exported


def seeded() -> None:
    torch.manual_seed(0)


def settle(module: nn.Module) -> None:
    """Set weights and statistics that keep activations near magnitude one, and switch to inference."""
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv1d | nn.Conv2d | nn.Conv3d) and part.weight.is_floating_point():
            nn.init.kaiming_normal_(part.weight, nonlinearity="linear")
            if part.bias is not None:
                nn.init.normal_(part.bias, std=0.1)
        elif isinstance(part, nn.modules.batchnorm._BatchNorm):
            nn.init.normal_(part.running_mean, std=0.1)
            nn.init.uniform_(part.running_var, 0.5, 1.5)
            nn.init.uniform_(part.weight, 0.5, 1.5)
            nn.init.normal_(part.bias, std=0.1)
        elif isinstance(part, nn.Embedding):
            nn.init.normal_(part.weight, std=0.5)
    module.eval()


def export(what: Exported, path: Path, opset: int, legacy: bool) -> Arrays:
    """Write the module as an ONNX file; return its inputs by the file's names."""
    settle(what.module)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if legacy:
            arguments = (*what.inputs, what.keywords) if what.keywords else tuple(what.inputs)
            torch.onnx.export(what.module, arguments, path, opset_version=opset, dynamo=False)
        else:
            torch.onnx.export(
                what.module, tuple(what.inputs), path, kwargs=what.keywords, opset_version=opset, dynamo=True,
                external_data=False, verbose=False,
            )  # fmt: skip
    model = onnx.load(path, load_external_data=False)
    known = {tensor.name for tensor in model.graph.initializer}
    names = [entry.name for entry in model.graph.input if entry.name not in known]
    arrays = [_array(value) for value in flat([*what.inputs, *what.keywords.values()])]
    if len(names) < len(arrays) and set(names) <= set(what.keywords):
        return {name: _array(what.keywords[name]) for name in names}
    return dict(zip(names, arrays, strict=True))


def flat(values: Any) -> list[Any]:
    """Flatten nested tensors in the exporters' order."""
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in flat(value)]
    return [] if values is None else [values]


def _array(tensor: Any) -> np.ndarray:
    return tensor.detach().numpy()
