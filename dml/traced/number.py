"""Integers that remember how they were computed."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tracing import Tracing

#: Factors of a product, by their numbers in the tracing; () is 1.
Product = tuple[int, ...]
#: A sum of products with coefficients, in order.
Terms = tuple[tuple[Product, int], ...]


class Numbers(dict[int, int]):
    """The value of each TracedInt. known: results built so far, by the identity of their source."""

    def __init__(self, numbers: Mapping[int, int]) -> None:
        super().__init__(numbers)
        self.known: dict[int, Any] = {}


class UntracedError(Exception):
    """A TracedInt was used in a way that cannot be traced."""


#: Errors that a TracedInt causes in code that does not know it: C code sees a number out of range, a ``range`` is
#: empty, a table has no such key, and NumPy refuses operations with an object that is no array.
TRACING_ERRORS = (UntracedError, ArithmeticError, LookupError, TypeError, ValueError, struct.error)


class TracedInt(int):
    """An int with its history. ``now``: its value during tracing."""

    now: int
    #: Its value as a sum of products.
    terms: Terms
    _tracing: Tracing

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        terms = terms_of(other)
        return self.pinned + other if terms is None else self._tracing.sum(self.terms, terms, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        terms = terms_of(other)
        return self.pinned - other if terms is None else self._tracing.sum(self.terms, terms, -1)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        terms = terms_of(other)
        return self.pinned * other if terms is None else self._tracing.product(self.terms, terms)

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        return self._tracing.quotient(self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._tracing.quotient(other, self)

    def __mod__(self, other: Any) -> Any:
        return self._tracing.remainder(self, other)

    def __rmod__(self, other: Any) -> Any:
        return self._tracing.remainder(other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __abs__(self) -> Any:
        return -self if self < 0 else self

    def __lshift__(self, other: Any) -> Any:
        return self * 2 ** int(other)

    def __rshift__(self, other: Any) -> Any:
        return self // 2 ** int(other)

    def __and__(self, other: Any) -> Any:
        # a mask of the low bits, as in 32-bit patterns
        if isinstance(other, int) and type(other) is not TracedInt and other >= 0 and not other & (other + 1):
            return self % (other + 1)
        return self.pinned & int(other)

    __rand__ = __and__

    # Untraceable operations hold only for this number

    @property
    def pinned(self) -> int:
        """Return the plain number; a condition records that it was needed."""
        self._tracing.is_zero(self, self.now)
        return self.now

    def __int__(self) -> int:
        return self.pinned

    def __float__(self) -> float:
        return float(self.pinned)

    def __truediv__(self, other: Any) -> Any:
        return self.pinned / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.pinned

    def __pow__(self, other: Any, modulo: Any = None) -> Any:
        return pow(self.pinned, other, modulo)

    def __rpow__(self, other: Any, modulo: Any = None) -> Any:
        return pow(other, self.pinned, modulo)

    def __reduce__(self) -> Any:
        return int, (self.pinned,)

    def _refuse(self, *_: Any) -> Any:
        raise UntracedError("this operator is not traced")

    __rlshift__ = __rrshift__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __complex__ = _refuse
    to_bytes = as_integer_ratio = bit_count = _refuse  # type: ignore[assignment]

    def bit_length(self) -> int:
        found = self.now.bit_length()
        size = abs(self)
        # this comparison is recorded as a condition
        holds = 2 ** (found - 1) <= size < 2**found if found else size == 0
        assert holds
        return found

    # Comparisons

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        terms = terms_of(other)
        if terms is None or (type(other) is TracedInt and other._tracing is not self._tracing):
            return NotImplemented
        return self._tracing.is_zero(self, whole(other))

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    __hash__ = int.__hash__

    def __lt__(self, other: Any) -> bool:
        return self._tracing.is_positive(_bound(other, math.ceil), self, 0)

    def __le__(self, other: Any) -> bool:
        return self._tracing.is_positive(_bound(other, math.floor), self, 1)

    def __gt__(self, other: Any) -> bool:
        return self._tracing.is_positive(self, _bound(other, math.floor), 0)

    def __ge__(self, other: Any) -> bool:
        return self._tracing.is_positive(self, _bound(other, math.ceil), 1)

    def __bool__(self) -> bool:
        return not self._tracing.is_zero(self, 0)

    # Text for error messages; it must never end up in a kernel's source.

    def __repr__(self) -> str:
        return f"<{self.now} = {self._tracing.in_words(self.terms)}>"

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return repr(self)


#: Makes NumPy scalars defer to a TracedInt in arithmetic.
TracedInt.__array_ufunc__ = None  # type: ignore[attr-defined]


def plain_terms(number: float) -> Terms:
    """Return the terms of an integer."""
    number = int(number)
    return (((), number),) if number else ()


def terms_of(number: Any) -> Terms | None:
    """Return the terms of an integer, or of a float that is one; None for others."""
    if type(number) is TracedInt:
        return number.terms
    if isinstance(number, int) or (isinstance(number, float) and number.is_integer()):
        return plain_terms(number)
    return None


def _bound(number: Any, towards: Callable[[float], int]) -> int:
    """Return the integer with which a comparison gives the same result as with ``number``. towards: rounds a float, up
    or down depending on the comparison."""
    if isinstance(number, float):
        return towards(number) if math.isfinite(number) else (1 if number > 0 else -1) << 256
    return number if type(number) is TracedInt else int(number)


def whole(number: Any) -> int:
    """Like ``int``, but a traced number stays traced."""
    return number if type(number) is TracedInt else int(number)


def now_of(number: int) -> int:
    """Return a traced number's value during tracing; plain numbers are returned unchanged."""
    return number.now if type(number) is TracedInt else number


def traced_apply(function: Callable[..., int], *operands: int) -> int:
    """Apply ``function`` as one traced operation: conditions inside it are not recorded.

    The result must be nonnegative and depend only on the operands.
    """
    tracing = next((operand._tracing for operand in operands if type(operand) is TracedInt), None)
    return function(*operands) if tracing is None else tracing.factor(function, operands, 0)
