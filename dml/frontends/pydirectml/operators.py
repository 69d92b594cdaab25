"""PyDirectML's operator functions, under its names, parameters and defaults.

Output sizes are inferred as DirectMLX infers them. Inputs do not broadcast by themselves: scripts do it with strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml import enums
from dml.descriptors import activation as act
from dml.descriptors import operators as all_operators
from dml.descriptors.base import OperatorDesc
from dml.descriptors.convolution import DML_CONVOLUTION_OPERATOR_DESC
from dml.descriptors.elementwise import (
    DML_ELEMENT_WISE_ADD1_OPERATOR_DESC,
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC,
    DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC,
    DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC,
    DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC,
)
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.movement import (
    DML_GATHER_OPERATOR_DESC,
    DML_JOIN_OPERATOR_DESC,
    DML_PADDING_OPERATOR_DESC,
    DML_SLICE1_OPERATOR_DESC,
    DML_VALUE_SCALE_2D_OPERATOR_DESC,
)
from dml.descriptors.normalization import (
    DML_BATCH_NORMALIZATION_OPERATOR_DESC,
    DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
    DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
)
from dml.descriptors.pooling import DML_AVERAGE_POOLING_OPERATOR_DESC, DML_MAX_POOLING2_OPERATOR_DESC
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC
from dml.descriptors.resample import DML_UPSAMPLE_2D_OPERATOR_DESC
from dml.enums import DML_OPERATOR_TYPE, DML_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.frontends.pydirectml.enumerations import (
    ConvolutionDirection,
    ConvolutionMode,
    MatrixTransform,
    OperatorType,
    OutputOptions,
)
from dml.frontends.pydirectml.expressions import Expression, binary, node, one, unary
from dml.frontends.pydirectml.tensors import Size2D
from dml.graph.builder import Tensor
from dml.shapes import (
    convolved_sizes,
    gathered_sizes,
    padded_sizes,
    pooled_sizes,
    sliced_sizes,
    trailing,
    transposed_sizes,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: For parameters without a default that follow ones with a default, as the binding has them.
_REQUIRED: Any = object()


class FusedActivation:
    """An activation behind another operator, and its parameters in the order of the description's fields."""

    def __init__(self, activation: Any = OperatorType.INVALID, param_1: float = 0.0, param_2: float = 0.0) -> None:
        self.activation = activation
        self.param_1 = param_1
        self.param_2 = param_2

    def desc(self) -> OperatorDesc | None:
        """The activation's description; None where there is no activation."""
        kind = DML_OPERATOR_TYPE(int(self.activation))
        if kind == DML_OPERATOR_TYPE.DML_OPERATOR_INVALID:
            return None
        cls = all_operators()[kind]
        names = [info.name for info in cls.fields_info if not info.is_tensor]
        return cls(**dict(zip(names, (float(self.param_1), float(self.param_2)), strict=False)))


class MaxPoolingOutputs:
    """What ``max_pooling`` makes; ``indices`` stands for no tensor unless they were asked for."""

    def __init__(self, values: Expression, indices: Expression) -> None:
        self.values = values
        self.indices = indices


class GRUOutputs:
    """What ``gru`` makes; an output that was not asked for stands for no tensor."""

    def __init__(self, sequence: Expression, single: Expression) -> None:
        self.sequence = sequence
        self.single = single


def _need(**parameters: Any) -> None:
    missing = [name for name, value in parameters.items() if value is _REQUIRED]
    if missing:
        raise TypeError(f"missing arguments: {', '.join(missing)}")


def _fused(activation: FusedActivation | None) -> OperatorDesc | None:
    return None if activation is None else activation.desc()


def _each(values: Sequence[int], count: int, default: int) -> tuple[int, ...]:
    """One number per spatial dimension; more than there are dimensions are left."""
    return tuple(values)[:count] if len(values) else (default,) * count


