"""Every operator of ONNX Runtime's DirectML provider is mapped."""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from models import assert_close, in_onnxruntime, in_reference, model_of, node_model
from onnx import helper

import dml
from dml.frontends.onnx import HostNodesWarning, prepare
from dml.frontends.onnx.registry import mapping_of

#: Domain -> a version, and the provider's operators according to ONNX Runtime's docs/OperatorKernels.md.
PROVIDER = {
    "": (
        25,
        """
        Abs Acos Acosh Add Affine And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization BitShift
        BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip Col2Im Concat ConcatFromSequence
        ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh Crop CumSum DFT DepthToSpace DequantizeLinear Div
        Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor GRU Gather GatherElements
        GatherND Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual GridSample GroupNorm
        HardSigmoid Hardmax Identity If ImageScaler InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization
        LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool
        MaxUnpool Mean MeanVarianceNormalization MemcpyFromHost MemcpyToHost Min Mod Mul Neg NonZero Not OneHot
        OptionalGetElement OptionalHasElement Or PRelu Pad ParametricSoftplus Pow QLinearConv QLinearMatMul
        QuantizeLinear RNN Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean
        ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize ReverseSequence RoiAlign Round STFT
        ScaledTanh Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct SequenceEmpty SequenceErase
        SequenceInsert SequenceLength Shape Shrink Sigmoid Sign SimplifiedLayerNormalization Sin Sinh Size Slice
        Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose
        Trilu Unsqueeze Upsample Where Xor
        """,
    ),
    "com.microsoft": (
        1,
        """
        Attention BiasAdd BiasGelu BiasSplitGelu ConvTransposeWithDynamicPads DequantizeLinear DynamicQuantizeMatMul
        EmbedLayerNormalization FastGelu FusedMatMul FusedMatMulActivation Gelu GroupNorm GroupQueryAttention
        MatMulIntegerToFloat MatMulNBits MultiHeadAttention NhwcConv QAttention QLinearAdd QLinearAveragePool
        QLinearConcat QLinearGlobalAveragePool QLinearSigmoid QuantizeLinear QuickGelu RotaryEmbedding
        SkipLayerNormalization SkipSimplifiedLayerNormalization
        """,
    ),
    "com.microsoft.dml": (
        1,
        """
        DmlFusedAdd DmlFusedBatchNormalization DmlFusedConv DmlFusedConvTranspose DmlFusedGemm
        DmlFusedInstanceNormalization DmlFusedMatMul DmlFusedMeanVarianceNormalization DmlFusedSum
        """,
    ),
}


@pytest.mark.parametrize("domain", PROVIDER)
def test_every_operator_of_the_provider_is_mapped(domain: str) -> None:
    version, names = PROVIDER[domain]
    assert [name for name in names.split() if mapping_of(name, domain, version) is None] == []


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSumExp", "ReduceMean"])
def test_reductions_of_integers_cut_off_fractions(device: dml.Device, op: str, kind: Any) -> None:
    least = -9 if op != "ReduceLogSumExp" and np.dtype(kind).kind == "i" else 1
    x = np.random.default_rng(23).integers(least, 9, (2, 3, 4)).astype(kind)
    exact = x.astype(np.float64)
    expected = {
        "ReduceL2": np.sqrt((exact**2).sum(1)),
        "ReduceLogSumExp": np.log(np.exp(exact).sum(1)),
        "ReduceMean": exact.mean(1),
    }[op]
    model, given = node_model(op, {"x": x}, {"y": (2, kind)}, domain="", version=13, axes=[1], keepdims=0)
    assert_close(prepare(model, device).run(given), [expected.astype(kind)], 0)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
