"""Working memory that several programs use one at a time: a model's plans for successive lengths.

A program takes inputs, outputs and temporaries from the others' memory if it fits: large enough and not much too large.
If a slightly smaller one exists, sizes are growing and the new one is twice that size: a past that grows by one token
at a time allocates only when it doubles.
"""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Generic, Protocol, TypeVar

from dml.errors import HRESULT, DMLError
from dml.runtime.buffer import Buffer, Mirror
from dml.runtime.context import Context
from dml.runtime.memory import Piece, Use

#: Memory is not too large if it has at most MOST_TIMES the needed bytes, or at most SMALL bytes.
MOST_TIMES, SMALL = 4, 4096


class Sized(Protocol):
    @property
    def size(self) -> int: ...


_Thing = TypeVar("_Thing", bound=Sized)


def fits(size: int, within: int) -> bool:
    """Whether ``within`` bytes hold ``size`` bytes without wasting much."""
    return size <= within <= max(MOST_TIMES * size, SMALL)


def grown(size: int, others: Iterable[int], make: Callable[[int], _Thing]) -> _Thing:
    """Make an object of ``size`` bytes or, if there is a slightly smaller one, of twice that one's bytes.

    Raises what ``make`` raises: DMLError (E_OUTOFMEMORY) without memory.
    """
    less = max((other for other in others if other < size <= 2 * other), default=0)
    if less:
        try:
            return make(2 * less)
        except DMLError as error:
            if error.hresult != HRESULT.E_OUTOFMEMORY:
                raise
    return make(size)


class _Kind(Generic[_Thing]):
    """Objects of one kind, smallest first, as (bytes, serial number, weak reference): programs keep them alive."""

    def __init__(self, make: Callable[[int], _Thing]) -> None:
        self._make = make
        self._numbers = count()
        self._known: list[tuple[int, int, weakref.ref[_Thing]]] = []

    def living(self) -> list[tuple[int, int, weakref.ref[_Thing]]]:
        self._known = [known for known in self._known if known[2]() is not None]
        return self._known.copy()

    def make(self, size: int, others: Iterable[int]) -> _Thing:
        memory = grown(size, others, self._make)
        insort(self._known, (memory.size, next(self._numbers), weakref.ref(memory)))
        return memory


class _Free(Generic[_Thing]):
    """The objects of one kind that a program has not taken yet."""

    def __init__(self, kind: _Kind[_Thing]) -> None:
        self._kind = kind
        self._left = kind.living()

    def take(self, size: int) -> _Thing:
        """Return the smallest free object that fits ``size`` bytes, else a new one."""
        left = self._left
        index = bisect_left(left, (size,))
        while index < len(left) and fits(size, left[index][0]):
            found = left.pop(index)[2]()
            if found is not None:
                return found
        return self._kind.make(size, [other for other, _, thing in left if thing() is not None])


class WorkingSet:
    """The working memory of one program. Other programs of the same WorkingMemory may use the same buffers."""

    def __init__(self, buffers: _Kind[Buffer], staging: Mapping[Use, _Kind[Piece]]) -> None:
        self._buffers = _Free(buffers)
        self._staging = {use: _Free(kind) for use, kind in staging.items()}
        self._taken: list[object] = []

    def buffer(self, size: int) -> Buffer:
        buffer = self._buffers.take(size)
        self._taken.append(buffer)
        return buffer

    def mirror(self, size: int, use: Use) -> Mirror:
        """Return a buffer that recordings copy to or from the host. use: Use.UPLOAD or Use.READBACK."""
        buffer = self.buffer(size)
        staging = None if buffer.context.unified else self._staging[use].take(size)
        self._taken.append(staging)
        return Mirror(buffer, use, size, staging)


class WorkingMemory:
    """The memory of programs that run one at a time: the running thread holds the ``lock``."""

    def __init__(self, context: Context) -> None:
        self.lock = threading.RLock()
        # not zeroed: programs find other programs' contents in it anyway
        self._buffers = _Kind(partial(context.buffer, zero=False))
        self._staging = {use: _Kind(partial(context.take, use)) for use in (Use.UPLOAD, Use.READBACK)}
        #: The newest program's memory, kept alive until the next program has taken its share.
        self._newest: WorkingSet | None = None
        context.spare.add(self)

    @contextmanager
    def working_set(self) -> Iterator[WorkingSet]:
        """Lock the memory, and collect one more program's share of it."""
        with self.lock:
            working_set = WorkingSet(self._buffers, self._staging)
            yield working_set
            self._newest = working_set

    def clear(self) -> None:
        """Release memory that no program uses."""
        self._newest = None
