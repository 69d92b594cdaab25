"""Benchmark dml against its peers on the same machine, as ratios of times.

    tools/bench [--device llvmpipe] [--rounds 15] [case ...]
    tools/bench --first-result [--model resnet18]    time to a model's first result; has its own --help
    tools/bench --planning                           what each layer of planning saves; has its own --help
    tools/bench --roofline [case ...]                operators as fractions of the device's limits; has its own --help
    tools/bench --language                           a language model compared with llama.cpp; has its own --help
    tools/bench --compare before.json after.json     compare two reports (--json FILE)

Every round measures each peer once, so that all run under the same load. A time is the slope from one evaluation to
five in a row; the table shows medians. Each peer is a process, which is stopped while another one runs. The Vulkan
peers run on the same device, ONNX Runtime on the CPU. Data stays on the device.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import comparison
import first_result
import numpy as np
import planning
import roofline.main
from cases import CASES
from geometric import geometric_mean
from peers import PEERS, VULKAN
from rich.console import Console
from rich.table import Table
from turns import PeerError, peers

import dml


class Measured(NamedTuple):
    """A case's title, its floating-point operations, and each peer's median seconds."""

    name: str
    flops: float
    seconds: dict[str, float]


def measure(name: str, device: str | None, rounds: int, wanted: list[str]) -> Measured:
    """Measure each peer's median seconds. Raises AssertionError for a result that differs from the first peer's."""
    with tempfile.TemporaryDirectory() as folder, peers(wanted, name, Path(folder), device) as running:
        if not running:
            return Measured(name, 0.0, {})
        first = next(iter(running.values()))
        for other, peer in running.items():
            for output, value in peer.results.items():
                np.testing.assert_allclose(
                    np.ravel(value),
                    np.ravel(first.results[output]),
                    rtol=2e-3,
                    atol=2e-3,
                    err_msg=f"{other}: {first.case} {output}",
                )
        times: dict[str, list[float]] = {other: [] for other in running}
        for turn in range(rounds + 2):
            for other in list(times):
                try:
                    seconds = running[other].turn()
                except PeerError as error:
                    if other == "dml":
                        raise
                    print(f"{other} fails on {first.case}: {error}", file=sys.stderr)
                    del times[other]
                    continue
                if turn >= 2:  # the first two rounds warm up
                    times[other].append(seconds)
        return Measured(first.case, first.flops, {other: statistics.median(taken) for other, taken in times.items()})


def host_share(device: dml.Device) -> float:
    """Return the microseconds of one dispatch of a one-element operator from arrays to arrays."""
    t = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1,))
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)
    compiled = device.compile_operator(device.create_operator(desc))
    inputs = {"ATensor": np.ones(1, np.float32), "BTensor": np.ones(1, np.float32)}
    samples = []
    for _ in range(2000):
        start = time.perf_counter()
        compiled.dispatch(inputs)
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def main() -> None:
    if sys.argv[1:2] == ["--first-result"]:
        first_result.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--planning"]:
        planning.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--roofline"]:
        roofline.main.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["--compare"]:
        sys.exit(comparison.main(sys.argv[2:]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", choices=[[], *CASES], help="cases to run (default: all)")
    parser.add_argument("--device", help="index of the Vulkan device, or part of its name")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, metavar="FILE", help="file to write the figures to, for --compare")
    parser.add_argument("--peers", default=",".join(PEERS), help="comma-separated: " + ", ".join(PEERS))
    options = parser.parse_args()
    wanted = options.peers.split(",")
    if not set(wanted) <= set(PEERS):
        parser.error(f"--peers: takes some of {', '.join(PEERS)}, found {options.peers!r}")
    device = dml.create_device(options.device)
    console = Console()
    tuned = ", tuned" if device.vulkan.target.tuned else ""
    console.print(f"{device.vulkan.name} ({device.vulkan.driver}{tuned}); median ms of {options.rounds} rounds")
    table = Table("case", *PEERS, "GFLOP/s", "dml / best Vulkan peer")
    all_ratios, measured = [], {}
    for name in options.case or CASES:
        case = measure(name, options.device, options.rounds, [p for p in PEERS if p in wanted])
        found = case.seconds
        cells = [f"{found[peer] * 1e3:.2f}" if peer in found else "-" for peer in PEERS]
        rate = f"{case.flops / found['dml'] / 1e9:.1f}" if case.flops and "dml" in found else ""
        rivals = [found[peer] for peer in VULKAN if found.get(peer)]
        ratio = ""
        if rivals and "dml" in found:
            all_ratios.append(found["dml"] / min(rivals))
            ratio = f"{all_ratios[-1]:.2f}"
        if "dml" in found:
            others = {peer: taken for peer, taken in found.items() if peer != "dml"}
            measured[case.name] = {"seconds": found["dml"], "peers": others}
        table.add_row(case.name, *cells, rate, ratio)
        print(
            f"{case.name}: {', '.join(cells)}; {rate or '-'} GFLOP/s; ratio {ratio or '-'}", file=sys.stderr, flush=True
        )
    console.print(table)
    if all_ratios:
        console.print(f"geometric mean of dml / best Vulkan peer {geometric_mean(all_ratios):.2f}")
    if options.json:
        report: dict[str, Any] = {"device": device.vulkan.name, "driver": device.vulkan.driver, "cases": measured}
        report["tuned"] = len(device.vulkan.target.tuned.choices)
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    console.print(f"one-element operator, short way: {host_share(device):.0f} us a dispatch, host and device")


if __name__ == "__main__":
    main()
