"""Integers that remember how they were computed, so that what was made for one size can be made for another.

A ``Tracing`` gives ``TracedInt``s for the numbers that will change. Arithmetic with them gives others; a comparison
gives the answer for the numbers at hand, and is noted as a condition. ``Tracing.formula`` then computes whatever was made
of them for other numbers, as long as all conditions hold there too.

A TracedInt is an int, so that code need not know of it. What code in C takes of an int is not what it stands for, but a
huge negative number, at random: whatever would lose the trace (a ``range``, NumPy, ``struct``, a hash) fails at once or
makes something that differs from what the plain numbers make. Users of a formula compare both for the numbers at hand.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

#: Factors of a product, by their numbers among the tracing's; () is 1.
_Monomial = tuple[int, ...]
#: A sum of products with their coefficients, in order.
_Terms = tuple[tuple[_Monomial, int], ...]

_random = Random()
#: Of a factor of which nothing is known.
_UNKNOWN = -1


class UntracedError(Exception):
    """Something was asked of a TracedInt that cannot be traced."""


class _Factor(NamedTuple):
    """A number that formulas are made of: one that was given, or what a function makes of others. least: what it is at
    least."""

    function: Callable[..., int] | None
    operands: tuple[int, ...]
    value: int
    least: int


class _Condition(NamedTuple):
    """What a sum of products has to be."""

    terms: _Terms
    compare: Callable[[int, int], bool]
    other: int


class TracedInt(int):
    """An int with its history. ``now``: the number that it stands for while it is traced."""

    now: int
    _terms: _Terms
    _tracing: Tracing

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        if isinstance(other, TracedInt):
            return self._tracing.sum(self._terms, other._terms, 1)
        return self._tracing.sum(self._terms, _plain(other), 1) if isinstance(other, int) else self.pinned + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, TracedInt):
            return self._tracing.sum(self._terms, other._terms, -1)
        return self._tracing.sum(self._terms, _plain(other), -1) if isinstance(other, int) else self.pinned - other

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, TracedInt):
            return self._tracing.product(self._terms, other._terms)
        if isinstance(other, int):
            return self._tracing.product(self._terms, _plain(other))
        return self.pinned * other

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
        # (the low bits, as of 32-bit patterns)
        if isinstance(other, int) and not isinstance(other, TracedInt) and other >= 0 and not other & (other + 1):
            return self % (other + 1)
        return self.pinned & int(other)

    __rand__ = __and__

    # What cannot be traced holds for this number alone

    @property
    def pinned(self) -> int:
        """The plain number, which is noted as a condition."""
        self._tracing.is_zero(self - self.now)
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
        raise UntracedError("an operator that traced numbers do not have")

    __rlshift__ = __rrshift__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = __complex__ = _refuse
    to_bytes = as_integer_ratio = bit_count = _refuse  # type: ignore[assignment]

    def bit_length(self) -> int:
        found = self.now.bit_length()
        size = abs(self)
        holds = 2 ** (found - 1) <= size < 2**found if found else size == 0  # noted as conditions
        assert holds
        return found

    # Comparisons

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, int) or (isinstance(other, TracedInt) and other._tracing is not self._tracing):
            return NotImplemented if not isinstance(other, float) else self == int(other) and other.is_integer()
        return self._tracing.is_zero(self - other)

    def __ne__(self, other: object) -> bool:
        found = self.__eq__(other)
        return found if found is NotImplemented else not found

    __hash__ = int.__hash__

    def __lt__(self, other: Any) -> bool:
        return self._tracing.is_positive(_bound(other, math.ceil) - self)

    def __le__(self, other: Any) -> bool:
        return self._tracing.is_positive(_bound(other, math.floor) - self + 1)

    def __gt__(self, other: Any) -> bool:
        return self._tracing.is_positive(self - _bound(other, math.floor))

    def __ge__(self, other: Any) -> bool:
        return self._tracing.is_positive(self - _bound(other, math.ceil) + 1)

    def __bool__(self) -> bool:
        return not self._tracing.is_zero(self)

    # In messages, most of which nobody reads. A kernel's text with it is none that plain numbers make.

    def __repr__(self) -> str:
        return f"<{self.now} = {self._tracing.in_words(self._terms)}>"

    __str__ = __repr__

    def __format__(self, how: str) -> str:
        return repr(self)


#: NumPy's numbers leave arithmetic to it.
TracedInt.__array_ufunc__ = None  # type: ignore[attr-defined]


def _plain(number: int) -> _Terms:
    number = int(number)
    return (((), number),) if number else ()


def _bound(number: Any, towards: Callable[[float], int]) -> int:
    """The whole number at which a comparison with any number changes."""
    if isinstance(number, float):
        return towards(number) if math.isfinite(number) else (1 if number > 0 else -1) << 256
    return number if isinstance(number, TracedInt) else int(number)


def whole(number: Any) -> int:
    """An int of whatever is an index, as ``operator.index``; traced ones stay traced. Raises TypeError."""
    return number if type(number) is TracedInt else operator.index(number)


def traced_apply(function: Callable[..., int], *operands: int, least: int = 0) -> int:
    """``function`` of numbers, which is traced as a whole: conditions in it are none.

    The result does not depend on anything else and is ``least`` or more.
    """
    tracing = next((operand._tracing for operand in operands if isinstance(operand, TracedInt)), None)
    return function(*operands) if tracing is None else tracing.factor(function, operands, least)


class Formula:
    """What was made of traced numbers, to be made of others. made: the TracedInts in it."""

    def __init__(self, tracing: Tracing, made: Iterable[int]) -> None:
        self._factors = tracing.factors
        self._made = {number: number._terms for number in made if type(number) is TracedInt}
        #: The conditions by the last factor that they need.
        self._conditions: dict[int, list[_Condition]] = {}
        for condition in tracing.conditions():
            last = max(factor for product, _ in condition.terms for factor in product)
            self._conditions.setdefault(last, []).append(condition)

    def numbers(self, given: Sequence[int]) -> dict[int, int] | None:
        """What each TracedInt is for such numbers given, in the order in which they were traced; None where a condition
        does not hold for them."""
        known: list[int] = []
        for at, (function, operands, _, least) in enumerate(self._factors):
            if function is None:
                number = given[at]
                if number < least:
                    return None
            else:
                try:
                    number = function(*[_sum(o._terms, known) if type(o) is TracedInt else o for o in operands])
                except (ArithmeticError, ValueError):
                    return None
            known.append(number)
            for terms, compare, other in self._conditions.get(at, ()):
                if not compare(_sum(terms, known), other):
                    return None
        return {number: _sum(terms, known) for number, terms in self._made.items()}


def _sum(terms: _Terms, known: Sequence[int]) -> int:
    total = 0
    for factors, product in terms:
        for factor in factors:
            product *= known[factor]
        total += product
    return total


class Tracing:
    """The numbers that change, what is computed of them, and the conditions that were met."""

    def __init__(self) -> None:
        self.factors: list[_Factor] = []
        self._made: dict[_Terms, TracedInt] = {}
        self._applied: dict[tuple[Any, ...], TracedInt] = {}
        #: What sums of products are at least, and what they are, or are not.
        self.least: dict[_Terms, int] = {}
        self.equal: dict[tuple[_Terms, int], None] = {}
        self.unequal: dict[tuple[_Terms, int], None] = {}

    def number(self, now: int) -> TracedInt:
        """A number that will change; it is at least 2 then (what has one element has layouts of its own)."""
        assert now >= 2 and all(factor.function is None for factor in self.factors)
        self.factors.append(_Factor(None, (), now, 2))
        return self._number((((len(self.factors) - 1,), 1),))  # type: ignore[return-value]

    def _number(self, terms: _Terms) -> int:
        """The number that is this sum: the same object for the same one."""
        if not terms:
            return 0
        if len(terms) == 1 and not terms[0][0]:
            return terms[0][1]
        found = self._made.get(terms)
        if found is None:
            found = int.__new__(TracedInt, -1 << 120 | _random.getrandbits(119))
            found.now = self._now(terms)
            found._terms, found._tracing = terms, self
            self._made[terms] = found
        return found

    def _now(self, terms: _Terms) -> int:
        factors = self.factors
        return sum(math.prod([factors[at].value for at in product]) * number for product, number in terms)

    def factor(self, function: Callable[..., int], operands: Sequence[int], least: int) -> TracedInt:
        key = function, *[id(operand) if isinstance(operand, TracedInt) else (operand,) for operand in operands]
        found = self._applied.get(key)
        if found is None:
            now = function(*[operand.now if isinstance(operand, TracedInt) else operand for operand in operands])
            self.factors.append(_Factor(function, tuple(operands), now, least))
            found = self._applied[key] = self._number((((len(self.factors) - 1,), 1),))  # type: ignore[assignment]
        assert found is not None
        return found

    # Arithmetic

    def sum(self, a: _Terms, b: _Terms, sign: int) -> int:
        if not b:
            return self._number(a)
        found = dict(a)
        for product, number in b:
            total = found.get(product, 0) + sign * number
            if total:
                found[product] = total
            else:
                del found[product]
        return self._number(tuple(sorted(found.items())))

    def product(self, a: _Terms, b: _Terms) -> int:
        if len(b) == 1 and not b[0][0]:
            return self._number(tuple([(product, number * b[0][1]) for product, number in a]))
        found: dict[_Monomial, int] = {}
        for one, first in a:
            for other, second in b:
                product = tuple(sorted((*one, *other)))
                found[product] = found.get(product, 0) + first * second
        return self._number(tuple(sorted((product, number) for product, number in found.items() if number)))

    def quotient(self, a: Any, b: Any) -> int:
        """Rounded down."""
        whole, rest = self._divided(a, b)
        if type(rest) is int and (rest == 0 or type(b) is int):
            return whole if rest == 0 else whole + rest // b
        if type(b) is int and b > 0 and type(rest) is TracedInt:
            varying = [number for product, number in rest._terms if product]
            if max(varying) < 0:
                return whole - (b - 1 - rest) // b
            common = math.gcd(b, *varying)
            if common > 1:
                return whole + self.sum(
                    tuple([(product, number // common) for product, number in rest._terms if number // common]), (), 1
                ) // (b // common)
        least, by = self._least_of(rest), self._least_of(b)
        is_positive = least is not None and least >= 0 and by is not None and by > 0
        return whole + self.factor(_quotient, (rest, b), 0 if is_positive else _UNKNOWN)

    def remainder(self, a: Any, b: Any) -> int:
        if type(b) is int and b >= 1 << 31 and 0 <= a < b:
            return whole(a)  # (32-bit patterns: what they hold is noted as a condition)
        _, rest = self._divided(a, b)
        if not isinstance(rest, TracedInt) and (rest == 0 or not isinstance(b, TracedInt)):
            return rest if rest == 0 else rest % b
        by = self._least_of(b)
        return self.factor(_remainder, (rest, b), 0 if by is not None and by > 0 else _UNKNOWN)

    def _divided(self, a: Any, b: Any) -> tuple[int, int]:
        """What divides without a rest whatever the numbers are, and what is left."""
        if not isinstance(a, int) or not isinstance(b, int):
            raise UntracedError(f"a traced number and {type(a).__name__} or {type(b).__name__} divided")
        if isinstance(b, TracedInt):
            if a is b:
                return 1, 0
            if len(b._terms) != 1 or not self._least_of(b):
                return 0, a
            (factors, by), terms = b._terms[0], a._terms if isinstance(a, TracedInt) else _plain(a)
        else:
            factors, by, terms = (), int(b), a._terms
        whole: list[tuple[_Monomial, int]] = []
        rest: list[tuple[_Monomial, int]] = []
        for product, number in terms:
            left = _without(product, factors)
            if left is None:
                rest.append((product, number))
                continue
            times = abs(number) // abs(by) * (1 if (number < 0) == (by < 0) else -1)
            if times:
                whole.append((left, times))
            if number - times * by:
                rest.append((product, number - times * by))
        return self._number(tuple(sorted(whole))), self._number(tuple(rest))

    # Conditions

    def is_positive(self, number: int) -> bool:
        if not isinstance(number, TracedInt):
            return number > 0
        least, most = self._least_of(number), self._least_of(-number)
        if least is not None and least > 0:
            return True
        if most is not None and most >= 0:
            return False
        if number.now > 0:
            self._at_least_one(number)
            return True
        self._at_least_one(1 - number)
        return False

    def _at_least_one(self, number: Any) -> None:
        terms, scale, constant = _direction(number._terms)
        least = -((constant - 1) // scale)
        self.least[terms] = max(least, self.least.get(terms, least))

    def is_zero(self, number: int) -> bool:
        if not isinstance(number, TracedInt):
            return number == 0
        least, most = self._least_of(number), self._least_of(-number)
        if (least is not None and least > 0) or (most is not None and most > 0):
            return False
        terms, scale, constant = _direction(number._terms)
        if constant % scale:
            return False
        if terms[0][1] < 0:
            terms, constant = tuple([(product, -each) for product, each in terms]), -constant
        (self.unequal if number.now else self.equal)[terms, -constant // scale] = None
        return number.now == 0

    def _least_of(self, number: Any) -> Any:
        """What a number is at least, None where that is not known."""
        if not isinstance(number, TracedInt):
            return number
        total = 0
        for product, each in number._terms:
            if each < 0 and product:
                return None
            total += each * math.prod([self.factors[at].least for at in product])
            if any(self.factors[at].least < 0 for at in product):
                return None
        return total

    def conditions(self) -> list[_Condition]:
        """What holds for the numbers that were traced, and has to for others."""
        return [
            *(_Condition(terms, operator.ge, least) for terms, least in self.least.items()),
            *(_Condition(terms, operator.eq, number) for terms, number in self.equal),
            *(_Condition(terms, operator.ne, number) for terms, number in self.unequal),
        ]

    def in_words(self, terms: _Terms) -> str:
        return " + ".join("*".join([str(number), *map(self._named, product)]) for product, number in terms)

    def _named(self, at: int) -> str:
        factor = self.factors[at]
        if factor.function is None:
            return "abcdefgh"[at]
        operands = [self.in_words(o._terms) if isinstance(o, TracedInt) else str(o) for o in factor.operands]
        return f"{factor.function.__name__.strip('_')}({', '.join(operands)})"


def _quotient(a: int, b: int) -> int:
    return a // b


def _remainder(a: int, b: int) -> int:
    return a % b


def _without(product: _Monomial, factors: _Monomial) -> _Monomial | None:
    """The product divided by these factors; None where they are not among its."""
    left = list(product)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def _direction(terms: _Terms) -> tuple[_Terms, int, int]:
    """A sum as ``scale * direction + constant``."""
    constant = terms[0][1] if not terms[0][0] else 0
    varying = terms[1:] if constant else terms
    scale = math.gcd(*(number for _, number in varying))
    return tuple([(product, number // scale) for product, number in varying]), scale, constant
