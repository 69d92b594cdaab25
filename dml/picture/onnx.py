"""Picture of an ONNX model: its nodes and their kernels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from dml.capability import short_name
from dml.frontends.onnx import PreparedModel
from dml.frontends.onnx.dtypes import Array
from dml.frontends.onnx.map.trace import NodeRecord, ValueFacts
from dml.frontends.onnx.run.command import Walk, WalkedPart, walk
from dml.frontends.onnx.run.device_part import OnnxPlan
from dml.frontends.onnx.run.host_part import HostPart
from dml.validator import needed_level

from .kernels import add_times, facts_of, kernels_of
from .model import Picture, PictureKernel, PictureNode, PictureValue, relate, shortened


def onnx_picture(
    model: PreparedModel,
    title: str,
    inputs: Mapping[str, Array] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    profile: bool = False,
) -> Picture:
    """Draw a model as compiled for these inputs (zeros for missing ones, as ``dml explain``).

    sizes: symbolic sizes of missing inputs by name, 1 by default.
    profile: run it and show each kernel's time. Raises DMLError if it cannot be compiled.
    """
    drawing = _Drawing()
    walked = walk(model, inputs, sizes=sizes, profile=profile)
    parts = walked.parts
    for part in parts:
        for name in (name for name in part.feeds if name in model.inputs):
            value = _of_host(name, part.feeds[name])
            drawing.add(PictureNode("input", "input", name, outputs=[value]), [], [name])
    for part in parts:
        if isinstance(part.part, HostPart):
            _draw_on_host(drawing, part, part.part)
        elif part.plan is None:
            _draw_unplanned(drawing, part)
        else:
            _draw_on_device(drawing, part, part.plan)
    for name in model.outputs:
        drawing.add(PictureNode("output", "output", name, inputs=drawing.known(name)), [name], [])
    relate(drawing.nodes, drawing.kernels)
    return Picture(title, drawing.nodes, drawing.edges, drawing.kernels, _facts(model, walked, profile=profile))


class _Drawing:
    """The picture so far, and the source node of each value."""

    def __init__(self) -> None:
        self.nodes: list[PictureNode] = []
        self.edges: list[tuple[int, int, str]] = []
        self.kernels: list[PictureKernel] = []
        self._made_by: dict[str, int] = {}

    def add(self, node: PictureNode, reads: Iterable[str], makes: Iterable[str]) -> int:
        """Add a node with edges from the sources of its inputs; return its number. Each input is drawn once."""
        if node.kind == "input" and node.name in self._made_by:
            return self._made_by[node.name]
        index = len(self.nodes)
        self.nodes.append(node)
        self.edges += [(self._made_by[name], index, name) for name in dict.fromkeys(reads) if name in self._made_by]
        self._made_by.update(dict.fromkeys(makes, index))
        return index

    def known(self, name: str) -> list[PictureValue]:
        """Return the value of that name if a drawn node makes it; else none."""
        index = self._made_by.get(name)
        return [] if index is None else [value for value in self.nodes[index].outputs if value.name == name]


def _draw_on_device(drawing: _Drawing, walked: WalkedPart, plan: OnnxPlan) -> None:
    owner: dict[int, int] = {}
    inner: list[str] = []
    protos = (node.raw for node in walked.part.nodes)
    for record in plan.record:
        if record.depth:
            inner.append(record.node)
            continue
        node = _node(next(protos), record, inner)
        inner = []
        index = drawing.add(node, [value.name for value in record.inputs], [value.name for value in record.outputs])
        owner.update({plan.graph_nodes[number]: index for number in record.numbers if number in plan.graph_nodes})
    kernels = kernels_of(plan.compiled, owner)
    if walked.times:
        add_times(kernels, walked.times)
    drawing.kernels += kernels


def _draw_on_host(drawing: _Drawing, walked: WalkedPart, part: HostPart) -> None:
    drawn: list[int] = []
    for facts in part.nodes:
        raw = facts.raw
        node = PictureNode("node", _operator(raw), raw.name, attributes=_attributes(raw), on_host=part.runtime)
        node.inputs = [value for name in facts.input for value in drawing.known(name)]
        values = {name: walked.outputs.get(name) for name in facts.output}
        node.outputs = [_of_host(name, value) for name, value in values.items() if hasattr(value, "dtype")]
        drawn.append(drawing.add(node, facts.input, facts.output))
    times = sum(time.nanoseconds for time in walked.times) if walked.times else None
    written = sum(value.size for index in drawn for value in drawing.nodes[index].outputs)
    drawing.kernels.append(
        PictureKernel(f"{part.runtime}, on the host", drawn, False, (0, 0, 0), 0, 0, written, 0, nanoseconds=times)
    )


def _draw_unplanned(drawing: _Drawing, walked: WalkedPart) -> None:
    """Draw device nodes whose operators depend on shapes that are known only at run time."""
    for facts in walked.part.nodes:
        node = PictureNode(
            "node", _operator(facts.raw), facts.name, attributes=_attributes(facts.raw), is_planned=False
        )
        node.inputs = [value for name in facts.input for value in drawing.known(name)]
        drawing.add(node, facts.input, facts.output)


def _of_host(name: str, array: Any) -> PictureValue:
    return PictureValue(name, tuple(map(int, array.shape)), str(array.dtype), int(array.nbytes))


def _value(facts: ValueFacts) -> PictureValue:
    shape = tuple(map(int, facts.shape))
    return PictureValue(facts.name, shape, str(facts.dtype), prod(shape) * facts.dtype.itemsize, facts.is_constant)


def _node(proto: Any, record: NodeRecord, inner: list[str]) -> PictureNode:
    level = max(map(needed_level, record.operators), default=None)
    return PictureNode(
        "node",
        _operator(proto),
        proto.name,
        [_value(value) for value in record.inputs],
        [_value(value) for value in record.outputs],
        _attributes(proto),
        [short_name(desc.OPERATOR_TYPE) for desc in record.operators],
        "" if level is None else short_name(level),
        inner,
    )


def _operator(proto: Any) -> str:
    domain = f"{proto.domain}::" if proto.domain not in ("", "ai.onnx") else ""
    return f"{domain}{proto.op_type}"


def _attributes(proto: Any) -> list[tuple[str, str]]:
    return [(entry.name, _attribute(entry)) for entry in proto.attribute]


def _attribute(entry: Any) -> str:
    from onnx import helper

    found = helper.get_attribute_value(entry)
    if isinstance(found, bytes):
        text = found.decode("utf-8", "replace")
    elif hasattr(found, "dims"):
        text = f"a tensor of {list(found.dims)}"
    elif hasattr(found, "node"):
        text = f"a graph of {len(found.node)} nodes"
    else:
        text = str(found)
    return shortened(text)


def _facts(model: PreparedModel, walked: Walk, *, profile: bool) -> list[tuple[str, str]]:
    parts, stand = walked.parts, walked.inputs
    plans = [part.plan for part in parts if part.plan is not None]
    operators = [desc for plan in plans for record in plan.record for desc in record.operators]
    facts = facts_of(model.device, operators, [plan.compiled for plan in plans if plan.compiled], profile=profile)
    hosts = [part for part in parts if isinstance(part.part, HostPart)]
    if hosts:
        nodes = sum(len(part.part.nodes) for part in hosts)
        facts.append(("on the host", f"{nodes} nodes, in {len(hosts)} of {len(parts)} parts"))
    if stand.sizes:
        words = (f"{name}={size}{' (assumed)' if name in stand.assumed else ''}" for name, size in stand.sizes.items())
        facts.append(("sizes", ", ".join(words)))
    return facts
