"""Cases in worker processes: hangs, crashes and lost devices fail only their own case."""

from __future__ import annotations

import json

import jsonschema
import pytest
from few_suite import make_odd, use_few

from dml.conformance import report, runner
from dml.conformance.case import Case
from dml.conformance.places import DeviceAxis
from dml.conformance.runner import Conduct, PlaceRun

CASES = ["ELEMENT_WISE_ADD:type=FLOAT32", "ACTIVATION_RELU:type=FLOAT16,sizes=13", "REVERSE_SUBSEQUENCES:type=INT32"]
FIRST, ODD, _ = CASES
RESULT = {"$ref": "#/$defs/outcome", "$defs": json.loads(report.SCHEMA.read_text(encoding="utf-8"))["$defs"]}


@pytest.fixture
def run(vulkan, monkeypatch):
    """Return ``run(cases, odd, seconds=...)``, which returns the run and the last outcome of each case."""
    use_few(monkeypatch)

    def run(cases=CASES, odd=None, axis="plain", **conduct):
        make_odd(monkeypatch, **(odd or {}))
        made = PlaceRun(DeviceAxis(vulkan, axis), cases, 0, Conduct(**conduct))
        found = {outcome["case"]: outcome for outcome in made.outcomes()}
        for outcome in found.values():
            jsonschema.validate(outcome, RESULT)
        return made, found

    return run


def test_cases_run_and_pass(run):
    made, found = run(seconds=120, odd={FIRST: "talk"}, axis="discrete")
    assert [found[case]["status"] for case in CASES] == ["passed"] * 3, found
    assert made.left == ""
    assert found[ODD]["tensors"][0]["elements"] == 13
    assert sum(found[ODD]["histogram"]) == 13


@pytest.mark.parametrize(("how", "seconds", "reason", "told"), [
    ("hang", 4, "no answer within 4 seconds", "odd_worker.py\", line"),  # the traceback shows where the case hung
    ("die", 120, "the process ended with SIGSEGV", "Fatal Python error: Segmentation fault"),
    ("leave", 120, "the process ended with exit status 7", "the driver says why"),
    ("lost", 120, "the device was lost [DXGI_ERROR_DEVICE_REMOVED 0x887A0005]", "the device was lost"),
])  # fmt: skip
def test_a_crash_fails_only_its_case(run, how, seconds, reason, told):
    made, found = run(odd={ODD: how}, seconds=seconds)
    assert [found[case]["status"] for case in CASES] == ["passed", "failed", "passed"], found
    failed = found[ODD]
    assert failed["reason"] == reason
    assert told in failed["failure"]["message"]
    assert failed["failure"]["descriptor"]["desc"]["InputTensor"] == {"DataType": "FLOAT16", "Sizes": [13]}
    assert failed["failure"]["kernels"] == ["shaders/elementwise/vector.comp"]
    assert f"--case {ODD}" in failed["failure"]["command"]
    assert made.left == ""


def test_a_compilation_error_fails_only_its_case(run, monkeypatch):
    """A compiler fault ends the worker's process; meeting it again in this process must not end the run."""

    def fault(*_):
        raise AssertionError

    monkeypatch.setattr(runner, "program_of", fault)
    made, found = run(odd={ODD: "leave"}, seconds=120)
    assert [found[case]["status"] for case in CASES] == ["passed", "failed", "passed"], found
    assert found[ODD]["failure"]["kernels"] == []
    assert made.left == ""


def test_a_device_that_keeps_failing_is_abandoned(run, monkeypatch):
    monkeypatch.setattr(runner, "MOST_LOST", 2)
    made, found = run(odd={FIRST: "leave", ODD: "leave"}, seconds=120)
    assert set(found) == {FIRST, ODD}
    assert made.left == "2 cases in a row ended their process; the last one: the process ended with exit status 7"


def test_a_device_that_cannot_be_opened(run):
    made, found = run(odd={"opening": "leave"}, seconds=120)
    assert found == {}
    assert made.left == (
        "the device cannot be opened: the process ended with exit status 7\nthe driver says why"
    )  # fmt: skip


def test_several_at_once_are_the_same_cases(run):
    _, found = run(jobs=3, seconds=120)
    assert set(found) == set(CASES)


def test_leaving_the_run_ends_its_processes(vulkan, monkeypatch):
    use_few(monkeypatch, **{ODD: "hang"})
    made = PlaceRun(DeviceAxis(vulkan, "plain"), CASES, 0, Conduct(seconds=120))
    outcomes = made.outcomes()
    assert next(outcomes)["case"] == FIRST
    (process,) = made._processes
    outcomes.close()
    assert process._process.returncode is not None


def test_the_smallest_case_is_looked_for(run):
    """All FLOAT16 cases fail; the smallest has one element and default parameters."""
    start = "ELEMENT_WISE_ADD:type=FLOAT16,sizes=13,layout=permuted,values=edges"
    _, found = run([start], odd={"wrong": "FLOAT16"}, seconds=120)
    smallest = found[start]["failure"]["smallest"]
    assert smallest["case"] == "ELEMENT_WISE_ADD:type=FLOAT16,sizes=1"
    assert smallest["message"] == "made wrong"
    assert "--case ELEMENT_WISE_ADD:type=FLOAT16,sizes=1 " in smallest["command"]


def test_the_smallest_case_is_not_reduced_further(run):
    start = "ELEMENT_WISE_ADD:type=FLOAT16,sizes=1"
    _, found = run([start], odd={"wrong": "FLOAT16"}, seconds=120)
    assert found[start]["status"] == "failed"
    assert found[start]["failure"]["smallest"] is None


def test_combinations_without_meaning_are_not_tested(run):
    case = "REVERSE_SUBSEQUENCES:type=FLOAT32,sizes=1,last=yes"
    _, found = run([case], seconds=120)
    assert (found[case]["status"], found[case]["reason"]) == ("not_tested", "one axis has no other one")
    assert Case.parse(case).id == case


def test_a_process_runs_a_number_of_cases(run, monkeypatch):
    """After a number of cases a new process replaces the old one; no case is lost or repeated."""
    started = []
    start = runner.WorkerProcess  # type: ignore[attr-defined]  # (imported there)
    monkeypatch.setattr(runner, "WorkerProcess", lambda *place, **more: started.append(1) or start(*place, **more))
    monkeypatch.setattr(runner, "CASES_OF_A_PROCESS", 2)  # the first answer reports the open device
    made, found = run(CASES, seconds=120)
    assert made.left == ""
    assert len(started) == 2
    assert [found[case]["status"] for case in CASES] == ["passed"] * 3
