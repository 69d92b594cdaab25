"""Tables of the page "Performance", made from reports of `tools/bench --roofline`, `--language` and `tools/memory`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from dml.words import bytes_text
from tools.documentation.markdown import escaped, table

#: The reports, one file per device.
MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "measured"
LANGUAGE, MODELS = MEASURED / "language", MEASURED / "models"
#: Placeholders in the guide's page.
MARK, LANGUAGE_MARK, MODELS_MARK = (f"<!-- {what} -->\n" for what in ("measured", "language", "models"))
_TYPES = "float32", "float16"


def page(text: str) -> str:
    """Replace the page's placeholders by the tables."""
    tables = ((MARK, MEASURED, _device), (LANGUAGE_MARK, LANGUAGE, _language), (MODELS_MARK, MODELS, _models))
    for mark, folder, table_of in tables:
        assert mark in text
        reports = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
        text = text.replace(mark, "\n".join(map(table_of, reports)))
    return text


def _language(report: Mapping[str, Any]) -> str:
    measure = report["measure"]
    unit = "CPU s" if measure == "cpu" else "wall s"
    columns = ["", f"prompt of {report['prompt']}, {unit}", f"a token, {unit}", "peak memory of the process"]
    rows = [
        [name, f"{one['prompt'][measure]:.2f}", f"{one['token'][measure]:.3f}", bytes_text(one["peak"])]
        for name, one in report["answers"].items()
    ]
    about = f"Driver {escaped(report['driver'])}; {bytes_text(report['weights'])} of weights."
    return f"### {escaped(report['device'])}\n\n{about}\n\n{table(columns, rows)}"


def _models(report: Mapping[str, Any]) -> str:
    columns = ["model", "weights", "on the device", "run by", "first result, CPU s", "steady, CPU s", "peak memory"]
    rows = []
    for name, one in report["models"].items():
        for who, answer in one["answers"].items():
            ratio = "" if who == "onnxruntime" else f"{one['device']['weights'] / one['weights']:.2f}"
            times = [f"{answer[when]['cpu']:.2f}" for when in ("first", "steady")]
            rows.append([name, bytes_text(one["weights"]), ratio, who, *times, bytes_text(answer["peak"])])
    about = f"Driver {escaped(report['driver'])}. On the device: bytes of weights there by those in the file."
    return f"### {escaped(report['device'])}\n\n{about}\n\n{table(columns, rows)}"


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
