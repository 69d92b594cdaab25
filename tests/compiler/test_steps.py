"""No invocation loops longer than ``selection.max_steps``: longer work is split, with the same results."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.features import NO_FEATURES, Features, MatrixShape
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.selection import max_steps
from dml.compiler.selection.devices import CPU_ITERATIONS, GPU_STEPS
from dml.compiler.target import DeviceClass, Target
from dml.conformance import case as conformance
from dml.conformance.execution import run_case
from harness import Array, assert_exact, tensor
from sample_descriptors import NAMES, sample

#: Loop limit: low enough to split the cases below, high enough for a sort in shared memory, whose steps do not depend
#: on sizes.
FEW = 256
CLASSES = (DeviceClass.CPU, DeviceClass.DISCRETE)
MAX = dml.DML_REDUCE_FUNCTION_MAX


@dataclass(frozen=True)
class Case:
    """A sample with sizes that make loops longer than FEW.

    values: inputs that must have certain values. exact: split work does the same operations in the same order;
    otherwise float sums are in another order.
    """

    name: str
    changes: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    exact: bool = True

    @property
    def desc(self) -> dml.OperatorDesc:
        return sample(self.name, **self.changes)


def of(name: str, *, values: dict[str, Any] | None = None, exact: bool = True, **changes: Any) -> Case:
    return Case(name, changes, values or {}, exact)


def unary(sizes: str) -> dict[str, str]:
    return {"InputTensor": sizes, "OutputTensor": sizes}


def attended(dtype: str, queries: int, keys: int = 9000, columns: int = 32) -> dict[str, Any]:
    """Return the changes for attention with two heads of ``columns`` columns and no options."""
    row, column = f"{dtype} 1x{queries}x{2 * columns}", f"{dtype} 1x{keys}x{2 * columns}"
    absent = (
        "StackedQueryKeyTensor", "StackedKeyValueTensor", "StackedQueryKeyValueTensor", "BiasTensor", "MaskTensor",
        "RelativePositionBiasTensor", "PastKeyTensor", "PastValueTensor", "OutputPresentKeyTensor",
        "OutputPresentValueTensor",
    )  # fmt: skip
    given = {"QueryTensor": row, "KeyTensor": column, "ValueTensor": column, "OutputTensor": row}
    kind = dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE
    return {**given, **dict.fromkeys(absent), "MaskType": kind, "HeadCount": 2}


_IMAGE = "1x2x20x24"
_WHOLE = {
    "ROITensor": np.array([[[[0, 0, 24, 20]]]], np.float32),
    "BatchIndicesTensor": np.zeros((1, 1, 1, 1), np.uint32),
}
_SAMPLED = {
    "ROITensor": "1x1x1x4",
    "BatchIndicesTensor": "UINT32 1x1x1x1",
    "MinimumSamplesPerOutput": 64,
    "MaximumSamplesPerOutput": 64,
}
_ONE = {"InputTensor": _IMAGE, "OutputTensor": "1x2x1x1", **_SAMPLED}
_GRAD = {
    "InputTensor": _IMAGE,
    "OutputGradientTensor": _IMAGE,
    "OutputROIGradientTensor": "1x1x1x4",
    "InputGradientTensor": "1x2x20x24",
    **_SAMPLED,
}
_WIDE = {"WindowSize": (30, 30), "StartPadding": (1, 0), "EndPadding": (0, 0)}
_WINDOW = {"InputTensor": "1x2x31x32", "OutputTensor": "1x2x3x3", **_WIDE}
_WINDOW_GRAD = {"InputGradientTensor": "1x2x33x33", "OutputGradientTensor": "1x2x61x62", **_WIDE}
_RESPONSE = {"CrossChannel": False, "LocalSize": 21}
_FILTERED = {"InputTensor": "1x1x2x3000", "OutputTensor": "1x1x2x3", "Scales": (1, 1, 1, 1e-3)}

CASES = {
    "few rows by a matrix": of(
        "GEMM", ATensor="1x2x3x9000", BTensor="1x2x9000x5", CTensor="1x2x3x5", OutputTensor="1x2x3x5", exact=False
    ),
    "matrices": of(
        "GEMM", ATensor="1x1x20x2000", BTensor="1x1x2000x24", CTensor="1x1x20x24", OutputTensor="1x1x20x24", exact=False
    ),
    "matrices of halves": of(
        "GEMM", ATensor="FLOAT16 1x1x40x2000", BTensor="FLOAT16 1x1x2000x48", CTensor=None,
        OutputTensor="FLOAT16 1x1x40x48", exact=False,
    ),
    "few rows of halves": of(
        "GEMM", ATensor="FLOAT16 1x1x3x9000", BTensor="FLOAT16 1x1x16x9000", CTensor=None, TransB=1,
        OutputTensor="FLOAT16 1x1x3x16", exact=False,
    ),
    "integers": of(
        "MATRIX_MULTIPLY_INTEGER",
        ATensor="UINT8 1x1x18x3000", BTensor="UINT8 1x1x3000x20", BZeroPointTensor="UINT8 1x1x1x20",
        OutputTensor="INT32 1x1x18x20",
    ),
    "many integers": of(
        "MATRIX_MULTIPLY_INTEGER",
        ATensor="UINT8 1x1x36x3000", BTensor="UINT8 1x1x3000x36", BZeroPointTensor="UINT8 1x1x1x36",
        OutputTensor="INT32 1x1x36x36",
    ),
    "few rows of integers": of(
        "MATRIX_MULTIPLY_INTEGER",
        ATensor="UINT8 1x1x3x9000", BTensor="UINT8 1x1x9000x20", BZeroPointTensor="UINT8 1x1x1x20",
        OutputTensor="INT32 1x1x3x20",
    ),
    "convolution": of("CONVOLUTION", InputTensor="1x300x4x6", FilterTensor="4x300x3x3", exact=False),
    "convolution of many channels": of(
        "CONVOLUTION",
        InputTensor="1x300x4x6", FilterTensor="12x300x3x3", BiasTensor="1x12x1x1", OutputTensor="1x12x4x6", exact=False,
    ),
    "convolution of many halves": of(
        "CONVOLUTION",
        InputTensor="FLOAT16 1x300x4x6", FilterTensor="FLOAT16 12x300x3x3", BiasTensor="FLOAT16 1x12x1x1",
        OutputTensor="FLOAT16 1x12x4x6", exact=False,
    ),
    "convolution of each channel": of(
        "CONVOLUTION",
        InputTensor="1x2x9x5x6", FilterTensor="2x1x4x3x3", BiasTensor=None, OutputTensor="1x2x6x3x4", Strides=(1, 1, 1),
        Dilations=(1, 1, 1), StartPadding=(0, 0, 0), EndPadding=(0, 0, 0), OutputPadding=(0, 0, 0), GroupCount=2,
        exact=False,
    ),
    "convolution of halves": of(
        "CONVOLUTION",
        InputTensor="FLOAT16 1x2x5x320", FilterTensor="FLOAT16 4x2x2x300", BiasTensor="FLOAT16 1x4x1x1",
        OutputTensor="FLOAT16 1x4x6x23", exact=False,
    ),
    "average": of("AVERAGE_POOLING", **_WINDOW, exact=False),
    "average of all": of(
        "AVERAGE_POOLING1",
        InputTensor="1x2x200x201", OutputTensor="1x2x1x2", WindowSize=(200, 200), StartPadding=(0, 0),
        EndPadding=(0, 0), exact=False,
    ),
    "maximum of all": of(
        "MAX_POOLING",
        InputTensor="UINT8 1x2x200x201", OutputTensor="UINT8 1x2x1x2", WindowSize=(200, 200), StartPadding=(0, 0),
        EndPadding=(0, 0),
    ),
    "norm": of("LP_POOLING", **_WINDOW, P=3, exact=False),
    "maximum": of("MAX_POOLING1", **_WINDOW, OutputIndicesTensor="UINT32 1x2x3x3"),
    "quantized average": of("QUANTIZED_LINEAR_AVERAGE_POOLING", **{
        **_WINDOW, "InputTensor": "UINT8 1x2x31x32", "OutputTensor": "UINT8 1x2x3x3"
    }),
    "average's gradient": of("AVERAGE_POOLING_GRAD", **_WINDOW_GRAD, exact=False),
    "maximum's gradient": of("MAX_POOLING_GRAD", **_WINDOW_GRAD, InputTensor="1x2x61x62", exact=False),
    "response": of("LOCAL_RESPONSE_NORMALIZATION", **unary("1x2x30x30"), **_RESPONSE, exact=False),
    "response's gradient": of(
        "LOCAL_RESPONSE_NORMALIZATION_GRAD",
        InputTensor="1x2x30x30", InputGradientTensor="1x2x30x30", OutputGradientTensor="1x2x30x30", **_RESPONSE,
        exact=False,
    ),
    "sum": of("REDUCE", InputTensor="1x1x3x100000", OutputTensor="1x1x3x1", Axes=(3,), exact=False),
    "place of the maximum": of("ARGMAX", InputTensor="1x1x3x100000", OutputTensor="UINT32 1x1x3x1"),
    "running sum": of("CUMULATIVE_SUMMATION", **unary("1x2x200000x1"), Axis=2, exact=False),
    "softmax": of("ACTIVATION_SOFTMAX", **unary("1x1x2x50000"), exact=False),
    "normalization": of(
        "MEAN_VARIANCE_NORMALIZATION1",
        **unary("1x1x2x40000"), ScaleTensor="1x1x2x40000", BiasTensor="1x1x2x40000", Axes=(3,), exact=False,
    ),
    "attention": of(
        "MULTIHEAD_ATTENTION",
        KeyTensor="2x24000x10", ValueTensor="2x24000x12", MaskTensor="INT32 2x2x3x24002",
        RelativePositionBiasTensor="2x2x3x24002", OutputPresentKeyTensor="2x2x24002x5",
        OutputPresentValueTensor="2x2x24002x6", exact=False,
    ),
    "attention of one row": of("MULTIHEAD_ATTENTION", **attended("FLOAT32", 1), exact=False),
    "attention of halves": of("MULTIHEAD_ATTENTION", **attended("FLOAT16", 40), exact=False),
    "attention of wide heads": of("MULTIHEAD_ATTENTION", **attended("FLOAT32", 9, 600, 520), exact=False),
    "few of many": of(
        "TOP_K1", InputTensor="1x1x2x3000", OutputValueTensor="1x1x2x20", OutputIndexTensor="UINT32 1x1x2x20", K=20
    ),
    "few of short lines": of(
        "TOP_K1", InputTensor="1x1x70x100", OutputValueTensor="1x1x70x5", OutputIndexTensor="UINT32 1x1x70x5", K=5
    ),
    "many of many": of(
        "TOP_K1", InputTensor="1x1x2x3000", OutputValueTensor="1x1x2x500", OutputIndexTensor="UINT32 1x1x2x500", K=500
    ),
    "places": of("NONZERO_COORDINATES", InputTensor="1x1x1x3000", OutputCoordinatesTensor="UINT32 1x1x3000x4"),
    "windows": of(
        "FOLD",
        InputTensor="1x800x121", OutputTensor="1x2x30x30", WindowSizes=(20, 20), StartPadding=(0, 0), EndPadding=(0, 0),
    ),
    "filter": of("RESAMPLE3", **_FILTERED, Antialiased=True),
    "filter of bytes": of(
        "RESAMPLE3", **_FILTERED | {"InputTensor": "UINT8 1x1x2x3000", "OutputTensor": "UINT8 1x1x2x3"},
        Antialiased=True,
    ),
    "filter along two axes": of(
        "RESAMPLE3", InputTensor="1x1x600x60", OutputTensor="1x1x2x2", Scales=(1, 1, 1 / 300, 1 / 30), Antialiased=True,
        exact=False,
    ),
    "filter's gradient": of(
        "RESAMPLE_GRAD", InputGradientTensor="1x1x2x3000", OutputGradientTensor="1x1x2x3", Scales=(1, 1, 1, 1000)
    ),
    "mean of a region": of("ROI_ALIGN1", **_ONE, values=_WHOLE, exact=False),
    "maximum of a region": of("ROI_ALIGN1", **_ONE, ReductionFunction=MAX, values=_WHOLE),
    "mean's gradients": of("ROI_ALIGN_GRAD", **_GRAD, values=_WHOLE, exact=False),
    "maximum's gradients": of("ROI_ALIGN_GRAD", **_GRAD, ReductionFunction=MAX, values=_WHOLE),
    "region's maximum": of(
        "ROI_POOLING",
        InputTensor=_IMAGE, ROITensor="1x1x1x5", OutputTensor="1x2x1x1", PooledSize=dml.DML_SIZE_2D(1, 1),
        values={"ROITensor": np.array([[[[0, 0, 0, 23, 19]]]], np.float32)},
    ),
    "recurrence": of("RNN", InputTensor="1x60x3x4", OutputSequenceTensor="60x2x3x6"),
    "recurrence with gates": of("GRU", InputTensor="1x60x3x4", OutputSequenceTensor="60x2x3x6"),
    "recurrence with memory": of("LSTM", InputTensor="1x60x3x4", OutputSequenceTensor="60x2x3x6"),
    "elements": of("ELEMENT_WISE_ADD", ATensor="1x1x512x512", BTensor="1x1x512x512", OutputTensor="1x1x512x512"),
}  # fmt: skip


def longest(program: Program) -> dict[str, int]:
    """Return the longest loop of each kernel."""
    found: dict[str, int] = {}
    for dispatch in program.initialize + program.dispatches:
        found[dispatch.label] = max(found.get(dispatch.label, 0), dispatch.steps)
    return found


def test_steps_of_each_class_of_devices() -> None:
    assert max_steps(Target(DeviceClass.CPU)) == CPU_ITERATIONS
    assert max_steps(Target(DeviceClass.INTEGRATED)) == max_steps(Target()) == GPU_STEPS
    assert max_steps(Target(fewer_steps=FEW)) == FEW
    assert max_steps(Target(DeviceClass.CPU, fewer_steps=GPU_STEPS)) == CPU_ITERATIONS


def test_work() -> None:
    """The estimated work equals that of all products, or is slightly more."""
    desc = sample("GEMM", ATensor="1x2x64x512", BTensor="1x2x512x128", CTensor="1x2x64x128", OutputTensor="1x2x64x128")
    for device_class in CLASSES:
        # on GPUs split-k adds a second dispatch
        first, *_ = compile_operator(desc, Target(device_class, subgroup_size=8)).dispatches
        assert 1 <= first.work / (2 * 64 * 512 * 128) < 1.5


@pytest.mark.parametrize("device_class", CLASSES)
@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, device_class: DeviceClass) -> None:
    found = longest(compile_operator(sample(name), Target(device_class, fewer_steps=FEW)))
    assert max(found.values()) <= FEW, found


@pytest.mark.parametrize("device_class", CLASSES)
@pytest.mark.parametrize("name", CASES)
def test_parts(seen_as: Callable[..., dml.Device], name: str, device_class: DeviceClass) -> None:
    case = CASES[name]
    inputs = values(case)
    found = []
    for device in (seen_as(device_class=device_class), seen_as(device_class=device_class, fewer_steps=FEW)):
        compiled = device.compile_operator(device.create_operator(case.desc))
        steps = longest(compiled.program)
        assert max(steps.values()) <= max_steps(device.vulkan.target), steps
        found.append(compiled.dispatch(inputs))
    for output, whole in found[0].items():
        if whole is None:
            continue
        if case.exact:
            assert_exact(found[1][output], whole)
        else:
            rtol = 1e-3 if whole.dtype == np.float16 else 1e-5
            np.testing.assert_allclose(found[1][output], whole, rtol, 1e-5 * np.abs(whole).max())


def values(case: Case) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    found: dict[str, Array] = {}
    for name, described in case.desc.inputs():
        if described is None:
            continue
        assert isinstance(described, dml.DML_BUFFER_TENSOR_DESC)
        kind = dml.numpy_dtype(described.DataType)
        if name in case.values:
            found[name] = case.values[name]
        elif kind.kind == "f":
            found[name] = rng.uniform(-1, 1, described.Sizes).astype(kind)
        else:
            found[name] = rng.integers(0, 255 if kind.itemsize == 1 else 3, described.Sizes).astype(kind)
    return found


#: Kernels with loops whose length does not depend on tensor sizes, and that length.
OF_ANY_SIZE = {
    "activation/softmax_held.comp": "what an invocation holds of a row",
    "attention/insert.comp": "the elements of a word",
    "normalization/held.comp": "what an invocation holds of a row",
    "convolution/pad.comp": "four elements",
    "convolution/weights_in_fours.comp": "four elements",
    "convolution/winograd_input.comp": "six by six points",
    "convolution/winograd_result.comp": "six by six points",
    "convolution/winograd_weights.comp": "six by six points",
    "elementwise/transpose.comp": "the elements of a tile",
    "elementwise/transpose_blocks.comp": "the vectors of a block",
    "reduction/sort_own.comp": "the elements that an invocation sorts",
    "movement/fill_value_sequence.comp": "six parts of a product",
    "movement/gather.comp": "the coordinates of a tuple",
    "movement/scatter_mark.comp": "the coordinates of a tuple",
    "movement/scatter_write.comp": "the coordinates of a tuple",
    "pooling/claim.comp": "the coordinates of a tuple",
    "pooling/unpool.comp": "the coordinates of a tuple",
    "random/philox.comp": "rounds of the generator",
    "training/adam.comp": "elements of a vector",
}
#: Features of a device with byte products, and of one with matrix units.
DOTS = Features(integer_dot_product=True)
MATRICES = Features(
    memory_model=True, float16=True, int8=True, subgroup_operations=frozenset({"vote", "shuffle"}),
    cooperative_matrices=(MatrixShape(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32"),
                          MatrixShape(16, 16, 16, "INT8", "INT8", "INT32", "INT32")),
)  # fmt: skip
REDUCTIONS = replace(MATRICES, matrix_reductions=True)
_SHADERS = Path(dml.__file__).parents[1] / "shaders"
_LOOP = re.compile(r"\b(for|while) \(")
_INCLUDE = re.compile(r'#include "((?!lib/|prelude).+?)"')


def loops(path: str) -> bool:
    """Return whether a kernel, or a file of its family that it includes, has a loop."""
    text = (_SHADERS / path).read_text()
    return bool(_LOOP.search(text)) or any(loops(included) for included in _INCLUDE.findall(text))


def test_every_kernel_with_a_loop_declares_its_steps() -> None:
    kernels = {str(path.relative_to(_SHADERS)) for path in _SHADERS.glob("*/*.comp")}
    # the loops of these kernels are generated
    looping = {kernel for kernel in kernels if loops(kernel)} | {"movement/fold.comp", "resample/resample.comp"}
    looping -= {
        "gemm/blocks.comp",
        "gemm/blocks_columns.comp",
    }  # kernels that only graphs use (tests/graph/test_blocks.py)
    # kernels of this package's operators (tests/operators: detection/test_suppression.py,
    # movement/test_reduce_into_rows.py)
    looping -= {"detection/suppress.comp", "detection/tops.comp", "detection/visit.comp"}
    looping -= {"movement/reduce_into_rows.comp"}
    assert set(OF_ANY_SIZE) <= looping
    told: dict[str, int] = {}
    for case in CASES.values():
        for device_class, (features, lanes, llvmpipe) in itertools.product(
            CLASSES,
            (
                (NO_FEATURES, 8, (0, 0)),
                (NO_FEATURES, 8, (22, 3)),
                (DOTS, 8, (0, 0)),
                (MATRICES, 32, (0, 0)),
                (REDUCTIONS, 32, (0, 0)),
            ),
        ):
            target = Target(
                device_class, 1024, (1024, 1024, 64), subgroup_size=lanes, max_storage_buffers=16, features=features,
                llvmpipe=llvmpipe,
            )  # fmt: skip
            for kernel, steps in longest(compile_operator(case.desc, target)).items():
                told[kernel] = max(steps, told.get(kernel, 0))
    silent = {kernel for kernel in looping - set(OF_ANY_SIZE) if told.get(kernel, 0) <= 2}
    assert not silent


def test_a_long_sum(device: dml.Device) -> None:
    """Ten million elements in a row, more than the loops of one invocation allow."""
    x = np.full((1, 1, 1, 10_000_000), 0.5, np.float32)
    desc = sample(
        "REDUCE", InputTensor="1x1x1x10000000", OutputTensor="1x1x1x1", Axes=(3,), Function=dml.DML_REDUCE_FUNCTION_SUM
    )
    compiled = device.compile_operator(device.create_operator(desc))
    assert compiled.dispatch({"InputTensor": x})["OutputTensor"].item() == 5_000_000


def test_a_convolution_of_one_huge_window(device: dml.Device) -> None:
    """Each result has 250,000 products."""
    desc = sample(
        "CONVOLUTION",
        InputTensor="1x1x500x501", FilterTensor="1x1x500x500", BiasTensor="1x1x1x1", OutputTensor="1x1x1x2",
        StartPadding=(0, 0), EndPadding=(0, 0),
    )  # fmt: skip
    x = np.zeros((1, 1, 500, 501), np.float32)
    x[..., -2:] = (1, 3)
    ones = np.ones((1, 1, 500, 500), np.float32)
    inputs = {"InputTensor": x, "FilterTensor": ones, "BiasTensor": ones[..., :1, :1]}
    result = device.compile_operator(device.create_operator(desc)).dispatch(inputs)["OutputTensor"]
    assert_exact(result, np.array([[[[501, 2001]]]], np.float32))


@pytest.mark.parametrize("case", [
    "AVERAGE_POOLING:sizes=1x3x200x200,window=41.1",
    "AVERAGE_POOLING:sizes=1x1x40x20x300,window=33.1.1",
    "CONVOLUTION:sizes=1x1x1x6000,outputs=1,window=1.2001",
    "CONVOLUTION_INTEGER:sizes=1x1x1x6000,outputs=1,window=1.2001",
    "LP_POOLING:sizes=1x8x100x100,window=7",
    "LP_POOLING:sizes=1x4x200x200,window=6.7,p=1,type=FLOAT16",
    "MAX_POOLING1:sizes=1x3x200x200,window=41.1,indices=UINT32",
    "MAX_POOLING_GRAD:sizes=1x2x40x20x120,window=30.1.1",
    "QUANTIZED_LINEAR_AVERAGE_POOLING:sizes=1x3x200x200,window=41.1",
])  # fmt: skip
def test_windows_of_many_results(device: dml.Device, case: str) -> None:
    """On CPU drivers an invocation takes many results; the ends of their nested loops count, too."""
    outcome = run_case(device, conformance.Case.parse(case))
    assert outcome["status"] == "passed", outcome["reason"]


def test_a_fold_of_tall_windows(device: dml.Device) -> None:
    """Each element is in up to 120 windows, each a loop over rows and one over columns."""
    desc = dml.DML_FOLD_OPERATOR_DESC(
        InputTensor=tensor("FLOAT32", (1, 240, 181 * 100)),
        OutputTensor=tensor("FLOAT32", (1, 2, 300, 100)),
        WindowSizes=(120, 1), Strides=(1, 1), Dilations=(1, 1), StartPadding=(0, 0), EndPadding=(0, 0),
    )  # fmt: skip
    ones = np.ones((1, 240, 181 * 100), np.float32)
    found = device.compile_operator(device.create_operator(desc)).dispatch({"InputTensor": ones})["OutputTensor"]
    rows = np.arange(300)
    covered = np.minimum(np.minimum(rows + 1, 300 - rows), 120)
    assert_exact(found, np.broadcast_to(covered[:, None], (1, 2, 300, 100)).astype(np.float32))


def test_normalization_across_many_channels(device: dml.Device) -> None:
    """Each of 48,000 elements has a region of up to 33 channels."""
    sizes = "2x100x20x12"
    desc = sample(
        "LOCAL_RESPONSE_NORMALIZATION", InputTensor=sizes, OutputTensor=sizes,
        CrossChannel=True, LocalSize=33, Alpha=33, Beta=1, Bias=0,
    )  # fmt: skip
    ones = np.ones((2, 100, 20, 12), np.float32)
    found = device.compile_operator(device.create_operator(desc)).dispatch({"InputTensor": ones})["OutputTensor"]
    channels = np.arange(100)
    region = np.minimum(channels, 16) + 1 + np.minimum(99 - channels, 16)
    np.testing.assert_allclose(found, np.broadcast_to(1 / region[:, None, None], ones.shape), rtol=1e-5)


@pytest.mark.parametrize("name, kind, a, b, expected", [
    ("MODULUS_TRUNCATE", "FLOAT32", 3e38, 1.3e-38, None),
    ("DIVIDE", "INT64", 2**62 + 5, 3, (2**62 + 5) // 3),
    ("POW", "UINT32", 3, 2**32 - 1, pow(3, 2**32 - 1, 2**32)),
])  # fmt: skip
def test_arithmetic_that_loops(
    device: dml.Device, name: str, kind: str, a: float, b: float, expected: int | None
) -> None:
    """300,000 elements, each with a loop over its bits; on CPU drivers an invocation takes many elements."""
    first, second = [n for n, _ in sample(f"ELEMENT_WISE_{name}").inputs()]
    text = f"{kind} 1x1x1x300000"
    desc = sample(f"ELEMENT_WISE_{name}", **{first: text, second: text, "OutputTensor": text})
    x, y = (np.full((1, 1, 1, 300000), value, kind.lower()) for value in (a, b))
    compiled = device.compile_operator(device.create_operator(desc))
    result = compiled.dispatch({first: x, second: y})["OutputTensor"]
    assert_exact(result, np.fmod(x, y) if expected is None else np.full(x.shape, expected, x.dtype))
