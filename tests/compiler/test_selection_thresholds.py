"""Kernels on either side of a selection threshold give the same results."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest
from test_selection_sizes import CROSSINGS

import dml
from dml.compiler import selection
from dml.compiler.lowering import compile_operator
from dml.compiler.selection.thresholds import rows
from dml.conformance.axes import open_as
from dml.runtime.devices import VulkanDevice
from sample_descriptors import sample
from sample_runs import run_sample, tensors
from test_axes import assert_near

#: Thresholds by module, and a value that puts the operator's sample, on the given axis, on the other side.
CROSSED = [
    ("lines", "CPU_FEW_ELEMENTS", 1, "ACTIVATION_SOFTMAX", "plain"),
    ("lines", "MOST_SELECTED", 1, "TOP_K", "plain"),
    ("lines", "CPU_SCANNED", 2, "CUMULATIVE_SUMMATION", "plain"),
    ("lines", "SUM_BLOCK", 2, "REDUCE", "plain"),
    ("lines", "HELD_STEPS", 2, "ACTIVATION_LOG_SOFTMAX", "discrete"),
    ("lines", "SORTED_AT_ONCE", 128, "TOP_K", "discrete"),
    ("tiles", "FEW_ROWS", 2, "MULTIHEAD_ATTENTION", "plain"),
    ("attention", "_SCORES_ON_CPUS", 1, "MULTIHEAD_ATTENTION", "plain"),
    ("recurrent", "FEW_SEQUENCES", 2, "RNN", "plain"),
    ("recurrent", "ROWS_OF_FEW", 1, "RNN", "plain"),
    ("gemm", "_PART_OF_K", 8, "RNN", "discrete"),
    ("gemm", "_OTHER_STEPS", 3, "GEMM", "plain"),
    ("lines", "MOST_SUMMED", 2, "ACTIVATION_HARDMAX", "plain"),
    ("lines", "SCAN_ITEMS", 1, "CUMULATIVE_SUMMATION", "discrete"),
    ("lines", "NONZERO_CHUNKS", 1, "NONZERO_COORDINATES", "plain"),
    ("lines", "MOST_HELD", 0, "ACTIVATION_LOG_SOFTMAX", "discrete"),
    ("lines", "SELECTED_FROM", 1, "TOP_K", "plain"),
    ("lines", "GPU_SORTED", 1, "TOP_K", "discrete"),
    ("windows", "MOST_IN_LINE", 0, "AVERAGE_POOLING", "plain"),
    ("windows", "ALONE_IF_SELDOM_FULL", 0, "ROI_POOLING", "plain"),
    ("windows", "PLACE_SEARCH", 1, "ROI_ALIGN", "plain"),
    ("tiles", "_FEWEST_GROUPS", 0, "MULTIHEAD_ATTENTION", "plain"),
    ("convolution", "_MOST_SUMS", 0, "CONVOLUTION", "plain"),
    ("convolution", "_MOST_SUMS_OF_GPUS", 0, "CONVOLUTION", "discrete"),
    ("convolution", "_MOST_PRODUCTS", 0, "CONVOLUTION", "plain"),
    ("convolution", "_FEWEST_INVOCATIONS_OF_GPUS", 0, "CONVOLUTION", "discrete"),
    ("convolution", "_FEWEST_OUTPUTS", 0, "CONVOLUTION", "discrete"),
]
#: Both sides run in tests/graph/test_blocks.py, test_selection_sizes.py, test_thinned_and_flat.py and
#: test_blocks_of_results.py.
RUN_ELSEWHERE = {
    "gemm": {"_MOST_COPIED"},
    "stored_weights": {"_FEW_ROWS", "_FEW_ROWS_OF_CPUS", "_PART_BYTES"},
    "convolution": {"_ADDED_SEPARATELY", "_BLOCKS_WEIGHTS", "_FAR_APART"},
}
#: Reason -> numbers that are not thresholds of sizes.
NOT_BY_SIZE: dict[str, dict[str, set[str]]] = {
    "elements of a vector, invocations of a workgroup, and tiles": {
        "": {"_FEWEST_LANES", "_MOST_LANES", "TRANSPOSE_WORKGROUP", "CPU_TRANSPOSED"},
        "attention": {"WORKGROUP", "_LEAST_DEPTH", "_KEYS_AT_ONCE"},
        "bytes": {"VECTOR", "TERM_ROWS", "TERM_WORKGROUP", "_OTHER_STEPS"},
        "convolution": {"ROW_BLOCK", "_STEPS_OF_VOLUMES", "LARGEST_TILE", "WINOGRAD_POINTS", "WINOGRAD_WORKGROUP"},
        "detection": {"BOXES_EACH"},
        "few_rows": {"_SMALL_WORKGROUP", "_LARGE_WORKGROUP"},
        "gemm": {"_NARROW_WORKGROUP", "_MATRIX_ROWS", "_MATRIX_DEPTH"},
        "lines": {"CPU_VECTOR", "WALKS", "COMPUTED_TOGETHER", "STRIDED_LANES", "FEW_HOLDERS", "HOLDERS", "MOST_HOLDERS",
                  "GPU_SORTERS"},
        "product_tiles": {"MATRIX_UNITS", "_HALF_STEPS"},
        "recurrent": {"_VECTOR", "_MOST_INVOCATIONS", "_SUBGROUP_OF_GPUS", "_MOST_INVOCATIONS_OF_GPUS",
                      "_MOST_INVOCATIONS_OF_SLICES", "_UNITS_OF_SLICES", "_ROWS_OF_SLICES", "_ROWS_OF_A_SLICE",
                      "_UNITS_OF_PRODUCTS"},
        "stored_weights": {"VECTOR_BITS", "_WORD_BITS", "_COLUMNS", "_PER_SCALE"},
        "tiles": {"_SHARING"},
        "windows": {"TOGETHER"},
    },
    "estimates of costs": {
        "": {"_RUNS", "_MULTIPLICATIONS", "_SUM", "_PRODUCT", "_READ"},
        "attention": {"_OF_LANES", "_FLOAT_REGISTERS", "_OTHER_REGISTERS", "_CONVERTING", "_MASKED_AND_BIASED",
                      "_FEW_REGISTERS"},
        "convolution": {"_READ_COST_OF_GPUS", "_TRANSFORMS_COMPILATION"},
        "detection": {"_FINDING"},
        "lines": {"HELD_OF_REGISTERS", "FEWEST_HELD", "FEWEST_HELD_OF_SEGMENTS", "FEWEST_STEPS", "POSITION"},
        "stored_weights": {"_TWO_BY_TWO"},
        "windows": {"_AROUND"},
    },
    "what devices have": {
        "convolution": {"_CORES"},
        "detection": {"_REGISTERS"},
        "devices": {"_NAK_NUMBERS", "_NAK_NUMBERS_OF_MANY", "_MANY_DIMENSIONS", "_MOST_LOADS", "_FIRST_VOLTA",
                    "_FIRST_VALHALL", "_AMD", "_APPLE", "_ARM", "_BROADCOM", "_IMAGINATION", "_INTEL", "_NVIDIA",
                    "_QUALCOMM", "_NVK", "_HONEYKRISP", "_KEPT", "_LAST_ADRENO_6", "_AMD_NUMBERS", "_FEWEST",
                    "_FEWEST_FOR_MATRICES", "_MANY_FOR_MATRICES", "CPU_ITERATIONS", "GPU_STEPS"},
    },
    "a speed-up": {"thresholds": {"MARGIN"}},
}  # fmt: skip
#: Thresholds that no test crosses on a CPU driver, by reason.
UNCROSSED: dict[str, dict[str, set[str]]] = {
    "matrix units": {"attention": {"_FIRST_IN_REGISTERS_BY_HALVES", "_MOST_ON_MATRICES"}},
    "only what `dml tune` tries": {"recurrent": {"_MOST_STATE_OF_A_GPUS_WORKGROUP"}},
    "a workgroup is as wide as the largest state that it takes": {"recurrent": {"_MOST_UNITS_OF_GPUS"}},
}


def plain_numbers() -> dict[str, set[str]]:
    """Return selection's constants that are single numbers and not rows of thresholds.json, by module."""
    found: dict[str, set[str]] = {}
    for path in Path(selection.__file__).parent.glob("*.py"):
        module = "" if path.stem == "__init__" else path.stem
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
        targets = (target for node in assigned for target in ast.walk(node) if isinstance(target, ast.Name))
        names = {target.id for target in targets if isinstance(target.ctx, ast.Store) and target.id.isupper()}
        owner = import_module(f"dml.compiler.selection.{module}".rstrip("."))
        numbers = {name for name in names if type(getattr(owner, name)) in (int, float)}
        if left := {name for name in numbers if f"{module}.{name}".lstrip(".") not in rows()}:
            found[module] = left
    return found


