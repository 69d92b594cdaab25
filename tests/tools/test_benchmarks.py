"""The benchmarks' reports and measurements. No test asserts a time."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dml
from harness import tensor

TOOLS = Path(__file__).parents[2] / "tools" / "benchmarks"
MEASURED = sorted((TOOLS / "measured").glob("*.json"))


pytestmark = pytest.mark.usefixtures("benchmarks")

#: Cases that were added after a device was last measured.
ADDED_SINCE = {
    "nvidia_h100_80gb_hbm3": {f"256 rows by 4-bit blocks 4096 x 14336 {kind}" for kind in ("float32", "float16")}
}


@pytest.mark.parametrize("path", MEASURED, ids=lambda path: path.stem)
def test_recorded_measurements(path: Path) -> None:
    from roofline.work import cases

    report = json.loads(path.read_text())
    assert report["device"]
    assert report["driver"]
    assert report["ceilings"]["bytes"] > 0
    assert set(report["cases"]) == set(cases()) - ADDED_SINCE.get(path.stem, set())
    for found in report["cases"].values():
        # Copies set the bound, and operators that read more than they write are a few percent faster than copies.
        assert 0 < found["fraction"] < 1.05, "faster than the device's own limits"


def test_every_case_is_a_valid_operator() -> None:
    from roofline.work import cases

    for make in cases().values():
        work = make()
        dml.validate(work.desc)
        assert work.bytes > 0
        assert set(work.weights) <= {name for name, _ in work.desc.inputs()}


def test_the_bound_of_a_case() -> None:
    from roofline.main import bound
    from roofline.work import Work

    limits = {"bytes": 100.0, "float32": 10.0, "float16": 20.0, "matrix": 40.0}
    assert bound(Work(None, bytes=200), "float32", limits) == ("bytes", 2.0)
    assert bound(Work(None, bytes=200, operations=30), "float32", limits) == ("float32", 3.0)
    assert bound(Work(None, bytes=20, operations=40), "float16", limits) == ("matrix", 1.0)
    del limits["matrix"]
    assert bound(Work(None, bytes=20, operations=40), "float16", limits) == ("float32", 4.0)


def measured(folder: Path, name: str, **seconds: float) -> str:
    cases = {case: {"seconds": time} for case, time in seconds.items()}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"device": "a GPU", "driver": "its driver", "cases": cases}))
    return str(path)


@pytest.mark.parametrize(
    "after, status",
    [({"a": 1.0, "b": 2.0}, 0), ({"a": 1.04, "b": 2.0}, 0), ({"a": 1.2, "b": 1.0}, 1), ({"a": 1.1, "b": 2.2}, 1)],
    ids=["the same", "noise", "one case lost", "all lost a little"],
)
def test_comparing(tmp_path: Path, capsys: pytest.CaptureFixture[str], after: dict[str, float], status: int) -> None:
    import comparison

    before = measured(tmp_path, "before", a=1.0, b=2.0, gone=3.0)
    assert comparison.main([before, measured(tmp_path, "after", **after)]) == status
    assert "of 2 cases" in capsys.readouterr().out


@pytest.mark.parametrize("weights", [(), ("BTensor",)])
def test_measuring(device: dml.Device, monkeypatch: pytest.MonkeyPatch, weights: tuple[str, ...]) -> None:
    """An operator is measured directly, or with weights as the constants of a graph."""
    from roofline import measure
    from roofline.work import Work

    monkeypatch.setattr(measure, "RUNS", 2)
    monkeypatch.setattr(measure, "TIMES", 1)
    monkeypatch.setattr(measure, "BUSY", 0.0)
    x = tensor("FLOAT32", (1, 1, 4, 4))
    plain: Any = dml.DML_MATRIX_TRANSFORM_NONE
    desc = dml.DML_GEMM_OPERATOR_DESC(x, x, None, x, plain, plain, 1.0, 0.0)
    assert np.isfinite(measure.seconds_of(device, Work(desc, 192, 128.0, weights)))


def test_measuring_weights_in_blocks(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph is small enough for a CPU driver."""
    from roofline import measure, work

    monkeypatch.setattr(measure, "RUNS", 2)
    monkeypatch.setattr(measure, "TIMES", 1)
    monkeypatch.setattr(measure, "BUSY", 0.0)
    blocks = work._by_blocks("float16", 1, 64, 24)
    assert blocks.bytes == 24 * 64 // 2 + 2 * (24 * 2 + 64 + 24)
    assert np.isfinite(measure.seconds_of(device, blocks))


def test_peers_take_turns(device: dml.Device, tmp_path: Path) -> None:
    """Peers have separate processes, which run only in their turns."""
    from turns import PeerError, peers

    def state(peer: Any) -> str:
        return Path(f"/proc/{peer._process.pid}/stat").read_text().rpartition(") ")[2][0]

    names = ["dml", "onnxruntime (CPU)", "ncnn"]  # ncnn lacks this operator
    with peers(names, "reverse", tmp_path, str(device.vulkan.index)) as running:
        assert list(running) == names[:2]
        first, second = running.values()
        np.testing.assert_array_equal(first.results["y"], second.results["y"])
        assert first.turn() >= 0
        deadline = time.monotonic() + 10
        while "T" not in state(first) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert [state(peer) for peer in running.values()] == ["T", "T"]
    with pytest.raises(PeerError), peers(["dml"], "no such case", tmp_path, None):
        pass
