"""Compare operators with the device's own limits: tools/bench --roofline [--device NAME] [case ...]

The command measures the device's copy bandwidth and multiply-add rates with kernels that do nothing else. Each case is
then a fraction of its bound: the time of its bytes at that bandwidth, or of its operations at the highest rate of its
data type, whichever is longer. The sizes fill a GPU; a CPU driver takes minutes for them.

    --torch PYTHON   a Python that has PyTorch with CUDA, to measure the same work first, in its own process
    --json FILE      write the figures to this file, for tools/bench --compare
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from geometric import geometric_mean
from rich.console import Console
from rich.table import Table

import dml
from roofline.ceilings import ceilings
from roofline.measure import seconds_of
from roofline.work import Work, cases


def bound(work: Work, kind: str, limits: Mapping[str, float]) -> tuple[str, float]:
    """Return which limit bounds the case ("bytes" or a rate), and the minimum seconds that it can take."""
    rates = {"float16": ("matrix", "float32"), "float32": ("float32",)}[kind]
    best = max((rate for rate in rates if rate in limits), key=lambda rate: limits[rate])
    times = {"bytes": work.bytes / limits["bytes"], best: work.operations / limits[best]}
    name = max(times, key=lambda key: times[key])
    return name, times[name]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="cases to run, by parts of their names (default: all)")
    parser.add_argument("--device", help="index of the Vulkan device, or part of its name")
    parser.add_argument("--torch", metavar="PYTHON")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    wanted = [name for name in cases() if not options.case or any(part in name for part in options.case)]
    peers = _torch(options.torch, wanted) if options.torch else {}
    device = dml.create_device(options.device)
    limits = ceilings(device)
    console = Console(width=110)
    tuned = ", tuned" if device.vulkan.target.tuned else ""
    console.print(f"{device.vulkan.name} ({device.vulkan.driver}{tuned}): copies {limits['bytes'] / 1e9:.0f} GB/s")
    console.print(", ".join(f"{name} {rate / 1e12:.2f} TFLOP/s" for name, rate in limits.items() if name != "bytes"))
    table = Table("case", "us", "rate", "bound by", "of it", *(["torch us", "dml / torch"] if peers else []))
    measured: dict[str, Any] = {}
    for name in wanted:
        work = cases()[name]()
        took = seconds_of(device, work)
        what, least = bound(work, name.split()[-1], limits)
        rate = (
            f"{work.bytes / took / 1e9:.0f} GB/s" if what == "bytes" else f"{work.operations / took / 1e12:.2f} TFLOP/s"
        )
        measured[name] = {"seconds": took, "bound": what, "fraction": least / took}
        cells = [name, f"{took * 1e6:.1f}", rate, what, f"{least / took:.0%}"]
        if name in peers:
            measured[name]["torch"] = peers[name]
            cells += [f"{peers[name] * 1e6:.1f}", f"{took / peers[name]:.2f}"]
        table.add_row(*cells)
        print(", ".join(cells), flush=True)
    console.print(table)
    ratios = [found["seconds"] / found["torch"] for found in measured.values() if "torch" in found]
    console.print(f"geometric mean of the fractions {geometric_mean([m['fraction'] for m in measured.values()]):.2f}")
    if ratios:
        console.print(f"geometric mean of dml / torch {geometric_mean(ratios):.2f}")
    if options.json:
        report: dict[str, Any] = {
            "device": device.vulkan.name,
            "driver": device.vulkan.driver,
            "ceilings": limits,
            "cases": measured,
        }
        report["tuned"] = len(device.vulkan.target.tuned.choices)
        options.json.write_text(json.dumps(report, indent=1) + "\n")


def _torch(python: str, wanted: list[str]) -> dict[str, float]:
    command = [python, str(Path(__file__).with_name("torch_cuda.py")), *wanted]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python} cannot measure PyTorch: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout)["seconds"]
    return found
