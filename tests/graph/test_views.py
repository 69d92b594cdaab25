"""Readers of a view get strides that reach the same elements, or None if no strides do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dml import DML_BUFFER_TENSOR_DESC, DML_TENSOR_DATA_TYPE_FLOAT32
from dml.compiler.program import Operand, Region, Space
from dml.graph.views import seen_through

FLOAT = DML_TENSOR_DATA_TYPE_FLOAT32
#: Element indices of a buffer, and views of it.
MEMORY = np.arange(4 * 6 * 8)
VIEWS = {
    "whole": MEMORY.reshape(4, 6, 8),
    "a part of each row": MEMORY.reshape(4, 6, 8)[:, :, 2:6],
    "a part of the rows": MEMORY.reshape(4, 6, 8)[:, 1:4],
    "every second row": MEMORY.reshape(4, 6, 8)[:, ::2],
    "a batch of one": MEMORY.reshape(4, 6, 8)[2:3, 1:5],
    "transposed": MEMORY.reshape(4, 6, 8).transpose(2, 0, 1),
    "one row for all": np.broadcast_to(MEMORY[:8], (3, 4, 8)),
}


def operand(view: np.ndarray) -> Operand:
    base = (view.__array_interface__["data"][0] - MEMORY.__array_interface__["data"][0]) // MEMORY.itemsize
    strides = tuple(step // MEMORY.itemsize for step in view.strides)
    return Operand(Region(Space.INPUT, 0, 0, 4 * MEMORY.size), FLOAT, view.shape, strides, base)


def elements(seen: Operand) -> np.ndarray:
    places = [seen.base + sum(i * s for i, s in zip(at, seen.strides, strict=True)) for at in np.ndindex(seen.sizes)]
    return MEMORY[places].reshape(seen.sizes)


def factorizations(count: int) -> list[tuple[int, ...]]:
    return [
        (a, b, count // (a * b)) for a, b in itertools.product(range(1, count + 1), repeat=2) if count % (a * b) == 0
    ]


@pytest.mark.parametrize("name", VIEWS)
def test_readers_see_the_elements_in_order(name):
    """Views are read with every 3D shape, in order and with the first two dimensions exchanged."""
    view = VIEWS[name]
    made = DML_BUFFER_TENSOR_DESC(FLOAT, view.shape)
    found = 0
    for sizes in factorizations(view.size):
        whole = np.ascontiguousarray(view).reshape(sizes)
        for order in ((0, 1, 2), (1, 0, 2)):
            expected = whole.transpose(order)
            strides = tuple(step // whole.itemsize for step in expected.strides)
            seen = seen_through(operand(view), made, DML_BUFFER_TENSOR_DESC(FLOAT, expected.shape, strides))
            if seen is not None:
                found += 1
                np.testing.assert_array_equal(elements(seen), expected)
    assert found > (len(factorizations(view.size)) if name == "whole" else 1)


def test_a_row_is_split_where_rows_have_gaps():
    """Rows split into heads for any batch size; gaps between rows leave no strides for batch and rows flattened into
    one."""
    for batch in (1, 2):
        made = DML_BUFFER_TENSOR_DESC(FLOAT, (batch, 3, 8))
        view = Operand(Region(Space.INPUT, 0, 0, 4 * batch * 100), FLOAT, (batch, 3, 8), (100, 24, 1))
        seen = seen_through(view, made, DML_BUFFER_TENSOR_DESC(FLOAT, (batch, 2, 3, 4), (24, 4, 8, 1)))
        assert seen is not None
        assert seen.strides == (100, 4, 24, 1)
        assert seen_through(view, made, DML_BUFFER_TENSOR_DESC(FLOAT, (1, 1, batch * 3, 8))) is None