def convolution(
    input: Expression,
    filter: Expression,
    bias: Expression | None = None,
    mode: Any = ConvolutionMode.CROSS_CORRELATION,
    direction: Any = ConvolutionDirection.FORWARD,
    strides: Sequence[int] = (),
    dilations: Sequence[int] = (),
    start_padding: Sequence[int] = (),
    end_padding: Sequence[int] = (),
    output_padding: Sequence[int] = (),
    group_count: int = 1,
    fused_activation: FusedActivation | None = None,
    output_sizes: Sequence[int] = (),
) -> Expression:
    """A convolution. Backwards, output_sizes must be given: DirectMLX does not infer them.

    Strides leave open how far past the last window such an output reaches. The sizes say so, as output_padding would.
    """
    sizes, window = input.tensor.sizes, filter.tensor.sizes
    count = len(sizes) - 2
    steps, gaps = _each(strides, count, 1), _each(dilations, count, 1)
    start, end = _each(start_padding, count, 0), _each(end_padding, count, 0)
    wanted, beyond = tuple(output_sizes), _each(output_padding, count, 0)
    if wanted and direction != ConvolutionDirection.FORWARD and not any(beyond) and len(wanted) == len(sizes):
        least = transposed_sizes(sizes, window, steps, gaps, start, end)
        rest = tuple(given - inside for given, inside in zip(wanted[2:], least[2:], strict=True))
        if all(0 <= more < step for more, step in zip(rest, steps, strict=True)):
            beyond = rest
    if not wanted:
        if direction != ConvolutionDirection.FORWARD:
            raise DMLError("pydirectml.convolution: a backward convolution needs output_sizes")
        if not len(window) == len(sizes) == len(steps) + 2 == len(gaps) + 2 == len(start) + 2 == len(end) + 2:
            raise DMLError(
                f"pydirectml.convolution: input {sizes}, filter {window} and the lists do not fit each other"
            )
        wanted = convolved_sizes(sizes, window, steps, gaps, start, end)
    return one(
        DML_CONVOLUTION_OPERATOR_DESC,
        input,
        wanted,
        InputTensor=input,
        FilterTensor=filter,
        BiasTensor=bias,
        Mode=int(mode),
        Direction=int(direction),
        Strides=steps,
        Dilations=gaps,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=beyond,
        GroupCount=group_count,
        FusedActivation=_fused(fused_activation),
    )


def up_sample_2d(input: Expression, scale_size: Size2D, interpolation_mode: Any) -> Expression:
    """The last two dimensions enlarged by whole factors."""
    *lead, height, width = input.tensor.sizes
    sizes = (*lead, height * scale_size.height, width * scale_size.width)
    return one(
        DML_UPSAMPLE_2D_OPERATOR_DESC,
        input,
        sizes,
        InputTensor=input,
        ScaleSize=scale_size.desc,
        InterpolationMode=int(interpolation_mode),
    )


def activation_relu(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_RELU_OPERATOR_DESC, input)


def activation_sigmoid(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_SIGMOID_OPERATOR_DESC, input)


def activation_identity(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_IDENTITY_OPERATOR_DESC, input)


def activation_tanh(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_TANH_OPERATOR_DESC, input)


def activation_soft_max(input: Expression) -> Expression:
    return unary(act.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, input)


def activation_linear(input: Expression, alpha: float, beta: float) -> Expression:
    return unary(act.DML_ACTIVATION_LINEAR_OPERATOR_DESC, input, Alpha=alpha, Beta=beta)


def add(a: Expression, b: Expression, fused_activation: FusedActivation | None = None) -> Expression:
    activation = _fused(fused_activation)
    if activation is None:
        return binary(DML_ELEMENT_WISE_ADD_OPERATOR_DESC, a, b)
    return binary(DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, a, b, FusedActivation=activation)


def subtract(a: Expression, b: Expression) -> Expression:
    return binary(DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, a, b)


def multiply(a: Expression, b: Expression) -> Expression:
    return binary(DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, a, b)


def divide(a: Expression, b: Expression) -> Expression:
    return binary(DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC, a, b)


def padding(
    input: Expression,
    padding_mode: Any,
    padding_value: float,
    start_padding: Sequence[int],
    end_padding: Sequence[int],
) -> Expression:
    """The input with elements around it; a list entry per dimension."""
    sizes = input.tensor.sizes
    if not len(sizes) == len(start_padding) == len(end_padding):
        raise DMLError(f"pydirectml.padding: start_padding and end_padding need {len(sizes)} entries")
    return one(
        DML_PADDING_OPERATOR_DESC,
        input,
        padded_sizes(sizes, start_padding, end_padding),
        InputTensor=input,
        PaddingMode=int(padding_mode),
        PaddingValue=padding_value,
        StartPadding=tuple(start_padding),
        EndPadding=tuple(end_padding),
    )


