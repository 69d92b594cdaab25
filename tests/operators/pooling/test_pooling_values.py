"""Pooling and its gradients against float64 NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from dml.conformance.references import pooling as reference
from harness import assert_exact, assert_ulp, data_type, like, random, run, tensor

INTEGERS = ("INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64")

Window = dict[str, tuple[int, ...]]


def shape(*axes: tuple[int, int, int, int, int]) -> Window:
    """Return a window from (size, stride, start padding, end padding, dilation) for each spatial axis."""
    return dict(zip(("window", "strides", "start", "end", "dilations"), zip(*axes, strict=True), strict=True))


PLAIN = shape((2, 1, 0, 0, 1), (2, 1, 0, 0, 1))
#: Input sizes and windows, in two and three dimensions.
CASES = {
    "plain": ((2, 3, 5, 6), PLAIN),
    "steps": ((1, 2, 9, 8), shape((3, 2, 1, 1, 1), (2, 3, 0, 1, 1))),
    "gaps": ((2, 1, 7, 7), shape((1, 3, 0, 0, 1), (1, 2, 0, 0, 1))),
    "global": ((3, 2, 6, 5), shape((6, 1, 0, 0, 1), (5, 1, 0, 0, 1))),
    "padding": ((1, 2, 3, 3), shape((2, 1, 2, 3, 1), (3, 2, 3, 2, 1))),
    "volume": ((2, 2, 4, 5, 3), shape((2, 1, 1, 0, 1), (3, 2, 1, 1, 1), (2, 1, 0, 1, 1))),
    "padding in the elements' places": ((1, 2, 7, 1, 3), shape((5, 1, 1, 1, 1), (1, 3, 1, 1, 1), (5, 1, 1, 1, 1))),
}
DILATED = {
    "dilated": ((2, 2, 9, 8), shape((3, 1, 1, 2, 2), (2, 2, 2, 1, 3))),
    "dilated volume": ((1, 2, 5, 6, 4), shape((2, 2, 1, 1, 2), (2, 1, 0, 1, 3), (2, 1, 1, 0, 1))),
}


def fields(window: Window, *, dilations: bool) -> dict[str, Any]:
    """Return the window as the fields of a description."""
    names = {"strides": "Strides", "window": "WindowSize", "start": "StartPadding", "end": "EndPadding"}
    if dilations:
        names["dilations"] = "Dilations"
    return {field: window[name] for name, field in names.items()}


def sizes_of(sizes: Any, window: Window) -> tuple[int, ...]:
    return reference.out_sizes(sizes, **window)


def layouts(index: int) -> tuple[str, str]:
    """Return input and output layouts that differ from case to case."""
    inputs = ("packed", "padded", "nhwc", "broadcast", "reversed")
    outputs = ("packed", "nhwc", "packed", "padded", "reversed")
    return inputs[index % 5], outputs[index % 5]


def repeated(x: Any, layout: str) -> Any:
    """Return the contents of a tensor in this layout: in "broadcast", dimension 0 repeats its first element."""
    return np.broadcast_to(x[:1], x.shape) if layout == "broadcast" else x


@pytest.mark.parametrize("include_padding", [False, True])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", [*CASES, *DILATED])
def test_average(device: Any, case: str, dtype: str, include_padding: bool) -> None:
    sizes, window = {**CASES, **DILATED}[case]
    x = random(np.random.default_rng(1), dtype, sizes)
    into, out = layouts(list({**CASES, **DILATED}).index(case) + include_padding)
    operator = dml.DML_AVERAGE_POOLING1_OPERATOR_DESC if case in DILATED else dml.DML_AVERAGE_POOLING_OPERATOR_DESC
    desc = operator(
        InputTensor=like(x, into),
        OutputTensor=tensor(dtype, sizes_of(sizes, window), out),
        IncludePadding=include_padding,
        **fields(window, dilations=case in DILATED),
    )
    x = repeated(x, into)
    expected = reference.average(x, include_padding=include_padding, **window)
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    # Sums of few terms of both signs: the error is relative to the terms, at most 4 each, not to the sum.
    largest = np.finfo(result.dtype).eps * 4 * 4
    np.testing.assert_allclose(result, expected, rtol=2 * np.finfo(result.dtype).eps, atol=largest)


def test_average_of_a_large_window(device: Any) -> None:
    """65,536 positive terms: a running sum would lose several digits."""
    x = random(np.random.default_rng(2), "FLOAT32", (1, 2, 256, 256), 0, 1)
    window = {**PLAIN, "window": (256, 256)}
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 2, 1, 1)),
        IncludePadding=True,
        **fields(window, dilations=False),
    )
    expected = x.astype(np.float64).mean((2, 3), keepdims=True)
    assert_ulp(run(device, desc, {"InputTensor": x})["OutputTensor"], expected, 6, "compensated sums and a tree of 128")


LARGE = ((2, 2, 26, 27), shape((24, 2, 1, 1, 1), (25, 1, 0, 1, 1)))


@pytest.mark.parametrize("dtype, axis", [("FLOAT32", "plain"), ("FLOAT16", "plain"), ("FLOAT32", "discrete")])
def test_large_windows(seen_as: Any, dtype: str, axis: str) -> None:
    """Windows of 600 elements, each shared by a workgroup (larger on GPUs), and elements in many windows."""
    device = seen_as(axis)
    sizes, window = LARGE
    rng = np.random.default_rng(8)
    x = np.round(random(rng, dtype, sizes, -99, 99))
    out, common = sizes_of(sizes, window), fields(window, dilations=True)
    inputs, output = {"InputTensor": x}, tensor(dtype, out, "padded")
    desc: Any = dml.DML_MAX_POOLING2_OPERATOR_DESC(
        InputTensor=like(x), OutputTensor=output, OutputIndicesTensor=tensor("UINT32", out), **common
    )
    results = run(device, desc, inputs)
    expected, indices = reference.maximum(x, **window)
    assert_exact(results["OutputTensor"], expected)
    assert_exact(results["OutputIndicesTensor"], indices.astype(np.uint32))
    desc = dml.DML_LP_POOLING1_OPERATOR_DESC(InputTensor=like(x), OutputTensor=output, P=3, **common)
    most = 8 if dtype == "FLOAT32" else 0.51
    assert_ulp(run(device, desc, inputs)["OutputTensor"], reference.lp(x, p=3, **window), most, "as for small windows")
    gradient = np.round(random(rng, dtype, out, -9, 9))
    desc = dml.DML_MAX_POOLING_GRAD_OPERATOR_DESC(
        InputTensor=like(x), InputGradientTensor=like(gradient), OutputGradientTensor=like(x), **common
    )
    result = run(device, desc, {**inputs, "InputGradientTensor": gradient})["OutputGradientTensor"]
    assert_exact(result, reference.maximum_grad(x, gradient, **window).astype(x.dtype))


def test_elements_of_many_windows(device: Any) -> None:
    """A workgroup gathers the gradients of an element in 576 windows."""
    sizes, window = (1, 2, 48, 48), {**PLAIN, "window": (24, 25)}
    gradient = np.round(random(np.random.default_rng(9), "FLOAT32", sizes_of(sizes, window), -9, 9)) * 600
    desc = dml.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient),
        OutputGradientTensor=tensor("FLOAT32", sizes),
        IncludePadding=True,
        **fields(window, dilations=False),
    )
    result = run(device, desc, {"InputGradientTensor": gradient})["OutputGradientTensor"]
    # Multiples of 600 over windows of 600 are integers, and exact.
    assert_exact(result, reference.average_grad(gradient, sizes, include_padding=True, **window).astype(np.float32))


def test_quantized_average_of_a_large_window(device: Any) -> None:
    x = random(np.random.default_rng(10), "UINT8", (1, 3, 40, 40), 0, 255)
    one = np.ones(1, np.float32)
    desc = dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x), InputScaleTensor=like(one), OutputScaleTensor=like(one),
        OutputTensor=tensor("UINT8", (1, 3, 1, 1)), IncludePadding=True,
        **fields({**PLAIN, "window": (40, 40)}, dilations=True),
    )  # fmt: skip
    result = run(device, desc, {"InputTensor": x, "InputScaleTensor": one, "OutputScaleTensor": one})["OutputTensor"]
    assert_exact(result, np.round(x.astype(np.float64).mean((2, 3), keepdims=True)).astype(np.uint8))


@pytest.mark.parametrize("p", [1, 2, 3, 7])
@pytest.mark.parametrize("case", ["plain", "steps", "volume", "dilated"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_lp(device: Any, case: str, dtype: str, p: int) -> None:
    sizes, window = {**CASES, **DILATED}[case]
    x = random(np.random.default_rng(p), dtype, sizes)
    into, out = layouts(p)
    operator = dml.DML_LP_POOLING1_OPERATOR_DESC if case in DILATED else dml.DML_LP_POOLING_OPERATOR_DESC
    desc = operator(
        InputTensor=like(x, into),
        OutputTensor=tensor(dtype, sizes_of(sizes, window), out),
        P=p,
        **fields(window, dilations=case in DILATED),
    )
    x = repeated(x, into)
    expected = reference.lp(x, p=p, **window)
    most = 8 if dtype == "FLOAT32" else 0.51
    assert_ulp(run(device, desc, {"InputTensor": x})["OutputTensor"], expected, most, "a quotient, a power and a root")


def test_lp_keeps_the_range_and_lets_specials_through(device: Any) -> None:
    x = np.array([[[[1e30, -1e30, 1e-30, 1e-30, 0, 0, np.inf, 1, np.nan, np.inf]]]], np.float32)
    desc = dml.DML_LP_POOLING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 1, 1, 5)),
        Strides=(1, 2), WindowSize=(1, 2), StartPadding=(0, 0), EndPadding=(0, 0), P=2,
    )  # fmt: skip
    expected = np.array([[[[np.sqrt(2) * 1e30, np.sqrt(2) * 1e-30, 0, np.inf, np.nan]]]])
    assert_ulp(run(device, desc, {"InputTensor": x})["OutputTensor"], expected, 4, "a quotient and a root")


@pytest.mark.parametrize(
    "operator, dtype, indices, case",
    [
        (dml.DML_MAX_POOLING_OPERATOR_DESC, "FLOAT32", None, "plain"),
        (dml.DML_MAX_POOLING_OPERATOR_DESC, "FLOAT16", None, "steps"),
        (dml.DML_MAX_POOLING_OPERATOR_DESC, "INT8", None, "volume"),
        (dml.DML_MAX_POOLING_OPERATOR_DESC, "UINT16", None, "global"),
        (dml.DML_MAX_POOLING_OPERATOR_DESC, "INT64", None, "padding"),
        (dml.DML_MAX_POOLING1_OPERATOR_DESC, "FLOAT32", "UINT64", "padding"),
        (dml.DML_MAX_POOLING1_OPERATOR_DESC, "FLOAT16", "UINT32", "gaps"),
        (dml.DML_MAX_POOLING1_OPERATOR_DESC, "UINT8", "UINT32", "volume"),
        (dml.DML_MAX_POOLING1_OPERATOR_DESC, "UINT32", None, "steps"),
        (dml.DML_MAX_POOLING1_OPERATOR_DESC, "UINT64", "UINT64", "plain"),
        (dml.DML_MAX_POOLING2_OPERATOR_DESC, "FLOAT32", "UINT32", "dilated"),
        (dml.DML_MAX_POOLING2_OPERATOR_DESC, "FLOAT16", "UINT64", "dilated volume"),
        *[(dml.DML_MAX_POOLING2_OPERATOR_DESC, dtype, "UINT64", "dilated") for dtype in INTEGERS],
        (dml.DML_MAX_POOLING2_OPERATOR_DESC, "FLOAT32", None, "dilated volume"),
    ],
)
@pytest.mark.parametrize("layout", [0, 1, 3])
def test_max(device: Any, operator: Any, dtype: str, indices: str | None, case: str, layout: int) -> None:
    sizes, window = {**CASES, **DILATED}[case]
    span = {"INT64": 2**62, "UINT64": 2**63 - 1, "UINT32": 2**32 - 1, "INT32": 2**31 - 1}.get(dtype, 6)
    # Few distinct values, so that windows contain ties; wide types use their whole range.
    x = random(np.random.default_rng(3), dtype, sizes, -span, span)
    x = np.round(x) if dtype.startswith("FLOAT") else x
    into, out = layouts(layout)
    expected_sizes = sizes_of(sizes, window)
    kinds: dict[str, Any] = {}
    if operator is not dml.DML_MAX_POOLING_OPERATOR_DESC and indices is not None:
        kinds["OutputIndicesTensor"] = tensor(indices, expected_sizes, layouts(layout + 1)[1])
    desc = operator(
        InputTensor=like(x, into),
        OutputTensor=tensor(dtype, expected_sizes, out),
        **kinds,
        **fields(window, dilations=operator is dml.DML_MAX_POOLING2_OPERATOR_DESC),
    )
    results = run(device, desc, {"InputTensor": x})
    expected, expected_indices = reference.maximum(repeated(x, into), **window)
    assert_exact(results["OutputTensor"], expected)
    if kinds:
        assert_exact(results["OutputIndicesTensor"], expected_indices.astype(dml.numpy_dtype(data_type(indices or ""))))


#: Windows that CPU drivers compute axis by axis; an invocation keeps the elements of several windows.
ALONG_AXES = {
    "small": ((2, 3, 9, 11), shape((3, 1, 1, 1, 1), (3, 1, 1, 1, 1))),
    "large": ((1, 3, 20, 18), shape((13, 1, 6, 6, 1), (9, 1, 4, 2, 1))),
    "steps": ((2, 2, 17, 23), shape((5, 2, 2, 1, 1), (6, 3, 0, 5, 1))),
    "one axis": ((1, 2, 1, 70), shape((1, 1, 0, 0, 1), (32, 1, 31, 31, 1))),
    "volume": ((1, 2, 7, 6, 9), shape((3, 1, 1, 1, 1), (4, 1, 0, 2, 1), (3, 1, 2, 0, 1))),
    "padding alone": ((1, 2, 4, 5), shape((4, 1, 9, 9, 1), (5, 1, 7, 12, 1))),
}


#: Those that are faster so in FLOAT16, too, despite its copies in FLOAT32.
HALVES_ALONG_AXES = ("large", "volume", "padding alone")


def takes_axes(device: Any, desc: Any) -> bool:
    compiled = device.compile_operator(device.create_operator(desc))
    return any(dispatch.source.name.endswith("pooling/line.comp") for dispatch in compiled.program.dispatches)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT32", "UINT32"])
@pytest.mark.parametrize("case", ALONG_AXES)
@pytest.mark.parametrize("layout", [0, 1, 2, 4])
def test_max_along_axes(device: Any, dtype: str, case: str, layout: int) -> None:
    sizes, window = ALONG_AXES[case]
    x = random(np.random.default_rng(9), dtype, sizes, -99, 99)
    if dtype.startswith("FLOAT"):
        x.reshape(-1)[::31] = np.inf
        x.reshape(-1)[7::67] = np.nan
        x.reshape(-1)[8::41] = -np.inf
    into, out = layouts(layout)
    desc = dml.DML_MAX_POOLING_OPERATOR_DESC(
        InputTensor=like(x, into),
        OutputTensor=tensor(dtype, sizes_of(sizes, window), out),
        **fields(window, dilations=False),
    )
    if dtype != "FLOAT16" or case in HALVES_ALONG_AXES:
        assert takes_axes(device, desc) == device.vulkan.target.is_cpu
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], reference.maximum(x, **window)[0])


@pytest.mark.parametrize("include_padding", [False, True])
@pytest.mark.parametrize("case", ALONG_AXES)
@pytest.mark.parametrize("layout", [0, 1, 2, 4])
def test_average_along_axes(device: Any, case: str, layout: int, include_padding: bool) -> None:
    sizes, window = ALONG_AXES[case]
    x = random(np.random.default_rng(10), "FLOAT32", sizes)
    into, out = layouts(layout)
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x, into),
        OutputTensor=tensor("FLOAT32", sizes_of(sizes, window), out),
        IncludePadding=include_padding,
        **fields(window, dilations=False),
    )
    assert takes_axes(device, desc) == device.vulkan.target.is_cpu
    expected = reference.average(x, include_padding=include_padding, **window)
    # As for other averages, the error is relative to the terms, at most 4 each.
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    np.testing.assert_allclose(result, expected, rtol=2 * np.finfo(np.float32).eps, atol=16 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("case", HALVES_ALONG_AXES)
def test_average_of_halves_along_axes(device: Any, case: str) -> None:
    sizes, window = ALONG_AXES[case]
    x = random(np.random.default_rng(12), "FLOAT16", sizes)
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT16", sizes_of(sizes, window)),
        IncludePadding=False,
        **fields(window, dilations=False),
    )
    assert takes_axes(device, desc) == device.vulkan.target.is_cpu
    expected = reference.average(x.astype(np.float64), include_padding=False, **window)
    # Sums are in float32 and rounded to FLOAT16 once: half a unit in the last place, and float32's own errors.
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    np.testing.assert_allclose(result, expected, rtol=2**-11 + 2**-20, atol=2**-20)


def test_means_along_axes_are_whole_where_they_divide(device: Any) -> None:
    x = np.random.default_rng(11).integers(-(2**12), 2**12, (1, 2, 12, 13)).astype(np.float32) * 35
    x[0, 0, 0, 0] = np.inf
    x[0, 0, 11, 12] = np.nan
    window = shape((5, 1, 0, 0, 1), (7, 1, 0, 0, 1))
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", sizes_of(x.shape, window)),
        IncludePadding=False,
        **fields(window, dilations=False),
    )
    expected = reference.average(x, include_padding=False, **window)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], expected.astype(np.float32))


def test_max_lets_nan_and_infinities_through(device: Any) -> None:
    x = np.array([[[[np.nan, 9, -np.inf, -np.inf, 1, np.inf, np.nan, np.nan]]]], np.float32)
    desc = dml.DML_MAX_POOLING1_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 1, 1, 4)),
        OutputIndicesTensor=tensor("UINT32", (1, 1, 1, 4)),
        Strides=(1, 2), WindowSize=(1, 2), StartPadding=(0, 0), EndPadding=(0, 0),
    )  # fmt: skip
    results = run(device, desc, {"InputTensor": x})
    assert_exact(results["OutputTensor"], np.array([[[[np.nan, -np.inf, np.inf, np.nan]]]], np.float32))
    assert_exact(results["OutputIndicesTensor"], np.array([[[[0, 2, 5, 6]]]], np.uint32))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", *INTEGERS])
@pytest.mark.parametrize("layout", [0, 1])
def test_unpooling(device: Any, dtype: str, layout: int) -> None:
    """Indices in any order, some twice (the last wins), some beyond the output (ignored)."""
    rng = np.random.default_rng(4)
    x = random(rng, dtype, (2, 2, 3, 4), 1, 90)
    kind = ("UINT32", "UINT64")[layout]
    indices = rng.integers(0, 150, x.shape).astype(dml.numpy_dtype(data_type(kind)))
    if kind == "UINT64":  # one index is out of range only by its high word; its low word is unique among the indices
        indices[0, 0, 0, 0] = 2**32 + next(place for place in range(140) if place not in indices)
    into, out = layouts(layout)
    desc = dml.DML_MAX_UNPOOLING_OPERATOR_DESC(
        InputTensor=like(x, into), IndicesTensor=like(indices), OutputTensor=tensor(dtype, (2, 2, 5, 7), out)
    )
    result = run(device, desc, {"InputTensor": x, "IndicesTensor": indices})["OutputTensor"]
    assert_exact(result, reference.unpool(x, indices, (2, 2, 5, 7)))


@pytest.mark.parametrize("include_padding", [False, True])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_average_grad(device: Any, case: str, dtype: str, include_padding: bool) -> None:
    sizes, window = CASES[case]
    gradient = random(np.random.default_rng(5), dtype, sizes_of(sizes, window))
    into, out = layouts(list(CASES).index(case) + include_padding)
    desc = dml.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient, into),
        OutputGradientTensor=tensor(dtype, sizes, out),
        IncludePadding=include_padding,
        **fields(window, dilations=False),
    )
    gradient = repeated(gradient, into)
    expected = reference.average_grad(gradient, sizes, include_padding=include_padding, **window)
    result = run(device, desc, {"InputGradientTensor": gradient})["OutputGradientTensor"]
    eps = np.finfo(result.dtype).eps
    # Up to 16 quotients of both signs, at most 4 in magnitude.
    np.testing.assert_allclose(result, expected, rtol=2 * eps, atol=16 * 4 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("case", [*CASES, *DILATED])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_max_grad(device: Any, case: str, dtype: str) -> None:
    sizes, window = {**CASES, **DILATED}[case]
    rng = np.random.default_rng(6)
    x = np.round(random(rng, dtype, sizes))
    gradient = np.round(random(rng, dtype, sizes_of(sizes, window), -9, 9))
    into, out = layouts(list({**CASES, **DILATED}).index(case))
    desc = dml.DML_MAX_POOLING_GRAD_OPERATOR_DESC(
        InputTensor=like(x, into),
        InputGradientTensor=like(gradient, out),
        OutputGradientTensor=tensor(dtype, sizes, out),
        **fields(window, dilations=True),
    )
    x = repeated(x, into)
    result = run(device, desc, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    # Small integers: every sum is exact.
    assert_exact(result, reference.maximum_grad(x, gradient, **window).astype(x.dtype))


def test_average_grad_example(device: Any) -> None:
    """The example of dml_average_pooling_grad_operator_desc."""
    gradient = np.array([[[[1, 2], [3, 4]]]], np.float32)
    desc = dml.DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC(
        InputGradientTensor=like(gradient),
        OutputGradientTensor=tensor("FLOAT32", (1, 1, 3, 3)),
        IncludePadding=False,
        **fields(PLAIN, dilations=False),
    )
    result = run(device, desc, {"InputGradientTensor": gradient})["OutputGradientTensor"]
    assert_exact(result, np.array([[[[0.25, 0.75, 0.5], [1, 2.5, 1.5], [0.75, 1.75, 1]]]], np.float32))


def test_average_example(device: Any) -> None:
    """The forward pass, from the page of average pooling's gradient."""
    x = np.arange(1, 10, dtype=np.float32).reshape(1, 1, 3, 3)
    desc = dml.DML_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 1, 2, 2)),
        IncludePadding=False,
        **fields(PLAIN, dilations=False),
    )
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], np.array([[[[3, 4], [6, 7]]]], np.float32))


