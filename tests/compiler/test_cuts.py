"""Splits and crops of operands: each element is in exactly one part, with its own bytes, and no binding exceeds the
limit."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dml import enums
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.epilogue import epilogue_of
from dml.compiler.parts import crop, cut, in_parts
from dml.compiler.program import EpilogueOperand, Operand, Region, Space
from dml.compiler.scalar import Leaf, node
from dml.tensors import packed_strides

TYPES = [
    enums.DML_TENSOR_DATA_TYPE_UINT4,
    enums.DML_TENSOR_DATA_TYPE_UINT8,
    enums.DML_TENSOR_DATA_TYPE_FLOAT16,
    enums.DML_TENSOR_DATA_TYPE_FLOAT32,
    enums.DML_TENSOR_DATA_TYPE_INT64,
]


def operand(rng: np.random.Generator, sizes: tuple[int, ...], data_type: enums.DML_TENSOR_DATA_TYPE) -> Operand:
    """Return a tensor with dimensions in any order, gaps, and some negative or zero strides."""
    strides, base, reach = [0] * len(sizes), int(rng.integers(0, 9)), 1
    for axis in rng.permutation(len(sizes)):
        step = reach + int(rng.integers(0, 4))
        reach += (sizes[axis] - 1) * step
        kind = rng.integers(0, 5)
        if kind == 0 and sizes[axis] > 1:
            base += (sizes[axis] - 1) * step
            step = -step % 2**32
        strides[axis] = 0 if kind == 1 else step
    size = -(-(int(base) + reach) * DATA_TYPES[data_type].bits // 32) * 4
    return Operand(Region(Space.INPUT, 0, 16 * int(rng.integers(0, 5)), size), data_type, sizes, tuple(strides), base)


def places(tensor: Operand) -> list[int]:
    """Return each element's offset in its resource, in bits; indices wrap modulo 2^32, as in kernels."""
    found = []
    for c in itertools.product(*map(range, tensor.sizes)):
        index = (tensor.base + sum(a * b for a, b in zip(c, tensor.strides, strict=True))) % 2**32
        bits = DATA_TYPES[tensor.data_type].bits
        assert (index + 1) * bits <= tensor.region.size * 8
        found.append(tensor.region.offset * 8 + index * bits)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_every_element_is_in_one_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = tuple(int(size) for size in rng.integers(1, 8, rng.integers(1, 5)))
    tensors = [operand(rng, sizes, TYPES[int(rng.integers(len(TYPES)))]) for _ in range(3)]
    most = 16 * int(rng.integers(4, 40))
    numbers: list[tuple[int, ...]] = []
    for part in in_parts(tensors, most):
        cropped = [crop(tensor, most) for tensor in part]
        for tensor in cropped:
            assert tensor.region.size <= most
            assert tensor.region.offset % 16 == 0
        numbers += zip(*map(places, cropped), strict=True)
    assert sorted(numbers) == sorted(zip(*map(places, tensors), strict=True))


def test_operands_that_fit_are_not_split() -> None:
    sizes = (5, 6)
    tensor = Operand(Region(Space.OUTPUT, 0, 0, 120), TYPES[3], sizes, packed_strides(sizes))
    assert list(in_parts([tensor], 120)) == [(tensor,)]
    assert crop(tensor, 120) is tensor


def test_no_cut_is_small_enough() -> None:
    sizes = (5, 600)
    tensor = Operand(Region(Space.INPUT, 0, 0, 12000), TYPES[3], sizes, packed_strides(sizes))
    assert cut([tensor], 1024, [0]) is None
    assert list(in_parts([tensor], 1024, [0])) == [(tensor,)]


def test_parts_are_equal_and_begin_at_vectors() -> None:
    tensor = Operand(Region(Space.INPUT, 0, 0, 36_000_000), TYPES[1], (36_000_000,), (1,))
    parts = [part for (part,) in in_parts([tensor], 1 << 23)]
    assert len({part.count for part in parts[:-1]}) == 1
    assert all(part.base % 16 == 0 for part in parts)
    assert parts[0].count - parts[-1].count < 16 * len(parts)


def place_of_operand(own: EpilogueOperand, origin: int, index: int) -> int:
    """Return the offset in the resource, in bits, that a kernel reads for a store at ``index``: see emit_epilogue."""
    at = own.operand.base
    for period, step, stride in own.steps:
        moved = (index - origin) % 2**32
        at += (moved % period if period else moved) // step * stride
    assert (at % 2**32 + 1) * 32 <= own.operand.region.size * 8
    return own.operand.region.offset * 8 + at % 2**32 * 32


@pytest.mark.parametrize("operand_sizes", [(6, 7, 8), (1, 7, 8), (6, 1, 1), (1, 1, 8), (6, 1, 8)])
def test_epilogues_stay_right_in_a_part(operand_sizes: tuple[int, ...]) -> None:
    sizes = (6, 7, 8)
    float32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32
    region = Region(Space.INPUT, 1, 32, 4 * math.prod(operand_sizes))
    added = Operand(region, float32, operand_sizes, packed_strides(operand_sizes))
    whole = Operand(Region(Space.OUTPUT, 0, 0, 4 * 400), float32, sizes, packed_strides(sizes), 12)
    epilogue = epilogue_of(node("$x0 + $x1", Leaf(0), Leaf(1)), whole, [added], whole.data_type)
    assert epilogue is not None
    made = Operand(whole.region, float32, sizes, whole.strides, 12, epilogue)
    most = 192
    seen = 0
    for (part,) in in_parts([made], most):
        cropped = crop(part, most)
        assert cropped.epilogue is not None
        (own,) = cropped.epilogue.operands
        skipped = (cropped.region.offset - whole.region.offset) // 4
        assert own.operand.region.size <= most
        for store in places(cropped):
            index = store // 32
            local = index - skipped - whole.region.offset // 4
            assert 0 <= cropped.epilogue.origin < 2**32
            expected = place_of_operand(epilogue.operands[0], epilogue.origin, index)
            assert place_of_operand(own, cropped.epilogue.origin, local) == expected
            seen += 1
    assert seen == whole.count
