"""`dml support`: an operator's tensors, parts of names, all operators, differences between levels, JSON."""

from __future__ import annotations

import json
import re

import pytest
from rich.console import Console
from typer.testing import CliRunner

import dml
from dml.cli import app, tables
from dml.words import html_table


def run(*arguments):
    return CliRunner().invoke(app, ["support", *arguments])


def rows(output):
    """Return the cells of each row of a table."""
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in output.splitlines() if "│" in line]


def test_it_shows_an_operators_tensors():
    result = run("GRU", "--feature-level", "3_0")
    assert result.exit_code == 0
    assert "GRU at feature level 3_0" in result.output
    assert ["SequenceLengthsTensor", "optional input", "4", "UINT32"] in rows(result.output)


@pytest.mark.parametrize("spelling", ["gemm", "DML_OPERATOR_GEMM", "DML_GEMM_OPERATOR_DESC"])
def test_it_shows_symbolic_sizes(spelling):
    assert "{ [BatchCount], [ChannelCount], M, K }" in run(spelling).output


def test_a_reduce_function():
    output = run("REDUCE", "--function", "ARGMAX", "--feature-level", "2.1").output
    (row,) = [row for row in rows(output) if row[0] == "OutputTensor"]
    assert row[3].endswith("UINT32")
    assert "FLOAT32" not in row[3]


def test_it_lists_every_operator_and_how_many_a_level_has():
    result = run("--feature-level", "6_3")
    listed = rows(result.output)
    assert sum(row[2] in ("yes", "no") for row in listed) == len(dml.operators())
    assert ["FOLD", "6_4", "no", "no"] in listed
    assert ["ELEMENT_WISE_IDENTITY", "1_0", "yes", "yes"] in listed
    available = sum(row[2] == "yes" for row in listed)
    every = len(dml.operators())
    assert result.output.splitlines()[-1] == f"{available} of {every} available, {every} of {every} implemented"
    assert available < len(dml.operators())


def test_a_part_of_one_name_shows_that_operator():
    assert run("GELU").output == run("ACTIVATION_GELU").output
    assert "ACTIVATION_GELU at feature level" in run("gelu").output


@pytest.mark.parametrize("part", ["RELU", "softmax", "CONV"])
def test_a_part_of_several_names_lists_them(part):
    result = run(part)
    assert result.exit_code == 0
    names = [row[0] for row in rows(result.output)]
    assert len(names) >= 3
    assert all(part.upper() in name for name in names)
    assert "InputTensor" not in result.output


def test_several_operators():
    output = run("GRU", "GEMM", "--feature-level", "3_0").output
    assert output.index("GRU at feature level 3_0") < output.index("GEMM at feature level 3_0")
    assert "RecurrenceTensor" in output
    assert "ATensor" in output


def test_json_of_operators():
    (gru, softmax, *more) = json.loads(run("GRU", "SOFTMAX", "--feature-level", "3_0", "--json").output)["operators"]
    assert gru["tensors"]["SequenceLengthsTensor"] == {
        "kind": "input", "optional": True, "array": False, "dimension_counts": [4, 4], "data_types": ["UINT32"],
        "sizes": None, "choice": None,
    }  # fmt: skip
    assert (gru["since"], gru["available"], gru["in_place"]) == ("1_0", True, False)
    assert all("SOFTMAX" in other["operator"] for other in (softmax, *more))
    result = run("FOLD", "--feature-level", "6_3", "--json")
    assert result.exit_code == run("FOLD", "--feature-level", "6_3").exit_code == 1
    assert json.loads(result.output)["operators"][0]["available"] is False


def test_json_of_all():
    found = json.loads(run("--json", "--feature-level", "1_0").output)
    assert found["of"] == len(found["operators"]) == len(dml.operators())
    assert found["available"] == sum(one["available"] for one in found["operators"])


def test_differences_between_levels():
    result = run("--diff", "5_0", "6_4")
    listed = rows(result.output)
    assert ["FOLD", "", "the operator"] in listed
    add = next(row for row in listed if row[0] == "ELEMENT_WISE_ADD")
    assert add[1:] == ["ATensor, BTensor, OutputTensor", "also UINT16, UINT8, INT16, INT8"]
    assert not any(row[0] == "GRU" for row in listed)
    new = sum(row[2] == "the operator" for row in listed)
    assert f"of those here {new} are new" in result.output
    found = json.loads(run("--diff", "6_4", "5_0", "--json").output)  # levels in either order
    assert found["newer"]["available"] - found["older"]["available"] == new
    assert sum(one["new"] for one in found["operators"]) == new
    by_name = {one["operator"]: one["changes"] for one in found["operators"]}
    assert by_name["ELEMENT_WISE_ADD"]["ATensor"] == {
        "is_new": False, "data_types_added": ["UINT16", "UINT8", "INT16", "INT8"], "data_types_removed": [],
        "dimension_counts": [1, 8], "dimension_counts_before": [1, 8], "optional": False, "optional_before": False,
        "sizes": None, "sizes_before": None,
    }  # fmt: skip
    assert by_name["FOLD"]["InputTensor"]["is_new"]


