"""Kernel times, labelled with a model's node names, and written as a trace for chrome://tracing and Perfetto."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dml.files import write_text
from dml.runtime.recording import KernelTime

#: A graph's node in a kernel's label; see dml.graph.model.
_GRAPH_NODE = re.compile(r"\bnode (\d+) \(")


def with_node_names(times: Sequence[KernelTime], names: Mapping[int, str]) -> list[KernelTime]:
    """Insert the model's node names, by number in the compiled graph, into labels: conv1 (CONVOLUTION)."""

    def name(found: re.Match[str]) -> str:
        return f"{names[int(found[1])]} (" if int(found[1]) in names else found[0]

    return [time._replace(node=_GRAPH_NODE.sub(name, time.node)) for time in times]


def write_trace(path: Path, profile: Mapping[str, list[KernelTime]], clock: str) -> None:
    """Write Chrome's trace events, for Perfetto and chrome://tracing: a row per run, with its kernels in order.

    clock: name of the clock that measured, for the reader. Raises DMLError if the file cannot be written.
    """
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"dml ({clock})"}}]
    for row, (name, times) in enumerate(profile.items(), 1):
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": row, "args": {"name": name}})
        start = 0
        for index, (node, kernel, nanoseconds) in enumerate(times):
            events.append(
                {
                    "ph": "X",
                    "name": node or kernel,
                    "cat": "kernel",
                    "pid": 1,
                    "tid": row,
                    "ts": start / 1000,
                    "dur": nanoseconds / 1000,
                    "args": {"kernel": kernel, "dispatch": index},
                }
            )
            start += nanoseconds
    write_text(path, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
