"""What was measured on each device and driver (``compiler.tuned``), on disk: a file for each, among what dml caches.

A file that is damaged, of another version or not of this kind counts for nothing, and is told of once. Processes that
tune at once each add what they measured: a file is written in one step, and again where another's took its place.
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

#: Set to anything but 0, devices do as if nothing had been measured.
DISABLE_VARIABLE = "DML_DISABLE_TUNING"

#: How often a file is written until nobody else's takes its place meanwhile.
_TRIES = 8

_lock = threading.RLock()
_told: set[Path] = set()


def is_disabled() -> bool:
    """Whether DML_DISABLE_TUNING turns tables off."""
    return os.environ.get(DISABLE_VARIABLE, "") not in ("", "0")


def path(device: str) -> Path:
    """The file of a device, by ``VulkanDevice.file_name``."""
    return cache.folder("tuned") / f"{device}.json"


def used(device: str) -> Tuned:
    """The table that the device has: none where DML_DISABLE_TUNING says so."""
    return NOTHING_TUNED if is_disabled() else load(device)


def load(device: str) -> Tuned:
    """The table on disk; an empty one where there is none, or none that can be used."""
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
                reason = f"{error.message}; `dml tune` measures anew"
                warnings.warn(f"{file} is not used, {reason}", stacklevel=2)
        return NOTHING_TUNED


def keep(device: str, *choices: TunedChoice) -> None:
    """Add these to the table on disk. Where nothing can be written, nothing is kept."""
    with _lock:
        for _ in range(_TRIES):
            table = load(device).having(*choices)
            cache.write(path(device), as_json(table, device))
            if set(choices) <= set(load(device).choices):
                return


def check(device: str) -> None:
    """Raise DMLError where nothing can be kept."""
    check_writable(path(device))


def forget(device: str) -> bool:
    """Remove the device's table. Says whether there was one."""
    with contextlib.suppress(OSError):
        path(device).unlink()
        return True
    return False