@pytest.mark.parametrize("constant", [True, False])
def test_integers_keep_all_bits(device: dml.Device, kind: Any, constant: bool) -> None:
    x = np.random.default_rng(29).integers(0, np.iinfo(kind).max, (3, 4), kind)
    x = np.where(x % 2, x, -x.astype(np.int64)).astype(kind)
    factors: dict[str, Any] = {"transA": 1, "alpha": 3.0, "beta": 2.0}
    cases: list[tuple[str, dict[str, Any], Any, dict[str, Any]]] = [
        ("Pow", {"x": x, "y": np.array(2, kind)}, x * x, {}),
        ("Relu", {"x": x}, np.maximum(x, 0), {}),
        ("PRelu", {"x": x, "y": x[0]}, np.where(x < 0, x * x[0], x), {}),
        ("MatMul", {"x": x, "y": x.T.copy()}, x @ x.T, {}),
        ("Gemm", {"x": x, "y": x, "z": x[0]}, 3 * (x.T @ x) + 2 * x[0], factors),
    ]
    for op, inputs, expected, attributes in cases:
        constants = [name for name in inputs if constant and name == "y"]
        outputs = {"result": (2, kind)}
        model, given = node_model(op, inputs, outputs, domain="", version=16, constants=constants, **attributes)
        assert_close(prepare(model, device).run(given), [expected.astype(kind)], 0)


@pytest.mark.parametrize("version, scale", [(10, np.float32(2)), (13, np.float32(2)), (19, np.int32(2))])
def test_integers_are_quantized(device: dml.Device, version: int, scale: Any) -> None:
    x = np.array([-90, -3, 0, 5, 7, 600], np.int32)
    inputs = {"x": x, "scale": np.asarray(scale), "zero": np.array(3, np.uint8)}
    model, given = node_model("QuantizeLinear", inputs, {"y": (1, np.uint8)}, domain="", version=version)
    expected = np.array([0, 1, 3, 5, 7, 255], np.uint8)  # ties round to even
    assert_close(prepare(model, device).run(given), [expected], 0)


def test_batch_normalization_7_of_each_element(device: dml.Device) -> None:
    x, shape = np.random.default_rng(31).uniform(-1, 1, (2, 3, 4, 2)).astype(np.float32), (3, 4, 2)
    numbers = [np.random.default_rng(index).uniform(0.5, 1, shape).astype(np.float32) for index in range(4)]
    inputs = dict(zip("xsbmv", [x, *numbers], strict=True))
    model, given = node_model("BatchNormalization", inputs, {"y": (4, np.float32)}, domain="", version=7, spatial=0)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


@pytest.mark.parametrize("constants", [(), ("low", "high")])
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int8])
def test_clip_gives_max_where_min_is_above_it(device: dml.Device, kind: Any, constants: Any) -> None:
    x = np.array([0, 3, 5, 6, 9, 100], kind)
    inputs = {"x": x, "low": np.array(6, kind), "high": np.array(4, kind)}
    model, given = node_model("Clip", inputs, {"y": (1, kind)}, domain="", version=13, constants=constants)
    assert_close(prepare(model, device).run(given), [np.full_like(x, 4)], 0)


def test_clip_6_gives_max_where_min_is_above_it(device: dml.Device) -> None:
    x = np.array([0, 3, 5, 6, np.nan], np.float32)
    model, given = node_model("Clip", {"x": x}, {"y": (1, np.float32)}, domain="", version=6, min=6.0, max=4.0)
    assert_close(prepare(model, device).run(given), [np.array([4, 4, 4, 4, np.nan], np.float32)], 0)


@pytest.mark.parametrize("kind", [np.float16, np.int64])
@pytest.mark.parametrize("constant", [False, True])
def test_slice_backwards_from_before_the_first_element(device: dml.Device, kind: Any, constant: bool) -> None:
    """ONNX clamps the start to the first element, where NumPy selects nothing."""
    x, zeros = np.arange(6).astype(kind).reshape(2, 3), np.zeros((2, 1), kind)
    bounds = {"starts": [-5, 1], "ends": [-99, -99], "axes": [1, 0], "steps": [-1, -1]}
    initializers = {name: np.array(numbers) for name, numbers in bounds.items()} | ({"x": x} if constant else {})
    inputs = {"zeros": zeros} | ({} if constant else {"x": x})
    nodes = [helper.make_node("Slice", ["x", *bounds], ["s"]), helper.make_node("Add", ["s", "zeros"], ["y"])]
    model = model_of(nodes, inputs, ["y"], 17, initializers=initializers)
    found = prepare(model, device).run(inputs)
    assert_close(found, in_onnxruntime(model, inputs), 0)
    np.testing.assert_array_equal(found[0], np.array([[3], [0]], kind))


