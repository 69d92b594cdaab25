"""Partition of a model's nodes into consecutive parts that run alternately on the device and on the host.

Each node runs as early as its kind and its inputs allow, which minimizes the number of parts. Values that depend only
on constants are computed in each part that needs them, where they are known during preparation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from dml.graph.model import reachable


class Cuttable(Protocol):
    """A node: the names of its outputs and inputs, including those of nested graphs."""

    @property
    def output(self) -> Sequence[str]: ...

    def reads(self) -> set[str]: ...


_Node = TypeVar("_Node", bound=Cuttable)


@dataclass(frozen=True)
class Cut(Generic[_Node]):
    """Nodes that run together, in order.

    inputs: values they read from other parts or the caller. constants: initializers they read. outputs: values needed
    later.
    """

    on_host: bool
    nodes: tuple[_Node, ...]
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]


def cut(
    nodes: Sequence[_Node],
    host: Collection[int],
    given: Iterable[str],
    constants: Iterable[str],
    outputs: Sequence[str],
    late: Collection[int] = (),
) -> list[Cut[_Node]]:
    """Partition a graph.

    host: indices of the nodes for the host. given: names of inputs; constants: names of initializers that are not also
    inputs. outputs: the graph's. late: indices of device nodes that end their part: only later parts read their
    outputs.
    """
    known = frozenset(constants)
    writers = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    names = {*given, *known, *writers}
    reads = [node.reads() & names for node in nodes]  # nested graphs have their own names
    levels = _levels(nodes, reads, writers, known, host, late)
    live = _with_predecessors([writers[name] for name in outputs if name in writers], reads, writers)
    parts = []
    for level in sorted({0, *(level for index in live if (level := levels[index]) is not None)}):
        own = {index for index in live if levels[index] == level}
        # A graph output that depends only on constants becomes an output of the first device part.
        needed = {name for name in outputs if name in writers and (levels[writers[name]] or 0) == level}
        for index in live - own:
            if levels[index] is not None:
                needed |= {name for name in reads[index] if name in writers and levels[writers[name]] == level}
        read = {writers[name] for name in needed.union(*(reads[index] for index in own)) if name in writers}
        inside = own | _with_predecessors([index for index in read if levels[index] is None], reads, writers)
        order = [nodes[index] for index in sorted(inside)]
        if not order:
            continue
        own_names = {name for node in order for name in node.output}
        outer = sorted({name for index in inside for name in reads[index]} - own_names)
        parts.append(
            Cut(
                on_host=level % 2 == 1,
                nodes=tuple(order),
                inputs=tuple(name for name in outer if name not in known),
                constants=tuple(name for name in outer if name in known),
                outputs=tuple(name for node in order for name in node.output if name in needed),
            )
        )
    return parts


def _levels(
    nodes: Sequence[Cuttable],
    reads: Sequence[Collection[str]],
    writers: Mapping[str, int],
    known: Collection[str],
    host: Collection[int],
    late: Collection[int],
) -> list[int | None]:
    """Return each node's level: even on the device, odd on the host, None if it depends only on constants."""
    levels: list[int | None] = []
    for index, node in enumerate(nodes):
        before = [_after(levels[writers[name]], writers[name] in late) for name in reads[index] if name in writers]
        earliest = max((level for level in before if level is not None), default=None)
        reads_inputs = any(name not in writers and name not in known for name in reads[index])
        if earliest is None and not reads_inputs and index not in host and index not in late and node.output:
            levels.append(None)
        else:
            earliest = earliest or 0
            levels.append(earliest + (earliest % 2 != (index in host)))
    return levels


def _after(level: int | None, late: bool) -> int | None:
    """Return the first level at which a node's outputs are available."""
    return level + 1 if level is not None and late else level


def _with_predecessors(start: Iterable[int], reads: Sequence[Collection[str]], writers: dict[str, int]) -> set[int]:
    """Return these nodes and all their predecessors."""
    return reachable(start, lambda index: [writers[name] for name in reads[index] if name in writers])
