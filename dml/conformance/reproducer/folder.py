"""Writes the reproducers of reports' failures as a folder, or as a zip file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from dml.conformance import report
from dml.conformance.bug_report import bug_text
from dml.conformance.case import Case
from dml.conformance.failures import KINDS, kind_of
from dml.conformance.places import find
from dml.conformance.report import Record
from dml.conformance.reproducer.tables import CaseFiles
from dml.conformance.terminal import failure_lines
from dml.errors import DMLError
from dml.files import check_writable, write_whole

#: Maximum folders of a run. The first failure of each operator, data type and kind gets a folder, or shares the one of
#: the same case.
MOST = 20
_BUILD = "gcc -O1 reproduce.c -lvulkan -lm -o reproduce && ./reproduce"


def check(path: Path) -> None:
    """Raise DMLError if the folder, or the zip file, cannot be written."""
    if _is_zip(path):
        check_writable(path)
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise DMLError(f"{path}: must be a new or empty folder, or the name of a .zip file")
    else:
        check_writable(path / "README.md")


def write_reproducers(record: Record, path: Path) -> int:
    """Write a folder for each failure of a report; return the number of folders.

    path: a new or empty folder, or a .zip file. The report's devices must be on this machine, since they decide which
    kernels a case has. A failure with a smallest case is reproduced by that one; failures with the same smallest case
    share a folder. Raises DMLError if a device is missing or the path cannot be written.
    """
    check(path)
    files: dict[str, bytes] = {}
    rows: list[str] = []
    for run in record["runs"]:
        for outcome, *others in _chosen(run):
            (place,) = find([run["device"]])
            case = Case.parse(_reproduced(outcome))
            name = "-".join(filter(None, (f"{len(rows) + 1:02}", case.subject.name, case.data_type)))
            try:
                found = CaseFiles(place, case, record["suite"]["seed"])
            except DMLError as error:
                own, why = dict[str, bytes](), str(error)
            else:
                own, why = found.files, found.uncompiled
            own["README.md"] = _about(record, run, outcome, others, case, own, why).encode()
            files |= {f"{name}/{file}": data for file, data in own.items()}
            rows.append(f"| `{name}` | {report.title(run['device'])} | {KINDS[kind_of(outcome)]} | `{case.id}` |")
    files["README.md"] = _overview(record, rows).encode()
    if _is_zip(path):
        write_whole(path, _zipped(files))
    else:
        for file, data in files.items():
            write_whole(path / file, data)
    return len(rows)


def _reproduced(outcome: Record) -> str:
    """Return the id of the case that reproduces a failure: its smallest one, if that was found."""
    smallest = outcome["failure"]["smallest"]
    return str(smallest["case"] if smallest else outcome["case"])


def _chosen(run: Record) -> list[list[Record]]:
    """Return the failures that get folders, each followed by those of the same kind that the same case reproduces."""
    found: dict[tuple[str, str, str], Record] = {}
    for outcome in run["results"]:
        if outcome["status"] == "failed" and outcome["failure"].get("kind") != "suite":
            key = outcome["operator"], outcome["data_type"] or "", KINDS[kind_of(outcome)]
            if key not in found or (outcome["failure"]["smallest"] and not found[key]["failure"]["smallest"]):
                found[key] = outcome
    folders: dict[tuple[str, str], list[Record]] = {}
    for (_, _, kind), outcome in found.items():
        folders.setdefault((_reproduced(outcome), kind), []).append(outcome)
    return list(folders.values())[:MOST]


def _about(
    record: Record,
    run: Record,
    outcome: Record,
    others: Sequence[Record],
    case: Case,
    files: Mapping[str, bytes],
    why: str,
) -> str:
    """Return the Markdown description of a reproducer's folder. others: further failures that it reproduces."""
    lines = [f"# {case.subject.name} {case.data_type}: {KINDS[kind_of(outcome)]}", ""]
    if "reproduce.c" in files:
        lines += [
            "In this folder, with a C compiler, Vulkan's headers and its loader:",
            "",
            f"    {_BUILD}",
            "",
            "The first argument, a part of a device's name, chooses another device. The program runs the kernels below",
            "in the order of its table `DISPATCH`, with a full barrier after each. It exits with 0 if every output is",
            "right in every run, and with 1 if one is wrong or a kernel is refused. If it exits with 0 where the suite",
            "fails, the difference is in dml: its barriers, its memory or its order of submissions.",
            "",
        ]
    elif why:
        lines += ["There is no program to run:", "", *(f"    {line}" for line in why.splitlines()), ""]
    lines += [
        "| file | contents |",
        "| --- | --- |",
        *(f"| {name} | {_contents(name)} |" for name in sorted(files)),
        "",
        "What the suite found:",
        "",
        *(f"    {line}" for line in failure_lines(run, outcome)),
        "",
        *(["The same case reproduces:", "", *(f"- `{other['case']}`" for other in others), ""] if others else []),
        "The device:",
        "",
        *(f"    {line}" for line in bug_text(record, run).splitlines()),
        "",
    ]
    return "\n".join(lines)


def _contents(name: str) -> str:
    if name == "reproduce.c":
        return "the program"
    if name.endswith(".comp"):
        return "a kernel as GLSL, with all that it includes"
    if name.endswith(".spv"):
        return "a kernel as SPIR-V"
    if name.endswith("bounds.bin"):
        return "two doubles for each element: its least and greatest allowed value" + _flushed(name)
    if name.endswith("expected.bin"):
        return "the expected bytes of an output" + _flushed(name)
    return "the bytes of an input" if name.startswith("input") else "the bytes of a constant"


def _flushed(name: str) -> str:
    return ", if the device treats subnormal inputs as zeros" if ".flushed-" in name else ""


def _overview(record: Record, rows: Sequence[str]) -> str:
    commit = f", commit {record['commit']}" if record["commit"] else ""
    lines = [
        "# Failures of dml's conformance suite",
        "",
        f"Made by dml {record['dml_version']}{commit}. Each folder has one failing case: its kernels as GLSL and",
        "SPIR-V, its inputs, the expected outputs, and a C program that runs it with Vulkan alone:",
        "",
        f"    {_BUILD}",
        "",
        f"There are at most {MOST} folders for a device, one for each operator, data type and kind of failure;",
        "failures that the same case reproduces share one.",
        "",
        "| folder | device | what is wrong | case |",
        "| --- | --- | --- | --- |",
        *rows,
    ]
    return "\n".join(lines if rows else ["# Failures of dml's conformance suite", "", "Nothing failed."]) + "\n"


def _zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file whose bytes depend only on the files."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def _is_zip(path: Path) -> bool:
    return path.suffix.lower() == ".zip"
