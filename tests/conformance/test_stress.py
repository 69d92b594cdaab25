"""The stress test: passes on a correct device, and reports faults of every kind with their seed."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import dml
from dml.api.recorder import CommandList
from dml.conformance import straining, stress
from dml.conformance.command import app
from dml.conformance.places import DeviceAxis
from dml.conformance.stress import Strain, strain
from dml.runtime.buffer import Buffer
from dml.runtime.context import Context

MIB = 1 << 20


def strained(vulkan, steps=25, *, seed=3, threads=1, memory=16 * MIB):
    return strain(vulkan, "plain", Strain(seconds=600, seed=seed, threads=threads, memory=memory, steps=steps))


def test_nothing_is_wrong(vulkan):
    done = strained(vulkan, threads=2)
    assert done.wrong == ""
    assert done.steps == 50
    for name in ("cases", "dispatches", "submissions", "bytes", "allocations", "devices", "compared"):
        assert getattr(done, name) > 0, name
    assert 4 * MIB < done.held <= stress.SHARE * 16 * MIB


def test_the_duration_is_respected(vulkan):
    done = strain(vulkan, "discrete", Strain(seconds=1.5, threads=2, memory=8 * MIB))
    assert done.wrong == ""
    assert done.seconds >= 1.5


def test_each_thread_does_a_step_however_short_the_time(vulkan):
    done = strain(vulkan, "plain", Strain(seconds=0.0, threads=2, memory=8 * MIB))
    assert (done.wrong, done.steps) == ("", 2)


class Fault:
    """Replaces the n-th call of a method; other calls are unchanged."""

    def __init__(self, monkeypatch, of, name, at, instead):
        own, count = getattr(of, name), [0]

        def called(*arguments, **more):
            count[0] += 1
            return instead(own, *arguments, **more) if count[0] == at else own(*arguments, **more)

        monkeypatch.setattr(of, name, called)


def _flipped(read, *arguments, **more):
    found = read(*arguments, **more).copy()
    found.view(np.uint8)[-1] ^= 1
    return found


def _lost(*_, **__):
    raise dml.DMLError("the device was removed", dml.HRESULT.DXGI_ERROR_DEVICE_REMOVED)


@pytest.mark.parametrize(("of", "name", "at", "instead"), [
    (Buffer, "read", 1, _flipped),
    (Buffer, "read", 40, _flipped),
    (CommandList, "execute", 9, lambda execute, *_, **__: None),
    (Context, "upload", 1, lambda upload, *_: None),
    (Context, "upload", 14, lambda upload, *_: None),
    (CommandList, "execute", 5, _lost),
    (Buffer, "write", 7, lambda write, *_: 1 / 0),
])  # fmt: skip
def test_a_fault_is_seen(vulkan, monkeypatch, of, name, at, instead):
    Fault(monkeypatch, of, name, at, instead)
    done = strained(vulkan, 60)
    assert done.wrong.startswith("thread 0, step "), (name, at)
    assert done.steps < 60


def test_the_seed_finds_the_fault_again(vulkan):
    told = []
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            Fault(patch, Buffer, "read", 30, _flipped)
            told.append(strained(vulkan, 60).wrong)
    assert told[0] == told[1] != ""


def test_a_chain_that_loses_an_addition_is_wrong(vulkan, monkeypatch):
    """One thread runs only chains of dispatches; one recorded addition is dropped."""
    monkeypatch.setattr(stress._Thread, "_one", lambda self: self._long())
    assert strained(vulkan, 2).wrong == ""
    append, count = CommandList.append, [0]

    def shorter(*arguments, **more):
        count[0] += 1
        return None if count[0] == 70 else append(*arguments, **more)

    monkeypatch.setattr(CommandList, "append", shorter)
    assert "a chain of " in strained(vulkan, 3).wrong


def test_a_failed_allocation_is_not_a_failure(vulkan, monkeypatch):
    def refused(create, *_):
        raise dml.DMLError("no memory", dml.HRESULT.E_OUTOFMEMORY)

    Fault(monkeypatch, dml.Device, "create_buffer", 1, refused)
    done = strained(vulkan, 10)
    assert (done.wrong, done.refused) == ("", 1)


# --- the command ------------------------------------------------------------------------------------------------------


def run(vulkan, monkeypatch, code, **asked):
    """Call straining.run with a worker that runs this code."""
    if code:
        monkeypatch.setattr(straining, "WORKER", (sys.executable, "-c", code))
    file = io.StringIO()
    right = straining.run([DeviceAxis(vulkan, "plain")], Strain(**asked), Console(file=file, width=400))
    return right, file.getvalue()


def test_the_work_done_is_reported(vulkan, monkeypatch):
    right, text = run(vulkan, monkeypatch, "", seconds=600, threads=1, memory=8 * MIB, steps=8)
    assert right
    assert ": nothing wrong" in text
    for word in ("8 steps", "dispatches in", "allocations", "comparisons", "moved"):
        assert word in text


@pytest.mark.parametrize(("ending", "how"), [
    ("import os; os.kill(os.getpid(), 11)", "SIGSEGV"), ("raise SystemExit(7)", "exit status 7"),
])  # fmt: skip
def test_a_process_that_ends_is_a_failure(vulkan, monkeypatch, ending, how):
    answer = json.dumps({**stress.Done(steps=5).record(), "last": False})
    right, text = run(
        vulkan, monkeypatch, f"print({answer!r}, flush=True); {ending}", seed=9, threads=2, memory=64 * MIB
    )
    assert not right
    assert f"wrong: the process ended with {how}" in text
    assert "5 steps" in text
    assert "again: dml conformance --stress --seed 9 --minutes 1 --threads 2" in text
    assert "--memory 64" in text


def test_a_wrong_result_names_the_command_that_repeats_it(vulkan, monkeypatch):
    answer = json.dumps({**stress.Done(wrong="thread 1, step 4 (case): GEMM is wrong").record(), "last": True})
    right, text = run(vulkan, monkeypatch, f"print({answer!r})", seed=5)
    assert not right
    assert "wrong: thread 1, step 4 (case): GEMM is wrong" in text
    assert "--stress --seed 5" in text


@pytest.mark.parametrize(("arguments", "variable", "code", "message"), [
    (["--quick"], "", 2, "--stress takes"),
    (["--json", "x.json"], "", 2, "--stress takes"),
    ([], "much", 3, "DML_STRESS_MEMORY must be a positive number of MiB, found 'much'"),
])  # fmt: skip
def test_wrong_options(monkeypatch, arguments, variable, code, message):
    monkeypatch.setenv("DML_STRESS_MEMORY", variable)
    found = CliRunner().invoke(app, ["--stress", *arguments])
    assert found.exit_code == code
    assert message in found.output
