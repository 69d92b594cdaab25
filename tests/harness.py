"""Helpers of the operator tests: descriptions in many layouts, random data, runs, and comparison in ulp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

import dml
import last_run
from dml.compiler.program import Program
from dml.conformance.compare import Mismatch
from dml.conformance.execution import recorded
from dml.runtime.buffer import Buffer

Array = npt.NDArray[Any]
Tensor = dml.DML_BUFFER_TENSOR_DESC

#: Layouts that ``tensor`` knows. "broadcast" repeats the first element along the first dimension (inputs only).
LAYOUTS = ("packed", "padded", "reversed")


def data_type(name: str) -> dml.DML_TENSOR_DATA_TYPE:
    """FLOAT32 -> DML_TENSOR_DATA_TYPE_FLOAT32."""
    return dml.DML_TENSOR_DATA_TYPE[f"DML_TENSOR_DATA_TYPE_{name}"]


def tensor(dtype: str | dml.DML_TENSOR_DATA_TYPE, sizes: Sequence[int], layout: str = "packed", **more: Any) -> Tensor:
    """Return a description of these sizes.

    packed: row-major. padded: a gap of one element after each row, and more between slices. reversed: the first
    dimension is innermost. nhwc: channels last. broadcast: stride 0 along the first dimension.
    """
    kind = data_type(dtype) if isinstance(dtype, str) else dtype
    sizes = tuple(sizes)
    strides: tuple[int, ...] | None
    if layout == "packed":
        strides = None
    elif layout == "padded":
        steps, step = [], 2 if len(sizes) == 1 else 1
        for size in reversed(sizes):
            steps.append(step)
            step = step * size + 1
        strides = tuple(reversed(steps))
    elif layout == "reversed":
        steps, step = [], 1
        for size in sizes:
            steps.append(step)
            step *= size
        strides = tuple(steps)
    elif layout == "nhwc":
        strides = dml.nhwc_strides(sizes)
    elif layout == "broadcast":
        strides = (0, *dml.packed_strides(sizes)[1:])
    else:
        raise ValueError(layout)
    return Tensor(kind, sizes, strides, **more)


def like(array: Array, layout: str = "packed", **more: Any) -> Tensor:
    """Return a description that fits the array."""
    return tensor(dml.data_type_of(array.dtype), array.shape, layout, **more)


def random(rng: np.random.Generator, dtype: str, sizes: Sequence[int], low: float = -4, high: float = 4) -> Array:
    """Return uniform values of a data type; integers include both bounds (low is 0 for unsigned types)."""
    kind = dml.numpy_dtype(data_type(dtype))
    if dtype.startswith("FLOAT"):
        return rng.uniform(low, high, tuple(sizes)).astype(kind)
    low = max(0, low) if dtype.startswith("U") else low
    return rng.integers(int(low), int(high), tuple(sizes), endpoint=True).astype(kind)


def can_bind(device: dml.Device, buffers: int) -> bool:
    """Return whether a kernel may bind this many storage buffers on the device; fusion stops at this number."""
    return device.vulkan.target.max_storage_buffers >= buffers


def run(device: dml.Device, desc: dml.OperatorDesc, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Validate, compile and dispatch; return the outputs."""
    last_run.note(device, desc)
    return device.compile_operator(device.create_operator(desc)).dispatch(inputs)


