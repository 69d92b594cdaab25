"""Memory that several programs work in by turns: the plans of one model, for one length after another.

Each takes its inputs, outputs and temporaries from what the others have, where that is large enough and not much too
large. Where something a little smaller is there, sizes are growing, and what is made is twice as large as that: a past
that grows by a token at a time allocates so often as it doubles.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

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


def fitting(things: list[_Thing], size: int) -> _Thing | None:
    """The smallest that has ``size`` bytes, and not many more."""
    fit = [one for one in things if size <= one.size <= max(MOST_TIMES * size, SMALL)]
    return min(fit, key=lambda one: one.size, default=None)


def grown(things: list[_Thing], size: int, make: Callable[[int], _Thing]) -> _Thing:
    """A new one: of ``size`` bytes, or of twice as many as the largest that is a little smaller has.

    Raises what ``make`` does, DMLError (E_OUTOFMEMORY) where there is no room.
    """
    less = max((one.size for one in things if one.size < size <= 2 * one.size), default=0)
    things.clear()  # (what nobody else has may go now)
    if less:
        try:
            return make(2 * less)
        except DMLError as error:
            if error.hresult != HRESULT.E_OUTOFMEMORY:
                raise
    return make(size)


class _Kind(Generic[_Thing]):
    """Things of one kind, which live as long as a program has them."""

    def __init__(self, make: Callable[[int], _Thing]) -> None:
        self._make = make
        self._known: list[weakref.ref[_Thing]] = []

    def take(self, size: int, beside: list[Any]) -> _Thing:
        """One of ``size`` bytes at least that is not among ``beside``, to which it is added."""
        known = [one for ref in self._known if (one := ref()) is not None]
        self._known = [weakref.ref(one) for one in known]
        taken = set(map(id, beside))
        free = [one for one in known if id(one) not in taken]
        found = fitting(free, size)
        if found is None:
            known.clear()
            found = grown(free, size, self._make)
            self._known.append(weakref.ref(found))
        beside.append(found)
        return found


class Workplace:
    """What one program takes; other programs may have the same."""

    def __init__(self, buffers: _Kind[Buffer], staging: Mapping[Use, _Kind[Piece]]) -> None:
        self._buffers = buffers
        self._staging = staging
        self._taken: list[Any] = []

    def buffer(self, size: int) -> Buffer:
        return self._buffers.take(size, self._taken)

    def mirror(self, size: int, use: Use) -> Mirror:
        """A buffer that recordings copy to or from the host. use: Use.UPLOAD or Use.READBACK."""
        buffer = self.buffer(size)
        staging = None if buffer.context.unified else self._staging[use].take(size, self._taken)
        return Mirror(buffer, use, size, staging)


class WorkingMemory:
    """The memory of programs of which one runs at a time: whoever runs one has the ``lock``."""

    def __init__(self, context: Context) -> None:
        self.lock = threading.RLock()
        self._buffers = _Kind(context.buffer)
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
