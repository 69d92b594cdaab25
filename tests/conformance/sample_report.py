"""An invented report for tests of report readers: several operators, all statuses, two devices, three runs.

``python tests/conformance/sample_report.py report.json`` writes it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dml.conformance import report

LAVAPIPE = {
    "name": "llvmpipe (LLVM 15.0.6, 256 bits)",
    "driver": "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)",
    "driver_version": 1,
    "api_version": "1.3.230",
    "vendor_id": 0x10005,
    "device_id": 0,
    "type": "cpu",
    "axis": "plain",
    "limits": {
        "max_workgroup_invocations": 1024,
        "max_workgroup_size": [1024, 1024, 1024],
        "shared_memory": 32768,
        "max_storage_buffer_range": 134217728,
        "subgroup_size": 8,
        "memory": 8 << 30,
    },
    "features": {"float16": True, "timestamp_bits": 64},
}
DISCRETE = {**LAVAPIPE, "axis": "discrete", "limits": {**LAVAPIPE["limits"], "subgroup_size": 32}}
CARD = {
    "name": "Example Graphics 9000",
    "driver": "example 1.2.3",
    "driver_version": 4198403,
    "api_version": "1.3.289",
    "vendor_id": 0x1234,
    "device_id": 0x5678,
    "type": "discrete",
    "axis": "plain",
    "limits": {
        "max_workgroup_invocations": 1024,
        "max_workgroup_size": [1024, 1024, 64],
        "shared_memory": 49152,
        "max_storage_buffer_range": 4294967295,
        "subgroup_size": 32,
        "memory": 16 << 30,
    },
    "features": {"float16": True, "timestamp_bits": 64, "driver_note": "made up <b>&amp;</b>"},
}

#: By operator: data types, allowed ulp with the reason, parameters other than the type, kernels.
OPERATORS: dict[str, tuple[list[str], float, str, dict[str, list[str]], list[str]]] = {
    "ACTIVATION_SOFTMAX": (["FLOAT32", "FLOAT16"], 24, "WebNN: 3 n + 3 ulp", {"sizes": ["2x3x4x7", "1", "1x1x1x257"]},
                           ["activation/softmax.comp"]),
    "BATCH_NORMALIZATION": (["FLOAT32", "FLOAT16"], 6, "WebNN: 6 ulp", {"sizes": ["2x3x5x7", "1x1x1x1"],
                            "spatial": ["true", "false"]}, ["elementwise/expression.comp"]),
    "CONVOLUTION": (["FLOAT32", "FLOAT16"], 54, "WebNN: 2 x window x channels / groups ulp",
                    {"sizes": ["1x3x7x5", "2x4x1x1"], "groups": ["1", "2"], "direction": ["forward", "backward"]},
                    ["convolution/direct.comp"]),
    "CUMULATIVE_SUMMATION": (["FLOAT32", "UINT32", "INT64"], 0, "exact", {"axis": ["3", "0"], "reverse": ["no", "yes"]},
                             ["reduction/scan.comp", "reduction/scan_add.comp"]),
    "ELEMENT_WISE_ADD": (["FLOAT32", "FLOAT16", "INT8", "UINT64"], 1, "one rounding", {"sizes": ["2x3x5x7", "1", "13"]},
                         ["elementwise/expression.comp"]),
    "ELEMENT_WISE_SIN": (["FLOAT32", "FLOAT16"], 0, "WebNN: 1/1024 absolute", {"sizes": ["2x3x5x7", "1x1x1x1x1x1x1x1"]},
                         ["elementwise/expression.comp"]),
    "GATHER": (["FLOAT32", "INT8", "UINT64"], 0, "exact", {"axis": ["1", "0", "3"]}, ["movement/gather.comp"]),
    "GEMM": (["FLOAT32", "FLOAT16"], 34, "WebNN: 2 K ulp",
             {"sizes": ["17", "1", "64"], "transpose": ["none", "a", "ab"]}, ["gemm/tiled.comp"]),
    "GRU": (["FLOAT32", "FLOAT16"], 6, "WebNN: 6 ulp", {"sizes": ["5x2x3", "1x1x1"], "direction": ["forward", "both"],
            "lengths": ["all", "zero"]}, ["recurrent/gates.comp", "recurrent/gru_steps.comp"]),
    "REVERSE_SUBSEQUENCES": (["FLOAT32", "INT16"], 0, "exact", {"axis": ["3", "1"]},
                             ["movement/reverse_subsequences.comp"]),
    "ROI_ALIGN": (["FLOAT32", "FLOAT16"], 8, "four products and three sums", {"mode": ["average", "max"]},
                  ["resample/roi_align.comp"]),
}  # fmt: skip

#: Kernels of which all variants ran, some ran, and none ran.
COVERAGE: dict[str, Any] = {
    "kernels": [
        {"kernel": "elementwise/vector.comp", "variants": 2, "run": 2},
        {"kernel": "gemm/vector.comp", "variants": 3, "run": 2},
        {"kernel": "recurrent/start.comp", "variants": 1, "run": 0},
    ],
    "missing": ["gemm/vector.comp TILE_M=4u a:float16 b:float16 result:float16", "recurrent/start.comp result:float32"],
    "added": [],
}

#: Replaces the sine by the device's own instruction.
LOOSE = {
    "tensor": "OutputTensor", "index": [0, 0, 1, 6], "found": "0.0012", "expected": "0.0011", "differing": 41, "of": 60,
    "ulp": 7509.0, "tight_ulp": 4.0, "tight_share": 1877.25, "why": "the shader library's promise: 4 ulp of float32",
    "message": "OutputTensor at [0, 0, 1, 6]: found 0.0012, expected 0.0011, 7509 ulp off, the tight limit is 4",
}  # fmt: skip


def cases(operator: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield names of cases with their data types, layouts and values."""
    types, _, _, parameters, _ = OPERATORS[operator]
    for kind in types:
        for layout in ("packed", "padded", "permuted"):
            for values in ("ordinary", "edges"):
                for name, labels in parameters.items():
                    for label in labels:
                        chosen = {"type": kind, name: label, "layout": layout, "values": values}
                        defaults = {"type": types[0], name: labels[0], "layout": "packed", "values": "ordinary"}
                        said = ",".join(f"{k}={v}" for k, v in chosen.items() if v != defaults[k])
                        yield f"{operator}:{said}", kind, layout, values


