"""The short run of the suite, which takes a few minutes and covers every area. It is the default; with ``--short``, it
applies to the chosen tests.

Tests marked slow are left out. A device test runs with only one of its sets of parameters, the one whose name has the
smallest hash, so every machine runs the same one. (On a machine without cached kernels, compiling them takes most of
the time.) Tests without a device run completely, and so do tests marked ``every_parameter``: each operator's sample,
and each function of shaders/lib. Tests chosen by paths, ``-k``, ``-m`` or ``--all`` run completely, too.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest


def register(config: pytest.Config) -> None:
    """Register the plugin; called when the suite is configured, in each of its processes."""
    if hasattr(config, "workerinput"):  # in a worker of pytest-xdist, the first process does this
        short = "short_run" in config.workerinput
    else:
        chosen = config.option.all or config.option.keyword or config.option.markexpr
        chosen = chosen or config.args_source is pytest.Config.ArgsSource.ARGS
        short = config.option.short or not chosen
    if short:
        config.pluginmanager.register(ShortRun(config), "dml-short-run")


def chosen(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """Return the tests of a short run."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("slow") is None:
            tests[item.nodeid.partition("[")[0]].append(item)
    kept: set[pytest.Item] = set()
    for cases in tests.values():
        marks = {mark.name for mark in cases[0].iter_markers()}
        kept.update(cases if "every_parameter" in marks or "device" not in marks else [min(cases, key=_hash)])
    return kept


def _hash(item: pytest.Item) -> bytes:
    return hashlib.sha256(item.nodeid.encode()).digest()


class ShortRun:
    """Deselects tests and reports their number in the last line."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.left_out = self.total = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker that is about to start."""
        node.workerinput["short_run"] = True

    @pytest.hookimpl(trylast=True)  # runs after conftest.py has set its marks
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = chosen(items)
        left_out = [item for item in items if item not in kept]
        self.left_out, self.total = len(left_out), len(items)
        self.config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in kept]

    def pytest_sessionfinish(self) -> None:
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["short_run"] = [self.left_out, self.total]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take the counts of a worker that has ended; each worker has collected the same tests."""
        self.left_out, self.total = getattr(node, "workeroutput", {}).get("short_run", (self.left_out, self.total))

    def pytest_unconfigure(self) -> None:
        terminal = self.config.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and self.left_out:
            terminal.write_line(
                f"left out: {self.left_out:,} of {self.total:,} tests, which are slow or differ from others in their "
                "parameters alone; tools/test --all runs them, and tools/test PATH all of one folder or file"
            )
