"""Merging reports of shards and devices, and refusing reports of different suites."""

from __future__ import annotations

import copy

import pytest
from sample_report import sample_report

import dml
from dml.conformance import report
from dml.conformance.merging import merge


def shards(count, whole):
    """Split a whole report into shards."""
    parts = []
    for index in range(count):
        part = copy.deepcopy(whole)
        part["suite"]["shard"] = f"{index + 1}/{count}"
        for run in part["runs"]:
            run.update(results=run["results"][index::count], shard=f"{index + 1}/{count}", seconds=1.0)
        part["suite"]["cases"] = len(part["runs"][0]["results"])
        parts.append(part)
    return parts


def test_all_shards_merge_to_the_whole():
    whole = sample_report()
    for run in whole["runs"]:
        run["seconds"] = 3.0
    first, second, third = shards(3, whole)
    assert merge([third, first, second], "abc") == whole
    half = merge([first, third], "ac")
    assert (half["suite"]["shard"], half["runs"][0]["shard"]) == ("1+3/3", "1+3/3")
    assert merge([half, second], ["half", "b"]) == whole


def test_devices_are_listed_separately():
    whole = sample_report()
    one, other = copy.deepcopy(whole), copy.deepcopy(whole)
    one["runs"], other["runs"] = whole["runs"][:1], whole["runs"][1:]
    assert merge([one, other], "ab") == whole


def test_several_devices_of_a_kind_stay_apart():
    whole = sample_report()
    whole["runs"] = [whole["runs"][0], copy.deepcopy(whole["runs"][0])]
    whole["runs"][1]["results"][0]["seconds"] = 7.0
    for run in whole["runs"]:
        run["seconds"] = 2.0
    assert merge(shards(2, whole), "ab") == whole


def test_a_device_that_lacks_a_shard_is_not_complete():
    whole = sample_report()
    first, second = shards(2, whole)
    second["runs"] = second["runs"][:1]
    merged = merge([first, second], "ab")
    assert merged["suite"]["shard"] == "1/1"
    assert [(run["shard"], run["complete"]) for run in merged["runs"]] == [
        ("1/1", True),
        ("1/2", False),
        ("1/2", False),
    ]


@pytest.mark.parametrize(("change", "message"), [
    (lambda r: r.update(commit="other"), "b has commit 'other', a has '0123"),
    (lambda r: r["suite"].update(seed=1), "b has suite.seed 1, a has 0"),
    (lambda r: r["suite"].update(only=["GRU"]), r"b has suite.only \['GRU'\], a has None"),
    (lambda r: None, "b, llvmpipe: holds shard 1/1, as a, llvmpipe does"),
    (lambda r: r["suite"].update(shard="1/2"), "b: is shard 1/2, a is of 1 shards"),
])  # fmt: skip
def test_reports_of_different_suites_are_refused(change, message):
    other = sample_report()
    change(other)
    with pytest.raises(dml.DMLError, match=message):
        merge([sample_report(), other], "ab")


def test_a_merged_report_is_one():
    assert report.counts(merge(shards(4, sample_report()), "abcd")["runs"][0]["results"])["passed"] > 100
