"""The suite under the Khronos validation layer: sets the layer up and turns its messages into failures.

One run checks either synchronization or bounds: GPU-assisted validation compiles a check into every kernel, for each
access to a buffer, and takes some ten times as long.

The layer reopens and empties its log for every Vulkan instance, and one process creates several; so the log is a named
pipe, which cannot be emptied, kept open here and drained after each phase of each test.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LAYER = "VK_LAYER_KHRONOS_validation"
_PIPE_BYTES = 1 << 20
#: From this version on (Debian 13's 1.4.309 at the latest) each check has a setting of its own. The newest layers warn
#: about the old list, and Debian 12's 1.3.239 knows nothing else; it also takes a buffer's bounds for a binding's.
RENAMED = (1, 4)


def settings(log: Path | str, *, bounds: bool = False) -> str:
    """Return the text of a vk_layer_settings.txt: synchronization (or ``bounds``), every message, to ``log``."""
    if bounds:
        checks = ["gpuav_enable = true", "validate_core = false"]
    elif layer_version() >= RENAMED:  # storage buffers are checked only with the heuristic, off by default
        checks = ["validate_sync = true", "syncval_shader_accesses_heuristic = true"]
    else:
        checks = [
            "enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT",
            # With finer locks, 1.3.239 threw bad_alloc while commands were recorded, once in some forty runs of CI
            "fine_grained_locking = false",
        ]
    return "\n".join(
        (
            *(f"khronos_validation.{setting}" for setting in checks),
            "khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG",
            # With bounds, warnings only report changes by the layer itself: it enables features that its checks need.
            f"khronos_validation.report_flags = error{'' if bounds else ',warn'}",
            "khronos_validation.enable_message_limit = false",
            f"khronos_validation.log_filename = {log}",
            "",
        )
    )


def environment(folder: Path, log: Path | str, *, bounds: bool = False) -> dict[str, str]:
    """Write the settings into ``folder``; return the variables that make a process run under the layer with them."""
    path = folder / "vk_layer_settings.txt"
    path.write_text(settings(log, bounds=bounds), encoding="utf-8")
    return {"VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_SETTINGS_PATH": str(path)}


def layer_is_installed() -> bool:
    return layer_version() > (0, 0)


@cache
def layer_version() -> tuple[int, int]:
    """Return the Vulkan version that the layer was built for; zeros if it is not installed."""
    import vulkan as vk

    for layer in vk.vkEnumerateInstanceLayerProperties():
        if layer.layerName == LAYER:
            return layer.specVersion >> 22 & 0x7F, layer.specVersion >> 12 & 0x3FF
    return 0, 0


class Log:
    """The reading end of the pipe that the layer writes its messages to."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Opened for reading and writing, so that opening does not block and the pipe does not end when its writer does
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        fcntl.fcntl(self._descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._text = bytearray()
        self._lock = threading.Lock()
        # A test that causes more messages than the pipe holds must not block on itself
        threading.Thread(target=self._keep_empty, daemon=True).start()

    def _keep_empty(self) -> None:
        pause = threading.Event()
        while not pause.wait(0.2):
            with self._lock:
                self._fill()

    def _fill(self) -> None:
        while True:
            try:
                self._text += os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return

    def take(self) -> str:
        """Return the text written since the last call."""
        with self._lock:
            self._fill()
            text = self._text.decode(errors="replace").strip()
            self._text.clear()
        return text


class Plugin:
    """Runs the session under the layer, with a separate log in each xdist worker."""

    def __init__(self, config: pytest.Config, *, bounds: bool) -> None:
        self._config = config
        self._late = ""
        self._folder = Path(tempfile.mkdtemp(prefix="dml-validation-"))
        pipe = self._folder / "messages"
        self._log = Log(pipe)
        os.environ.update(environment(self._folder, pipe, bounds=bounds))
        if not layer_is_installed():
            raise pytest.UsageError(f"{LAYER} is not installed (Debian: vulkan-validationlayers)")
        if bounds and layer_version() < RENAMED:
            raise pytest.UsageError(f"--vulkan-bounds: {LAYER} is older than 1.4 and checks whole buffers only")

    def _check(self, phase: str) -> None:
        messages = self._log.take()
        if messages:
            pytest.fail(f"Vulkan validation messages during {phase}:\n{messages}", pytrace=False)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            if item.get_closest_marker("no_validation"):
                item.add_marker(pytest.mark.skip(reason="not meant for the validation layer"))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        result = yield
        self._check("setup")
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        result = yield
        self._check("the test")
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        result = yield
        self._check("teardown")
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the session for messages outside any test; a worker passes them to the process that reports."""
        self._late += self._log.take()
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output["validation"] = self._late
        elif self._late and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._late += getattr(node, "workeroutput", {}).get("validation", "")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._late:
            terminalreporter.section("Vulkan validation messages outside any test")
            terminalreporter.write_line(self._late)
        else:
            terminalreporter.write_line("Vulkan validation: no message outside the tests' own reports")

    def pytest_unconfigure(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
