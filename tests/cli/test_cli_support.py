"""The `dml` command."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import dml
from dml.cli import app


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_support_shows_an_operators_tensors():
    result = run("support", "GRU", "--feature-level", "3_0")
    assert result.exit_code == 0
    assert "GRU at feature level 3_0" in result.output
    (row,) = [line for line in result.output.splitlines() if "SequenceLengthsTensor" in line]
    assert [cell.strip() for cell in row.strip("│").split("│")] == [
        "SequenceLengthsTensor",
        "optional input",
        "4",
        "UINT32",
    ]


@pytest.mark.parametrize("spelling", ["gemm", "DML_OPERATOR_GEMM"])
def test_support_shows_symbolic_sizes(spelling):
    assert "{ [BatchCount], [ChannelCount], M, K }" in run("support", spelling).output


def test_support_of_a_reduce_function():
    output = run("support", "REDUCE", "--function", "ARGMAX", "--feature-level", "2.1").output
    (row,) = [line for line in output.splitlines() if "OutputTensor" in line]
    assert row.rstrip("│ ").endswith("UINT32")
    assert "FLOAT32" not in row


def test_support_lists_every_operator():
    output = run("support", "--feature-level", "6_3").output
    assert sum("│ yes " in line or "│ no " in line for line in output.splitlines()) == len(dml.operators())
    (fold,) = [line for line in output.splitlines() if "│ FOLD " in line]
    (identity,) = [line for line in output.splitlines() if "│ ELEMENT_WISE_IDENTITY " in line]
    assert [cell.strip() for cell in fold.strip("│").split("│")][1:3] == ["6_4", "no"]
    assert [cell.strip() for cell in identity.strip("│").split("│")][1:] == ["1_0", "yes", "yes"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("GRUU",), "no operator 'GRUU'; near it: GRU"),
        (("GRU", "--feature-level", "7_0"), "no feature level '7_0'"),
        (("FOLD", "--feature-level", "6_3"), "FOLD is not available at feature level 6_3: it came with 6_4"),
        (("INVALID",), "must be a DML_OPERATOR_TYPE that names an operator"),
    ],
)
def test_support_says_what_is_wrong(arguments, message):
    result = subprocess.run(
        [sys.executable, "-m", "dml", "support", *arguments], capture_output=True, text=True, env={"COLUMNS": "200"}
    )
    assert result.returncode == 1
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_devices_lists_devices_or_says_what_is_missing():
    result = subprocess.run([sys.executable, "-m", "dml", "devices"], capture_output=True, text=True)
    assert "Traceback" not in result.stderr
    if result.returncode == 0:
        assert "subgroup" in result.stdout
    else:
        assert "Vulkan" in result.stderr
