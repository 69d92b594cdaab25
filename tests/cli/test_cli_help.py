"""The whole command: help with valid examples, version, completion and exit codes."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.cli.app import EXAMPLES

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_every_module_is_a_command():
    modules = {path.stem for path in (Path(dml.__file__).parent / "cli" / "commands").glob("[a-z]*.py")}
    assert modules == set(COMMANDS) == set(EXAMPLES)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_in_examples(name):
    result = run(name, "--help")
    assert result.exit_code == 0
    examples = result.output.partition("Examples:\n")[2].splitlines()
    assert [example.strip() for example in examples if example] == list(EXAMPLES[name])
    assert examples


@pytest.mark.parametrize("example", [example for examples in EXAMPLES.values() for example in examples])
def test_examples_parse(example):
    program, name, *arguments = shlex.split(example)
    assert program == "dml"
    command = COMMANDS[name]
    while hasattr(command, "commands") and arguments and arguments[0] in command.commands:
        name, *arguments = arguments
        command = command.commands[name]
    context = command.make_context(name, arguments)  # raises for unknown options and arguments
    assert context.params


def test_help_tells_the_exit_codes():
    output = " ".join(run("--help").output.split())
    assert "Exit codes: 0 done; 1 refused" in output
    assert "3 no Vulkan device, with what to install" in output


def test_a_wrong_command_line_exits_with_2():
    assert run("support", "--no-such-option").exit_code == 2
    assert run("no-such-command").exit_code == 2


def test_an_interrupted_command_exits_with_130(monkeypatch):
    def interrupted():
        raise KeyboardInterrupt

    monkeypatch.setattr("dml.runtime.devices.list_devices", interrupted)
    result = run("devices")
    assert (result.exit_code, result.output) == (130, "")


def test_a_command_that_is_interrupted_while_it_imports_shows_no_traceback(tmp_path):
    (tmp_path / "typer.py").write_text("raise KeyboardInterrupt")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(dml.__file__).parents[1])])}
    line = [sys.executable, "-m", "dml", "devices"]
    result = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [("support", "GRU"), ("support", "GRU", "--json"), ("--version",)])
def test_output_to_a_full_disk_is_reported_in_one_line(arguments):
    with open("/dev/full", "w") as full:
        line = [sys.executable, "-m", "dml", *arguments]
        result = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "dml: cannot write to standard output: No space left on device\n"


def test_the_version():
    assert run("--version").output == f"dml {dml.__version__}\n"
    assert dml.__version__[0].isdecimal()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("dml ", {"cache", "devices", "explain", "run", "support", "validate"}),
        ("dml support GR", {"GRU"}),
        ("dml support conv", {"convolution", "convolution_integer"}),
        ("dml support --feature-level 3", {"3_0", "3_1"}),
    ],
)
def test_a_shell_completes(line, offered):
    words = line.split(" ")
    environment = {
        **os.environ,
        "_DML_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    program = "import sys; sys.argv[0] = 'dml'; from dml.cli import app; app(prog_name='dml')"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert offered <= set(result.stdout.split()), result
    if len(words) > 2:
        assert set(result.stdout.split()) == offered


def test_showing_an_operator_needs_no_compiler():
    program = (
        "import sys; from dml.cli import app\n"
        "app(['support', 'GRU'], standalone_mode=False)\n"
        "print(*sorted(name for name in sys.modules if name.startswith('dml.')))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    layers = {name.split(".")[1] for name in result.stdout.splitlines()[-1].split()}
    assert not layers & {"compiler", "runtime", "api", "graph", "frontends", "validator", "glslang"}
