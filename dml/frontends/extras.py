"""Packages that one front end alone needs are extras of this one: without them, that front end alone is missing."""

from __future__ import annotations

from dml.errors import HRESULT, DMLError
from dml.words import to_install


def missing(what: str, extra: str, error: ImportError) -> DMLError:
    """The error where ``what`` ("ONNX models need") cannot import a module, which the extra installs."""
    found = f"{what} {error.name or error}, which is not installed: {to_install(extra)}"
    return DMLError(found, HRESULT.DXGI_ERROR_UNSUPPORTED)
