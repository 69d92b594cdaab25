"""Compare two reports of tools/bench: tools/bench --compare BEFORE.json AFTER.json"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from geometric import geometric_mean
from rich.console import Console
from rich.table import Table

#: Largest slowdowns that a release may have: of the geometric mean, and of a single case.
MEAN, ONE = 1.05, 1.15


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    before, after = (json.loads(path.read_text()) for path in (options.before, options.after))
    if (before["device"], before["driver"]) != (after["device"], after["driver"]):
        print(f"other devices: {before['device']} ({before['driver']}) and {after['device']} ({after['driver']})")
    table, found = compare(before["cases"], after["cases"])
    Console().print(table)
    mean = geometric_mean(list(found.values()))
    print(f"geometric mean {mean:.3f} of {len(found)} cases")
    return int(mean > MEAN or any(ratio > ONE for ratio in found.values()))


def compare(before: dict[str, Any], after: dict[str, Any]) -> tuple[Table, dict[str, float]]:
    """Return a table row per case, and the ratios after / before of the cases in both reports."""
    table = Table("case", "before, us", "after, us", "after / before")
    found = {}
    for name in dict.fromkeys([*before, *after]):
        times = [report[name]["seconds"] if name in report else None for report in (before, after)]
        ratio = ""
        if times[0] and times[1]:
            found[name] = times[1] / times[0]
            ratio = f"{found[name]:.2f}"
        table.add_row(name, *("-" if t is None else f"{t * 1e6:.1f}" for t in times), ratio)
    return table, found
