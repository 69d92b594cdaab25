"""The last description that the current test ran on a device, for the text of its failure."""

from __future__ import annotations

import dml

_last: list[tuple[dml.Device, dml.OperatorDesc]] = []


def note(device: dml.Device, desc: dml.OperatorDesc) -> None:
    """Record that the test runs this description on the device."""
    _last[:] = [(device, desc)]


def forget() -> None:
    """Forget the previous test's run."""
    _last.clear()


def last() -> tuple[dml.Device, dml.OperatorDesc] | None:
    return _last[-1] if _last else None
