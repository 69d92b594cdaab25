"""The order of a graph's dispatches: what does not depend on each other has no barrier between."""

from __future__ import annotations

import numpy as np
import pytest

from dml.compiler.order import count_barriers, in_levels
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.graph.builder import Builder
from dml.graph.operations import convolution, join, max_pooling, relu


def dispatch(label: str, reads: str, writes: str, offset: int = 0) -> Dispatch:
    """reads, writes: a letter for each temporary of 256 bytes, from ``offset`` on in what is written."""
    bindings = [StorageBinding(Region(Space.TEMPORARY, ord(name), 0, 256), Access.READ) for name in reads]
    bindings += [StorageBinding(Region(Space.TEMPORARY, ord(name), offset, 256), Access.WRITE) for name in writes]
    return Dispatch(label, Source(label, ""), tuple(bindings), (1, 1, 1))


def labels(dispatches: list[Dispatch]) -> str:
    return "".join(one.label for one in dispatches)


@pytest.mark.parametrize(
    "described, order, barriers",
    [
        # Two chains one after another; they stand beside each other
        (["1:x:a", "2:a:b", "3:x:c", "4:c:d", "5:bd:e"], "13245", (3, 2)),
        # A chain is a chain
        (["1:x:a", "2:a:b", "3:b:c"], "123", (2, 2)),
        # A value is written again only after its readers have run
        (["1:x:a", "2:a:b", "3:y:a", "4:a:c"], "1234", (3, 3)),
        # All that read the same need no order
        (["1:x:a", "2:x:b", "3:x:c"], "123", (0, 0)),
        # Written twice
        (["1:x:a", "2:y:a", "3:x:b"], "132", (1, 1)),
    ],
)
def test_levels(described: list[str], order: str, barriers: tuple[int, int]) -> None:
    dispatches = [dispatch(*text.split(":")) for text in described]
    levelled, between = in_levels(dispatches)
    assert labels(levelled) == order
    assert (count_barriers(dispatches), count_barriers(levelled)) == barriers
    assert between == barriers[1]


def test_parts_of_a_resource_that_lie_apart_do_not_wait() -> None:
    both = [dispatch("1", "x", "a"), dispatch("2", "x", "a", 256)]
    assert count_barriers(both) == 0
    assert count_barriers([*both, dispatch("3", "x", "a", 128)]) == 1


def _module(b: Builder, x, number: int, sizes: dict[str, tuple[int, ...]]):
    """Four branches of one, two, two and two operators, as GoogLeNet has them. sizes: gets those of the weights."""

    def step(x, channels: int, outputs: int, window: int, name: str):
        sizes[f"{name}{number}"] = (outputs, channels, window, window)
        w = b.input(f"{name}{number}", sizes[f"{name}{number}"], owned_by_dml=True)
        return relu(convolution(x, w, start_padding=(window // 2,) * 2, end_padding=(window // 2,) * 2))

    # (dilated windows are taken by one dispatch everywhere)
    pooled = max_pooling(x, (3, 3), dilations=(2, 2), start_padding=(2, 2), end_padding=(2, 2))
    branches = [
        step(x, 64, 16, 1, "a"),
        step(step(x, 64, 96, 1, "b"), 96, 16, 3, "c"),
        step(step(x, 64, 16, 1, "d"), 16, 16, 5, "e"),
        step(pooled, 64, 16, 1, "f"),
    ]
    return join(branches, 1)


def test_branches_share_their_barriers(each_kind, monkeypatch) -> None:
    """A CPU's driver pads before each convolution: two dispatches, between which those of other branches can stand."""
    b = Builder(each_kind)
    sizes: dict[str, tuple[int, ...]] = {"x": (1, 64, 28, 28)}
    y = _module(b, _module(b, b.input("x", sizes["x"]), 0, sizes), 1, sizes)
    compiled = b.compile({"y": y})
    monkeypatch.setattr("dml.graph.compile.in_levels", lambda dispatches: (dispatches, 0))
    plain = b.compile({"y": y})
    counts = [count_barriers(program.dispatches) for program in (compiled.program, plain.program)]
    assert counts[0] < counts[1] if each_kind.vulkan.target.is_cpu else counts[0] <= counts[1]
    assert compiled.program.temporary_size <= plain.program.temporary_size
    rng = np.random.default_rng(0)
    inputs = {name: rng.normal(0, 0.1, its).astype(np.float32) for name, its in sizes.items()}
    np.testing.assert_array_equal(compiled.dispatch(inputs)["y"], plain.dispatch(inputs)["y"])