def mean_variance_normalization(
    input: Expression,
    scale: Expression | None = None,
    bias: Expression | None = None,
    axes: Sequence[int] = (),
    normalize_variance: bool = _REQUIRED,
    epsilon: float = _REQUIRED,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    _need(normalize_variance=normalize_variance, epsilon=epsilon)
    return unary(
        DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
        input,
        ScaleTensor=scale,
        BiasTensor=bias,
        Axes=tuple(axes),
        NormalizeVariance=bool(normalize_variance),
        Epsilon=epsilon,
        FusedActivation=_fused(fused_activation),
    )


def slice(
    input: Expression,
    input_window_offsets: Sequence[int],
    input_window_sizes: Sequence[int],
    input_window_strides: Sequence[int],
) -> Expression:
    """A window of the input, every so many elements of it."""
    steps = tuple(input_window_strides)
    if len(input_window_sizes) != len(steps) or 0 in steps:
        raise DMLError("pydirectml.slice: sizes and strides need an entry per dimension, strides not 0")
    return one(
        DML_SLICE1_OPERATOR_DESC,
        input,
        sliced_sizes(input_window_sizes, steps),
        InputTensor=input,
        InputWindowOffsets=tuple(input_window_offsets),
        InputWindowSizes=tuple(input_window_sizes),
        InputWindowStrides=steps,
    )


def value_scale_2d(input: Expression, scale: float, bias: Sequence[float]) -> Expression:
    return unary(DML_VALUE_SCALE_2D_OPERATOR_DESC, input, Scale=scale, Bias=tuple(bias))


def batch_normalization(
    input: Expression,
    mean: Expression,
    variance: Expression,
    scale: Expression,
    bias: Expression,
    spatial: bool,
    epsilon: float,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    return unary(
        DML_BATCH_NORMALIZATION_OPERATOR_DESC,
        input,
        MeanTensor=mean,
        VarianceTensor=variance,
        ScaleTensor=scale,
        BiasTensor=bias,
        Spatial=bool(spatial),
        Epsilon=epsilon,
        FusedActivation=_fused(fused_activation),
    )


def local_response_normalization(
    input: Expression, cross_channel: bool, local_size: int, alpha: float, beta: float, bias: float
) -> Expression:
    return unary(
        DML_LOCAL_RESPONSE_NORMALIZATION_OPERATOR_DESC,
        input,
        CrossChannel=bool(cross_channel),
        LocalSize=local_size,
        Alpha=alpha,
        Beta=beta,
        Bias=bias,
    )


def gemm(
    a: Expression,
    b: Expression,
    c: Expression | None = None,
    trans_a: Any = MatrixTransform.NONE,
    trans_b: Any = MatrixTransform.NONE,
    alpha: float = 1.0,
    beta: float = 1.0,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    if len(a.tensor.sizes) != 4 or len(b.tensor.sizes) != 4:
        raise DMLError(f"pydirectml.gemm: takes four dimensions, found {a.tensor.sizes} and {b.tensor.sizes}")
    rows = a.tensor.sizes[2 if trans_a == MatrixTransform.NONE else 3]
    columns = b.tensor.sizes[3 if trans_b == MatrixTransform.NONE else 2]
    return one(
        DML_GEMM_OPERATOR_DESC,
        a,
        (*a.tensor.sizes[:2], rows, columns),
        ATensor=a,
        BTensor=b,
        CTensor=c,
        TransA=int(trans_a),
        TransB=int(trans_b),
        Alpha=alpha,
        Beta=beta,
        FusedActivation=_fused(fused_activation),
    )


def average_pooling(
    input: Expression,
    strides: Sequence[int],
    window_sizes: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    include_padding: bool,
) -> Expression:
    sizes = input.tensor.sizes
    lists = strides, window_sizes, start_padding, end_padding
    if any(len(values) != len(sizes) - 2 for values in lists):
        raise DMLError(f"pydirectml.average_pooling: each list needs {len(sizes) - 2} entries")
    return one(
        DML_AVERAGE_POOLING_OPERATOR_DESC,
        input,
        pooled_sizes(sizes, window_sizes, strides, None, start_padding, end_padding),
        InputTensor=input,
        Strides=tuple(strides),
        WindowSize=tuple(window_sizes),
        StartPadding=tuple(start_padding),
        EndPadding=tuple(end_padding),
        IncludePadding=bool(include_padding),
    )


def max_pooling(
    input: Expression,
    window_sizes: Sequence[int],
    strides: Sequence[int] = (),
    start_padding: Sequence[int] = (),
    end_padding: Sequence[int] = (),
    dilations: Sequence[int] = (),
    output_indices: bool = False,
) -> MaxPoolingOutputs:
    """The maximum of each window, and where it was (UINT32) if output_indices."""
    sizes, count = input.tensor.sizes, len(window_sizes)
    steps, gaps = _each(strides, count, 1), _each(dilations, count, 1)
    start, end = _each(start_padding, count, 0), _each(end_padding, count, 0)
    if not len(sizes) - 2 == count == len(steps) == len(gaps) == len(start) == len(end):
        raise DMLError(f"pydirectml.max_pooling: each list needs {len(sizes) - 2} entries")
    wanted = pooled_sizes(sizes, window_sizes, steps, gaps, start, end)
    indices = DML_BUFFER_TENSOR_DESC(DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UINT32, wanted)
    made = node(
        DML_MAX_POOLING2_OPERATOR_DESC,
        {
            "OutputTensor": DML_BUFFER_TENSOR_DESC(input.tensor.data_type, wanted),
            "OutputIndicesTensor": indices if output_indices else None,
        },
        input,
        InputTensor=input,
        Strides=steps,
        WindowSize=tuple(window_sizes),
        StartPadding=start,
        EndPadding=end,
        Dilations=gaps,
    )
    return MaxPoolingOutputs(made["OutputTensor"], made["OutputIndicesTensor"])


def reinterpret(
    input: Expression, new_type: Any, new_size: Sequence[int], new_strides: Sequence[int] | None
) -> Expression:
    """The same bytes as another tensor; nothing is computed."""
    own = input.tensor.desc
    desc = DML_BUFFER_TENSOR_DESC(
        DML_TENSOR_DATA_TYPE(int(new_type)),
        tuple(new_size),
        None if new_strides is None else tuple(new_strides),
        own.TotalTensorSizeInBytes,
        own.GuaranteedBaseOffsetAlignment,
        own.Flags,
    )
    return Expression(Tensor(input.tensor.builder, input.tensor.source, desc), input.made)


def join(input: Sequence[Expression], axis: int) -> Expression:
    """The tensors one after another along an axis."""
    tensors = [expression.tensor for expression in input]
    if not tensors:
        raise DMLError("pydirectml.join: needs at least one tensor")
    sizes = list(tensors[0].sizes)
    if not 0 <= axis < len(sizes) or any(tensor.rank != len(sizes) for tensor in tensors):
        raise DMLError(f"pydirectml.join: axis {axis} is none of the tensors' dimensions")
    sizes[axis] = sum(tensor.sizes[axis] for tensor in tensors)
    return one(DML_JOIN_OPERATOR_DESC, input[0], sizes, InputTensors=list(input), Axis=axis)


def gru(
    input: Expression,
    weight: Expression,
    recurrence: Expression,
    bias: Expression | None = None,
    hidden_init: Expression | None = None,
    sequence_lengths: Expression | None = None,
    activation_descs: Sequence[FusedActivation] = _REQUIRED,
    direction: Any = _REQUIRED,
    linear_before_reset: int = 1,
    output_options: Any = _REQUIRED,
) -> GRUOutputs:
    """A gated recurrent unit over {1, sequence, batch, input}; output_options says which of its outputs it has."""
    _need(activation_descs=activation_descs, direction=direction, output_options=output_options)
    if len(input.tensor.sizes) != 4 or len(recurrence.tensor.sizes) != 4:
        raise DMLError("pydirectml.gru: input and recurrence have four dimensions")
    _, sequence, batch, _ = input.tensor.sizes
    hidden = recurrence.tensor.sizes[3]
    kind = input.tensor.data_type
    both = enums.DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL
    directions = 2 if int(direction) == both else 1
    whole = DML_BUFFER_TENSOR_DESC(kind, (sequence, directions, batch, hidden))
    last = DML_BUFFER_TENSOR_DESC(kind, (1, directions, batch, hidden))
    made = node(
        DML_GRU_OPERATOR_DESC,
        {
            "OutputSequenceTensor": None if output_options == OutputOptions.Single else whole,
            "OutputSingleTensor": None if output_options == OutputOptions.Sequence else last,
        },
        input,
        InputTensor=input,
        WeightTensor=weight,
        RecurrenceTensor=recurrence,
        BiasTensor=bias,
        HiddenInitTensor=hidden_init,
        SequenceLengthsTensor=sequence_lengths,
        ActivationDescs=tuple(desc for desc in map(_fused, activation_descs) if desc is not None),
        Direction=int(direction),
        LinearBeforeReset=bool(linear_before_reset),
    )
    return GRUOutputs(made["OutputSequenceTensor"], made["OutputSingleTensor"])


def gather(input: Expression, indices: Expression, axis: int, index_dimensions: int) -> Expression:
    """Slices of the input along an axis, picked by the last index_dimensions dimensions of indices."""
    sizes, picked = input.tensor.sizes, indices.tensor.sizes
    rank = len(sizes)
    if len(picked) != rank or not 0 <= axis < rank or not 0 <= index_dimensions <= rank:
        raise DMLError(
            f"pydirectml.gather: axis {axis} and index_dimensions {index_dimensions} do not fit {sizes} and {picked}"
        )
    return one(
        DML_GATHER_OPERATOR_DESC,
        input,
        trailing(gathered_sizes(sizes, picked, axis, index_dimensions), rank),
        InputTensor=input,
        IndicesTensor=indices,
        Axis=axis,
        IndexDimensions=index_dimensions,
    )
