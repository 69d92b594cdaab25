"""Progress of long work on a terminal, and the report of --verbose."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper, save
from rich.console import Console
from typer.testing import CliRunner

from dml import stages
from dml.cli import app
from dml.waiting import Waiting


@pytest.fixture
def model(tmp_path):
    """The path of y = relu(x) as an ONNX model."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    np.save(tmp_path / "x.npy", np.ones((2, 3), np.float32))
    return tmp_path / "m.onnx"


def arguments(device, model):
    return ["run", str(model), "--device", str(device.vulkan.index), "--input", f"x={model.with_name('x.npy')}"]


@pytest.fixture
def shown(monkeypatch):
    """Show progress immediately; the fixture is an event that is set then."""
    event = threading.Event()
    monkeypatch.setattr("dml.waiting.PATIENCE", 0)
    show = Waiting._show
    monkeypatch.setattr(Waiting, "_show", lambda self: (show(self), event.set()))
    return event


def test_a_terminal_shows_kernels_done_of_all(shown):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with Waiting(console):
        assert shown.wait(60)
        stages.progress("glslang", 3, 54)
    assert "compiling kernels" in screen.getvalue()
    assert "3/54" in screen.getvalue()


def test_finished_work_shows_no_progress(shown):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with Waiting(console):
        assert shown.wait(60)
        stages.progress("first run", 54, 54)
    assert "54/54" not in screen.getvalue()


def test_messages_end_the_progress_line(shown):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with Waiting(console) as waiting:
        assert shown.wait(60)
        stages.progress("first run", 5, 6)
        shown.clear()
        waiting.say(screen.write, "said\n")
        assert shown.wait(60)
    before, after = screen.getvalue().split("said\n")
    assert "5/6" in before
    assert "\x1b[2K" in before[before.rindex("5/6") :]  # the line is erased
    assert "5/6" in after


def test_no_terminal_shows_nothing(monkeypatch):
    monkeypatch.setattr("dml.waiting.PATIENCE", 0)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=False)
    with Waiting(console) as waiting:
        assert waiting._timer is None
        stages.progress("glslang", 3, 54)
    assert screen.getvalue() == ""


def test_verbose_shows_the_stages_times(device, model):
    result = CliRunner().invoke(app, [*arguments(device, model), "--verbose"])
    assert result.exit_code == 0, result.output
    assert "[1. 1. 1.]" in result.stdout
    assert "Where the time went" not in result.stdout
    rows = [line.strip("│").split("│")[0].strip() for line in result.stderr.splitlines() if line.startswith("│")]
    assert rows[:3] == ["parse", "plan", "glslang"]
    assert rows[-2:] == ["the rest", "all"]
    assert " pipelines" in result.stderr
    assert not CliRunner().invoke(app, arguments(device, model)).stderr


#: `dml` with compilations that wait until the terminal shows something.
SLOW = """
import threading
import dml.runtime.recording as recording
import dml.waiting as waiting
from dml.cli import app

shown, show, compile_many = threading.Event(), waiting.Waiting._show, recording.compile_many
waiting.PATIENCE = 0
waiting.Waiting._show = lambda self: (show(self), shown.set())
recording.compile_many = lambda *a, **k: shown.wait(60) and compile_many(*a, **k)
app()
"""


def test_the_command_on_a_terminal(device, model):
    """Progress goes to the terminal, which is standard error, and results to standard output."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", SLOW, *arguments(device, model)]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "DML_CACHE_DIR": str(model.with_name("cache"))}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:  # Linux reports this when the other side is closed
                break
            if not part:
                break
            seen += part
        assert process.stdout is not None
        output = process.stdout.read().decode()
    os.close(ours)
    assert process.returncode == 0
    assert b"compiling kernels" in seen
    assert b"0/1" in seen
    assert "[1. 1. 1.]" in output
    assert "compiling" not in output
