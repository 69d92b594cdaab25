"""Kompute's Python package, with its exceptions as DMLErrors."""

from __future__ import annotations

import contextlib
import importlib
import logging
import platform
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from dml.errors import HRESULT, DMLError
from dml.runtime.advice import no_vulkan
from dml.words import DISTRIBUTION

#: Modules that may hold the patched Kompute: in a wheel that tools/wheel built, or installed in a checkout by
#: tools/setup. The wheel's comes first, so that an unrelated ``kp`` in the environment does no harm.
_PLACES = ("dml._vendor.kp", "kp")

#: A class of Kompute, and the member that the newest patch adds to it.
_NEWEST = "Pipeline", "texels"


@cache
def kompute() -> Any:
    """Import ``kp`` with the patches under tools/kompute.

    Raises DMLError if it is not installed, not patched, or does not load, for example without the Vulkan loader.
    """
    for place in _PLACES:
        try:
            kp = importlib.import_module(place)
        except ModuleNotFoundError:
            continue
        except ImportError as error:
            raise no_vulkan(f"Kompute does not load ({error})") from error
        owner, added = _NEWEST
        if not hasattr(getattr(kp, owner, None), added):
            raise DMLError(
                f"the Kompute in {kp.__file__} lacks the patches that dml needs; {_remedy()}, or, in a checkout, run "
                "tools/setup",
                HRESULT.DXGI_ERROR_UNSUPPORTED,
            )
        logging.getLogger("kp").setLevel(logging.ERROR)
        return kp
    raise DMLError(
        f"dml was installed without Kompute, which it needs to use Vulkan; {_remedy()}", HRESULT.DXGI_ERROR_UNSUPPORTED
    )


def _remedy() -> str:
    """Name the wheel of dml that contains Kompute for this Python and machine."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    wheel = f"{DISTRIBUTION.replace('-', '_')}-*-{python}-{python}-manylinux_*_{platform.machine()}.whl"
    return f"install the wheel that contains it, {wheel} (tools/wheel in dml's sources builds it)"


#: Exceptions that Kompute raises.
THROWN = (RuntimeError, MemoryError, ValueError)


@contextlib.contextmanager
def vulkan_errors(what: str) -> Iterator[None]:
    """Turn Kompute's exceptions into a DMLError that names the operation."""
    try:
        yield
    except DMLError:
        raise
    except THROWN as error:
        raise as_dml_error(what, error) from error


def as_dml_error(what: str, thrown: Exception) -> DMLError:
    """Convert one of THROWN, raised during ``what``, to a DMLError."""
    text = str(thrown)
    if "DeviceLost" in text:
        code = HRESULT.DXGI_ERROR_DEVICE_REMOVED
    elif "OutOf" in text or "TooManyObjects" in text or isinstance(thrown, MemoryError):
        code = HRESULT.E_OUTOFMEMORY
    else:
        code = HRESULT.E_FAIL
    return DMLError(f"{what}: {text}", code)
