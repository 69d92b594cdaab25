"""CONVOLUTION against float64 NumPy, in both directions and every algorithm."""

from __future__ import annotations

import numpy as np
import pytest
import reference_convolution as reference

import dml
from harness import like, random, run, tensor

CONVOLUTION = dml.DML_CONVOLUTION_MODE_CONVOLUTION
CORRELATION = dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION
FORWARD, BACKWARD = dml.DML_CONVOLUTION_DIRECTION_FORWARD, dml.DML_CONVOLUTION_DIRECTION_BACKWARD


def build(
    dtype, batch, groups, inputs, outputs, sizes, window, direction=FORWARD, mode=CORRELATION, strides=None,
    dilations=None, start=None, end=None, output_padding=None, bias=True, layout="packed", activation=None, seed=0,
):  # fmt: skip
    """A description, its inputs, the result expected and the sum of the magnitudes of its terms.

    inputs, outputs: channels of one group.
    """
    rank = len(sizes)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    start, end, output_padding = start or (0,) * rank, end or (0,) * rank, output_padding or (0,) * rank
    rng = np.random.default_rng(seed)
    x = random(rng, dtype, (batch, groups * inputs, *sizes))
    shape = (groups * inputs, outputs) if direction == BACKWARD else (groups * outputs, inputs)
    w = random(rng, dtype, (*shape, *window))
    b = random(rng, dtype, (1, groups * outputs, *(1,) * rank)) if bias else None
    function = reference.backward if direction == BACKWARD else reference.forward
    arguments = (strides, dilations, start, end, groups, mode == CONVOLUTION, output_padding)
    expected = function(x.astype(np.float64), w.astype(np.float64), *arguments)
    terms = function(abs(x.astype(np.float64)), abs(w.astype(np.float64)), *arguments)
    arrays = {"InputTensor": x, "FilterTensor": w}
    if b is not None:
        expected, terms = expected + b, terms + abs(b)
        arrays["BiasTensor"] = b
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x, layout),
        FilterTensor=like(w, "padded" if layout != "packed" else layout),
        BiasTensor=None if b is None else like(b),
        OutputTensor=tensor(dtype, expected.shape, layout),
        Mode=mode,
        Direction=direction,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=output_padding,
        GroupCount=groups,
        FusedActivation=activation,
    )
    return desc, arrays, expected, terms


def assert_sums(result, expected, terms, count):
    """``count`` products, added in any order: each product and sum may be off by half an ulp of float32."""
    assert result.shape == expected.shape
    allowed = (count + 4) * 2.0**-24 * terms + 2.0**-23 * abs(expected)
    if result.dtype == np.float16:
        allowed = allowed + 2.0**-11 * abs(expected) + 2.0**-25
    excess = abs(result.astype(np.float64) - expected) - allowed
    assert np.all(excess <= 0), (float(excess.max()), np.unravel_index(excess.argmax(), excess.shape))


@pytest.mark.parametrize(
    "dtype, direction, groups, inputs, window, parts",
    [
        ("FLOAT32", FORWARD, 1, 1, (300, 300), 2),
        ("FLOAT32", FORWARD, 2, 1, (2, 260, 260), 4),
        ("FLOAT16", FORWARD, 1, 1, (260, 260), 3),
        ("FLOAT32", FORWARD, 1, 12001, (3,), 1),
        ("FLOAT32", FORWARD, 1, 23001, (3,), 2),
        ("FLOAT32", BACKWARD, 1, 23001, (3,), 2),
        ("FLOAT32", BACKWARD, 1, 61001, (2,), 4),
    ],
)
def test_more_products_than_a_cpu_driver_loops(device, dtype, direction, groups, inputs, window, parts):
    """Sums of many small integers, exact in float32: whatever loop ends too early shows."""
    rng = np.random.default_rng(3)
    rank, kind = len(window), np.dtype(dtype.lower())
    x = rng.integers(0, 3, (1, groups * inputs, *window[:-1], window[-1] + 1)).astype(kind)
    shape = (groups * inputs, 1) if direction == BACKWARD else (groups, inputs)
    w = rng.integers(-2, 4, (*shape, *window)).astype(kind)
    # As far as all of the window is over the input: backward, padding takes the rest away.
    ends = [size - 1 if direction == BACKWARD else 0 for size in window]
    function = reference.backward if direction == BACKWARD else reference.forward
    arguments = ((1,) * rank, (1,) * rank, ends, ends, groups, False, (0,) * rank)
    expected = function(x.astype(np.float64), w.astype(np.float64), *arguments)
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x),
        FilterTensor=like(w),
        OutputTensor=tensor(dtype, expected.shape),
        Mode=CORRELATION,
        Direction=direction,
        Strides=(1,) * rank,
        Dilations=(1,) * rank,
        StartPadding=ends,
        EndPadding=ends,
        OutputPadding=(0,) * rank,
        GroupCount=groups,
    )
    compiled = device.compile_operator(device.create_operator(desc))
    if device.vulkan.target.is_cpu:
        assert compiled.describe().count("dispatch convolution/general.comp") == parts
    result = compiled.dispatch({"InputTensor": x, "FilterTensor": w})["OutputTensor"]
    np.testing.assert_array_equal(result, expected.astype(kind))


