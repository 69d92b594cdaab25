"""The choice of the nodes that run only once, at initialization: those whose results are worth the memory that they
keep."""

from __future__ import annotations

from collections.abc import Iterable

from dml.compiler.target import Target
from dml.graph.blocks import is_streamed
from dml.graph.model import Graph, Node, Value, static_values

#: Maximum total bytes of results that are larger than their sources.
SMALL = 1 << 20


def computed_once(graph: Graph, target: Target) -> set[Node]:
    """Return the nodes that initialization computes: they depend only on constants and owned inputs.

    A result that later nodes read stays on the device, so it may be no larger than its constants and inputs: weights of
    2 to 8 bits stay narrow. Exceptions take ``SMALL`` bytes in total. A node whose results only such nodes read is
    computed with them, regardless of its size.
    """
    static = static_values(graph)
    nodes = [node for node in graph.nodes if _is_static(node, static)]
    sources = _sources(nodes)
    streamed = {node for node in nodes if is_streamed(node, target)}
    refused = set(streamed)
    while True:
        chosen = _chosen(nodes, sources, refused)
        # readers of results that each run computes must run each time, too
        early = {node for node in chosen if not (chosen | streamed).issuperset(_makers(node))}
        if not early:
            return chosen
        refused |= early


def _makers(node: Node) -> list[Node]:
    makers = (entry[1].producer for entry in node.inputs if entry is not None)
    return [maker for maker in makers if maker is not None]


def _chosen(nodes: list[Node], sources: dict[Node, frozenset[Value]], refused: set[Node]) -> set[Node]:
    """Return the nodes, except refused ones, whose results are worth their memory. nodes: in running order."""
    chosen: set[Node] = set()
    left = SMALL
    for node in reversed(nodes):
        if node in refused:
            continue
        kept = [value for value in _results(node) if any(reader not in chosen for reader, _ in value.consumers)]
        size = sum(value.size for value in kept)
        more = size - sum(value.size for value in sources[node])
        if more > 0:
            if size > left:
                continue
            left -= size
        chosen.add(node)
    return chosen


def copies_late(graph: Graph, once: set[Node]) -> list[Node]:
    """Return the nodes in running order, with wide copies of constants just before their first reader, so that few are
    in memory at a time.

    once: the nodes that initialization computes (see ``computed_once``).
    """
    static = static_values(graph)
    late = {node for node in graph.nodes if node not in once and _is_static(node, static)}
    order: dict[Node, None] = {}
    for reader in graph.nodes if late else ():
        left = [] if reader in late else [reader]
        while left:
            missing = [maker for maker in _makers(left[-1]) if maker in late and maker not in order]
            if missing:
                left.append(missing[0])
            else:
                order[left.pop()] = None
    return [*order, *(node for node in graph.nodes if node not in order)]


def _is_static(node: Node, static: set[Value]) -> bool:
    """Whether no input of a run affects the node's results, and no caller reads them."""
    results = _results(node)
    return all(value in static for value in results) and not any(value.outputs for value in results)


def _results(node: Node) -> list[Value]:
    return [entry[1] for entry in node.outputs if entry is not None]


def _sources(nodes: Iterable[Node]) -> dict[Node, frozenset[Value]]:
    """Return, for each node, the values from which to recompute its results with the least memory. nodes: in running
    order."""
    found: dict[Node, frozenset[Value]] = {}
    made_of: dict[Value, frozenset[Value]] = {}
    for node in nodes:
        values = [entry[1] for entry in node.inputs if entry is not None]
        found[node] = frozenset[Value]().union(*(made_of.get(value, {value}) for value in values))
        size = sum(value.size for value in found[node])
        made_of |= {value: found[node] if value.size >= size else frozenset({value}) for value in _results(node)}
    return found
