"""Operators of com.microsoft.nchwc, which onnxruntime writes into models that it optimized for a CPU.

onnxruntime stores their tensors with channels in blocks, zero-padded to whole blocks; operators between them are
element-wise, or join whole blocks. Here the tensors are row-major {N, C, H, W} with the same channel padding. The
domain's version is used for the block size (see ``blocked``).
"""

from __future__ import annotations

from dml.frontends.meaning.resampling import ResizedAxis

from ...dtypes import Array
from ...registry import onnx_op
from ..blocked import NCHWC
from ..functions import part
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, transpose
from .movement import padded
from .optimized import fused_convolution
from .pooling import average_pool, global_average_pool, global_max_pool, max_pool
from .resample import resized

SMALLEST_BLOCK = 8


@onnx_op("ReorderInput", since=SMALLEST_BLOCK, domain=NCHWC)
def reorder_input(node: OnnxNode) -> OnnxValue:
    x = node.input(0, rank=4)
    if node.integer("channels_last", 0):
        x = transpose(x, (0, 3, 1, 2))
    return padded(x, [0] * 4, [0, -x.shape[1] % node.version, 0, 0])


@onnx_op("ReorderOutput", since=SMALLEST_BLOCK, domain=NCHWC)
def reorder_output(node: OnnxNode) -> OnnxValue:
    x = node.input(0, rank=4)
    channels = node.integer("channels", 0, least=1, most=x.shape[1])
    x = part(x, 1, 0, channels)
    return transpose(x, (0, 2, 3, 1)) if node.integer("channels_last", 0) else x


@onnx_op("Conv", since=SMALLEST_BLOCK, domain=NCHWC)
def blocked_convolution(node: OnnxNode) -> OnnxValue:
    """FusedConv with filters in blocks.

    If the input has fewer channels than a block, or the convolution is depthwise, only the filter's output channels are
    in blocks.
    """
    x, filters = node.input(0, rank=4), node.input(1, rank=4)
    if filters.array is None:
        raise Unsupported("its filter must be a constant")
    block, (outputs, inputs) = node.version, filters.shape[:2]
    groups = node.integer("group", 1)
    is_plain = inputs == 1 if groups > 1 else x.shape[1] < block
    node.check(
        outputs % block == 0 and (is_plain or inputs % block == 0),
        f"channels must be in blocks of {block}, found a filter of shape {filters.shape}",
    )

    def unblocked(array: Array) -> Array:
        """Return {outputs, inputs, H, W} from {output blocks, input blocks, H, W, inputs per block, outputs per
        block}."""
        own = 1 if is_plain else block
        seen = array.reshape(outputs // block, inputs // own, *array.shape[2:], own, block)
        return seen.transpose(0, 5, 1, 4, 2, 3).reshape(array.shape)

    node.inputs[1] = node.constant(node.builder.derived(filters.array, (block, is_plain), unblocked))
    return fused_convolution(node)


@onnx_op("MaxPool", since=SMALLEST_BLOCK, domain=NCHWC)
def blocked_max_pool(node: OnnxNode) -> list[OnnxValue | None]:
    node.check(not node.wants(1), "its output of indices is not supported")
    return max_pool(node)


onnx_op("AveragePool", since=SMALLEST_BLOCK, domain=NCHWC)(average_pool)
onnx_op("GlobalAveragePool", since=SMALLEST_BLOCK, domain=NCHWC)(global_average_pool)
onnx_op("GlobalMaxPool", since=SMALLEST_BLOCK, domain=NCHWC)(global_max_pool)


@onnx_op("Upsample", since=SMALLEST_BLOCK, domain=NCHWC)
def blocked_upsample(node: OnnxNode) -> OnnxValue:
    """Upsample by integer factors; each element is repeated."""
    x = node.input(0, rank=4)
    scales = node.ints("scales") or [1] * 4
    node.check(len(scales) == 4 and scales[:2] == [1, 1] and min(scales) >= 1,
               f"scales must be 1, 1 and two factors, found {scales}")  # fmt: skip
    coordinates = ("asymmetric", "align_corners", "half_pixel")
    mode = node.one_of("coordinate_transformation_mode", "asymmetric", coordinates)
    axes = [
        ResizedAxis(size, size * scale, float(scale), (0.0, 1.0), mode)
        for size, scale in zip(x.shape, scales, strict=True)
    ]
    return resized(x, axes, node.one_of("mode", "nearest", ("nearest", "linear")), "floor")
