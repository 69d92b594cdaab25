"""The innermost loop of a kernel's machine code: how many of its instructions multiply and add."""

from __future__ import annotations

import re
from typing import NamedTuple

_LABEL = re.compile(r"^(BB\d+):")
_BRANCH = re.compile(r"^\s+s_c?branch\w* (BB\d+)\b")
_INSTRUCTION = re.compile(r"^\s+[a-z]\w+")
#: A multiply-add of floats, one half of a pair that is issued together, and how many products it makes for an element.
_PRODUCTS = (
    (re.compile(r"\bv_(?:dual_)?(?:fma|mad|mac)(?:c|ak|mk|ac|_mix(?:lo|hi)?)?_f(?:16|32|64)"), 1),
    (re.compile(r"\bv_pk_(?:fma|fmac)_f16"), 2),
    (re.compile(r"\bv_(?:dual_)?dot2c?(?:acc)?_"), 2),
    (re.compile(r"\bv_dot4c?_"), 4),
    (re.compile(r"\bv_dot8c?_"), 8),
    # Of 16 x 16 x 16 by the 64 invocations of a wave
    (re.compile(r"\bv_wmma_"), 64),
)


class Loop(NamedTuple):
    """Multiply-adds of an invocation in a round, and all instructions there."""

    products: int
    instructions: int

    def __str__(self) -> str:
        return f"{self.products} / {self.instructions}" if self.products else ""


NO_LOOP = Loop(0, 0)


def hottest(assembly: str) -> Loop:
    """Of the loops that hold no other loop, the one with the most multiply-adds; NO_LOOP where none has any.

    assembly: a line for an instruction, "BB3:" before those of a block, as RADV prints it.
    """
    lines = assembly.splitlines()
    labels = {match[1]: at for at, match in enumerate(map(_LABEL.match, lines)) if match}
    branches = [(labels[match[1]], at) for at, match in enumerate(map(_BRANCH.match, lines)) if match]
    # What goes back to one place is one loop
    ends: dict[int, int] = {}
    for start, end in branches:
        if start <= end:
            ends[start] = max(end, ends.get(start, 0))
    loops = [
        _counted(lines[start : end + 1])
        for start, end in ends.items()
        if not any(start < other and last <= end for other, last in ends.items())
    ]
    return max(loops, default=NO_LOOP)


def _counted(lines: list[str]) -> Loop:
    code = [line.partition(";")[0] for line in lines if _INSTRUCTION.match(line)]
    products = sum(each * len(pattern.findall(line)) for line in code for pattern, each in _PRODUCTS)
    return Loop(products, len(code)) if products else NO_LOOP
