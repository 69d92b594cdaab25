"""DML_MEMORY_LIMIT: the maximum device memory that the library may allocate."""

import os

from dml.errors import DMLError

VARIABLE = "DML_MEMORY_LIMIT"


def memory_limit() -> int | None:
    """Return DML_MEMORY_LIMIT, which is in MiB, as bytes; None if unset. Raises DMLError if it is not such a number."""
    return mebibytes(VARIABLE)


def mebibytes(variable: str) -> int | None:
    """Return an environment variable in MiB as bytes; None if unset. Raises DMLError if it is not a positive number."""
    text = os.environ.get(variable, "")
    if not text:
        return None
    try:
        size = int(float(text) * (1 << 20))
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise DMLError(f"{variable} must be a positive number of MiB, found {text!r}")
    return size
