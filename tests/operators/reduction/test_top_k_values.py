"""TOP_K and TOP_K1: exact, and the same in every run: ties by ascending index in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.compiler.operators.reduction.top_k import sorting_network
from harness import LAYOUTS, Array, assert_exact, like, tensor

UP, DOWN = dml.DML_AXIS_DIRECTION_INCREASING, dml.DML_AXIS_DIRECTION_DECREASING


def describe(
    x: dml.DML_BUFFER_TENSOR_DESC,
    axis: int,
    k: int,
    direction: Any = DOWN,
    index: str = "UINT32",
    layout: str = "packed",
) -> Any:
    sizes = [k if d == axis else size for d, size in enumerate(x.Sizes)]
    return dml.DML_TOP_K1_OPERATOR_DESC(
        InputTensor=x,
        OutputValueTensor=tensor(x.DataType, sizes, layout),
        OutputIndexTensor=tensor(index, sizes, layout),
        Axis=axis,
        K=k,
        AxisDirection=direction,
    )


def reference(x: Array, axis: int, k: int, direction: Any = DOWN) -> tuple[Array, Array]:
    """Select by a stable sort; NaN is the largest value."""
    ascending = np.argsort(x, axis=axis, kind="stable")
    if direction == DOWN:
        # A stable descending order: sort the reversed line, then reverse both order and indices.
        turned = np.argsort(np.flip(x, axis), axis=axis, kind="stable")
        ascending = x.shape[axis] - 1 - np.flip(turned, axis)
    places = np.take(ascending, range(k), axis)
    return np.take_along_axis(x, places, axis), places.astype(np.uint32)


def check(found: dict[str, Array], x: Array, axis: int, k: int, direction: Any = DOWN) -> None:
    values, places = reference(x, axis, k, direction)
    assert_exact(found["OutputIndexTensor"], places.astype(found["OutputIndexTensor"].dtype))
    assert_exact(found["OutputValueTensor"], values)


TYPES = ["FLOAT32", "FLOAT16", "INT64", "INT32", "INT16", "INT8", "UINT64", "UINT32", "UINT16", "UINT8"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("direction", [UP, DOWN])
@pytest.mark.parametrize("length, k", [(37, 20), (300, 290)], ids=["few", "many"])
def test_types_and_ties(device: dml.Device, dtype: str, direction: Any, length: int, k: int) -> None:
    x = harness.random(np.random.default_rng(1), dtype, (4, length, 3), -6, 6)
    x = np.round(x.astype(np.float32)).astype(x.dtype)
    if dtype.endswith("64"):
        x *= np.asarray(1 << 33, x.dtype)
    found = harness.run(device, describe(like(x), 1, k, direction), {"InputTensor": x})
    check(found, x, 1, k, direction)


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_a_sorting_network_sorts(count: int) -> None:
    """A network that sorts all sequences of zeros and ones sorts any."""
    rows = np.arange(1 << count)[:, None] >> np.arange(count) & 1
    for i, j in sorting_network(count):
        rows[:, [i, j]] = np.sort(rows[:, [i, j]], axis=1)
    assert (np.diff(rows, axis=1) >= 0).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", range(4))
def test_layouts(device: dml.Device, layout: str, axis: int) -> None:
    x = harness.random(np.random.default_rng(2), "FLOAT32", (3, 4, 5, 6))
    found = harness.run(device, describe(like(x, layout), axis, 2, UP, "UINT64", layout), {"InputTensor": x})
    check(found, x, axis, 2, UP)


@pytest.mark.parametrize("rank", [1, 2, 5, 8])
def test_dimension_counts(device: dml.Device, rank: int) -> None:
    x = harness.random(np.random.default_rng(3), "INT8", (2, 1, 3, 2, 1, 2, 3, 9)[-rank:])
    check(harness.run(device, describe(like(x), rank - 1, 9), {"InputTensor": x}), x, rank - 1, 9)


@pytest.mark.parametrize(
    "sizes, axis, k",
    [((1,), 0, 1), ((2,), 0, 1), ((3, 1024), 1, 1024), ((2, 1025), 1, 1), ((5000,), 0, 5000), ((3, 3000), 1, 2050),
     ((50000,), 0, 7), ((4100, 2), 0, 100), ((1000, 3), 1, 2), ((4, 129), 1, 100), ((130000,), 0, 700),
     ((3, 9001), 1, 700), ((5000, 2), 0, 129)],
)  # fmt: skip
def test_lengths(each_kind: dml.Device, sizes: tuple[int, ...], axis: int, k: int) -> None:
    """Covers one block and several, and K from 1 to the whole line, with many ties."""
    x = np.random.default_rng(4).integers(-500, 500, sizes).astype(np.float32)
    for direction in (UP, DOWN):
        found = harness.run(each_kind, describe(like(x), axis, k, direction), {"InputTensor": x})
        check(found, x, axis, k, direction)


def test_long_lines_of_64_bits(each_kind: dml.Device) -> None:
    """Covers blocks and merges of two-word keys."""
    x = np.random.default_rng(5).integers(-(2**63), 2**63 - 1, 3000, np.int64)
    desc = describe(like(x), 0, 1500)
    compiled = each_kind.compile_operator(each_kind.create_operator(desc))
    assert len(compiled.program.dispatches) == (10 if each_kind.vulkan.target.is_cpu else 3)
    check(compiled.dispatch({"InputTensor": x}), x, 0, 1500)


@pytest.mark.parametrize("dtype", ["INT64", "UINT64", "FLOAT16", "UINT8"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_groups_of_every_width(device: dml.Device, dtype: str, layout: str) -> None:
    """CPU drivers split the line into groups and keep the first element of each; the last group is shorter."""
    x = harness.random(np.random.default_rng(6), dtype, (2, 1001), -100, 100)
    for direction in (UP, DOWN):
        found = harness.run(device, describe(like(x, layout), 1, 30, direction, "UINT64", layout), {"InputTensor": x})
        check(found, x, 1, 30, direction)


def test_the_first_of_groups_go_by_the_total_order(device: dml.Device) -> None:
    """NaN, infinities and equal elements in different groups of a long line; and an ascending line."""
    x = np.resize(np.array([1, np.nan, -np.inf, 1, np.inf, 2, -0.0, 0], np.float32), 777)
    for line in (x, np.arange(777, dtype=np.float32), np.ones(777, np.float32)):
        for direction in (UP, DOWN):
            found = harness.run(device, describe(like(line), 0, 120, direction), {"InputTensor": line})
            check(found, line, 0, 120, direction)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16", "INT64", "UINT8"])
def test_many_of_a_long_line_are_in_as_many_groups(device: dml.Device, dtype: str) -> None:
    """CPU drivers select groups by their first elements, then the result from the elements of these groups and of an
    incomplete last group."""
    kind = dml.numpy_dtype(tensor(dtype, (1,)).DataType)
    special = np.array([1, np.nan, -np.inf, 1, np.inf, 2, -0.0, 0] if kind.kind == "f" else [1, 0, 5, 1, 7, 7], kind)
    lines = [np.resize(special, 5003), np.arange(5003).astype(kind), -np.arange(5003).astype(kind), np.ones(5003, kind)]
    x = np.stack(lines).reshape(2, 2, 5003)
    for direction in (UP, DOWN):
        desc = describe(like(x, "padded"), 2, 300, direction, "UINT64", "padded")
        compiled = device.compile_operator(device.create_operator(desc))
        labels = [dispatch.label for dispatch in compiled.program.dispatches]
        assert ("elementwise/elementwise.comp" in labels) == device.vulkan.target.is_cpu
        check(compiled.dispatch({"InputTensor": x}), x, 2, 300, direction)


def test_special_values(device: dml.Device) -> None:
    nan, inf = np.nan, np.inf
    x = np.array([[0, -0.0, 0, -0.0, 1], [nan, inf, -inf, nan, 5], [1e-45, 0, -1e-45, inf, inf]], np.float32)
    for direction in (UP, DOWN):
        found = harness.run(device, describe(like(x), 1, 5, direction), {"InputTensor": x})
        check(found, x, 1, 5, direction)
        zeros = found["OutputValueTensor"][0][:4] if direction == UP else found["OutputValueTensor"][0][1:]
        assert np.signbit(zeros).tolist() == [False, True, False, True], "values are copied bit for bit"


FIRST = np.array([[[[0, 1, 10, 11], [3, 2, 9, 8], [4, 5, 6, 7]]]], np.float32)
TIED = np.array([[[[1, 2, 2, 3], [3, 4, 5, 5], [6, 6, 6, 6]]]], np.float32)
EXAMPLES = [
    (FIRST, 3, 2, DOWN, [[11, 10], [9, 8], [7, 6]], [[3, 2], [2, 3], [3, 2]]),
    (FIRST, 2, 2, DOWN, [[4, 5, 10, 11], [3, 2, 9, 8]], [[2, 2, 0, 0], [1, 1, 1, 1]]),
    (TIED, 3, 3, DOWN, [[3, 2, 2], [5, 5, 4], [6, 6, 6]], [[3, 1, 2], [2, 3, 1], [0, 1, 2]]),
    (TIED, 3, 3, UP, [[1, 2, 2], [3, 4, 5], [6, 6, 6]], [[0, 1, 2], [0, 1, 2], [0, 1, 2]]),
]


@pytest.mark.parametrize("x, axis, k, direction, values, places", EXAMPLES)
def test_page_examples(
    device: dml.Device, x: Array, axis: int, k: int, direction: Any, values: list[Any], places: list[Any]
) -> None:
    descs = [describe(like(x), axis, k, direction)]
    if direction == DOWN:
        one = descs[0]
        descs.append(
            dml.DML_TOP_K_OPERATOR_DESC(one.InputTensor, one.OutputValueTensor, one.OutputIndexTensor, one.Axis, one.K)
        )
    for desc in descs:
        found = harness.run(device, desc, {"InputTensor": x})
        assert_exact(found["OutputValueTensor"], np.array([[values]], np.float32))
        assert_exact(found["OutputIndexTensor"], np.array([[places]], np.uint32))
