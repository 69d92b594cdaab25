"""Kompute's Python package, and what it throws as DMLErrors."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from functools import cache
from typing import Any

from dml.errors import HRESULT, DMLError


@cache
def kompute() -> Any:
    """The ``kp`` module with the patches under tools/kompute.

    Raises DMLError where it is not installed, or is not the patched one.
    """
    try:
        import kp
    except ImportError as error:
        raise DMLError(
            f"Kompute's Python package kp does not load ({error}); tools/setup builds it",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        ) from error
    if not hasattr(kp, "Submission"):
        raise DMLError(
            "Kompute's Python package kp is there without the patches that this project needs; tools/setup builds it",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    logging.getLogger("kp").setLevel(logging.ERROR)
    return kp


@contextlib.contextmanager
def vulkan_errors(what: str) -> Iterator[None]:
    """Turn what Kompute throws into a DMLError that says what was being done."""
    try:
        yield
    except DMLError:
        raise
    except (RuntimeError, MemoryError, ValueError) as error:
        text = str(error)
        if "DeviceLost" in text:
            code = HRESULT.DXGI_ERROR_DEVICE_REMOVED
        elif "OutOf" in text or "TooManyObjects" in text or isinstance(error, MemoryError):
            code = HRESULT.E_OUTOFMEMORY
        else:
            code = HRESULT.E_FAIL
        raise DMLError(f"{what}: {text}", code) from error
