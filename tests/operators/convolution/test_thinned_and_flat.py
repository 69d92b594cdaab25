"""CONVOLUTION with strided 1-element windows, with results of one row, and of one channel along one axis, on CPU
drivers."""

from __future__ import annotations

import pytest
from convolution_cases import BACKWARD, CONVOLUTION, build, check, of

from dml.compiler.lowering import compile_operator
from dml.compiler.selection.convolution import WindowSizes, direct_tile
from dml.compiler.target import DeviceClass, Target

#: Strided windows of one element.
THIN = [
    of(1, 12, 20, (9, 11), (1, 1), strides=(2, 2)),
    of(2, 8, 16, (8, 9), (1, 1), strides=(2, 3)),
    of(1, 7, 33, (16,), (1,), strides=(4,)),
    of(1, 5, 17, (6, 7, 8), (1, 1, 1), strides=(1, 2, 1)),
    of(1, 4, 16, (6, 6), (1, 1), strides=(2, 2), start=(1, 0), end=(0, 1)),
    of(1, 4, 16, (5, 4), (1, 1), strides=(2, 1), end=(2, 0)),
    of(1, 4, 16, (4, 1), (1, 1), strides=(1, 2), end=(1, 0)),
]
#: Results of one row: many channels and few, long windows and short, wide and narrow.
FLAT = [
    of(1, 6, 24, (50,), (3,), start=(1,), end=(1,)),
    of(1, 5, 7, (7,), (5,), strides=(2,), start=(2,), end=(2,)),
    of(9, 1, 1, (70,), (31,), start=(15,), end=(15,)),
    of(2, 3, 3, (33,), (7,), dilations=(3,)),
    of(1, 3, 10, (5, 40), (5, 3), start=(0, 1), end=(0, 1)),
]


#: Windows of one channel along one axis: overlapping as in a Fourier transform, side by side, one element apart,
#: dilated, along a column, and along the rows of an image.
LINES = [
    of(1, 1, 20, (1100,), (256,), strides=(64,)),
    of(1, 1, 9, (1, 130), (1, 40), strides=(1, 40)),
    of(1, 1, 13, (90,), (64,)),
    of(1, 1, 16, (150,), (40,), strides=(3,), dilations=(2,)),
    of(1, 1, 12, (120, 1), (64, 1), strides=(8, 1)),
    of(1, 1, 10, (4, 64), (1, 32), strides=(1, 32)),
]
#: The same with padding, several channels or groups, places that are not evenly spaced, or few outputs of windows that
#: move by one: other kernels.
NO_LINES = [
    of(1, 1, 8, (100,), (64,), start=(3,), strides=(4,)),
    of(1, 1, 8, (60,), (64,), end=(9,), strides=(2,)),
    of(1, 2, 8, (100,), (64,), strides=(4,)),
    of(2, 1, 8, (100,), (64,), strides=(4,)),
    of(1, 1, 8, (5, 40), (1, 30), strides=(1, 2)),
    of(1, 1, 7, (90,), (64,)),
]
#: Windows that are copied side by side: padded, of several channels and groups, cut at the end, apart in a plane.
UNFOLDED = [
    of(1, 1, 12, (600,), (400,), start=(200,), end=(200,), strides=(160,)),
    of(1, 3, 17, (500,), (200,), strides=(50,), dilations=(2,)),
    of(2, 2, 16, (1, 700), (1, 256), strides=(1, 64), end=(0, 60)),
    of(1, 2, 13, (3, 300), (2, 256), strides=(1, 3), start=(1, 0)),
    of(1, 3, 20, (64, 64), (32, 32), strides=(32, 32)),
]
CASES = [*THIN, *FLAT, *LINES, *NO_LINES, *UNFOLDED]


@pytest.mark.parametrize("layout", ["packed", "padded"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_values(device, case, dtype, layout):
    check(device, *build(dtype, 2, layout=layout, **case))


@pytest.mark.parametrize("case", [*LINES, *NO_LINES], ids=range(len(LINES) + len(NO_LINES)))
def test_windows_of_one_channel_along_an_axis_are_a_product(case):
    desc, *_ = build("FLOAT32", 1, **case)
    program = compile_operator(desc, Target(DeviceClass.CPU))
    labels = [dispatch.label for dispatch in program.dispatches]
    assert ("gemm/tiled.comp" in labels) == (case in LINES)


def test_a_backward_window_of_which_every_second_element_counts(device):
    """One result, and a stride of two: the window's other elements fall between those of x."""
    case = of(1, 1, 20, (101,), (201,), strides=(2,), start=(200,), end=(200,))
    desc, *more = build("FLOAT32", 2, direction=BACKWARD, mode=CONVOLUTION, **case)
    labels = [dispatch.label for dispatch in compile_operator(desc, Target(DeviceClass.CPU)).dispatches]
    assert labels == ["gemm/tiled.comp"]
    check(device, desc, *more)


@pytest.mark.parametrize("case", UNFOLDED, ids=range(len(UNFOLDED)))
def test_long_windows_are_copied_side_by_side(case):
    desc, *_ = build("FLOAT32", 2, **case)
    labels = [dispatch.label for dispatch in compile_operator(desc, Target(DeviceClass.CPU)).dispatches]
    assert labels[0] == "movement/unfold.comp"
    assert labels[-1] == "gemm/tiled.comp"


@pytest.mark.parametrize("case", THIN[:4], ids=range(4))
def test_a_cpu_driver_multiplies_only_the_windows_elements(case):
    desc, *_ = build("FLOAT32", 1, **case)
    program = compile_operator(desc, Target(DeviceClass.CPU))
    labels = [dispatch.label for dispatch in program.dispatches]
    assert "gemm/tiled.comp" in labels
    assert "convolution/direct.comp" not in labels


@pytest.mark.parametrize(("outputs", "places"), [(24, 50), (1, 50), (24, 6)])
def test_a_result_of_one_row_takes_a_tile_of_one(outputs, places):
    sizes = WindowSizes(1, 1, 6, outputs, (1, 1, places), (1, 1, 3), (1, 1, 1), (1, 1, 1))
    tile = direct_tile(Target(DeviceClass.CPU), sizes)
    assert tile is not None
    assert tile.rows == 1
