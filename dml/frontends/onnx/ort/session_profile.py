"""A session's profile: the time of each dispatch of each run, as a file for Perfetto and chrome://tracing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dml.frontends.kernel_times import write_trace
from dml.runtime.recording import KernelTime

from ..run.backend import PreparedModel
from ..run.command import times_by_part, walk


class SessionProfile:
    """Rows of times, collected until ``end``. Each run is measured by running it once more, dispatch by dispatch."""

    def __init__(self, prefix: str) -> None:
        self.started = time.monotonic_ns()
        self._path = Path(f"{prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}.json")
        self._rows: dict[str, list[KernelTime]] = {}
        self._runs = 0
        self._clock = "host clock"

    def add(self, model: PreparedModel, feeds: Mapping[str, Any]) -> None:
        self._runs += 1
        self._clock = "device clock" if model.device.has_timestamps else "host clock"
        self._rows.update(times_by_part(walk(model, feeds, profile=True).parts, f"run {self._runs}"))

    def end(self) -> str:
        """Write the trace and return its path. Raises DMLError if it cannot be written."""
        write_trace(self._path, self._rows, self._clock)
        return str(self._path)
