"""Mutants: copies of a shader with one line broken as a programmer might break it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """A mutated line. file: under shaders/. line: from 1. kind: a key of the rules below."""

    file: str
    line: int
    kind: str
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line} {self.kind}"


_Change = Callable[[re.Match[str]], str]
_BOUNDS = {"<=": "<", ">=": ">", "<": "<=", ">": ">=", "==": "!=", "!=": "=="}
_OTHERS = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/"}


def _next_number(match: re.Match[str]) -> str:
    return f"{int(match[1]) + 1}{match[2]}"


#: Kind -> the pattern to change in a line, and the replacement.
_RULES: dict[str, tuple[re.Pattern[str], _Change]] = {
    "index": (re.compile(r" ([-+*/%]) "), lambda match: f" {_OTHERS[match[1]]} "),
    "bound": (re.compile(r" (<=|>=|<|>|==|!=) "), lambda match: f" {_BOUNDS[match[1]]} "),
    "constant": (re.compile(r"(?<![\w.])(\d+)(u?)(?![\w.])"), _next_number),
    "float": (re.compile(r"(?<![\w.])(\d+\.\d+)(?![\w.])"), lambda match: f"({match[1]} + 0.5)"),
    "barrier": (re.compile(r"(?:memoryBarrierShared\(\);\s*)?\bbarrier\(\);"), lambda match: ""),
}
#: Lines without mutants: declarations, macros that select a variant, and comments.
_LEFT_OUT = re.compile(r"^\s*(//|#(?!define \w+\()|layout|\*|/\*|precision|shared )|^\s*const uint (WORKGROUP|RANK)\b")


def mutants(root: Path, file: str) -> Iterator[Mutant]:
    """Yield every mutant of a file: for each line, one of each kind that matches."""
    for number, line in enumerate((root / file).read_text(encoding="utf-8").splitlines(), 1):
        code, slashes, comment = line.partition("//")
        is_unrolled = "[[unroll]]" in code
        if _LEFT_OUT.search(line):
            continue
        for kind, (pattern, change) in _RULES.items():
            changed = pattern.sub(change, code, count=1)
            if kind == "bound" and is_unrolled:  # one more iteration would only index local arrays out of bounds
                changed = code.replace(" < ", " + 1u < ", 1)
            if changed != code:
                yield Mutant(file, number, kind, line, changed + slashes + comment)


def sampled(found: list[Mutant], most: int, seed: int = 0) -> list[Mutant]:
    """Return a reproducible sample of at most ``most`` mutants of each kind."""
    chosen: list[Mutant] = []
    for kind in _RULES:
        own = [mutant for mutant in found if mutant.kind == kind]
        random.Random(f"{seed} {kind} {own[0].file if own else ''}").shuffle(own)
        chosen += own[:most]
    return sorted(chosen, key=lambda mutant: (mutant.file, mutant.line, mutant.kind))


def files(root: Path) -> list[str]:
    """Return the paths of all shaders and included files, relative to shaders/."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.suffix in (".comp", ".glsl"))


def write(root: Path, mutant: Mutant) -> None:
    """Write a mutant over its file in a copy of the shaders."""
    lines = (root / mutant.file).read_text(encoding="utf-8").splitlines(keepends=True)
    assert lines[mutant.line - 1].rstrip("\n") == mutant.before
    lines[mutant.line - 1] = mutant.after + "\n"
    (root / mutant.file).write_text("".join(lines), encoding="utf-8")
