"""A model at another batch size, length or image size compiles nothing on CPU drivers, neither SPIR-V nor pipelines.

The models of ``tools/bench --first-result`` are planned, not run; the tests compare counts.
"""

from __future__ import annotations

import numpy as np
import onnx as onnx_proto
import pytest

import dml.frontends.onnx as onnx
from dml import stages
from dml.runtime.pipelines import Pipelines

pytestmark = pytest.mark.usefixtures("benchmarks")


@pytest.fixture
def cpu(device, monkeypatch):
    """Return a device for planning only, with llvmpipe's choice of kernels."""
    target = device.vulkan.target
    if not (target.is_cpu and target.features.broadcasts and target.subgroup_size == 8):
        pytest.skip("GPUs choose tiles by all sizes; SwiftShader's vectors, of four, share no rows")
    monkeypatch.setattr(Pipelines, "begin", lambda self, dispatches, kernels: None)
    return device


def made_of(prepared, inputs):
    """Plan for these inputs; return all that pipelines depend on, and the sources that glslang compiled."""
    with stages.collect() as collected:
        program = prepared.compiled_for(inputs)[0].compiled.program
    pipelines = {
        (d.label, d.source, len(d.bindings), len(d.push), bool(d.parameters))
        for d in (*program.initialize, *program.dispatches)
    }
    return pipelines, collected.distinct.get("compilations", ())


@pytest.mark.parametrize("name", ["resnet18", "mobilenetv2", "squeezenet", "bert", "gpt2", "unet", "lstm"])
def test_another_batch_size_asks_for_no_kernel(cpu, name):
    from networks import MODELS

    model = MODELS[name]()
    prepared = onnx.prepare(model.proto, cpu)
    first = model.steps()["first"]
    known, _ = made_of(prepared, first)
    for batch in (2, 3):
        axes = {i.name: [index for index, dim in enumerate(i.dims) if dim == "batch"] for i in model.inputs}
        inputs = {key: np.repeat(array, batch, axes[key][0]) for key, array in first.items()}
        pipelines, compilations = made_of(prepared, inputs)
        assert pipelines <= known
        assert not compilations


@pytest.mark.parametrize(
    "name, lengths", [("bert", (45, 32, 57, 64)), ("gpt2", (17, 18, 19, 63, 64)), ("lstm", (27, 20))]
)
def test_another_length_asks_for_no_kernel(cpu, name, lengths):
    from networks import MODELS

    model = MODELS[name]()
    prepared = onnx.prepare(model.proto, cpu)
    known, _ = made_of(prepared, model.steps()["first"])
    for length in lengths:
        sizes = {"past": length, "total": length + 1} if name == "gpt2" else {"sequence": length}
        random = np.random.default_rng(0)
        inputs = {i.name: i.array({**model.first, **sizes}, random) for i in model.inputs}
        pipelines, compilations = made_of(prepared, inputs)
        assert pipelines <= known
        assert not compilations


def of_any_size(model):
    """Return a copy of the model for images of any height and width."""
    proto = onnx_proto.ModelProto.FromString(model.proto.SerializeToString())
    (entry,) = proto.graph.input
    for axis, name in ((2, "height"), (3, "width")):
        entry.type.tensor_type.shape.dim[axis].dim_param = name
    return proto


@pytest.mark.parametrize(
    "name, known, sizes",
    [
        ("unet", (32, 32), ((48, 40), (40, 40), (24, 32))),
        ("resnet18", (128, 128), ((160, 160), (96, 128), (136, 104))),
        ("resnet18", (224, 224), ((256, 256), (320, 320))),  # large enough for Winograd's convolutions
        ("mobilenetv2", (224, 224), ((192, 192), (256, 256), (192, 256), (160, 160), (128, 128), (320, 320))),
        ("squeezenet", (224, 224), ((192, 192), (160, 160), (192, 160))),
    ],
)
def test_another_image_size_asks_for_no_kernel(cpu, name, known, sizes):
    from networks import MODELS

    model = MODELS[name]()
    prepared = onnx.prepare(of_any_size(model), cpu)
    ((key, first),) = model.steps()["first"].items()

    def made_at(size):
        return made_of(prepared, {key: np.zeros((*first.shape[:2], *size), np.float32)})

    pipelines_known, _ = made_at(known)
    for size in sizes:
        pipelines, compilations = made_at(size)
        assert pipelines <= pipelines_known
        assert not compilations
