"""Memory that several programs work in by turns: the plans of one model, for one length after another.

Each takes its inputs, outputs and temporaries from what the others have, where that is large enough and not much too
large. Where something a little smaller is there, sizes are growing, and what is made is twice as large as that: a past
that grows by a token at a time allocates so often as it doubles.
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

#: What is at most so many times as large as needed does, and so does whatever has at most so many bytes.
MOST_TIMES, SMALL = 4, 4096


class Sized(Protocol):
    @property
    def size(self) -> int: ...


_Thing = TypeVar("_Thing", bound=Sized)


def fits(size: int, within: int) -> bool:
    """Whether ``within`` bytes do for ``size``, and are not many more."""
    return size <= within <= max(MOST_TIMES * size, SMALL)


def grown(size: int, others: Iterable[int], make: Callable[[int], _Thing]) -> _Thing:
    """A new one: of ``size`` bytes, or of twice as many as the largest of the others that is a little smaller.

    Raises what ``make`` does, DMLError (E_OUTOFMEMORY) where there is no room.
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
    """Things of one kind, smallest first, which live as long as a program has them: bytes, a number and the thing."""

    def __init__(self, make: Callable[[int], _Thing]) -> None:
        self._make = make
        self._numbers = count()
        self._known: list[tuple[int, int, weakref.ref[_Thing]]] = []

    def living(self) -> list[tuple[int, int, weakref.ref[_Thing]]]:
        self._known = [known for known in self._known if known[2]() is not None]
        return self._known.copy()

    def make(self, size: int, others: Iterable[int]) -> _Thing:
        made = grown(size, others, self._make)
        insort(self._known, (made.size, next(self._numbers), weakref.ref(made)))
        return made


class _Free(Generic[_Thing]):
    """The things of one kind that a program has not taken yet."""

    def __init__(self, kind: _Kind[_Thing]) -> None:
        self._kind = kind
        self._left = kind.living()

    def take(self, size: int) -> _Thing:
        """The smallest of ``size`` bytes at least, a new one where none fits."""
        left = self._left
        at = bisect_left(left, (size,))
        while at < len(left) and fits(size, left[at][0]):
            found = left.pop(at)[2]()
            if found is not None:
                return found
        return self._kind.make(size, [other for other, _, thing in left if thing() is not None])


class Workplace:
    """What one program takes; other programs may have the same."""

    def __init__(self, buffers: _Kind[Buffer], staging: Mapping[Use, _Kind[Piece]]) -> None:
        self._buffers = _Free(buffers)
        self._staging = {use: _Free(kind) for use, kind in staging.items()}
        self._taken: list[object] = []

    def buffer(self, size: int) -> Buffer:
        buffer = self._buffers.take(size)
        self._taken.append(buffer)
        return buffer

    def mirror(self, size: int, use: Use) -> Mirror:
        """A buffer that recordings copy to or from the host. use: Use.UPLOAD or Use.READBACK."""
        buffer = self.buffer(size)
        staging = None if buffer.context.unified else self._staging[use].take(size)
        self._taken.append(staging)
        return Mirror(buffer, use, size, staging)


class WorkingMemory:
    """The memory of programs of which one runs at a time: whoever runs one has the ``lock``."""

    def __init__(self, context: Context) -> None:
        self.lock = threading.RLock()
        # (programs find in it what others left, so that zeros would do for nobody)
        self._buffers = _Kind(partial(context.buffer, zero=False))
        self._staging = {use: _Kind(partial(context.take, use)) for use in (Use.UPLOAD, Use.READBACK)}
        #: What the newest program has, which goes with it only when another has taken of it what it needs.
        self._newest: Workplace | None = None
        context.spare.add(self)

    @contextmanager
    def workplace(self) -> Iterator[Workplace]:
        """For one more program."""
        with self.lock:
            made = Workplace(self._buffers, self._staging)
            yield made
            self._newest = made

    def clear(self) -> None:
        """Let go of what no program has any more."""
        self._newest = None
