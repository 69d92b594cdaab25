"""One small valid description of every operator, with all of its optional tensors.

Tensors are written as a data type (FLOAT32 by default) and sizes, "UINT8 1x2x5"; arrays of tensors as lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import dml
from dml.descriptors import operators
from harness import tensor

NAMES = [kind.name.removeprefix("DML_OPERATOR_") for kind in operators()]

X = "1x2x4x6"
_RELU = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
_SIGMOID, _TANH = dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()
_UNARY = {"InputTensor": X, "OutputTensor": X}
_NO_SCALE = {"ScaleBias": None}
_SCALAR, _BYTE = "1x1x1x1", "UINT8 1x1x1x1"

# Windows of 3 x 3, with a step of 1, over X.
_WINDOW = {"Strides": (1, 1), "WindowSize": (3, 3), "StartPadding": (1, 0), "EndPadding": (1, 0)}
_POOLED = "1x2x4x4"
_POOL = {"InputTensor": X, "OutputTensor": _POOLED, **_WINDOW}
_POOL_GRAD = {"InputGradientTensor": _POOLED, "OutputGradientTensor": X, **_WINDOW}
_DILATED = {"Dilations": (1, 1)}
_CONVOLUTION = {
    "Strides": (1, 1),
    "Dilations": (1, 1),
    "StartPadding": (1, 1),
    "EndPadding": (1, 1),
    "GroupCount": 1,
}
_CONVOLVED = {"input": X, "filter": "4x2x3x3", "output": "1x4x4x6"}

_CHANNELS = "1x2x1x1"
_MOMENTS = {"ScaleTensor": X, "BiasTensor": X, "Epsilon": 1e-3, "FusedActivation": _RELU}
_BATCH = {"MeanTensor": _CHANNELS, "VarianceTensor": _CHANNELS, "ScaleTensor": _CHANNELS, "Epsilon": 1e-3}
_BATCH_GRAD = {
    "InputTensor": X,
    "InputGradientTensor": X,
    **_BATCH,
    "OutputGradientTensor": X,
    "OutputScaleGradientTensor": _CHANNELS,
    "OutputBiasGradientTensor": _CHANNELS,
}
_RESPONSE = {"CrossChannel": True, "LocalSize": 3, "Alpha": 0.5, "Beta": 0.75, "Bias": 1.0}

_SLICED = {"InputWindowOffsets": (0, 0, 1, 1), "InputWindowSizes": (1, 2, 3, 4), "InputWindowStrides": (1, 1, 2, -1)}
_PADDED = {"StartPadding": (0, 0, 1, 1), "EndPadding": (0, 1, 0, 2), "PaddingMode": dml.DML_PADDING_MODE_CONSTANT}
_PADDING = {"InputTensor": X, "OutputTensor": "1x3x5x9", **_PADDED}
_FOLD = {
    "WindowSizes": (2, 2),
    "Strides": (1, 1),
    "Dilations": (1, 1),
    "StartPadding": (0, 0),
    "EndPadding": (0, 0),
}
_DEPTH_LAST = {"Order": dml.DML_DEPTH_SPACE_ORDER_COLUMN_ROW_DEPTH}
_NEAREST = {"InterpolationMode": dml.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR}
_LINEAR = {"InterpolationMode": dml.DML_INTERPOLATION_MODE_LINEAR}
_DOUBLED = "1x2x8x12"
_RESAMPLE = {
    "InputTensor": X,
    "OutputTensor": _DOUBLED,
    **_LINEAR,
    "Scales": (1, 1, 2, 2),
    "InputPixelOffsets": (0.5,) * 4,
    "OutputPixelOffsets": (-0.5,) * 4,
}
_RESAMPLE_GRAD = {
    **{name: value for name, value in _RESAMPLE.items() if not name.endswith("Tensor")},
    "InputGradientTensor": _DOUBLED,
    "OutputGradientTensor": X,
}
_ROUNDED = {"RoundingDirection": dml.DML_AXIS_DIRECTION_DECREASING}
_ALIGN = {
    "InputTensor": X,
    "ROITensor": "1x1x3x4",
    "BatchIndicesTensor": "UINT32 1x1x1x3",
    "OutputTensor": "3x2x2x2",
    "ReductionFunction": dml.DML_REDUCE_FUNCTION_AVERAGE,
    **_LINEAR,
    "SpatialScaleX": 1.0,
    "SpatialScaleY": 1.0,
    "OutOfBoundsInputValue": 0.0,
    "MinimumSamplesPerOutput": 1,
    "MaximumSamplesPerOutput": 4,
}
_ALIGN1 = {**_ALIGN, "InputPixelOffset": 0.5, "OutputPixelOffset": -0.5, "AlignRegionsToCorners": False}

# 5 steps, 3 rows, 4 inputs, 6 units, both directions.
_RECURRENT = {
    "InputTensor": "1x5x3x4",
    "HiddenInitTensor": "1x2x3x6",
    "SequenceLengthsTensor": "UINT32 1x1x1x3",
    "OutputSequenceTensor": "5x2x3x6",
    "OutputSingleTensor": "1x2x3x6",
    "Direction": dml.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
}
_ATTENTION = {
    "QueryTensor": "2x3x10",
    "KeyTensor": "2x4x10",
    "ValueTensor": "2x4x12",
    "BiasTensor": "32",
    "MaskTensor": "INT32 2x2x3x6",
    "RelativePositionBiasTensor": "2x2x3x6",
    "PastKeyTensor": "2x2x2x5",
    "PastValueTensor": "2x2x2x6",
    "OutputTensor": "2x3x12",
    "OutputPresentKeyTensor": "2x2x6x5",
    "OutputPresentValueTensor": "2x2x6x6",
    "Scale": 0.5,
    "MaskFilterValue": -64.0,
    "MaskType": dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN,
}


def _gates(gates: int) -> dict[str, str]:
    return {
        "WeightTensor": f"1x2x{6 * gates}x4",
        "RecurrenceTensor": f"1x2x{6 * gates}x6",
        "BiasTensor": f"1x1x2x{12 * gates}",
    }


def _quantized(*names: str, scale: str = _SCALAR) -> dict[str, str]:
    """Return the scale and zero point tensors of these tensors."""
    kind = scale.split()[-1]
    return {f"{n}ScaleTensor": kind for n in names} | {f"{n}ZeroPointTensor": f"UINT8 {kind}" for n in names}


_SAMPLES: dict[str, dict[str, Any]] = {
    "ELEMENT_WISE_QUANTIZE_LINEAR": {
        "InputTensor": X,
        "ScaleTensor": X,
        "ZeroPointTensor": f"UINT8 {X}",
        "OutputTensor": f"UINT8 {X}",
    },
    "ELEMENT_WISE_DEQUANTIZE_LINEAR": {
        "InputTensor": f"UINT8 {X}",
        "ScaleTensor": X,
        "ZeroPointTensor": f"UINT8 {X}",
        "OutputTensor": X,
    },
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD": {
        **dict.fromkeys(["ATensor", "BTensor", "OutputTensor"], f"UINT8 {X}"),
        **_quantized("A", "B", "Output"),
    },
    "ELEMENT_WISE_IF": {"ConditionTensor": f"UINT8 {X}", "ATensor": X, "BTensor": X, "OutputTensor": X},
    "ELEMENT_WISE_ADD1": {"ATensor": X, "BTensor": X, "OutputTensor": X, "FusedActivation": _RELU},
    "ELEMENT_WISE_POW": {"InputTensor": X, "ExponentTensor": X, "OutputTensor": X, **_NO_SCALE},
    "ACTIVATION_PARAMETERIZED_RELU": {"InputTensor": X, "SlopeTensor": X, "OutputTensor": X},
    "CONVOLUTION": {
        "InputTensor": X,
        "FilterTensor": _CONVOLVED["filter"],
        "BiasTensor": "1x4x1x1",
        "OutputTensor": _CONVOLVED["output"],
        "Mode": dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        "Direction": dml.DML_CONVOLUTION_DIRECTION_FORWARD,
        **_CONVOLUTION,
        "OutputPadding": (0, 0),
        "FusedActivation": _RELU,
    },
    "CONVOLUTION_INTEGER": {
        "InputTensor": f"UINT8 {X}",
        "InputZeroPointTensor": _BYTE,
        "FilterTensor": "UINT8 4x2x3x3",
        "FilterZeroPointTensor": "UINT8 1x4x1x1",
        "OutputTensor": "INT32 1x4x4x6",
        **_CONVOLUTION,
    },
    "QUANTIZED_LINEAR_CONVOLUTION": {
        "InputTensor": f"UINT8 {X}",
        "FilterTensor": "UINT8 4x2x3x3",
        "BiasTensor": "INT32 1x4x1x1",
        "OutputTensor": "UINT8 1x4x4x6",
        **_quantized("Input", "Output"),
        **_quantized("Filter", scale="1x4x1x1"),
        **_CONVOLUTION,
    },
    "GEMM": {
        "ATensor": "1x2x5x7",
        "BTensor": "1x2x7x6",
        "CTensor": "1x2x5x6",
        "OutputTensor": "1x2x5x6",
        "TransA": dml.DML_MATRIX_TRANSFORM_NONE,
        "TransB": dml.DML_MATRIX_TRANSFORM_NONE,
        "Alpha": 1.0,
        "Beta": 0.5,
        "FusedActivation": _RELU,
    },
    "MATRIX_MULTIPLY_INTEGER": {
        "ATensor": "UINT8 1x2x5x7",
        "AZeroPointTensor": _BYTE,
        "BTensor": "UINT8 1x2x7x6",
        "BZeroPointTensor": "UINT8 1x1x1x6",
        "OutputTensor": "INT32 1x2x5x6",
    },
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY": {
        "ATensor": "UINT8 1x2x5x7",
        "BTensor": "UINT8 1x2x7x6",
        "OutputTensor": "UINT8 1x2x5x6",
        **_quantized("A", "Output"),
        **_quantized("B", scale="1x1x1x6"),
    },
    "MATRIX_MULTIPLY_INTEGER_TO_FLOAT": {
        "ATensor": "UINT8 1x2x5x7",
        "BTensor": "UINT8 1x2x7x6",
        "BiasTensor": "1x2x5x6",
        "OutputTensor": "1x2x5x6",
        **_quantized("A"),
        **_quantized("B", scale="1x1x1x6"),
    },
    "REDUCE": {
        "Function": dml.DML_REDUCE_FUNCTION_SUM,
        "InputTensor": X,
        "OutputTensor": "1x2x1x6",
        "Axes": (2,),
    },
    "AVERAGE_POOLING": {**_POOL, "IncludePadding": False},
    "AVERAGE_POOLING1": {**_POOL, **_DILATED, "IncludePadding": False},
    "AVERAGE_POOLING_GRAD": {**_POOL_GRAD, "IncludePadding": False},
    "QUANTIZED_LINEAR_AVERAGE_POOLING": {
        **_POOL,
        **_DILATED,
        **_quantized("Input", "Output"),
        "InputTensor": f"UINT8 {X}",
        "OutputTensor": f"UINT8 {_POOLED}",
        "IncludePadding": False,
    },
    "LP_POOLING": {**_POOL, "P": 2},
    "LP_POOLING1": {**_POOL, **_DILATED, "P": 2},
    "MAX_POOLING": _POOL,
    "MAX_POOLING1": {**_POOL, "OutputIndicesTensor": f"UINT32 {_POOLED}"},
    "MAX_POOLING2": {**_POOL, **_DILATED, "OutputIndicesTensor": f"UINT32 {_POOLED}"},
    "MAX_POOLING_GRAD": {**_POOL_GRAD, **_DILATED, "InputTensor": X},
    "MAX_UNPOOLING": {"InputTensor": "1x2x2x3", "IndicesTensor": "UINT32 1x2x2x3", "OutputTensor": X},
    "ROI_POOLING": {
        "InputTensor": X,
        "ROITensor": "1x1x3x5",
        "OutputTensor": "3x2x2x2",
        "SpatialScale": 1.0,
        "PooledSize": dml.DML_SIZE_2D(2, 2),
    },
    "ROI_ALIGN": _ALIGN,
    "ROI_ALIGN1": _ALIGN1,
    "ROI_ALIGN_GRAD": {
        **{name: value for name, value in _ALIGN1.items() if name not in ("OutputTensor", "OutOfBoundsInputValue")},
        "InputGradientTensor": "3x2x2x2",
        "OutputGradientTensor": X,
        "OutputROIGradientTensor": "1x1x3x4",
    },
    "SLICE": {
        "InputTensor": X,
        "OutputTensor": "1x2x2x3",
        "Offsets": (0, 0, 1, 1),
        "Sizes": (1, 2, 2, 3),
        "Strides": (1, 1, 2, 2),
    },
    "SLICE1": {"InputTensor": X, "OutputTensor": "1x2x2x4", **_SLICED},
    "SLICE_GRAD": {"InputGradientTensor": "1x2x2x4", "OutputGradientTensor": X, **_SLICED},
    "CAST": {"InputTensor": X, "OutputTensor": f"UINT8 {X}"},
    "SPLIT": {"InputTensor": X, "OutputTensors": ["1x2x4x1", "1x2x4x2", "1x2x4x3"], "Axis": 3},
    "JOIN": {"InputTensors": ["1x2x4x1", "1x2x4x2", "1x2x4x3"], "OutputTensor": X, "Axis": 3},
    "PADDING": {**_PADDING, "PaddingValue": 1.5},
    "PADDING1": {
        **_PADDING,
        "PaddingValueDataType": dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        "PaddingValue": dml.DML_SCALAR_UNION(Float32=1.5),
    },
    "VALUE_SCALE_2D": {"InputTensor": "1x3x4x6", "OutputTensor": "1x3x4x6", "Scale": 2.0, "Bias": (0.5, 1.5, 2.5)},
    "UPSAMPLE_2D": {"InputTensor": X, "OutputTensor": _DOUBLED, "ScaleSize": dml.DML_SIZE_2D(2, 2), **_NEAREST},
    "RESAMPLE": {"InputTensor": X, "OutputTensor": _DOUBLED, **_LINEAR, "Scales": (1, 1, 2, 2)},
    "RESAMPLE1": _RESAMPLE,
    "RESAMPLE2": {**_RESAMPLE, **_ROUNDED},
    "RESAMPLE3": {**_RESAMPLE, **_ROUNDED, "Antialiased": True},
    "RESAMPLE_GRAD": _RESAMPLE_GRAD,
    "RESAMPLE_GRAD1": {**_RESAMPLE_GRAD, **_ROUNDED},
    "GATHER": {
        "InputTensor": X,
        "IndicesTensor": "UINT32 1x1x1x3",
        "OutputTensor": "1x2x3x6",
        "Axis": 2,
        "IndexDimensions": 1,
    },
    "GATHER_ELEMENTS": {"InputTensor": X, "IndicesTensor": "UINT32 1x2x3x6", "OutputTensor": "1x2x3x6", "Axis": 2},
    "GATHER_ND": {
        "InputTensor": "1x1x4x6",
        "IndicesTensor": "UINT32 1x1x3x1",
        "OutputTensor": "1x1x3x6",
        "InputDimensionCount": 2,
        "IndicesDimensionCount": 2,
    },
    "GATHER_ND1": {
        "InputTensor": "1x2x4x6",
        "IndicesTensor": "UINT32 1x2x3x1",
        "OutputTensor": "1x2x3x6",
        "InputDimensionCount": 3,
        "IndicesDimensionCount": 3,
        "BatchDimensionCount": 1,
    },
    "SCATTER": {
        "InputTensor": X,
        "IndicesTensor": "UINT32 1x2x3x6",
        "UpdatesTensor": "1x2x3x6",
        "OutputTensor": X,
        "Axis": 2,
    },
    "SCATTER_ND": {
        "InputTensor": "1x1x4x6",
        "IndicesTensor": "UINT32 1x1x3x1",
        "UpdatesTensor": "1x1x3x6",
        "OutputTensor": "1x1x4x6",
        "InputDimensionCount": 2,
        "IndicesDimensionCount": 2,
    },
    "SPACE_TO_DEPTH": {"InputTensor": X, "OutputTensor": "1x8x2x3", "BlockSize": 2},
    "SPACE_TO_DEPTH1": {"InputTensor": X, "OutputTensor": "1x8x2x3", "BlockSize": 2, **_DEPTH_LAST},
    "DEPTH_TO_SPACE": {"InputTensor": "1x8x2x3", "OutputTensor": X, "BlockSize": 2},
    "DEPTH_TO_SPACE1": {"InputTensor": "1x8x2x3", "OutputTensor": X, "BlockSize": 2, **_DEPTH_LAST},
    "TILE": {"InputTensor": X, "OutputTensor": "1x4x4x12", "Repeats": (1, 2, 1, 2)},
    "TOP_K": {
        "InputTensor": X,
        "OutputValueTensor": "1x2x4x3",
        "OutputIndexTensor": "UINT32 1x2x4x3",
        "Axis": 3,
        "K": 3,
    },
    "TOP_K1": {
        "InputTensor": X,
        "OutputValueTensor": "1x2x4x3",
        "OutputIndexTensor": "UINT32 1x2x4x3",
        "Axis": 3,
        "K": 3,
        "AxisDirection": dml.DML_AXIS_DIRECTION_INCREASING,
    },
    "BATCH_NORMALIZATION": {
        **_UNARY,
        **_BATCH,
        "BiasTensor": _CHANNELS,
        "Spatial": True,
        "FusedActivation": _RELU,
    },
    "BATCH_NORMALIZATION_GRAD": _BATCH_GRAD,
    "BATCH_NORMALIZATION_TRAINING": {
        **_UNARY,
        "ScaleTensor": _CHANNELS,
        "BiasTensor": _CHANNELS,
        "FusedAddTensor": X,
        "OutputMeanTensor": _CHANNELS,
        "OutputVarianceTensor": _CHANNELS,
        "Epsilon": 1e-3,
        "FusedActivation": _RELU,
    },
    "BATCH_NORMALIZATION_TRAINING_GRAD": _BATCH_GRAD,
    "MEAN_VARIANCE_NORMALIZATION": {
        **_UNARY,
        **_MOMENTS,
        "ScaleTensor": _CHANNELS,
        "BiasTensor": _CHANNELS,
        "CrossChannel": False,
        "NormalizeVariance": True,
    },
    "MEAN_VARIANCE_NORMALIZATION1": {**_UNARY, **_MOMENTS, "Axes": (2, 3), "NormalizeVariance": True},
    "MEAN_VARIANCE_NORMALIZATION2": {**_UNARY, **_MOMENTS, "Axes": (2, 3), "UseMean": True, "UseVariance": True},
    "LOCAL_RESPONSE_NORMALIZATION": {**_UNARY, **_RESPONSE},
    "LOCAL_RESPONSE_NORMALIZATION_GRAD": {
        "InputTensor": X,
        "InputGradientTensor": X,
        "OutputGradientTensor": X,
        **_RESPONSE,
    },
    "LP_NORMALIZATION": {**_UNARY, "Axis": 1, "Epsilon": 1e-3, "P": 2},
    "RNN": {**_RECURRENT, **_gates(1), "ActivationDescs": [_TANH] * 2},
    "LSTM": {
        **_RECURRENT,
        **_gates(4),
        "CellMemInitTensor": "1x2x3x6",
        "PeepholeTensor": "1x1x2x18",
        "OutputCellSingleTensor": "1x2x3x6",
        "ActivationDescs": [_SIGMOID, _TANH, _TANH] * 2,
        "ClipThreshold": 3.0,
        "UseClipThreshold": True,
        "CoupleInputForget": False,
    },
    "GRU": {**_RECURRENT, **_gates(3), "ActivationDescs": [_SIGMOID, _TANH] * 2, "LinearBeforeReset": True},
    "DIAGONAL_MATRIX": {"OutputTensor": "1x1x4x6", "Offset": 1, "Value": 2.0},
    "DIAGONAL_MATRIX1": {
        "InputTensor": X,
        "OutputTensor": X,
        "ValueDataType": dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        "Value": dml.DML_SCALAR_UNION(Float32=2.0),
        "DiagonalFillBegin": 0,
        "DiagonalFillEnd": 2,
    },
    "ONE_HOT": {
        "IndicesTensor": "UINT32 1x2x4x1",
        "ValuesTensor": "1x1x1x2",
        "OutputTensor": X,
        "Axis": 3,
    },
    "FILL_VALUE_CONSTANT": {
        "OutputTensor": X,
        "ValueDataType": dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        "Value": dml.DML_SCALAR_UNION(Float32=2.0),
    },
    "FILL_VALUE_SEQUENCE": {
        "OutputTensor": X,
        "ValueDataType": dml.DML_TENSOR_DATA_TYPE_FLOAT32,
        "ValueStart": dml.DML_SCALAR_UNION(Float32=2.0),
        "ValueDelta": dml.DML_SCALAR_UNION(Float32=0.5),
    },
    "CUMULATIVE_SUMMATION": {
        **_UNARY,
        "Axis": 2,
        "AxisDirection": dml.DML_AXIS_DIRECTION_INCREASING,
        "HasExclusiveSum": False,
    },
    "CUMULATIVE_PRODUCT": {
        **_UNARY,
        "Axis": 2,
        "AxisDirection": dml.DML_AXIS_DIRECTION_INCREASING,
        "HasExclusiveProduct": False,
    },
    "REVERSE_SUBSEQUENCES": {**_UNARY, "SequenceLengthsTensor": "UINT32 1x2x1x6", "Axis": 2},
    "RANDOM_GENERATOR": {
        "InputStateTensor": "UINT32 1x1x1x6",
        "OutputTensor": f"UINT32 {X}",
        "OutputStateTensor": "UINT32 1x1x1x6",
        "Type": dml.DML_RANDOM_GENERATOR_TYPE_PHILOX_4X32_10,
    },
    "NONZERO_COORDINATES": {
        "InputTensor": X,
        "OutputCountTensor": "UINT32 1x1x1x1",
        "OutputCoordinatesTensor": "UINT32 1x1x48x4",
    },
    "ADAM_OPTIMIZER": {
        **dict.fromkeys(["InputParametersTensor", "InputFirstMomentTensor", "InputSecondMomentTensor"], X),
        "GradientTensor": X,
        "TrainingStepTensor": "UINT32 1x1x1x1",
        **dict.fromkeys(["OutputParametersTensor", "OutputFirstMomentTensor", "OutputSecondMomentTensor"], X),
        "LearningRate": 0.1,
        "Beta1": 0.9,
        "Beta2": 0.99,
        "Epsilon": 1e-6,
    },
    "ARGMIN": {
        "InputTensor": X,
        "OutputTensor": "UINT32 1x2x4x1",
        "Axes": (3,),
        "AxisDirection": dml.DML_AXIS_DIRECTION_INCREASING,
    },
    "ARGMAX": {
        "InputTensor": X,
        "OutputTensor": "UINT32 1x2x4x1",
        "Axes": (3,),
        "AxisDirection": dml.DML_AXIS_DIRECTION_INCREASING,
    },
    "DYNAMIC_QUANTIZE_LINEAR": {
        "InputTensor": X,
        "OutputTensor": f"UINT8 {X}",
        "OutputScaleTensor": _SCALAR,
        "OutputZeroPointTensor": _BYTE,
    },
    "MULTIHEAD_ATTENTION": {**_ATTENTION, "HeadCount": 2},
    "MULTIHEAD_ATTENTION1": {
        **_ATTENTION,
        "PastSequenceLengthsTensor": "2",
        "QueryHeadCount": 2,
        "KeyValueHeadCount": 2,
    },
    "QUANTIZE": {
        "InputTensor": X,
        "QuantizationType": dml.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT,
        "QuantizationTensors": [_CHANNELS, f"UINT8 {_CHANNELS}"],
        "OutputTensor": f"UINT8 {X}",
    },
    "DEQUANTIZE": {
        "InputTensor": f"UINT8 {X}",
        "QuantizationType": dml.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT,
        "QuantizationTensors": [_CHANNELS, f"UINT8 {_CHANNELS}"],
        "OutputTensor": X,
    },
    "FOLD": {"InputTensor": "1x8x15", "OutputTensor": X, **_FOLD},
    "UNFOLD": {"InputTensor": X, "OutputTensor": "1x8x15", **_FOLD},
}


def _of_kind(name: str) -> Mapping[str, Any]:
    """Return the fields of element-wise operators and activations without an entry of their own."""
    kinds = {"LOGICAL_": "UINT8", "BIT_": "UINT32"}
    kind = next((k for prefix, k in kinds.items() if name.startswith(f"ELEMENT_WISE_{prefix}")), "")
    compares = name.startswith(("ELEMENT_WISE_IS_",)) or any(word in name for word in ("EQUALS", "GREATER", "LESS"))
    size = "1x1x4x6" if name in ("ACTIVATION_HARDMAX", "ACTIVATION_LOG_SOFTMAX", "ACTIVATION_SOFTMAX") else X
    of, to = ("", "UINT8") if compares else (kind, kind)
    cls = _class(name)
    fields = {f"{field}": f"{of} {size}" for field in cls.__dataclass_fields__ if field.endswith("Tensor")}
    ((output, _),) = ((f, None) for f in fields if f.startswith("Output"))
    values: dict[str, Any] = {
        "Min": -1.0,
        "Max": 1.0,
        "Axes": (3,),
        "RoundingMode": dml.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN,
        "InfinityMode": dml.DML_IS_INFINITY_MODE_EITHER,
        **_NO_SCALE,
    }
    if "MinMaxDataType" in cls.__dataclass_fields__:
        values |= {bound: dml.DML_SCALAR_UNION(Float32=value) for bound, value in (("Min", -1.0), ("Max", 1.0))}
        values["MinMaxDataType"] = dml.DML_TENSOR_DATA_TYPE_FLOAT32
    more = {field: values.get(field, 1.5) for field in cls.__dataclass_fields__ if not field.endswith("Tensor")}
    more.pop("AxisCount", None)
    return {**fields, output: f"{to} {size}", **more}


def _class(name: str) -> Any:
    return getattr(dml, f"DML_{name}_OPERATOR_DESC")


def _tensor(text: str, layout: str, floats: str) -> dml.DML_BUFFER_TENSOR_DESC:
    *kind, sizes = text.split()
    return tensor(kind[0] if kind else floats, [int(size) for size in sizes.split("x")], layout)


def sample(name: str, layout: str = "packed", floats: str = "FLOAT32", **changes: Any) -> dml.OperatorDesc:
    """Return the operator's description with all tensors in this layout (one that ``harness.tensor`` knows).

    floats: the data type of tensors that name none. changes: fields in place of the sample's, with tensors as text.
    """
    fields = {**(_SAMPLES[name] if name in _SAMPLES else _of_kind(name)), **changes}
    for field, value in fields.items():
        if field.endswith("Tensor") and value is not None:
            fields[field] = _tensor(value, layout, floats)
        elif field.endswith("Tensors"):
            fields[field] = [_tensor(each, layout, floats) for each in value]
    desc: dml.OperatorDesc = _class(name)(**fields)
    return desc


def samples_in(floats: str) -> dict[str, dml.OperatorDesc]:
    """Return the packed samples, by name, of the operators that accept this type of floats."""
    found = {}
    for name in NAMES:
        desc = sample(name, "packed", floats)
        with suppress(dml.DMLError):
            dml.validate(desc)
            found[name] = desc
    return found
