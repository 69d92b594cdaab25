"""Run models with onnxruntime's CPU provider, and compare our results with its."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from dml.stages import cpu_seconds
from tools.zoo_of_models.answer import tensor
from tools.zoo_of_models.entry import TOLERANCES, Arrays


class WrongError(Exception):
    """The results differ from onnxruntime's; the message describes the difference."""


def reference(path: Path, inputs: Arrays, runs: int, optimized: bool = True) -> tuple[list[np.ndarray], float | None]:
    """Return onnxruntime's results, and the median CPU seconds of ``runs`` steady runs.

    optimized: with its graph optimizations; some move the rounding of quantized numbers.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # spinning would count as CPU time
    # adds signed integers as integers, too: the default, float32, rounds sums near ties wrongly
    options.add_session_config_entry("session.qdqisint8allowed", "1")
    if not optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    results = [tensor(result) for result in session.run(None, inputs)]
    times = []
    for _ in range(runs):
        begun = cpu_seconds()
        session.run(None, inputs)
        times.append(cpu_seconds() - begun)
    return results, statistics.median(times) if times else None


def steps(path: Path) -> list[float | None]:
    """Return each output's quantization step: the scale of the DequantizeLinear that computes it, or None."""
    graph = onnx.load(path).graph
    makers = {name: node for node in graph.node for name in node.output}
    numbers = {one.name: one for one in graph.initializer}
    found: list[float | None] = []
    for output in graph.output:
        node: Any = makers.get(output.name)
        known = node is not None and node.op_type == "DequantizeLinear" and node.input[1] in numbers
        found.append(float(numpy_helper.to_array(numbers[node.input[1]]).max()) if known else None)
    return found


def compare(ours: list[np.ndarray], expected: list[np.ndarray], precision: str, sizes: list[float | None]) -> float:
    """Return the largest error, relative to each output's largest element, or in steps if precision is "quantized".

    sizes: size of a quantization step in each output; None for a 255th of the output's range. Raises WrongError if
    shape, type or integers differ, or if the error is above TOLERANCES.
    """
    if len(ours) != len(expected):
        raise WrongError(f"{len(ours)} outputs, not {len(expected)}")
    worst = 0.0
    for index, (mine, theirs, size) in enumerate(zip(ours, expected, sizes, strict=True)):
        if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
            raise WrongError(f"output {index}: {mine.dtype}{mine.shape}, not {theirs.dtype}{theirs.shape}")
        if theirs.dtype.kind not in "fc":
            if not np.array_equal(mine, theirs):
                raise WrongError(f"output {index}: {int((mine != theirs).sum())} of {theirs.size} elements differ")
            continue
        if not theirs.size:
            continue
        unit = (size or np.ptp(theirs) / 255) if precision == "quantized" else np.abs(theirs).max()
        off = np.abs(mine.astype(np.float64) - theirs.astype(np.float64)).max()
        error = float(off / unit) if unit else float(off > 0)
        if not error <= TOLERANCES[precision] * 1.001:  # one step may round to slightly more; NaN is wrong
            raise WrongError(f"output {index}: off by {error:.3g}, {TOLERANCES[precision]:g} is allowed")
        worst = max(worst, error)
    return worst
