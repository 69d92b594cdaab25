"""examples/batch_scoring.py on a local Ray cluster, with an actor on each of two Vulkan devices."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from models import model_of
from onnx import helper

import two_drivers
from example_module import EXAMPLES, example

EXAMPLE = EXAMPLES / "batch_scoring.py"
SIZE, COUNT = 64, 12

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: tools/setup --ray")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a model and its inputs, alternately .npy and .npz files."""
    rng = np.random.default_rng(0)
    x, w = np.zeros((2, SIZE), np.float32), rng.standard_normal((SIZE, SIZE)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"]), helper.make_node("Relu", ["product"], ["y"])]
    onnx.save(model_of(nodes, {"x": x}, ["y"], 21, initializers={"w": w}, symbolic=True), tmp_path / "net.onnx")
    (tmp_path / "inputs").mkdir()
    for number in range(COUNT):
        given = rng.standard_normal((1 + number % 3, SIZE)).astype(np.float32)
        path = tmp_path / "inputs" / f"row{number}"
        np.savez(path, x=given) if number % 2 else np.save(path, given)
        np.save(tmp_path / f"expected{number}", np.maximum(given.astype(np.float64) @ w, 0))
    return tmp_path


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, EXAMPLE, folder / "net.onnx", folder / "inputs", folder / "results", *arguments],
        env={**two_drivers.environment(), "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check(folder: Path) -> None:
    for number in range(COUNT):
        with np.load(folder / "results" / f"row{number}.npz") as found:
            assert list(found) == ["y"]
            # Sums of 64 float32 products, around 50 at most: 64 rounding errors of 2**-24 each
            np.testing.assert_allclose(found["y"], np.load(folder / f"expected{number}.npy"), rtol=0, atol=2e-4)


def test_a_lost_worker_an_earlier_run_and_invalid_inputs(folder: Path) -> None:
    """Kill one of two workers with its first input. The run keeps an existing result, replaces a partial one and
    reports invalid inputs."""
    (folder / "results").mkdir()
    earlier = folder / "results" / "row3.npz"
    np.savez(earlier, y=np.load(folder / "expected3.npy"))
    before = earlier.stat()
    (folder / "results" / ".row4.npz.partial").write_bytes(b"of a run that was interrupted")
    (folder / "inputs" / "text.npy").write_bytes(b"nothing")
    np.save(folder / "inputs" / "narrow", np.zeros((1, 3), np.float32))
    run = started(folder)
    assert run.stdout is not None
    printed = []
    for line in run.stdout:
        printed.append(line)
        found = re.match(r"worker: .*, process (\d+)$", line)
        if found:
            os.kill(int(found[1]), signal.SIGKILL)
            break
    out, err = run.communicate()
    assert run.returncode == 1, err
    assert printed[0] == f"{COUNT + 1} inputs to score, 1 already have results\n"
    assert re.fullmatch(
        r"devices: SwiftShader .* at .*; llvmpipe .* at .*\n|devices: llvmpipe .*; SwiftShader .*\n", printed[1]
    )
    assert err.count("worker lost: ") == 1
    assert "worker: " in out, "the other device's worker, or the lost one's replacement"
    assert f"{COUNT - 1} of {COUNT + 1}, " in out
    assert "text.npy: " in err
    assert "is not an .npy file: it begins with b'nothin'" in err
    assert "narrow.npy: " in err
    assert out.endswith(f"{COUNT - 1} scored, 2 failed\n")
    check(folder)
    after = earlier.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns), "not written again"
    assert len(list((folder / "results").iterdir())) == COUNT, "nothing but results"


def test_nothing_to_do_needs_no_cluster(folder: Path) -> None:
    (folder / "results").mkdir()
    for number in range(COUNT):
        (folder / "results" / f"row{number}.npz").touch()
    out, _ = started(folder, "--address", "nowhere:1").communicate()
    assert out == f"0 inputs to score, {COUNT} already have results\n"


def test_two_inputs_of_one_name(folder: Path) -> None:
    np.save(folder / "inputs" / "row1", np.zeros((1, SIZE), np.float32))
    run = started(folder)
    _, err = run.communicate()
    assert run.returncode == 1
    assert err.rstrip().endswith("would have the same result; rename one")


@pytest.fixture
def scoring() -> Any:
    return example("batch_scoring")


class Remote:
    """A remote function of Ray that runs here."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        self.remote = function

    def options(self, **_: Any) -> Remote:
        return self


def test_devices_are_gpus_or_those_of_a_name(
    scoring: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def devices_of(node: str) -> list[Any]:
        return [scoring.Place(node, node, 0, "llvmpipe", True), scoring.Place(node, node, 1, "GPU", False)][: len(node)]

    nodes = [{"NodeID": "c", "Alive": True}, {"NodeID": "no", "Alive": False}, {"NodeID": "cg", "Alive": True}]
    stubs = {
        "nodes": lambda: nodes,
        "remote": lambda **_: Remote,
        "get": lambda answer: answer,
        "put": lambda model: model,
    }
    for name, stub in {**stubs, "init": lambda **_: None, "shutdown": lambda: None}.items():
        monkeypatch.setattr(scoring.ray, name, stub)
    monkeypatch.setattr(scoring, "devices_here", devices_of)
    monkeypatch.setattr(scoring, "on", lambda node: node)
    assert [(place.node, place.name) for place in scoring.places(None)] == [("c", "llvmpipe"), ("cg", "GPU")]
    assert [(place.node, place.name) for place in scoring.places("LLVM")] == [("c", "llvmpipe"), ("cg", "llvmpipe")]
    arguments = [EXAMPLE, folder / "net.onnx", folder / "inputs", folder / "results", "--device", "Radeon"]
    monkeypatch.setattr(sys, "argv", list(map(str, arguments)))
    assert scoring.main() == 1
    assert capsys.readouterr().err == "the cluster has no Vulkan device named Radeon\n"


def test_an_input_that_fells_workers_is_given_up(scoring: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An input that crashes workers fails after the given attempts; a device whose worker cannot restart is dropped."""
    monkeypatch.setattr(scoring.ray, "put", lambda model: model)
    run = scoring.Run(b"", tmp_path, attempts=2)
    starts: list[Any] = []
    monkeypatch.setattr(run, "start", starts.append)
    place, path = scoring.Place("node", "host", 0, "GPU", False), tmp_path / "bad.npy"
    run.lose(place, path, "killed")
    assert (list(run.pending), run.failed, starts) == ([path], {}, [place])
    run.pending.clear()
    run.lose(place, path, "killed")
    assert (list(run.pending), run.failed) == ([], {path: "lost its worker 2 times: killed"})
    assert starts == [place, place]
    run.lose(place, None, "no driver")
    assert starts == [place, place], "no third"
