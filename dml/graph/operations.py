"""The operators as functions of graph tensors, output sizes inferred (DirectMLX's functions under snake_case names).

Each takes the operator's fields by the reference's meaning; see the descriptor's class for data types and rules, which
the device checks when the node is made. Element-wise functions broadcast as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dml import enums
from dml.arguments import checked
from dml.descriptors import activation as act
from dml.descriptors import elementwise as ew
from dml.descriptors.attention import DML_MULTIHEAD_ATTENTION_OPERATOR_DESC
from dml.descriptors.base import OperatorDesc
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.movement import (
    DML_CAST_OPERATOR_DESC,
    DML_DEPTH_TO_SPACE1_OPERATOR_DESC,
    DML_JOIN_OPERATOR_DESC,
    DML_PADDING_OPERATOR_DESC,
    DML_SLICE1_OPERATOR_DESC,
    DML_SPACE_TO_DEPTH1_OPERATOR_DESC,
    DML_SPLIT_OPERATOR_DESC,
    DML_TILE_OPERATOR_DESC,
)
from dml.descriptors.normalization import (
    DML_BATCH_NORMALIZATION_OPERATOR_DESC,
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
)
from dml.descriptors.pooling import DML_AVERAGE_POOLING_OPERATOR_DESC, DML_MAX_POOLING2_OPERATOR_DESC
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC
from dml.descriptors.reduction import DML_REDUCE_OPERATOR_DESC, DML_TOP_K1_OPERATOR_DESC
from dml.descriptors.resample import DML_RESAMPLE1_OPERATOR_DESC, DML_UPSAMPLE_2D_OPERATOR_DESC
from dml.enums import DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.graph.builder import Operand, Tensor
from dml.graph.indexing import axis_of
from dml.graph.indexing import cumulative_product as cumulative_product
from dml.graph.indexing import cumulative_sum as cumulative_sum
from dml.graph.indexing import dequantize_linear as dequantize_linear
from dml.graph.indexing import gather as gather
from dml.graph.indexing import gather_elements as gather_elements
from dml.graph.indexing import gather_nd as gather_nd
from dml.graph.indexing import one_hot as one_hot
from dml.graph.indexing import parameterized_relu as parameterized_relu
from dml.graph.indexing import quantize_linear as quantize_linear
from dml.graph.indexing import reverse_subsequences as reverse_subsequences
from dml.graph.indexing import scatter_elements as scatter_elements
from dml.graph.indexing import scatter_nd as scatter_nd
from dml.shapes import (
    broadcast_sizes,
    convolved_sizes,
    depth_to_space_sizes,
    each_dimension,
    joined_sizes,
    ones_along,
    padded_sizes,
    pooled_sizes,
    scaled_sizes,
    sliced_sizes,
    space_to_depth_sizes,
    with_size,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SIZE_2D

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8
UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32


def _unary(
    cls: type[OperatorDesc], data_type: DML_TENSOR_DATA_TYPE | None = None, **defaults: Any
) -> Callable[..., Tensor]:
    """A function of one tensor; attributes by keyword, with the defaults of DirectMLX where it has them."""
    names = {info.name for info in cls.fields_info}

    @checked
    def function(x: Tensor, **attributes: Any) -> Tensor:
        given = {"Axes": (x.rank - 1,), "ScaleBias": None}
        fields = {name: value for name, value in given.items() if name in names} | defaults | attributes
        return x.builder.one(cls, x.sizes, data_type or x.data_type, InputTensor=x, **fields)

    told = [f"{name} {value}" for name, value in defaults.items()] + ["Axes the last one"] * ("Axes" in names)
    function.__doc__ = (
        f"{cls.__name__} of x: its sizes and, but for predicates, its data type."
        f"{' Where not given: ' + ', '.join(told) + '.' if told else ''}"
    )
    return function


def _binary(cls: type[OperatorDesc], data_type: DML_TENSOR_DATA_TYPE | None = None) -> Callable[..., Tensor]:
    @checked
    def function(a: Tensor, b: Operand, **attributes: Any) -> Tensor:
        second = a.builder.like(b, a)
        sizes = broadcast_sizes(a.sizes, second.sizes)
        inputs = {"ATensor": a.broadcast(sizes), "BTensor": second.broadcast(sizes)}
        return a.builder.one(cls, sizes, data_type or a.data_type, **inputs, **attributes)

    function.__doc__ = f"{cls.__name__} of a and b, broadcast to each other."
    return function


identity = _unary(ew.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC)
absolute = _unary(ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC)
acos = _unary(ew.DML_ELEMENT_WISE_ACOS_OPERATOR_DESC)
acosh = _unary(ew.DML_ELEMENT_WISE_ACOSH_OPERATOR_DESC)
asin = _unary(ew.DML_ELEMENT_WISE_ASIN_OPERATOR_DESC)
asinh = _unary(ew.DML_ELEMENT_WISE_ASINH_OPERATOR_DESC)
atan = _unary(ew.DML_ELEMENT_WISE_ATAN_OPERATOR_DESC)
atanh = _unary(ew.DML_ELEMENT_WISE_ATANH_OPERATOR_DESC)
bit_count = _unary(ew.DML_ELEMENT_WISE_BIT_COUNT_OPERATOR_DESC, UINT8)
bit_not = _unary(ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC)
ceil = _unary(ew.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC)
clip = _unary(ew.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC)
constant_pow = _unary(ew.DML_ELEMENT_WISE_CONSTANT_POW_OPERATOR_DESC)
cos = _unary(ew.DML_ELEMENT_WISE_COS_OPERATOR_DESC)
cosh = _unary(ew.DML_ELEMENT_WISE_COSH_OPERATOR_DESC)
erf = _unary(ew.DML_ELEMENT_WISE_ERF_OPERATOR_DESC)
exp = _unary(ew.DML_ELEMENT_WISE_EXP_OPERATOR_DESC)
floor = _unary(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC)
is_infinity = _unary(
    ew.DML_ELEMENT_WISE_IS_INFINITY_OPERATOR_DESC, UINT8, InfinityMode=enums.DML_IS_INFINITY_MODE_EITHER
)
is_nan = _unary(ew.DML_ELEMENT_WISE_IS_NAN_OPERATOR_DESC, UINT8)
log = _unary(ew.DML_ELEMENT_WISE_LOG_OPERATOR_DESC)
logical_not = _unary(ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC)
negate = _unary(ew.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC)
recip = _unary(ew.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC)
round_ = _unary(ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, RoundingMode=enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN)
sign = _unary(ew.DML_ELEMENT_WISE_SIGN_OPERATOR_DESC)
sin = _unary(ew.DML_ELEMENT_WISE_SIN_OPERATOR_DESC)
sinh = _unary(ew.DML_ELEMENT_WISE_SINH_OPERATOR_DESC)
sqrt = _unary(ew.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC)
tan = _unary(ew.DML_ELEMENT_WISE_TAN_OPERATOR_DESC)
threshold = _unary(ew.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC)

add = _binary(ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC)
atan_yx = _binary(ew.DML_ELEMENT_WISE_ATAN_YX_OPERATOR_DESC)
bit_and = _binary(ew.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC)
bit_or = _binary(ew.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC)
bit_shift_left = _binary(ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC)
bit_shift_right = _binary(ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC)
bit_xor = _binary(ew.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC)
difference_square = _binary(ew.DML_ELEMENT_WISE_DIFFERENCE_SQUARE_OPERATOR_DESC)
divide = _binary(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC)
equals = _binary(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, UINT8)
greater_than = _binary(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, UINT8)
greater_than_or_equal = _binary(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
less_than = _binary(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, UINT8)
less_than_or_equal = _binary(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
logical_and = _binary(ew.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC)
logical_or = _binary(ew.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC)
logical_xor = _binary(ew.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC)
maximum = _binary(ew.DML_ELEMENT_WISE_MAX_OPERATOR_DESC)
mean = _binary(ew.DML_ELEMENT_WISE_MEAN_OPERATOR_DESC)
minimum = _binary(ew.DML_ELEMENT_WISE_MIN_OPERATOR_DESC)
modulus_floor = _binary(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC)
modulus_truncate = _binary(ew.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC)
multiply = _binary(ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
subtract = _binary(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC)

celu = _unary(act.DML_ACTIVATION_CELU_OPERATOR_DESC, Alpha=1.0)
elu = _unary(act.DML_ACTIVATION_ELU_OPERATOR_DESC, Alpha=1.0)
gelu = _unary(act.DML_ACTIVATION_GELU_OPERATOR_DESC)
hard_sigmoid = _unary(act.DML_ACTIVATION_HARD_SIGMOID_OPERATOR_DESC, Alpha=0.2, Beta=0.5)
hard_swish = _unary(act.DML_ACTIVATION_HARD_SWISH_OPERATOR_DESC)
hardmax = _unary(act.DML_ACTIVATION_HARDMAX1_OPERATOR_DESC)
leaky_relu = _unary(act.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC, Alpha=0.01)
linear = _unary(act.DML_ACTIVATION_LINEAR_OPERATOR_DESC)
log_softmax = _unary(act.DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC)
parametric_softplus = _unary(act.DML_ACTIVATION_PARAMETRIC_SOFTPLUS_OPERATOR_DESC)
relu = _unary(act.DML_ACTIVATION_RELU_OPERATOR_DESC)
scaled_elu = _unary(act.DML_ACTIVATION_SCALED_ELU_OPERATOR_DESC, Alpha=1.6732632, Gamma=1.050701)
scaled_tanh = _unary(act.DML_ACTIVATION_SCALED_TANH_OPERATOR_DESC, Alpha=1.0, Beta=0.5)
shrink = _unary(act.DML_ACTIVATION_SHRINK_OPERATOR_DESC, Bias=0.0, Threshold=0.5)
sigmoid = _unary(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC)
softmax = _unary(act.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC)
softplus = _unary(act.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC, Steepness=1.0)
softsign = _unary(act.DML_ACTIVATION_SOFTSIGN_OPERATOR_DESC)
swish = _unary(act.DML_ACTIVATION_SWISH_OPERATOR_DESC)
tanh = _unary(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
thresholded_relu = _unary(act.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC, Alpha=1.0)


@checked
def fused(cls: Any, **attributes: Any) -> OperatorDesc:
    """An activation to fuse into another operator: its tensors are None."""
    desc = cls(**attributes)
    assert isinstance(desc, OperatorDesc)
    return desc


def _sizes(name: str, x: Tensor, rank: int) -> tuple[int, ...]:
    if x.rank != rank:
        raise DMLError(f"{name}: takes tensors of {rank} dimensions, found sizes {x.sizes}")
    return x.sizes


@checked
def pow_(x: Tensor, exponent: Operand) -> Tensor:
    """x to the power of a number or a tensor."""
    if isinstance(exponent, int | float):
        return constant_pow(x, Exponent=float(exponent))
    second = x.builder.like(exponent, x)
    sizes = broadcast_sizes(x.sizes, second.sizes)
    return x.builder.one(
        ew.DML_ELEMENT_WISE_POW_OPERATOR_DESC,
        sizes,
        x.data_type,
        InputTensor=x.broadcast(sizes),
        ExponentTensor=second.broadcast(sizes),
        ScaleBias=None,
    )


@checked
def if_(condition: Tensor, a: Tensor, b: Operand) -> Tensor:
    """a where the condition (UINT8) is not zero, b elsewhere."""
    second = a.builder.like(b, a)
    sizes = broadcast_sizes(condition.sizes, a.sizes, second.sizes)
    return a.builder.one(
        ew.DML_ELEMENT_WISE_IF_OPERATOR_DESC,
        sizes,
        a.data_type,
        ConditionTensor=condition.broadcast(sizes),
        ATensor=a.broadcast(sizes),
        BTensor=second.broadcast(sizes),
    )


@checked
def cast(x: Tensor, data_type: DML_TENSOR_DATA_TYPE) -> Tensor:
    """x in another data type."""
    return x.builder.one(DML_CAST_OPERATOR_DESC, x.sizes, data_type, InputTensor=x)


@checked
def gemm(
    a: Tensor,
    b: Operand,
    c: Operand | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """alpha * A B + beta * C: {..., M, K} by {..., K, N}; C broadcasts. Tensors of rank 2 to 4, of equal rank."""
    b = a.builder.like(b, a)
    m = a.sizes[-1 if transpose_a else -2]
    n = b.sizes[-2 if transpose_b else -1]
    sizes = (*a.sizes[:-2], m, n)
    return a.builder.one(
        DML_GEMM_OPERATOR_DESC,
        sizes,
        ATensor=a,
        BTensor=b,
        CTensor=None if c is None else a.builder.like(c, a).broadcast(sizes),
        TransA=enums.DML_MATRIX_TRANSFORM(int(transpose_a)),
        TransB=enums.DML_MATRIX_TRANSFORM(int(transpose_b)),
        Alpha=alpha,
        Beta=beta,
        FusedActivation=activation,
    )


def _or(values: Sequence[int] | None, default: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(values) if values is not None and len(values) else default


@checked
def convolution(
    x: Tensor,
    weights: Operand,
    bias: Operand | None = None,
    *,
    strides: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    groups: int = 1,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """Cross-correlation of {N, C, spatial...} with {K, C / groups, window...}; bias {1, K, 1...} or {K}."""
    w = x.builder.like(weights, x)
    spatial = x.rank - 2
    ones, zeros = (1,) * spatial, (0,) * spatial
    strides, dilations = _or(strides, ones), _or(dilations, ones)
    start, end = _or(start_padding, zeros), _or(end_padding, zeros)
    if bias is not None:
        bias = x.builder.like(bias, x)
        bias = bias.view((1, bias.desc.element_count, *ones))
    return x.builder.one(
        DML_CONVOLUTION_OPERATOR_DESC,
        convolved_sizes(x.sizes, w.sizes, strides, dilations, start, end),
        InputTensor=x,
        FilterTensor=w,
        BiasTensor=bias,
        Mode=enums.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=enums.DML_CONVOLUTION_DIRECTION_FORWARD,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=zeros,
        GroupCount=groups,
        FusedActivation=activation,
    )


@checked
def average_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    include_padding: bool = False,
) -> Tensor:
    """The mean over windows of the spatial dimensions of {N, C, spatial...}."""
    zeros, ones = (0,) * len(window), (1,) * len(window)
    strides, start, end = _or(strides, ones), _or(start_padding, zeros), _or(end_padding, zeros)
    return x.builder.one(
        DML_AVERAGE_POOLING_OPERATOR_DESC,
        pooled_sizes(x.sizes, window, strides, None, start, end),
        InputTensor=x,
        Strides=strides,
        WindowSize=tuple(window),
        StartPadding=start,
        EndPadding=end,
        IncludePadding=include_padding,
    )


@checked
def max_pooling(
    x: Tensor,
    window: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """The maximum over windows of the spatial dimensions of {N, C, spatial...}."""
    zeros, ones = (0,) * len(window), (1,) * len(window)
    strides, start, end = _or(strides, ones), _or(start_padding, zeros), _or(end_padding, zeros)
    dilations = _or(dilations, ones)
    sizes = pooled_sizes(x.sizes, window, strides, dilations, start, end)
    made = x.builder.node(
        DML_MAX_POOLING2_OPERATOR_DESC,
        {"OutputTensor": DML_BUFFER_TENSOR_DESC(x.data_type, sizes)},
        InputTensor=x,
        Strides=strides,
        WindowSize=tuple(window),
        StartPadding=start,
        EndPadding=end,
        Dilations=dilations,
    )
    result = made["OutputTensor"]
    assert isinstance(result, Tensor)
    return result


@checked
def reduce(
    x: Tensor, function: DML_REDUCE_FUNCTION, axes: Sequence[int] | None = None, data_type: Any = None
) -> Tensor:
    """A reduction over axes (all when None); the reduced dimensions stay, of size 1."""
    chosen = tuple(range(x.rank)) if axes is None else tuple(axis_of("reduce", x, axis) for axis in axes)
    sizes = ones_along(x.sizes, chosen)
    arguments = (enums.DML_REDUCE_FUNCTION_ARGMAX, enums.DML_REDUCE_FUNCTION_ARGMIN)
    kind = data_type or (UINT32 if function in arguments else x.data_type)
    return x.builder.one(DML_REDUCE_OPERATOR_DESC, sizes, kind, Function=function, InputTensor=x, Axes=chosen)


@checked
def slice_(x: Tensor, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int] | None = None) -> Tensor:
    """A window of ``sizes`` input elements from ``offsets`` on, every ``strides``-th (negative: from its end)."""
    steps = _or(strides, (1,) * x.rank)
    return x.builder.one(
        DML_SLICE1_OPERATOR_DESC,
        sliced_sizes(sizes, steps),
        InputTensor=x,
        InputWindowOffsets=tuple(offsets),
        InputWindowSizes=tuple(sizes),
        InputWindowStrides=steps,
    )


@checked
def split(x: Tensor, axis: int, sizes: Sequence[int]) -> list[Tensor]:
    """Parts of these sizes along an axis."""
    axis = axis_of("split", x, axis)
    parts = [DML_BUFFER_TENSOR_DESC(x.data_type, with_size(x.sizes, axis, size)) for size in sizes]
    made = x.builder.node(DML_SPLIT_OPERATOR_DESC, {"OutputTensors": parts}, InputTensor=x, Axis=axis)
    return list(made["OutputTensors"])


@checked
def join(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """The tensors one after another along an axis."""
    if len(tensors) == 0:
        raise DMLError("join: needs at least one tensor")
    first = tensors[0]
    axis = axis_of("join", first, axis)
    sizes = joined_sizes([tensor.sizes for tensor in tensors], axis)
    return first.builder.one(DML_JOIN_OPERATOR_DESC, sizes, InputTensors=list(tensors), Axis=axis)


@checked
def padding(
    x: Tensor,
    start: Sequence[int],
    end: Sequence[int],
    mode: enums.DML_PADDING_MODE = enums.DML_PADDING_MODE_CONSTANT,
    value: float = 0.0,
) -> Tensor:
    """x with elements around it."""
    return x.builder.one(
        DML_PADDING_OPERATOR_DESC,
        padded_sizes(x.sizes, start, end),
        InputTensor=x,
        PaddingMode=mode,
        PaddingValue=value,
        StartPadding=tuple(start),
        EndPadding=tuple(end),
    )


@checked
def tile(x: Tensor, repeats: Sequence[int]) -> Tensor:
    """x repeated along each dimension."""
    return x.builder.one(DML_TILE_OPERATOR_DESC, scaled_sizes(x.sizes, repeats), InputTensor=x, Repeats=tuple(repeats))


@checked
def upsample_2d(
    x: Tensor,
    width: int,
    height: int,
    mode: enums.DML_INTERPOLATION_MODE = enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
) -> Tensor:
    """{N, C, H, W} enlarged by whole factors."""
    return x.builder.one(
        DML_UPSAMPLE_2D_OPERATOR_DESC,
        scaled_sizes(_sizes("upsample_2d", x, 4), (1, 1, height, width)),
        InputTensor=x,
        ScaleSize=DML_SIZE_2D(width, height),
        InterpolationMode=mode,
    )


@checked
def resample(
    x: Tensor, sizes: Sequence[int], mode: enums.DML_INTERPOLATION_MODE = enums.DML_INTERPOLATION_MODE_LINEAR
) -> Tensor:
    """x at other sizes, with half-pixel centres."""
    return x.builder.one(
        DML_RESAMPLE1_OPERATOR_DESC,
        sizes,
        InputTensor=x,
        InterpolationMode=mode,
        Scales=tuple(out / size for out, size in each_dimension(sizes, x.sizes)),
        InputPixelOffsets=(0.5,) * x.rank,
        OutputPixelOffsets=(-0.5,) * x.rank,
    )


@checked
def depth_to_space(
    x: Tensor, block: int, order: enums.DML_DEPTH_SPACE_ORDER = enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW
) -> Tensor:
    """Channels of {N, C, H, W} unfolded into blocks of pixels."""
    sizes = depth_to_space_sizes(_sizes("depth_to_space", x, 4), block)
    return x.builder.one(DML_DEPTH_TO_SPACE1_OPERATOR_DESC, sizes, InputTensor=x, BlockSize=block, Order=order)


@checked
def space_to_depth(
    x: Tensor, block: int, order: enums.DML_DEPTH_SPACE_ORDER = enums.DML_DEPTH_SPACE_ORDER_DEPTH_COLUMN_ROW
) -> Tensor:
    """Blocks of pixels of {N, C, H, W} folded into channels."""
    sizes = space_to_depth_sizes(_sizes("space_to_depth", x, 4), block)
    return x.builder.one(DML_SPACE_TO_DEPTH1_OPERATOR_DESC, sizes, InputTensor=x, BlockSize=block, Order=order)


def _along_channels(x: Tensor, value: Operand) -> Tensor:
    """{C} as {1, C, 1...}; tensors of x's rank stay as they are."""
    tensor = x.builder.like(value, x)
    return tensor if tensor.rank == x.rank else tensor.view((1, tensor.desc.element_count, *(1,) * (x.rank - 2)))


