"""Every row of the table of data types against NumPy: the numbers it describes, and its GLSL conversions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, UNSIGNED, DataType
from dml.compiler.program import Operand, Program, Region, Space
from dml.compiler.scalar import Leaf, node
from dml.enums import (
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT32,
    DML_TENSOR_DATA_TYPE_UINT32,
    DML_TENSOR_DATA_TYPE_UNKNOWN,
)
from dml.enums.own import OWN_TENSOR_DATA_TYPE
from dml.errors import DMLError
from dml.runtime.recording import Place, Recording, spirv
from harness import Array, assert_exact

#: Data type of the word that holds a value of each kind.
WORDS = {
    "float": DML_TENSOR_DATA_TYPE_FLOAT32,
    "int": DML_TENSOR_DATA_TYPE_INT32,
    "uint": DML_TENSOR_DATA_TYPE_UINT32,
}
ROWS = list(DATA_TYPES.values())
SINGLE = [row for row in ROWS if row.bits <= 32]


def names(rows: Iterable[DataType]) -> list[str]:
    return [row.data_type.name.removeprefix("DML_TENSOR_DATA_TYPE_") for row in rows]


def number(row: DataType, value: Any) -> Any:
    """Convert the number to an element and back."""
    return np.array([value]).astype(row.dtype)[0].item()


def bit_patterns(bits: int) -> Array:
    """Return all bit patterns of up to 16 bits; of 32 bits, random ones, and both ends of each exponent's range."""
    if bits <= 16:
        return np.arange(1 << bits, dtype=np.uint32)
    drawn = np.random.default_rng(0).integers(0, 1 << 32, 60000, np.uint32)
    edges = (np.arange(512, dtype=np.uint32)[:, None] << 23) + np.array([0, 1, (1 << 23) - 1], np.uint32)
    return np.concatenate([drawn, edges.ravel()])


def elements(patterns: Array, row: DataType) -> Array:
    """Return bit patterns as an array of the type's numbers."""
    if row.bits < 8:
        return patterns.astype(np.uint8).view(row.dtype)
    return patterns.astype(f"<u{row.bits // 8}").view(row.dtype)


def pack(patterns: Array, bits: int) -> Array:
    """Pack elements into 32-bit words."""
    lanes = patterns.reshape(-1, 32 // bits).astype(np.uint64) << np.arange(0, 32, bits, dtype=np.uint64)
    return np.bitwise_or.reduce(lanes, axis=1).astype(np.uint32)


def unpack(words: Array, bits: int) -> Array:
    lanes = words[:, None] >> np.arange(0, 32, bits, dtype=np.uint32) & np.uint32((1 << bits) - 1)
    return lanes.ravel().astype(np.uint32)


def convert(device: dml.Device, words: Array, count: int, source: DataType, result: DataType) -> Array:
    """Copy words of ``count`` elements of one type to elements of another with the same kind of value."""
    builder = ProgramBuilder(Program(), device.vulkan.target)
    operands = [
        Operand(Region(space, 0, 0, count * row.bits // 8), row.data_type, (count,), (1,))
        for space, row in ((Space.INPUT, source), (Space.OUTPUT, result))
    ]
    # As an expression, the value is converted; a copy would move its bits.
    apply(builder, node("$x0", Leaf(0), glsl=source.glsl), operands[1], [operands[0]])
    places = {operand.region.space: device.context.buffer(operand.region.size) for operand in operands}
    places[Space.INPUT].write(words)
    dispatches = builder.dispatches
    Recording(device.context, dispatches, spirv(dispatches), lambda region: Place(places[region.space])).run()
    return places[Space.OUTPUT].read(np.uint32)


def test_every_type_with_elements_has_a_row():
    assert set(DATA_TYPES) == {*DML_TENSOR_DATA_TYPE, *OWN_TENSOR_DATA_TYPE} - {DML_TENSOR_DATA_TYPE_UNKNOWN}


@pytest.mark.parametrize("unknown", [DML_TENSOR_DATA_TYPE_UNKNOWN, 99])
def test_an_unknown_type_raises(unknown):
    with pytest.raises(DMLError, match=r"tensor data type .*(UNKNOWN|99)"):
        DATA_TYPES[unknown]


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_sizes(row):
    assert row.dtype.itemsize * 8 == max(8, row.bits)
    assert row.per_word == {2: 16, 4: 8, 8: 4, 16: 2, 32: 1, 64: 1}[row.bits]
    assert row.per_vector * row.bits == 128
    assert row.is_atomic == (row.bits < 32)
    assert (DATA_TYPES[UNSIGNED[row.bits]].bits, DATA_TYPES[UNSIGNED[row.bits]].lowest) == (row.bits, 0)


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_range_and_significand(row):
    assert number(row, row.highest) == row.highest
    assert number(row, row.lowest) == row.lowest
    most = 1 << row.significand
    assert all(number(row, most - k) == most - k for k in range(1, min(most, 64)))
    if row.is_floating:
        with np.errstate(over="ignore"):
            assert np.isinf(np.nextafter(row.dtype.type(row.highest), row.dtype.type(np.inf)))
        assert number(row, most + 1) != most + 1
    else:
        assert row.highest == most - 1
        assert row.lowest in (0, -most)


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_precision_lost_by_stores(row):
    value = DATA_TYPES[WORDS[row.kind]] if row.kind in WORDS else row
    assert row.rounds == (row.kind == "float" and row.significand < value.significand)
    assert row.wraps == (row.kind in ("int", "uint") and row.highest < value.highest)


@pytest.mark.parametrize("row", ROWS, ids=names(ROWS))
def test_exact_squares(row):
    if not row.is_floating or row.bits > 16:
        assert not row.has_exact_squares
        return
    every = elements(bit_patterns(row.bits), row).astype(np.float64)
    every = every[np.isfinite(every)]
    with np.errstate(over="ignore"):
        exact = np.array_equal(np.float32(every) * np.float32(every), every * every)
    fits = float(np.max(every)) ** 2 * 2**32 < float(np.finfo(np.float32).max)
    assert row.has_exact_squares == (exact and fits)


@pytest.mark.parametrize("row", SINGLE, ids=names(SINGLE))
def test_decode_and_encode(device, row):
    patterns = bit_patterns(row.bits)
    patterns = np.resize(patterns, -(-patterns.size // 64) * 64)  # whole vectors
    word = DATA_TYPES[WORDS[row.kind]]
    expected = elements(patterns, row).astype(word.dtype)
    decoded = convert(device, pack(patterns, row.bits), patterns.size, row, word).view(word.dtype)
    assert_exact(decoded, expected)
    encoded = unpack(convert(device, expected.view(np.uint32), patterns.size, word, row), row.bits)
    assert_exact(elements(encoded, row), elements(patterns, row))


@pytest.mark.parametrize("row", SINGLE, ids=names(SINGLE))
def test_encode_keeps_the_low_bits_of_integers_and_rounds_floats(device, row):
    patterns = bit_patterns(32)[: 60000 // 32 * 32]
    word = DATA_TYPES[WORDS[row.kind]]
    encoded = unpack(convert(device, patterns, patterns.size, word, row), row.bits)
    if row.kind == "float":
        with np.errstate(over="ignore", under="ignore"):
            assert_exact(elements(encoded, row), patterns.view(np.float32).astype(row.dtype))
    else:
        assert np.array_equal(encoded, patterns & np.uint32((1 << row.bits) - 1))
