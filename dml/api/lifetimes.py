"""Tracks, in execution order, which persistent resources hold an operator's initialization.

A persistent resource belongs to one operator at one place: DirectML's page calls it opaque and forbids copying or
moving it, so bytes that a program writes there itself do not count. Repeated initialization is allowed; initializing
another operator over the same bytes invalidates the first. Other writes are not tracked. Reference:
idmlbindingtable-bindpersistentresource.
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
    """An operator's persistent resource, initialized or read by a dispatch."""

    compiled: CompiledOperator
    bound: BoundRange
    initializes: bool


#: The persistent resources in a buffer: first byte -> end, and the operator initialized there.
_Resources = dict[int, tuple[int, "weakref.ref[CompiledOperator]"]]

_initialized: weakref.WeakKeyDictionary[Buffer, _Resources] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def follow(uses: Sequence[PersistentUse], where: str) -> None:
    """Record initializations and reads that are about to execute, in this order.

    Raises DMLError, starting with ``where``, and records nothing if a dispatch would read an uninitialized resource.
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
                    f"{where}: {use.compiled.label} reads its {use.bound} before an initializer of the operator "
                    "wrote it: execute an operator initializer with this binding first"
                )
        _initialized.update(after)
