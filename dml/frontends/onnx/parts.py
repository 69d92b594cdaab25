"""Cuts a graph into parts that run one after another, by turns on the device and on the host.

A node is as early as its kind and its inputs let it be, so that there are as few parts as can be. What depends on
constants alone is made in each part that needs it: there it is known when the part is prepared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from .node import NodeFacts


@dataclass(frozen=True)
class Cut:
    """Nodes that run together, in order.

    inputs: the values they read that other parts or the caller give. constants: the initializers they read.
    outputs: those of theirs that are needed behind.
    """

    on_host: bool
    nodes: tuple[NodeFacts, ...]
    inputs: tuple[str, ...]
    constants: tuple[str, ...]
    outputs: tuple[str, ...]


def cut(
    nodes: Sequence[NodeFacts],
    host: Collection[int],
    given: Iterable[str],
    constants: Iterable[str],
    outputs: Sequence[str],
    late: Collection[int] = (),
) -> list[Cut]:
    """The parts of a graph.

    host: numbers of the nodes for the host. given: the names of inputs; constants: those of initializers that are not
    inputs as well. outputs: the graph's. late: numbers of the nodes for the device that end their part: what they give
    goes to later ones only.
    """
    known = frozenset(constants)
    made = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    names = {*given, *known, *made}
    reads = [node.reads() & names for node in nodes]  # (a nested graph has names of its own)
    levels: list[int | None] = []  # even for the device, odd for the host, None for what constants alone make
    for at, node in enumerate(nodes):
        before = [_after(levels[made[name]], made[name] in late) for name in reads[at] if name in made]
        from_inputs = any(name not in made and name not in known for name in reads[at])
        if (
            at not in host
            and at not in late
            and not from_inputs
            and all(level is None for level in before)
            and node.output
        ):
            levels.append(None)
            continue
        earliest = max((level for level in before if level is not None), default=0)
        levels.append(earliest + (earliest % 2 != (at in host)))
    live = _behind([made[name] for name in outputs if name in made], reads, made)
    parts = []
    for level in sorted({0, *(level for at in live if (level := levels[at]) is not None)}):
        own = {at for at in live if levels[at] == level}
        needed = {name for name in outputs if name in made and _is(levels[made[name]], level)}
        for at in live - own:
            if levels[at] is not None:
                needed |= {name for name in reads[at] if name in made and levels[made[name]] == level}
        read = {made[name] for at in own for name in reads[at] if name in made} | {made[name] for name in needed}
        inside = own | _behind([at for at in read if levels[at] is None], reads, made)
        order = [nodes[at] for at in sorted(inside)]
        if not order:
            continue
        own_names = {name for node in order for name in node.output}
        outer = sorted({name for at in inside for name in reads[at]} - own_names)
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


def _after(level: int | None, late: bool) -> int | None:
    """The level that what a node gives is there for."""
    return level + 1 if level is not None and late else level


def _is(level: int | None, wanted: int) -> bool:
    """What constants alone make is an output of the first part, the device's."""
    return level == wanted or (level is None and wanted == 0)


def _behind(start: Iterable[int], reads: Sequence[Collection[str]], made: dict[str, int]) -> set[int]:
    """These nodes and all that make what they read."""
    found: set[int] = set()
    stack = list(start)
    while stack:
        at = stack.pop()
        if at not in found:
            found.add(at)
            stack += [made[name] for name in reads[at] if name in made]
    return found
