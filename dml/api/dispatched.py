"""The operators that ``dml.dispatch`` keeps between calls, with their buffers."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING

from dml.descriptors.base import OperatorDesc

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator

#: Maximum operators kept per Device, and their bytes on the physical device, kernels included.
MOST_OPERATORS, MOST_BYTES = 256, 128 << 20


class Dispatched:
    """The most recently dispatched operators, by description. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: With the bytes that each holds.
        self._kept: OrderedDict[Hashable, tuple[CompiledOperator, int]] = OrderedDict()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, desc: OperatorDesc) -> CompiledOperator | None:
        """Return the operator compiled from an equal description; None if it is gone."""
        key = desc.key
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def keep(self, desc: OperatorDesc, compiled: CompiledOperator) -> None:
        """Keep a dispatched operator; drop the least recent ones as needed."""
        program = compiled.program
        size = compiled.memory + program.persistent_size + sum(len(constant.Data) for constant in program.constants)
        with self._lock:
            _, replaced = self._kept.pop(key := desc.key, (None, 0))
            self._kept[key] = compiled, size
            self._bytes += size - replaced
            while len(self._kept) > MOST_OPERATORS or self._bytes > MOST_BYTES:
                _, (_, size) = self._kept.popitem(last=False)
                self._bytes -= size

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._bytes = 0
