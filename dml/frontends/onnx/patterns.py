"""Plans of a model made once for sizes that change, and filled in for those that come along.

A decoder's past grows with each token, and each plan for it is as the one before but for some numbers. When a part of a
model has been planned for several shapes, it is planned once more with ``TracedInt``s in the place of the sizes that
differ. What that gives is the plan of all sizes for which the conditions hold that were met on the way: as many rows of
tiles, a vector's multiple, memory laid out in the same order. It is kept only where it is, for the sizes at hand, the
plan that plain numbers made.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from dml.errors import DMLError
from dml.stages import stage
from dml.traced import Formula, TracedInt, Tracing, UntracedError

#: Plans for different shapes before some of their sizes are taken to change, and how often that is tried beyond the
#: plans that it saved.
PATIENCE, TRIALS = 4, 8
#: How many patterns are kept, those used last. A decoder has one for each rest of its length by 4, 8 or 16.
MOST_PATTERNS = 32


class InputShape(NamedTuple):
    """Of an input: its name, shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class TracedPlan(NamedTuple):
    """What a plan made of traced sizes is for others. same_as: whether it is, for these numbers, that plan."""

    made: tuple[int, ...]
    filled: Callable[[dict[int, int]], Any]


_Plan = TypeVar("_Plan")


class _Pattern(NamedTuple):
    """changing: for each size of the inputs, in order, the number of the traced one, -1 where it does not change."""

    changing: tuple[int, ...]
    sizes: tuple[int, ...]
    formula: Formula
    filled: Callable[[dict[int, int]], Any]

    def plan(self, sizes: Sequence[int]) -> Any:
        """The plan for these sizes; None where this is not their pattern."""
        given: dict[int, int] = {}
        for size, own, number in zip(sizes, self.sizes, self.changing, strict=True):
            if size != (own if number < 0 else given.setdefault(number, size)):
                return None
        numbers = self.formula.numbers([given[at] for at in range(len(given))])
        return None if numbers is None else self.filled(numbers)


class PlanPatterns:
    """Those of one part of a model, for inputs of these names, ranks and dtypes."""

    def __init__(self) -> None:
        self._patterns: OrderedDict[int, _Pattern] = OrderedDict()
        #: The sizes that plans were made for, one by one.
        self._seen: list[tuple[int, ...]] = []
        self._tried = 0
        self._saved = 0

    def find(self, sizes: tuple[int, ...]) -> Any:
        for number, pattern in reversed(self._patterns.items()):
            plan = pattern.plan(sizes)
            if plan is not None:
                self._patterns.move_to_end(number)
                self._saved += 1
                return plan
        return None

    def learn(
        self, sizes: tuple[int, ...], plan: _Plan, make: Callable[[Sequence[int]], tuple[Sequence[int], Callable[[dict[int, int]], _Plan]]]
    ) -> None:
        """Told of a plan that was made for sizes, trace the ones that change where that is due.

        make: plans for sizes some of which are traced; what numbers are in it, and how it is filled.
        """
        seen = self._seen
        seen.append(sizes)
        del seen[: -2 * PATIENCE]
        if len(seen) <= PATIENCE or self._tried >= TRIALS + self._saved:
            return
        self._tried += 1
        changing = _changing(seen)
        if all(number < 0 for number in changing) or any(
            number >= 0 and size < 2 for size, number in zip(sizes, changing, strict=True)
        ):
            return
        tracing, traced = Tracing(), {}
        for size, number in zip(sizes, changing, strict=True):
            if number >= 0 and number not in traced:
                traced[number] = tracing.number(size)
        with stage("patterns"):
            try:
                made, filled = make([traced.get(number, size) for size, number in zip(sizes, changing, strict=True)])
            except (UntracedError, DMLError):
                raise
                return
            formula = Formula(tracing, made)
            pattern = _Pattern(changing, sizes, formula, filled)
            if plan.is_same(pattern.plan(sizes)):
                self._patterns[self._tried] = pattern
                while len(self._patterns) > MOST_PATTERNS:
                    self._patterns.popitem(last=False)


def _changing(seen: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Of each size the number of the one that it changes with, -1 where it stays."""
    numbers: dict[tuple[int, ...], int] = {}
    return tuple(
        [-1 if min(column) == max(column) else numbers.setdefault(column, len(numbers)) for column in zip(*seen, strict=True)]
    )
