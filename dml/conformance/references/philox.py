"""Philox 4x32-10 with Python integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MASK = 0xFFFFFFFF


def words(counter: int, key: tuple[int, int]) -> list[int]:
    """Return the four words of one 128-bit counter."""
    c0, c1, c2, c3 = ((counter >> 32 * i) & MASK for i in range(4))
    k0, k1 = key
    for _ in range(10):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & MASK, (first >> 32) ^ c3 ^ k1, first & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


def stream(state: Sequence[int], count: int) -> npt.NDArray[Any]:
    """Return ``count`` words from a state of six: the counter, lowest word first, and the key."""
    counter = counter_of(state)
    found: list[int] = []
    for block in range(-(-count // 4)):
        found += words((counter + block) % (1 << 128), (int(state[4]), int(state[5])))
    return np.array(found[:count], np.uint32)


def after(state: Sequence[int], count: int) -> npt.NDArray[Any]:
    """Return the state that continues the sequence: the counter advances once per four words."""
    counter = counter_of(state) + -(-count // 4)
    return np.array([*((counter >> 32 * i) & MASK for i in range(4)), state[4], state[5]], np.uint32)


def counter_of(state: Sequence[int]) -> int:
    """Return the counter as one number."""
    return sum(int(word) << 32 * i for i, word in enumerate(state[:4]))
