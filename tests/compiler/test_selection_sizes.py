"""Selection's thresholds at the sizes of real models: kernels on both sides against float64 references.

``CROSSED`` of test_selection_thresholds.py crosses other thresholds with the operators' samples.
"""

from __future__ import annotations

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest

import dml
import dml.graph.operations as op
from dml.capability import short_name
from dml.compiler import repeated, selection
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Space
from dml.conformance.axes import open_as
from dml.conformance.samples import judge
from dml.conformance.subject import subjects
from dml.conformance.values import Values
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.graph.builder import Builder
from dml.recent import Recent
from dml.runtime.devices import VulkanDevice
from harness import run, tensor

FORWARD, BACKWARD = dml.DML_CONVOLUTION_DIRECTION_FORWARD, dml.DML_CONVOLUTION_DIRECTION_BACKWARD
#: Devices with few registers, and one whose compiler hoists loads: fields of Target.
ARM, NVK = {"vendor": 0x13B5, "device": 0xA8670000}, {"vendor": 0x10DE, "driver": 24}


class Crossing(NamedTuple):
    """A crossed threshold. value: the threshold's value that puts ``desc`` on the other side. limits: of the device,
    besides the axis."""

    module: str
    name: str
    value: int
    axis: str
    desc: Any
    limits: Mapping[str, Any] = MappingProxyType({})

    def __str__(self) -> str:
        return f"{self.module}.{self.name}-{self.axis}"


def product(m: int, k: int, n: int, kind: str = "FLOAT32", *, b_along_k: bool = False) -> dml.OperatorDesc:
    turned = dml.DML_MATRIX_TRANSFORM_TRANSPOSE if b_along_k else dml.DML_MATRIX_TRANSFORM_NONE
    return dml.DML_GEMM_OPERATOR_DESC(
        ATensor=tensor(kind, (1, 1, m, k)), BTensor=tensor(kind, (1, 1, *((n, k) if b_along_k else (k, n)))),
        OutputTensor=tensor(kind, (1, 1, m, n)), TransA=dml.DML_MATRIX_TRANSFORM_NONE, TransB=turned,
        Alpha=1.0, Beta=0.0,
    )  # fmt: skip


def convolution(
    inputs: int,
    outputs: int,
    image: tuple[int, int],
    window: tuple[int, int] = (3, 3),
    *,
    stride: int = 1,
    dilation: int = 1,
    groups: int = 1,
    pads: bool = True,
    direction: dml.DML_CONVOLUTION_DIRECTION = FORWARD,
) -> dml.OperatorDesc:
    """Describe a convolution of one image, with "same" padding or none."""
    reach = [(size - 1) * dilation for size in window]
    padding = tuple(size // 2 if pads else 0 for size in reach)
    if direction == FORWARD:
        filter_ = (outputs, inputs // groups, *window)
        sizes = [(i + 2 * p - r - 1) // stride + 1 for i, p, r in zip(image, padding, reach, strict=True)]
    else:
        filter_ = (inputs, outputs, *window)
        sizes = [(i - 1) * stride + r + 1 - 2 * p for i, p, r in zip(image, padding, reach, strict=True)]
    return dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", (1, inputs, *image)), FilterTensor=tensor("FLOAT32", filter_),
        OutputTensor=tensor("FLOAT32", (1, outputs, *sizes)), Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=direction, Strides=(stride, stride), Dilations=(dilation, dilation), StartPadding=padding,
        EndPadding=padding, OutputPadding=(0, 0), GroupCount=groups,
    )  # fmt: skip


def softmax(rows: int, length: int) -> dml.OperatorDesc:
    x = tensor("FLOAT32", (1, 1, rows, length))
    return dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(x, x)


def normalization(sizes: tuple[int, ...], axes: tuple[int, ...]) -> dml.OperatorDesc:
    x = tensor("FLOAT32", sizes)
    return dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        InputTensor=x, OutputTensor=x, Axes=axes, NormalizeVariance=True, Epsilon=1e-5
    )


def best(rows: int, length: int, count: int) -> dml.OperatorDesc:
    return dml.DML_TOP_K1_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", (1, 1, rows, length)), OutputValueTensor=tensor("FLOAT32", (1, 1, rows, count)),
        OutputIndexTensor=tensor("UINT32", (1, 1, rows, count)), Axis=3, K=count,
        AxisDirection=dml.DML_AXIS_DIRECTION_DECREASING,
    )  # fmt: skip