@pytest.mark.parametrize("pads", [(-3, 4), (4, -3), (-2, 1), (-3, 1), (-1, -1)])
def test_pads_that_crop_every_element(device: dml.Device, pads: tuple[int, int]) -> None:
    inputs = {"x": np.array([1, 2], np.float32), "pads": np.array(pads), "value": np.array(7, np.float32)}
    model, given = node_model("Pad", inputs, {"y": (1, np.float32)}, domain="", version=18, constants=("pads", "value"))
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 0)


@pytest.mark.parametrize(
    ("x", "pads", "mode", "message"),
    [
        ([1, 2], (-1, -2), "constant", "paddings [-1] and [-2] remove more than a tensor of shape (2,) has"),
        ([], (0, 2), "edge", "only mode 'constant' adds elements to an empty dimension"),
        ([1, 2], (-2, 2), "reflect", "only mode 'constant' adds elements to an empty dimension"),
    ],
)
def test_refused_pads(device: dml.Device, x: list[float], pads: tuple[int, int], mode: str, message: str) -> None:
    inputs = {"x": np.array(x, np.float32), "pads": np.array(pads)}
    model, given = node_model(
        "Pad", inputs, {"y": (1, np.float32)}, domain="", version=18, constants=("pads",), mode=mode
    )
    with pytest.raises(dml.DMLError) as caught:
        prepare(model, device).run(given)
    assert caught.value.message == f"node Pad: {message}"


@pytest.mark.parametrize("value", [False, True])
def test_booleans_are_padded(device: dml.Device, value: bool) -> None:
    inputs = {"x": np.array([not value, value]), "pads": np.array([1, 2]), "value": np.array(value)}
    model, given = node_model("Pad", inputs, {"y": (1, np.bool_)}, domain="", version=18, constants=("pads", "value"))
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 0)


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("size", [(1, 2, 3, 4), (2, 1, 2, 3), (1, 2, 2, 3, 4)])
def test_affine_grid(device: dml.Device, size: tuple[int, ...], corners: int) -> None:
    """ONNX's function fails for one matrix of an image."""
    count = len(size) - 2
    theta = np.random.default_rng(5).standard_normal((size[0], count, count + 1)).astype(np.float32)
    model, given = node_model(
        "AffineGrid", {"theta": theta, "size": np.array(size)}, {"y": (count + 2, np.float32)}, domain="", version=20,
        align_corners=corners,
    )  # fmt: skip
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


def test_a_grid_of_other_sizes_is_refused(device: dml.Device) -> None:
    inputs = {"theta": np.ones((2, 2, 3), np.float32), "size": np.array([1, 2, 3, 4])}
    model, given = node_model("AffineGrid", inputs, {"y": (4, np.float32)}, domain="", version=20, constants=("size",))
    with pytest.raises(dml.DMLError, match=r"matrices of shape \(2, 2, 3\) do not fit size \[1, 2, 3, 4\]"):
        prepare(model, device).run(given)


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_LOWER", "SAME_UPPER"])
@pytest.mark.parametrize("size", [7, 8, 10])
def test_an_output_shape_crops_a_transposed_convolution(device: dml.Device, auto_pad: str, size: int) -> None:
    """Only SAME_UPPER removes an odd element at the end."""
    generator = np.random.default_rng(5)
    inputs = {"x": generator.standard_normal((1, 2, 4)), "w": generator.standard_normal((2, 1, 3))}
    inputs = {name: array.astype(np.float32) for name, array in inputs.items()}
    attributes = {"output_shape": [size], "strides": [2], "auto_pad": auto_pad}
    model, given = node_model("ConvTranspose", inputs, {"y": (3, np.float32)}, domain="", **attributes)
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


