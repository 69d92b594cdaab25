"""Python's operators on graph tensors: each adds the element-wise DirectML operator that computes it.

Operands may be numbers and NumPy arrays, broadcast as in NumPy; comparisons return UINT8, 1 for true. If Python and
DirectMLX differ, Python decides: ``%`` has the sign of the divisor (DirectMLX: operations.modulus_truncate). ``~``
inverts bits, as in both; operations.logical_not inverts truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

import numpy as np

from dml import enums
from dml.compiler.data_types import DATA_TYPES
from dml.descriptors import elementwise as ew
from dml.descriptors.base import OperatorDesc
from dml.enums.naming import attribute_error
from dml.errors import DMLError
from dml.graph.indexing import indexed
from dml.shapes import broadcast_sizes
from dml.tensors import DML_SCALE_BIAS, numpy_dtype

if TYPE_CHECKING:
    from typing import TypeAlias

    from dml.enums import DML_TENSOR_DATA_TYPE
    from dml.graph.builder import Builder, Operand, Tensor

    #: Types of the methods for binary and unary operators.
    Binary: TypeAlias = Callable[[Any, Any], "Tensor"]

UINT8 = enums.DML_TENSOR_DATA_TYPE_UINT8


def _operator(cls: type[OperatorDesc], data_type: DML_TENSOR_DATA_TYPE | None = None, *, swap: bool = False) -> Binary:
    """Return a method that adds ``cls`` of both operands; the data type defaults to the left operand's."""

    def method(self: TensorArithmetic, other: Operand) -> Tensor:
        is_operand = isinstance(other, TensorArithmetic | int | float | np.ndarray | np.generic)
        if cls is ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC and not is_operand:
            return NotImplemented  # type: ignore[no-any-return]
        return self._binary(cls, other, swap=swap, data_type=data_type)

    return method


