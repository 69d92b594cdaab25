"""The cases of a suite: sizes, seeds, filters, shards."""

from __future__ import annotations

import pytest
from few_suite import use_few

import dml
from dml.conformance.suite import Suite, from_record, parse_shard


@pytest.fixture(autouse=True)
def few(monkeypatch):
    use_few(monkeypatch)


def test_sizes_hold_more_and_more():
    quick, default, full = (Suite(size).cases() for size in ("quick", "default", "full"))
    assert 0 < len(quick) < len(default) < len(full)
    assert len(set(full)) == len(full)
    for cases in (quick, default, full):
        assert {case.partition(":")[0] for case in cases} == {
            "ELEMENT_WISE_ADD", "ACTIVATION_RELU", "REVERSE_SUBSEQUENCES",
        }  # fmt: skip


def test_a_seed_chooses_other_combinations_of_the_same_number_of_labels():
    assert Suite(seed=1).cases() == Suite(seed=1).cases() != Suite(seed=2).cases()


def test_shards_are_the_whole():
    whole = Suite().cases()
    parts = [Suite(shard=(at, 3)).cases() for at in (1, 2, 3)]
    assert sorted(case for part in parts for case in part) == sorted(whole)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_filters():
    whole = Suite().cases()
    assert Suite(filter=("element_wise_add",)).cases() == [c for c in whole if c.startswith("ELEMENT_WISE_ADD:")]
    assert Suite(filter=("float16",)).cases() == [case for case in whole if "FLOAT16" in case]
    both = Suite(filter=("ACTIVATION_RELU", "layout=padded")).cases()
    assert both == [case for case in whole if case.startswith("ACTIVATION_RELU:") or "layout=padded" in case]
    with pytest.raises(
        dml.DMLError, match="--filter ACTIVATION_RELUU: no case of the default suite matches; did you mean"
    ):
        Suite(filter=("ACTIVATION_RELUU",)).cases()


def test_exactly_these():
    assert Suite(only=("ACTIVATION_RELU:sizes=13,type=FLOAT32",)).cases() == ["ACTIVATION_RELU:type=FLOAT32,sizes=13"]
    with pytest.raises(dml.DMLError, match="--case RELU: no operator 'RELU'"):
        Suite(only=("RELU",)).cases()


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "1", "a/b", "1/2/3", "-1/2"])
def test_invalid_shards(text):
    with pytest.raises(dml.DMLError, match=f"--shard {text}: must be i/n"):
        parse_shard(text)


@pytest.mark.parametrize("suite", [Suite(), Suite("full", 3, ("A", "b"), (), (2, 4)), Suite(only=("ACTIVATION_RELU",))])
def test_a_record_is_read_back(suite):
    assert from_record(suite.record(7)) == suite
    assert suite.record(7)["cases"] == 7
