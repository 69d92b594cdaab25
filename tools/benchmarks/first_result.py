"""Measure the time from an open device to a model's first result, and to the first result at another shape.

    tools/bench --first-result [--model NAME ...] [--device llvmpipe] [--rounds 1] [--json FILE]

Each contender runs in two fresh processes. The first starts with empty caches and goes on to other batch sizes and
lengths; the second starts with full caches. The time of another shape is its first run minus a steady run. CPU seconds
count all cores and child processes. Results that differ from ONNX Runtime's are an error.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from answers import CONTENDERS, Absent
from networks import MODELS, Model
from rich.console import Console
from rich.table import Table

import dml

ANSWERS = Path(__file__).with_name("answers.py")
RIVALS = [name for name in CONTENDERS if name != "dml"]
RTOL = 2e-3

#: NEXT: steps after the first. COLUMNS: all columns of the table.
NEXT = ("batch", "length", "third", "later")
COLUMNS = ("cold", "warm", *NEXT, "steady")

TITLE = (
    "CPU seconds (wall) to the first result; other shapes: time above a steady run, +compilations/pipelines; "
    "xN: dml takes N times as long"
)

Answers = dict[str, Any]


def lay_out(model: Model, folder: Path) -> list[str]:
    """Write the model and the inputs of its steps to files; return the steps' names."""
    (folder / "model.onnx").write_bytes(model.proto.SerializeToString())
    steps = model.steps()
    for step, inputs in steps.items():
        np.savez(folder / f"{step}.npz", **inputs)
    return list(steps)


