"""Reports at a terminal: a table of operators per device, skipped cases with reasons, and failures."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dml.conformance import coverage, report
from dml.conformance.compare import ulp_text
from dml.conformance.failures import KINDS, kind_of
from dml.conformance.report import Record

#: Maximum failures of a run shown in full, and reasons of each kind.
MOST_FAILURES, MOST_REASONS = 10, 12
#: Maximum kernels listed with variants that did not run.
MOST_KERNELS = 10

_COLORS = {"passed": "green", "failed": "bold red", "loose": "yellow", "not_tested": "yellow", "unsupported": "cyan"}


def show(console: Console, record: Record, *, by_type: bool = False, failures: int = MOST_FAILURES) -> None:
    """Print a report. by_type: a row for each data type of an operator. failures: number shown in full per run."""
    for run in record["runs"]:
        _title(console, run)
        console.print(table(run["results"], by_type=by_type))
        for status in ("not_tested", "unsupported"):
            _reasons(console, run, status)
        _coverage(console, run)
        _failures(console, run, failures)
        _loose(console, run, failures)
    for run in record["runs"]:
        console.print(_total(run))


def words(status: str) -> str:
    """Return the name of a status for readers."""
    return status.replace("_", " ")


def table(results: Sequence[Record], *, by_type: bool = False) -> Table:
    """Build a table of operators, or their data types: counts by status, and the error nearest its limit."""
    groups: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    for outcome in results:
        groups[(outcome["operator"], outcome["data_type"] or "")[: 1 + by_type]].append(outcome)
    result = Table()
    for column in ("operator", "data type")[: 1 + by_type]:
        result.add_column(column, overflow="fold")
    for status in report.STATUSES:
        result.add_column(words(status), justify="right")
    result.add_column("error nearest its limit, ulp", justify="right")
    result.add_column("limit", justify="right")
    result.add_column("of it", justify="right")
    for key in sorted(groups):
        found = report.counts(groups[key])
        cells = [Text(str(count or ""), style=_COLORS[status]) for status, count in found.items()]
        result.add_row(*key, *cells, *_worst(groups[key]))
    found = report.counts(results)
    cells = [Text(str(count), style=_COLORS[status]) for status, count in found.items()]
    result.add_section()
    result.add_row("all", *[""] * by_type, *cells, *_worst(results))
    return result


def _worst(results: Sequence[Record]) -> tuple[str, str, str]:
    """Return error, limit and share of the tensor nearest to its limit; if a tensor that must be exact is wrong, the
    largest such error."""
    tensors = [tensor for outcome in results for tensor in outcome["tensors"]]
    if not tensors:
        return "", "", ""
    if any(tensor["worst_ulp"] is None for tensor in tensors):
        return "no number", "", ""
    shared = [tensor for tensor in tensors if tensor["share"] is not None]
    beyond = max((tensor for tensor in tensors if tensor["share"] is None), key=lambda t: t["worst_ulp"], default=None)
    if beyond is not None and (beyond["worst_ulp"] or not shared):
        return ulp_text(beyond["worst_ulp"]), "exact", ""
    worst = max(shared, key=lambda tensor: tensor["share"])
    return ulp_text(worst["worst_ulp"]), ulp_text(worst["ulp_limit"]), f"{worst['share']:.0%}"


def _title(console: Console, run: Record) -> None:
    device = run["device"]
    line = Text(f"\n{report.title(device)}", style="bold")
    tuned = ", tuned" if device["features"].get("tuned") else ""
    line.append(f": driver {device['driver']}, Vulkan {device['api_version']}{tuned}", style="not bold")
    console.print(line)


def _total(run: Record) -> Text:
    line = Text(f"{report.title(run['device'])}: ", style="bold")
    for index, (status, count) in enumerate(report.counts(run["results"]).items()):
        line.append(f"{', ' if index else ''}{count} {words(status)}", style=_COLORS[status] if count else "not bold")
    line.append(f" of {len(run['results'])} cases in {run['seconds']:.0f} s", style="not bold")
    if not run["complete"]:
        line.append("; not complete", style="bold yellow")
    return line


def _reasons(console: Console, run: Record, status: str) -> None:
    """Print why cases were not tested or are not supported, most frequent reasons first."""
    operators: dict[str, Counter[str]] = defaultdict(Counter)
    for outcome in run["results"]:
        if outcome["status"] == status:
            operators[outcome["reason"]][outcome["operator"]] += 1
    ordered = sorted(operators.items(), key=lambda each: -each[1].total())
    if ordered:
        console.print(Text(f"{words(status)}:", style=_COLORS[status]))
    for reason, of in ordered[:MOST_REASONS]:
        names = ", ".join(list(of)[:4]) + (f" and {len(of) - 4} more" if len(of) > 4 else "")
        console.print(Text(f"  {of.total()} of {names}: {reason}"))
    if len(ordered) > MOST_REASONS:
        console.print(Text(f"  and {len(ordered) - MOST_REASONS} more reasons, in the JSON report"))


def _coverage(console: Console, run: Record) -> None:
    """Print the kernels and variants that ran, of those that exist for the device, and those that did not."""
    if not run["coverage"]:
        return
    of = coverage.total(run["coverage"])
    complete = of["kernels"] == of["kernels_run"] and of["variants"] == of["variants_run"]
    share = f"{of['variants_run'] / of['variants']:.1%}" if of["variants"] else "none"
    console.print(
        Text(
            f"kernels run: {of['kernels_run']} of {of['kernels']}; variants: {of['variants_run']} of {of['variants']}"
            f" ({share})",
            style="green" if complete else "not bold",
        )
    )
    short = [kernel for kernel in run["coverage"]["kernels"] if kernel["run"] < kernel["variants"]]
    short.sort(key=lambda kernel: (kernel["run"] > 0, kernel["run"] - kernel["variants"]))
    for kernel in short[:MOST_KERNELS]:
        of_them = f"{kernel['variants'] - kernel['run']} of {kernel['variants']} variants " if kernel["run"] else ""
        style = "not bold" if kernel["run"] else "bold yellow"
        console.print(Text(f"  {kernel['kernel']}: {of_them}did not run", style=style))
    if len(short) > MOST_KERNELS:
        console.print(Text(f"  and {len(short) - MOST_KERNELS} more kernels; the JSON report names each variant"))


def _failures(console: Console, run: Record, most: int) -> None:
    failed = [outcome for outcome in run["results"] if outcome["status"] == "failed"]
    # one of each operator and data type first, so that a broken operator does not hide others
    seen: Counter[tuple[str, str]] = Counter()
    ranked = []
    for outcome in failed:
        kinds = outcome["operator"], outcome["data_type"] or ""
        ranked.append((seen[kinds], list(KINDS).index(kind_of(outcome)), outcome))
        seen[kinds] += 1
    ranked.sort(key=lambda each: each[:2])
    if failed:
        console.print(Text(f"\nfailures: {kinds_text(failed)}", style=_COLORS["failed"]))
    for _, _, outcome in ranked[:most]:
        heading = f"\nfailed: {outcome['case']} ({KINDS[kind_of(outcome)]})"
        console.print(Text(heading, style=_COLORS["failed"]))
        for line in failure_lines(run, outcome):
            console.print(Text(f"  {line}"), soft_wrap=True)
    if len(failed) > most:
        console.print(Text(f"\n{len(failed) - most} more; all {len(failed)} failures:", style=_COLORS["failed"]))
        for (operator, kind), count in seen.items():
            console.print(Text(f"  {operator} {kind}: {count} cases"))


def kinds_text(failed: Sequence[Record]) -> str:
    """Return a text with the number of failures of each kind, in the order of KINDS."""
    found = Counter(map(kind_of, failed))
    return ", ".join(f"{found[kind]} {words}" for kind, words in KINDS.items() if found[kind])


def _loose(console: Console, run: Record, most: int) -> None:
    """Print results beyond the tight limits, the farthest per operator and data type."""
    worst: dict[tuple[str, str], Record] = {}
    for outcome in run["results"]:
        if (loose := outcome["loose"]) is not None:
            kind = outcome["operator"], outcome["data_type"] or ""
            if kind not in worst or loose["tight_share"] > worst[kind]["loose"]["tight_share"]:
                worst[kind] = outcome
    ordered = sorted(worst.values(), key=lambda outcome: -outcome["loose"]["tight_share"])
    if ordered:
        console.print(Text("\nloose, within the public limit and beyond the tight one:", style=_COLORS["loose"]))
    for outcome in ordered[:most]:
        text = f"  {outcome['case']}: {outcome['loose']['message']}"
        console.print(Text(text, style=_COLORS["loose"]), soft_wrap=True)
    if len(ordered) > most:
        console.print(Text(f"  and {len(ordered) - most} more operators or data types", style=_COLORS["loose"]))


def failure_lines(run: Record, outcome: Record) -> Iterator[str]:
    """Yield lines that describe a failure; the last one is the command that runs it again."""
    failure: dict[str, Any] = outcome["failure"]
    yield from failure["message"].splitlines()
    device = run["device"]
    yield f"device: {report.title(device)}, driver {device['driver']}"
    if failure["kernels"]:
        yield f"kernels: {', '.join(failure['kernels'])}"
    if failure["descriptor"] is not None:
        yield f"descriptor: {json.dumps(failure['descriptor'])}"
    if (smallest := failure["smallest"]) is not None:
        yield f"smallest: {smallest['case']}: {smallest['message']}"
        if "command" in smallest:
            yield f"  {smallest['command']}"
    yield f"again: {failure['command']}"
