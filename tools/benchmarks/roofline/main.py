"""How near to the device's own limits operators run: tools/bench --roofline [--device NAME] [case ...]

First the device's copy bandwidth and multiply-add rates, measured with kernels that do nothing else; then each case as
a fraction of what bounds it: the time that its bytes take at that bandwidth, or its operations at the highest rate of
its data type, whichever is longer. The sizes fill a GPU; a CPU's driver takes minutes for them.

    --torch PYTHON   a Python that has PyTorch with CUDA: the same work by it, measured before in a process of its own
    --json FILE      the figures, for tools/bench --compare
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
    """What bounds the case, and the seconds that it takes at least."""
    rates = {"float16": ("matrix", "float32"), "float32": ("float32",)}[kind]
    best = max((rate for rate in rates if rate in limits), key=lambda rate: limits[rate])
    times = {"bytes": work.bytes / limits["bytes"], best: work.operations / limits[best]}
    name = max(times, key=lambda key: times[key])
    return name, times[name]


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="which cases: parts of their names; all when none is named")
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
        raise SystemExit(f"{python} does not measure PyTorch: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout)["seconds"]
    return found
