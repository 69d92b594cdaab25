"""Plans made once for sizes that change, and filled in for later sizes.

A decoder's past grows with each token, and consecutive plans differ only in some numbers. When a part of a model has
been planned for several shapes, it is planned once more with ``TracedInt``s in place of the sizes that changed. The
result is valid for all sizes that meet the conditions tested while planning: a size is a multiple of four, one tensor
is larger than another. It is kept only if, for the current sizes, it equals the plan made from plain numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from dml.errors import DMLError
from dml.recent import Recent
from dml.stages import stage
from dml.traced import TRACING_ERRORS, Formula, Numbers, TracedInt, Tracing, UntracedError

#: Number of plans for different shapes after which sizes count as changing.
PATIENCE = 4
#: Attempts to make a pattern may exceed the plans that patterns have saved by this number. An attempt takes two to four
#: times as long as a plan.
TRIALS = 8
#: Maximum patterns kept, the most recently used. A decoder needs one per remainder of its length by 4, 8 or 16.
MOST_PATTERNS = 32


class _Comparable(Protocol):
    def is_same(self, other: Any) -> bool: ...


_Plan = TypeVar("_Plan", bound=_Comparable)
#: Fills in a plan's traced sizes with other numbers.
Fill = Callable[[Numbers], _Plan]


class _Pattern(NamedTuple):
    """A plan with traced sizes. changing: each input size's index among the traced sizes; -1 if it must equal the one
    in ``sizes``."""

    changing: tuple[int, ...]
    sizes: tuple[int, ...]
    formula: Formula
    filled: Fill[Any]

    def plan(self, sizes: Sequence[int]) -> Any:
        """Return the plan for these sizes; None if the pattern does not apply."""
        given: dict[int, int] = {}
        for size, own, number in zip(sizes, self.sizes, self.changing, strict=True):
            if size != (own if number < 0 else given.setdefault(number, size)):
                return None
        numbers = self.formula.numbers([given[index] for index in range(len(given))])
        try:
            return None if numbers is None else self.filled(numbers)
        except UntracedError:
            return None


class PlanPatterns:
    """Patterns of one part of a model, for inputs of the same names, ranks and dtypes. Thread-safe."""

    def __init__(self) -> None:
        #: Patterns, by the number of the attempt that found them.
        self._patterns: Recent[int, _Pattern] = Recent(MOST_PATTERNS)
        #: Sizes of the plans so far.
        self._seen: list[tuple[int, ...]] = []
        self._lock = threading.Lock()
        self.tried = 0
        #: Number of plans filled in from patterns.
        self.saved = 0

    def __len__(self) -> int:
        return len(self._patterns)

    def find(self, sizes: tuple[int, ...]) -> Any:
        """Return the plan for inputs of these sizes, flattened; None if no pattern applies."""
        for number, pattern in self._patterns.items():
            plan = pattern.plan(sizes)
            if plan is not None:
                self._patterns.get(number)  # this marks the pattern as the most recently used
                with self._lock:
                    self.saved += 1
                return plan
        return None

    def learn(
        self, sizes: tuple[int, ...], plan: _Plan, make: Callable[[Sequence[int]], tuple[Iterable[int], Fill[_Plan]]]
    ) -> None:
        """Record a plan; learn a pattern when due.

        make: plans for given sizes, some of them traced; returns the plan's traced numbers, and the function that fills
        them in.
        """
        with self._lock:
            self._seen.append(sizes)
            del self._seen[: -4 * PATIENCE]
            similar = [item for item in self._seen if _single(item) == _single(sizes)]
            changing = _changing(similar)
            if len(similar) <= PATIENCE or max(changing) < 0 or self.tried >= TRIALS + self.saved:
                return
            self.tried += 1
            number = self.tried
        with stage("pattern"):
            pattern = _traced(sizes, changing, plan, make)
        if pattern is not None:
            self._patterns.put(number, pattern)


def _traced(
    sizes: tuple[int, ...],
    changing: tuple[int, ...],
    plan: _Plan,
    make: Callable[[Sequence[int]], tuple[Iterable[int], Fill[_Plan]]],
) -> _Pattern | None:
    """Return the pattern of a plan; None if planning needs an operation that cannot be traced."""
    tracing = Tracing()
    traced: dict[int, TracedInt] = {}
    for size, number in zip(sizes, changing, strict=True):
        if number >= 0 and number not in traced:
            traced[number] = tracing.number(size)
    try:
        numbers, filled = make([traced.get(number, size) for size, number in zip(sizes, changing, strict=True)])
    except (*TRACING_ERRORS, DMLError):  # DMLError: a formula in GLSL, or a mapping needs the inputs' values
        return None
    pattern = _Pattern(changing, sizes, Formula(tracing, numbers), filled)
    result = pattern.plan(sizes)
    return pattern if result is not None and plan.is_same(result) else None


def _single(sizes: Sequence[int]) -> list[int]:
    """Return the sizes, with all above 1 made equal. Dimensions of size 0 or 1 have different layouts: a single
    token is planned differently from a prompt."""
    return [size if size < 2 else 2 for size in sizes]


def _changing(seen: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Number the sizes that change; sizes that are always equal share a number, and constant ones have -1."""
    numbers: dict[tuple[int, ...], int] = {}
    return tuple(
        -1 if min(column) == max(column) else numbers.setdefault(column, len(numbers))
        for column in zip(*seen, strict=True)
    )
