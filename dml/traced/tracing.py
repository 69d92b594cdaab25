"""Tracing: records expressions of numbers that will change and the conditions under which they hold, and evaluates them
for other numbers."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from .number import Numbers, Product, Terms, TracedInt, UntracedError, now_of, plain_terms, terms_of, whole

#: C code sees a TracedInt as a random number below this one, which is outside the range of every float.
_LEAST = -1 << 1100
#: Lower bound of an unknown factor.
_UNKNOWN = -1


class _Factor(NamedTuple):
    """A factor of products: a given number, or a function of others. least: its lower bound."""

    function: Callable[..., int] | None
    operands: tuple[int, ...]
    now: int
    least: int


class _Condition(NamedTuple):
    """A condition on a sum of products."""

    terms: Terms
    compare: Callable[[int, int], bool]
    other: int


class Tracing:
    """The numbers that change, expressions of them, and the conditions met so far."""

    def __init__(self) -> None:
        self.factors: list[_Factor] = []
        self._made: dict[Terms, TracedInt] = {}
        self._applied: dict[tuple[Any, ...], TracedInt] = {}
        #: Lower bounds of sums of products; values that sums must equal, and must not equal.
        self.least: dict[Terms, int] = {}
        self.equal: dict[tuple[Terms, int], None] = {}
        self.unequal: dict[tuple[Terms, int], None] = {}

    def number(self, now: int) -> TracedInt:
        """Add a number that will change. It is at least 2: a dimension of size 1 has other layouts."""
        assert now >= 2
        assert all(factor.function is None for factor in self.factors)
        self.factors.append(_Factor(None, (), now, 2))
        return self._newest()

    def _number(self, terms: Terms) -> int:
        """Return the number with these terms; equal sums share one object."""
        if not terms:
            return 0
        if len(terms) == 1 and not terms[0][0]:
            return terms[0][1]
        return self._traced(terms)

    def _newest(self) -> TracedInt:
        """Return the number whose value is the factor added last."""
        return self._traced((((len(self.factors) - 1,), 1),))

    def _traced(self, terms: Terms) -> TracedInt:
        found = self._made.get(terms)
        if found is None:
            found = int.__new__(TracedInt, _LEAST - int.from_bytes(os.urandom(16), "little"))
            found.now = self._now(terms)
            found.terms, found._tracing = terms, self
            self._made[terms] = found
        return found

    def _now(self, terms: Terms) -> int:
        factors = self.factors
        return sum(math.prod([factors[index].now for index in product]) * number for product, number in terms)

    def factor(self, function: Callable[..., int], operands: Sequence[int], least: int) -> TracedInt:
        key = function, *[id(operand) if type(operand) is TracedInt else (operand,) for operand in operands]
        found = self._applied.get(key)
        if found is None:
            now = function(*map(now_of, operands))
            self.factors.append(_Factor(function, tuple(operands), now, least))
            found = self._applied[key] = self._newest()
        return found

    # Arithmetic

    def sum(self, a: Terms, b: Terms, sign: int) -> int:
        return self._number(_sum_of(a, b, sign))

    def product(self, a: Terms, b: Terms) -> int:
        if len(b) == 1 and not b[0][0]:
            return self._number(tuple([(product, number * b[0][1]) for product, number in a]))
        found: dict[Product, int] = {}
        for factors, first in a:
            for other, second in b:
                product = tuple(sorted((*factors, *other)))
                found[product] = found.get(product, 0) + first * second
        return self._number(tuple(sorted((product, number) for product, number in found.items() if number)))

    def quotient(self, a: Any, b: Any) -> Any:
        """Quotient, rounded down."""
        times, rest = self._divided(a, b)
        if type(rest) is int and (rest == 0 or type(b) is int):
            return times if rest == 0 else times + rest // b
        if type(b) is int and b > 0 and type(rest) is TracedInt:
            varying = [number for product, number in rest.terms if product]
            if max(varying) < 0:
                return times - (b - 1 - rest) // b
            common = math.gcd(b, *varying)
            if common > 1:
                return times + self.sum(
                    tuple([(product, number // common) for product, number in rest.terms if number // common]), (), 1
                ) // (b // common)
        least, by = self._least_of(rest), self._least_of(b)
        is_positive = least is not None and least >= 0 and by is not None and by > 0
        return times + self.factor(operator.floordiv, (rest, b), 0 if is_positive else _UNKNOWN)

    def remainder(self, a: Any, b: Any) -> Any:
        if type(b) is int and b >= 1 << 31 and 0 <= a < b:
            return whole(a)  # a 32-bit pattern; its value is recorded as a condition
        _, rest = self._divided(a, b)
        if type(rest) is not TracedInt and (rest == 0 or type(b) is not TracedInt):
            return rest if rest == 0 else rest % b
        by = self._least_of(b)
        return self.factor(operator.mod, (rest, b), 0 if by is not None and by > 0 else _UNKNOWN)

    def _divided(self, a: Any, b: Any) -> tuple[Any, Any]:
        """Return (quotient, remainder); the quotient has only terms that divide exactly for all values of the
        numbers."""
        if not isinstance(a, int) or not isinstance(b, int):
            raise UntracedError(f"{type(a).__name__} divided by {type(b).__name__} is not traced")
        if type(b) is TracedInt:
            if a is b:
                return 1, 0
            if len(b.terms) != 1 or not self._least_of(b):
                return 0, a
            factors, by = b.terms[0]
        else:
            factors, by = (), int(b)
        evenly: list[tuple[Product, int]] = []
        rest: list[tuple[Product, int]] = []
        for product, number in terms_of(a) or ():
            left = _without(product, factors)
            if left is None:
                rest.append((product, number))
                continue
            times = abs(number) // abs(by) * (1 if (number < 0) == (by < 0) else -1)
            if times:
                evenly.append((left, times))
            if number - times * by:
                rest.append((product, number - times * by))
        return self._number(tuple(sorted(evenly))), self._number(tuple(rest))

    # Conditions

    def is_positive(self, a: int, b: int, more: int) -> bool:
        """Whether ``a - b + more`` is positive."""
        terms = _sum_of(_sum_of(terms_of(a) or (), terms_of(b) or (), -1), plain_terms(more), 1)
        least, most = self._bounds(terms)
        if least is not None and least > 0:
            return True
        if most is not None and most <= 0:
            return False
        found = now_of(a) - now_of(b) + more > 0
        if not found:
            terms = _sum_of(plain_terms(1), terms, -1)
        direction, scale, constant = _direction(terms)
        at_least = -((constant - 1) // scale)
        self.least[direction] = max(at_least, self.least.get(direction, at_least))
        return found

    def is_zero(self, a: int, b: int) -> bool:
        """Whether ``a - b`` is zero."""
        terms = _sum_of(terms_of(a) or (), terms_of(b) or (), -1)
        least, most = self._bounds(terms)
        if (least is not None and least > 0) or (most is not None and most < 0):
            return False
        if least == most == 0:
            return True
        direction, scale, constant = _direction(terms)
        if constant % scale:
            return False
        if direction[0][1] < 0:
            direction, constant = tuple([(product, -each) for product, each in direction]), -constant
        found = now_of(a) == now_of(b)
        (self.equal if found else self.unequal)[direction, -constant // scale] = None
        return found

    def _bounds(self, terms: Terms) -> tuple[int | None, int | None]:
        """Return the lower and upper bound of a sum; None if unknown."""
        least: int | None = 0
        most: int | None = 0
        for product, each in terms:
            size = each
            for index in product:
                own = self.factors[index].least
                if own < 0:
                    return None, None
                size *= own
            if product and each > 0:
                most = None
            if product and each < 0:
                least = None
            least = None if least is None else least + size
            most = None if most is None else most + size
        return least, most

    def _least_of(self, number: int) -> int | None:
        """Return a number's lower bound; None if unknown."""
        return self._bounds(terms_of(number) or ())[0]

    def conditions(self) -> list[_Condition]:
        """Return the conditions that the traced numbers met and others must meet."""
        return [
            *(_Condition(terms, operator.ge, least) for terms, least in self.least.items()),
            *(_Condition(terms, operator.eq, number) for terms, number in self.equal),
            *(_Condition(terms, operator.ne, number) for terms, number in self.unequal),
        ]

    def in_words(self, terms: Terms) -> str:
        return " + ".join("*".join([str(number), *map(self._named, product)]) for product, number in terms)

    def _named(self, index: int) -> str:
        factor = self.factors[index]
        if factor.function is None:
            return "abcdefgh"[index]
        operands = [self.in_words(o.terms) if type(o) is TracedInt else str(o) for o in factor.operands]
        return f"{factor.function.__name__.strip('_')}({', '.join(operands)})"


