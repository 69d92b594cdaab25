"""ARCHITECTURE.md is true: its layers match the linter's settings, and its path of an operator matches the actual
calls."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.lowering import implemented

tomllib = pytest.importorskip("tomllib")  # new in Python 3.11

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
#: `dml/file.py` `function` or `Class.method`
FUNCTION = r"`(dml/[\w/]+\.py)` `([\w.]+)`"


def codes(path: str, name: str) -> set[CodeType]:
    """Return the code of a function, and of the functions that it wraps."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return set(_layers(found))


def _layers(function: Any) -> list[CodeType]:
    inner = getattr(function, "__wrapped__", None)
    return [function.__code__, *(_layers(inner) if inner is not None else ())]


def calls_of_an_operator(device: dml.Device) -> list[CodeType]:
    """Return the functions called, in order, when REVERSE_SUBSEQUENCES is described and dispatched on arrays."""
    # Sizes that no other test uses: a description already compiled calls few functions
    x = np.arange(3 * 1013, dtype=np.float32).reshape(1, 1, 3, 1013)
    lengths = np.array([2, 4, 3], np.uint32).reshape(1, 1, 3, 1)
    tensors = [dml.DML_BUFFER_TENSOR_DESC(dml.data_type_of(array.dtype), array.shape) for array in (x, lengths)]
    implemented()  # imports the families: importing modules calls functions, too
    called: list[CodeType] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            called.append(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        desc = dml.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(tensors[0], tensors[1], tensors[0], Axis=3)
        result = dml.dispatch(desc, {"InputTensor": x, "SequenceLengthsTensor": lengths}, device)
    finally:
        sys.setprofile(before)
    assert result["OutputTensor"][0, 0, 0, :4].tolist() == [1, 0, 2, 3]
    return called


def test_calls_follow_the_described_path(device: dml.Device) -> None:
    steps = re.findall(rf"^\d+\. {FUNCTION}", TEXT, re.M)
    assert len(steps) == len(re.findall(r"^\d+\. ", TEXT, re.M)) > 15
    called = calls_of_an_operator(device)
    at = 0
    for path, name in steps:
        wanted = codes(path, name)
        found = next((n for n in range(at, len(called)) if called[n] in wanted), None)
        assert found is not None, f"{path} {name} is not entered after the step before it"
        at = found + 1


def test_every_function_named_exists() -> None:
    for path, name in re.findall(FUNCTION, TEXT):
        assert codes(path, name)


def test_the_layers_are_those_of_the_linter() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    names = [layer.strip("()") for layer in contract["layers"]]
    there = [n for n in names if any((ROOT / "dml" / f).exists() for f in (n, f"{n}.py")) and n != "__main__"]
    rows = re.findall(r"^\| (`dml/.*?) \|", TEXT, re.M)
    assert [n.removesuffix(".py") for row in rows for n in re.findall(r"`dml/([\w.]+)/?`", row)] == there


def test_every_layer_has_the_families() -> None:
    listed = re.search(r"The families \((.*?)\) have the same names", TEXT, re.S)
    assert listed
    for family in listed[1].replace("\n", " ").split(", "):
        for folder in ("dml/descriptors", "dml/validator", "dml/compiler/operators", "tests/operators", "shaders"):
            assert (ROOT / folder / family).is_dir() or (ROOT / folder / f"{family}.py").is_file(), (folder, family)
