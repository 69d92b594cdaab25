"""The command of tools/zoo."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import typer
from rich.console import Console
from rich.table import Table

from dml.cache import write_whole
from dml.errors import DMLError
from dml.runtime.devices import choose
from tools.zoo_of_models.comparing import WrongError, compare, reference, steps
from tools.zoo_of_models.entry import ENTRIES, Arrays, Entry

#: Steady runs, of which the median counts.
RUNS = 5
RIGHT, WRONG, REFUSED, LEFT_OUT = "right", "wrong", "refused", "left out"
#: The exporter or onnxruntime fails, which says nothing of us.
NOT_EXPORTED = "not exported"
VERDICTS = (RIGHT, WRONG, REFUSED, NOT_EXPORTED, LEFT_OUT)


@dataclass
class Row:
    """What became of one model. error: as ``compare`` says. Seconds are of all CPUs, onnxruntime's in ``theirs``."""

    name: str
    by: str
    opset: int
    precision: str
    verdict: str = LEFT_OUT
    why: str = ""
    nodes: int = 0
    error: float | None = None
    host_parts: int = 0
    host_nodes: Sequence[str] = ()
    cold: float | None = None
    warm: float | None = None
    steady: float | None = None
    theirs: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.steady / self.theirs if self.steady is not None and self.theirs else None


def main(
    only: Annotated[list[str] | None, typer.Option(help="a model's name, or a part of it; may be repeated")] = None,
    device: Annotated[str | None, typer.Option(help="Vulkan device: index or part of its name")] = None,
    check: Annotated[bool, typer.Option("--check", help="right or wrong, once, with filled caches: no times")] = False,
    keep: Annotated[Path | None, typer.Option(help="the models' folder: those there are not exported again")] = None,
    report: Annotated[Path | None, typer.Option("--json", help="write the table there as JSON")] = None,
    markdown: Annotated[Path | None, typer.Option(help="write the table there as Markdown")] = None,
    names: Annotated[bool, typer.Option("--list", help="show the models' names, and end")] = False,
) -> None:
    """Export architectures with random weights, and compare what the device makes of them with onnxruntime.

    Errors are by the largest element of each output, or in steps of quantization. Times are CPU seconds of all cores:
    from an open device to the first result, cold with empty caches and warm with full ones; and of a steady run, also
    as how many times onnxruntime's. Exit status: 0 where all are right, 1 where one is not, 2 where
    something lacks.
    """
    try:
        import_module("tools.zoo_of_models.models")
    except ModuleNotFoundError as error:
        _lack(f"needs {error.name}: tools/setup --zoo")
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
            row = _row(entry, (keep or Path(scratch)) / entry.name, device or "", check)
            rows.append(row)
            print(f"{row.name}: {row.verdict} {row.why}", file=sys.stderr, flush=True)
    Console().print(_table(rows))
    if all(row.verdict == LEFT_OUT for row in rows):
        _lack(f"nothing could be exported: {rows[0].why}")
    if report is not None:
        made = {"device": vulkan.name, "driver": vulkan.driver, "models": [{**asdict(r), "ratio": r.ratio} for r in rows]}
        write_whole(report, json.dumps(made, indent=1).encode())
    if markdown is not None:
        write_whole(markdown, _markdown(rows).encode())
    raise typer.Exit(1 if any(row.verdict in (WRONG, REFUSED, NOT_EXPORTED) for row in rows) else 0)


