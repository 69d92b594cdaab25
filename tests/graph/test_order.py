"""The order of a graph's dispatches: independent dispatches have no barrier between them."""

from __future__ import annotations

import numpy as np
import pytest

from dml.compiler.order import count_barriers, in_levels, one_by_one
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.enums import DML_REDUCE_FUNCTION_SUM
from dml.glslang import Source
from dml.graph.builder import Builder
from dml.graph.operations import convolution, gemm, join, max_pooling, reduce, relu, slice_, softmax


def dispatch(label: str, reads: str, writes: str, offset: int = 0) -> Dispatch:
    """Return a dispatch. reads, writes: temporaries, one letter each, of 256 bytes. offset: offset of the writes."""
    bindings = [StorageBinding(Region(Space.TEMPORARY, ord(name), 0, 256), Access.READ) for name in reads]
    bindings += [StorageBinding(Region(Space.TEMPORARY, ord(name), offset, 256), Access.WRITE) for name in writes]
    return Dispatch(label, Source(label, ""), tuple(bindings), (1, 1, 1))


def labels(dispatches: list[Dispatch]) -> str:
    return "".join(one.label for one in dispatches)


@pytest.mark.parametrize(
    "described, order, barriers",
    [
        # Two chains become interleaved
        (["1:x:a", "2:a:b", "3:x:c", "4:c:d", "5:bd:e"], "13245", (3, 2)),
        # A chain keeps its order
        (["1:x:a", "2:a:b", "3:b:c"], "123", (2, 2)),
        # A temporary is overwritten only after its readers
        (["1:x:a", "2:a:b", "3:y:a", "4:a:c"], "1234", (3, 3)),
        # Readers of the same value need no order
        (["1:x:a", "2:x:b", "3:x:c"], "123", (0, 0)),
        # A temporary written twice
        (["1:x:a", "2:y:a", "3:x:b"], "132", (1, 1)),
    ],
)
def test_levels(described: list[str], order: str, barriers: tuple[int, int]) -> None:
    dispatches = [dispatch(*text.split(":")) for text in described]
    levelled, between = in_levels(dispatches)
    assert labels(levelled) == order
    assert (count_barriers(dispatches), count_barriers(levelled)) == barriers
    assert between == barriers[1]


@pytest.mark.parametrize(
    "described, order",
    [
        # Two chains with one result each: alternately, by levels
        (["1:x:a", "2:x:b", "3:a:c", "4:b:d", "5:c:e", "6:d:f"], "135246"),
        # Two chains with one result
        (["1:x:a", "2:x:b", "3:a:c", "4:b:d", "5:cd:e"], "13245"),
        # A temporary is overwritten only after its readers
        (["1:x:a", "2:x:b", "3:a:c", "4:b:a", "5:c:d", "6:a:e"], "135246"),
        (["1:x:a", "2:a:b", "3:y:a", "4:a:c"], "1234"),
    ],
)
def test_one_result_after_the_other(described: list[str], order: str) -> None:
    assert labels(one_by_one([dispatch(*text.split(":")) for text in described])) == order


@pytest.mark.parametrize("most", [0, 1 << 30])
def test_work_in_parts_is_not_in_memory_at_once(each_kind, monkeypatch, most) -> None:
    """A large result is computed in six parts. Above the limit, each part is summed before the next one is computed."""
    monkeypatch.setattr("dml.compiler.order.MANY_BYTES", most)
    b = Builder(each_kind)
    x, w = b.input("x", (6, 64)), b.input("w", (4096, 64))
    rows = [slice_(x, (index, 0), (1, 64)) for index in range(6)]
    wide = [softmax(gemm(row, w, transpose_b=True), [1]) for row in rows]
    compiled = b.compile({"y": join([reduce(part * part, DML_REDUCE_FUNCTION_SUM, [1]) for part in wide], 0)})
    assert (compiled.program.temporary_size <= 3 * 4 * 4096) == (most == 0)
    rng = np.random.default_rng(0)
    inputs = {"x": rng.random((6, 64), np.float32), "w": rng.random((4096, 64), np.float32)}
    scores = np.exp(inputs["x"].astype(np.float64) @ inputs["w"].T)
    expected = ((scores / scores.sum(1, keepdims=True)) ** 2).sum(1, keepdims=True)
    np.testing.assert_allclose(compiled.dispatch(inputs)["y"], expected, rtol=1e-5)


def test_disjoint_ranges_of_a_resource_need_no_barrier() -> None:
    both = [dispatch("1", "x", "a"), dispatch("2", "x", "a", 256)]
    assert count_barriers(both) == 0
    assert count_barriers([*both, dispatch("3", "x", "a", 128)]) == 1


def _module(b: Builder, x, number: int, sizes: dict[str, tuple[int, ...]]):
    """Return four branches of one, two, two and two operators, as in GoogLeNet. sizes: receives the weights' sizes."""

    def step(x, channels: int, outputs: int, window: int, name: str):
        sizes[f"{name}{number}"] = (outputs, channels, window, window)
        w = b.input(f"{name}{number}", sizes[f"{name}{number}"], owned_by_dml=True)
        return relu(convolution(x, w, start_padding=(window // 2,) * 2, end_padding=(window // 2,) * 2))

    # Pooling with dilated windows takes one dispatch on all devices
    pooled = max_pooling(x, (3, 3), dilations=(2, 2), start_padding=(2, 2), end_padding=(2, 2))
    branches = [
        step(x, 64, 16, 1, "a"),
        step(step(x, 64, 96, 1, "b"), 96, 16, 3, "c"),
        step(step(x, 64, 16, 1, "d"), 16, 16, 5, "e"),
        step(pooled, 64, 16, 1, "f"),
    ]
    return join(branches, 1)


def test_branches_share_their_barriers(each_kind, monkeypatch) -> None:
    """CPU drivers pad before each convolution; dispatches of other branches can run between the padding and the
    convolution."""
    b = Builder(each_kind)
    sizes: dict[str, tuple[int, ...]] = {"x": (1, 64, 28, 28)}
    y = _module(b, _module(b, b.input("x", sizes["x"]), 0, sizes), 1, sizes)
    compiled = b.compile({"y": y})
    monkeypatch.setattr("dml.compiler.order.in_levels", lambda dispatches: (dispatches, 0))
    plain = b.compile({"y": y})
    counts = [count_barriers(program.dispatches) for program in (compiled.program, plain.program)]
    assert counts[0] < counts[1] if each_kind.vulkan.target.is_cpu else counts[0] <= counts[1]
    assert compiled.program.temporary_size <= plain.program.temporary_size
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(0, 0.1, its).astype(np.float32) for name, its in sizes.items()}
    np.testing.assert_array_equal(compiled.dispatch(inputs)["y"], plain.dispatch(inputs)["y"])
