"""The operators as functions of graph tensors, with inferred output sizes (DirectMLX's functions in snake_case).

Parameters are the operator's fields; see the descriptor's class for their meaning, data types and rules, which the
device checks when the node is made. Attributes are named in snake_case. Element-wise functions broadcast as NumPy does.
"""

from inspect import isfunction as _isfunction
from typing import TYPE_CHECKING

from .activation import celu as celu
from .activation import elu as elu
from .activation import fused as fused
from .activation import gelu as gelu
from .activation import hard_sigmoid as hard_sigmoid
from .activation import hard_swish as hard_swish
from .activation import hardmax as hardmax
from .activation import leaky_relu as leaky_relu
from .activation import linear as linear
from .activation import log_softmax as log_softmax
from .activation import parameterized_relu as parameterized_relu
from .activation import parametric_softplus as parametric_softplus
from .activation import relu as relu
from .activation import scaled_elu as scaled_elu
from .activation import scaled_tanh as scaled_tanh
from .activation import shrink as shrink
from .activation import sigmoid as sigmoid
from .activation import softmax as softmax
from .activation import softplus as softplus
from .activation import softsign as softsign
from .activation import swish as swish
from .activation import tanh as tanh
from .activation import thresholded_relu as thresholded_relu
from .attention import multihead_attention as multihead_attention
from .convolution import convolution as convolution
from .convolution import convolution_integer as convolution_integer
from .convolution import quantized_linear_convolution as quantized_linear_convolution
from .convolution import transposed_convolution as transposed_convolution
from .elementwise import absolute as absolute
from .elementwise import acos as acos
from .elementwise import acosh as acosh
from .elementwise import add as add
from .elementwise import asin as asin
from .elementwise import asinh as asinh
from .elementwise import atan as atan
from .elementwise import atan_yx as atan_yx
from .elementwise import atanh as atanh
from .elementwise import bit_and as bit_and
from .elementwise import bit_count as bit_count
from .elementwise import bit_not as bit_not
from .elementwise import bit_or as bit_or
from .elementwise import bit_shift_left as bit_shift_left
from .elementwise import bit_shift_right as bit_shift_right
from .elementwise import bit_xor as bit_xor
from .elementwise import cast as cast
from .elementwise import ceil as ceil
from .elementwise import clip as clip
from .elementwise import constant_pow as constant_pow
from .elementwise import cos as cos
from .elementwise import cosh as cosh
from .elementwise import difference_square as difference_square
from .elementwise import divide as divide
from .elementwise import equals as equals
from .elementwise import erf as erf
from .elementwise import exp as exp
from .elementwise import floor as floor
from .elementwise import greater_than as greater_than
from .elementwise import greater_than_or_equal as greater_than_or_equal
from .elementwise import identity as identity
from .elementwise import if_ as if_
from .elementwise import is_infinity as is_infinity
from .elementwise import is_nan as is_nan
from .elementwise import less_than as less_than
from .elementwise import less_than_or_equal as less_than_or_equal
from .elementwise import log as log
from .elementwise import logical_and as logical_and
from .elementwise import logical_not as logical_not
from .elementwise import logical_or as logical_or
from .elementwise import logical_xor as logical_xor
from .elementwise import maximum as maximum
from .elementwise import mean as mean
from .elementwise import minimum as minimum
from .elementwise import modulus_floor as modulus_floor
from .elementwise import modulus_truncate as modulus_truncate
from .elementwise import multiply as multiply
from .elementwise import negate as negate
from .elementwise import pow_ as pow_
from .elementwise import recip as recip
from .elementwise import round_ as round_
from .elementwise import sign as sign
from .elementwise import sin as sin
from .elementwise import sinh as sinh
from .elementwise import sqrt as sqrt
from .elementwise import subtract as subtract
from .elementwise import tan as tan
from .elementwise import threshold as threshold
from .gemm import gemm as gemm
from .generation import fill_value_constant as fill_value_constant
from .generation import fill_value_sequence as fill_value_sequence
from .generation import nonzero_coordinates as nonzero_coordinates
from .generation import random_generator as random_generator
from .gradients import batch_normalization_grad as batch_normalization_grad
from .gradients import batch_normalization_training as batch_normalization_training
from .gradients import batch_normalization_training_grad as batch_normalization_training_grad
from .gradients import clip_grad as clip_grad
from .gradients import resample_grad as resample_grad
from .gradients import slice_grad as slice_grad
from .indexing import gather as gather
from .indexing import gather_elements as gather_elements
from .indexing import gather_nd as gather_nd
from .indexing import scatter_elements as scatter_elements
from .indexing import scatter_nd as scatter_nd
from .movement import depth_to_space as depth_to_space
from .movement import join as join
from .movement import one_hot as one_hot
from .movement import padding as padding
from .movement import reverse_subsequences as reverse_subsequences
from .movement import slice_ as slice_
from .movement import space_to_depth as space_to_depth
from .movement import split as split
from .movement import tile as tile
from .movement import triangular as triangular
from .normalization import batch_normalization as batch_normalization
from .normalization import local_response_normalization as local_response_normalization
from .normalization import mean_variance_normalization as mean_variance_normalization
from .pooling import average_pooling as average_pooling
from .pooling import lp_pooling as lp_pooling
from .pooling import max_pooling as max_pooling
from .pooling import max_pooling_with_indices as max_pooling_with_indices
from .quantization import dequantize as dequantize
from .quantization import dequantize_linear as dequantize_linear
from .quantization import quantize as quantize
from .quantization import quantize_linear as quantize_linear
from .recurrent import gru as gru
from .recurrent import lstm as lstm
from .recurrent import rnn as rnn
from .reduction import cumulative_product as cumulative_product
from .reduction import cumulative_sum as cumulative_sum
from .reduction import reduce as reduce
from .reduction import top_k as top_k
from .regions import roi_align as roi_align
from .regions import roi_align_grad as roi_align_grad
from .resample import resample as resample
from .resample import upsample_2d as upsample_2d
from .resample import value_scale_2d as value_scale_2d

