"""examples/chat.py, and `dml generate` with the folder that it creates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dml
from dml.cli import app
from example_module import example


def generate(device: dml.Device, folder: Path, *arguments: Any, said: str | None = None) -> Any:
    command = ["generate", str(folder), "--device", str(device.vulkan.index), *map(str, arguments)]
    return CliRunner().invoke(app, command, input=said)


def test_the_example_answers_each_question(folder: Path, monkeypatch: pytest.MonkeyPatch, device: dml.Device) -> None:
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    answers = example("chat").chat(folder, ["What is a GPU?", "And a fox?"], 8)
    assert len(answers) == 2
    assert all(answers)


def test_a_prompt_is_continued(device: dml.Device, folder: Path) -> None:
    result = generate(device, folder, "--prompt", "What is a GPU?", "--tokens", 6)
    assert result.exit_code == 0, result.output
    assert "first token after" in result.stderr
    assert "tokens a second" in result.stderr
    assert "memory: process" in result.stderr
    assert result.stdout.strip()
    again = generate(device, folder, "--prompt", "What is a GPU?", "--tokens", 6, "--beams", 1)
    assert again.stdout == result.stdout


def test_a_chat_answers_until_quit(device: dml.Device, folder: Path) -> None:
    result = generate(device, folder, "--chat", "--tokens", 4, said="hi\n\nand?\n/quit\nnever\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("> ") == 4
    assert "8 tokens" in result.stderr


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--prompt", "a", "--chat"], 2, "one of --prompt and --chat"),
        (["--chat", "--beams", "2"], 2, "--chat and --beams exclude each other"),
        (["--prompt", "What is a GPU?", "--max-length", "2"], 1, "exceed max_length = 2"),
        (["--prompt", "a", "--max-length", "100000"], 1, "context_length, 512, found 100000"),
    ],
)
def test_what_cannot_be(device: dml.Device, folder: Path, arguments: list[str], code: int, message: str) -> None:
    result = generate(device, folder, *arguments)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_missing_folder_is_named(device: dml.Device, tmp_path: Path) -> None:
    result = generate(device, tmp_path / "none", "--prompt", "a")
    assert result.exit_code == 1
    assert "no such folder" in result.stderr
