"""Windows through the front ends: automatic padding, and output sizes that are rounded up."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from front_ends import FrontEndCase, by_onnx, by_openvino, by_pydirectml, by_torch, by_webnn

import dml.frontends.pydirectml as script

Array = npt.NDArray[Any]

_RNG = np.random.default_rng(30)


def _padding(lower: bool) -> tuple[int, int]:
    """Split three elements: one end gets two."""
    return (2, 1) if lower else (1, 2)


def _auto(lower: bool) -> str:
    return "same_lower" if lower else "same_upper"


def _convolved(lower: bool) -> FrontEndCase:
    """A size-preserving convolution with three elements of padding in all."""
    x, w = (_RNG.integers(-4, 5, sizes).astype(np.float32) for sizes in ((1, 2, 7, 6), (3, 2, 4, 4)))
    start, end = _padding(lower)

    def reference() -> list[Array]:
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (start, end), (start, end)))
        windows = np.lib.stride_tricks.sliding_window_view(wide, (4, 4), (2, 3))
        return [np.einsum("nchwij,kcij->nkhw", windows, w.astype(np.float64))]

    def in_openvino(opset: Any, x: Any) -> Any:
        return opset.convolution(x, opset.constant(w), [1, 1], [0, 0], [0, 0], [1, 1], _auto(lower))

    return FrontEndCase(
        f"convolution, {_auto(lower)}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "Conv", [x, w], constants=[1], auto_pad=_auto(lower).upper()
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x),
            "webnn": lambda device, folder: by_webnn(
                device, lambda builder, x, w: builder.conv2d(x, w, padding=[start, end, start, end]), x, w
            ),
            "pydirectml": lambda device, folder: by_pydirectml(
                device,
                lambda x, w: script.convolution(x, w, start_padding=[start] * 2, end_padding=[end] * 2),
                x, w,
            ),
            "torch": lambda device, folder: by_torch(
                device,
                lambda torch, x, w: torch.nn.functional.conv2d(
                    torch.nn.functional.pad(x, (start, end, start, end)), w
                ),
                x, w,
            ),
        },
        reference,
    )  # fmt: skip


def _transposed(lower: bool) -> FrontEndCase:
    """A transposed convolution that doubles the sizes: one surplus element is cropped at one end."""
    x, w = (_RNG.integers(-4, 5, sizes).astype(np.float32) for sizes in ((1, 2, 3, 4), (2, 3, 3, 3)))
    start, end = (1, 0) if lower else (0, 1)

    def reference() -> list[Array]:
        full = np.zeros((1, 3, 7, 9))
        for at, row in np.ndindex(3, 3):
            full[:, :, at : at + 6 : 2, row : row + 8 : 2] += np.einsum(
                "nchw,ck->nkhw", x.astype(np.float64), w[:, :, at, row].astype(np.float64)
            )
        return [full[:, :, start : 7 - end, start : 9 - end]]

    def in_openvino(opset: Any, x: Any) -> Any:
        # Without sizes OpenVINO crops nothing; same_lower crops the end, while ONNX's SAME_LOWER crops the start.
        shape = opset.constant(np.array([6, 8], np.int64))
        return opset.convolution_backprop_data(x, opset.constant(w), [2, 2], shape, auto_pad=_auto(not lower))

    def in_webnn(builder: Any, x: Any, w: Any) -> Any:
        return builder.conv_transpose2d(x, w, strides=[2, 2], padding=[start, end, start, end])

    return FrontEndCase(
        f"transposed convolution, {_auto(lower)}",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "ConvTranspose", [x, w], constants=[1], auto_pad=_auto(lower).upper(), strides=[2, 2]
            ),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x, w),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x),
            "pydirectml": lambda device, folder: by_pydirectml(
                device,
                lambda x, w: script.convolution(
                    x, w, direction=script.ConvolutionDirection.BACKWARD, strides=[2, 2], start_padding=[start] * 2,
                    end_padding=[end] * 2, output_sizes=[1, 3, 6, 8],
                ),
                x, w,
            ),
        },
        reference,
    )  # fmt: skip


def _pooled(mean: bool) -> FrontEndCase:
    """Windows of three at every second element of eight, rounded up: the last one reaches beyond the end."""
    x = _RNG.standard_normal((1, 2, 8, 8)).astype(np.float32)

    def reference() -> list[Array]:
        wide = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)
        windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (2, 3))[:, :, ::2, ::2]
        return [np.nanmean(windows, (4, 5)) if mean else np.nanmax(windows, (4, 5))]

    def in_openvino(opset: Any, x: Any) -> Any:
        if mean:
            return opset.avg_pool(x, [2, 2], [0, 0], [0, 0], [3, 3], True, "ceil")
        return opset.max_pool(x, [2, 2], [1, 1], [0, 0], [0, 0], [3, 3], "ceil").output(0)

    def in_webnn(builder: Any, x: Any) -> Any:
        pool = builder.average_pool2d if mean else builder.max_pool2d
        return pool(x, window_dimensions=[3, 3], strides=[2, 2], output_shape_rounding="ceil")

    def in_script(x: Any) -> Any:
        if mean:
            return script.average_pooling(x, [2, 2], [3, 3], [0, 0], [1, 1], False)
        return script.max_pooling(x, [3, 3], [2, 2], [0, 0], [1, 1]).values

    def in_torch(torch: Any, x: Any) -> Any:
        if mean:
            return torch.nn.functional.avg_pool2d(x, 3, 2, ceil_mode=True, count_include_pad=False)
        return torch.nn.functional.max_pool2d(x, 3, 2, ceil_mode=True)

    return FrontEndCase(
        f"{'mean' if mean else 'max'} pooling, rounded up",
        {
            "onnx": lambda device, folder: by_onnx(
                device, "AveragePool" if mean else "MaxPool", [x], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1
            ),
            "openvino": lambda device, folder: by_openvino(device, folder, in_openvino, x),
            "webnn": lambda device, folder: by_webnn(device, in_webnn, x),
            "pydirectml": lambda device, folder: by_pydirectml(device, in_script, x),
            "torch": lambda device, folder: by_torch(device, in_torch, x),
        },
        reference,
    )


WINDOW_CASES = [
    _convolved(False),
    _convolved(True),
    _transposed(False),
    _transposed(True),
    _pooled(False),
    _pooled(True),
]
