"""The page "What is public" lists the names that each public module has, and no others."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from dml.errors import DMLError

PAGE = Path(__file__).resolve().parent.parent / "tools" / "documentation" / "guide" / "public.md"
SECTIONS = re.findall(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def is_of_directml(module: str, name: str) -> bool:
    """Return whether a name is from directml.h: the page describes these by a rule."""
    return name.startswith("DML_") if module == "dml" else module.endswith(".pydirectml") and name.isupper()


@pytest.mark.parametrize(("module", "text"), SECTIONS, ids=[module for module, _ in SECTIONS])
def test_the_page_lists_a_modules_names(module: str, text: str) -> None:
    try:
        names = importlib.import_module(module).__all__
    except DMLError as error:
        pytest.skip(error.message)  # an extra is not installed
    listed = re.findall(r"`(\w+)`", text.strip().split("\n\n", 1)[1])
    assert listed == sorted(name for name in names if not is_of_directml(module, name))


def test_the_page_has_every_module_that_is_imported_by_name() -> None:
    """It has every front end, and every module that the README and the guides import."""
    listed = {module for module, _ in SECTIONS}
    documents = [PAGE.parents[3] / "README.md", *PAGE.parent.glob("*.md")]
    blocks = re.findall(
        r"^```python.*?\n(.*?)^```$", "\n".join(one.read_text(encoding="utf-8") for one in documents), re.M | re.S
    )
    used = re.findall(r"^(?:from|import) (dml[\w.]*)", "\n".join(blocks), re.M)
    assert set(used) <= listed, sorted(set(used) - listed)