#: Names of all operations.
NAMES = sorted(name for name, value in globals().items() if _isfunction(value) and name[0] != "_")
for _name in NAMES:  # functions made from an operator's description have no name yet
    globals()[_name].__name__ = _name

if not TYPE_CHECKING:  # Type checkers take the names imported above.
    __all__ = NAMES

    #: Names here of functions that DirectMLX, NumPy and PyTorch call differently.
    _NAMES = {
        **dict.fromkeys(("concat", "concatenate", "cat"), "join(tensors, axis)"),
        **dict.fromkeys(("matmul", "mm", "bmm", "dot", "dense"), "gemm(a, b), or a @ b"),
        **dict.fromkeys(("conv1d", "conv2d", "conv3d", "conv"), "convolution(x, filter, bias)"),
        **dict.fromkeys(("sum", "max", "min", "prod", "argmax", "argmin", "norm"), "reduce(x, function, axes)"),
        **dict.fromkeys(("squeeze", "unsqueeze", "flatten"), "x.reshape(sizes)"),
        **dict.fromkeys(("take", "embedding", "index_select"), "gather(x, indices, axis)"),
        **dict.fromkeys(("transpose", "permute", "reshape", "broadcast", "view"), "the tensor's method of that name"),
        **dict.fromkeys(("reinterpret",), "x.view(sizes, strides, data_type)"),
        **dict.fromkeys(("input_tensor", "constant_data"), "Builder.input and Builder.constant"),
        **dict.fromkeys(("batch_norm", "layer_norm", "layernorm", "layer_normalization", "group_norm", "instance_norm"),
                        "batch_normalization or mean_variance_normalization"),
        **dict.fromkeys(("max_pool", "max_pool2d"), "max_pooling(x, window)"),
        **dict.fromkeys(("avg_pool", "avg_pool2d"), "average_pooling(x, window)"),
        **dict.fromkeys(("interpolate", "resize"), "resample(x, sizes)"),
        "where": "if_(condition, a, b)",
        "stack": "join([x.reshape(sizes), ...], axis)",
        "expand": "x.broadcast(sizes)",
        "chunk": "split(x, axis, lengths)",
        "argsort": "top_k(x, k, axis)",
        "sort": "top_k(x, k, axis)",
        "rsqrt": "recip(sqrt(x))",
        "reciprocal": "recip(x)",
        "prelu": "parameterized_relu(x, slope)",
        "relu6": "clip(x, 0, 6)",
    }  # fmt: skip

    def __getattr__(name: str) -> object:
        from dml.enums.naming import attribute_error, did_you_mean, snake_case

        plain = snake_case(name).removeprefix("activation_").removesuffix("_builder")
        hint = f"; did you mean {_NAMES[plain]}?" if plain in _NAMES else did_you_mean(plain, __all__)
        raise attribute_error(f"module {__name__!r} has no attribute {name!r}", hint, name, None)