@checked
def batch_normalization(
    x: Tensor,
    mean_: Operand,
    variance: Operand,
    scale: Operand,
    bias: Operand,
    *,
    epsilon: float = 1e-5,
    spatial: bool = True,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + epsilon) + bias, with statistics per channel."""
    return x.builder.one(
        DML_BATCH_NORMALIZATION_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        MeanTensor=_along_channels(x, mean_),
        VarianceTensor=_along_channels(x, variance),
        ScaleTensor=_along_channels(x, scale),
        BiasTensor=_along_channels(x, bias),
        Spatial=spatial,
        Epsilon=epsilon,
        FusedActivation=activation,
    )


@checked
def mean_variance_normalization(
    x: Tensor,
    axes: Sequence[int],
    scale: Operand | None = None,
    bias: Operand | None = None,
    *,
    normalize_variance: bool = True,
    epsilon: float = 1e-5,
    activation: OperatorDesc | None = None,
) -> Tensor:
    """x less its mean over the axes, over its standard deviation; then scaled and shifted (both broadcast to x)."""

    def like(value: Operand | None) -> Tensor | None:
        return None if value is None else x.builder.like(value, x).broadcast(x.sizes)

    return x.builder.one(
        DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        ScaleTensor=like(scale),
        BiasTensor=like(bias),
        Axes=tuple(axis_of("mean_variance_normalization", x, axis) for axis in axes),
        NormalizeVariance=normalize_variance,
        Epsilon=epsilon,
        FusedActivation=activation,
    )


@checked
def local_response_normalization(
    x: Tensor,
    *,
    local_size: int,
    alpha: float = 1e-4,
    beta: float = 0.75,
    bias: float = 1.0,
    cross_channel: bool = True,
) -> Tensor:
    """x over a power of the sum of squares around it."""
    return x.builder.one(
        DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
        x.sizes,
        InputTensor=x,
        CrossChannel=cross_channel,
        LocalSize=local_size,
        Alpha=alpha,
        Beta=beta,
        Bias=bias,
    )


@checked
def top_k(
    x: Tensor, k: int, axis: int, direction: enums.DML_AXIS_DIRECTION = enums.DML_AXIS_DIRECTION_DECREASING
) -> tuple[Tensor, Tensor]:
    """The k largest (DECREASING) or smallest elements along an axis, in order, and their indices (UINT32)."""
    axis = axis_of("top_k", x, axis)
    sizes = with_size(x.sizes, axis, k)
    made = x.builder.node(
        DML_TOP_K1_OPERATOR_DESC,
        {
            "OutputValueTensor": DML_BUFFER_TENSOR_DESC(x.data_type, sizes),
            "OutputIndexTensor": DML_BUFFER_TENSOR_DESC(UINT32, sizes),
        },
        InputTensor=x,
        Axis=axis,
        K=k,
        AxisDirection=direction,
    )
    return made["OutputValueTensor"], made["OutputIndexTensor"]


@checked
def gru(
    x: Tensor,
    weight: Operand,
    recurrence: Operand,
    bias: Operand | None = None,
    hidden: Operand | None = None,
    lengths: Operand | None = None,
    *,
    activations: Sequence[OperatorDesc] = (),
    direction: enums.DML_RECURRENT_NETWORK_DIRECTION = enums.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
    linear_before_reset: bool = True,
) -> tuple[Tensor, Tensor]:
    """The whole output sequence {S, D, B, H} and the last state {1, D, B, H} of a GRU over {1, S, B, I}.

    weight {1, D, 3H, I}, recurrence {1, D, 3H, H}, bias {1, 1, D, 6H}, hidden {1, D, B, H}, lengths {1, 1, 1, B}.
    activations: f and g of each direction; sigmoid and tanh when none are given.
    """
    builder = x.builder

    def like(value: Operand | None) -> Tensor | None:
        return None if value is None else builder.like(value, x)

    w, r = builder.like(weight, x), builder.like(recurrence, x)
    _, sequence, batch, _ = _sizes("gru", x, 4)
    _, directions, _, size = _sizes("gru", r, 4)
    default = fused(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC), fused(act.DML_ACTIVATION_TANH_OPERATOR_DESC)
    made = builder.node(
        DML_GRU_OPERATOR_DESC,
        {
            "OutputSequenceTensor": DML_BUFFER_TENSOR_DESC(x.data_type, (sequence, directions, batch, size)),
            "OutputSingleTensor": DML_BUFFER_TENSOR_DESC(x.data_type, (1, directions, batch, size)),
        },
        InputTensor=x,
        WeightTensor=w,
        RecurrenceTensor=r,
        BiasTensor=like(bias),
        HiddenInitTensor=like(hidden),
        SequenceLengthsTensor=None if lengths is None else builder.like(lengths, x),
        ActivationDescs=tuple(activations) or default * directions,
        Direction=direction,
        LinearBeforeReset=linear_before_reset,
    )
    return made["OutputSequenceTensor"], made["OutputSingleTensor"]


@checked
def multihead_attention(
    query: Tensor, key: Tensor, value: Tensor, heads: int, *, mask: Tensor | None = None, scale: float | None = None
) -> Tensor:
    """Scaled dot-product attention of {batch, sequence, heads * size} tensors. mask: boolean UINT8, or none."""
    batch, sequence, width = _sizes("multihead_attention", query, 3)
    kind = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
    if mask is not None:
        kind = enums.DML_MULTIHEAD_ATTENTION_MASK_TYPE_BOOLEAN
    made = query.builder.node(
        DML_MULTIHEAD_ATTENTION_OPERATOR_DESC,
        {"OutputTensor": DML_BUFFER_TENSOR_DESC(query.data_type, (batch, sequence, value.sizes[-1]))},
        QueryTensor=query,
        KeyTensor=key,
        ValueTensor=value,
        MaskTensor=mask,
        Scale=scale if scale is not None else max(1, width // max(1, heads)) ** -0.5,
        MaskFilterValue=-10000.0,
        HeadCount=heads,
        MaskType=kind,
    )
    result = made["OutputTensor"]
    assert isinstance(result, Tensor)
    return result
