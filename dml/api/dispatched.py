"""The operators that ``dml.dispatch`` keeps between calls, with their buffers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from dml.descriptors.base import OperatorDesc
from dml.recent import Recent

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator

#: Maximum operators kept per Device, and their bytes on the physical device, kernels included.
MOST_OPERATORS, MOST_BYTES = 256, 128 << 20


class Dispatched:
    """The most recently dispatched operators, by description. Thread-safe."""

    def __init__(self) -> None:
        self._kept: Recent[Hashable, CompiledOperator] = Recent(MOST_OPERATORS, MOST_BYTES)

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, desc: OperatorDesc) -> CompiledOperator | None:
        """Return the operator compiled from an equal description; None if it was dropped or never compiled."""
        return self._kept.get(desc.key)

    def keep(self, desc: OperatorDesc, compiled: CompiledOperator) -> None:
        """Keep a dispatched operator; drop the least recent ones as needed."""
        program = compiled.program
        size = compiled.memory + program.persistent_size + sum(len(constant.Data) for constant in program.constants)
        self._kept.put(desc.key, compiled, size)

    def clear(self) -> None:
        self._kept.clear()