def answer(contender: str, folder: Path, caches: Path, device: str, name: str, steps: Iterable[str]) -> Answers:
    """Run answers.py in its own process and return its report. Raises RuntimeError if the process fails."""
    environment = {
        **os.environ,
        "DML_CACHE_DIR": str(caches / "dml"),
        "MESA_SHADER_CACHE_DIR": str(caches / "mesa"),
        "XDG_CACHE_HOME": str(caches / "user"),
        "PYTHONPYCACHEPREFIX": str(caches / "python"),
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # keep Python's bytecode, as on a user's machine
    report = folder / f"{name}.json"
    command = [sys.executable, str(ANSWERS), contender, str(folder), device, str(report), *steps]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{contender} fails: {done.stderr.strip()[-2000:]}")
    found: Answers = json.loads(report.read_text())
    return found


def check(folder: Path, steps: Iterable[str], name: str) -> float | None:
    """Return the largest error of a process's results, relative to each result's largest element; None for the
    reference.

    The first contender's results become the reference. Raises AssertionError for an error above RTOL.
    """
    errors: list[float] = []
    for step in steps:
        reference = folder / f"reference.{step}.npz"
        if not reference.exists():
            (folder / f"{name}.{step}.npz").rename(reference)
            continue
        with np.load(folder / f"{name}.{step}.npz") as ours, np.load(reference) as theirs:
            assert len(ours) == len(theirs), f"{name}: {len(ours)} results at {step}, not {len(theirs)}"
            for key in theirs:
                assert ours[key].shape == theirs[key].shape, f"{name}: {ours[key].shape}, not {theirs[key].shape}"
                error = float(np.abs(ours[key] - theirs[key]).max() / np.abs(theirs[key]).max())
                assert error <= RTOL, f"{name}: {step}, {key} is off by {error:.2g} of its largest element"
                errors.append(error)
    return max(errors, default=None)


def medians(rounds: list[Any]) -> Any:
    """Merge nested dictionaries with equal keys: take the median of numbers, and the first of lists."""
    if isinstance(rounds[0], list):
        return rounds[0]
    if isinstance(rounds[0], dict):
        return {key: medians([one[key] for one in rounds if key in one]) for key in rounds[0]}
    return statistics.median(rounds)


def measure(model: Model, device: str, rounds: int, contenders: Iterable[str]) -> dict[str, Answers]:
    """Return each contender's figures by step ("warm": with full caches), or the reason why it has none."""
    found: dict[str, Answers] = {}
    with tempfile.TemporaryDirectory(prefix="dml-bench-") as place:
        folder = Path(place)
        steps = lay_out(model, folder)
        for contender in contenders:
            try:
                runs = [in_fresh_processes(contender, folder, device, steps) for _ in range(rounds)]
                found[contender] = medians(runs)
            except (Absent, AssertionError, RuntimeError) as error:
                found[contender] = {"absent" if isinstance(error, Absent) else "fails": str(error)}
    return found


def in_fresh_processes(contender: str, folder: Path, device: str, steps: Sequence[str]) -> Answers:
    """Run all steps in a process with empty caches, then the first step in one with full caches."""
    with tempfile.TemporaryDirectory(prefix="dml-bench-caches-") as place:
        caches, name = Path(place), contender.replace(" ", "-")
        found = answer(contender, folder, caches, device, name, steps)
        if "absent" in found:
            raise Absent(found["absent"])
        error = check(folder, steps, name)
        warm = answer(contender, folder, caches, device, name, steps[:1])
        check(folder, steps[:1], name)
    return {**found, "warm": warm["first"], **({} if error is None else {"error": error})}


def rows(found: Mapping[str, Answers]) -> Iterator[list[str]]:
    """Yield a table row per contender: its CPU seconds, and details if it is dml; a peer's row has the ratios of dml's
    seconds to its own."""
    ours = found["dml"]
    for contender in ("dml", *(name for name in found if name != "dml")):
        its = found[contender]
        if "fails" in its:
            yield [contender, its["fails"][-200:]]
        elif contender == "dml":
            made = f"{its['first']['kernels']:.0f} / {its['first']['pipelines']:.0f}"
            yield [contender, *map(partial(_in_full, its), COLUMNS), made, _error(its)]
        else:
            yield [contender, *map(partial(_beside, its, ours), COLUMNS), "", _error(its)]


def _error(its: Answers) -> str:
    return f"{its['error']:.1g}" if "error" in its else ""


def _seconds(answers: Answers, column: str, clock: str = "cpu") -> float | None:
    """Return a column's seconds: the first result, a steady run, or the first run at another shape minus a steady
    run."""
    step = "first" if column in ("cold", "steady") else column
    if step not in answers:
        return None
    first, steady = (float(answers[step][what][clock]) for what in ("first", "steady"))
    if column == "steady":
        return steady
    return first - steady if column in NEXT else first


def _in_full(its: Answers, column: str) -> str:
    cpu, wall = (_seconds(its, column, clock) for clock in ("cpu", "wall"))
    if cpu is None:
        return "-"
    if column in NEXT:
        steady, made = its[column]["steady"]["cpu"], its[column]
        return f"{cpu:.3f} over {steady:.3f} +{made['compilations']:.0f}/{made['pipelines']:.0f}"
    return f"{cpu:.4f}" if column == "steady" else f"{cpu:.3f} ({wall:.2f})"


def _beside(its: Answers, ours: Answers, column: str) -> str:
    cpu, own = _seconds(its, column), _seconds(ours, column) if "fails" not in ours else None
    if cpu is None:
        return "-"
    # No ratio for times too short to measure
    ratio = f" x{own / cpu:.3g}" if own is not None and cpu > (1e-4 if column == "steady" else 1e-3) else ""
    return f"{cpu:.4f}{ratio}" if column == "steady" else f"{cpu:.3f}{ratio}"


def where_time_went(found: Mapping[str, Mapping[str, Answers]]) -> Table:
    names = list(dict.fromkeys(s for model in found.values() for s in model["dml"].get("first", {}).get("stages", ())))
    table = Table("model", *names, "the rest", title="Where the cold CPU seconds go", title_justify="left")
    for model, contenders in found.items():
        if "first" not in contenders["dml"]:
            continue
        first = contenders["dml"]["first"]
        spent = {name: its["cpu"] for name, its in first["stages"].items()}
        rest = first["first"]["cpu"] - sum(spent.values())
        table.add_row(model, *(f"{spent.get(name, 0):.2f}" for name in names), f"{rest:.2f}")
    return table


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", choices=list(MODELS), help="may be repeated (default: all)")
    parser.add_argument("--device", default="", help="index of the Vulkan device, or part of its name")
    parser.add_argument("--rounds", type=int, default=1, help="repetitions of everything; the table shows medians")
    parser.add_argument("--peers", default=",".join(RIVALS), help="comma-separated: " + ", ".join(RIVALS))
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    # The reference comes first: all others are compared with it
    contenders = [*(name for name in RIVALS if name in options.peers.split(",")), "dml"]
    device = dml.create_device(options.device or None)
    console = Console(width=None if sys.stdout.isatty() else 220)
    console.print(f"{device.vulkan.name} ({device.vulkan.driver}), {os.cpu_count()} cores; {options.rounds} rounds")
    table = Table("model", "contender", *COLUMNS, "kernels / pipelines", "error", title=TITLE, title_justify="left")
    everything: dict[str, dict[str, Answers]] = {}
    absent: dict[tuple[str, str], list[str]] = {}
    for name in options.model or MODELS:
        model = MODELS[name]()
        found = everything[name] = measure(model, options.device, options.rounds, contenders)
        for contender in [contender for contender, its in found.items() if "absent" in its]:
            absent.setdefault((contender, found.pop(contender)["absent"]), []).append(name)
        for row in rows(found):
            table.add_row(model.title if row[0] == "dml" else "", *row)
            print(f"{name}: {'; '.join(row)}", file=sys.stderr, flush=True)
        table.add_section()
        if options.json:
            options.json.write_text(json.dumps({"device": device.vulkan.name, "models": everything}, indent=1))
    console.print(table)
    console.print(where_time_went(everything))
    for model, contenders in everything.items():
        for step in NEXT:
            if made := contenders["dml"].get(step, {}).get("made"):
                console.print(f"{model} makes for {step}: {', '.join(made)}", highlight=False)
    for (contender, reason), models in absent.items():
        console.print(f"left out: {contender}: {reason} ({', '.join(models)})", highlight=False)
    if any("fails" in its for found in everything.values() for its in found.values()):
        raise SystemExit("not every contender gave every result")


if __name__ == "__main__":
    main(sys.argv[1:])
