"""Optional packages: without a front end's extra, only that front end is missing."""

from __future__ import annotations

from importlib.util import find_spec

from dml.errors import HRESULT, DMLError
from dml.words import to_install


def is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ValueError:  # another module hides the real one
        return False


def missing(what: str, extra: str, error: ImportError) -> DMLError:
    """Return the error for a module that cannot be imported. what: "ONNX models need". extra: installs the module."""
    found = f"{what} {error.name or error}, which is not installed: {to_install(extra)}"
    return DMLError(found, HRESULT.DXGI_ERROR_UNSUPPORTED)
