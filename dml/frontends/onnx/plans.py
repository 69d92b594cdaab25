"""The plans of a model, one per set of input shapes: those used last, within bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from dml.recent import Recent

from .dtypes import Array

#: How many plans of a model are kept, and how many bytes they may hold together; the weights, which they share, are not
#: counted.
MOST_PLANS, MOST_BYTES = 64, 128 << 20


class Kept(Protocol):
    """A model compiled for input shapes."""

    @property
    def kept(self) -> Mapping[object, int]:
        """What it keeps on the device, with its bytes. What plans have in common, as kernels, counts once."""
        ...

    def holds(self, feeds: Mapping[str, Array]) -> bool:
        """Whether it is right for inputs with these values."""
        ...


class Plans:
    """Plans by the shapes they are for, and by values where a plan depends on those. The newest always stays. Safe from
    any thread."""

    def __init__(self, most: int = MOST_PLANS, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        #: Shapes and plan by the plan's identity.
        self._plans: Recent[int, tuple[Any, Any]] = Recent(most)

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, shapes: object, feeds: Mapping[str, Array]) -> Any:
        """The plan for these inputs, None where there is none."""
        for number, (known, plan) in self._plans.items():
            if known == shapes and plan.holds(feeds):
                self._plans.get(number)  # now the most recently used
                return plan
        return None

    def add(self, shapes: object, plan: Kept) -> None:
        """Keep a plan, and forget the least recently used ones beyond the limits."""
        self._plans.put(id(plan), (shapes, plan))
        kept: dict[object, int] = {}
        for place, (_, (_, one)) in enumerate(self._plans.items()):
            kept.update(one.kept)
            if place and sum(kept.values()) > self._most_bytes:
                self._plans.shrink(place)
                break
