"""A class name has one meaning in the whole package."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import dml

ROOT = Path(dml.__file__).parent

#: Class names of Microsoft's PyDirectML, which programs written for it use.
PYDIRECTML = {"Binding", "Device", "Model"}
#: Class names of onnxruntime-genai, used for the same reason.
GENAI = {"Model", "Tensor"}
#: Class names of openvino, used for the same reason.
OPENVINO = {"Model", "Tensor"}


def classes() -> dict[str, list[str]]:
    """Return every top-level class name, and the modules that define it."""
    found = defaultdict(list)
    for path in sorted(ROOT.rglob("*.py")):
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(statement, ast.ClassDef):
                found[statement.name].append(path.relative_to(ROOT).as_posix())
    return found


def test_class_names_are_unique():
    found = classes()
    assert len(found) > 177, "the operators' structures alone"
    for name in PYDIRECTML:
        found[name] = [where for where in found[name] if not where.startswith("frontends/pydirectml/")]
    for name in GENAI:
        found[name] = [where for where in found[name] if not where.startswith("frontends/genai/")]
    for name in OPENVINO:
        found[name] = [where for where in found[name] if not where.startswith("frontends/openvino/")]
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


def test_the_exceptions_are_names_of_pydirectml():
    from dml.frontends import pydirectml

    assert {name for name in PYDIRECTML if isinstance(getattr(pydirectml, name, None), type)} == PYDIRECTML


def test_the_exceptions_are_names_of_onnxruntime_genai():
    from dml.frontends import genai

    assert {name for name in GENAI if isinstance(getattr(genai, name, None), type)} == GENAI


def test_the_exceptions_are_names_of_openvino():
    from dml.frontends import openvino

    assert {name for name in OPENVINO if isinstance(getattr(openvino, name, None), type)} == OPENVINO
