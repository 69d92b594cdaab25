"""PyDirectML's expressions: tensors of a graph under construction, and arithmetic on them."""

from __future__ import annotations

from typing import Any

from dml import descriptors as d
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.frontends.pydirectml.tensors import TensorDesc
from dml.graph.builder import Tensor
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALE_BIAS, nearest_float


class Expression:
    """A tensor of a graph. ``Expression()`` is empty: an output that was not requested.

    Arithmetic takes expressions of equal sizes, and numbers; augmented assignment changes the object itself, as
    references do in C++.
    """

    def __init__(self, tensor: Tensor | None = None, written: Tensor | None = None) -> None:
        self._tensor = tensor
        self._written = tensor if written is None else written

    @property
    def tensor(self) -> Tensor:
        """The tensor as an operator's input. Raises DMLError for an empty expression."""
        if self._tensor is None:
            raise DMLError("pydirectml: this Expression has no tensor")
        return self._tensor

    @property
    def written(self) -> Tensor:
        """The tensor as its operator wrote it, before any reinterpretation."""
        assert self.tensor is not None
        assert self._written is not None
        return self._written

    @property
    def is_empty(self) -> bool:
        return self._tensor is None

    def get_output_desc(self) -> TensorDesc:
        """Return the tensor's description."""
        return TensorDesc.of(self.tensor.desc)

    def _set(self, other: Expression) -> Expression:
        self._tensor, self._written = other._tensor, other._written
        return self

    def __add__(self, other: Expression | float) -> Expression:
        if isinstance(other, Expression):
            return binary(d.DML_ELEMENT_WISE_ADD_OPERATOR_DESC, self, other)
        return scaled(self, 1.0, other)

    def __radd__(self, other: float) -> Expression:
        return scaled(self, 1.0, other)

    def __sub__(self, other: Expression | float) -> Expression:
        if isinstance(other, Expression):
            return binary(d.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, self, other)
        return scaled(self, 1.0, -other)

    def __rsub__(self, other: float) -> Expression:
        return scaled(self, -1.0, other)

    def __mul__(self, other: Expression | float) -> Expression:
        if isinstance(other, Expression):
            return binary(d.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC, self, other)
        return scaled(self, other, 0.0)

    def __rmul__(self, other: float) -> Expression:
        return scaled(self, other, 0.0)

    def __truediv__(self, other: Expression | float) -> Expression:
        if isinstance(other, Expression):
            return binary(d.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC, self, other)
        return scaled(self, nearest_float(1.0 / other) if other else float("inf"), 0.0)

    def __rtruediv__(self, other: float) -> Expression:
        # DirectMLX scales before the reciprocal, which computes 1 / (other * self); this computes other / self.
        return scaled(unary(d.DML_ELEMENT_WISE_RECIP_OPERATOR_DESC, self, ScaleBias=None), other, 0.0)

    def __mod__(self, other: Expression) -> Expression:
        return binary(d.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC, self, other)

    def __neg__(self) -> Expression:
        return unary(d.DML_ELEMENT_WISE_NEGATE_OPERATOR_DESC, self)

    def __iadd__(self, other: Expression | float) -> Expression:
        return self._set(self + other)

    def __isub__(self, other: Expression | float) -> Expression:
        return self._set(self - other)

    def __imul__(self, other: Expression | float) -> Expression:
        return self._set(self * other)

    def __itruediv__(self, other: Expression | float) -> Expression:
        return self._set(self / other)

    def __imod__(self, other: Expression) -> Expression:
        return self._set(self % other)


def node(
    cls: type[OperatorDesc], outputs: dict[str, DML_BUFFER_TENSOR_DESC | None], first: Expression, **fields: Any
) -> dict[str, Expression]:
    """Add an operator to the graph of ``first``; outputs that are None are absent."""
    builder = first.tensor.builder
    given = {name: _tensors(value) for name, value in fields.items()}
    wanted = {name: desc for name, desc in outputs.items() if desc is not None}
    tensors = builder.node(cls, wanted, **given)
    return {name: Expression(tensors.get(name)) for name in outputs}


def _tensors(value: Any) -> Any:
    if isinstance(value, Expression):
        return value.tensor
    if isinstance(value, list) and any(isinstance(item, Expression) for item in value):
        return [item.tensor for item in value]
    return value


def one(cls: type[OperatorDesc], first: Expression, sizes: Any, **fields: Any) -> Expression:
    """Add an operator with one packed output of the first input's data type."""
    desc = DML_BUFFER_TENSOR_DESC(first.tensor.data_type, tuple(sizes))
    return node(cls, {"OutputTensor": desc}, first, **fields)["OutputTensor"]


def unary(cls: type[OperatorDesc], x: Expression, **fields: Any) -> Expression:
    return one(cls, x, x.tensor.sizes, InputTensor=x, **fields)


def binary(cls: type[OperatorDesc], a: Expression, b: Expression, **fields: Any) -> Expression:
    return one(cls, a, a.tensor.sizes, ATensor=a, BTensor=b, **fields)


def scaled(x: Expression, scale: float, bias: float) -> Expression:
    return unary(d.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, x, ScaleBias=DML_SCALE_BIAS(float(scale), float(bias)))
