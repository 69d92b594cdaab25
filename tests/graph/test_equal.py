"""Equal nodes of a graph run once."""

from __future__ import annotations

from typing import Any

import numpy as np

import dml
from dml import enums
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor

SIZES = (1, 1, 4, 6)
X, TABLE = np.random.default_rng(0).standard_normal((2, *SIZES), np.float32)
ROWS = np.array([2, 0, 3], np.uint32)


def gathered(graph: Builder, table: Tensor, rows: np.ndarray = ROWS, axis: int = 2) -> Tensor:
    return op.gather(table, graph.constant(rows), axis=axis)


def dispatched(graph: Builder, outputs: dict[str, Tensor]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the results for ``TABLE``, and the lines of the program's dispatches."""
    compiled = graph.compile(outputs)
    lines = [line for line in compiled.describe().splitlines() if line.startswith("dispatch")]
    return compiled.dispatch({"table": TABLE}), lines


def test_results_of_equal_nodes_are_computed_once(device: dml.Device) -> None:
    """Constants of the same content are equal, too; the readers of both nodes read one result."""
    graph = Builder(device)
    table = graph.input("table", SIZES)
    first, second = gathered(graph, table), gathered(graph, table)
    found, lines = dispatched(
        graph, {"y": op.softmax(first, [3]), "z": op.reduce(second, enums.DML_REDUCE_FUNCTION_SUM, (3,))}
    )
    gathers = [line for line in lines if "gather" in line]
    assert len(gathers) == 1
    assert "and 1 equal to it" in gathers[0]
    rows = TABLE[:, :, ROWS]
    weights = np.exp(rows.astype(np.float64))
    np.testing.assert_allclose(found["y"], weights / weights.sum(3, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(found["z"], rows.astype(np.float64).sum(3, keepdims=True), rtol=1e-5, atol=1e-6)


def test_chains_of_equal_nodes_are_computed_once(device: dml.Device) -> None:
    """Nodes that read results of equal nodes are equal as well."""

    def count(chains: int) -> int:
        graph = Builder(device)
        table = graph.input("table", SIZES)
        made = [op.softmax(op.softmax(gathered(graph, table), [3]), [2]) for _ in range(chains)]
        _, lines = dispatched(graph, {"y": op.join(made, 1)})
        return len(lines)

    one, three = count(1), count(3)
    assert three <= one + 3  # three more: the copies into the joined tensor


def test_graph_outputs_are_all_written(device: dml.Device) -> None:
    graph = Builder(device)
    table = graph.input("table", SIZES)
    found, _ = dispatched(graph, {name: gathered(graph, table) for name in "abc"})
    for result in found.values():
        np.testing.assert_array_equal(result, TABLE[:, :, ROWS])


def test_nodes_that_differ_stay(device: dml.Device) -> None:
    """Other constants, attributes and inputs make other nodes."""
    graph = Builder(device)
    table = graph.input("table", SIZES)
    others: dict[str, Any] = {
        "rows": gathered(graph, table),
        "other rows": gathered(graph, table, ROWS[::-1].copy()),
        "columns": gathered(graph, table, axis=3),
        "other table": gathered(graph, graph.constant(X)),
    }
    found, lines = dispatched(graph, {name: op.softmax(one, [3]) for name, one in others.items()})
    assert not any("equal to it" in line for line in lines)
    order = ROWS
    expected = {
        "rows": TABLE[:, :, order],
        "other rows": TABLE[:, :, order[::-1]],
        "columns": TABLE[..., order],
        "other table": X[:, :, order],
    }
    for name, values in expected.items():
        weights = np.exp(values.astype(np.float64))
        np.testing.assert_allclose(found[name], weights / weights.sum(3, keepdims=True), rtol=1e-5, err_msg=name)
