"""`dml conformance`: the suite at the command line, and commands on its reports."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.text import Text

from dml.conformance import report
from dml.conformance.options import OptionError
from dml.errors import DMLError
from dml.files import write_text

_Function = TypeVar("_Function", bound=Callable[..., None])

#: Exit statuses: no failure or regression; at least one; invalid options; the run is not possible; Ctrl-C.
DONE, WORSE, MISUSED, NOT_DONE, INTERRUPTED = 0, 1, 2, 3, 130

_STATUSES = (
    "Exit status: 0 no case failed; 1 a case failed, or with --strict was loose; 2 wrong options; 3 the run was "
    "impossible (no device, a file) or did not finish; 130 ended by Ctrl-C."
)
app = typer.Typer(invoke_without_command=True)

ReportPath = Annotated[Path, typer.Argument(help="A report, as --json writes it.", show_default=False)]


def _refusing(function: _Function) -> _Function:
    """Decorate a command so that a DMLError is printed in one line and ends it."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except DMLError as error:
            Console(stderr=True).print(Text(str(error), style="red"), soft_wrap=True)
            raise typer.Exit(MISUSED if isinstance(error, OptionError) else NOT_DONE) from None

    return run  # type: ignore[return-value]  # it takes what the function does


def console() -> Console:
    """Return a console as wide as the terminal; in a pipe it never wraps, so that tools find each row in one line."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=500)


@app.callback(epilog=_STATUSES)
@_refusing
def conformance(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Each value of each parameter once.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every triple of parameters' values instead of every pair.")
    ] = False,
    device: Annotated[
        list[str] | None, typer.Option(help="A device's index or a part of its name; may repeat; by default all.")
    ] = None,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            "--as", help="Kind of device: plain, discrete, discrete64, subgroups, integrated, minimum; or all."
        ),
    ] = None,
    filter: Annotated[
        list[str] | None, typer.Option(help="An operator, or a part of cases' names; may be repeated.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the combinations and values.")] = 0,
    shard: Annotated[str, typer.Option(help="i/n: the i-th of n parts of the cases.")] = "1/1",
    case: Annotated[list[str] | None, typer.Option(help="Exactly this case, by its name; may be repeated.")] = None,
    dump: Annotated[Path | None, typer.Option(help="Write the GLSL and SPIR-V of --case to this folder.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write the report; report.schema.json describes it.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write one self-contained HTML page.")] = None,
    reproducers: Annotated[
        Path | None, typer.Option(help="Write a C program for each failure: a new folder, or a .zip file.")
    ] = None,
    resume: Annotated[Path | None, typer.Option(help="The journal's file; if it exists, its run continues.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Loose results count as failures.")] = False,
    stress: Annotated[
        bool, typer.Option("--stress", help="Stress the device instead: memory, threads, long recordings.")
    ] = False,
    minutes: Annotated[float, typer.Option(min=0.01, help="Duration of --stress.")] = 1.0,
    memory: Annotated[
        int | None, typer.Option(min=1, help="MiB that --stress may use; by default nine tenths of the device's.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=64, help="Threads of --stress, each with a device.")] = 4,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per case.")] = 300.0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of cases that run at once on a device.")] = 1,
) -> None:
    """Test every operator on Vulkan devices against float64 references, and report."""
    if context.invoked_subcommand is not None:
        return
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other")
    if dump is not None and not case:
        raise typer.BadParameter("--dump needs --case")
    if case and (quick or full or filter or shard != "1/1"):
        raise typer.BadParameter("--case excludes --quick, --full, --filter and --shard")
    if stress:
        if quick or full or filter or case or shard != "1/1" or json or junit or html or resume or reproducers:
            raise typer.BadParameter("--stress takes --minutes, --memory, --threads, --seed, --device and --as")
        _stress(device, axis, seed, minutes, memory, threads)
    report.check_paths(json, junit, html)
    if reproducers is not None:
        from dml.conformance.reproducer import check

        check(reproducers)
    from dml.conformance.runner import Conduct
    from dml.conformance.running import RunRequest, run
    from dml.conformance.suite import Suite, parse_shard

    size = "quick" if quick else "full" if full else "default"
    suite = Suite(size, seed, tuple(filter or ()), tuple(case or ()), parse_shard(shard))
    from dml.runtime.names import DUMP_VARIABLE

    variables = {DUMP_VARIABLE: str(dump.absolute())} if dump is not None else {}
    conduct = Conduct(timeout, jobs, smallest=dump is None, variables=variables)
    ended = run(RunRequest(suite, tuple(device or ()), tuple(axis or ()), resume), conduct, Console(stderr=True))
    _write(ended.report, json, junit, html)
    if reproducers is not None:
        _reproduce(ended.report, reproducers)
    from dml.conformance.terminal import show

    show(console(), ended.report)
    if ended.journal is not None:
        Console(stderr=True).print(Text(f"continue with: dml conformance --resume {ended.journal}"), soft_wrap=True)
    raise typer.Exit(_status(ended.report, ended.interrupted, strict))


def _stress(
    device: list[str] | None, axis: list[str] | None, seed: int, minutes: float, memory: int | None, threads: int
) -> None:
    """Run --stress and exit."""
    from dml.conformance.places import places
    from dml.conformance.straining import memory_of, run
    from dml.conformance.stress import Strain

    strain = Strain(60 * minutes, seed, threads, memory_of(memory))
    raise typer.Exit(DONE if run(places(device or (), axis or ()), strain, console()) else WORSE)


@app.command(epilog="Exit status: 0 done; 2 wrong options; 3 the reports do not match, or a file cannot be used.")
@_refusing
def merge(
    reports: Annotated[list[Path], typer.Argument(help="Reports of shards, or of several devices.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The merged report.", show_default=False)],
) -> None:
    """Join reports of one suite: dml conformance merge 1.json 2.json -o all.json"""
    from dml.conformance.merging import merge as merge_reports

    report.write(output, merge_reports([report.read(path) for path in reports], [path.name for path in reports]))


@app.command(
    epilog="Exit status: 0 nothing got worse; 1 something did, a new case fails, or a case is gone; 2 wrong options; "
    "3 a file cannot be used, or the reports are of different suites."
)
@_refusing
def compare(before: ReportPath, after: ReportPath) -> None:
    """Show changes between two reports: dml conformance compare before.json after.json"""
    from dml.conformance.comparing import compare as compare_reports
    from dml.conformance.comparing import lines

    found = compare_reports(report.read(before), report.read(after), (before.name, after.name))
    for line in lines(found):
        typer.echo(line)
    raise typer.Exit(WORSE if any(item.is_worse for item in found) else DONE)


@app.command(epilog=_STATUSES)
@_refusing
def show(
    reports: Annotated[list[Path], typer.Argument(help="Reports, as --json writes them.", show_default=False)],
    types: Annotated[bool, typer.Option("--types", help="A row for each data type of an operator.")] = False,
    failures: Annotated[int, typer.Option(min=0, help="Number of failures of a run shown in full.")] = 10,
    strict: Annotated[bool, typer.Option("--strict", help="Loose results count as failures.")] = False,
    bug_report: Annotated[
        bool, typer.Option("--bug-report", help="Show the contents of a bug report instead: devices, limits, failures.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write the page; several reports appear side by side.")] = None,
    reproducers: Annotated[
        Path | None,
        typer.Option(help="Write a C program for each failure: a new folder or a .zip file. Needs the devices."),
    ] = None,
) -> None:
    """Show a report again: dml conformance show report.json"""
    from dml.conformance import terminal
    from dml.conformance.bug_report import bug_report as bug_report_of

    read = [report.read(path) for path in reports]
    if junit is not None and len(read) > 1:
        raise typer.BadParameter("--junit takes one report")
    if reproducers is not None and len(read) > 1:
        raise typer.BadParameter("--reproducers takes one report")
    if html is not None:
        from dml.conformance.page import write_page

        write_page(read, html)
    if reproducers is not None:
        _reproduce(read[0], reproducers)
    for item in read:
        _write(item, None, junit, None)
        if bug_report:
            typer.echo(bug_report_of(item))
        else:
            terminal.show(console(), item, by_type=types, failures=failures)
    raise typer.Exit(max(_status(item, interrupted=False, strict=strict) for item in read))


def _write(record: report.Record, json: Path | None, junit: Path | None, html: Path | None) -> None:
    if json is not None:
        report.write(json, record)
    if junit is not None:
        from dml.conformance.junit import junit as junit_xml

        write_text(junit, junit_xml(record))
    if html is not None:
        from dml.conformance.page import write_page

        write_page([record], html)


def _reproduce(record: report.Record, path: Path) -> None:
    from dml.conformance.reproducer import write_reproducers

    count = write_reproducers(record, path)
    Console(stderr=True).print(Text(f"{path}: {count} reproducers"), soft_wrap=True)


def _status(record: report.Record, interrupted: bool, strict: bool) -> int:
    if interrupted:
        return INTERRUPTED
    for run in record["runs"]:
        counts = report.counts(run["results"])
        if counts["failed"] or (strict and counts["loose"]):
            return WORSE
    return DONE if all(run["complete"] for run in record["runs"]) else NOT_DONE