def test_max_examples(device: Any) -> None:
    """The examples of dml_max_pooling_grad_operator_desc, forward and backward."""
    x = np.array([[[[1, 2, 3], [2, 4, 2], [5, 6, 7]]]], np.float32)
    gradient = np.array([[[[1, 2], [4, 5]]]], np.float32)
    forward = dml.DML_MAX_POOLING2_OPERATOR_DESC(
        InputTensor=like(x),
        OutputTensor=tensor("FLOAT32", (1, 1, 2, 2)),
        OutputIndicesTensor=tensor("UINT32", (1, 1, 2, 2)),
        **fields(PLAIN, dilations=True),
    )
    results = run(device, forward, {"InputTensor": x})
    assert_exact(results["OutputTensor"], np.array([[[[4, 4], [6, 7]]]], np.float32))
    assert_exact(results["OutputIndicesTensor"], np.array([[[[4, 4], [7, 8]]]], np.uint32))
    backward = dml.DML_MAX_POOLING_GRAD_OPERATOR_DESC(
        InputTensor=like(x), InputGradientTensor=like(gradient), OutputGradientTensor=like(x),
        **fields(PLAIN, dilations=True),
    )  # fmt: skip
    result = run(device, backward, {"InputTensor": x, "InputGradientTensor": gradient})["OutputGradientTensor"]
    assert_exact(result, np.array([[[[0, 0, 0], [0, 3, 0], [0, 4, 5]]]], np.float32))
    values = results["OutputTensor"]
    unpool = dml.DML_MAX_UNPOOLING_OPERATOR_DESC(
        InputTensor=like(values), IndicesTensor=like(results["OutputIndicesTensor"]), OutputTensor=like(x)
    )
    restored = run(device, unpool, {"InputTensor": values, "IndicesTensor": results["OutputIndicesTensor"]})
    assert_exact(restored["OutputTensor"], np.array([[[[0, 0, 0], [0, 4, 0], [0, 6, 7]]]], np.float32))


