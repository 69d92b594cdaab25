"""The contents of a picture: a model's nodes, the values between them, and the kernels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class PictureValue:
    """A value on an edge: its name, type and bytes. known: constant before the model runs, as weights are."""

    name: str
    shape: tuple[int, ...]
    data_type: str
    size: int
    known: bool = False


@dataclass
class PictureNode:
    """A node of the model's file.

    kind: node, input or output. operators: its DirectML operators; level: their feature level. inner: nodes of its
    body or function. fate: see ``fate_of``. kernels: indices of its kernels, fused ones included. group: number of the
    group of nodes that a kernel computes together; None if alone. nanoseconds: time of the kernels whose first node it
    is, so that nodes add up; None if not measured. on_host: the runtime on the host; "" on the device. is_planned:
    False if its kernels depend on a shape that is known only at run time.
    """

    kind: str
    operator: str
    name: str
    inputs: list[PictureValue] = field(default_factory=list)
    outputs: list[PictureValue] = field(default_factory=list)
    attributes: list[tuple[str, str]] = field(default_factory=list)
    operators: list[str] = field(default_factory=list)
    level: str = ""
    inner: list[str] = field(default_factory=list)
    fate: str = ""
    kernels: list[int] = field(default_factory=list)
    group: int | None = None
    nanoseconds: int | None = None
    on_host: str = ""
    is_planned: bool = True


@dataclass
class PictureKernel:
    """A dispatch: its kernel, its nodes, and the bytes it binds.

    once: it runs only at initialization. weights: bytes of constants that it reads. nanoseconds: None if not measured.
    """

    kernel: str
    nodes: list[int]
    once: bool
    groups: tuple[int, int, int]
    invocations: int
    read: int
    written: int
    weights: int
    nanoseconds: int | None = None


@dataclass
class Picture:
    """A whole picture. edges: (from, to, the value's name), nodes by index. facts: (name, text), shown at the top."""

    title: str
    nodes: list[PictureNode]
    edges: list[tuple[int, int, str]]
    kernels: list[PictureKernel]
    facts: list[tuple[str, str]]


#: Maximum length of an attribute's text.
_LONGEST = 200


def shortened(text: str) -> str:
    """Return the text of an attribute, or its beginning."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def measured(kernels: Iterable[PictureKernel]) -> list[int]:
    """Return the measured kernels' times in nanoseconds."""
    return [kernel.nanoseconds for kernel in kernels if kernel.nanoseconds is not None]


def relate(nodes: list[PictureNode], kernels: list[PictureKernel]) -> None:
    """Set each node's kernels, time, fusions and fate."""
    for index, kernel in enumerate(kernels):
        for number in kernel.nodes:
            nodes[number].kernels.append(index)
    for index, node in enumerate(nodes):
        times = measured(kernels[number] for number in node.kernels if kernels[number].nodes[0] == index)
        node.nanoseconds = sum(times) if times else None
    _join_groups(nodes, kernels)
    for node in nodes:
        node.fate = fate_of(node, kernels)


def _join_groups(nodes: list[PictureNode], kernels: list[PictureKernel]) -> None:
    """Number the groups of nodes that one kernel computes together in each run."""
    leader = list(range(len(nodes)))

    def found(index: int) -> int:
        while leader[index] != index:
            leader[index] = index = leader[leader[index]]
        return index

    for kernel in kernels:
        if not kernel.once:
            for item in kernel.nodes[1:]:
                leader[found(item)] = found(kernel.nodes[0])
    members: dict[int, list[int]] = {}
    for position, node in enumerate(nodes):
        if node.kind == "node":
            members.setdefault(found(position), []).append(position)
    together = [group for group in members.values() if len(group) > 1]
    for number, group in enumerate(together):
        for position in group:
            nodes[position].group = number


def fate_of(node: PictureNode, kernels: list[PictureKernel]) -> str:
    """Classify a node.

    fused: computed together with others; kernel: by its own kernels; once: only at initialization; known: a constant;
    view: another layout of a value, without a kernel; host: on the host.
    """
    if node.kind != "node":
        return node.kind
    if node.on_host:
        return "host"
    if not node.is_planned:
        return "unplanned"
    if node.group is not None:
        return "fused"
    if any(not kernels[index].once for index in node.kernels):
        return "kernel"
    if node.kernels:
        return "once"
    if node.outputs and all(value.known for value in node.outputs):
        return "known"
    return "view"
