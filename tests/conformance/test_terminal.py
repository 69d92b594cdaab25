"""Reports on a terminal, and as JUnit XML for CI."""

from __future__ import annotations

import io
from xml.etree import ElementTree as Xml

import pytest
from rich.console import Console
from sample_report import sample_report

from dml.conformance import report, terminal
from dml.conformance.junit import junit


@pytest.fixture
def sample():
    return sample_report()


def shown(made, **options):
    console = Console(width=200, record=True, highlight=False, file=io.StringIO())
    terminal.show(console, made, **options)
    return console.export_text()


def rows(text, start):
    lines = [line[1:-1].split("│") for line in text.splitlines() if line.startswith(f"│ {start} ")]
    return [[cell.strip() for cell in line] for line in lines]


def test_a_row_per_operator(sample):
    text = shown(sample)
    assert rows(text, "GRU")[2] == ["GRU", "40", "8", "", "", "", "384", "6", "6400%"]
    assert rows(text, "CUMULATIVE_SUMMATION")[0][1:] == ["54", "", "", "", "", "0", "exact", ""]
    assert rows(text, "CUMULATIVE_SUMMATION")[1][6] == "no number"
    for run in sample["runs"]:
        counts = report.counts(run["results"])
        passed, failed, loose, untested = (counts[status] for status in ("passed", "failed", "loose", "not_tested"))
        assert f"{passed} passed, {failed} failed, {loose} loose, {untested} not tested, " in text


def test_a_row_per_data_type(sample):
    found = rows(shown(sample, by_type=True), "GRU")
    assert [row[1] for row in found] == ["FLOAT16", "FLOAT32"] * 3
    assert found[4][2:4] == ["16", "8"]


def test_failures_are_shown_in_full_one_of_each_kind_first(sample):
    text = shown(sample, failures=2)
    _, failed = report.failures(sample)[-1]
    assert failed["operator"] == "ROI_ALIGN"
    assert text.count("\n  again: dml conformance --case ") == 4
    assert [line for line in text.splitlines() if line.startswith("failed: ROI_ALIGN")]
    assert "9 more; all 11 failures:\n  GRU FLOAT16: 8 cases\n  ROI_ALIGN FLOAT32: 3 cases" in text
    assert "54 of CUMULATIVE_SUMMATION, ELEMENT_WISE_ADD, GATHER: needs 5 storage buffers" in text


def test_incomplete_runs_are_marked(sample):
    sample["runs"][0]["complete"] = False
    assert "s; not complete" in shown(sample)


def test_texts_are_no_markup(sample):
    _, failed = report.failures(sample)[0]
    failed["failure"]["message"] = "at [0, 1]: found [red]1[/red]"
    assert "at [0, 1]: found [red]1[/red]" in shown(sample)


def test_junit(sample):
    run, failed = report.failures(sample)[0]
    failed["failure"]["message"] = "a \x00 byte & <more>\nand a second line"
    root = Xml.fromstring(junit(sample).encode())
    suites = root.findall("testsuite")
    for suite, one in zip(suites, sample["runs"], strict=True):
        counts = report.counts(one["results"])
        assert int(suite.get("failures")) == counts["failed"] == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped")) == counts["not_tested"] + counts["unsupported"]
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        properties = {each.get("name"): each.get("value") for each in suite.iter("property")}
        assert (properties["driver"], properties["axis"]) == (one["device"]["driver"], one["device"]["axis"])
    told = suites[sample["runs"].index(run)].find("testcase/failure")
    assert told.get("message") == "a \ufffd byte & <more>"
    assert told.text.endswith(f"again: {failed['failure']['command']}")
    skipped = suites[2].find("testcase/skipped").get("message")
    assert skipped.startswith(("not tested: ", "unsupported: "))
