"""The journal's file: errors, and reports of cases that are not in it."""

from __future__ import annotations

import json

import pytest
from few_suite import use_few
from sample_report import CARD, LAVAPIPE

import dml
from dml.conformance import report
from dml.conformance.journal import Journal, PlacePart

CASES = ["ACTIVATION_RELU:type=FLOAT32", "ACTIVATION_RELU:type=FLOAT16"]


@pytest.fixture
def path(monkeypatch, tmp_path):
    """Write a journal of two devices with one case of the first."""
    use_few(monkeypatch)
    path = tmp_path / "run.jsonl"
    head = report.started({"size": "quick", "seed": 0, "filter": [], "shard": "1/1", "cases": 2})
    outcome = {"case": CASES[0], "operator": "ACTIVATION_RELU", "status": "failed"}
    with Journal.begin(path, head, [LAVAPIPE, CARD]) as journal:
        journal.add(0, outcome, 1.5)
        journal.add(0, {**outcome, "status": "passed"}, 2.5)
    return path


def test_the_last_outcome_counts_and_other_cases_are_not_tested(path):
    made = Journal.resume(path).report([PlacePart(CASES, None)] * 2, ["the run was ended", "the device was lost"])
    first, second = made["runs"]
    assert [one["status"] for one in first["results"]] == ["not_tested", "passed"]
    assert (first["seconds"], first["complete"]) == (2.5, False)
    assert {one["reason"] for one in second["results"]} == {"the device was lost"}


def test_half_a_line_is_taken_away(path):
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"place": 1, "seco')
    assert Journal.resume(path).found[1] == {}
    assert path.read_bytes() == whole


def change_head(path, **changes):
    head, _, rest = path.read_text().partition("\n")
    found = json.loads(head)
    found["report"].update(changes)
    path.write_text(json.dumps(found) + "\n" + rest)


def test_a_journal_of_another_checkout_is_refused(path):
    change_head(path, commit="another")
    with pytest.raises(dml.DMLError, match=r"run\.jsonl: its commit is another, this run's is .*: start a new run"):
        Journal.resume(path)


@pytest.mark.parametrize(("text", "message"), [
    ("", "is not a journal of dml conformance: pop from empty list"),
    ("{}\n", "is not a journal"),
    ('{"format": "dml-conformance-journal", "version": 2}\n', "a journal of version 2; this dml reads version 1"),
    ('{"format": "dml-conformance", "version": 1}\n', "is not a journal"),
])  # fmt: skip
def test_other_files_are_refused_and_unchanged(path, text, message):
    path.write_text(text)
    with pytest.raises(dml.DMLError, match=message):
        Journal.resume(path)
    assert path.read_text() == text
