"""Operations that several formats share: all front ends return the same bits, and values near a reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from front_ends import FrontEndCase, by_onnx, by_openvino, by_pydirectml, by_torch, by_webnn
from scipy import special
from shared_recurrent_cases import RECURRENT_CASES
from shared_window_cases import WINDOW_CASES

import dml.frontends.pydirectml as script
from dml.enums import DML_REDUCE_FUNCTION
from dml.frontends.meaning.resampling import ResizedAxis, nearest_elements, weights
from dml.frontends.webnn import MLGraphBuilder, MLOperandDescriptor
from harness import assert_exact

Array = npt.NDArray[Any]


_RNG = np.random.default_rng(28)
X = _RNG.standard_normal((1, 2, 5, 6)).astype(np.float32)


def _resized(name: str, mode: str, sizes: tuple[int, int], coordinates: str = "half_pixel") -> FrontEndCase:
    """Resize X to other sizes along the last two axes."""
    axes = [
        ResizedAxis(size, wanted, wanted / size, mode=coordinates)
        for size, wanted in zip(X.shape[2:], sizes, strict=True)
    ]

    def reference() -> list[Array]:
        made = X.astype(np.float64)
        for index, axis in enumerate(axes, 2):
            if mode == "nearest":
                made = np.take(made, nearest_elements(axis, "round_prefer_floor"), index)
            else:
                made = np.moveaxis(np.moveaxis(made, index, -1) @ weights(axis, mode, False, False, -0.75).T, -1, index)
        return [made]

    shape = np.array([1, 2, *sizes], np.int64)
    runs = {
        "onnx": lambda device, folder: by_onnx(
            device, "Resize", [X, None, None, shape], constants=[3], mode=mode,
            coordinate_transformation_mode=coordinates,
        ),
    }  # fmt: skip
    if coordinates == "half_pixel" and mode != "cubic":
        own = "nearest-neighbor" if mode == "nearest" else mode
        runs["webnn"] = lambda device, folder: by_webnn(
            device, lambda builder, x: builder.resample2d(x, mode=own, sizes=list(sizes)), X
        )

    def interpolated(opset: Any, x: Any) -> Any:
        own = "linear_onnx" if mode == "linear" else mode
        return opset.interpolate(
            x, opset.constant(np.array(sizes, np.int64)), mode=own, shape_calculation_mode="sizes",
            axes=opset.constant(np.array([2, 3], np.int64)), coordinate_transformation_mode=coordinates,
        )  # fmt: skip

    runs["openvino"] = lambda device, folder: by_openvino(device, folder, interpolated, X)
    if mode != "nearest":
        runs["torch"] = lambda device, folder: by_torch(
            device,
            lambda torch, x: torch.nn.functional.interpolate(
                x, sizes, mode=f"bi{mode}", align_corners=coordinates == "align_corners"
            ),
            X,
        )
    return FrontEndCase(f"resize {name}", runs, reference)


def _scattered(name: str, onnx_name: str, reduce: Any, in_torch: str) -> FrontEndCase:
    """Scatter updates into elements; some indices repeat, some are negative."""
    indices = np.array([[0, -1, 2], [0, 1, 3], [3, -1, 2]], np.int64)
    x, updates = (_RNG.standard_normal(sizes).astype(np.float32) for sizes in ((4, 3), (3, 3)))

    def reference() -> list[Array]:
        made = x.astype(np.float64)
        reduce.at(made, (indices, np.arange(3)[None]), updates.astype(np.float64))
        return [made]

    def updated(opset: Any, x: Any, updates: Any) -> Any:
        return opset.scatter_elements_update(x, opset.constant(indices), updates, np.int64(0), name)

    return FrontEndCase(
        f"scatter {name}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "ScatterElements", [x, indices, updates], constants=[1], axis=0, reduction=onnx_name
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, updated, x, updates),
            "torch": lambda device, folder: by_torch(
                device,
                lambda torch, x, at, updates: x.scatter_reduce(0, at, updates, in_torch),
                x, indices % 4, updates,
            ),
        },
        reference,
    )  # fmt: skip


def _grouped(groups: int) -> FrontEndCase:
    """Group normalization with a scale and a bias for each channel."""
    x = _RNG.standard_normal((2, 6, 3, 5)).astype(np.float32)
    scale, bias = (_RNG.standard_normal(6).astype(np.float32) for _ in range(2))

    def reference() -> list[Array]:
        wide = x.astype(np.float64).reshape(2, groups, -1)
        made = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-5)
        return [made.reshape(x.shape) * scale.reshape(6, 1, 1) + bias.reshape(6, 1, 1)]

    return FrontEndCase(
        f"group normalization, {groups}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "GroupNormalization", [x, scale, bias], num_groups=groups, epsilon=1e-5
            ),
            "openvino": lambda device, folder: by_openvino(
                device, folder, lambda opset, x, a, b: opset.group_normalization(x, a, b, groups, 1e-5), x, scale, bias
            ),
        },
        reference,
    )


def _layer_normalized() -> FrontEndCase:
    x = _RNG.standard_normal((3, 4, 7)).astype(np.float32)
    scale, bias = (_RNG.standard_normal(7).astype(np.float32) for _ in range(2))

    def reference() -> list[Array]:
        wide = x.astype(np.float64)
        made = (wide - wide.mean(2, keepdims=True)) / np.sqrt(wide.var(2, keepdims=True) + 1e-5)
        return [made * scale + bias]

    return FrontEndCase(
        "layer normalization",
        {
            "onnx": lambda device, folder: by_onnx(device, "LayerNormalization", [x, scale, bias], epsilon=1e-5),
            "webnn": lambda device, folder: by_webnn(
                device,
                lambda builder, x, a, b: builder.layer_normalization(x, scale=a, bias=b, axes=[2], epsilon=1e-5),
                x, scale, bias,
            ),
            "pydirectml": lambda device, folder: by_pydirectml(
                device,
                lambda x, a, b: script.mean_variance_normalization(x, a, b, [3], True, 1e-5),
                *(np.broadcast_to(array, (1, 3, 4, 7)) for array in (x, scale, bias)),
            ),
            "torch": lambda device, folder: by_torch(
                device, lambda torch, x, a, b: torch.nn.functional.layer_norm(x, (7,), a, b, 1e-5), x, scale, bias
            ),
        },
        reference,
    )  # fmt: skip


def _activated(
    name: str, onnx_name: str, reference: Callable[[Array], Array], in_openvino: Callable[[Any, Any], Any] | None = None
) -> FrontEndCase:
    """An activation with its default parameters, for which OpenVINO has no defaults."""
    x = np.linspace(-4, 4, 37, dtype=np.float32)
    runs: dict[str, Any] = {"onnx": lambda device, folder: by_onnx(device, onnx_name, [x], version=22)}
    if hasattr(MLGraphBuilder, name):
        runs["webnn"] = lambda device, folder: by_webnn(device, lambda builder, x: getattr(builder, name)(x), x)
    if in_openvino is not None:
        runs["openvino"] = lambda device, folder: by_openvino(device, folder, in_openvino, x)
    in_script = getattr(script, f"activation_{name}", None)
    if in_script is not None:
        runs["pydirectml"] = lambda device, folder: by_pydirectml(device, in_script, x.reshape(1, 1, 1, -1))
    if name in ("gelu", "mish", "softplus"):  # each compilation by PyTorch takes seconds
        runs["torch"] = lambda device, folder: by_torch(
            device, lambda torch, x: getattr(torch.nn.functional, name)(x), x
        )
    return FrontEndCase(name, runs, lambda: [reference(x.astype(np.float64))])


def _softplus(x: Array) -> Array:
    return np.log1p(np.exp(x))


#: SELU's parameters
_ALPHA, _GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
ACTIVATION_CASES = [
    _activated("elu", "Elu", lambda x: np.where(x > 0, x, np.expm1(x)), lambda o, x: o.elu(x, 1.0)),
    _activated(
        "hard_sigmoid", "HardSigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1),
        lambda o, x: o.hard_sigmoid(x, np.float32(0.2), np.float32(0.5)),
    ),
    _activated("hard_swish", "HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), lambda o, x: o.hswish(x)),
    _activated(
        "leaky_relu", "LeakyRelu", lambda x: np.where(x > 0, x, 0.01 * x), lambda o, x: o.prelu(x, np.float32([0.01]))
    ),
    _activated("softplus", "Softplus", _softplus, lambda o, x: o.softplus(x)),
    _activated("softsign", "Softsign", lambda x: x / (1 + abs(x)), lambda o, x: o.softsign(x)),
    _activated("gelu", "Gelu", lambda x: x * (1 + special.erf(x / np.sqrt(2))) / 2, lambda o, x: o.gelu(x, "erf")),
    _activated("mish", "Mish", lambda x: x * np.tanh(_softplus(x)), lambda o, x: o.mish(x)),
    _activated(
        "selu", "Selu", lambda x: _GAMMA * np.where(x > 0, x, _ALPHA * np.expm1(x)),
        lambda o, x: o.selu(x, np.float32(_ALPHA), np.float32(_GAMMA)),
    ),
    _activated("tanh", "Tanh", np.tanh, lambda o, x: o.tanh(x)),
    _activated("sigmoid", "Sigmoid", lambda x: 1 / (1 + np.exp(-x)), lambda o, x: o.sigmoid(x)),
]  # fmt: skip


def _normalized_by_channel(batch: bool) -> FrontEndCase:
    """Normalize each channel by given statistics (batch) or by those of each image (instance)."""
    x = _RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)
    scale, bias, mean = (_RNG.standard_normal(3).astype(np.float32) for _ in range(3))
    variance = _RNG.uniform(0.5, 2, 3).astype(np.float32)

    def reference() -> list[Array]:
        wide = x.astype(np.float64)
        middle = mean.reshape(3, 1, 1) if batch else wide.mean((2, 3), keepdims=True)
        spread = variance.reshape(3, 1, 1) if batch else wide.var((2, 3), keepdims=True)
        return [(wide - middle) / np.sqrt(spread + 1e-5) * scale.reshape(3, 1, 1) + bias.reshape(3, 1, 1)]

    if not batch:
        return FrontEndCase(
            "instance normalization",
            {
                "onnx": lambda device, folder: by_onnx(device, "InstanceNormalization", [x, scale, bias], epsilon=1e-5),
                "webnn": lambda device, folder: by_webnn(
                    device,
                    lambda builder, x, a, b: builder.instance_normalization(x, scale=a, bias=b, epsilon=1e-5),
                    x, scale, bias,
                ),
                "pydirectml": lambda device, folder: by_pydirectml(
                    device,
                    lambda x, a, b: script.mean_variance_normalization(x, a, b, [2, 3], True, 1e-5),
                    x, *(np.broadcast_to(array.reshape(1, 3, 1, 1), x.shape) for array in (scale, bias)),
                ),
            },
            reference,
        )  # fmt: skip

    def in_webnn(builder: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return builder.batch_normalization(x, c, d, scale=a, bias=b, epsilon=1e-5)

    def in_openvino(opset: Any, x: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        return opset.batch_norm_inference(x, a, b, c, d, 1e-5)

    given = (x, scale, bias, mean, variance)
    return FrontEndCase(
        "batch normalization",
        {
            "onnx": lambda device, folder: by_onnx(device, "BatchNormalization", given, epsilon=1e-5),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, *given),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, *given),
            "pydirectml": lambda device, folder: by_pydirectml(
                device,
                lambda x, a, b, c, d: script.batch_normalization(x, c, d, a, b, True, 1e-5),
                x, *(array.reshape(1, 3, 1, 1) for array in given[1:]),
            ),
            "torch": lambda device, folder: by_torch(
                device,
                lambda torch, x, a, b, c, d: torch.nn.functional.batch_norm(x, c, d, a, b, False, 0, 1e-5),
                *given,
            ),
        },
        reference,
    )  # fmt: skip


def _scattered_parts(name: str, onnx_name: str, reduce: Any) -> FrontEndCase:
    """Reduce updates into rows selected by leading coordinates: one row twice, and one counted from the end."""
    x, updates = (_RNG.standard_normal(sizes).astype(np.float32) for sizes in ((4, 2, 3), (3, 3)))
    indices = np.array([[1, 0], [-1, 1], [1, 0]], np.int64)

    def reference() -> list[Array]:
        made = x.astype(np.float64)
        if reduce is None:
            made[tuple(indices.T)] = updates
        else:
            reduce.at(made, tuple(indices.T), updates.astype(np.float64))
        return [made]

    if reduce is None:  # of two updates of one element either may be the last
        indices = np.array([[1, 0], [-1, 1], [2, 0]], np.int64)

    def in_openvino(opset: Any, x: Any, updates: Any) -> Any:
        return opset.scatter_nd_update(x, opset.constant(indices), updates, name)

    runs: dict[str, Any] = {
        "onnx": lambda device, folder: by_onnx(
            device, "ScatterND", [x, indices, updates], constants=[1], reduction=onnx_name
        ),
        "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x, updates),
    }
    if reduce is None:
        runs["webnn"] = lambda device, folder: by_webnn(
            device,
            lambda builder, x, updates: builder.scatter_nd(
                x, builder.constant(MLOperandDescriptor("int64", indices.shape), indices), updates
            ),
            x, updates,
        )  # fmt: skip
    return FrontEndCase(f"scatter parts {name}", runs, reference)


def _dequantized(block: int) -> FrontEndCase:
    """Dequantize blocks of a matrix's rows; with block 0 each column has its own scale."""
    x = _RNG.integers(0, 256, (6, 8)).astype(np.uint8)
    sizes = (6, 8 // block) if block else (1, 8)
    scale = _RNG.uniform(0.01, 0.1, sizes).astype(np.float32)
    point = _RNG.integers(0, 256, sizes).astype(np.uint8)
    per_axis: dict[str, Any] = {"axis": 1, "block_size": block} if block else {"axis": 1}
    given = [scale, point] if block else [scale[0], point[0]]

    def reference() -> list[Array]:
        wide, zero = (np.repeat(part, block or 1, 1).astype(np.float64) for part in (scale, point))
        return [(x - zero) * wide]

    def in_webnn(builder: Any, x: Any, scale: Any, point: Any) -> Any:
        return builder.dequantize_linear(x, scale, point)

    return FrontEndCase(
        f"dequantization, {f'blocks of {block}' if block else 'columns'}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "DequantizeLinear", [x, *given], constants=[1, 2], result=np.float32, **per_axis
            ),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x, scale, point),
        },
        reference,
    )


