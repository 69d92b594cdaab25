"""The choice of further cases for the kernels of a device on an axis, made by another process while the suite's own
cases run."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
from types import TracebackType

from dml.compiler.target import Target
from dml.conformance.coverage import Coverage
from dml.conformance.suite import Suite


class Choosing:
    """The computation of ``suite.coverage(target)``; a process does it, unless the result is cached or None.

    Leaving the context ends the process.
    """

    def __init__(self, suite: Suite, target: Target) -> None:
        self._suite, self._target = suite, target
        self._process: subprocess.Popen[bytes] | None = None
        if suite.is_coverage_missing(target):
            self._process = subprocess.Popen(
                (sys.executable, "-m", "dml.conformance.choosing"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
            assert self._process.stdin is not None
            # ``result`` notices that the process has ended
            with contextlib.suppress(OSError), self._process.stdin as requests:
                pickle.dump((suite, target), requests)

    @property
    def takes_time(self) -> bool:
        """Whether a process has to compute the result."""
        return self._process is not None

    def result(self) -> Coverage | None:
        """Wait for the coverage; compute it here if the process fails."""
        if self._process is not None:
            assert self._process.stdout is not None
            answer = self._process.stdout.read()
            if self._process.wait() == 0:
                found: Coverage = pickle.loads(answer)
                return found
        return self._suite.coverage(self._target)

    def __enter__(self) -> Choosing:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            assert self._process.stdout is not None
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()


def main() -> None:
    """Answer one request, (suite, target), with the coverage; both are pickles."""
    suite, target = pickle.load(sys.stdin.buffer)
    pickle.dump(suite.coverage(target), sys.stdout.buffer)


if __name__ == "__main__":
    main()
