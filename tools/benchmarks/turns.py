"""Peers in separate processes that take turns: while one runs, the others are stopped with all their threads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

WORKER = Path(__file__).with_name("worker.py")


class PeerError(Exception):
    """A peer failed; the message is its error."""


class Peer:
    """A worker process with one case. case: its title. flops: its operations. results: the peer's output arrays."""

    def __init__(self, name: str, case: str, folder: Path, device: str | None) -> None:
        results = folder / f"{name}.npz".replace(" ", "_")
        command = [sys.executable, str(WORKER), name, case, str(results), *([device] if device else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        found = self._answer()
        #: Whether the peer supports the case.
        self.is_there = bool(found)
        if self.is_there:
            self.case, self.flops = str(found["case"]), float(found["flops"])
            with np.load(results) as arrays:
                self.results = dict(arrays)
            self._process.send_signal(signal.SIGSTOP)

    def turn(self) -> float:
        """Run one evaluation and return its seconds. Raises PeerError."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        self._process.stdin.write("turn\n")
        self._process.stdin.flush()
        found = self._answer()
        self._process.send_signal(signal.SIGSTOP)
        if "error" in found:
            raise PeerError(found["error"])
        return float(found["seconds"])

    def close(self) -> None:
        self._process.kill()  # SIGKILL ends stopped processes, too
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(f"it ended with status {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def peers(names: list[str], case: str, folder: Path, device: str | None) -> Iterator[dict[str, Peer]]:
    """Start the peers that support the case; yield them, stopped, by name."""
    started: dict[str, Peer] = {}
    try:
        for name in names:
            try:
                started[name] = Peer(name, case, folder, device)
            except PeerError as error:
                if name == "dml":
                    raise
                print(f"{name} fails on {case}: {error}", file=sys.stderr)
        yield {name: peer for name, peer in started.items() if peer.is_there}
    finally:
        for peer in started.values():
            peer.close()
