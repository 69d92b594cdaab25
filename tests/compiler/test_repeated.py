"""Copied lowerings give the same program as new ones, and are used only if operands differ in nothing but their
regions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler import repeated as repeated_
from dml.compiler.builder import ProgramBuilder
from dml.compiler.program import Operand, Program, Region, Space
from dml.compiler.repeated import expression_key, repeated
from dml.compiler.scalar import Leaf, node
from dml.compiler.target import DeviceClass, Target
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.graph.compile import compile_graph
from dml.graph.reading import read_graph
from dml.recent import Recent

F32 = dml.DML_TENSOR_DATA_TYPE_FLOAT32
SMALL = Target(DeviceClass.DISCRETE, max_storage_buffer_range=1 << 16)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeated_, "_kept", Recent(repeated_.MOST_KEPT))


def layers(target: Target) -> Program:
    """Return a program of equal layers: weights rearranged in advance, epilogues with operands, joins, slices,
    reductions."""
    device: Any = SimpleNamespace(create_operator=lambda desc: SimpleNamespace(desc=desc))
    builder = Builder(device)
    rng = np.random.default_rng(0)
    x = start = builder.input("x", (2, 8, 24, 24))
    for number in range(3):
        weights = rng.random((8, 8, 3, 3), np.float32)
        bias = rng.random(8, np.float32)
        made = op.convolution(x, weights, bias, start_padding=(1, 1), end_padding=(1, 1))
        x = op.relu(made + start)
        left, right = op.split(x, 1, [4, 4])
        x = op.join([right, op.sqrt(left) * rng.random((1, 4, 1, 1), np.float32)], 1)
        mean = op.reduce(x, dml.DML_REDUCE_FUNCTION_AVERAGE, axes=(2, 3))
        x = x - mean if number else (x - mean) * 2.0
    graph = builder.build({"y": x, "mean": mean})
    return compile_graph(read_graph(graph, dml.DML_FEATURE_LEVEL_6_4), target)


@pytest.mark.parametrize("target", [Target(DeviceClass.CPU), Target(DeviceClass.DISCRETE), SMALL])
def test_programs_are_the_same_with_and_without(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    first, again = layers(target), layers(target)
    assert repeated_._kept
    monkeypatch.setattr(repeated_, "_kept", Recent(0))
    plain = layers(target)
    assert not repeated_._kept
    assert plain.initialize, "no weights are laid out beforehand"
    for other in (first, again):
        assert (other.dispatches, other.initialize) == (plain.dispatches, plain.initialize)
        assert (other.temporary_size, other.persistent_size) == (plain.temporary_size, plain.persistent_size)


def work_of(*operands: Operand, what: object = "") -> int:
    """Return how often a lowering runs: first for two distinct, non-static operands, then for these."""
    done = []
    builder = ProgramBuilder(Program(), Target())
    for given in ((at(0), at(1)), operands):
        repeated(builder, what if given is operands else "", {"a": given[0], "b": given[1]}, done.append)
    return len(done)


def at(index: int, space: Space = Space.INPUT, **changes: Any) -> Operand:
    operand = Operand(Region(space, index, 0, 64), F32, (4, 4), (4, 1))
    return replace(operand, **changes)


@pytest.mark.parametrize("operands", [(at(5), at(3)), (at(0, Space.TEMPORARY), at(0, Space.OUTPUT))])
def test_other_regions_are_no_other_work(operands: tuple[Operand, Operand]) -> None:
    assert work_of(*operands) == 1


@pytest.mark.parametrize(
    "operands",
    [
        (at(0), at(0)),
        (at(0, Space.CONSTANT), at(1)),
        (at(0), at(1, sizes=(2, 4))),
        (at(0), at(1, strides=(1, 4))),
        (at(0), at(1, base=4)),
        (at(0), at(1, data_type=dml.DML_TENSOR_DATA_TYPE_INT32)),
        (at(0), at(1, region=Region(Space.INPUT, 1, 0, 128))),
        (at(0), at(0, region=Region(Space.INPUT, 0, 32, 64))),
    ],
)
def test_other_differences_prevent_copies(operands: tuple[Operand, Operand]) -> None:
    assert work_of(*operands) == 2


def test_other_work_is() -> None:
    assert work_of(at(0), at(1), what="else") == 2


def test_expressions_differ_by_sharing_and_by_the_bits_of_constants() -> None:
    def square(a: float, *, shared: bool) -> Any:
        first, second = (node("$x0 + $c", Leaf(0), c=a) for _ in range(2))
        return node("$x0 * $x1", first, first if shared else second)

    keys = [
        expression_key(square(a, shared=shared)) for a, shared in ((0.0, True), (-0.0, True), (0.0, False), (1, True))
    ]
    assert len(set(keys)) == 4
    assert keys[0] == expression_key(square(0.0, shared=True))
    assert expression_key(square(True, shared=True)) != keys[3]
