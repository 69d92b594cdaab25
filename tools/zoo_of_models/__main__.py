"""The command of tools/zoo."""

from __future__ import annotations

import json
import sys
import tempfile
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dml.errors import DMLError
from dml.files import write_text
from dml.runtime.devices import choose
from tools.zoo_of_models.entry import ENTRIES
from tools.zoo_of_models.rows import LEFT_OUT, RIGHT, markdown, table
from tools.zoo_of_models.running import run


def main(
    only: Annotated[list[str] | None, typer.Option(help="a model's name, or a part of it; may be repeated")] = None,
    device: Annotated[str | None, typer.Option(help="Vulkan device: index or part of its name")] = None,
    check: Annotated[bool, typer.Option("--check", help="only check results, without times")] = False,
    keep: Annotated[Path | None, typer.Option(help="folder for exported models, which later runs reuse")] = None,
    report: Annotated[Path | None, typer.Option("--json", help="write the table to this file as JSON")] = None,
    page: Annotated[Path | None, typer.Option("--markdown", help="write the table to this file as Markdown")] = None,
    names: Annotated[bool, typer.Option("--list", help="list the models' names and exit")] = False,
    language: Annotated[
        bool, typer.Option("--language", help="language models from onnxruntime-genai's model builder")
    ] = False,
) -> None:
    """Export architectures with random weights, and compare the device's results with onnxruntime's.

    Errors are relative to the largest element of each output, or in steps of quantization. Times are CPU seconds of all
    cores: from opening the device to the first result (cold: with empty caches; warm: with full caches), and for a
    steady run, with its ratio to onnxruntime's time. Exit status: 0 if all results are right, 1 if one is not, 2 if
    something is missing.
    """
    try:
        import_module("tools.zoo_of_models.models")
    except ModuleNotFoundError as error:
        _lack(f"needs {error.name}: tools/setup --zoo")
    if language:
        raise typer.Exit(_language(only or [], device, keep, report, page))
    exact = [part for part in only or [] if part in ENTRIES]
    parts = [part for part in only or [] if part not in ENTRIES]
    chosen = [e for name, e in ENTRIES.items() if not only or name in exact or any(part in name for part in parts)]
    if names:
        print("\n".join(entry.name for entry in chosen))
        return
    if not chosen:
        _lack(f"no model's name has {' or '.join(only or [])} in it; --list shows them")
    try:
        vulkan = choose(device)
    except DMLError as error:
        _lack(error.message)
    print(f"{vulkan.name}, {len(chosen)} models", file=sys.stderr)
    with tempfile.TemporaryDirectory() as scratch:
        rows = []
        for entry in chosen:
            row = run(entry, (keep or Path(scratch)) / entry.name, device or "", check)
            rows.append(row)
            print(f"{row.name}: {row.verdict} {row.why}", file=sys.stderr, flush=True)
    Console().print(table(rows))
    if all(row.verdict == LEFT_OUT for row in rows):
        _lack(f"nothing could be exported: {rows[0].why}")
    if report is not None:
        made = {
            "device": vulkan.name,
            "driver": vulkan.driver,
            "models": [{**asdict(r), "ratio": r.ratio} for r in rows],
        }
        write_text(report, json.dumps(made, indent=1))
    if page is not None:
        write_text(page, markdown(rows))
    raise typer.Exit(1 if any(row.verdict not in (RIGHT, LEFT_OUT) for row in rows) else 0)


def _language(only: list[str], device: str | None, keep: Path | None, report: Path | None, page: Path | None) -> int:
    """Run tools/zoo --language; return the exit status."""
    from tools.zoo_of_models.language_table import (
        NOT_OURS,
        RIGHT,
        language_json,
        language_markdown,
        language_rows,
    )

    for package in ("onnxruntime_genai", "tokenizers"):
        if find_spec(package) is None:
            _lack(f"needs {package}: tools/setup --zoo")
    with tempfile.TemporaryDirectory() as scratch:
        rows = language_rows(only, keep or Path(scratch), device or "")
    if not rows:
        _lack(f"no folder's name has {' or '.join(only)} in it")
    text = language_markdown(rows)
    print(text)
    if report is not None:
        language_json(rows, report)
    if page is not None:
        write_text(page, text)
    return 1 if any(row.verdict not in (RIGHT, *NOT_OURS) for row in rows) else 0


def _lack(what: str) -> None:
    print(f"tools/zoo: {what}", file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