class TensorArithmetic:
    """The operators of ``Tensor``. ``==`` compares element by element; use ``is`` to tell tensors apart."""

    __hash__ = object.__hash__

    if TYPE_CHECKING:
        builder: Builder

        @property
        def sizes(self) -> tuple[int, ...]: ...

        @property
        def data_type(self) -> DML_TENSOR_DATA_TYPE: ...

        @property
        def rank(self) -> int: ...

        def broadcast(self, sizes: Any) -> Tensor: ...

        def transpose(self, *axes: int | Sequence[int]) -> Tensor: ...

    def _binary(
        self, cls: type[OperatorDesc], other: Operand, swap: bool = False, data_type: DML_TENSOR_DATA_TYPE | None = None
    ) -> Tensor:
        second = self.builder.like(other, self)  # type: ignore[arg-type]
        a, b = (second, self) if swap else (self, second)
        sizes = broadcast_sizes(a.sizes, b.sizes)
        return self.builder.one(
            cls, sizes, data_type or self.data_type, ATensor=a.broadcast(sizes), BTensor=b.broadcast(sizes)
        )

    def _scaled(self, scale: float, bias: float) -> Tensor:
        return self.builder.one(
            ew.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC,
            self.sizes,
            self.data_type,
            InputTensor=self,
            ScaleBias=DML_SCALE_BIAS(scale, bias),
        )

    def _takes_scale(self, other: object) -> TypeGuard[int | float]:
        return isinstance(other, int | float) and self._is_float

    @property
    def _is_float(self) -> bool:
        return DATA_TYPES[self.data_type].kind == "float"

    def __add__(self, other: Operand) -> Tensor:
        return self._scaled(1.0, other) if self._takes_scale(other) else _add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Operand) -> Tensor:
        return self._scaled(1.0, -other) if self._takes_scale(other) else _subtract(self, other)

    def __rsub__(self, other: Any) -> Tensor:
        return self._scaled(-1.0, other) if self._takes_scale(other) else _subtract_from(self, other)

    def __mul__(self, other: Operand) -> Tensor:
        return self._scaled(other, 0.0) if self._takes_scale(other) else _multiply(self, other)

    __rmul__ = __mul__

    __truediv__ = _operator(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC)
    __rtruediv__ = _operator(ew.DML_ELEMENT_WISE_DIVIDE_OPERATOR_DESC, swap=True)
    __mod__ = _operator(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC)
    __rmod__ = _operator(ew.DML_ELEMENT_WISE_MODULUS_FLOOR_OPERATOR_DESC, swap=True)
    __and__ = __rand__ = _operator(ew.DML_ELEMENT_WISE_BIT_AND_OPERATOR_DESC)
    __or__ = __ror__ = _operator(ew.DML_ELEMENT_WISE_BIT_OR_OPERATOR_DESC)
    __xor__ = __rxor__ = _operator(ew.DML_ELEMENT_WISE_BIT_XOR_OPERATOR_DESC)
    __lshift__ = _operator(ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC)
    __rlshift__ = _operator(ew.DML_ELEMENT_WISE_BIT_SHIFT_LEFT_OPERATOR_DESC, swap=True)
    __rshift__ = _operator(ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC)
    __rrshift__ = _operator(ew.DML_ELEMENT_WISE_BIT_SHIFT_RIGHT_OPERATOR_DESC, swap=True)
    __lt__ = _operator(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, UINT8)
    __le__ = _operator(ew.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
    __gt__ = _operator(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, UINT8)
    __ge__ = _operator(ew.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, UINT8)
    __eq__ = _operator(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, UINT8)  # type: ignore[assignment]

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        equal: Any = _equals(self, other)
        if equal is NotImplemented:
            return equal  # type: ignore[no-any-return]
        return self._one(ew.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC, equal)

    def __neg__(self) -> Tensor:
        return self._scaled(-1.0, 0.0) if self._is_float else 0 - self

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]

    def __abs__(self) -> Tensor:
        return self._one(ew.DML_ELEMENT_WISE_ABS_OPERATOR_DESC, self, ScaleBias=None)

    def __invert__(self) -> Tensor:
        return self._one(ew.DML_ELEMENT_WISE_BIT_NOT_OPERATOR_DESC, self)

    def __pow__(self, exponent: Operand) -> Tensor:
        from dml.graph.operations import pow_

        return pow_(self, exponent)  # type: ignore[arg-type]

    def __rpow__(self, base: Any) -> Tensor:
        from dml.graph.operations import pow_

        return pow_(self.builder.like(base, self), self)  # type: ignore[arg-type]

    def __floordiv__(self, other: Operand) -> Tensor:
        return _floor_divided(self, self.builder.like(other, self))  # type: ignore[arg-type]

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _floor_divided(self.builder.like(other, self), self)  # type: ignore[arg-type]

    def __matmul__(self, other: Operand) -> Tensor:
        return _product(self, self.builder.like(other, self))  # type: ignore[arg-type]

    def __rmatmul__(self, other: Any) -> Tensor:
        return _product(self.builder.like(other, self), self)  # type: ignore[arg-type]

    def __divmod__(self, other: Operand) -> tuple[Tensor, Tensor]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Tensor, Tensor]:
        return other // self, other % self

    def __round__(self, digits: int | None = None) -> Tensor:
        """Round to integers, halves to even; integers stay unchanged. Raises DMLError unless ``digits`` is 0."""
        if digits:
            raise DMLError(
                f"round: a graph's tensor rounds to integers, not to {digits} digits; scale it before and after"
            )
        nearest = enums.DML_ROUNDING_MODE_HALVES_TO_NEAREST_EVEN
        return self._rounded(ew.DML_ELEMENT_WISE_ROUND_OPERATOR_DESC, RoundingMode=nearest)

    def __floor__(self) -> Tensor:
        return self._rounded(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC, ScaleBias=None)

    def __ceil__(self) -> Tensor:
        return self._rounded(ew.DML_ELEMENT_WISE_CEIL_OPERATOR_DESC, ScaleBias=None)

    def _rounded(self, cls: type[OperatorDesc], **fields: Any) -> Tensor:
        return self._one(cls, self, **fields) if self._is_float else +self

    def _one(self, cls: type[OperatorDesc], x: Any, **fields: Any) -> Tensor:
        return self.builder.one(cls, x.sizes, x.data_type, InputTensor=x, **fields)

    def __getitem__(self, key: Any) -> Tensor:
        """Index with integers, slices, None and an ellipsis, as in NumPy; a single element has sizes (1,).

        Raises DMLError for keys that are out of range, empty, or arrays of indices (operations.gather takes those).
        """
        return indexed(self, key)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[index] for index in range(len(self)))

    def __bool__(self) -> NoReturn:
        raise DMLError(
            "a graph's tensor is neither true nor false before the graph runs: write operations.if_ to choose, "
            "operations.logical_and, logical_or and logical_not to combine conditions, `is` to compare objects"
        )

    def __format__(self, spec: str) -> str:
        return _without_values(f"the format {spec!r}") if spec else str(self)

    if not TYPE_CHECKING:  # type checkers take objects with these methods for arrays, numbers and mutable sequences

        def __array__(self, *_: object, **__: object) -> NoReturn:
            _without_values()

        def __float__(self) -> NoReturn:
            _without_values("float()")

        def __int__(self) -> NoReturn:
            _without_values("int()")

        __trunc__ = __int__

        def __complex__(self) -> NoReturn:
            _without_values("complex()")

        def __setitem__(self, *_: object) -> NoReturn:
            raise DMLError(
                "a graph's tensor does not change: operations.if_ (by a mask), operations.join (of slices) and "
                "operations.scatter_elements return a new one"
            )

        __delitem__ = __setitem__

        def __getattr__(self, name: str) -> NoReturn:
            function = _FUNCTIONS_OF_METHODS.get(name)
            hint = "" if function is None else f"; {function}"
            raise attribute_error(f"a graph's tensor has no attribute {name!r}", hint, name, self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Tensor:
        """Support NumPy's functions: np.exp(x), np.maximum(x, 0), array + x.

        Raises DMLError for a function that DirectML lacks, for its methods (reduce, ...) and for options.
        """
        from dml.graph.ufuncs import apply_ufunc

        return apply_ufunc(self, ufunc, method, inputs, options)  # type: ignore[arg-type]

    @property
    def shape(self) -> tuple[int, ...]:
        """NumPy's name for ``sizes``."""
        return self.sizes

    @property
    def ndim(self) -> int:
        """NumPy's name for ``rank``."""
        return self.rank

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy type of ``data_type``."""
        return np.dtype(numpy_dtype(self.data_type))

    @property
    def T(self) -> Tensor:  # NumPy's name
        """The tensor with its dimensions reversed."""
        return self.transpose()


#: Replacements for arrays' attributes that a graph's tensor lacks.
_FUNCTIONS_OF_METHODS: dict[str, str] = {
    **dict.fromkeys(("sum", "mean", "max", "min", "prod", "argmax", "argmin", "all", "any"),
                    "operations.reduce(x, function, axes) reduces"),
    **dict.fromkeys(("item", "tolist", "numpy", "tobytes"),
                    "it has no values before the graph runs: Builder.compile and dispatch give them"),
    "astype": "operations.cast(x, data_type) converts",
    "size": "math.prod(x.sizes) counts its elements",
    "clip": "operations.clip(x, min, max) clamps",
    "round": "round(x) rounds",
    "flatten": "x.reshape(-1) flattens",
    "squeeze": "x.reshape(*sizes) removes dimensions",
}  # fmt: skip


def _without_values(what: str = "") -> NoReturn:
    raise DMLError(
        f"a graph's tensor has no values before the graph runs{what and f', which {what} needs'}: Builder.compile and "
        "dispatch give them, and dml.graph.operations has functions that take it"
    )


_add = _operator(ew.DML_ELEMENT_WISE_ADD_OPERATOR_DESC)
_subtract = _operator(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC)
_subtract_from = _operator(ew.DML_ELEMENT_WISE_SUBTRACT_OPERATOR_DESC, swap=True)
_multiply = _operator(ew.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC)
_equals = _operator(ew.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, UINT8)


def _floor_divided(a: Any, b: Any) -> Tensor:
    """Floor division; exact for integers."""
    if a._is_float:
        return a._one(ew.DML_ELEMENT_WISE_FLOOR_OPERATOR_DESC, a / b, ScaleBias=None)  # type: ignore[no-any-return]
    return (a - a % b) / b  # type: ignore[no-any-return]


def _product(a: Tensor, b: Tensor) -> Tensor:
    """NumPy's matmul: a one-dimensional tensor is a row on the left and a column on the right."""
    from dml.graph.operations import gemm

    row, column = a.rank == 1, b.rank == 1
    product = gemm(a.reshape(1, -1) if row else a, b.reshape(-1, 1) if column else b)
    sizes = list(product.sizes)
    if column:
        del sizes[-1]
    if row:
        del sizes[len(sizes) - (1 if column else 2)]
    return product.view(sizes or (1,)) if row or column else product
