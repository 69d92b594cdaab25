"""Invented reports of all operators on several devices, for tests of pages; sample_report has a few operators."""

from __future__ import annotations

import json
import random
from typing import Any

from sample_report import LAVAPIPE

import dml
from dml.capability import operator_support, short_name

DEVICES = (
    ("llvmpipe (LLVM 15.0.6, 256 bits)", "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)", "1.3.230", "cpu"),
    ("SwiftShader Device (LLVM 10.0.0)", "SwiftShader driver 5.0.0", "1.3.0", "cpu"),
    ("NVIDIA H100 80GB HBM3", "NVIDIA 535.129.03", "1.3.242", "discrete"),
)
#: The case with wrong results, and the case that hangs.
BROKEN = "GRU:type=FLOAT16,sizes=5x2x3,layout=padded"
HUNG = "CONVOLUTION:type=FLOAT32,layout=permuted,values=edges"


def report(devices: Any = DEVICES, axes: Any = ("plain", "discrete"), *, broken: bool = True) -> dict[str, Any]:
    """Return a report of these devices on these axes. broken: the first device's plain run has two failures."""
    runs = []
    for number, (name, driver, version, kind) in enumerate(devices):
        for axis in axes:
            chance = random.Random(f"{name} {axis}")
            results = [one for operator in dml.operators() for one in _outcomes(operator, chance, number)]
            if broken and number == 0 and axis == "plain":
                _break(results, name)
            device = {**LAVAPIPE, "name": name, "driver": driver, "api_version": version, "type": kind, "axis": axis}
            runs.append(
                {
                    "device": device,
                    "shard": "1/1",
                    "seconds": 61.5 + number,
                    "complete": True,
                    "coverage": None,
                    "results": results,
                }
            )
    return {
        "format": "dml-conformance", "version": 2, "created": "2026-11-22T18:00:00Z", "dml_version": "0.1.0",
        "commit": "dff3d13a9b1c4e", "python": "3.11.7", "platform": "Linux-6.1 x86_64",
        "suite": {"size": "quick", "seed": 0, "filter": [], "shard": "1/1", "cases": len(runs[0]["results"])},
        "runs": runs,
    }  # fmt: skip


def changed(before: dict[str, Any]) -> dict[str, Any]:
    """Return a later report: the GRU is fixed, a GEMM is wrong, one case is new, one is gone."""
    after = json.loads(json.dumps(before))  # (a fifth of deepcopy's time)
    results = after["runs"][0]["results"]
    mended = next(one for one in results if one["case"] == BROKEN)
    mended.update(status="passed", failure=None)
    wrong = next(one for one in results if one["operator"] == "GEMM" and one["status"] == "passed")
    wrong.update(status="failed", failure=_without_element("GEMM is wrong now", wrong["case"]))
    gone = next(one for one in results if one["operator"] == "CAST")
    gone["case"] += ",layout=permuted"
    after["created"] = "2026-11-25T09:30:00Z"
    return after


def _outcomes(operator: Any, chance: random.Random, number: int) -> list[dict[str, Any]]:
    name, support = short_name(operator), operator_support(operator)
    first = next(iter(support.values()))
    found = []
    for data_type in sorted(map(short_name, first.data_types)):
        for layout in ("packed", "padded"):
            case = f"{name}:type={data_type}" + (f",layout={layout}" if layout != "packed" else "")
            one = {"case": case, "operator": name, "data_type": data_type, "dimension_count": 4, "layout": layout,
                   "values": "ordinary", "status": "passed", "reason": None, "seconds": 0.01, "failure": None,
                   "loose": None, "tensors": [], "histogram": [60, 0, 0, 0, 0, 0]}  # fmt: skip
            if number == 1 and data_type in ("FLOAT64", "INT64"):
                one.update(status="unsupported", reason="the device has no 64-bit floats", histogram=[0] * 6)
            elif layout == "padded" and "4" in data_type[-1]:
                one.update(status="not_tested", reason="4-bit tensors have no padding", histogram=[0] * 6)
            elif data_type.startswith("FLOAT"):
                share = chance.random() ** 3
                one["tensors"] = [{"tensor": "OutputTensor", "elements": 60, "worst_ulp": 8 * share, "share": share,
                                   "ulp_limit": 8, "why": "sum of 27 products in any order",
                                   "tight_share": None}]  # fmt: skip
                one["histogram"] = [20, 30, 6, 3, 1, 0]
            found.append(one)
    return found


def _break(results: list[dict[str, Any]], device: str) -> None:
    gru = next(one for one in results if one["case"] == "GRU:type=FLOAT16,layout=padded")
    gru.update(case=BROKEN, status="failed", histogram=[10, 20, 10, 10, 7, 3])
    gru["tensors"][0].update(worst_ulp=258894.08, share=32361.76)
    gru["failure"] = {
        "tensor": "OutputSequenceTensor", "index": [0, 1, 2, 0], "found": "1.5", "expected": "1.25", "differing": 3,
        "of": 60, "ulp": 258894.08, "allowed_ulp": 8,
        "message": "OutputSequenceTensor[0, 1, 2, 0] is 1.5, expected 1.25: 258894.08 ulp, allowed 8",
        "kernels": ["gemm/gemm_tiled.comp", "recurrent/gru_steps.comp"],
        "descriptor": {"type": "DML_OPERATOR_GRU", "desc": {"Direction": "FORWARD", "InputTensor": {
            "DataType": "FLOAT16", "Sizes": [1, 5, 2, 3]}}, "note": "</script><script>alert(1)</script>"},
        "command": f"dml conformance --case '{BROKEN}' --device '{device}' --as plain",
        "smallest": {"case": "GRU:type=FLOAT16,sizes=1x1x1", "message": "OutputSequenceTensor[0, 0, 0, 0] is nan",
                     "command": "dml conformance --case GRU:type=FLOAT16,sizes=1x1x1 --as plain"},
    }  # fmt: skip
    hung = next(one for one in results if one["case"] == "CONVOLUTION:type=FLOAT32,layout=padded")
    hung.update(case=HUNG, status="failed", reason="no answer in 60 s", tensors=[], histogram=[0] * 6)
    hung["failure"] = _without_element("no answer in 60 s", HUNG)


def _without_element(message: str, case: str) -> dict[str, Any]:
    """Return a failure that names no element, such as a hang."""
    nothing = dict.fromkeys(("tensor", "index", "found", "expected", "differing", "of", "ulp", "allowed_ulp"))
    command = f"dml conformance --case '{case}'"
    return {**nothing, "message": message, "kernels": [], "descriptor": None, "command": command, "smallest": None}
