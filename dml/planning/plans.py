"""A model's recent plans, one per set of input shapes, within bounds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy.typing as npt

from dml.recent import Recent

_Array = npt.NDArray[Any]

#: Maximum plans of a model, and their total bytes, excluding the weights, which they share, and the kernels of the plan
#: used last (see ``Plans.add``).
MOST_PLANS, MOST_BYTES = 64, 128 << 20


class Kept(Protocol):
    """A model compiled for input shapes."""

    @property
    def kept(self) -> Mapping[object, int]:
        """Return what it keeps on the device, with bytes. Parts shared by plans, such as kernels, count once."""
        ...

    @property
    def kept_kernels(self) -> Collection[object]:
        """Return the kernels among ``kept``."""
        ...

    def holds(self, feeds: Mapping[str, _Array]) -> bool:
        """Whether it is valid for inputs with these values."""
        ...


class Plans:
    """Plans by shapes and, if a plan depends on them, by values. The newest is always kept. Thread-safe."""

    def __init__(self, most: int = MOST_PLANS, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        #: Shapes and plan, by id() of the plan.
        self._plans: Recent[int, tuple[Any, Any]] = Recent(most)

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, shapes: object, feeds: Mapping[str, _Array]) -> Any:
        """Return the plan for these inputs; None if there is none."""
        for number, (known, plan) in self._plans.items():
            if known == shapes and plan.holds(feeds):
                self._plans.get(number)  # this marks the plan as the most recently used
                return plan
        return None

    def add(self, shapes: object, plan: Kept) -> None:
        """Keep a plan, and forget the least recently used ones beyond the limits.

        The kernels of the plan used last do not count: the new one will use most of them, and on CPU drivers they alone
        can exceed the limit.
        """
        last = next((plan for _, (_, plan) in self._plans.items()), None)
        expected = set() if last is None else set(last.kept_kernels)
        self._plans.put(id(plan), (shapes, plan))
        kept: dict[object, int] = {}
        for place, (_, (_, used)) in enumerate(self._plans.items()):
            kept.update((item, size) for item, size in used.kept.items() if item not in expected)
            if place and sum(kept.values()) > self._most_bytes:
                self._plans.shrink(place)
                break
