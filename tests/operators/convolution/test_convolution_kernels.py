"""Every kernel of CONVOLUTION but Winograd's, at sizes that do not fill tiles and loops."""

from __future__ import annotations

import numpy as np
import pytest
from convolution_cases import BACKWARD, CASES, CONVOLUTION, CORRELATION, FORWARD, build, check, of

import dml
from dml.conformance.references import convolution as reference
from harness import like, tensor


@pytest.mark.parametrize(
    "dtype, direction, groups, inputs, window, parts",
    [
        ("FLOAT32", FORWARD, 1, 1, (300, 300), 5),
        ("FLOAT32", FORWARD, 2, 1, (2, 260, 260), 8),
        ("FLOAT16", FORWARD, 1, 1, (260, 260), 7),
        ("FLOAT32", FORWARD, 1, 23001, (3,), 0),
        ("FLOAT32", FORWARD, 1, 61001, (3,), 6),
        ("FLOAT32", BACKWARD, 1, 61001, (3,), 6),
        ("FLOAT32", BACKWARD, 1, 61001, (2,), 4),
    ],
)
def test_more_products_than_a_cpu_driver_loops(device, dtype, direction, groups, inputs, window, parts):
    """Sums of many small integers, exact in float32, so that a loop that stops early gives a wrong result."""
    rng = np.random.default_rng(3)
    rank, kind = len(window), np.dtype(dtype.lower())
    x = rng.integers(0, 3, (1, groups * inputs, *window[:-1], window[-1] + 1)).astype(kind)
    shape = (groups * inputs, 1) if direction == BACKWARD else (groups, inputs)
    w = rng.integers(-2, 4, (*shape, *window)).astype(kind)
    # Backward, padding crops the output to the positions where the whole window overlaps the input.
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


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_kernels_of_gpus(as_discrete, case, direction):
    check(as_discrete, *build("FLOAT32", 2, direction=direction, **case))


@pytest.mark.parametrize("rounds", [1 << 16, 30])
@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize(
    "case",
    [
        of(1, 5, 3, (40,), (90,), strides=(37,), dilations=(2,), start=(9,)),
        of(2, 3, 2, (5, 4), (7, 16), strides=(5, 8), start=(2, 3), end=(1, 9), output_padding=(3, 1)),
        of(3, 2, 1, (4, 6), (9, 11), strides=(6, 10), dilations=(4, 3), start=(5, 7)),
        of(1, 2, 4, (3, 2, 5), (2, 5, 7), strides=(2, 4, 6), dilations=(3, 6, 4), end=(1, 0, 2)),
        of(1, 2, 2, (7,), (3,), strides=(1 << 16,), start=(5,)),
    ],
    ids=range(5),
)
def test_backward_with_more_phases_than_kernels(device, monkeypatch, case, mode, rounds):
    """The general kernel visits only the taps that meet an element of x, in one dispatch or several."""
    monkeypatch.setattr("dml.compiler.operators.convolution.general.general_rounds", lambda *_: rounds)
    desc, arrays, expected, terms = build("FLOAT32", 2, direction=BACKWARD, mode=mode, **case)
    assert "dispatch convolution/general.comp" in device.compile_operator(device.create_operator(desc)).describe()
    check(device, desc, arrays, expected, terms)


@pytest.mark.parametrize("sizes", [(1, 1), (7, 7), (16, 16), (3, 40)])
@pytest.mark.parametrize("channels", [(3, 16), (16, 20), (1, 1)])
def test_tiles(device, sizes, channels):
    inputs, outputs = channels
    case = build("FLOAT32", 1, 1, inputs, outputs, sizes, (3, 3), start=(1, 1), end=(1, 1))
    check(device, *case)


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
@pytest.mark.parametrize("groups", [1, 6])
def test_a_column_is_computed_as_a_row(device, groups, direction, layout):
    """A row's tiles lie along it; a column's would have one element each."""

    def along(axis):
        def pair(size, other):
            return (size, other) if axis == 2 else (other, size)

        return build(
            "FLOAT32", 2, groups, 6 // groups, 6 // groups, pair(301, 1), pair(5, 1), direction,
            strides=pair(2, 1), dilations=pair(3, 1), start=pair(2, 0), end=pair(3, 0), layout=layout,
        )  # fmt: skip

    column = along(2)
    check(device, *column)
    programs = [device.compile_operator(device.create_operator(case[0])).program for case in (column, along(3))]
    kernels = [[dispatch.label for dispatch in program.dispatches] for program in programs]
    assert kernels[0] == kernels[1]
    groups_of = [[dispatch.groups for dispatch in program.dispatches] for program in programs]
    assert groups_of[0] == groups_of[1]


@pytest.mark.parametrize(
    "groups, inputs, outputs, window",
    [
        (1, 4, 8, (3, 3)),
        (1, 3, 16, (3, 3)),
        (2, 5, 12, (3, 3)),
        (1, 3, 12, (7, 7)),
        (3, 8, 20, (1, 3)),
        (1, 4, 9, (3,)),
    ],
)
def test_filters_laid_out_in_fours(device, monkeypatch, groups, inputs, outputs, window):
    """Results equal those of the element-by-element weight layout bit for bit, also where channels are not aligned to
    four or do not fill a tile."""
    if not device.vulkan.target.is_cpu:
        pytest.skip("only CPUs' drivers lay them out so")
    found = []
    for in_fours in (True, False):
        monkeypatch.setattr(
            "dml.compiler.operators.convolution.direct.lays_weights_in_fours", lambda target, chosen=in_fours: chosen
        )
        # strides of 2 select the direct kernel
        desc, arrays, _, _ = build(
            "FLOAT32", 1, groups, inputs, outputs, (19,) * len(window), window, strides=(2,) * len(window)
        )
        compiled = device.compile_operator(device.create_operator(desc))
        assert ("weights_in_fours" in compiled.describe()) == in_fours
        found.append(compiled.dispatch(arrays)["OutputTensor"])
    assert found[0].tobytes() == found[1].tobytes()