def gru(steps: int, batch: int, inputs: int, hidden: int) -> dml.OperatorDesc:
    def one(*sizes: int) -> Any:
        return tensor("FLOAT32", sizes)

    return dml.DML_GRU_OPERATOR_DESC(
        InputTensor=one(1, steps, batch, inputs), WeightTensor=one(1, 1, 3 * hidden, inputs),
        RecurrenceTensor=one(1, 1, 3 * hidden, hidden), OutputSequenceTensor=one(steps, 1, batch, hidden),
        ActivationDescs=[dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()],
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION_FORWARD, LinearBeforeReset=True,
    )  # fmt: skip


def suppression(boxes: int, kept: int) -> dml.OperatorDesc:
    return OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(
        BoxesTensor=tensor("FLOAT32", (1, boxes, 4)), ScoresTensor=tensor("FLOAT32", (1, 2, boxes)),
        LimitTensor=None, IouThresholdTensor=tensor("FLOAT32", (1,)), ScoreThresholdTensor=None,
        OutputScoresTensor=None, OutputCountTensor=tensor("UINT32", (1,)),
        OutputSelectedTensor=tensor("UINT32", (2 * kept, 3)), MaximumBoxes=kept, CenterPointBox=False, Inclusive=False,
    )  # fmt: skip


def added(*sizes: int) -> dml.OperatorDesc:
    x = tensor("FLOAT32", sizes)
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, x, x)


