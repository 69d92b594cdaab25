"""`dml conformance` as a program: a broken kernel, reports, shards, a killed run, wrong options."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import time
from xml.etree import ElementTree as Xml

import jsonschema
import pytest
from few_suite import Copy, use_few
from sample_report import LAVAPIPE, sample_report
from typer.testing import CliRunner

from dml.cli import app
from dml.conformance import report

SCHEMA = json.loads(report.SCHEMA.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("package") / "copy")


def run(package, vulkan, *arguments, **variables):
    return package.dml("conformance", "--device", vulkan.name, *arguments, **variables)


def read(path):
    found = report.read(path)
    jsonschema.validate(found, SCHEMA)
    return found


def without_times(made):
    """Return a report without the parts that differ between runs of the same cases."""
    outcomes = [[{**one, "seconds": 0} for one in run["results"]] for run in made["runs"]]
    return made["suite"], [(run["device"], run["shard"], run["complete"]) for run in made["runs"]], outcomes


def test_a_broken_kernel_is_caught_and_named_and_its_command_runs_the_case_again(vulkan, tmp_path):
    package = Copy(tmp_path / "copy")
    kernel = package.folder / "shaders" / "movement" / "reverse_subsequences.comp"
    text = kernel.read_text(encoding="utf-8")
    assert text.count("n - 1u - c[AXIS]") == 1
    kernel.write_text(text.replace("n - 1u - c[AXIS]", "c[AXIS]"), encoding="utf-8")

    found = run(package, vulkan, "--quick", "--json", "all.json")
    assert found.returncode == 1, found.stderr
    failed = [outcome for _, outcome in report.failures(read(package.folder / "all.json"))]
    assert {outcome["operator"] for outcome in failed} == {"REVERSE_SUBSEQUENCES"}
    first = next(outcome for outcome in failed if outcome["failure"]["smallest"])
    failure = first["failure"]
    assert failure["kernels"] == ["shaders/movement/reverse_subsequences.comp"]
    assert failure["descriptor"]["type"] == "DML_OPERATOR_REVERSE_SUBSEQUENCES"
    assert failure["tensor"] == "OutputTensor"
    assert failure["found"] != failure["expected"]
    assert 0 < failure["differing"] <= failure["of"]
    for text in (failure["message"], failure["command"], failure["kernels"][0], json.dumps(failure["descriptor"])):
        assert text in found.stdout

    # The exact command in the report repeats the failure
    _, *words = shlex.split(failure["command"])
    again = package.dml(*words, "--json", "one.json", "--dump", "dumped")
    assert again.returncode == 1, again.stderr
    (only,) = read(package.folder / "one.json")["runs"][0]["results"]
    assert (only["case"], only["failure"]["message"]) == (first["case"], failure["message"])
    dumped = {path.suffix: path for path in (package.folder / "dumped").iterdir()}
    assert set(dumped) == {".comp", ".spv", ".json"}
    assert "c[AXIS] < n ? c[AXIS]" in dumped[".comp"].read_text(encoding="utf-8")

    smallest = failure["smallest"]
    if smallest is not None:
        assert package.dml(*shlex.split(smallest["command"])[1:]).returncode == 1


def test_reports_of_a_run(package, vulkan):
    axes, files = ("--as", "plain", "--as", "minimum"), ("--json", "r.json", "--junit", "r.xml", "--html", "r.html")
    found = run(package, vulkan, "--quick", *axes, *files)
    assert found.returncode == 0, found.stderr
    made = read(package.folder / "r.json")
    assert [one["device"]["axis"] for one in made["runs"]] == ["plain", "minimum"]
    assert all(one["complete"] and one["device"]["name"] == vulkan.name for one in made["runs"])
    assert made["runs"][1]["device"]["limits"]["max_workgroup_invocations"] == 128
    suites = Xml.parse(package.folder / "r.xml").getroot()
    assert len(suites) == 2
    properties = {one.get("name"): one.get("value") for one in suites[1].iter("property")}
    assert (properties["device"], properties["driver"]) == (vulkan.name, vulkan.driver)
    assert properties["axis"] == "minimum"
    assert [int(suite.get("tests")) for suite in suites] == [made["suite"]["cases"]] * 2
    assert vulkan.driver in (package.folder / "r.html").read_text(encoding="utf-8")
    # A finished run leaves no journal
    assert "continue with:" not in found.stderr
    shown = package.dml("conformance", "show", "r.json")
    assert shown.returncode == 0
    assert shown.stdout.split("\n\n", 1)[-1] == found.stdout.split("\n\n", 1)[-1]


def test_shards_merged_are_the_whole(package, vulkan):
    for shard in ("1/2", "2/2"):
        name = f"{shard[0]}.json"
        assert run(package, vulkan, "--quick", "--shard", shard, "--json", name).returncode == 0
    assert run(package, vulkan, "--quick", "--json", "whole.json").returncode == 0
    first, second, merged = (package.folder / name for name in ("1.json", "2.json", "merged.json"))
    assert invoke("merge", second, first, "-o", merged).exit_code == 0
    assert without_times(read(merged)) == without_times(read(package.folder / "whole.json"))
    twice = invoke("merge", first, first, "-o", package.folder / "no.json")
    assert (twice.exit_code, (package.folder / "no.json").exists()) == (3, False)
    assert "holds shard 1/2, as 1.json" in twice.stderr


def start(package, vulkan, *arguments):
    """Start a run of a few seconds in the background."""
    return subprocess.Popen(
        [*package.command, "conformance", "--device", vulkan.name, "--full", *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=package.folder, env=package.environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip


def wait_for_lines(process, path, count):
    while process.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") > count:
            return
        time.sleep(0.01)
    raise AssertionError(process.communicate())


def test_a_killed_run_is_resumed(package, vulkan):
    journal = package.folder / "killed.jsonl"
    with start(package, vulkan, "--resume", "killed.jsonl") as process:
        wait_for_lines(process, journal, 3)
        process.kill()
    before = journal.read_bytes()
    done = [json.loads(line)["outcome"]["case"] for line in before.splitlines()[1:]]
    journal.write_bytes(before + b'{"place": 0, "outcome": {"ca')  # killed while writing

    other = package.dml("conformance", "--resume", "killed.jsonl", "--quick")
    assert (other.returncode, "is the journal of another suite" in other.stderr) == (3, True)
    found = package.dml("conformance", "--resume", "killed.jsonl", "--json", "resumed.json")
    assert found.returncode == 0, found.stderr
    assert journal.read_bytes().startswith(before)
    lines = [json.loads(line)["outcome"]["case"] for line in journal.read_bytes().splitlines()[1:]]
    assert lines[: len(done)] == done
    assert len(set(lines)) == len(lines), "no case ran twice"
    made = read(package.folder / "resumed.json")
    assert made["runs"][0]["complete"]
    assert sorted(lines) == sorted(one["case"] for one in made["runs"][0]["results"])
    assert len(lines) == made["suite"]["cases"]


def test_an_interrupted_run_reports_its_results_and_how_to_resume(package, vulkan):
    journal = package.folder / "interrupted.jsonl"
    with start(package, vulkan, "--resume", "interrupted.jsonl", "--json", "interrupted.json") as process:
        wait_for_lines(process, journal, 2)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert "continue with: dml conformance --resume interrupted.jsonl" in errors
    assert "Traceback" not in errors
    (run,) = read(package.folder / "interrupted.json")["runs"]
    assert not run["complete"]
    reasons = {one["reason"] for one in run["results"] if one["status"] == "not_tested"}
    assert "the run ended before this case" in reasons


def invoke(*arguments):
    """Return a function that runs the command in this process."""
    return CliRunner().invoke(app, ["conformance", *map(str, arguments)], env={"COLUMNS": "200", "TERM": "dumb"})


def test_compare_exits_with_one_where_something_got_worse(tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    sample = sample_report()
    report.write(before, sample)
    worse = next(one for one in sample["runs"][0]["results"] if one["status"] == "passed")
    worse.update(status="unsupported", reason="the device has no such type")
    report.write(after, sample)

    same = invoke("compare", before, before)
    assert (same.exit_code, same.stdout) == (0, "0 worse, 0 gone, 0 better or new\n")
    told = f"{LAVAPIPE['name']} (plain): {worse['case']}: passed -> unsupported: the device has no such type"
    found = invoke("compare", before, after)
    assert (found.exit_code, found.stdout) == (1, f"worse: {told}\n1 worse, 0 gone, 0 better or new\n")
    found = invoke("compare", after, before)
    assert (found.exit_code, found.stdout.splitlines()[-1]) == (0, "0 worse, 0 gone, 1 better or new")
    assert invoke("compare", before, tmp_path / "none.json").exit_code == 3
    gone = sample["runs"][0]["results"].pop()
    report.write(after, sample)
    found = invoke("compare", before, after)
    assert found.exit_code == 1
    assert gone["case"] not in found.stdout
    assert found.stdout.endswith(f"gone: {LAVAPIPE['name']} (plain): 1 cases\n1 worse, 1 gone, 0 better or new\n")


def test_a_new_case_that_fails_is_worse(tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    sample = sample_report()
    report.write(after, sample)
    run, failed = report.failures(sample)[0]
    run["results"].remove(failed)
    report.write(before, sample)
    found = invoke("compare", before, after)
    assert found.exit_code == 1
    assert found.stdout.startswith("new: ")
    assert f"{failed['case']}: failed" in found.stdout
    assert found.stdout.endswith("1 worse, 0 gone, 0 better or new\n")


def test_reports_of_different_suites_are_not_compared(tmp_path):
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    sample = sample_report()
    report.write(before, sample)
    sample["suite"]["filter"] = ["GRU"]
    report.write(after, sample)
    found = invoke("compare", before, after)
    assert found.exit_code == 3
    assert "after.json has suite.filter ['GRU'], before.json has []" in found.stderr


@pytest.mark.parametrize("option", ["--json", "--junit", "--html"])
def test_an_unwritable_report_is_refused_before_the_run(tmp_path, monkeypatch, option):
    monkeypatch.setattr("dml.conformance.running.run", lambda *_: pytest.fail("it ran"))
    (tmp_path / "file").write_text("")
    for path, reason in ((tmp_path / "file" / "report", "exists|Not a directory"), (tmp_path, "Is a directory")):
        found = invoke("--quick", option, path)
        assert found.exit_code == 3
        assert re.search(rf"^{re.escape(str(path))}: cannot be written: .*{reason}", found.stderr, re.M), found.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_bug_report_has_the_device_and_the_failures(tmp_path):
    report.write(tmp_path / "sample.json", sample_report())
    found = invoke("show", tmp_path / "sample.json", "--bug-report")
    assert found.exit_code == 1
    for text in (
        "commit 0123456789abcdef0123456789abcdef01234567", "driver: example 1.2.3", "Vulkan: 1.3.289",
        "vendor id: 0x1234", "max_workgroup_invocations 1024", "float16 yes", "dml conformance --case 'GRU:",
    ):  # fmt: skip
        assert text in found.stdout


@pytest.mark.parametrize(("arguments", "code", "message"), [
    (["--device", "no such device"], 3, "no Vulkan device 'no such device'"),
    (["--as", "discreet"], 2, "--as discreet: unknown axis; the axes are plain, discrete"),
    (["--filter", "NOTHING"], 2, "--filter NOTHING: no case of the default suite matches"),
    (["--case", "ELEMENT_WISE_ADD:sizes=nine"], 2, "sizes has no value 'nine'; it has 2x3x5, 1, 13"),
    (["--case", "ELEMENT_WISE_ADD:sizes=0x2x3"], 2, "--case ELEMENT_WISE_ADD:sizes=0x2x3: ELEMENT_WISE_ADD.ATensor"),
    (["--shard", "3/2"], 2, "--shard 3/2: must be i/n"),
    (["--resume", "/dev/null"], 3, "/dev/null is not a journal"),
    (["--quick", "--full"], 2, "exclude each other"),
    (["--dump", "folder"], 2, "--dump needs --case"),
    (["--case", "ELEMENT_WISE_ADD", "--quick"], 2, "--case excludes"),
    (["show", "/dev/null"], 3, "/dev/null is not a report"),
])  # fmt: skip
def test_impossible_options_are_one_line_errors(monkeypatch, arguments, code, message):
    use_few(monkeypatch)
    found = invoke(*arguments)
    assert found.exit_code == code, found.output
    assert message in found.stderr
    assert found.stdout == ""


def test_without_devices_packages_to_install_are_named(package):
    found = package.dml("conformance", "--quick", VK_DRIVER_FILES="/dev/null", VK_ICD_FILENAMES="/dev/null")
    assert found.returncode == 3
    assert "install Vulkan's loader and a driver" in found.stderr
    assert len(found.stderr.splitlines()) == 1
