"""DML_MEMORY_LIMIT: the most device memory that the library may allocate."""

from __future__ import annotations

import os

from dml.errors import DMLError

VARIABLE = "DML_MEMORY_LIMIT"


def memory_limit() -> int | None:
    """Return DML_MEMORY_LIMIT, which is in MiB, as bytes; None if unset.

    Raises DMLError if it is not a positive number.
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
