"""Whole ONNX models with random weights and dynamic sizes, for measuring the time to their first result."""

from __future__ import annotations

from collections.abc import Callable

from networks.building import Model
from networks.recurrent import lstm_gru
from networks.transformers import bert, gpt2
from networks.vision import mobilenet, resnet18, squeezenet, unet

#: Models by the name that --model takes.
MODELS: dict[str, Callable[[], Model]] = {
    "resnet18": resnet18,
    "mobilenetv2": mobilenet,
    "squeezenet": squeezenet,
    "bert": bert,
    "gpt2": gpt2,
    "unet": unet,
    "lstm": lstm_gru,
}

__all__ = ["MODELS", "Model"]
