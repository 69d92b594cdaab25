"""PADDING and PADDING1 in their five modes: exact."""

from __future__ import annotations

import numpy as np
import pytest
from movement_cases import as_read, cycled, like, numbers, output, run

import dml
from harness import assert_exact

MODES = {"CONSTANT": "constant", "EDGE": "edge", "REFLECTION": "reflect", "SYMMETRIC": "symmetric", "WRAP": "wrap"}


def union(value, dtype):
    """Return a scalar in the tensor's data type; FLOAT16 by its bits."""
    if dtype == "FLOAT16":
        return dml.DML_SCALAR_UNION(UInt16=int(np.float16(value).view(np.uint16)))
    name = {"I": "Int", "U": "UInt", "F": "Float"}[dtype[0]] + dtype.lstrip("UINTFLOA")
    return dml.DML_SCALAR_UNION(**{name: value})


def pad_of(x, mode, start, end, value=0, layout="packed", out_layout="packed", *, typed=False):
    kind = like(x).DataType
    sizes = tuple(a + n + b for a, n, b in zip(start, x.shape, end, strict=True))
    common = {
        "InputTensor": like(x, layout),
        "OutputTensor": output(kind, sizes, out_layout),
        "PaddingMode": dml.DML_PADDING_MODE[f"DML_PADDING_MODE_{mode}"],
        "StartPadding": start,
        "EndPadding": end,
    }
    if not typed:
        return dml.DML_PADDING_OPERATOR_DESC(PaddingValue=value, **common)
    return dml.DML_PADDING1_OPERATOR_DESC(
        PaddingValueDataType=kind, PaddingValue=union(value, kind.name.rpartition("_")[2]), **common
    )


def padded(x, mode, start, end, value=0):
    pairs = list(zip(start, end, strict=True))
    return np.pad(x, pairs, MODES[mode], **({"constant_values": value} if mode == "CONSTANT" else {}))


PAGE = np.array([[[[1, 2, 3, 4], [5, 6, 7, 8], [1, 2, 3, 4], [5, 6, 7, 8]]]], np.float32)
ROWS = {
    "EDGE": ("1112344444", "1112344444", "5556788888", "1112344444", *["5556788888"] * 4),
    "REFLECTION": ("7656787656", "3212343212") * 4,
    "SYMMETRIC": (*["2112344321"] * 2, "6556788765", "2112344321", *["6556788765"] * 2, "2112344321", "6556788765"),
    "CONSTANT": ("9" * 10, "9912349999", "9956789999", "9912349999", "9956789999", *["9" * 10] * 3),
}


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("mode", list(ROWS))
def test_page_examples(device, mode, typed):
    desc = pad_of(PAGE, mode, (0, 0, 1, 2), (0, 0, 3, 4), 9.0, typed=typed)
    expected = np.array([[[[float(digit) for digit in row] for row in ROWS[mode]]]], np.float32)
    assert_exact(run(device, desc, {"InputTensor": PAGE})["OutputTensor"], expected)


@pytest.mark.parametrize("dtype, layout, out_layout, mode", cycled(list(MODES)))
def test_modes(device, mode, dtype, layout, out_layout):
    x = numbers(dtype, (3, 4, 5))
    start, end, value = (2, 0, 3), (3, 0, 1), 7
    expected = padded(as_read(x, layout), mode, start, end, value)
    for typed in (False, True):
        desc = pad_of(x, mode, start, end, value, layout, out_layout, typed=typed)
        assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], expected)


@pytest.mark.parametrize("mode", ["REFLECTION", "SYMMETRIC"])
def test_mirrors_fold_over_and_over(device, mode):
    """Padding several times the size; and padding of a dimension of size 1, which mirrors onto itself."""
    x = numbers("INT32", (3, 1))
    desc = pad_of(x, mode, (10, 2), (8, 3))
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], padded(x, mode, (10, 2), (8, 3)))


@pytest.mark.parametrize("rank", range(1, 9))
def test_every_dimension_count(device, rank):
    x = numbers("FLOAT32", (2, 3, 1, 2, 3, 2, 1, 4)[-rank:], rank)
    start, end = (1, 0, 0, 1, 0, 0, 2, 1)[-rank:], (0, 0, 1, 1, 0, 0, 0, 2)[-rank:]
    for typed in (False, True):
        result = run(device, pad_of(x, "EDGE", start, end, typed=typed), {"InputTensor": x})["OutputTensor"]
        assert_exact(result, padded(x, "EDGE", start, end))


@pytest.mark.parametrize(
    "dtype, value, held",
    [("INT8", -10.6, -10), ("UINT8", 300.0, 255), ("UINT64", 2.0**40, 2**40), ("FLOAT16", 0.1, np.float16(0.1)),
     ("FLOAT64", 0.1, np.float64(np.float32(0.1)))],
)  # fmt: skip
def test_a_float_value_becomes_the_tensor_type(device, dtype, value, held):
    """The FLOAT attribute is truncated for integers, as the page says, and rounded for FLOAT16."""
    x = numbers(dtype, (3,))
    desc = pad_of(x, "CONSTANT", (1,), (0,), float(np.float32(value)))
    result = run(device, desc, {"InputTensor": x})["OutputTensor"]
    assert_exact(result, np.concatenate([np.array([held], x.dtype), x]))


def test_a_typed_value_keeps_all_its_bits(device):
    x = numbers("INT64", (2,))
    desc = pad_of(x, "CONSTANT", (1,), (1,), 2**62 + 1, typed=True)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], padded(x, "CONSTANT", (1,), (1,), 2**62 + 1))


def test_no_padding_is_a_copy(device):
    assert_exact(run(device, pad_of(PAGE, "CONSTANT", (0,) * 4, (0,) * 4), {"InputTensor": PAGE})["OutputTensor"], PAGE)


@pytest.mark.parametrize("mode", list(MODES))
@pytest.mark.parametrize("dtype", ["INT64", "FLOAT32", "INT16", "UINT8"])
def test_rows_of_whole_vectors(device, mode, dtype):
    """An invocation moves sixteen bytes of these rows at a time."""
    x = numbers(dtype, (3, 4, 32))
    start, end = (1, 2, 0), (2, 3, 0)
    desc = pad_of(x, mode, start, end, 77, typed=True)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], padded(x, mode, start, end, 77))
