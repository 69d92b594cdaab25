"""CONVOLUTION whose channels are blocks of results: backward with long strides, or with long filters along rows; and
phases without taps."""

from __future__ import annotations

import pytest
from convolution_cases import BACKWARD, CONVOLUTION, CORRELATION, FORWARD, build, check, of

from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target

#: Overlapping windows, windows that are not multiples of the stride, padding within a block and beyond, channels,
#: groups, planes, one block.
BLOCKS = [
    of(1, 5, 1, (9,), (100,), strides=(40,)),
    of(1, 3, 2, (6,), (123,), strides=(41,), start=(50,), end=(7,)),
    of(1, 2, 3, (5, 4), (16, 14), strides=(8, 7), start=(4, 3), end=(4, 5)),
    of(6, 1, 1, (5, 6), (16, 16), strides=(8, 8), start=(4, 4), end=(4, 4)),
    of(3, 1, 2, (4, 4), (10, 9), strides=(7, 7), start=(0, 7), end=(3, 0), output_padding=(2, 0)),
    of(1, 2, 2, (3, 4, 2), (8, 5, 8), strides=(4, 4, 4), start=(1, 0, 2)),
    of(1, 4, 1, (1,), (50,), strides=(60,), start=(6,), end=(9,)),
    of(1, 2, 1, (6, 3), (50, 3), strides=(37, 1), dilations=(1, 1), start=(3, 1)),
]
#: Dilated windows, several groups of several channels, padding as long as the window, few weights of a block: another
#: kernel.
NO_BLOCKS = [
    of(1, 3, 2, (6,), (20,), strides=(40,), dilations=(3,)),
    of(2, 2, 1, (6,), (80,), strides=(40,)),
    of(1, 2, 1, (6,), (40,), strides=(40,), start=(41,), end=(3,)),
    of(1, 2, 1, (6, 5), (2, 2), strides=(7, 7)),
]
#: Results that no window reaches: the bias alone.
HOLES = [
    of(1, 3, 4, (5, 6), (2, 2), strides=(3, 3)),
    of(2, 2, 3, (6, 5), (3, 3), strides=(2, 2), dilations=(2, 2), start=(1, 0)),
    of(4, 1, 1, (9,), (1,), strides=(5,), end=(2,), output_padding=(3,)),
]
CASES = [*BLOCKS, *NO_BLOCKS, *HOLES]
#: Few phases, of few output channels.
FEW = [
    of(1, 20, 1, (30,), (16,), strides=(8,), start=(4,), end=(4,)),
    of(1, 9, 8, (7, 6), (3, 3), strides=(2, 2), start=(1, 1), output_padding=(1, 0)),
]
#: The same with more channels, of groups, or with dilated windows.
NO_FEW = [
    of(1, 9, 9, (7, 6), (3, 3), strides=(2, 2), start=(1, 1)),
    of(2, 1, 4, (7, 6), (3, 3), strides=(2, 2), start=(1, 1)),
    of(1, 9, 2, (9,), (4,), strides=(3,), dilations=(2,)),
]
#: Filters too long for the direct kernel: padded and not, of several groups, along columns, in rows and planes, less
#: than a block.
ROWS = [
    of(1, 1, 1, (230,), (165,), start=(82,), end=(82,)),
    of(1, 1, 3, (300,), (140,)),
    of(5, 1, 1, (150,), (131,), start=(65,), end=(65,)),
    of(3, 1, 2, (200, 1), (130, 1), start=(5, 0), end=(70, 0)),
    of(1, 1, 16, (5, 40), (1, 70), start=(0, 35), end=(1, 36), strides=(2, 1)),
    of(2, 1, 1, (2, 3, 180), (1, 1, 150), start=(0, 0, 9), end=(0, 0, 0)),
]
#: Short filters, of several channels, that move by two, are dilated, extend along two axes, or have many outputs.
NO_ROWS = [
    of(1, 1, 1, (230,), (65,), start=(32,), end=(32,)),
    of(1, 2, 1, (230,), (165,), start=(32,), end=(32,)),
    of(1, 1, 1, (230,), (165,), start=(32,), end=(32,), strides=(2,)),
    of(1, 1, 1, (330,), (165,), start=(32,), end=(32,), dilations=(2,)),
    of(1, 1, 1, (9, 230), (2, 165), start=(0, 32), end=(0, 32)),
    of(1, 1, 16, (300,), (164,)),
]


def kernels(case, direction=BACKWARD):
    desc, *_ = build("FLOAT32", 1, direction=direction, **case)
    return {dispatch.label for dispatch in compile_operator(desc, Target(DeviceClass.CPU)).dispatches}


@pytest.mark.parametrize("case", BLOCKS + HOLES, ids=range(len(BLOCKS + HOLES)))
def test_long_strides_and_holes_avoid_the_general_kernel(case):
    assert not any("general" in kernel for kernel in kernels(case))


@pytest.mark.parametrize("case", NO_BLOCKS, ids=range(len(NO_BLOCKS)))
def test_others_take_the_general_kernel(case):
    assert any("general" in kernel for kernel in kernels(case))


@pytest.mark.kind
@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_values(device, dtype, mode, case):
    check(device, *build(dtype, 2, mode=mode, direction=BACKWARD, bias=mode == CORRELATION, **case))


def test_results_of_other_strides(device):
    check(device, *build("FLOAT32", 2, direction=BACKWARD, layout="padded", **BLOCKS[2]))


@pytest.mark.parametrize("case", ROWS, ids=range(len(ROWS)))
def test_long_filters_are_products_of_blocks(case):
    assert {"movement/unfold.comp", "gemm/tiled.comp"} <= kernels(case, FORWARD)


@pytest.mark.parametrize("case", NO_ROWS, ids=range(len(NO_ROWS)))
def test_other_filters_have_no_blocks(case):
    assert "movement/unfold.comp" not in kernels(case, FORWARD)


@pytest.mark.kind
@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", ROWS + NO_ROWS, ids=range(len(ROWS + NO_ROWS)))
def test_values_of_long_filters(device, dtype, mode, case):
    check(device, *build(dtype, 2, mode=mode, bias=mode == CORRELATION, **case))


@pytest.mark.parametrize(("case", "copies"), [*((case, True) for case in FEW), *((case, False) for case in NO_FEW)])
def test_phases_of_few_channels_go_by_blocks_on_cpus(case, copies):
    assert ("movement/unfold.comp" in kernels(case)) == copies


@pytest.mark.kind
@pytest.mark.parametrize("mode", [CORRELATION, CONVOLUTION])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", FEW + NO_FEW, ids=range(len(FEW + NO_FEW)))
def test_values_of_few_phases(device, dtype, mode, case):
    check(device, *build(dtype, 2, mode=mode, direction=BACKWARD, bias=mode == CORRELATION, **case))
