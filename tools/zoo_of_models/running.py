"""Export a model of the zoo, run it in separate processes, and judge the results."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tools.zoo_of_models.comparing import WrongError, compare, reference, steps
from tools.zoo_of_models.entry import Arrays, Entry
from tools.zoo_of_models.rows import NOT_EXPORTED, REFUSED, RIGHT, WRONG, Row

#: Steady runs; their median counts.
RUNS = 5


def run(entry: Entry, folder: Path, device: str, check: bool) -> Row:
    """Export the model if missing; run it and return its row."""
    row = Row(entry.name, entry.by, entry.opset, entry.precision)
    lacking = [package for package in entry.needs if find_spec(package) is None]
    if lacking:
        row.why = f"needs {', '.join(lacking)}"
        return row
    path = folder / "model.onnx"
    if not (folder / "inputs.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        try:
            logging.disable()  # exporters log every attempt
            np.savez(folder / "inputs.npz", **entry.make(path))
        except Exception as error:  # exporters raise any exception
            row.verdict, row.why = NOT_EXPORTED, f"{type(error).__name__}: {str(error)[:300]}"
            return row
        finally:
            logging.disable(logging.NOTSET)
    model = onnx.load(path, load_external_data=False)
    row.nodes = len(model.graph.node)
    row.opset = next(one.version for one in model.opset_import if one.domain in ("", "ai.onnx"))
    with np.load(folder / "inputs.npz") as file:
        inputs = dict(file)
    try:
        expected, row.theirs = reference(path, inputs, 0 if check else RUNS)
    except RuntimeError as error:  # base class of onnxruntime's exceptions
        row.verdict, row.why = NOT_EXPORTED, f"onnxruntime refuses it: {error}"
        return row
    found = _run(folder, device, check)
    if "refused" in found:
        row.verdict, row.why = REFUSED, found["refused"]
        return row
    for name in ("cold", "warm", "steady", "host_parts", "host_nodes"):
        setattr(row, name, found.get(name, getattr(row, name)))
    with np.load(folder / "results.npz") as file:
        ours = [file[name] for name in file.files]
    try:
        row.error = compare(ours, expected, entry.precision, steps(path))
        row.verdict = RIGHT
    except WrongError as error:
        row.verdict, row.why = WRONG, str(error)
        if entry.precision == "quantized":
            _compare_as_it_stands(row, path, inputs, ours)
    return row


def _compare_as_it_stands(row: Row, path: Path, inputs: Arrays, ours: list[np.ndarray]) -> None:
    """Accept also the results of onnxruntime without its graph optimizations."""
    try:
        row.error = compare(ours, reference(path, inputs, 0, optimized=False)[0], row.precision, steps(path))
    except WrongError:
        return
    row.verdict, row.why = RIGHT, f"as onnxruntime without its optimizations; with them, {row.why}"


def _run(folder: Path, device: str, check: bool) -> dict[str, Any]:
    """Run the model in separate processes: once with the user's caches, or with empty caches and then with full
    ones."""
    if check:
        return _answer(folder, device, {}, 0)
    with tempfile.TemporaryDirectory() as caches:
        environment = {
            "DML_CACHE_DIR": f"{caches}/dml",
            "MESA_SHADER_CACHE_DIR": f"{caches}/mesa",
            "XDG_CACHE_HOME": f"{caches}/user",
        }
        cold = _answer(folder, device, environment, 0)
        if "refused" in cold:
            return cold
        warm = _answer(folder, device, environment, 1 + RUNS)
    return {**warm, "cold": cold["first"], "warm": warm["first"]}


def _answer(folder: Path, device: str, environment: dict[str, str], runs: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "tools.zoo_of_models.answer", str(folder), device, str(runs)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        return {"refused": f"ended with {done.returncode}: {done.stderr.strip()[-1000:]}"}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
