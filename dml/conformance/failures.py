"""Kinds of failures: for a driver's engineer, a kernel that does not compile differs from a wrong value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Kind -> its description.
KINDS = {
    "compilation": "does not compile",
    "ended": "ended its process",
    "refused": "refused to run",
    "outside": "writes outside its elements",
    "values": "wrong values",
    "repetition": "runs differ",
    "suite": "the suite's own fault",
}


def kind_of(outcome: Mapping[str, Any]) -> str:
    """Return the kind of a failed outcome. Older reports lack it; it is derived from their contents."""
    failure = outcome["failure"]
    return str(failure.get("kind") or ("values" if failure.get("index") else "ended"))
