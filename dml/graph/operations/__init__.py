"""The operators as functions of graph tensors, with inferred output sizes (DirectMLX's functions in snake_case).

Parameters are the operator's fields; see the descriptor's class for their meaning, data types and rules, which the
device checks when the node is made. Attributes are named in snake_case. Element-wise functions broadcast as NumPy does.
"""

from inspect import isfunction as _isfunction
from typing import TYPE_CHECKING

from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .convolution import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .gemm import *  # noqa: F403
from .generation import *  # noqa: F403
from .gradients import *  # noqa: F403
from .indexing import *  # noqa: F403
from .movement import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .quantization import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .reduction import *  # noqa: F403
from .regions import *  # noqa: F403
from .resample import *  # noqa: F403

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