def run_on(device: dml.Device, desc: dml.OperatorDesc, inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Program:
    """Compile and run through DirectML's own objects; return the Program.

    inputs, outputs: a buffer for each present tensor, in order; an output's may be an input's.
    """
    last_run.note(device, desc)
    compiled = device.compile_operator(device.create_operator(desc))
    recorded(device, compiled, inputs, outputs).execute()
    return compiled.program


def whole(buffer: Buffer) -> dml.DML_BUFFER_BINDING:
    """Return a binding of the whole buffer."""
    return dml.DML_BUFFER_BINDING(buffer, 0, buffer.size)


def refuse(desc: dml.OperatorDesc, *words: str, level: dml.DML_FEATURE_LEVEL = dml.DML_FEATURE_LEVEL_6_4) -> None:
    """Assert that the validator refuses the description at this feature level with a message that contains these
    words."""
    import pytest  # the documentation is built with `tensor`, where pytest is not installed

    with pytest.raises(dml.DMLError) as caught:
        dml.validate(desc, level)
    assert caught.value.hresult == dml.HRESULT.E_INVALIDARG
    for word in words:
        assert word in caught.value.message, caught.value.message


def ulps(result: Array, expected: Array) -> npt.NDArray[np.float64]:
    """Return each element's distance from a float64 expectation, in units of the result type's last place.

    Where NaN or an infinity is expected, any other value has an infinite distance.
    """
    kind = result.dtype
    expected = np.asarray(expected, np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = expected.astype(kind)
        spacing = np.spacing(np.maximum(np.abs(rounded), np.finfo(kind).tiny).astype(kind)).astype(np.float64)
        distance = np.abs(result.astype(np.float64) - expected) / spacing
    special = ~np.isfinite(rounded) | ~np.isfinite(result)
    same = (rounded == result) | (np.isnan(rounded) & np.isnan(result))
    return np.where(special, np.where(same, 0.0, np.inf), distance)


def ulp(result: Array, expected: Array) -> float:
    """Return the largest of ``ulps``."""
    return float(np.max(ulps(result, expected), initial=0.0))


def mismatch(result: Array, expected: Array, error: Array, wrong: Array, most: float = 0.0) -> Mismatch:
    """Return the worst of the wrong elements: its place, its value, the expected value, and the number of wrong
    elements.

    error: one per element; in ulp if the tolerance ``most`` is given.
    """
    at = np.unravel_index(int(np.argmax(np.where(wrong, error, -1))), result.shape)
    far = float(error[at]) if most and np.isfinite(error[at]) else None
    place = tuple(int(i) for i in at)
    found, wanted = str(result[at]), str(np.asarray(expected)[at])
    return Mismatch(place, found, wanted, int(np.count_nonzero(wrong)), result.size, far, most)


def assert_ulp(result: Array, expected: Array, most: float, why: str) -> None:
    """Fail if the result is more than ``most`` ulp from the expectation; ``why`` states the tolerance's reason."""
    __tracebackhide__ = True
    assert result.shape == np.shape(expected), (result.shape, np.shape(expected))
    error = ulps(result, expected)
    wrong = error > most
    if wrong.any():
        raise AssertionError(f"{mismatch(result, expected, error, wrong, most)}: {why}")


def assert_exact(result: Array, expected: Array) -> None:
    """Fail unless the arrays are equal to the bit (except for NaN payloads)."""
    __tracebackhide__ = True
    assert result.dtype == expected.dtype, (result.dtype, expected.dtype)
    assert result.shape == expected.shape, (result.shape, expected.shape)
    if result.dtype.kind == "V":  # a type of ml_dtypes, whose NaN NumPy's comparison does not know
        result, expected = result.astype(np.float32), expected.astype(np.float32)
    wrong = (result != expected) & ~((result != result) & (expected != expected))
    if np.any(wrong):
        raise AssertionError(f"{mismatch(result, expected, wrong, wrong)}")


def assert_sums(result: Array, expected: Array, terms: Array, count: int, slope: float = 1.0) -> None:
    """Fail if a result is not the expected sum of ``count`` products, added in any order.

    Each product and each sum may be off by half an ulp of float32, and so may a few other factors and addends; a
    float16 result is rounded once more. terms: the sums of the products' magnitudes. slope: the steepest slope of a
    function applied to the sum.
    """
    __tracebackhide__ = True
    assert result.shape == expected.shape, (result.shape, expected.shape)
    allowed = (count + 6) * 2.0**-24 * terms * slope + 4 * 2.0**-24 * abs(expected)
    if result.dtype == np.float16:
        allowed = allowed + 2.0**-11 * abs(expected) + 2.0**-25
    error = abs(result.astype(np.float64) - expected)
    wrong = ~(error <= allowed)
    if np.any(wrong):
        worst = mismatch(result, expected, np.nan_to_num(error - allowed, nan=np.inf), wrong)
        off, most = float(error[worst.index]), float(np.broadcast_to(allowed, error.shape)[worst.index])
        raise AssertionError(f"{worst}; off by {off:.4g}, allowed {most:.4g}: a sum of {count} products in any order")


def assert_half_sums(result: Array, expected: Array, terms: Array, count: int) -> None:
    """Fail if a result is not the expected sum of ``count`` FLOAT16 products, of which groups of eight are added in
    FLOAT16.

    Each FLOAT16 step may truncate 2^-10 of a sum, whose magnitude is at most that of its terms, or flush bits below
    2^-14 (see selection.product_tiles). Sums of eight are added in float32, and the result is rounded to FLOAT16.
    """
    __tracebackhide__ = True
    assert result.shape == expected.shape, (result.shape, expected.shape)
    allowed = 8 * 2.0**-10 * terms + count * 2.0**-14 + 2.0**-11 * abs(expected) + 2.0**-25
    error = abs(result.astype(np.float64) - expected)
    wrong = ~(error <= allowed)
    if np.any(wrong):
        raise AssertionError(f"{mismatch(result, expected, error, wrong)}: a sum of {count} products in FLOAT16")