#: Layers on one side of a size threshold. A row's comment names the model that has the layer.
CROSSINGS = [
    Crossing("", "LONG_ARITHMETIC", 0, "plain", added(1, 197, 1024)),  # ViT-L
    # Transposed convolutions: a U-Net's, and windows of 7 by 7 steps, which are one convolution each.
    Crossing("convolution", "_MOST_PHASES", 1, "plain", convolution(64, 32, (28, 28), (2, 2), stride=2, pads=False,
                                                                    direction=BACKWARD)),
    Crossing("convolution", "_MOST_PHASES", 49, "plain", convolution(4, 12, (9, 9), (7, 7), stride=7, pads=False,
                                                                     direction=BACKWARD)),
    Crossing("convolution", "_FEWEST_VECTORS", 1 << 30, "plain", convolution(32, 32, (12, 12))),
    Crossing("convolution", "_FEWEST_TERMS", 4, "discrete", convolution(1, 16, (64, 64), (1, 7))),
    Crossing("convolution", "_FEWEST_TERMS", 16, "discrete", convolution(2, 16, (64, 64), (1, 4), pads=False)),
    Crossing("convolution", "_LARGEST_TABLE", 128, "discrete", convolution(3, 64, (112, 112), (7, 7), stride=2)),
    # ViT-L's patches: 588 terms
    Crossing("convolution", "_LARGEST_TABLE", 1024, "discrete", convolution(3, 64, (224, 224), (14, 14), stride=14,
                                                                            pads=False)),
    # WaveNet's dilations
    Crossing("convolution", "_MOST_REACH", 512, "discrete", convolution(3, 16, (1, 1200), (1, 3), dilation=511,
                                                                        pads=False)),
    # ConvNeXt, RepLKNet
    Crossing("convolution", "_MOST_READS", 64, "discrete", convolution(96, 96, (28, 28), (7, 7), groups=96)),
    Crossing("convolution", "_MOST_READS", 256, "discrete", convolution(16, 16, (28, 28), (13, 13), groups=16)),
    # ResNet-50
    Crossing("convolution", "MOST_TRANSFORMED", 1 << 20, "plain", convolution(256, 256, (28, 28))),
    Crossing("convolution", "_FEWEST_CHANNELS", 128, "plain", convolution(64, 64, (72, 72))),
    Crossing("detection", "MOST_SHARING", 64, "discrete", suppression(8400, 20)),  # YOLO
    # GPT-2's and Llama's products of a few tokens
    Crossing("few_rows", "MOST_PARTS", 2, "discrete", product(1, 8192, 256)),
    Crossing("few_rows", "FEW_ROWS", 4, "discrete", product(8, 768, 768)),
    Crossing("few_rows", "FEW_ROWS", 16, "discrete", product(9, 768, 768, b_along_k=True)),
    Crossing("few_rows", "_ROWS_OF_MANY_COLUMNS", 2, "discrete", product(4, 256, 32000)),
    Crossing("few_rows", "_ROWS_OF_MANY_COLUMNS", 8, "discrete", product(8, 256, 32000)),
    Crossing("few_rows", "_MANY_SUMS", 32, "discrete", product(8, 768, 768), NVK),
    Crossing("few_rows", "_MANY_SUMS", 128, "discrete", product(8, 768, 768, "FLOAT16"), NVK),
    Crossing("few_rows", "_MANY_ELEMENTS", 128, "discrete", product(8, 768, 768, "FLOAT16", b_along_k=True), ARM),
    Crossing("lines", "MOST_HELD_STEPS", 4, "discrete", softmax(4, 8192)),
    Crossing("lines", "MOST_HELD_STEPS", 16, "discrete", softmax(4, 8192)),
    Crossing("lines", "CPU_BUSY", 32, "plain", normalization((1, 3, 512, 512), (2, 3))),
    Crossing("lines", "GPU_WALK", 32, "discrete", normalization((1, 64, 192, 192), (1,))),
    Crossing("lines", "MOST_GROUPS", 64, "plain", best(1, 128256, 50)),  # Llama 3's vocabulary
    Crossing("lines", "GROUPED_ROUNDS", 1000, "plain", best(1, 128256, 50)),
    Crossing("product_tiles", "FEWEST_SUMS", 32, "discrete", product(197, 256, 1024), ARM),
    # Scores of 512 queries and keys of eight heads of 64
    Crossing("gemm", "_COLLIDING", 1024, "plain", product(512, 512, 64, b_along_k=True)),
    Crossing("gemm", "_COPIED_FROM", 1024, "plain", product(512, 512, 64, b_along_k=True)),
    # Four query heads share 1024 values, of 128 columns and of 64
    Crossing("tiles", "_COLUMNS_OF_LONG_ROWS", 4096, "plain", product(4, 1024, 128)),
    Crossing("tiles", "_COLUMNS_OF_LONG_ROWS", 64, "plain", product(4, 1024, 64)),
    # ViT-L, ViT-S
    Crossing("tiles", "_FEWEST_COLUMNS_OF_LARGE", 4096, "plain", product(197, 1024, 1024)),
    Crossing("tiles", "_FEWEST_COLUMNS_OF_LARGE", 128, "plain", product(128, 768, 192)),
    # A speech recognizer's steps of 80 bands
    Crossing("recurrent", "_MOST_ROWS", 4, "plain", gru(6, 32, 80, 64)),
    Crossing("recurrent", "_MOST_ROWS", 16, "plain", gru(6, 32, 80, 64)),
    Crossing("recurrent", "_FEWEST_GROUPS", 16, "plain", gru(6, 32, 80, 64)),
    Crossing("recurrent", "_MOST_ROWS_OF_GPUS", 1, "discrete", gru(3, 256, 80, 64)),
    Crossing("recurrent", "_MOST_SLICES", 8, "discrete", gru(3, 8, 80, 512)),
    Crossing("recurrent", "_MOST_SLICES_OF_FEW_REGISTERS", 32, "discrete", gru(3, 8, 80, 512), ARM),
]  # fmt: skip


