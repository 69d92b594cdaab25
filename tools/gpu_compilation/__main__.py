"""Every kernel through each vendor's compiler, for GPUs that need not be there.

    tools/gpu_compile                        the usual chip of each vendor: a table, the worst first
    tools/gpu_compile --vendor intel         every chip of a vendor's (all: of every vendor)
    tools/gpu_compile --chip bmg             one chip; may be repeated
    tools/gpu_compile --filter GEMM          kernels with that in their names
    tools/gpu_compile --limit 100            some of them, for drivers that run in an emulator
    tools/gpu_compile --loops                also multiply-adds of all instructions in each kernel's innermost loop
    tools/gpu_compile --check                against what is recorded: no spills, no growth by more than a quarter
    tools/gpu_compile --record               records these chips anew; with --loops also their innermost loops
    tools/gpu_compile --html FILE            a page of what is recorded: chips by kernels
    tools/gpu_compile --conformance --check  the cases of the default conformance run: none refused, spilled or slow
    tools/gpu_compile --list                 vendors, chips, and which drivers are there

Drivers are unpacked into the user's cache the first time. Exit status: 0 all is well; 1 a kernel is refused by a
driver, or fails the check; 125 a driver cannot be used, and one line says why.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools.gpu_compilation import drivers, page, record, shares
from tools.gpu_compilation.compiling import Report, compile_chip
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
        chosen = [chosen[at * len(chosen) // options.limit] for at in range(options.limit)]
    if not chosen:
        print(f"no kernel has {options.filter!r} in its name", file=sys.stderr)
        return 2
    reports, missing = _compile(_chips(options), chosen, loops=options.loops)
    for line in missing:
        print(line)
    status = _NO_DRIVER if missing else 0
    for report in reports:
        _show(report, options.worst)
        if options.check:
            known = record.Record() if options.conformance else record.load(report.vendor)
            verdict = record.judge(report, known)
            _explain(report, verdict, partly=bool(options.filter or options.limit))
            if verdict.failures:
                status = status or 1
        else:
            _list("refused", [f"{name}: {reason}" for name, reason in report.refused.items()])
            if report.refused:
                status = status or 1
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(report) for report in reports], indent=1))
    if options.record:
        for vendor in {report.vendor for report in reports}:
            ours = [report for report in reports if report.vendor == vendor]
            record.save(vendor, record.renewed(record.load(vendor), ours))
        if options.loops:
            shares.save(reports)
    print(f"{sum(len(report.kernels) for report in reports)} pipelines in {time.monotonic() - start:.0f} s")
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "tools/gpu_compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = ["all", *(vendor.name for vendor in VENDORS)]
    parser.add_argument("--vendor", action="append", choices=names, help="all its chips; may be repeated")
    parser.add_argument("--chip", action="append", choices=_CHIPS, help="only this one; may be repeated")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and show failures alone")
    parser.add_argument("--record", action="store_true", help="record these figures")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only operators and cases with this in their name")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only N operators and cases, evenly chosen")
    parser.add_argument("--conformance", action="store_true", help="the cases of the default conformance run instead")
    parser.add_argument("--worst", type=int, metavar="N", help="at most N kernels of each chip")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page of what is recorded, and no more")
    parser.add_argument("--loops", action="store_true", help="count in the machine code of innermost loops")
    parser.add_argument("--list", action="store_true", help="list vendors and chips, and no more")
    options = parser.parse_args(arguments)
    if options.record and options.filter:
        parser.error("--record writes all kernels, and takes no --filter")
    if options.record and options.conformance:
        parser.error("--record takes no --conformance")
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


def _compile(chips: Sequence[str], chosen: Sequence[Workload], *, loops: bool) -> tuple[list[Report], list[str]]:
    """The reports in the order of the chips, and a line for each that is left out."""
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
        running = [
            (chip, pool.submit(compile_chip, vendor, found[vendor.name], chip, chosen, loops=loops))
            for vendor, chip in wanted
        ]
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
    spilling = sum(found.does_spill for _, found in kernels)
    slowest = max((found.milliseconds for _, found in kernels), default=0)
    print(
        f"{report.vendor} {report.chip}, Mesa {report.mesa}: {len(kernels)} kernels, {len(report.refused)} refused, "
        f"{spilling} spill, {slowest:.0f} ms for one at most"
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
    # Redirected, a table is as wide as it needs to be.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _explain(report: Report, verdict: record.Verdict, *, partly: bool) -> None:
    if not verdict.compared:
        print(f"  nothing is recorded of {report.chip} with Mesa {report.mesa}: only spills count")
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
