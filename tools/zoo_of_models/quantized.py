"""Networks quantized to 8-bit integers by onnxruntime, statically and dynamically."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from tools.zoo_of_models.classifiers import image, resnet_18
from tools.zoo_of_models.classifiers_newer import mobilenet_v2_net
from tools.zoo_of_models.entry import ENTRIES, Arrays, Exported, onnx_model
from tools.zoo_of_models.exporting import export, seeded
from tools.zoo_of_models.images import UNet

NEEDS = ("onnxruntime",)

#: Weights of 7 bits: without VNNI, onnxruntime sums pairs of u8 x s8 products in 16 bits, where 8 bits saturate.
SEVEN_BITS = {"reduce_range": True}


class Calibration:
    """Random calibration images in the form that onnxruntime's quantizers read."""

    def __init__(self, inputs: Arrays):
        generator = np.random.default_rng(1)
        shapes = {name: (array.shape, array.dtype) for name, array in inputs.items()}
        self._left = [
            {name: generator.standard_normal(shape).astype(dtype) for name, (shape, dtype) in shapes.items()}
            for _ in range(3)
        ]

    def get_next(self) -> Arrays | None:
        return self._left.pop() if self._left else None


def static(name: str, form: str, net: Callable[[], nn.Module], activations: str = "QUInt8", **options: Any) -> None:
    """Add an entry for a statically quantized network of images. form: QDQ or QOperator."""

    def make(path: Path) -> Arrays:
        from onnxruntime.quantization import QuantFormat, QuantType, quant_pre_process, quantize_static

        seeded()
        raw, ready = path.with_name("float.onnx"), path.with_name("ready.onnx")
        inputs = export(Exported(net(), (image(),)), raw, 17, True)
        quant_pre_process(raw, ready)
        kind = QuantType[activations]
        read = Calibration(inputs)
        quantize_static(ready, path, read, QuantFormat[form], activation_type=kind, **SEVEN_BITS, **options)
        return inputs

    onnx_model(name, 17, f"quantize_static, {form}", precision="quantized", needs=NEEDS)(make)


def dynamic(name: str, of: str, opset: int, needs: tuple[str, ...] = ()) -> None:
    """Add an entry with another entry's weights as 8-bit integers, and activations quantized at run time."""

    def make(path: Path) -> Arrays:
        from onnxruntime.quantization import quantize_dynamic

        raw = path.with_name("float.onnx")
        inputs = ENTRIES[of].make(raw)
        quantize_dynamic(raw, path, **SEVEN_BITS)
        return inputs

    onnx_model(name, opset, "quantize_dynamic", precision="quantized", needs=(*NEEDS, *needs))(make)


static("quantized resnet-18", "QDQ", resnet_18)
static("quantized resnet-18, by channels", "QDQ", resnet_18, per_channel=True)
static("quantized resnet-18 of QLinear operators", "QOperator", resnet_18)
static("quantized u-net", "QDQ", UNet)
static("quantized u-net, signed", "QDQ", UNet, "QInt8")
static("quantized u-net of QLinear operators", "QOperator", UNet)
static("quantized mobilenet-v2", "QDQ", mobilenet_v2_net, per_channel=True)
dynamic("quantized bert", "bert", 18, ("transformers",))
dynamic("quantized gpt-2", "gpt-2", 18, ("transformers",))
dynamic("quantized lstm tagger", "lstm tagger", 14)
dynamic("quantized lenet", "lenet", 11)
