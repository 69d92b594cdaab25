"""Cases of the suite as of March 2025 that cannot pass, each with the reason: what they ask for is not in the
specification any more, or the file itself is wrong.

A case counts as such where its file, its name and what went wrong are all as said here, so that no other failure hides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tools.webnn_suite.runner import CaseResult


@dataclass(frozen=True)
class LeftOut:
    """Regular expressions: of the file, of a part of the case's name and of a part of its message."""

    file: str
    name: str
    message: str
    why: str


LEFT = (
    LeftOut("conformance_tests/pad", "symmetric", "mode must be one of", "a draft: the mode is not there any more"),
    LeftOut(
        "validation_tests/pad",
        "pad for scalar input",
        'expected "TypeError" but got',
        "a draft: now a scalar can be padded, by nothing",
    ),
    LeftOut(
        "validation_tests/softmax",
        "dimensions is not 2",
        "axis takes int|disallowed value null",
        "a draft: now softmax needs an axis",
    ),
    LeftOut(
        "validation_tests/clamp",
        "minValue is -Infinity",
        "did not throw",
        "a draft: now the numbers may be infinite",
    ),
    LeftOut(
        "validation_tests/createContext",
        "deviceType is not a valid",
        "Should have rejected",
        "a draft: there is no deviceType any more, and WebIDL ignores members that a dictionary lacks",
    ),
    LeftOut(
        "conformance_tests/clamp",
        "uint64",
        "to a BigInt",
        "the file's error: it makes a BigUint64Array of numbers, which JavaScript refuses",
    ),
    LeftOut(
        "conformance_tests/pooling",
        "l2Pool2d.*(roundingType=ceil|outputSizes ignores)",
        "actual 90.67685.* expected 8222.2929",
        "the file's error: it expects a sum of squares without its square root",
    ),
    LeftOut(
        "conformance_tests/subgraph",
        r"axis=0 \+ gelu",
        "actual -0.035951305.* expected -0.035951178.* 34 ULP",
        "the file's error: it expects a value 34 ulp from the exact one, -0.0359513043, and allows 24",
    ),
)


def why_left(case: CaseResult) -> str | None:
    """Why a case that fails is none of the specification's; None for others."""
    if case.passed:
        return None
    for one in LEFT:
        if (
            re.fullmatch(one.file, case.file)
            and re.search(one.name, case.name)
            and re.search(one.message, case.message)
        ):
            return one.why
    return None