@functools.cache
def imported() -> dict[tuple[str, str], list[str]]:
    """Return the modules of the compiler that import a name from a module of selection, by (module, name)."""
    root, found = Path(dml.__file__).parent, defaultdict(list)
    for path in (root / "compiler").rglob("*.py"):
        module = ".".join(("dml", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(selection.__name__):
                for one in node.names:
                    found[node.module, one.name].append(module)
    return found


def holders(module: str, name: str) -> Iterator[ModuleType]:
    """Yield the modules that hold a threshold: its own, and those of the compiler that import it by name."""
    owner = f"{selection.__name__}.{module}".rstrip(".")
    yield import_module(owner)
    yield from map(import_module, imported().get((owner, name), ()))


def judged(device: dml.Device, desc: Any, inputs: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Run an operator, compare it with float64, and return its kernels, grids and numbers."""
    # a separate cache, since lowerings depend on the threshold
    monkeypatch.setattr(repeated, "_kept", Recent(repeated.MOST_KEPT))
    assert not (fault := judge(desc, inputs, run(device, desc, inputs))), fault
    dispatches = compile_operator(desc, device.vulkan.target).dispatches
    return [(one.source, one.groups, one.push, one.parameters) for one in dispatches]


def inputs_of(desc: Any) -> Mapping[str, Any]:
    return subjects()[short_name(desc.OPERATOR_TYPE)].make_inputs(desc, Values(5))


@pytest.mark.parametrize("crossing", CROSSINGS, ids=str)
def test_both_sides(vulkan: VulkanDevice, monkeypatch: pytest.MonkeyPatch, crossing: Crossing) -> None:
    device: dml.Device = open_as(vulkan, crossing.axis, **crossing.limits)
    inputs = inputs_of(crossing.desc)
    own = judged(device, crossing.desc, inputs, monkeypatch)
    for module in holders(crossing.module, crossing.name):
        monkeypatch.setattr(module, crossing.name, crossing.value)
    if judged(device, crossing.desc, inputs, monkeypatch) == own:
        assert not selection.reads_texels(vulkan.target), "llvmpipe 22.3 has the same kernels on both sides"
        pytest.skip("the same kernels on both sides on this device")


@pytest.mark.parametrize("dilation, has_table", [(511, True), (512, False)])
def test_windows_that_span_more_than_a_table_holds(
    as_discrete: dml.Device, monkeypatch: pytest.MonkeyPatch, dilation: int, has_table: bool
) -> None:
    """_MOST_REACH is a limit: a table has ten bits per axis."""
    desc = convolution(3, 16, (1, 1200), (1, 3), dilation=dilation, pads=False)
    judged(as_discrete, desc, inputs_of(desc), monkeypatch)
    program = compile_operator(desc, as_discrete.vulkan.target)
    assert (dict(program.dispatches[-1].source.defines)["TABLE"] != "0") == has_table


@pytest.mark.parametrize("side, dispatches", [(112, 1), (136, 0)], ids=["ResNet", "larger"])
def test_residual_additions(vulkan: VulkanDevice, side: int, dispatches: int) -> None:
    """CPU drivers add to images of up to 2^20 elements in a separate kernel: 64 channels of 112 by 112."""
    desc = convolution(4, 64, (side, side))
    inputs = inputs_of(desc)
    residual = np.random.default_rng(6).standard_normal((1, 64, side, side), np.float32)
    graph = Builder(open_as(vulkan))
    x, other = (graph.input(name, sizes) for name, sizes in (("x", (1, 4, side, side)), ("other", residual.shape)))
    made = op.convolution(x, inputs["FilterTensor"], start_padding=(1, 1), end_padding=(1, 1)) + other
    compiled = graph.compile({"y": made})
    kernels = [one.source.name for one in compiled.program.dispatches]
    assert sum("elementwise" in name for name in kernels) == dispatches
    found = compiled.dispatch({"x": inputs["InputTensor"], "other": residual})["y"]
    expected = subjects()["CONVOLUTION"].reference(desc, inputs)["OutputTensor"].values + residual
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("k, most, runs_once", [(1024, 64 << 20, 1), (1024, 0, 0), (1032, 64 << 20, 0)])
def test_constant_columns_that_collide(
    vulkan: VulkanDevice, monkeypatch: pytest.MonkeyPatch, k: int, most: int, runs_once: int
) -> None:
    """CPU drivers copy such weights once, and keep only the copy. Every element takes part in a product."""
    monkeypatch.setattr("dml.compiler.selection.gemm._MOST_COPIED", most)
    random = np.random.default_rng(7)
    a, weights = (random.integers(-3, 4, sizes).astype(np.float32) for sizes in ((3, k), (70, k)))
    graph = Builder(open_as(vulkan))
    compiled = graph.compile({"y": op.gemm(graph.input("a", a.shape), weights, transpose_b=True)})
    program = compiled.program
    assert len(program.initialize) == runs_once
    spaces = {bound.region.space for bound in program.dispatches[-1].bindings}
    assert (Space.CONSTANT in spaces) == (not runs_once)
    np.testing.assert_array_equal(compiled.dispatch({"a": a})["y"], a @ weights.T)