def _quantized() -> FrontEndCase:
    """Quantize to bytes by one scale for each row."""
    x = _RNG.uniform(-3, 3, (4, 5)).astype(np.float32)
    scale, point = np.array([0.02, 0.03, 0.04, 0.05], np.float32), np.array([128, 100, 0, 255], np.uint8)

    def reference() -> list[Array]:
        return [np.clip(np.rint(x / scale[:, None]) + point[:, None].astype(np.int64), 0, 255)]

    def in_webnn(builder: Any, x: Any, scale: Any, point: Any) -> Any:
        return builder.quantize_linear(x, scale, point)

    return FrontEndCase(
        "quantization, rows",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "QuantizeLinear", [x, scale, point], constants=[1, 2], result=np.uint8, axis=0
            ),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x, scale[:, None], point[:, None]),
        },
        reference,
    )


def _reduced(name: str, onnx_name: str, reference: Callable[[Array], Array], in_openvino: str | None) -> FrontEndCase:
    """Reduce over the first and the last axis, counted from both ends."""
    x = _RNG.uniform(0.5, 1.5, (3, 4, 5)).astype(np.float32)
    axes = np.array([-1, 0], np.int64)
    runs: dict[str, Any] = {
        "onnx": lambda device, folder: by_onnx(device, onnx_name, [x, axes], constants=[1], keepdims=0),
        "webnn": lambda device, folder: by_webnn(device, lambda builder, x: getattr(builder, name)(x, axes=[0, 2]), x),
    }
    if in_openvino is not None:
        runs["openvino"] = lambda device, folder: by_openvino(
            device, folder, lambda opset, x: getattr(opset, in_openvino)(x, opset.constant(axes), False), x
        )
    own = {"mean": "average", "product": "multiply"}.get(name.removeprefix("reduce_"), name.removeprefix("reduce_"))
    function = DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{own.upper()}"]
    runs["pydirectml"] = lambda device, folder: by_pydirectml(device, lambda x: script.reduce(x, function, [0, 2]), x)
    if name == "reduce_mean":
        runs["torch"] = lambda device, folder: by_torch(device, lambda torch, x: x.mean((0, 2)), x)
    return FrontEndCase(name, runs, lambda: [reference(x.astype(np.float64))], 2e-4)


