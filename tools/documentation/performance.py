"""The tables of GPUs on the page "Performance", made from what `tools/bench --roofline --json` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from tools.documentation.markdown import escaped, table

#: A report of each device, by file.
MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "measured"
#: Where the tables stand in the guide's page.
MARK = "<!-- measured -->\n"
_TYPES = "float32", "float16"


def page(text: str) -> str:
    """Put a table of each measured device where the page has the mark."""
    tables = [_device(json.loads(path.read_text(encoding="utf-8"))) for path in sorted(MEASURED.glob("*.json"))]
    assert MARK in text
    return text.replace(MARK, "\n".join(tables))


def _device(report: Mapping[str, Any]) -> str:
    ratios = [found["seconds"] / found["torch"] for found in report["cases"].values() if "torch" in found]
    mean = f" Geometric mean of the {len(ratios)} ratios: {prod(ratios) ** (1 / len(ratios)):.2f}." if ratios else ""
    columns = ["case", *(cell for kind in _TYPES for cell in (f"{kind.upper()}, µs", "of its bound", "to PyTorch"))]
    rows = {name.rpartition(" ")[0]: None for name in report["cases"]}
    about = f"Driver {escaped(report['driver'])}. {_ceilings(report['ceilings'])}{mean}"
    measured = table(columns, ([case, *_cells(report, case)] for case in rows))
    return f"### {escaped(report['device'])}\n\n{about}\n\n{measured}"


def _ceilings(ceilings: Mapping[str, float]) -> str:
    names = {"float32": "FLOAT32", "float16": "FLOAT16", "matrix": "matrix units"}
    rates = [f"{rate / 1e12:,.1f} TFLOP/s ({names[name]})" for name, rate in ceilings.items() if name in names]
    copied = f"{ceilings['bytes'] / 1e9:,.0f} GB/s"
    return f"Bounds: {', '.join([copied, *rates])}."


def _cells(report: Mapping[str, Any], case: str) -> list[str]:
    cells = []
    for kind in _TYPES:
        found = report["cases"].get(f"{case} {kind}")
        ratio = f"{found['seconds'] / found['torch']:.2f}" if found and "torch" in found else ""
        cells += [f"{found['seconds'] * 1e6:,.0f}", f"{found['fraction']:.0%}", ratio] if found else [""] * 3
    return cells
