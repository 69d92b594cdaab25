"""What ``dml.dispatch`` keeps from one call to the next: operators that it compiled, with the buffers they run on."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from dml.descriptors.base import OperatorDesc
from dml.recent import Recent

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator

#: How many operators are kept of a Device, and how many bytes they may hold on the physical one, kernels included.
MOST_OPERATORS, MOST_BYTES = 256, 128 << 20


class Dispatched:
    """The compiled operators that were dispatched most recently, by description. Safe from any thread."""

    def __init__(self) -> None:
        self._kept: Recent[Hashable, CompiledOperator] = Recent(MOST_OPERATORS, MOST_BYTES)

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, desc: OperatorDesc) -> CompiledOperator | None:
        """The operator that was compiled of an equal description, if it is still there."""
        return self._kept.get(desc.key)

    def keep(self, desc: OperatorDesc, compiled: CompiledOperator) -> None:
        """Keep an operator that was dispatched, and forget those that were not for longest, as far as it takes."""
        program = compiled.program
        size = compiled.memory + program.persistent_size + sum(len(constant.Data) for constant in program.constants)
        self._kept.put(desc.key, compiled, size)

    def clear(self) -> None:
        self._kept.clear()
