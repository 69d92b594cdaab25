"""Compile every kernel with each vendor's compiler, without the GPUs.

    tools/gpu_compile                        the usual chip of each vendor: a table, the worst kernels first
    tools/gpu_compile --vendor intel         all chips of one vendor (all: of every vendor)
    tools/gpu_compile --chip bmg             one chip; may be repeated
    tools/gpu_compile --filter GEMM          kernels with this in their names
    tools/gpu_compile --limit 100            a sample of the kernels, for drivers that run in an emulator
    tools/gpu_compile --loops                also the multiply-adds and instructions of each kernel's innermost loop
    tools/gpu_compile --check                compare with the record: no spills, no growth by more than a quarter;
                                             kernels that are recorded with the same SPIR-V are not compiled again
    tools/gpu_compile --record               record these chips again; with --loops also their innermost loops
    tools/gpu_compile --html FILE            write the record as a page: chips by kernels
    tools/gpu_compile --conformance --check  the cases of the default conformance run: none refused, spilling or slow;
                                             with --record, record each chip's outcome
    tools/gpu_compile --list                 list vendors, chips and the drivers that are installed

The first run unpacks drivers into the user's cache. Exit status: 0 success; 1 a driver refuses a kernel, or a kernel
fails the check; 125 a driver cannot be used, for the reason printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools.gpu_compilation import drivers, outcomes, page, record, shares
from tools.gpu_compilation.compiling import Report, compile_chip, lower_chip
from tools.gpu_compilation.drivers import VENDORS, Installation, NoDriverError, Vendor
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.workloads import Workload, conformance_cases, workloads

_CHIPS = [chip for vendor in VENDORS for chip in vendor.chips]
_SHOWN = 8
_NO_DRIVER = 125


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    if options.list:
        return _list_drivers()
    if options.html:
        options.html.write_text(page.html(record.recorded()), encoding="utf-8")
        return 0
    start = time.monotonic()
    every = conformance_cases() if options.conformance else workloads()
    chosen = [w for w in every if options.filter.lower() in w.name.lower()]
    if 0 < options.limit < len(chosen):
        chosen = [chosen[index * len(chosen) // options.limit] for index in range(options.limit)]
    if not chosen:
        print(f"no kernel has {options.filter!r} in its name", file=sys.stderr)
        return 2
    # The table and JSON show figures that are not recorded.
    every_figure = options.loops or options.conformance or options.json or options.worst
    known = {} if every_figure else {"known": record.known}
    compiler = lower_chip if options.lower else partial(compile_chip, loops=options.loops, **known)
    reports, missing = _compile(_chips(options), chosen, compiler)
    for line in missing:
        print(line)
    status = _NO_DRIVER if missing else 0
    for report in reports:
        _show(report, options.worst)
        if options.check:
            known = None if options.conformance else record.load(report.vendor)
            verdict = record.judge(report, known or record.Record())
            if known is not None and not verdict.compared:
                print(f"  nothing is recorded of {report.chip} with Mesa {report.mesa}: only spills count")
            _explain(report, verdict, partly=bool(options.filter or options.limit))
            if verdict.failures:
                status = status or 1
        else:
            _list("refused", [f"{name}: {reason}" for name, reason in report.refused.items()])
            if report.refused:
                status = status or 1
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(report) for report in reports], indent=1))
    if options.record and options.conformance:
        outcomes.save(reports)
    elif options.record:
        for vendor in {report.vendor for report in reports}:
            ours = [report for report in reports if report.vendor == vendor]
            record.save(vendor, record.renewed(record.load(vendor), ours))
        if options.loops:
            shares.save(reports)
    made = sum(len(report.kernels) - report.known for report in reports)
    print(f"{made} pipelines in {time.monotonic() - start:.0f} s")
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "tools/gpu_compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["all", *(vendor.name for vendor in VENDORS)]
    parser.add_argument("--vendor", action="append", choices=names, help="all chips of this vendor; may be repeated")
    parser.add_argument("--chip", action="append", choices=_CHIPS, help="only this chip; may be repeated")
    parser.add_argument("--check", action="store_true", help="compare with the record, and show only failures")
    parser.add_argument("--record", action="store_true", help="record these figures")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only operators and cases with this in their name")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only N operators and cases, evenly chosen")
    parser.add_argument("--conformance", action="store_true", help="compile the default conformance run's cases")
    parser.add_argument("--worst", type=int, metavar="N", help="show at most N kernels of each chip")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the record as a page and exit")
    parser.add_argument("--loops", action="store_true", help="also count the instructions of innermost loops")
    parser.add_argument("--lower", action="store_true", help="lower for the chips' targets, and compile nothing")
    parser.add_argument("--list", action="store_true", help="list vendors and chips and exit")
    options = parser.parse_args(arguments)
    if options.record and options.filter:
        parser.error("--record writes all kernels, and takes no --filter")
    if options.record and options.lower:
        parser.error("--record takes no --lower")
    if options.worst is None:
        options.worst = 0 if options.check or options.record else sys.maxsize
    return options


def _chips(options: argparse.Namespace) -> list[str]:
    chosen = list(options.chip or ())
    for name in options.vendor or ():
        chosen += [chip for vendor in VENDORS if name in ("all", vendor.name) for chip in vendor.chips]
    if not chosen and not options.vendor:
        chosen = [chip for vendor in VENDORS for chip in vendor.usual]
    return list(dict.fromkeys(chosen))


def _compile(
    chips: Sequence[str], chosen: Sequence[Workload], compiler: Callable[..., Report]
) -> tuple[list[Report], list[str]]:
    """Return the reports in the order of the chips, and a line for each chip left out."""
    missing: dict[str, str] = {}
    found: dict[str, Installation] = {}
    wanted: list[tuple[Vendor, str]] = []
    for vendor in VENDORS:
        ours = [chip for chip in vendor.chips if chip in chips]
        try:
            if ours:
                found[vendor.name] = vendor.find()
                wanted += [(vendor, chip) for chip in ours]
        except NoDriverError as error:
            missing[vendor.name] = f"{vendor.name} is left out: {error}"
    reports: list[Report] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        running = [(chip, pool.submit(compiler, vendor, found[vendor.name], chip, chosen)) for vendor, chip in wanted]
        for chip, future in running:
            try:
                reports.append(future.result())
            except NoDriverError as error:
                missing[chip] = f"{chip} is left out: {error}"
    return reports, list(missing.values())


def _list_drivers() -> int:
    mesa = drivers.mesa()
    print(f"Mesa {mesa} in {drivers.folder()}" if mesa else f"nothing is unpacked in {drivers.folder()} yet")
    for vendor in VENDORS:
        checked = " ".join(vendor.usual) or "none"
        print(f"{vendor.name:12} {' '.join(vendor.chips)} ({vendor.origin.value}; checked by CI: {checked})")
    return 0


def worst_first(kernels: dict[str, Figures]) -> list[tuple[str, Figures]]:
    def badness(entry: tuple[str, Figures]) -> tuple[int, ...]:
        found = entry[1]
        return -found.spills, -found.scratch, -found.registers, -found.instructions

    return sorted(kernels.items(), key=badness)


def _show(report: Report, most: int) -> None:
    kernels = worst_first(report.kernels)
    print(
        f"{report.vendor} {report.chip}, Mesa {report.mesa}: {len(kernels)} kernels, {report.known} of them known, "
        f"{len(report.refused)} refused, {report.spilling} spill, {report.slowest:.0f} ms for one at most, "
        f"{report.seconds:.0f} CPU s"
    )
    if not most:
        return
    table = Table("kernel", title=f"{report.chip}, Mesa {report.mesa}")
    columns = ("instructions", "registers", "spills", "scratch B", "shared B", "occupancy", "cycles", "ms", "loop")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for name, f in kernels[:most]:
        numbers = (f.instructions, f.registers, f.spills, f.scratch, f.shared, f.occupancy, f.cycles)
        table.add_row(name, *map(str, numbers), f"{f.milliseconds:.0f}", str(f.loop))
    # Redirected output gets the table's full width.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _explain(report: Report, verdict: record.Verdict, *, partly: bool) -> None:
    for failure in verdict.failures:
        print(f"  FAILED {report.chip}: {failure}")
    _list("new", verdict.new)
    if not partly:
        _list("no longer there", verdict.gone)


def _list(what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        print(f"  {what}: {'; '.join(names[:_SHOWN])}{more}")


if __name__ == "__main__":
    sys.exit(main())