def test_a_difference_of_one_operator():
    (found,) = dml.support_difference("1_0", "3_0", ["ELEMENT_WISE_IDENTITY"])
    assert not found.is_new
    old, new = found.tensors["InputTensor"]
    assert old is not None
    assert old.data_types < new.data_types
    assert found.changes()["InputTensor"].endswith("; 1 to 8 dimensions, before 4 to 5")
    assert dml.support_difference("3_0", "3_0") == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("GRUU",), "operator type: must be a DML_OPERATOR_TYPE, found 'GRUU'; near it: GRU"),
        (("GRU", "--feature-level", "7_0"), "--feature-level: must be a DML_FEATURE_LEVEL, found '7_0'"),
        (("REDUCE", "--function", "SUMM"), "--function: must be a DML_REDUCE_FUNCTION, found 'SUMM'; near it: SUM"),
        (("--diff", "5_0", "9_9"), "--feature-level: must be a DML_FEATURE_LEVEL, found '9_9'"),
        (("FOLD", "--feature-level", "6_3"), "FOLD is not available at feature level 6_3: it came with 6_4"),
        (("INVALID",), "must be a DML_OPERATOR_TYPE that names an operator"),
    ],
)
def test_wrong_arguments_are_reported(arguments, message):
    result = run(*arguments)
    assert result.exit_code == (2 if message.startswith("--feature-level") else 1)
    assert message in result.stderr
    assert result.stdout == ""


def test_the_answer_in_python_is_a_mapping_with_words_and_a_table():
    found = dml.operator_support("GEMM", "3_0")
    assert found is not None
    assert dict(found)["ATensor"] is found["ATensor"]
    assert repr(found).startswith("<GEMM at feature level 3_0: ATensor: input, 4, FLOAT32, FLOAT16; BTensor: ")
    page = found._repr_html_()
    assert page.count("<tr>") == 1 + len(found)
    assert "GEMM at feature level 3_0" in page


def test_html_tables_escape():
    page = html_table("<x>", ["a&b"], [["<script>", 3]])
    assert "<script>" not in page
    assert "&lt;x&gt;" in page
    assert "<td>3</td>" in page


def test_questions_of_a_back_ends_author_as_text():
    """Introduction, in-place support, a data type, and this project's choices."""
    assert "GRU: since 1_0, cannot write an output over an input" in run("GRU").output
    assert "can write an output over an input" in run("ELEMENT_WISE_ADD").output
    listed = rows(run("--in-place").output)
    assert ["ELEMENT_WISE_ADD", "1_0", "yes", "ATensor, BTensor, OutputTensor"] in listed
    assert not any(row[0] == "GEMM" for row in listed)
    assert any(row[0] == "GEMM" for row in rows(run("--not-in-place").output))
    result = run("--data-type", "FLOAT64", "--feature-level", "2_1")
    assert "FLOAT64 is not a tensor data type at feature level 2_1; it came with 3_0" in result.output
    assert "0 operators" in result.output
    result = run("CAST", "IDENTITY", "GRU", "--data-type", "FLOAT64", "--feature-level", "4_1")
    assert {row[0] for row in rows(result.output)} == {"ELEMENT_WISE_IDENTITY", "CAST"}
    fold = rows(run("FOLD").output)
    assert ["InputTensor", "input", "3 to 8", "FLOAT32, FLOAT16", "the reference leaves the data types out"] in fold
    assert any("UINT32 by the text" in row[-1] for row in rows(run("ADAM").output))
    assert run("--data-type", "FLOAT65").exit_code == 1


def test_questions_of_a_back_ends_author_as_json():
    found = json.loads(run("--data-type", "FLOAT64", "--in-place", "--json").output)
    assert found["data_type"] == {"name": "FLOAT64", "supported": True, "since": "3_0"}
    names = [one["operator"] for one in found["operators"]]
    wanted = dml.supported_operators("6_4", in_place=True, data_type="FLOAT64")
    assert names == [kind.name.removeprefix("DML_OPERATOR_") for kind in wanted]
    assert all(one["in_place"] for one in found["operators"])
    fold = json.loads(run("UNFOLD", "--json").output)["operators"][0]
    assert fold["tensors"]["InputTensor"]["choice"] == "the reference leaves the data types out"


def test_the_lowest_level_of_a_file(tmp_path):
    tensor = {"DataType": "INT64", "Sizes": [2, 3]}
    path = tmp_path / "identity.json"
    path.write_text(json.dumps({
        "Type": "ELEMENT_WISE_IDENTITY", "Desc": {"InputTensor": tensor, "OutputTensor": tensor}
    }))  # fmt: skip
    level = dml.needed_level(path)
    result = run("--lowest", str(path))
    short = level.name.removeprefix("DML_FEATURE_LEVEL_")
    assert result.output.splitlines() == [f"{path}: feature level {short}", "  ELEMENT_WISE_IDENTITY"]
    found = json.loads(run("--lowest", str(path), "--json").output)
    assert found["feature_level"] == short
    assert found["operators"] == [{"what": "ELEMENT_WISE_IDENTITY", "feature_level": short}]
    result = run("--lowest", str(tmp_path / "model.txt"))
    assert result.exit_code == 1
    assert ".onnx" in result.stderr


@pytest.mark.parametrize("columns", [50, 80, 120])
@pytest.mark.parametrize(
    "options", [(), ("GRU",), ("--data-type", "FLOAT64"), ("--not-in-place",), ("--diff", "1_0", "6_4")]
)
def test_a_terminal_breaks_no_name(monkeypatch, options, columns):
    """Columns wrap between words; if that is not enough, rows become lines of text."""
    names = set(re.findall(r"[A-Z][A-Za-z0-9_]{5,}", run(*options).output))
    monkeypatch.setattr(
        tables, "Console", lambda width=columns: Console(width=width, force_terminal=True, no_color=True)
    )
    output = re.sub(r"\x1b\[[0-9;]*m", "", run(*options).output)
    tabular = [line for line in output.splitlines() if line.startswith(("┏", "│", "  "))]
    assert max(map(len, tabular)) <= columns
    assert names - set(re.findall(r"\w+", output)) == set()
