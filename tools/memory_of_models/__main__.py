"""tools/memory: time and memory of models at real sizes with random weights, compared with onnxruntime."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import dml
from dml.errors import DMLError
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import planner
from dml.runtime.needs import MemoryNeeds
from dml.words import bytes_text
from tools.memory_of_models.models import AS_DISCRETE, MODELS
from tools.memory_of_models.writer import Made

#: Largest relative difference between the means of results' absolute values.
_TOLERANCE = 2e-3
_WHEN, _UNITS = ("first", "steady"), ("wall", "cpu")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools/memory",
        description="Measure time and memory of models at real sizes with random weights, each in its own process.",
    )
    parser.add_argument("models", nargs="*", help=f"some of {', '.join(MODELS)} (default: all)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="scale of the models' widths and layers; 0.25 takes seconds"
    )
    who = "default: plain,onnxruntime, for the Llamas plain,discrete,onnxruntime"
    parser.add_argument("--who", help=f"comma-separated axes of `dml conformance`, or onnxruntime; {who}")
    parser.add_argument("--device", help="part of the device's name, or its index")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    # On virtual machines, the first access to memory that the host has not backed yet is several times slower.
    parser.add_argument(
        "--processes",
        type=int,
        default=3,
        help="processes with warm caches, of which the fastest first result counts (default: 3); "
        "0: a single process, with cold caches",
    )
    options = parser.parse_args()
    for name in options.models:
        if name not in MODELS:
            parser.error(f"there is no model {name!r}; there are {', '.join(MODELS)}")
    if options.device:
        os.environ["DML_VULKAN_DEVICE"] = options.device
    device = dml.create_device().vulkan
    found: dict[str, Any] = {"device": device.name, "driver": device.driver, "scale": options.scale, "models": {}}
    wrong = []
    for name in options.models or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            made = MODELS[name](Path(folder), options.scale)
            answers = {one: _run(one, made, Path(folder), options.processes) for one in _who(options.who, name)}
            found["models"][name] = {"weights": made.bytes, "device": _foretold(made), "answers": answers}
        means = [one["mean"] for one in answers.values()]
        if max(means) - min(means) > _TOLERANCE * max(means):
            wrong.append(f"{name}: results differ: {dict(zip(answers, means, strict=True))}")
        if options.json:  # written after each model, since a whole run takes long
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    console = Console()
    console.print(_times_table(found["models"]))
    console.print(_memory_table(found["models"]))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _who(wanted: str | None, name: str) -> list[str]:
    return wanted.split(",") if wanted else ["plain", *["discrete"] * (name in AS_DISCRETE), "onnxruntime"]


def _run(who: str, made: Made, folder: Path, processes: int) -> dict[str, Any]:
    """Run the model in a process that warms the caches and in several more; return the figures of the last one, with
    the fastest first result of these."""
    feeds = folder / "feeds.npz"
    np.savez(feeds, **made.feeds)
    command = [sys.executable, "-m", "tools.memory_of_models.run", who, str(made.path), str(feeds)]
    environment = dict(os.environ)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # keep Python's bytecode, as on a user's machine
    answers: list[dict[str, Any]] = []
    for more in (["once"],) * processes + ([],):
        ran = subprocess.run([*command, *more], capture_output=True, text=True, env=environment)
        if ran.returncode:
            raise SystemExit(f"{made.path.stem} by {who} failed:\n{ran.stderr}")
        answers.append(json.loads(ran.stdout.splitlines()[-1]))
    warm = answers[1:] or answers
    first = {unit: min(answer["first"][unit] for answer in warm) for unit in _UNITS}
    return {**warm[-1], "first": first}


def _foretold(made: Made) -> Mapping[str, int]:
    """Return the bytes on the device by use, as `dml inspect` predicts them."""
    summary = inspect_model(str(made.path), planner(os.environ.get("DML_VULKAN_DEVICE"))[0], inputs=made.feeds)
    if summary.memory is None:
        raise DMLError(f"{made.path.stem}: {summary.unplanned}")
    return summary.memory


def _times_table(found: Mapping[str, Any]) -> Table:
    table = Table("model", "weights", "run by", *(f"{what}, {unit} s" for what in _WHEN for unit in _UNITS), "peak")
    for name, one in found.items():
        for who, answer in one["answers"].items():
            times = [f"{answer[when][unit]:.2f}" for when in _WHEN for unit in _UNITS]
            table.add_row(name, bytes_text(one["weights"]), who, *times, bytes_text(answer["peak"]))
    return table


def _memory_table(found: Mapping[str, Any]) -> Table:
    uses = list(MemoryNeeds(0, 0, 0, 0, ()).by_use)
    table = Table("model", *(f"{use} on the device" for use in uses), "weights on the device / in the file")
    for name, one in found.items():
        ratio = one["device"]["weights"] / one["weights"]
        table.add_row(name, *(bytes_text(one["device"][use]) for use in uses), f"{ratio:.2f}")
    return table


if __name__ == "__main__":
    sys.exit(main())
