"""NumPy's element-wise functions on a graph's tensors: np.exp(x) adds EXP."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from dml.arguments import as_array
from dml.errors import DMLError
from dml.graph import operations as op
from dml.graph.builder import Tensor

#: Functions by NumPy's name. Functions of two operands get two tensors.
_FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    **{name: getattr(op, name) for name in ("ceil", "cos", "cosh", "exp", "floor", "log", "logical_and", "logical_or",
                                            "logical_not", "logical_xor", "maximum", "minimum", "sign", "sin", "sinh",
                                            "sqrt", "tan", "tanh")},
    "absolute": abs, "add": operator.add, "arccos": op.acos, "arccosh": op.acosh, "arcsin": op.asin,
    "arcsinh": op.asinh, "arctan": op.atan, "arctan2": op.atan_yx, "arctanh": op.atanh, "bitwise_and": operator.and_,
    "bitwise_count": op.bit_count, "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "divide": operator.truediv,
    "equal": operator.eq, "fabs": abs, "floor_divide": operator.floordiv, "fmod": op.modulus_truncate,
    "greater": operator.gt, "greater_equal": operator.ge, "invert": operator.invert, "isinf": op.is_infinity,
    "isnan": op.is_nan, "left_shift": operator.lshift, "less": operator.lt, "less_equal": operator.le,
    "matmul": operator.matmul, "multiply": operator.mul, "negative": operator.neg, "not_equal": operator.ne,
    "positive": operator.pos, "power": operator.pow, "reciprocal": op.recip, "remainder": operator.mod,
    "right_shift": operator.rshift, "rint": op.round_, "square": lambda x: x * x, "subtract": operator.sub,
}  # fmt: skip


def apply_ufunc(
    tensor: Tensor, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], options: dict[str, Any]
) -> Tensor:
    """Apply the ufunc to these inputs, which include ``tensor``; see ``TensorArithmetic.__array_ufunc__``."""
    name = ufunc.__name__
    if method != "__call__" or name not in _FUNCTIONS or options:
        found = f"{name}.{method}" if method != "__call__" else f"{name} with {', '.join(options)}" if options else name
        raise DMLError(
            f"np.{found} does not take a graph's tensors; dml.graph.operations has DirectML's functions; "
            f"supported NumPy functions are {', '.join(sorted(_FUNCTIONS))}"
        )
    first, *rest = [_operand(item, f"np.{name}") for item in inputs]
    return _FUNCTIONS[name](tensor.builder.like(first, tensor), *rest)


def _operand(value: Any, where: str) -> Any:
    """Return a tensor unchanged, a scalar as a Python number (it takes the tensor's data type), anything else as an
    array."""
    return as_array(value, where).item() if not isinstance(value, Tensor) and np.ndim(value) == 0 else value