def test_statistics_of_layer_normalization_are_float32(device: dml.Device) -> None:
    inputs = {"x": np.random.default_rng(5).standard_normal((2, 5)), "scale": np.ones(5)}
    outputs = {"y": (2, np.float64), "mean": (2, np.float32), "inverse": (2, np.float32)}
    model, given = node_model("LayerNormalization", inputs, outputs, domain="")
    assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-5)


@pytest.mark.parametrize("works", [True, False], ids=["body", "body that fails"])
def test_a_loop_without_rounds_gives_empty_outputs_of_the_body_s_sizes(device: dml.Device, works: bool) -> None:
    """The body declares no sizes; a body that cannot run gives the sizes that are declared, here none."""
    state = "x" if works else "unfit"
    body = helper.make_graph(
        [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Add", ["s", state], ["z"]),
         helper.make_node("Identity", ["z"], ["t"])],
        "body",
        [helper.make_tensor_value_info("i", onnx.TensorProto.INT64, []),
         helper.make_tensor_value_info("going", onnx.TensorProto.BOOL, []),
         helper.make_tensor_value_info("s", onnx.TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("on", onnx.TensorProto.BOOL, []),
         *(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "tz")],
    )  # fmt: skip
    loop = helper.make_node("Loop", ["count", "", "x"], ["last", "all"], body=body)
    inputs = {"x": np.ones((2, 3), np.float32), "unfit": np.ones(7, np.float32)}
    model = model_of([loop], inputs, ["last", "all"], 17, initializers={"count": np.array(0)})
    last, every = prepare(model, device).run(inputs)
    np.testing.assert_array_equal(last, inputs["x"])
    assert (every.shape, every.dtype) == ((0, 2, 3) if works else (0,), np.float32)


@pytest.mark.parametrize("op", ["GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"])
def test_global_pooling_of_an_empty_batch(device: dml.Device, op: str) -> None:
    model, given = node_model(op, {"x": np.zeros((0, 4, 2, 3, 2), np.float32)}, {"y": (5, np.float32)}, domain="")
    (found,) = prepare(model, device, fallback=False).run(given)
    assert found.shape == (0, 4, 1, 1, 1)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize(
    ("attributes", "sizes"),
    [
        ({"kernel_shape": [4, 2], "strides": [2, 1]}, (1, 2)),
        ({"kernel_shape": [4, 4], "strides": [3, 3], "auto_pad": "VALID"}, (1, 1)),
        ({"kernel_shape": [6, 4], "strides": [3, 2], "pads": [1, 0, 1, 0], "ceil_mode": 1}, (1, 1)),
        ({"kernel_shape": [4, 2]}, (0, 2)),
        ({"kernel_shape": [5, 4], "strides": [2, 2]}, (0, 1)),
    ],
)
def test_windows_larger_than_the_padded_input(
    device: dml.Device, op: str, attributes: dict[str, Any], sizes: tuple[int, int]
) -> None:
    """A window that is too large by less than a stride covers the existing elements; by up to two strides, there are no
    windows."""
    x = np.random.default_rng(3).standard_normal((1, 2, 3, 3)).astype(np.float32)
    included: dict[str, Any] = {"count_include_pad": 1} if op == "AveragePool" else {}
    model, given = node_model(op, {"x": x}, {"y": (4, np.float32)}, domain="", version=19, **attributes, **included)
    (found,) = prepare(model, device).run(given)
    assert found.shape == (1, 2, *sizes)
    assert_close([found], in_onnxruntime(model, given), 1e-6)
    if op == "MaxPool":
        outputs = {"y": (4, np.float32), "indices": (4, np.int64)}
        model, given = node_model(op, {"x": x}, outputs, domain="", version=12, **attributes)
        assert_close(prepare(model, device).run(given), in_onnxruntime(model, given), 1e-6)


@pytest.mark.parametrize("included", [0, 1])
@pytest.mark.parametrize(("window", "stride", "pads"), [(2, 2, (0, 2)), (2, 2, (1, 2)), (1, 3, (0, 2)), (3, 2, (1, 4))])
def test_no_window_starts_in_the_end_padding(
    device: dml.Device, window: int, stride: int, pads: tuple[int, int], included: int
) -> None:
    """With ceil_mode, as ONNX's rule has it; onnxruntime refuses such padding."""
    x = np.arange(1, 5, dtype=np.float32)
    starts = [start - pads[0] for start in range(0, 9, stride) if start < 4 + pads[0]]
    held = [np.arange(max(0, start), min(4, start + window)) for start in starts]
    counts = [
        min(4 + pads[1], start + window) - start if included else len(own)
        for start, own in zip(starts, held, strict=True)
    ]
    expected = [x[own].sum() / count for own, count in zip(held, counts, strict=True)]
    model, given = node_model(
        "AveragePool", {"x": x[None, None]}, {"y": (3, np.float32)}, domain="", version=19, kernel_shape=[window],
        strides=[stride], pads=pads, ceil_mode=1, count_include_pad=included,
    )  # fmt: skip
    np.testing.assert_allclose(prepare(model, device).run(given)[0][0, 0], expected, 1e-6)


@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize(("size", "window", "stride"), [(7, 3, 1), (6, 3, 3), (8, 4, 2), (5, 1, 2)])
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool"])
def test_pooling_pads_dilated_windows_to_the_same_size(
    device: dml.Device, op: str, size: int, window: int, stride: int, padding: str
) -> None:
    """By the specification the output has ceil(size / stride) elements; onnxruntime pads as if nothing were dilated."""
    x = np.random.default_rng(8).standard_normal((1, 2, size)).astype(np.float32)
    attributes = {"kernel_shape": [window], "strides": [stride], "dilations": [2], "auto_pad": padding}
    model, given = node_model(op, {"x": x}, {"y": (3, x.dtype)}, domain="", version=19, **attributes)
    (result,) = prepare(model, device).run(given)

    output = -(-size // stride)
    total = max((output - 1) * stride + 2 * (window - 1) + 1 - size, 0)
    before = total // 2 if padding == "SAME_UPPER" else total - total // 2
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (before, total - before)), constant_values=np.nan)
    windows = np.stack([padded[..., 2 * tap :][..., : (output - 1) * stride + 1 : stride] for tap in range(window)])
    expected = np.nanmax(windows, 0) if op == "MaxPool" else np.nanmean(windows, 0)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


