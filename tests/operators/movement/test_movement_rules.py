"""Refusals of the movement operators, and the feature levels from which they accept data types and ranks."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import like, output, refuse
from test_casts_values import cast_of
from test_fills_values import MATRIX, constant_of, diagonal1_of, diagonal_of, one_hot_of, scale_of, sequence_of
from test_folds_values import WINDOWS, attributes, fold_of, unfold_of
from test_gathers_values import elements_of, gather_of, nd_of
from test_paddings_values import PAGE, pad_of
from test_rearrangements_values import DEPTH, SPACE, rearrange, reverse_of
from test_scatters_values import scatter_nd_of, scatter_of
from test_slices_values import SQUARE, grad_of, join_of, slice1_of, slice_of, split_of, tile_of

import dml


def test_cast_rules():
    good = cast_of(np.zeros((2, 3), np.float32), "INT8")
    dml.validate(good)
    refuse(good.replace(OutputTensor=output("INT8", (2, 2))), "OutputTensor", "sizes")
    refuse(good.replace(OutputTensor=output("INT8", (1, 2, 3))), "OutputTensor", "dimension count")
    refuse(good.replace(OutputTensor=output("INT4", (2, 3))), "OutputTensor.DataType")


@pytest.mark.parametrize("make", [lambda *a: constant_of(*a, 1), lambda *a: sequence_of(*a, 1, 2)])
def test_fill_rules(make):
    good = make("INT32", (2, 3))
    refuse(good.replace(ValueDataType=dml.DML_TENSOR_DATA_TYPE_UINT32), "ValueDataType", "INT32")
    refuse(good.replace(OutputTensor=output("INT8", (2, 3))), "ValueDataType", "INT8")


def test_diagonal1_rules():
    good = diagonal1_of("FLOAT32", (4, 5), 1, 0, 1, MATRIX)
    refuse(good.replace(ValueDataType=dml.DML_TENSOR_DATA_TYPE_INT8), "ValueDataType", "FLOAT32")
    refuse(good.replace(OutputTensor=output("FLOAT32", (4, 4))), "InputTensor", "(4, 4)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (5,))), "OutputTensor.DimensionCount")


def test_one_hot_rules():
    good = one_hot_of(np.zeros((2, 1), np.int32), np.zeros((1, 2), np.float32), (2, 3), 1)
    dml.validate(good)
    refuse(good.replace(Axis=2), "Axis", "from 0 to 1")
    refuse(good.replace(Axis=0), "IndicesTensor", "(1, 3)")
    refuse(good.replace(ValuesTensor=output("FLOAT32", (1, 1))), "ValuesTensor", "at least two")
    refuse(good.replace(ValuesTensor=output("FLOAT16", (1, 2))), "data type")


def test_value_scale_2d_rules():
    good = scale_of(np.zeros((1, 3, 2, 2), np.float32), 1.0, (1.0, 2.0, 3.0))
    dml.validate(good)
    refuse(good.replace(Bias=(1.0, 2.0)), "ChannelCount", "1 or 3")
    refuse(good.replace(Bias=(1.0,)), "InputTensor", "size 1")
    refuse(good.replace(OutputTensor=output("FLOAT32", (1, 3, 2, 3))), "OutputTensor", "sizes")


def test_diagonal_rules():
    good = diagonal_of("FLOAT32", (2, 3), 0, 1.0)
    dml.validate(good)
    refuse(good.replace(OutputTensor=output("FLOAT32", (3,))), "OutputTensor.DimensionCount", "2 to 4")
    refuse(good.replace(OutputTensor=output("FLOAT32", (1, 1, 1, 2, 3))), "OutputTensor.DimensionCount", "2 to 4")
    refuse(good.replace(Offset=2**31), "Offset", "must be an integer from")
    with pytest.raises(dml.DMLError, match="must be 4 at feature level 2_1"):
        dml.validate(good, dml.DML_FEATURE_LEVEL_2_1)


def test_fold_and_unfold_rules():
    x = np.zeros((2, 3, 7, 6), np.float32)
    window = WINDOWS[1][1]
    good = unfold_of(x, *window)
    dml.validate(good)
    back = fold_of(np.zeros(good.OutputTensor.Sizes, np.float32), x.shape, *window)
    dml.validate(back)
    for desc, columns in ((good, "OutputTensor"), (back, "InputTensor")):
        refuse(desc.replace(**{columns: output("FLOAT32", (2, 18, 7))}), columns, "channels * window elements")
        refuse(desc.replace(Strides=(0, 1)), "Strides", "at least 1")
        refuse(desc.replace(Dilations=(1, 0)), "Dilations", "at least 1")
        refuse(desc.replace(WindowSizes=(0, 3)), "WindowSizes", "at least 1")
        refuse(desc.replace(WindowSizes=(2, 9)), "WindowSizes", "spatial dimension 1")
        refuse(desc.replace(Strides=(1,)), "Strides", "2 item(s)")
        shorter = {name: getattr(desc, name)[1:] for name in attributes(*window)}
        refuse(desc.replace(**shorter), "WindowSizes", "2 item(s)")


def test_gather_rules():
    x, indices = np.zeros((1, 3, 4), np.float32), np.zeros((1, 2, 5), np.int32)
    good = gather_of(x, indices, (2, 5, 4), 1, 2)
    dml.validate(good)
    refuse(good.replace(Axis=3), "Axis", "from 0 to 2")
    refuse(good.replace(IndexDimensions=4), "IndexDimensions", "from 0 to 3")
    refuse(good.replace(IndexDimensions=1), "IndicesTensor", "size 1 before its last 1")
    refuse(good.replace(OutputTensor=output("FLOAT32", (2, 5, 3))), "OutputTensor", "(2, 5, 4)")
    refuse(good.replace(OutputTensor=output("INT32", (2, 5, 4))), "OutputTensor", "data type")
    refuse(good.replace(Axis=2, OutputTensor=output("FLOAT32", (2, 5, 4))), "OutputTensor", "(3, 2, 5)")
    refuse(
        gather_of(np.zeros((2, 3, 4), np.float32), indices, (2, 5, 4), 1, 2), "IndexDimensions", "no more dimensions"
    )
    with pytest.raises(dml.DMLError, match="DimensionCount: must be 4 at feature level 2_0"):
        dml.validate(good, dml.DML_FEATURE_LEVEL_2_0)


def test_gather_elements_rules():
    good = elements_of(np.zeros((3, 4), np.float32), np.zeros((2, 4), np.int32), 0)
    dml.validate(good)
    refuse(good.replace(Axis=2), "Axis", "from 0 to 1")
    refuse(good.replace(IndicesTensor=output("INT32", (2, 3))), "IndicesTensor", "(2, 4)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (3, 4))), "OutputTensor", "(2, 4)")


@pytest.mark.parametrize("batches", [None, 0])
def test_gather_nd_rules(batches):
    x, indices = np.zeros((1, 3, 4, 5), np.float32), np.zeros((1, 1, 6, 2), np.int32)
    good = nd_of(x, indices, (1, 1, 6, 5), 3, 2, batches)
    dml.validate(good)
    refuse(good.replace(InputDimensionCount=5), "InputDimensionCount", "from 1 to 4")
    refuse(good.replace(InputDimensionCount=2), "InputTensor", "size 1 before its last 2")
    refuse(good.replace(IndicesDimensionCount=0), "IndicesDimensionCount", "from 1 to 4")
    refuse(good.replace(IndicesDimensionCount=1), "IndicesTensor", "size 1 before its last 1")
    refuse(good.replace(IndicesTensor=output("INT32", (1, 1, 6, 4))), "IndicesTensor", "at most 3")
    refuse(good.replace(OutputTensor=output("FLOAT32", (1, 1, 6, 4))), "OutputTensor", "(1, 1, 6, 5)")
    many = nd_of(x, np.zeros((2, 2, 6, 1), np.int32), (1, 1, 6, 5), 3, 4, batches)
    refuse(many, "IndicesDimensionCount", "no more dimensions")


def test_gather_nd1_rules():
    x, indices = np.zeros((2, 3, 4, 5), np.float32), np.zeros((1, 2, 6, 1), np.int32)
    good = nd_of(x, indices, (2, 6, 4, 5), 4, 3, 1)
    dml.validate(good)
    refuse(good.replace(BatchDimensionCount=3), "BatchDimensionCount", "below")
    refuse(good.replace(IndicesTensor=output("INT32", (1, 3, 6, 1))), "IndicesTensor", "batch dimensions")
    refuse(good.replace(IndicesTensor=output("INT32", (1, 2, 6, 4))), "IndicesTensor", "at most 3")


@pytest.mark.parametrize("typed", [False, True])
def test_padding_rules(typed):
    good = pad_of(PAGE, "CONSTANT", (0, 0, 1, 2), (0, 0, 3, 4), 1, typed=typed)
    refuse(good.replace(StartPadding=(0, 1, 2), EndPadding=(0, 3, 4)), "StartPadding", "4 item(s)")
    refuse(good.replace(EndPadding=(0, 0, 3)), "EndPadding", "4 item(s)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (1, 1, 8, 9))), "OutputTensor", "(1, 1, 8, 10)")
    refuse(good.replace(OutputTensor=output("INT32", (1, 1, 8, 10))), "OutputTensor", "data type")
    wrap = pad_of(PAGE, "WRAP", (0, 0, 4, 5), (0, 0, 0, 0), typed=typed)
    refuse(wrap, "StartPadding", "at most 4")
    refuse(pad_of(PAGE, "WRAP", (0, 0, 4, 0), (0, 0, 0, 5), typed=typed), "EndPadding", "at most 4")
    if typed:
        refuse(good.replace(PaddingValueDataType=dml.DML_TENSOR_DATA_TYPE_INT32), "PaddingValueDataType", "FLOAT32")


def test_younger_modes_need_their_levels():
    desc = pad_of(PAGE, "SYMMETRIC", (0, 0, 1, 1), (0, 0, 0, 0))
    with pytest.raises(dml.DMLError, match="SYMMETRIC is available from feature level 3_0"):
        dml.validate(desc, dml.DML_FEATURE_LEVEL_2_0)
    desc = pad_of(PAGE, "WRAP", (0, 0, 1, 1), (0, 0, 0, 0))
    with pytest.raises(dml.DMLError, match="WRAP is available from feature level 6_4"):
        dml.validate(desc, dml.DML_FEATURE_LEVEL_6_3)


@pytest.mark.parametrize("suffix", ["", "1"])
def test_depth_and_space_rules(suffix):
    order = "DEPTH_COLUMN_ROW" if suffix else None
    to_space = getattr(dml, f"DML_DEPTH_TO_SPACE{suffix}_OPERATOR_DESC")
    to_depth = getattr(dml, f"DML_SPACE_TO_DEPTH{suffix}_OPERATOR_DESC")
    space = SPACE["DEPTH_COLUMN_ROW"]
    good = rearrange(to_space, DEPTH, space.shape, 2, order)
    refuse(good.replace(BlockSize=0), "BlockSize", "at least 1")
    refuse(good.replace(BlockSize=3), "InputTensor", "9")
    refuse(good.replace(BlockSize=4), "InputTensor", "16")  # 4 divides the channels, but 16 does not
    refuse(good.replace(OutputTensor=output("UINT32", (1, 2, 6, 4))), "OutputTensor", "(1, 2, 4, 6)")
    refuse(good.replace(OutputTensor=output("INT32", (1, 2, 4, 6))), "OutputTensor", "data type")
    good = rearrange(to_depth, space, DEPTH.shape, 2, order)
    refuse(good.replace(BlockSize=0), "BlockSize", "at least 1")
    refuse(good.replace(BlockSize=3), "InputTensor", "multiples of BlockSize, 3")
    refuse(good.replace(OutputTensor=output("UINT32", (1, 8, 3, 2))), "OutputTensor", "(1, 8, 2, 3)")


def test_reverse_rules():
    x, lengths = np.zeros((2, 3, 4), np.float32), np.zeros((2, 1, 4), np.uint32)
    good = reverse_of(x, lengths, 1)
    dml.validate(good)
    refuse(good.replace(Axis=3), "Axis", "from 0 to 2")
    refuse(good.replace(Axis=0), "SequenceLengthsTensor", "(1, 3, 4)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (2, 3, 5))), "OutputTensor", "(2, 3, 4)")
    refuse(good.replace(OutputTensor=output("FLOAT16", (2, 3, 4))), "OutputTensor", "data type")
    refuse(good.replace(SequenceLengthsTensor=output("INT32", (2, 1, 4))), "SequenceLengthsTensor.DataType")
    refuse(good.replace(SequenceLengthsTensor=output("UINT32", (1, 4))), "dimension count")


def test_scatter_rules():
    x, indices, updates = np.zeros((3, 4), np.float32), np.zeros((2, 4), np.int32), np.zeros((2, 4), np.float32)
    good = scatter_of(x, indices, updates, 0)
    dml.validate(good)
    refuse(good.replace(Axis=2), "Axis", "from 0 to 1")
    refuse(good.replace(IndicesTensor=output("INT32", (2, 3))), "IndicesTensor", "(2, 4)")
    refuse(good.replace(UpdatesTensor=output("FLOAT32", (3, 4))), "UpdatesTensor", "(2, 4)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (2, 4))), "OutputTensor", "(3, 4)")
    refuse(good.replace(UpdatesTensor=output("INT32", (2, 4))), "data type")


def test_scatter_nd_rules():
    x, indices, updates = (
        np.zeros((3, 4, 5), np.float32),
        np.zeros((1, 6, 2), np.int32),
        np.zeros((1, 6, 5), np.float32),
    )
    good = scatter_nd_of(x, indices, updates, 3, 2)
    dml.validate(good)
    refuse(good.replace(InputDimensionCount=4), "InputDimensionCount", "from 1 to 3")
    refuse(good.replace(InputDimensionCount=2), "InputTensor", "size 1 before its last 2")
    refuse(good.replace(IndicesDimensionCount=4), "IndicesDimensionCount", "from 1 to 3")
    refuse(good.replace(IndicesTensor=output("INT32", (1, 6, 4))), "IndicesTensor", "at most 3")
    refuse(good.replace(UpdatesTensor=output("FLOAT32", (1, 6, 4))), "UpdatesTensor", "(1, 6, 5)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (3, 4, 4))), "OutputTensor", "(3, 4, 5)")
    refuse(good.replace(UpdatesTensor=output("FLOAT16", (1, 6, 5))), "data type")


def test_slice_rules():
    def slice_(**changes):
        return slice_of(SQUARE, (0, 0, 1, 2), (1, 1, 3, 2), (1, 1, 1, 1)).replace(**changes)

    refuse(slice_(Strides=(1, 1, 0, 1)), "Strides", "at least 1")
    refuse(slice_(Offsets=(0, 0, 2, 2)), "Offsets", "dimension 2 of InputTensor")
    refuse(slice_(OutputTensor=output("FLOAT32", (1, 1, 3, 1))), "OutputTensor", "(1, 1, 3, 2)")
    refuse(slice_(OutputTensor=output("INT32", (1, 1, 3, 2))), "OutputTensor", "data type")
    refuse(slice_(Offsets=(0, 1, 2), Sizes=(1, 3, 2), Strides=(1, 1, 1)), "Offsets", "4 item(s)")
    refuse(slice_(Strides=(1, 1)), "Strides", "4 item(s)")


@pytest.mark.parametrize("gradient", [False, True])
def test_slice1_rules(gradient):
    window = ((0, 0, 0, 1), (1, 1, 4, 3), (1, 1, -2, 2))
    if gradient:
        desc = grad_of(SQUARE[:, :, :2, :2], SQUARE.shape, *window)
        sliced = "InputGradientTensor"
    else:
        desc, sliced = slice1_of(SQUARE, *window), "OutputTensor"
    dml.validate(desc)
    refuse(desc.replace(InputWindowStrides=(1, 1, 0, 2)), "InputWindowStrides", "must not be 0")
    refuse(desc.replace(InputWindowOffsets=(0, 0, 1, 1)), "InputWindowSizes", "dimension 2")
    refuse(desc.replace(InputWindowSizes=(1, 0, 4, 3)), "InputWindowSizes", "at least 1")
    refuse(desc.replace(**{sliced: output("FLOAT32", (1, 1, 2, 3))}), sliced, "at most sizes (1, 1, 2, 2)")
    refuse(desc.replace(**{sliced: output("FLOAT32", (1, 2, 2))}), "dimension count")
    short = {name: getattr(desc, name)[1:] for name in ("InputWindowOffsets", "InputWindowSizes", "InputWindowStrides")}
    refuse(desc.replace(**short), "InputWindowOffsets", "4 item(s)")


def test_split_and_join_rules():
    x = np.zeros((2, 6), np.float32)
    good = split_of(x, (2, 4), 1)
    refuse(good.replace(Axis=2), "Axis", "from 0 to 1")
    refuse(good.replace(OutputTensors=(output("FLOAT32", (2, 2)), output("FLOAT32", (2, 3)))), "OutputTensors", "6")
    refuse(good.replace(OutputTensors=(output("FLOAT32", (2, 2)), output("FLOAT32", (1, 4)))), "OutputTensors[1]")
    refuse(good.replace(OutputTensors=()), "OutputTensors", "at least one")
    parts = [np.zeros((2, 2), np.float32), np.zeros((2, 4), np.float32)]
    good = join_of(parts, 1)
    refuse(good.replace(Axis=2), "Axis", "from 0 to 1")
    refuse(good.replace(OutputTensor=output("FLOAT32", (2, 7))), "InputTensors", "7")
    refuse(good.replace(InputTensors=(like(parts[0]), output("FLOAT32", (3, 4)))), "InputTensors[1]")


def test_tile_rules():
    good = tile_of(np.zeros((2, 3), np.float32), (2, 2))
    refuse(good.replace(Repeats=(2, 0)), "Repeats", "at least 1")
    refuse(good.replace(Repeats=(2, 2, 1)), "Repeats", "2 item(s)")
    refuse(good.replace(OutputTensor=output("FLOAT32", (4, 5))), "OutputTensor", "(4, 6)")