def _sum_of(a: Terms, b: Terms, sign: int) -> Terms:
    """Return the terms of a + b, or of a - b if ``sign`` is -1."""
    if not b:
        return a
    found = dict(a)
    for product, number in b:
        total = found.get(product, 0) + sign * number
        if total:
            found[product] = total
        else:
            del found[product]
    return tuple(sorted(found.items()))


def _without(product: Product, factors: Product) -> Product | None:
    """Divide the product by these factors; None if they are not all in it."""
    left = list(product)
    for factor in factors:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def _direction(terms: Terms) -> tuple[Terms, int, int]:
    """Return (direction, scale, constant) of a sum written as ``scale * direction + constant``."""
    constant = terms[0][1] if not terms[0][0] else 0
    varying = terms[1:] if constant else terms
    scale = math.gcd(*(number for _, number in varying))
    return tuple([(product, number // scale) for product, number in varying]), scale, constant


class Formula:
    """A result with traced numbers, ready to be evaluated for others. numbers: its TracedInts."""

    def __init__(self, tracing: Tracing, numbers: Iterable[int]) -> None:
        self._factors = tracing.factors
        self._made = {number: number.terms for number in numbers if type(number) is TracedInt}
        #: Conditions, by the number of the last factor that they need.
        self._conditions: dict[int, list[_Condition]] = {}
        for condition in tracing.conditions():
            last = max(factor for product, _ in condition.terms for factor in product)
            self._conditions.setdefault(last, []).append(condition)

    def numbers(self, given: Sequence[int]) -> Numbers | None:
        """Evaluate each TracedInt for the given numbers, in the order of tracing; None if a condition fails."""
        known: list[int] = []
        for index, (function, operands, _, least) in enumerate(self._factors):
            if function is None:
                number = given[index]
                if number < least:
                    return None
            else:
                try:
                    number = function(*[_sum(o.terms, known) if type(o) is TracedInt else o for o in operands])
                except (ArithmeticError, ValueError):
                    return None
            known.append(number)
            for terms, compare, other in self._conditions.get(index, ()):
                if not compare(_sum(terms, known), other):
                    return None
        return Numbers({number: _sum(terms, known) for number, terms in self._made.items()})


def _sum(terms: Terms, known: Sequence[int]) -> int:
    total = 0
    for factors, product in terms:
        for factor in factors:
            product *= known[factor]
        total += product
    return total