def test_pooling_windows_of_no_size_are_refused(device: dml.Device) -> None:
    x = np.zeros((1, 1, 3, 3), np.float32)
    for op, more in (("MaxPool", {"kernel_shape": [3, 5]}), ("Conv", {})):
        inputs = {"x": x} | ({} if op == "MaxPool" else {"w": np.zeros((1, 1, 4, 4), np.float32)})
        model, given = node_model(op, inputs, {"y": (4, np.float32)}, domain="", version=19, **more)
        with pytest.raises(dml.DMLError, match=r"a window of [45] does not fit 3 elements and their padding"):
            prepare(model, device, fallback=False).run(given)


@pytest.mark.parametrize("shape", [(2, 5, 6, 2), (1, 5, 6, 3), (1, 5, 2)])
def test_a_grid_that_does_not_fit_is_refused(device: dml.Device, shape: tuple[int, ...]) -> None:
    inputs = {"x": np.zeros((1, 3, 4, 4), np.float32), "grid": np.zeros(shape, np.float32)}
    model, given = node_model("GridSample", inputs, {"y": (4, np.float32)}, domain="", version=20)
    message = f"a grid of shape {shape} does not fit a tensor of shape (1, 3, 4, 4)"
    with pytest.raises(dml.DMLError, match=re.escape(message)):
        prepare(model, device, fallback=False).run(given)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float32, np.int32, np.int64])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceMax", "ReduceProd"])
def test_reductions_of_nothing(device: dml.Device, op: str, kind: Any) -> None:
    """The result has the input's data type; the mean of no floats is NaN, as NumPy's (ONNX leaves it undefined)."""
    inputs = {"x": np.zeros((2, 0, 3), kind), "axes": np.array([1])}
    model, given = node_model(op, inputs, {"y": (3, kind)}, domain="", version=20, constants=("axes",))
    (found,) = prepare(model, device).run(given)
    assert (found.shape, found.dtype) == ((2, 1, 3), kind)
    if op != "ReduceMean":
        assert_close([found], in_onnxruntime(model, given), 0)
    elif kind == np.float32:
        assert np.isnan(found).all()


