"""Whether a persistent resource holds what an operator's initialization wrote, followed in the order of execution.

It belongs to one operator at one place: DirectML's page says that once initialized it is opaque and cannot be copied or
moved, so bytes that a program wrote there itself, whatever they are, do not count. Initializing again is allowed, and
another operator initialized over the same bytes ends what was there. What else a program writes over it is its own
concern. Reference: idmlbindingtable-bindpersistentresource.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dml.api.hazards import BoundRange
from dml.errors import DMLError
from dml.runtime.buffer import Buffer

if TYPE_CHECKING:
    from dml.api.operator import CompiledOperator


@dataclass(frozen=True)
class PersistentUse:
    """An operator's persistent resource, as it is initialized or else read by a dispatch."""

    compiled: CompiledOperator
    bound: BoundRange
    initializes: bool


#: The persistent resources in a buffer: first byte -> end, and the operator that was initialized there.
_Resources = dict[int, tuple[int, "weakref.ref[CompiledOperator]"]]

_initialized: weakref.WeakKeyDictionary[Buffer, _Resources] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def follow(uses: Sequence[PersistentUse], where: str) -> None:
    """Note what is about to be initialized and read, in this order.

    Raises DMLError, starting with ``where``, and notes nothing, where a dispatch would read what was not initialized.
    """
    with _lock:
        after: dict[Buffer, _Resources] = {}
        for use in uses:
            buffer, start = use.bound.place.buffer, use.bound.place.offset
            end = start + use.bound.size
            resources = after.setdefault(buffer, dict(_initialized.get(buffer, {})))
            if use.initializes:
                for other, (others_end, _) in list(resources.items()):
                    if other < end and start < others_end:
                        del resources[other]
                resources[start] = end, weakref.ref(use.compiled)
            elif start not in resources or resources[start][1]() is not use.compiled:
                raise DMLError(
                    f"{where}: {use.compiled.label} reads its {use.bound}, which it was not initialized in: "
                    "execute an operator initializer with this binding first"
                )
        _initialized.update(after)
