"""Operators at realistic sizes, which make lowerings choose the kernels that only GPUs get.

The sample descriptors have a few elements, which fill neither a tile nor a workgroup nor the device. Each entry here
is a sample with other fields (see ``sample_descriptors.sample``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dml
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from harness import tensor
from sample_descriptors import sample


def _times(*sizes: int) -> str:
    return "x".join(map(str, sizes))


def _gemm(m: int, k: int, n: int, *, batch: int = 1, a: bool = False, b: bool = False, **more: Any) -> dict[str, Any]:
    """Return a product of A, m x k, and B, k x n. a, b: whether the operand is transposed."""
    return {
        "ATensor": _times(1, batch, *((k, m) if a else (m, k))),
        "BTensor": _times(1, batch, *((n, k) if b else (k, n))),
        "CTensor": None,
        "OutputTensor": _times(1, batch, m, n),
        "TransA": int(a),
        "TransB": int(b),
        "FusedActivation": None,
        **more,
    }


def _bytes_gemm(m: int, k: int, n: int, kind: str = "INT32") -> dict[str, str]:
    return {
        "ATensor": f"UINT8 1x1x{m}x{k}",
        "BTensor": f"UINT8 1x1x{k}x{n}",
        "OutputTensor": f"{kind} 1x1x{m}x{n}",
    }


def _convolution(
    inputs: int, outputs: int, size: int, window: int, *, stride: int = 1, dilation: int = 1, groups: int = 1,
    batch: int = 1, **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Return a convolution of square images with a square window, padded to keep their size."""
    pad = dilation * (window // 2)
    made = (size + 2 * pad - dilation * (window - 1) - 1) // stride + 1
    return {
        "InputTensor": _times(batch, inputs, size, size),
        "FilterTensor": _times(outputs, inputs // groups, window, window),
        "BiasTensor": _times(1, outputs, 1, 1),
        "OutputTensor": _times(batch, outputs, made, made),
        "Strides": (stride, stride),
        "Dilations": (dilation, dilation),
        "StartPadding": (pad, pad),
        "EndPadding": (pad, pad),
        "GroupCount": groups,
        **more,
    }


def _volume(channels: int, size: int, window: int) -> dict[str, Any]:
    """Return a convolution of a cube with a cubic window, with equal numbers of channels in and out."""
    cube, one = _times(1, channels, *[size] * 3), (1, 1, 1)
    return {
        "InputTensor": cube,
        "FilterTensor": _times(channels, channels, *[window] * 3),
        "BiasTensor": _times(1, channels, *one),
        "OutputTensor": cube,
        **dict.fromkeys(("Strides", "Dilations"), one),
        **dict.fromkeys(("StartPadding", "EndPadding"), (window // 2,) * 3),
        "OutputPadding": (0, 0, 0),
    }


def _transposed(inputs: int, outputs: int, size: int, window: int) -> dict[str, Any]:
    """Return a transposed convolution that doubles the images' sizes."""
    return {
        "InputTensor": _times(1, inputs, size, size),
        "FilterTensor": _times(inputs, outputs, window, window),
        "BiasTensor": _times(1, outputs, 1, 1),
        "OutputTensor": _times(1, outputs, 2 * size, 2 * size),
        "Direction": dml.DML_CONVOLUTION_DIRECTION_BACKWARD,
        "Strides": (2, 2),
        **dict.fromkeys(("StartPadding", "EndPadding"), (window // 2 - 1,) * 2),
    }


def _recurrent(gates: int, steps: int, batch: int, width: int, hidden: int, **more: Any) -> dict[str, Any]:
    """Return a recurrent network of one direction. An RNN has one gate, a GRU three, an LSTM four."""
    last = _times(1, 1, batch, hidden)
    functions = {
        1: [dml.DML_ACTIVATION_TANH_OPERATOR_DESC()],
        3: [dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()],
        4: [dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), *[dml.DML_ACTIVATION_TANH_OPERATOR_DESC()] * 2],
    }
    fields = {
        "InputTensor": _times(1, steps, batch, width),
        "WeightTensor": _times(1, 1, gates * hidden, width),
        "RecurrenceTensor": _times(1, 1, gates * hidden, hidden),
        "BiasTensor": _times(1, 1, 1, 2 * gates * hidden),
        "HiddenInitTensor": last,
        "SequenceLengthsTensor": f"UINT32 1x1x1x{batch}",
        "OutputSequenceTensor": _times(steps, 1, batch, hidden),
        "OutputSingleTensor": last,
        "Direction": dml.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
        "ActivationDescs": functions[gates],
        **more,
    }
    if gates == 4:
        fields |= {"CellMemInitTensor": last, "OutputCellSingleTensor": last}
        fields |= {"PeepholeTensor": None, "UseClipThreshold": False}
    return fields


def _attention(batch: int, heads: int, queries: int, keys: int, size: int, **more: Any) -> dict[str, Any]:
    absent = ("BiasTensor", "MaskTensor", "RelativePositionBiasTensor", "PastKeyTensor", "PastValueTensor",
              "OutputPresentKeyTensor", "OutputPresentValueTensor")  # fmt: skip
    return {
        **dict.fromkeys(absent),
        **dict.fromkeys(("QueryTensor", "OutputTensor"), _times(batch, queries, heads * size)),
        **dict.fromkeys(("KeyTensor", "ValueTensor"), _times(batch, keys, heads * size)),
        "MaskType": dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
        "HeadCount": heads,
        **more,
    }


def _same(sizes: str, **more: Any) -> dict[str, Any]:
    """Return an input and an output of these sizes."""
    return {"InputTensor": sizes, "OutputTensor": sizes, **more}


def _pooling(channels: int, size: int, window: int, stride: int, **more: Any) -> dict[str, Any]:
    made = (size - window) // stride + 1
    return {
        "InputTensor": _times(1, channels, size, size),
        "OutputTensor": _times(1, channels, made, made),
        "WindowSize": (window, window),
        "Strides": (stride, stride),
        "StartPadding": (0, 0),
        "EndPadding": (0, 0),
        **more,
    }


def _reduction(function: str, sizes: tuple[int, ...], *axes: int, kind: str = "") -> dict[str, Any]:
    made = _times(*(1 if axis in axes else size for axis, size in enumerate(sizes)))
    return {
        "Function": getattr(dml, f"DML_REDUCE_FUNCTION_{function}"),
        "InputTensor": _times(*sizes),
        "OutputTensor": f"{kind} {made}".strip(),
        "Axes": axes,
    }


_FUNCTIONS = ("AVERAGE", "L1", "L2", "LOG_SUM", "LOG_SUM_EXP", "MAX", "MIN", "MULTIPLY", "SUM", "SUM_SQUARE")
_GELU = dml.DML_ACTIVATION_GELU_OPERATOR_DESC()
_REGIONS = {
    "InputTensor": "1x256x50x50",
    "ROITensor": "1x1x100x4",
    "BatchIndicesTensor": "UINT32 1x1x1x100",
    "OutputTensor": "100x256x7x7",
}

#: (name, operator, fields that replace its sample's)
_VARIANTS: list[tuple[str, str, dict[str, Any]]] = [
    # Matrix products: tiles of 128, 64 and 32, all transpositions; products of few rows.
    ("4096x4096x4096", "GEMM", _gemm(4096, 4096, 4096)),
    ("2048x2048x2048 TN", "GEMM", _gemm(2048, 2048, 2048, a=True)),
    ("2048x2048x2048 NT", "GEMM", _gemm(2048, 2048, 2048, b=True)),
    ("2048x2048x2048 TT", "GEMM", _gemm(2048, 2048, 2048, a=True, b=True)),
    ("4096x4096x4096 C gelu", "GEMM", _gemm(4096, 4096, 4096, CTensor="1x1x4096x4096", FusedActivation=_GELU)),
    ("512x512x512", "GEMM", _gemm(512, 512, 512)),
    ("512x512x512 NT", "GEMM", _gemm(512, 512, 512, b=True)),
    ("100x300x60", "GEMM", _gemm(100, 300, 60)),
    ("99x301x61", "GEMM", _gemm(99, 301, 61)),
    ("32 of 256x64x256", "GEMM", _gemm(256, 64, 256, batch=32)),
    ("1x4096x4096", "GEMM", _gemm(1, 4096, 4096)),
    ("1x4096x4096 NT", "GEMM", _gemm(1, 4096, 4096, b=True)),
    ("8x1024x4096", "GEMM", _gemm(8, 1024, 4096)),
    ("12x1024x4096 NT", "GEMM", _gemm(12, 1024, 4096, b=True)),
    ("4096x1024x3", "GEMM", _gemm(4096, 1024, 3)),
    ("256x256x256 softmax", "GEMM",
        _gemm(256, 256, 256, FusedActivation=dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC())),
    ("512x512x512", "MATRIX_MULTIPLY_INTEGER", {**_bytes_gemm(512, 512, 512), "BZeroPointTensor": "UINT8 1x1x1x512"}),
    ("2048x2048x2048", "MATRIX_MULTIPLY_INTEGER", _bytes_gemm(2048, 2048, 2048)),
    ("1024x1024x1024", "MATRIX_MULTIPLY_INTEGER", _bytes_gemm(1024, 1024, 1024)),
    ("2048x2048x2048", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        {**_bytes_gemm(2048, 2048, 2048, "FLOAT32"), "BiasTensor": None}),
    ("4x1024x4096", "MATRIX_MULTIPLY_INTEGER_TO_FLOAT",
        {**_bytes_gemm(4, 1024, 4096, "FLOAT32"), "BiasTensor": None}),
    ("512x512x512", "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
        {**_bytes_gemm(512, 512, 512, "UINT8"), "BScaleTensor": "FLOAT32 1x1x1x512",
         "BZeroPointTensor": "UINT8 1x1x1x512"}),
    # Convolutions: the direct kernel's tiles, matrix products, grouped, transposed, and cases for the general kernel.
    ("3x3 64 of 56", "CONVOLUTION", _convolution(64, 64, 56, 3)),
    ("3x3 256 of 14, 8 images", "CONVOLUTION", _convolution(256, 256, 14, 3, batch=8)),
    ("7x7 by 2, 3 of 224", "CONVOLUTION", _convolution(3, 64, 224, 7, stride=2)),
    ("5x5 dilated 32 of 64", "CONVOLUTION", _convolution(32, 32, 64, 5, dilation=2)),
    ("1x1 256 of 28", "CONVOLUTION", _convolution(256, 512, 28, 1)),
    ("1x1 by 2, 256 of 28", "CONVOLUTION", _convolution(256, 512, 28, 1, stride=2)),
    ("3x3 each of 192 of 56", "CONVOLUTION", _convolution(192, 192, 56, 3, groups=192)),
    ("3x3 by 2, each of 192 of 56", "CONVOLUTION", _convolution(192, 192, 56, 3, stride=2, groups=192)),
    ("3x3 in 8 groups of 128 of 28", "CONVOLUTION", _convolution(128, 128, 28, 3, groups=8)),
    ("31x31 4 of 64", "CONVOLUTION", _convolution(4, 4, 64, 31)),
    ("1x301 4 of 1024", "CONVOLUTION", {
        **_convolution(4, 4, 1024, 1), "InputTensor": "1x4x1x1024", "FilterTensor": "4x4x1x301",
        "OutputTensor": "1x4x1x1024", "StartPadding": (0, 150), "EndPadding": (0, 150)}),
    ("3x3x3 16 of 32", "CONVOLUTION", _volume(16, 32, 3)),
    ("4x4 transposed 64 of 28", "CONVOLUTION", _transposed(64, 32, 28, 4)),
    ("3x3 64 of 56", "CONVOLUTION_INTEGER", {"InputTensor": "UINT8 1x64x56x56", "FilterTensor": "UINT8 64x64x3x3",
        "FilterZeroPointTensor": "UINT8 1x64x1x1", "OutputTensor": "INT32 1x64x56x56"}),
    ("7x7 by 2, 3 of 224", "CONVOLUTION_INTEGER", {"InputTensor": "UINT8 1x3x224x224",
        "FilterTensor": "INT8 64x3x7x7", "InputZeroPointTensor": "UINT8 1x1x1x1", "FilterZeroPointTensor": None,
        "OutputTensor": "INT32 1x64x112x112", "Strides": (2, 2),
        **dict.fromkeys(("StartPadding", "EndPadding"), (3, 3))}),
    ("3x3 256 of 28", "QUANTIZED_LINEAR_CONVOLUTION", {"InputTensor": "UINT8 4x256x28x28",
        "FilterTensor": "INT8 256x256x3x3", "FilterScaleTensor": "1x256x1x1", "FilterZeroPointTensor": None,
        "BiasTensor": "INT32 1x256x1x1", "OutputTensor": "UINT8 4x256x28x28"}),
    # Recurrent networks: one dispatch, or one per step for large states.
    ("64x8x256", "RNN", _recurrent(1, 64, 8, 256, 256)),
    ("64x8x256", "GRU", _recurrent(3, 64, 8, 256, 256)),
    ("64x8x256 reset first", "GRU", _recurrent(3, 64, 8, 256, 256, LinearBeforeReset=False)),
    ("64x8x256", "LSTM", _recurrent(4, 64, 8, 256, 256)),
    ("2x1x1024", "RNN", _recurrent(1, 2, 1, 256, 1024)),
    ("2x1x1024", "GRU", _recurrent(3, 2, 1, 256, 1024)),
    ("2x1x1024 reset first", "GRU", _recurrent(3, 2, 1, 256, 1024, LinearBeforeReset=False)),
    ("2x1x1024", "LSTM", _recurrent(4, 2, 1, 256, 1024)),
    # Attention: prompts, single tokens, masks.
    ("8 heads, 256x64", "MULTIHEAD_ATTENTION", _attention(1, 8, 256, 256, 64)),
    ("32 heads, 1 of 1024x128", "MULTIHEAD_ATTENTION", _attention(1, 32, 1, 1024, 128)),
    ("8 heads, 4 of 1024x128", "MULTIHEAD_ATTENTION", _attention(1, 8, 4, 1024, 128)),
    ("8 heads, 256x64, mask", "MULTIHEAD_ATTENTION", _attention(
        1, 8, 256, 256, 64, MaskTensor="INT32 1x8x256x256",
        MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN)),
    # Rows: softmax and normalizations of rows that a subgroup shares, of few very long rows, along inner axes.
    ("1024x1024", "ACTIVATION_SOFTMAX", _same("1x1x1024x1024")),
    ("4x131072", "ACTIVATION_SOFTMAX", _same("1x1x4x131072")),
    ("axis 1 of 64x32x32", "ACTIVATION_SOFTMAX1", _same("1x64x32x32", Axes=(1,))),
    ("1024x1024", "ACTIVATION_LOG_SOFTMAX", _same("1x1x1024x1024")),
    ("1024x1001", "ACTIVATION_LOG_SOFTMAX", _same("1x1x1024x1001")),
    ("1024x1024", "ACTIVATION_HARDMAX", _same("1x1x1024x1024")),
    ("512x1024", "MEAN_VARIANCE_NORMALIZATION1",
        _same("1x1x512x1024", Axes=(3,), ScaleTensor="1x1x512x1024", BiasTensor="1x1x512x1024")),
    ("512x1001", "MEAN_VARIANCE_NORMALIZATION1", _same("1x1x512x1001", Axes=(3,), ScaleTensor=None, BiasTensor=None)),
    ("64 of 64x64", "MEAN_VARIANCE_NORMALIZATION1",
        _same("4x64x64x64", Axes=(2, 3), ScaleTensor="4x64x64x64", BiasTensor="4x64x64x64")),
    ("64 of 10x64x64", "MEAN_VARIANCE_NORMALIZATION1",
        _same("2x32x10x64x64", Axes=(2, 3, 4), ScaleTensor="1x32x10x1x1", BiasTensor="1x32x10x1x1")),
    ("1 of 1048576", "MEAN_VARIANCE_NORMALIZATION1",
        _same("1x1x1024x1024", Axes=(2, 3), ScaleTensor=None, BiasTensor=None)),
    ("16x64x56x56", "BATCH_NORMALIZATION_TRAINING", _same(
        "16x64x56x56", FusedAddTensor=None,
        **dict.fromkeys(("ScaleTensor", "BiasTensor", "OutputMeanTensor", "OutputVarianceTensor"), "1x64x1x1"))),
    ("512x1024", "LP_NORMALIZATION", _same("1x1x512x1024", Axis=3)),
    # Reductions along rows, along columns, to few elements and to one.
    *((f"{function} of rows", "REDUCE", _reduction(function, (1, 1, 4096, 1024), 3)) for function in _FUNCTIONS),
    *((f"{function} of rows", "REDUCE", _reduction(function, (1, 1, 4096, 1024), 3, kind="UINT32"))
        for function in ("ARGMAX", "ARGMIN")),
    ("SUM of columns", "REDUCE", _reduction("SUM", (1, 1, 4096, 1024), 2)),
    ("SUM of all", "REDUCE", _reduction("SUM", (1, 1, 4096, 1024), 2, 3)),
    ("L2 of channels", "REDUCE", _reduction("L2", (8, 256, 28, 28), 1)),
    ("ARGMAX of all", "REDUCE", _reduction("ARGMAX", (1, 1, 1, 1 << 20), 3, kind="UINT32")),
    ("rows of 4096", "CUMULATIVE_SUMMATION", _same("1x1x256x4096", Axis=3)),
    ("one row of 1048576", "CUMULATIVE_SUMMATION", _same("1x1x1x1048576", Axis=3)),
    ("columns", "CUMULATIVE_SUMMATION", _same("1x1x256x4096", Axis=2)),
    ("rows of 4096", "CUMULATIVE_PRODUCT", _same("1x1x256x4096", Axis=3)),
    ("5 of 1000", "TOP_K", {"InputTensor": "1x1x1x1000", "OutputValueTensor": "1x1x1x5",
        "OutputIndexTensor": "UINT32 1x1x1x5", "K": 5}),
    ("100 of 50000", "TOP_K", {"InputTensor": "1x1x4x50000", "OutputValueTensor": "1x1x4x100",
        "OutputIndexTensor": "UINT32 1x1x4x100", "K": 100}),
    ("of 65536", "NONZERO_COORDINATES",
        {"InputTensor": "1x1x256x256", "OutputCoordinatesTensor": "UINT32 1x1x65536x4"}),
    # Windows: small ones, and large ones that a workgroup reduces together.
    ("3x3 by 2, 64 of 112", "MAX_POOLING", _pooling(64, 112, 3, 2)),
    ("3x3 by 2, 64 of 112", "MAX_POOLING1", _pooling(64, 112, 3, 2, OutputIndicesTensor="UINT32 1x64x55x55")),
    ("2x2 by 2, 64 of 112", "AVERAGE_POOLING", _pooling(64, 112, 2, 2)),
    ("whole images of 56", "AVERAGE_POOLING", _pooling(64, 56, 56, 1)),
    ("whole images of 56", "MAX_POOLING", _pooling(64, 56, 56, 1)),
    ("whole images of 56", "LP_POOLING", _pooling(64, 56, 56, 1)),
    ("3 of 256, doubled", "RESAMPLE", {"InputTensor": "1x3x256x256", "OutputTensor": "1x3x512x512"}),
    ("3 of 1024, to an eighth", "RESAMPLE3", {"InputTensor": "1x3x1024x1024", "OutputTensor": "1x3x128x128",
        "Scales": (1, 1, 0.125, 0.125)}),
    ("256 of 50, 100 regions", "ROI_ALIGN", _REGIONS),
    ("largest of 256 of 50, 100 regions", "ROI_ALIGN", {**_REGIONS, "ReductionFunction": dml.DML_REDUCE_FUNCTION_MAX}),
    ("largest", "ROI_ALIGN_GRAD", {"ReductionFunction": dml.DML_REDUCE_FUNCTION_MAX}),
    # Element-wise operators at lengths divisible by vectors and workgroups.
    *((f"1048576 of {kind}", "ELEMENT_WISE_ADD",
        dict.fromkeys(("ATensor", "BTensor", "OutputTensor"), f"{kind} 1x1x1024x1024"))
        for kind in ("INT8", "UINT16", "INT32", "INT64")),
    *((f"1048576 to {kind}", "CAST", {"InputTensor": "1x1x1024x1024", "OutputTensor": f"{kind} 1x1x1024x1024"})
        for kind in ("FLOAT16", "FLOAT32", "FLOAT64", "INT8", "INT64")),
]  # fmt: skip


def variants() -> Iterator[tuple[str, dml.OperatorDesc]]:
    """Yield unique names and descriptors: in FLOAT32, and in FLOAT16 if that differs and is valid."""
    for name, operator, fields in _VARIANTS:
        float32, float16 = (sample(operator, "packed", floats, **fields) for floats in ("FLOAT32", "FLOAT16"))
        yield f"{operator} {name}", float32
        if float16 != float32 and is_valid(float16):
            yield f"{operator} {name} FLOAT16", float16
    yield "NON_MAX_SUPPRESSION 200 of 3234, 91 classes", _suppression(91, 3234, 200)


def multiplying_halves() -> Iterator[tuple[str, dml.OperatorDesc]]:
    """Yield the FLOAT16 variants whose kernels may compute in half precision: products, convolutions, attention."""
    for name, desc in variants():
        operator, wanted = name.partition(" ")[0], name.endswith(" FLOAT16")
        if wanted and operator in ("GEMM", "CONVOLUTION", "MULTIHEAD_ATTENTION"):
            yield name, desc


def _suppression(classes: int, boxes: int, most: int) -> OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC:
    """Return a suppression for one image, with both thresholds."""
    number = tensor("FLOAT32", (1,))
    return OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(
        BoxesTensor=tensor("FLOAT32", (1, boxes, 4)), ScoresTensor=tensor("FLOAT32", (1, classes, boxes)),
        LimitTensor=None, IouThresholdTensor=number, ScoreThresholdTensor=number, OutputScoresTensor=None,
        OutputCountTensor=tensor("UINT32", (1,)), OutputSelectedTensor=tensor("UINT32", (classes * most, 3)),
        MaximumBoxes=most, CenterPointBox=False, Inclusive=False,
    )  # fmt: skip


def is_valid(desc: dml.OperatorDesc) -> bool:
    """Whether the operator takes these data types."""
    try:
        dml.validate(desc)
    except dml.DMLError:
        return False
    return True