def test_every_number_is_listed_here() -> None:
    """Rows of thresholds.json are crossed by their alternatives (tests/tuning/test_constants.py)."""
    listed: dict[str, set[str]] = {}
    groups = [RUN_ELSEWHERE, *NOT_BY_SIZE.values(), *UNCROSSED.values()]
    crossed = [(module, name) for module, name, *_ in CROSSED if f"{module}.{name}" not in rows()]
    for module, name in [
        *crossed,
        *{(one.module, one.name) for one in CROSSINGS},
        *((module, name) for group in groups for module, own in group.items() for name in own),
    ]:
        assert name not in listed.setdefault(module, set()), f"{module}.{name} is listed twice"
        listed[module].add(name)
    assert listed == plain_numbers()


@pytest.mark.parametrize("module, name, value, operator, axis", CROSSED)
def test_the_other_side(
    vulkan: VulkanDevice,
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    name: str,
    value: int,
    operator: str,
    axis: str,
) -> None:
    device: dml.Device = open_as(vulkan, axis)
    desc = sample(operator)
    before, expected = run_sample(device, desc)
    monkeypatch.setattr(import_module(f"dml.compiler.selection.{module}"), name, value)
    if compile_operator(desc, device.vulkan.target) == before:
        pytest.skip("the sample has the same kernel on both sides on this device")
    _, results = run_sample(device, desc)
    for output, found, wanted in zip(tensors(desc.outputs()), results, expected, strict=True):
        assert_near(found, wanted, output, same_program=False)