def _row(entry: Entry, folder: Path, device: str, check: bool) -> Row:
    """Export the model unless it is there, and run it."""
    row = Row(entry.name, entry.by, entry.opset, entry.precision)
    lacking = [package for package in entry.needs if find_spec(package) is None]
    if lacking:
        row.why = f"needs {', '.join(lacking)}"
        return row
    path = folder / "model.onnx"
    if not (folder / "inputs.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            logging.disable()  # exporters tell of all they try
            np.savez(folder / "inputs.npz", **entry.make(path))
        except Exception as error:  # whatever exporters raise
            row.verdict, row.why = NOT_EXPORTED, f"{type(error).__name__}: {str(error)[:300]}"
            return row
        finally:
            logging.disable(logging.NOTSET)
    model = onnx.load(path, load_external_data=False)
    row.nodes = len(model.graph.node)
    row.opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    with np.load(folder / "inputs.npz") as file:
        inputs = dict(file)
    try:
        expected, row.theirs = reference(path, inputs, 0 if check else RUNS)
    except RuntimeError as error:  # what onnxruntime raises derives from it
        row.verdict, row.why = NOT_EXPORTED, f"onnxruntime refuses it: {error}"
        return row
    found = _run(folder, device, check)
    if "refused" in found:
        row.verdict, row.why = REFUSED, found["refused"]
        return row
    for name in ("cold", "warm", "steady", "host_parts", "host_nodes"):
        setattr(row, name, found.get(name, getattr(row, name)))
    with np.load(folder / "results.npz") as file:
        ours = [file[name] for name in file.files]
    try:
        row.error = compare(ours, expected, entry.precision, steps(path))
        row.verdict = RIGHT
    except WrongError as error:
        row.verdict, row.why = WRONG, str(error)
        if entry.precision == "quantized":
            _compare_as_it_stands(row, path, inputs, ours)
    return row


def _compare_as_it_stands(row: Row, path: Path, inputs: Arrays, ours: list[np.ndarray]) -> None:
    """Right, too, is what onnxruntime makes of the graph without rewriting it."""
    try:
        row.error = compare(ours, reference(path, inputs, 0, optimized=False)[0], row.precision, steps(path))
    except WrongError:
        return
    row.verdict, row.why = RIGHT, f"as onnxruntime without its optimizations; with them, {row.why}"


def _run(folder: Path, device: str, check: bool) -> dict[str, Any]:
    """In processes of their own: once with this user's caches, or with empty ones and then with filled ones."""
    if check:
        return _answer(folder, device, {}, 0)
    with tempfile.TemporaryDirectory() as caches:
        environment = {
            "DML_CACHE_DIR": f"{caches}/dml",
            "MESA_SHADER_CACHE_DIR": f"{caches}/mesa",
            "XDG_CACHE_HOME": f"{caches}/user",
        }
        cold = _answer(folder, device, environment, 0)
        if "refused" in cold:
            return cold
        warm = _answer(folder, device, environment, 1 + RUNS)
    return {**warm, "cold": cold["first"], "warm": warm["first"]}


def _answer(folder: Path, device: str, environment: dict[str, str], runs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.zoo_of_models.answer", str(folder), device, str(runs)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        return {"refused": f"ended with {done.returncode}: {done.stderr.strip()[-1000:]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


HEADS = ("model", "exported by", "opset", "nodes", "", "error", "on the CPU", "cold", "warm", "steady", "ratio")


def _cells(row: Row) -> list[str]:
    def number(value: float | None, form: str = ".2f") -> str:
        return "" if value is None else format(value, form)

    off = number(row.error, ".1e" if row.precision != "quantized" else ".2g")
    error = off + (" steps" if off and row.precision == "quantized" else "")
    host = f"{row.host_parts}: {', '.join(row.host_nodes)}" if row.host_parts else ""
    times = [number(row.cold), number(row.warm), number(row.steady, ".3f"), number(row.ratio, ".1f")]
    return [row.name, row.by, str(row.opset), str(row.nodes), row.verdict, error, host, *times]


def _summary(rows: list[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    host = sum(row.host_parts > 0 for row in rows)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {host} with parts on the CPU"


def _table(rows: list[Row]) -> Table:
    table = Table(title=_summary(rows))
    for head in HEADS:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*_cells(row))
    return table


def _markdown(rows: list[Row]) -> str:
    lines = [" | ".join(HEADS), " | ".join("---" for _ in HEADS), *(" | ".join(_cells(row)) for row in rows)]
    return "".join(f"| {line} |\n" for line in lines) + f"\n{_summary(rows)}.\n"


def _lack(what: str) -> None:
    print(f"tools/zoo: {what}", file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
