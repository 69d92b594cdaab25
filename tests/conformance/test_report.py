"""The report's file: its schema, its order, and errors."""

from __future__ import annotations

import json

import jsonschema
import pytest
from sample_report import sample_report

import dml
from dml.conformance import report

SCHEMA = json.loads(report.SCHEMA.read_text(encoding="utf-8"))


def test_the_schema_is_one_and_the_sample_fits_it():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(sample_report(), SCHEMA, jsonschema.Draft202012Validator)


def test_the_sample_has_everything():
    sample = sample_report()
    assert len(sample["runs"]) == 3
    for run in sample["runs"]:
        assert set(report.counts(run["results"])) == set(report.STATUSES)
        assert sum(report.counts(run["results"]).values()) == len(run["results"]) == sample["suite"]["cases"]
    statuses = {outcome["status"] for run in sample["runs"] for outcome in run["results"]}
    assert statuses == set(report.STATUSES)
    assert {outcome["failure"]["index"] is None for _, outcome in report.failures(sample)} == {True, False}


@pytest.mark.parametrize("change", [
    {"status": "failed"},  # without a failure
    {"status": "unsupported"},  # without a reason
    {"status": "broken"},
    {"histogram": [1] * 7},
    {"more": 1},
])  # fmt: skip
def test_the_schema_refuses(change):
    sample = sample_report()
    run = sample["runs"][0]
    run["results"] = [next(outcome for outcome in run["results"] if outcome["status"] == "passed") | change]
    sample["runs"] = [run]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(sample, SCHEMA, jsonschema.Draft202012Validator)


def test_written_reports_are_read_back(tmp_path):
    path = tmp_path / "made" / "report.json"
    report.write(path, sample_report())
    assert report.read(path) == sample_report()


def broken(change):
    sample = json.loads(json.dumps(sample_report()))
    change(sample)
    return json.dumps(sample)


@pytest.mark.parametrize(("text", "message"), [
    ("{", "is not a report: Expecting"),
    ("[]", "its 'format' is not 'dml-conformance'"),
    ('{"format": "dml-conformance", "version": 1}', "a report of version 1; this dml reads version 2"),
    ('{"format": "dml-conformance", "version": 2}', "created: is missing"),
    (broken(lambda r: r["suite"].pop("seed")), "suite.seed: is missing"),
    (broken(lambda r: r.update(runs={})), "runs: must be an array"),
    (broken(lambda r: r["runs"][0]["device"].pop("axis")), "runs[0].device.axis: is missing"),
    (broken(lambda r: r["runs"][1]["results"][2].update(status="")), "runs[1].results[2].status: must be one of"),
])  # fmt: skip
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "report.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(dml.DMLError) as caught:
        report.read(path)
    assert str(path) in caught.value.message
    assert message in caught.value.message


def test_files_that_cannot_be_used_are_named(tmp_path):
    with pytest.raises(dml.DMLError, match="cannot be read: No such file"):
        report.read(tmp_path / "none.json")
    (tmp_path / "file").write_text("")
    with pytest.raises(dml.DMLError, match="cannot be written: File exists"):
        report.write(tmp_path / "file" / "report.json", sample_report())


def test_the_reports_origin():
    made = report.started({"size": "quick"})
    assert made["dml_version"] == dml.__version__
    assert made["commit"] is None or len(made["commit"].removesuffix("-dirty")) == 40
    assert made["python"].startswith("3.")