@pytest.mark.parametrize("include_padding", [False, True])
@pytest.mark.parametrize("case", ["plain", "padding", "dilated", "dilated volume"])
@pytest.mark.parametrize("into, out, per_channel", [("INT8", "UINT8", True), ("UINT8", "INT8", False),
                                                    ("UINT8", "UINT8", True)])  # fmt: skip
def test_quantized_average(
    device: Any, case: str, into: str, out: str, per_channel: bool, include_padding: bool
) -> None:
    sizes, window = {**CASES, **DILATED}[case]
    rng = np.random.default_rng(7)
    x = random(rng, into, sizes, -128, 127 if into == "INT8" else 255)
    shape = (1, sizes[1], *[1] * (len(sizes) - 2)) if per_channel else (1,)
    scale_in, scale_out = (rng.uniform(0.2, 0.6, shape).astype(np.float32) for _ in range(2))
    zeros: dict[str, Any] = {}
    if per_channel:
        zeros = {
            "InputZeroPointTensor": random(rng, into, shape, 0, 20),
            "OutputZeroPointTensor": random(rng, out, shape, 0, 90),
        }
    desc = dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(
        InputTensor=like(x, layouts(len(sizes))[0]),
        InputScaleTensor=like(scale_in),
        OutputScaleTensor=like(scale_out),
        OutputTensor=tensor(out, sizes_of(sizes, window), ("packed", "padded")[include_padding]),
        IncludePadding=include_padding,
        **{name: like(zero) for name, zero in zeros.items()},
        **fields(window, dilations=True),
    )
    x = repeated(x, layouts(len(sizes))[0])
    inputs = {"InputTensor": x, "InputScaleTensor": scale_in, "OutputScaleTensor": scale_out, **zeros}
    result = run(device, desc, inputs)["OutputTensor"]
    real = (x.astype(np.float64) - zeros.get("InputZeroPointTensor", np.zeros(1)).astype(np.float64)) * scale_in
    mean = reference.average(real, include_padding=include_padding, **window)
    level = mean / scale_out + zeros.get("OutputZeroPointTensor", np.zeros(1)).astype(np.float64)
    bounds = np.iinfo(result.dtype)
    expected = np.clip(level, bounds.min, bounds.max)
    # Rounding to nearest has an error of half a level, and slightly more at ties in float32.
    assert np.max(np.abs(result - expected)) <= 0.5 + 1e-4


def test_quantized_average_rounds_ties_to_even_and_saturates(device: Any) -> None:
    x = np.array([[[[1, 0, 3, 0, 5, 0, 255, 255]]]], np.uint8)
    one, half = np.ones(1, np.float32), np.full(1, 0.5, np.float32)
    for scale, expected in ((one, [0, 2, 2, 255]), (half, [1, 3, 5, 255])):
        desc = dml.DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC(
            InputTensor=like(x), InputScaleTensor=like(one), OutputScaleTensor=like(one),
            OutputTensor=tensor("UINT8", (1, 1, 1, 4)),
            Strides=(1, 2), WindowSize=(1, 2), StartPadding=(0, 0), EndPadding=(0, 0), Dilations=(1, 1),
            IncludePadding=False,
        )  # fmt: skip
        inputs = {"InputTensor": x, "InputScaleTensor": one, "OutputScaleTensor": scale}
        assert_exact(run(device, desc, inputs)["OutputTensor"], np.array([[[expected]]], np.uint8))