REDUCTION_CASES = [
    _reduced("reduce_sum", "ReduceSum", lambda x: x.sum((0, 2)), "reduce_sum"),
    _reduced("reduce_mean", "ReduceMean", lambda x: x.mean((0, 2)), "reduce_mean"),
    _reduced("reduce_product", "ReduceProd", lambda x: x.prod((0, 2)), "reduce_prod"),
    _reduced("reduce_max", "ReduceMax", lambda x: x.max((0, 2)), "reduce_max"),
    _reduced("reduce_min", "ReduceMin", lambda x: x.min((0, 2)), "reduce_min"),
    _reduced("reduce_l1", "ReduceL1", lambda x: abs(x).sum((0, 2)), "reduce_l1"),
    _reduced("reduce_l2", "ReduceL2", lambda x: np.sqrt((x * x).sum((0, 2))), "reduce_l2"),
    _reduced("reduce_log_sum", "ReduceLogSum", lambda x: np.log(x.sum((0, 2))), None),
    _reduced("reduce_log_sum_exp", "ReduceLogSumExp", lambda x: np.log(np.exp(x).sum((0, 2))), None),
    _reduced("reduce_sum_square", "ReduceSumSquare", lambda x: (x * x).sum((0, 2)), None),
]


def _einsum(equation: str, *shapes: tuple[int, ...]) -> FrontEndCase:
    arrays = [_RNG.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    runs: dict[str, Any] = {
        "onnx": lambda device, folder: by_onnx(device, "Einsum", arrays, equation=equation),
        "openvino": lambda device, folder: by_openvino(
            device, folder, lambda opset, *x: opset.einsum(list(x), equation), *arrays
        ),
    }
    return FrontEndCase(equation, runs, lambda: [np.einsum(equation, *(array.astype(np.float64) for array in arrays))])


EINSUM_CASES = [
    _einsum("bhid,bhjd->bhij", (2, 3, 4, 5), (2, 3, 6, 5)),
    _einsum("ab,bc,cd->da", (2, 3), (3, 4), (4, 5)),
    _einsum("b...ij,b...jk", (2, 3, 4, 5), (2, 3, 5, 6)),
    _einsum("ii,ijk->k", (3, 3), (3, 2, 4)),
    _einsum("i,i->", (5,), (5,)),
]


def _multiplied_blocks(rows: int, has_points: bool) -> FrontEndCase:
    """Multiply by weights {48, 96} of 4 bits, in blocks of 32 with a scale and a zero point each."""
    n, k, block = 48, 96, 32
    codes, points = _RNG.integers(0, 16, (n, k), np.uint8), _RNG.integers(0, 16, (n, k // block), np.uint8)
    points = points if has_points else np.full_like(points, 8)
    scales = _RNG.uniform(0.01, 0.03, points.shape).astype(np.float32)
    x = _RNG.standard_normal((rows, k)).astype(np.float32)

    def packed(numbers: Array) -> Array:
        wide = np.pad(numbers, ((0, 0), (0, numbers.shape[1] % 2)))
        return wide[:, ::2] | wide[:, 1::2] << 4

    def reference() -> list[Array]:
        numbers = codes.astype(np.float64) - points.repeat(block, 1)
        return [x.astype(np.float64) @ (numbers * scales.repeat(block, 1)).T]

    def by_matmul_nbits(device: Any, folder: Any) -> list[Array]:
        weights = packed(codes).reshape(n, k // block, block // 2)
        arrays = [x, weights, scales, *([packed(points)] if has_points else [])]
        return by_onnx(
            device, "MatMulNBits", arrays, constants=range(1, len(arrays)),
            domain="com.microsoft", N=n, K=k, bits=4, block_size=block,
        )  # fmt: skip

    def decompressed(opset: Any, x: Any) -> Any:
        import openvino as ov

        def constant(numbers: Array, *sizes: int) -> Any:
            tensor = ov.Tensor(packed(numbers.reshape(1, -1)).reshape(-1), list(sizes), ov.Type.u4)
            return opset.convert(ov.op.Constant(tensor, shared_memory=False), "f32")

        each = n, k // block, 1
        made = opset.subtract(constant(codes, n, k // block, block), constant(points, *each))
        made = opset.multiply(made, opset.constant(scales.reshape(each)))
        return opset.matmul(x, opset.reshape(made, np.array([n, k]), False), False, True)

    runs = {
        "onnx": by_matmul_nbits,
        "openvino": lambda device, folder: by_openvino(device, folder, decompressed, x),
    }
    return FrontEndCase(f"blocks of 4 bits, {rows} rows, {has_points}", runs, reference)


CASES = [
    *(_multiplied_blocks(rows, has_points) for rows in (1, 20) for has_points in (True, False)),
    _resized("larger linear", "linear", (10, 9)),
    _resized("smaller linear", "linear", (3, 4)),
    _resized("one row", "linear", (1, 6)),
    _resized("corners", "linear", (7, 11), "align_corners"),
    _resized("larger cubic", "cubic", (10, 9)),
    _resized("smaller cubic", "cubic", (3, 4)),
    _resized("nearest twice", "nearest", (10, 12)),
    _resized("nearest by fractions", "nearest", (7, 9)),
    _resized("nearest smaller", "nearest", (2, 3)),
    _scattered("sum", "add", np.add, "sum"),
    _scattered("prod", "mul", np.multiply, "prod"),
    _scattered("max", "max", np.maximum, "amax"),
    _scattered("min", "min", np.minimum, "amin"),
    _grouped(1),
    _grouped(3),
    _layer_normalized(),
    _normalized_by_channel(True),
    _normalized_by_channel(False),
    _scattered_parts("none", "none", None),
    _scattered_parts("sum", "add", np.add),
    _scattered_parts("max", "max", np.maximum),
    _dequantized(0),
    _dequantized(4),
    _quantized(),
    *ACTIVATION_CASES,
    *REDUCTION_CASES,
    *EINSUM_CASES,
    *WINDOW_CASES,
    *RECURRENT_CASES,
]


def _check(device: Any, folder: Any, case: FrontEndCase, names: list[str]) -> None:
    found = [case.runs[name](device, folder) for name in names]
    expected = case.reference()
    first, *others = found
    assert len(first) == len(expected)
    for result, wanted in zip(first, expected, strict=True):
        np.testing.assert_allclose(result.reshape(wanted.shape), wanted, rtol=0, atol=case.tolerance)
    for results in others:
        for result, same in zip(results, first, strict=True):
            assert_exact(result.reshape(same.shape), same)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_front_end_gives_the_same_bits(device, tmp_path, case):
    _check(device, tmp_path, case, [name for name in case.runs if name != "torch"])


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if "torch" in case.runs], ids=lambda case: case.name)
def test_pytorch_gives_the_same_bits(device, tmp_path, case):
    _check(device, tmp_path, case, ["onnx", "torch"])