def test_mean_variance_normalization_of_equal_elements(device: dml.Device) -> None:
    """ONNX adds 1e-9 to the deviation, so the result is 0, not NaN."""
    inputs = {"x": np.full((2, 3, 4), 3.0, np.float32)}
    model, given = node_model("MeanVarianceNormalization", inputs, {"y": (3, np.float32)}, domain="", axes=[0, 2])
    (found,) = prepare(model, device).run(given)
    np.testing.assert_array_equal(found, np.zeros_like(inputs["x"]))


def test_clip_by_nan_limits_nothing(device: dml.Device) -> None:
    x = np.array([-np.inf, -3, 5, np.inf], np.float32)
    nan = np.array(np.nan, np.float32)
    inputs = {"x": x, "low": nan, "high": np.array(4, np.float32)}
    model, given = node_model("Clip", inputs, {"y": (1, np.float32)}, domain="", version=13, constants=("low", "high"))
    assert_close(prepare(model, device).run(given), [np.array([-np.inf, -3, 4, 4], np.float32)], 0)
    model, given = node_model("Clip", {"x": x}, {"y": (1, np.float32)}, domain="", version=6, min=np.nan, max=np.nan)
    assert_close(prepare(model, device).run(given), [x], 0)


def test_roi_align_takes_the_maximum_of_interpolated_samples(device: dml.Device) -> None:
    """onnx's reference takes the maximum of each neighbor's weighted part instead, which is smaller here."""
    x = np.random.default_rng(5).uniform(1, 9, (1, 2, 8, 9)).astype(np.float32)
    regions, samples = np.array([[1.0, 1.5, 7.0, 6.0], [2.5, 1.0, 5.5, 4.0]], np.float32), 2
    expected = np.empty((2, 2, 3, 2))
    for n, (left, top, right, bottom) in enumerate(regions.astype(np.float64) - 0.5):
        for row, column in np.ndindex(3, 2):
            ys = top + (bottom - top) / 3 * (row + (np.arange(samples) + 0.5) / samples)
            xs = left + (right - left) / 2 * (column + (np.arange(samples) + 0.5) / samples)
            points = [interpolated(x[0].astype(np.float64), py, px) for py in ys for px in xs]
            expected[n, :, row, column] = np.max(points, axis=0)
    model, given = node_model(
        "RoiAlign", {"x": x, "rois": regions, "images": np.zeros(2, np.int64)}, {"y": (4, np.float32)}, domain="",
        version=16, mode="max", output_height=3, output_width=2, sampling_ratio=samples,
    )  # fmt: skip
    assert_close(prepare(model, device).run(given), [expected.astype(np.float32)], 1e-5)
    assert (in_reference(model, given)[0] < expected).all()


def interpolated(image: Any, y: float, x: float) -> Any:
    """Return all channels at a point between elements."""
    top, left = int(y), int(x)
    down, right = y - top, x - left
    corners = image[:, top : top + 2, left : left + 2]
    return np.einsum("cyx,y,x->c", corners, [1 - down, down], [1 - right, right])


@pytest.mark.parametrize("runtime, written", [
    ("onnxruntime", ["0.1", "1", "1.2345679e+08", "INF", "-INF", "NaN"]),
    ("onnx's reference", ["0.1", "1.0", "1.2345679e+08", "inf", "-inf", "nan"]),
])  # fmt: skip
def test_floats_are_cast_to_strings_by_the_runtime_on_the_host(
    device: dml.Device, monkeypatch: Any, runtime: str, written: list[str]
) -> None:
    if runtime != "onnxruntime":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)  # as if it were not installed
    x = np.array([0.1, 1, 123456789, np.inf, -np.inf, np.nan], np.float32)
    model, given = node_model("Cast", {"x": x}, {"y": (1, object)}, domain="", version=21, to=onnx.TensorProto.STRING)
    with pytest.warns(HostNodesWarning):
        assert prepare(model, device).run(given)[0].tolist() == written
