"""The command of tools/webnn."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import dml
from dml.conformance import axes
from dml.errors import DMLError
from dml.files import write_text
from dml.runtime.devices import choose
from tools.webnn_suite.left import why_left
from tools.webnn_suite.runner import CaseResult, files, run_file


def main(
    folder: Annotated[Path, typer.Argument(help="a checkout of web-platform-tests, or of its webnn/ and resources/")],
    device: Annotated[str | None, typer.Option(help="Vulkan device: index or part of its name")] = None,
    axis: Annotated[str, typer.Option("--as", help=f"treat the device as this kind: {', '.join(axes.AXES)}")] = "plain",
    wanted: Annotated[str, typer.Option("--filter", help="only files whose folder/name contains this")] = "",
    report: Annotated[Path | None, typer.Option("--json", help="write every case's result to this file")] = None,
) -> None:
    """Run the web platform tests of WebNN on dml.frontends.webnn, with the tests' own tolerances.

    Exit status: 0 if all cases pass except those that cannot (tools/webnn_suite/left.py has the reasons), 1 if one
    fails, 2 if something is missing.
    """
    node = shutil.which("node")
    if node is None:
        _lack("needs node: apt-get install nodejs")
    harness = folder / "resources" / "testharness.js"
    if not harness.is_file() or not (folder / "webnn").is_dir():
        _lack(f"{folder} has no webnn/ and resources/testharness.js: name a checkout of web-platform-tests")
    if axis not in axes.AXES:
        _lack(f"--as {axis}: unknown axis; the axes are {', '.join(axes.AXES)}")
    chosen = files(folder.resolve(), wanted)
    if not chosen:
        _lack(f"no file of {folder}/webnn contains {wanted!r} in its name")
    try:
        vulkan = choose(device)
        opened = axes.open_as(vulkan, axis)
    except DMLError as error:
        _lack(error.message)
    print(f"{vulkan.name}, as {axis}", flush=True)
    results: list[CaseResult] = []
    for path, query in chosen:
        cases = run_file(str(node), folder.resolve(), path, query, opened)
        results += cases
        _show(cases)
    totals = _totals(results)
    for kind, (passed, left, failed) in totals.items():
        print(f"{kind}: {passed} of {passed + left + failed} cases pass, {left} cannot, {failed} fail")
    if report is not None:
        made = {
            "device": vulkan.name,
            "as": axis,
            "dml": dml.__version__ if hasattr(dml, "__version__") else None,
            "totals": {kind: dict(zip(("passed", "left", "failed"), of, strict=True)) for kind, of in totals.items()},
            "cases": [{**asdict(case), "left": why_left(case)} for case in results],
        }
        write_text(report, json.dumps(made, indent=1))
    raise typer.Exit(1 if any(failed for _, _, failed in totals.values()) else 0)


def _show(cases: list[CaseResult]) -> None:
    passed = sum(case.passed for case in cases)
    print(f"{cases[0].file if cases else '(no cases)'}: {passed} of {len(cases)}", flush=True)
    for case in cases:
        if not case.passed:
            print(f"    {case.name}: {why_left(case) or case.message}")


def _totals(results: list[CaseResult]) -> dict[str, tuple[int, int, int]]:
    """Return for each kind the numbers of cases that passed, that cannot pass, and that failed."""
    counts: dict[str, Counter[str]] = {}
    for case in results:
        kind = counts.setdefault(case.file.split("/")[0], Counter())
        kind["passed" if case.passed else "left" if why_left(case) else "failed"] += 1
    return {kind: (count["passed"], count["left"], count["failed"]) for kind, count in counts.items()}


def _lack(what: str) -> None:
    print(f"tools/webnn: {what}", file=sys.stderr)
    raise typer.Exit(2)


if __name__ == "__main__":
    typer.run(main)
