"""The plans of a model, one per set of input shapes: those used last, within bounds."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Protocol

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
        self._most = most
        self._most_bytes = most_bytes
        #: In the order of their last use.
        self._plans: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._plans)

    def find(self, shapes: object, feeds: Mapping[str, Array]) -> Any:
        """The plan for these inputs, None where there is none."""
        with self._lock:
            known_plans = list(self._plans.items())
        for number, (known, plan) in known_plans:
            if known == shapes and plan.holds(feeds):
                with self._lock:
                    if number in self._plans:
                        self._plans.move_to_end(number)
                return plan
        return None

    def add(self, shapes: object, plan: Kept) -> None:
        """Keep a plan; those unused longest go where there are too many, or too large ones."""
        with self._lock:
            self._plans[id(plan)] = shapes, plan
            while len(self._plans) > 1 and (len(self._plans) > self._most or self._memory() > self._most_bytes):
                self._plans.popitem(last=False)

    def _memory(self) -> int:
        kept: dict[object, int] = {}
        for _, plan in self._plans.values():
            kept.update(plan.kept)
        return sum(kept.values())