def failure(run: dict[str, Any], case: str, kernels: list[str], **more: Any) -> dict[str, Any]:
    kind = run["device"]
    again = f"dml conformance --case '{case}' --device '{kind['name']}' --as {kind['axis']}"
    tensor = {"DataType": "FLOAT32", "Sizes": [1, 1, 1, 7]}
    return {
        "tensor": None, "index": None, "found": None, "expected": None, "differing": None, "of": None, "ulp": None,
        "allowed_ulp": None, "kernels": kernels, "command": again, "smallest": None,
        "descriptor": {
            "type": f"DML_OPERATOR_{case.split(':')[0]}", "desc": {"InputTensor": tensor, "OutputTensor": tensor},
        },
        **more,
    }  # fmt: skip


def outcome(run: dict[str, Any], operator: str, case: str, kind: str, layout: str, values: str, chance: random.Random):
    _, limit, why, _, kernels = OPERATORS[operator]
    found: dict[str, Any] = {
        "case": case, "operator": operator, "data_type": kind, "dimension_count": 4, "layout": layout, "values": values,
        "status": "passed", "reason": None, "seconds": round(chance.uniform(0.002, 0.09), 4), "tensors": [],
        "histogram": [], "failure": None, "loose": None,
    }  # fmt: skip
    card, exact = run["device"]["vendor_id"] == CARD["vendor_id"], limit == 0 and why == "exact"
    if operator == "GEMM" and "sizes=64" in case and layout == "permuted":
        return {**found, "status": "not_tested", "reason": "the reference takes longer than this size is worth"}
    if card and kind in ("INT64", "UINT64"):
        return {**found, "status": "unsupported", "reason": "needs 5 storage buffers in one kernel, the device binds 4"}
    if card and operator == "ROI_ALIGN" and values == "edges" and "mode=max" in case and kind == "FLOAT32":
        reason = "no answer after 120 seconds"
        ended = failure(run, case, kernels, message=f"{case}: {reason}; the worker was ended")
        return {**found, "status": "failed", "reason": reason, "seconds": 120.0, "failure": ended}
    elements = chance.choice([60, 210, 257])
    share = 0.0 if exact else chance.uniform(0.1, 0.9)
    histogram = [elements, 0, 0, 0, 0, 0]
    if not exact:
        histogram = [elements // 2, elements - elements // 2 - 9, 5, 3, 1, 0]
    broken = card and (operator, layout) == ("GRU", "padded") and kind == "FLOAT16"
    broken = broken or (
        run["device"]["axis"] == "discrete" and operator == "CUMULATIVE_SUMMATION" and "reverse=yes" in case
    )
    if broken:
        share = None if exact else 64.0
        histogram = [histogram[0] - 3, *histogram[1:5], 3]
        worst, index, wrong, far = None, [0, 1, 2, 3], ("7", "4"), ""
        if not exact:
            worst, wrong, far = limit * 64, ("1.5", "0.25"), f": {limit * 64} ulp, allowed {limit} ({why})"
        message = (f"{operator}.OutputTensor[{', '.join(map(str, index))}] is {wrong[0]}, expected {wrong[1]}{far}; "
                   f"3 of {elements} elements differ")  # fmt: skip
        found["status"] = "failed"
        found["failure"] = failure(
            run, case, kernels, tensor="OutputTensor", index=index, found=wrong[0], expected=wrong[1], differing=3,
            of=elements, ulp=worst, allowed_ulp=limit, message=message,
            smallest={"case": f"{operator}:sizes=1x1x1", "message": message.replace(str(elements), "3")},
        )  # fmt: skip
    else:
        worst = round(share * (limit or 0.5), 3)
    found["tensors"] = [{"tensor": "OutputTensor", "elements": elements, "worst_ulp": worst,
                         "share": None if exact else share, "ulp_limit": limit, "why": why,
                         "tight_share": None}]  # fmt: skip
    found["histogram"] = histogram
    if card and (operator, kind, values) == ("ELEMENT_WISE_SIN", "FLOAT32", "ordinary"):
        found["status"], found["tensors"][0]["tight_share"] = "loose", 1877.25
        found["loose"] = LOOSE
    return found


def sample_report() -> dict[str, Any]:
    """Return the report, which is always the same."""
    chance = random.Random(0)
    made = report.started({"size": "default", "seed": 0, "filter": [], "shard": "1/1", "cases": 0})
    made.update(created="2026-11-22T18:00:00Z", commit="0123456789abcdef0123456789abcdef01234567", dml_version="0.1.0",
                python="3.11.7", platform="Linux-6.1-x86_64")  # fmt: skip
    for device in (LAVAPIPE, DISCRETE, CARD):
        run: dict[str, Any] = {
            "device": device,
            "shard": "1/1",
            "seconds": 0.0,
            "complete": True,
            "coverage": None if device is CARD else COVERAGE,
            "results": [],
        }
        chosen = {name: (operator, kind, layout, values)
                  for operator in OPERATORS for name, kind, layout, values in cases(operator)}  # fmt: skip
        for name, (operator, kind, layout, values) in chosen.items():
            run["results"].append(outcome(run, operator, name, kind, layout, values, chance))
        run["results"] = report.in_order(run["results"])
        run["seconds"] = round(sum(one["seconds"] for one in run["results"]), 3)
        made["runs"].append(run)
        made["suite"]["cases"] = len(chosen)
    return made


if __name__ == "__main__":
    report.write(Path(sys.argv[1]), sample_report())