def products(desc):
    """The terms of one element: input channels of a group times the window, backward at most that."""
    return desc.InputTensor.Sizes[1] // desc.GroupCount * int(np.prod(desc.FilterTensor.Sizes[2:]))


def check(device, desc, arrays, expected, terms):
    assert_sums(run(device, desc, arrays)["OutputTensor"], expected, terms, products(desc))


#: groups, inputs, outputs, sizes, window and attributes: each attribute meets each other one somewhere.
CASES = [
    {
        "groups": 1,
        "inputs": 3,
        "outputs": 5,
        "sizes": (9,),
        "window": (3,),
        "strides": (2,),
        "start": (1,),
        "end": (2,),
    },
    {
        "groups": 2,
        "inputs": 2,
        "outputs": 4,
        "sizes": (17,),
        "window": (4,),
        "dilations": (3,),
        "start": (3,),
        "end": (0,),
    },
    {"groups": 1, "inputs": 4, "outputs": 8, "sizes": (8, 12), "window": (3, 3), "start": (1, 1), "end": (1, 1)},
    {
        "groups": 1,
        "inputs": 5,
        "outputs": 3,
        "sizes": (7, 9),
        "window": (2, 5),
        "strides": (2, 1),
        "start": (0, 2),
        "end": (1, 2),
    },
    {
        "groups": 6,
        "inputs": 1,
        "outputs": 1,
        "sizes": (10, 11),
        "window": (3, 3),
        "strides": (1, 2),
        "start": (1, 0),
        "end": (0, 1),
    },
    {
        "groups": 3,
        "inputs": 2,
        "outputs": 2,
        "sizes": (11, 10),
        "window": (3, 2),
        "dilations": (2, 3),
        "strides": (3, 2),
    },
    {"groups": 1, "inputs": 8, "outputs": 12, "sizes": (6, 6), "window": (1, 1)},
    {"groups": 2, "inputs": 4, "outputs": 4, "sizes": (8, 8), "window": (1, 1), "strides": (2, 2)},
    {
        "groups": 1,
        "inputs": 2,
        "outputs": 3,
        "sizes": (4, 5, 6),
        "window": (2, 3, 3),
        "start": (1, 1, 1),
        "end": (0, 1, 1),
    },
    {
        "groups": 2,
        "inputs": 1,
        "outputs": 2,
        "sizes": (5, 4, 7),
        "window": (3, 2, 1),
        "strides": (2, 1, 3),
        "dilations": (1, 2, 1),
    },
    {
        "groups": 1,
        "inputs": 1,
        "outputs": 17,
        "sizes": (13, 13),
        "window": (7, 7),
        "start": (3, 3),
        "end": (3, 3),
        "strides": (2, 2),
    },
    {"groups": 1, "inputs": 3, "outputs": 2, "sizes": (20,), "window": (19,), "start": (5,), "end": (5,)},
]


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.parametrize("mode, dtype", [(CORRELATION, "FLOAT32"), (CONVOLUTION, "FLOAT16")])
def test_attributes(device, case, direction, mode, dtype):
    check(device, *build(dtype, 2, direction=direction, mode=mode, bias=mode == CORRELATION, **case))


@pytest.mark.parametrize("case", CASES[2:11:2], ids=range(2, 11, 2))
@pytest.mark.parametrize("direction, dtype", [(FORWARD, "FLOAT16"), (BACKWARD, "FLOAT32")])
@pytest.mark.parametrize("layout", ["padded", "reversed", "nhwc"])
def test_layouts(device, case, direction, layout, dtype):
    check(device, *build(dtype, 2, direction=direction, layout=layout, **case))


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_kernels_of_gpus(as_discrete, case, direction):
    check(as_discrete, *build("FLOAT32", 2, direction=direction, **case))


@pytest.mark.parametrize("sizes", [(1, 1), (7, 7), (16, 16), (3, 40)])
@pytest.mark.parametrize("channels", [(3, 16), (16, 20), (1, 1)])
def test_tiles(device, sizes, channels):
    inputs, outputs = channels
    case = build("FLOAT32", 1, 1, inputs, outputs, sizes, (3, 3), start=(1, 1), end=(1, 1))
    check(device, *case)


