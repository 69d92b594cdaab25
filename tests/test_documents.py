"""The documents are true: their sessions run, block after block, and the files they name exist.

A block of ```python runs in the document's session, a block with a name after its language (```json model.json) is a
file that the session finds, and ```console has commands and, below them, lines of their output.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from example_module import example
from speech_folder import tone, wav, write_speech_folder
from test_contributing import insertions

ROOT = Path(__file__).resolve().parent.parent
GUIDE = sorted((ROOT / "tools" / "documentation" / "guide").glob("*.md"))
DOCUMENTS = [*(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")), *GUIDE]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.M | re.S)


def blocks(document: Path) -> list[tuple[str, str, str]]:
    """Return (language, file name or nothing, text) of each block that is run or written."""
    found = BLOCK.findall(document.read_text(encoding="utf-8"))
    return [(language, name, text) for language, name, text in found if name or language in ("python", "console")]


WITH_SESSIONS = [document for document in DOCUMENTS if blocks(document)]


def names(documents: list[Path]) -> list[Any]:
    return [pytest.param(document, id=document.name) for document in documents]


def session_of(document: Path) -> dict[str, object]:
    """Make the folders that a page's session needs; return the names that it starts with."""
    if document.name == "genai.md":
        example("chat").write_folder(Path("folder"))
        write_speech_folder(Path("whisper"))
        Path("speech.wav").write_bytes(wav(tone(0.5)))
    return {}


def run_commands(text: str, folder: Path) -> None:
    """Run the lines after "$ "; the lines below each must be in its output."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.M):
        program, *arguments = shlex.split(command)
        start = {"dml": [sys.executable, "-m", "dml"], "python": [sys.executable]}[program]
        run = subprocess.run([*start, *arguments], cwd=folder, capture_output=True, text=True)
        assert run.returncode == 0, (command, run.stderr)
        for line in expected.splitlines():
            assert line in run.stdout, (command, run.stdout)


def test_pages_have_sessions() -> None:
    assert len(WITH_SESSIONS) >= 9


@pytest.mark.parametrize("document", names(WITH_SESSIONS))
def test_sessions_run(
    document: Path, device: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    session = session_of(document)
    for language, name, text in blocks(document):
        if name:
            (tmp_path / name).write_text(text, encoding="utf-8")
        elif language == "console":
            run_commands(text, tmp_path)
        else:
            exec(text.replace('dml.create_device("RTX")', "dml.create_device()"), session)
    if document.name == "README.md":
        assert capsys.readouterr().out.count("7.  6.  5.  4.") == 1, "the example's result"


@pytest.mark.parametrize("document", names(DOCUMENTS))
def test_every_file_named_exists(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    named = re.findall(r"(?:`|\b)((?:examples|tools|dml|shaders|tests)/[\w./]*[\w/])", text)
    linked = re.findall(r"\]\(([\w./-]+)\)", text)
    made = {insertion.path for insertion in insertions()}
    for name in {*named, *linked} - made:
        pages = ROOT / "tools" / "documentation" / "guide"
        places = ROOT / name, ROOT / f"{name}.py", pages / name
        assert any(place.exists() for place in places) or name == "operators/index.md", name


def test_every_environment_variable_is_documented() -> None:
    """The page has each variable that the package reads, and no other."""
    read: set[str] = set()
    for path in (ROOT / "dml").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        names = re.findall(r"\b(DML_(?:CACHE|DEBUG|DISABLE|DUMP|GLSLANG|MEMORY|STRESS|VULKAN)\w*)", text)
        read |= {name for name in names if f'"{name}"' in text}
    told = re.findall(r"^\| `(DML_\w+)` \|", (GUIDE[0].parent / "environment.md").read_text(encoding="utf-8"), re.M)
    assert {*read, "DML_WHEEL_VENDOR"} == set(told)


def test_the_commands_reference() -> None:
    """The page has each command and option of the program itself."""
    sys.path.append(str(ROOT))
    from tools.documentation import command_line

    text = command_line.page()
    for words in ("## dml run", "`--size SIZE`\n: Symbolic size", "## dml explain", "### dml conformance merge"):
        assert words in text
    for line in ("dml run model.onnx --random --size batch=8", "dml cache --clear"):
        assert f"\n{line}\n" in text
