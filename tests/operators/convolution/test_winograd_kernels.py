"""CONVOLUTION with 3 x 3 windows and many channels by Winograd's algorithm, against float64 NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_cases import BACKWARD, CONVOLUTION, CORRELATION, FORWARD, build, products

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import convolution as selection
from dml.compiler.target import DeviceClass, Target
from dml.graph import operations as op
from dml.graph.builder import Builder
from harness import assert_sums, run


@pytest.fixture
def cheapest(monkeypatch):
    """Choose Winograd wherever it applies, at sizes that test quickly."""
    monkeypatch.setattr("dml.compiler.selection.convolution.winograd_cost", lambda target, sizes: 0.0)


KERNELS = ["winograd_input", "winograd_result"]


def check(device, dtype="FLOAT32", batch=1, channels=(32, 32), sizes=(12, 12), padding=1, **more):
    start, end = more.pop("start", (padding,) * 2), more.pop("end", (padding,) * 2)
    desc, arrays, expected, terms = build(dtype, batch, 1, *channels, sizes, (3, 3), start=start, end=end, **more)
    compiled = device.compile_operator(device.create_operator(desc))
    text = compiled.describe()
    assert all(f"dispatch convolution/{kernel}" in text for kernel in KERNELS), text
    assert_sums(compiled.dispatch(arrays)["OutputTensor"], expected, terms, products(desc))


@pytest.mark.parametrize(
    "dtype, padding, sizes",
    [
        ("FLOAT32", 0, (12, 12)),
        ("FLOAT32", 1, (13, 15)),
        ("FLOAT32", 2, (9, 22)),
        ("FLOAT32", 2, (24, 5)),
        ("FLOAT16", 0, (24, 5)),
        ("FLOAT16", 1, (12, 12)),
        ("FLOAT16", 2, (13, 15)),
        ("FLOAT16", 0, (9, 22)),
    ],
)
@pytest.mark.usefixtures("cheapest")
def test_sizes(device, dtype, padding, sizes):
    check(device, dtype, 1, (48, 48), sizes, padding)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("dilations, sizes", [((2, 2), (12, 16)), ((3, 1), (11, 8)), ((12, 5), (14, 33))])
@pytest.mark.usefixtures("cheapest")
def test_dilations(device, dtype, dilations, sizes):
    check(device, dtype, 2, sizes=sizes, start=dilations, end=dilations, dilations=dilations)


@pytest.mark.parametrize("channels", [(64, 64), (33, 50), (70, 31)])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.usefixtures("cheapest")
def test_channels(device, channels, batch):
    check(device, "FLOAT32", batch, channels, (11, 14))


@pytest.mark.parametrize("layout", ["packed", "padded", "reversed", "nhwc"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.usefixtures("cheapest")
def test_layouts(device, layout, dtype):
    check(device, dtype, 2, (32, 48), (10, 15), layout=layout)


@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.usefixtures("cheapest")
def test_directions(device, mode, direction):
    """A backward convolution with strides of 1 is a forward one with the window reversed."""
    more = {"start": (0, 2), "end": (1, 0)} if direction == FORWARD else {"start": (1, 2), "end": (0, 1)}
    check(device, channels=(48, 48), sizes=(13, 12), direction=direction, mode=mode, bias=False, **more)


@pytest.mark.usefixtures("cheapest")
def test_three_dimensions(device):
    """A window of depth 1 convolves each slice separately."""
    desc, arrays, expected, terms = build("FLOAT32", 2, 1, 48, 48, (3, 8, 9), (1, 3, 3), start=(0, 1, 1), end=(0, 1, 1))
    compiled = device.compile_operator(device.create_operator(desc))
    assert "convolution/winograd_result" in compiled.describe()
    assert_sums(compiled.dispatch(arrays)["OutputTensor"], expected, terms, products(desc))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.usefixtures("cheapest")
def test_fused_activation(device, dtype):
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    desc, arrays, expected, terms = build(
        dtype, 1, 1, 48, 48, (12, 12), (3, 3), start=(1, 1), end=(1, 1), activation=relu
    )
    assert "convolution/winograd_result" in device.compile_operator(device.create_operator(desc)).describe()
    result = run(device, desc, arrays)["OutputTensor"]
    assert_sums(result, np.maximum(expected, 0), terms, products(desc))
    assert np.any(result == 0)
    assert len(np.unique(result)) > 100


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.usefixtures("cheapest")
def test_in_a_graph(device, kind):
    """Each run transforms the weights, so nothing is kept; element-wise operators after it are fused into its store."""
    rng = np.random.default_rng(0)
    x, w = rng.uniform(-1, 1, (1, 48, 12, 13)).astype(kind), rng.uniform(-1, 1, (48, 48, 3, 3)).astype(kind)
    b = rng.uniform(-1, 1, 48).astype(kind)
    graph = Builder(device)
    t = graph.input("x", x.shape, dml.data_type_of(x.dtype))
    y = op.sigmoid(op.convolution(t, w, b, start_padding=(1, 1), end_padding=(1, 1)))
    compiled = graph.compile({"y": y})
    text = compiled.describe()
    assert "\ndispatch convolution/winograd_weights" in text
    assert "\ninitialize " not in text
    assert compiled.program.persistent_size == 0
    assert text.count("\ndispatch ") == 4, text
    found = compiled.dispatch({"x": x})["y"].astype(np.float64)
    padded = np.pad(x.astype(np.float64), [(0, 0), (0, 0), (1, 1), (1, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("nchwyx,ocyx->nohw", windows, w.astype(np.float64)) + b.astype(np.float64)[:, None, None]
    # float32 sums of 432 products of magnitude 1 at most, and an activation whose slope is below 1
    allowed = 436 * 2.0**-24 * 432 / 4 + (2.0**-11 if kind is np.float16 else 2.0**-22)
    assert np.abs(found - 1 / (1 + np.exp(-sums))).max() < allowed


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("channels, sizes", [((64, 64), (72, 72)), ((128, 128), (28, 28))])
def test_chosen_for_many_channels_and_places(device, dtype, channels, sizes):
    if not device.vulkan.target.is_cpu:
        pytest.skip("GPUs go another way, as the next test says")
    check(device, dtype, 1, channels, sizes)


def test_few_channels_few_places_and_gpus_go_other_ways(device, as_discrete):
    for channels, sizes, on in (
        ((8, 64), (56, 56), device),
        ((256, 256), (3, 3), device),
        ((64, 64), (56, 56), as_discrete),
    ):
        desc, *_ = build("FLOAT32", 1, 1, *channels, sizes, (3, 3), start=(1, 1), end=(1, 1))
        assert "winograd" not in on.compile_operator(on.create_operator(desc)).describe(), (channels, sizes)


@pytest.mark.parametrize("room, chosen", [(4 * 36 * 64 * 64, True), (4 * 36 * 64 * 64 - 1, False)])
def test_a_transformed_filter_has_a_bound_on_its_memory(monkeypatch, room, chosen):
    """Compiles only; nothing runs."""
    monkeypatch.setattr(selection, "MOST_TRANSFORMED", room)
    desc, *_ = build("FLOAT32", 1, 1, 64, 64, (56, 56), (3, 3), start=(1, 1), end=(1, 1))
    program = compile_operator(desc, Target(DeviceClass.CPU, subgroup_size=8))
    assert ("winograd" in program.describe()) == chosen
