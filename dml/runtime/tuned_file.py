"""Tuning results (``compiler.tuned``) on disk: one file per device and driver, in dml's cache folder.

A file that is damaged, of another version or of another kind is ignored with a warning. Processes that tune at the same
time each add their results: a file is replaced in one step, and written again if another process replaced it first.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from pathlib import Path

from dml import cache
from dml.compiler.tuned import NOTHING_TUNED, Tuned, TunedChoice, as_json, from_json
from dml.errors import DMLError
from dml.files import check_writable

#: Any value but 0 ignores all tuning results.
DISABLE_VARIABLE = "DML_DISABLE_TUNING"

#: Attempts to write a file before giving up against other processes.
_TRIES = 8

_lock = threading.RLock()
_told: set[Path] = set()


def is_disabled() -> bool:
    """Whether DML_DISABLE_TUNING is set."""
    return os.environ.get(DISABLE_VARIABLE, "") not in ("", "0")


def path(device: str) -> Path:
    """Return the path of a device's file; ``device`` is ``VulkanDevice.file_name``."""
    return cache.folder("tuned") / f"{device}.json"


def used(device: str) -> Tuned:
    """Return the device's table; empty if DML_DISABLE_TUNING is set."""
    return NOTHING_TUNED if is_disabled() else load(device)


def load(device: str) -> Tuned:
    """Read the table from disk; empty if there is no usable one."""
    file = path(device)
    if not file.exists():
        return NOTHING_TUNED
    data = cache.read(file)
    try:
        if data is None:
            raise DMLError("it is damaged")
        return from_json(data, device)
    except DMLError as error:
        with _lock:
            if file not in _told:
                _told.add(file)
                reason = f"{error.message}; `dml tune` measures again"
                warnings.warn(f"{file} is not used, {reason}", stacklevel=2)
        return NOTHING_TUNED


def keep(device: str, *choices: TunedChoice) -> None:
    """Add choices to the table on disk; does nothing if it cannot be written."""
    with _lock:
        for _ in range(_TRIES):
            table = load(device).with_choices(*choices)
            cache.write(path(device), as_json(table, device))
            if set(choices) <= set(load(device).choices):
                return


def check(device: str) -> None:
    """Raise DMLError if the table cannot be written."""
    check_writable(path(device))


def forget(device: str) -> bool:
    """Delete the device's table; return whether there was one."""
    with contextlib.suppress(OSError):
        path(device).unlink()
        return True
    return False
