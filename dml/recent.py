"""A map that keeps its most recently used entries, within limits. Every cache in memory of this package is one."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class Recent(Generic[_Key, _Value]):
    """Map the most recently used keys to values. Safe from any thread.

    entries: largest number of entries. size: largest sum of the sizes given to ``put``. None: no limit. always: how
    many of the most recent entries stay regardless of their size.
    """

    def __init__(self, entries: int | None, size: int | None = None, *, always: int = 0) -> None:
        self.most_entries = entries
        self.most_size = size
        self._always = always
        #: Sum of the sizes of the entries.
        self.size = 0
        #: Value and size by key, least recently used first.
        self._entries: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: _Key) -> _Value | None:
        """Return the value of a key, which is now the most recently used one, or None."""
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            self._entries.move_to_end(key)
            return found[0]

    def put(self, key: _Key, value: _Value, size: int = 0) -> None:
        """Add or replace an entry, and forget the least recently used ones beyond the limits."""
        # Values are released outside of the lock: their finalizers may use this map
        forgotten = []
        with self._lock:
            if key in self._entries:
                forgotten.append(self._pop(key))
            self._entries[key] = value, size
            self.size += size
            while (self.most_entries is not None and len(self._entries) > self.most_entries) or (
                self.most_size is not None and self.size > self.most_size and len(self._entries) > self._always
            ):
                forgotten.append(self._pop(next(iter(self._entries))))

    def shrink(self, entries: int) -> None:
        """Forget the least recently used entries until at most ``entries`` remain."""
        forgotten = []
        with self._lock:
            while len(self._entries) > entries:
                forgotten.append(self._pop(next(iter(self._entries))))

    def discard(self, key: _Key) -> None:
        """Forget a key if it is there."""
        forgotten = []
        with self._lock:
            if key in self._entries:
                forgotten.append(self._pop(key))

    def clear(self) -> None:
        """Forget all entries."""
        self.shrink(0)

    def items(self) -> list[tuple[_Key, _Value]]:
        """Return keys and values, most recently used first. Does not count as a use."""
        with self._lock:
            return [(key, value) for key, (value, _) in reversed(self._entries.items())]

    def _pop(self, key: _Key) -> _Value:
        value, size = self._entries.pop(key)
        self.size -= size
        return value
