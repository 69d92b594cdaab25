"""DML_MEMORY_LIMIT: how much device memory the library may allocate."""

from __future__ import annotations

import os

from dml.errors import DMLError

VARIABLE = "DML_MEMORY_LIMIT"


def memory_limit() -> int | None:
    """The bytes of DML_MEMORY_LIMIT, which counts MiB; None where it is not set.

    Raises DMLError where it is no positive number.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return None
    try:
        limit = int(float(text) * (1 << 20))
    except (ValueError, OverflowError):
        limit = 0
    if limit <= 0:
        raise DMLError(f"{VARIABLE} must be a positive number of MiB, found {text!r}")
    return limit
