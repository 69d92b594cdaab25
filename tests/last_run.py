"""What the running test last ran on a device, for the text of its failure."""

from __future__ import annotations

import dml

_last: list[tuple[dml.Device, dml.OperatorDesc]] = []


def note(device: dml.Device, desc: dml.OperatorDesc) -> None:
    """The test runs this description there."""
    _last[:] = [(device, desc)]


def forget() -> None:
    """Another test begins."""
    _last.clear()


def last() -> tuple[dml.Device, dml.OperatorDesc] | None:
    return _last[-1] if _last else None
