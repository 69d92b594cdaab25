"""What GLSL has no word for, written into SPIR-V."""

from __future__ import annotations

import numpy as np

_HEADER_WORDS = 5
_OP_DECORATE, _OP_VARIABLE = 71, 59
_ALIASED = 20
_STORAGE_BUFFER = 12


def aliased(spirv: bytes) -> bytes:
    """The module with every storage buffer decorated Aliased.

    Buffers without it never show the same memory, or so a driver may take it (SPIR-V, "Aliasing"): NVIDIA's then moves
    what is read from one behind what is written to another, as where an operator works in place.
    """
    words = np.frombuffer(spirv, np.uint32)
    found: list[int] = []
    first: int | None = None
    at = _HEADER_WORDS
    while at < len(words):
        length, operation = int(words[at]) >> 16, int(words[at]) & 0xFFFF
        if operation == _OP_DECORATE and first is None:
            first = at
        elif operation == _OP_VARIABLE and words[at + 3] == _STORAGE_BUFFER:
            found.append(int(words[at + 2]))
        at += length
    assert first is not None, "every buffer has decorations: its set and binding"
    added = [[3 << 16 | _OP_DECORATE, variable, _ALIASED] for variable in found]
    return np.insert(words, first, np.ravel(added)).astype(np.uint32).tobytes()
