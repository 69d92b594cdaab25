"""Every kernel through AMD's compiler, for GPUs that need not be there.

    tools/gpu_compile                        a table for each generation, the worst first
    tools/gpu_compile --filter GEMM          kernels with that in their names
    tools/gpu_compile --loops                also multiply-adds of all instructions in each kernel's innermost loop
    tools/gpu_compile --check                against recorded.json: no spills, no growth by more than a quarter
    tools/gpu_compile --record               writes recorded.json anew

Exit status: 0 all is well; 1 a kernel is refused by a driver, or fails the check; 3 the machine's own RADV is missing,
or makes no devices out of nothing. A driver that only the tool unpacks may be missing: that is said, and no failure.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tools.gpu_compilation import record
from tools.gpu_compilation.drivers import DRIVERS, Driver, NoDriverError
from tools.gpu_compilation.figures import Figures
from tools.gpu_compilation.generation import Report, compile_generation
from tools.gpu_compilation.workloads import Workload, workloads

_GENERATIONS = [generation for driver in DRIVERS for generation in driver.generations]
_SHOWN = 8


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    start = time.monotonic()
    chosen = [w for w in workloads() if options.filter.lower() in w.name.lower()]
    if not chosen:
        print(f"no kernel has {options.filter!r} in its name", file=sys.stderr)
        return 2
    reports, missing = _compile(options.generation or _GENERATIONS, chosen, loops=options.loops)
    status = 3 if any(driver.suite is None for driver in missing) else 0
    known = record.load()
    for report in reports:
        _show(report, options.worst)
        if report.refused:
            status = status or 1
        if options.check:
            verdict = record.judge(report, known)
            _explain(report, verdict, partly=bool(options.filter))
            if verdict.failures:
                status = status or 1
        else:
            _list("refused", [f"{name}: {reason}" for name, reason in report.refused.items()])
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(report) for report in reports], indent=1))
    if options.record:
        record.save(record.renewed(known, reports))
    print(f"{sum(len(report.kernels) for report in reports)} pipelines in {time.monotonic() - start:.0f} s")
    return status


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "tools/gpu_compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare with what is recorded, and show failures alone")
    parser.add_argument("--record", action="store_true", help="record these figures")
    parser.add_argument("--filter", default="", metavar="TEXT", help="only operators and cases with this in their name")
    parser.add_argument("--generation", action="append", choices=_GENERATIONS, help="only this one; may be repeated")
    parser.add_argument("--worst", type=int, metavar="N", help="so many kernels of each generation")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--loops", action="store_true", help="count in the machine code of innermost loops")
    options = parser.parse_args(arguments)
    if options.record and options.filter:
        parser.error("--record writes all kernels, and takes no --filter")
    if options.worst is None:
        options.worst = 0 if options.check or options.record else sys.maxsize
    return options


def _compile(
    generations: Sequence[str], chosen: Sequence[Workload], *, loops: bool
) -> tuple[list[Report], list[Driver]]:
    """The reports in the order of the generations, and the drivers that are not to be had."""
    reports: list[Report] = []
    missing: list[Driver] = []
    running: list[tuple[Driver, Future[Report]]] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for driver in DRIVERS:
            wanted = [generation for generation in driver.generations if generation in generations]
            try:
                installation = driver.find() if wanted else None
            except NoDriverError as error:
                missing.append(driver)
                print(f"{driver.name} is left out: {error}")
                continue
            for generation in wanted:
                assert installation is not None
                running.append((driver, pool.submit(compile_generation, installation, generation, chosen, loops=loops)))
        for driver, future in running:
            try:
                reports.append(future.result())
            except NoDriverError as error:
                missing.append(driver)
                print(f"{driver.name} is left out: {error}")
    return reports, missing


def _worst_first(kernels: dict[str, Figures]) -> list[tuple[str, Figures]]:
    def badness(entry: tuple[str, Figures]) -> tuple[int, ...]:
        found = entry[1]
        return -found.scratch, -found.vgpr_spills - found.sgpr_spills, -found.vgprs, -found.instructions

    return sorted(kernels.items(), key=badness)


def _show(report: Report, most: int) -> None:
    kernels = _worst_first(report.kernels)
    spilling = sum(found.spills for _, found in kernels)
    slowest = max((found.milliseconds for _, found in kernels), default=0)
    print(
        f"{report.generation}, Mesa {report.mesa}: {len(kernels)} kernels, {spilling} spill, at most "
        f"{max((found.vgprs for _, found in kernels), default=0)} VGPRs, {slowest:.0f} ms for one"
    )
    if not most:
        return
    table = Table("kernel", title=f"{report.generation}, Mesa {report.mesa}")
    columns = ("instructions", "VGPRs", "SGPRs", "spilled", "scratch B", "LDS B", "waves", "ms", "loop")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for name, found in kernels[:most]:
        spilled = found.vgpr_spills + found.sgpr_spills
        numbers = (found.instructions, found.vgprs, found.sgprs, spilled, found.scratch, found.lds, found.waves)
        table.add_row(name, *map(str, numbers), f"{found.milliseconds:.0f}", str(found.loop))
    # Redirected, a table is as wide as it needs to be.
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def _explain(report: Report, verdict: record.Verdict, *, partly: bool) -> None:
    if not verdict.compared:
        print(f"  nothing is recorded of {report.generation} with Mesa {report.mesa}: only spills count")
    for failure in verdict.failures:
        print(f"  FAILED {report.generation}: {failure}")
    _list("new", verdict.new)
    if not partly:
        _list("no longer there", verdict.gone)


def _list(what: str, names: Sequence[str]) -> None:
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        print(f"  {what}: {'; '.join(names[:_SHOWN])}{more}")


if __name__ == "__main__":
    sys.exit(main())