@pytest.mark.parametrize("strides, padding, output_padding", [
    ((2, 2), (1, 1), (1, 1)), ((3, 2), (0, 1), (2, 0)), ((4, 1), (0, 0), (3, 0)), ((5, 5), (0, 0), (0, 0)),
])  # fmt: skip
@pytest.mark.parametrize("dilations", [(1, 1), (2, 3)])
def test_transposed_with_output_padding(device, strides, padding, output_padding, dilations):
    check(device, *build("FLOAT32", 1, 2, 3, 4, (4, 5), (3, 3), BACKWARD, strides=strides, dilations=dilations,
                         start=padding, end=padding, output_padding=output_padding))  # fmt: skip


def test_output_padding_of_a_forward_convolution_holds_the_bias(device):
    case = build("FLOAT32", 1, 1, 3, 4, (6, 7), (3, 3), start=(1, 1), end=(1, 1), output_padding=(2, 1))
    check(device, *case)
    _, arrays, expected, _ = case
    assert np.all(expected[0, :, -1, -1] == arrays["BiasTensor"].ravel())


def test_transposed_crops_what_its_padding_reaches(device):
    check(device, *build("FLOAT32", 1, 1, 4, 4, (5, 6), (4, 4), BACKWARD, strides=(2, 2), start=(3, 2), end=(1, 3)))


@pytest.mark.parametrize("window", [(3, 3), (1, 1), (1, 40)], ids=["direct", "product", "general"])
@pytest.mark.parametrize(
    "activation, reference_of",
    [
        (dml.DML_ACTIVATION_RELU_OPERATOR_DESC(), lambda x: np.maximum(x, 0)),
        (dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-2.0, Max=3.0), lambda x: np.clip(x, -2, 3)),
    ],
    ids=["relu", "clip"],
)
def test_fused_activation(device, window, activation, reference_of):
    desc, arrays, expected, terms = build("FLOAT32", 1, 1, 4, 8, (6, 48), window, activation=activation)
    result = run(device, desc, arrays)["OutputTensor"]
    assert_sums(result, reference_of(expected), terms, products(desc))
    assert len(np.unique(result)) > 10


# --- wrong descriptions -----------------------------------------------------------------------------------------------


FIELDS = ("Strides", "Dilations", "StartPadding", "EndPadding", "OutputPadding")


def plain(**changes):
    fields = {
        "InputTensor": tensor("FLOAT32", (2, 4, 8, 9)),
        "FilterTensor": tensor("FLOAT32", (6, 2, 3, 3)),
        "BiasTensor": tensor("FLOAT32", (1, 6, 1, 1)),
        "OutputTensor": tensor("FLOAT32", (2, 6, 6, 7)),
        "Mode": CORRELATION,
        "Direction": FORWARD,
        "Strides": (1, 1),
        "Dilations": (1, 1),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        "OutputPadding": (0, 0),
        "GroupCount": 2,
    }
    return dml.DML_CONVOLUTION_OPERATOR_DESC(**{**fields, **changes})


@pytest.mark.parametrize(
    "changes, message",
    [
        (dict.fromkeys(FIELDS, (1,)), "Strides: must have 2 item"),
        ({"Dilations": (1, 1, 1)}, "Dilations: must have 2 item"),
        ({"StartPadding": (0,)}, "StartPadding: must have 2 item"),
        ({"EndPadding": (0,)}, "EndPadding: must have 2 item"),
        ({"OutputPadding": (0,)}, "OutputPadding: must have 2 item"),
        ({"Strides": (0, 1)}, "Strides: must be at least 1"),
        ({"Dilations": (1, 0)}, "Dilations: must be at least 1"),
        ({"GroupCount": 0}, "GroupCount: must be at least 1"),
        ({"GroupCount": 3}, "GroupCount: must divide the 4 channels"),
        ({"GroupCount": 4, "FilterTensor": tensor("FLOAT32", (6, 1, 3, 3))}, "GroupCount: must divide the 6 output"),
        ({"FilterTensor": tensor("FLOAT32", (6, 4, 3, 3))}, "FilterTensor: must have size 2 in dimension 1"),
        ({"Direction": BACKWARD}, "FilterTensor: must have size 4 in dimension 0"),
        ({"FilterTensor": tensor("FLOAT32", (6, 2, 9, 3))}, "FilterTensor: must not reach 9 elements over the 8"),
        ({"OutputTensor": tensor("FLOAT32", (2, 6, 6, 6))}, "OutputTensor: must have sizes"),
        ({"OutputTensor": tensor("FLOAT32", (1, 6, 6, 7))}, "OutputTensor: must have sizes"),
        ({"BiasTensor": tensor("FLOAT32", (6, 1, 1, 1))}, "BiasTensor: must have sizes"),
        ({"InputTensor": tensor("FLOAT16", (2, 4, 8, 9))}, "data type"),
        ({"FusedActivation": dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC()}, "FusedActivation: must be an activation"),
    ],
)
def test_refuses(changes, message):
    dml.validate(plain())
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(plain(**changes))
