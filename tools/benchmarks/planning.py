"""Measure what each layer of planning saves: how much longer plans take without it.

    tools/bench --planning [--device llvmpipe] [--layers 12] [--lengths 64] [--rounds 5]

Plans a GPT-2 step (one token after a past) for lengths that grow by one, and the last length again; nothing runs. Times
are the least CPU seconds of the planning thread in any round; the kernels were made before. dml/planning/__init__.py
explains the layers.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from unittest.mock import patch

import numpy as np
from networks.building import Model
from networks.transformers import gpt2
from rich.console import Console
from rich.table import Table

import dml
from dml.compiler import repeated
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.mapped import MappedNodes
from dml.planning import patterns
from dml.planning.plans import Plans
from dml.recent import Recent

#: Layer of planning -> a context in which it is switched off.
LAYERS: dict[str, AbstractContextManager[object]] = {
    "": nullcontext(),
    "plans": patch.object(Plans, "find", lambda *_: None),
    "patterns": patch.object(patterns, "PATIENCE", 1 << 30),
    "mappings": patch.object(MappedNodes, "key", lambda *_: None),
    "lowerings": patch.object(repeated, "MOST_KEPT", 0),
}
COLUMNS = ("first plan", "next length", "all lengths", "same length")


def measure(model: Model, device: dml.Device, lengths: int) -> dict[str, float]:
    """Return the CPU seconds of a fresh model's plans, by column."""
    random, first = np.random.default_rng(1), model.first["past"]
    feeds = [
        {entry.name: entry.array({"batch": 1, "past": past, "total": past + 1}, random) for entry in model.inputs}
        for past in range(first, first + lengths)
    ]
    prepared, taken = prepare(model.proto, device), []
    gc.collect()
    gc.disable()
    try:
        with patch.object(repeated, "_kept", Recent(repeated.MOST_KEPT)):
            for inputs in (*feeds, feeds[-1]):
                start = time.thread_time()
                prepared.compiled_for(inputs)
                taken.append(time.thread_time() - start)
    finally:
        gc.enable()
    return dict(zip(COLUMNS, (taken[0], taken[1], sum(taken[:-1]), taken[-1]), strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="tools/bench --planning", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default=None)
    parser.add_argument("--layers", type=int, default=12, help="number of the model's layers")
    parser.add_argument("--lengths", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    model, device = gpt2(options.layers), dml.create_device(options.device)
    measure(model, device, options.lengths)  # not counted: compiles the kernels
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in LAYERS}
    for _ in range(options.rounds):
        for name, off in LAYERS.items():
            with off:
                taken[name].append(measure(model, device, options.lengths))
    table = Table("without", *COLUMNS)
    everything = {column: min(each[column] for each in taken[""]) for column in COLUMNS}
    table.add_row("", *(f"{seconds * 1e3:.2f} ms" for seconds in everything.values()))
    for name, rounds in taken.items():
        if name:
            least = {column: min(each[column] for each in rounds) for column in COLUMNS}
            table.add_row(name, *(f"{least[column] / everything[column]:.2f}" for column in COLUMNS))
    console = Console()
    console.print(f"{model.title}, {options.lengths} lengths: CPU time, and its multiple without a layer")
    console.print(table)


if __name__ == "__main__":
    main()
