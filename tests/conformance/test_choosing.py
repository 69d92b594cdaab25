"""The suite's own cases run while another process chooses additional ones."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest
from few_suite import Copy

from dml.compiler.target import DeviceClass, Target
from dml.conformance import report
from dml.conformance.choosing import Choosing
from dml.conformance.suite import Suite

SUITE = Suite(filter=("ACTIVATION_RELU",))
GPU = Target(DeviceClass.DISCRETE, max_workgroup_invocations=1024, shared_memory=32768)


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("DML_CACHE_DIR", str(tmp_path / "cache"))


def expected():
    found = SUITE.coverage(GPU)
    assert found is not None
    return found.added, {case: list(at) for case, at in found.entered.items()}, found.names


def answer(choosing):
    found = choosing.result()
    return found.added, {case: list(at) for case, at in found.entered.items()}, found.names


def test_another_process_chooses_the_same_cases_once():
    with Choosing(SUITE, GPU) as choosing:
        assert choosing.takes_time
        found = answer(choosing)
    assert len(found[1]) > 10
    with Choosing(SUITE, GPU) as again:  # this time from the cache
        assert not again.takes_time
        assert answer(again) == found
    assert found == expected()


def test_a_choice_without_coverage_starts_no_process():
    for suite in (Suite("quick"), Suite(only=("ACTIVATION_RELU",)), Suite(filter=("float16",))):
        with Choosing(suite, GPU) as choosing:
            assert not choosing.takes_time
            assert choosing.result() is None


def test_the_choice_does_not_depend_on_that_process(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with Choosing(SUITE, GPU) as choosing:
        assert choosing.takes_time
        assert answer(choosing) == expected()


def test_leaving_ends_the_process(monkeypatch):
    started = []

    class Started(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Started)
    with Choosing(Suite(filter=("GEMM",)), GPU):
        assert started[0].poll() is None
    assert started[0].returncode == -signal.SIGKILL


#: A choice that waits for a file, and the file.
SLOW = """
from pathlib import Path
from time import sleep

def main(answer=main):
    while not Path("chosen").exists():
        sleep(0.02)
    answer()

if __name__ == "__main__":
"""


@pytest.fixture
def slow(tmp_path):
    """A copy of the package in which the choosing process waits for the file ``chosen``."""
    copy = Copy(tmp_path / "copy")
    module = copy.folder / "dml" / "conformance" / "choosing.py"
    text = module.read_text(encoding="utf-8")
    assert text.count('if __name__ == "__main__":\n') == 1
    module.write_text(text.replace('if __name__ == "__main__":\n', SLOW), encoding="utf-8")
    return copy


def start(copy, vulkan, *arguments):
    """Start a run of the default suite; return its process when all of the suite's own cases have run."""
    command = [*copy.command, "conformance", "--device", vulkan.name, "--filter", "ACTIVATION_RELU", *arguments]
    process = subprocess.Popen(
        [*command, "--resume", "journal.jsonl", "--json", "report.json"], cwd=copy.folder, env=copy.environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    journal = copy.folder / "journal.jsonl"
    while not journal.exists() or not (lines := journal.read_bytes().splitlines()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    own = json.loads(lines[0])["report"]["suite"]["cases"]
    while len(journal.read_bytes().splitlines()) <= own:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    return process, own


def test_the_suites_own_cases_run_before_the_others_are_chosen(slow, vulkan):
    process, own = start(slow, vulkan, "--as", "discrete")
    with process:
        assert process.poll() is None
        (slow.folder / "chosen").touch()
        _, errors = process.communicate()
    assert process.returncode == 0, errors
    (run,) = report.read(slow.folder / "report.json")["runs"]
    assert run["complete"]
    assert len(run["coverage"]["added"]) > 0
    assert len(run["results"]) == own + len(run["coverage"]["added"])
    assert {outcome["status"] for outcome in run["results"]} <= {"passed", "not_applicable"}


def test_a_run_interrupted_before_the_others_are_chosen_is_not_complete(slow, vulkan):
    process, own = start(slow, vulkan)
    with process:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    (run,) = report.read(slow.folder / "report.json")["runs"]
    assert (len(run["results"]), run["complete"], run["coverage"]) == (own, False, None)
    assert "continue with: dml conformance --resume journal.jsonl" in errors
    (slow.folder / "chosen").touch()
    rest = slow.dml("conformance", "--resume", "journal.jsonl", "--json", "report.json")
    assert rest.returncode == 0, rest.stderr
    (run,) = report.read(slow.folder / "report.json")["runs"]
    assert (run["complete"], len(run["results"])) == (True, own + len(run["coverage"]["added"]))
