"""An ONNX model as a picture: its nodes beside the kernels of the program that it was compiled to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from dml.capability import operator_introduced, short_name
from dml.compiler.program import Dispatch, Space
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.onnx import PreparedModel
from dml.frontends.onnx.command import PlannedPart, planned, profiled
from dml.frontends.onnx.dtypes import Array
from dml.frontends.onnx.trace import NodeRecord, ValueFacts

from .model import Picture, PictureKernel, PictureNode, PictureValue, relate

#: A node of the graph in a dispatch's label; see dml.graph.model.
_LABEL = re.compile(r"(?:^| \+ )node (\d+) \(")
#: Characters of an attribute that are shown.
_LONGEST = 200


def onnx_picture(
    model: PreparedModel, title: str, inputs: Mapping[str, Array] | None = None, *, profile: bool = False
) -> Picture:
    """The picture of a model as it is compiled for these inputs (zeros for those not given, as ``dml explain``).

    profile: run it, and say what each kernel took. Raises DMLError where it cannot be compiled.
    """
    parts, feeds = planned(model, inputs)
    drawing = _Drawing(feeds)
    for one in parts:
        if one.plan is not None:
            drawing.on_device(one, profile=profile)
        else:
            drawing.on_host(one)
    drawing.outputs(model.outputs)
    relate(drawing.nodes, drawing.kernels)
    facts = list(_facts(model, [one.plan for one in parts if one.plan is not None], profile))
    return Picture(title, drawing.nodes, drawing.edges, drawing.kernels, facts)


class _Drawing:
    """The picture as it grows, part by part. feeds: the model's inputs."""

    def __init__(self, feeds: Mapping[str, Array]) -> None:
        self.nodes = [_input(name, array) for name, array in feeds.items()]
        self.edges: list[tuple[int, int, str]] = []
        self.kernels: list[PictureKernel] = []
        self._made_by = {node.name: at for at, node in enumerate(self.nodes)}
        self._values: dict[str, PictureValue] = {}

    def on_device(self, one: PlannedPart, *, profile: bool) -> None:
        """The nodes that a part's plan was made of, and its kernels; with their times where it is profiled."""
        plan, owner = one.plan, dict[int, int]()
        assert plan is not None
        inner: list[str] = []
        protos = iter(one.part.nodes)
        for record in plan.record:
            if record.depth:
                inner.append(record.node)
                continue
            at = self._add(_node(next(protos).raw, record, inner), [value.name for value in record.inputs])
            inner = []
            owner.update({plan.graph_nodes[number]: at for number in record.numbers if number in plan.graph_nodes})
        kernels = _kernels(plan, owner)
        if profile:
            ran = [kernel for kernel in kernels if not kernel.once]
            for kernel, time in zip(ran, profiled(one), strict=True):
                kernel.nanoseconds = time.nanoseconds
        self.kernels += kernels

    def on_host(self, one: PlannedPart) -> None:
        """Nodes of which no more is known than the file says."""
        for node in one.part.nodes:
            known = [self._values[name] for name in node.input if name in self._values]
            outputs = [PictureValue(name, (), "", 0) for name in node.output if name]
            self._add(_host_node(node.raw, known, outputs), sorted(node.reads()))

    def outputs(self, names: Sequence[str]) -> None:
        for name in names:
            found = [self._values[name]] if name in self._values else []
            self._add(PictureNode("output", "output", name, inputs=found), [name])

    def _add(self, node: PictureNode, reads: Sequence[str]) -> int:
        """The node, behind those that make what it reads."""
        at = len(self.nodes)
        self.nodes.append(node)
        makers = {name: self._made_by[name] for name in reads if name in self._made_by}
        self.edges += [(maker, at, name) for name, maker in makers.items()]
        self._made_by.update({value.name: at for value in node.outputs})
        self._values.update({value.name: value for value in node.outputs})
        return at


def _input(name: str, array: Array) -> PictureNode:
    value = PictureValue(name, tuple(array.shape), str(array.dtype), int(array.nbytes))
    return PictureNode("input", "input", name, outputs=[value])


def _value(facts: ValueFacts) -> PictureValue:
    shape = tuple(map(int, facts.shape))
    return PictureValue(facts.name, shape, str(facts.dtype), prod(shape) * facts.dtype.itemsize, facts.is_constant)


def _node(proto: Any, record: NodeRecord, inner: list[str]) -> PictureNode:
    level = max(map(operator_introduced, record.kinds), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    return PictureNode(
        "node",
        _operator(proto),
        proto.name,
        [_value(value) for value in record.inputs],
        [_value(value) for value in record.outputs],
        [(entry.name, _attribute(entry)) for entry in proto.attribute],
        [short_name(kind) for kind in record.kinds],
        short_name(level) if record.kinds else "",
        inner,
    )


def _host_node(proto: Any, inputs: list[PictureValue], outputs: list[PictureValue]) -> PictureNode:
    attributes = [(entry.name, _attribute(entry)) for entry in proto.attribute]
    return PictureNode("node", _operator(proto), proto.name, inputs, outputs, attributes, on_host=True)


def _operator(proto: Any) -> str:
    return f"{proto.domain}::{proto.op_type}" if proto.domain not in ("", "ai.onnx") else str(proto.op_type)


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
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _kernels(plan: Any, owner: Mapping[int, int]) -> list[PictureKernel]:
    if plan.compiled is None:
        return []
    program = plan.compiled.program
    return [
        *(_kernel(dispatch, owner, once=True) for dispatch in program.initialize),
        *(_kernel(dispatch, owner, once=False) for dispatch in program.dispatches),
    ]


def _kernel(dispatch: Dispatch, owner: Mapping[int, int], *, once: bool) -> PictureKernel:
    numbers = (int(number) for number in _LABEL.findall(dispatch.node))
    nodes = list(dict.fromkeys(owner[number] for number in numbers if number in owner))
    regions = {(binding.region, binding.access) for binding in dispatch.bindings}
    known = {Space.PERSISTENT, Space.CONSTANT}
    reads = {region for region, access in regions if access.value != "w"}
    return PictureKernel(
        dispatch.label, nodes, once, dispatch.groups, dispatch.invocations,
        read=sum(region.size for region in reads if once or region.space not in known),
        written=sum(region.size for region, access in regions if access.writes),
        weights=0 if once else sum(region.size for region in reads if region.space in known),
        work=dispatch.work,
    )  # fmt: skip


def _facts(model: PreparedModel, plans: Sequence[Any], profile: bool) -> Iterator[tuple[str, str]]:
    vulkan = model.device.vulkan
    yield "device", f"{vulkan.name}, {vulkan.driver}"
    kinds = [kind for plan in plans for record in plan.record for kind in record.kinds]
    if kinds:
        yield "feature level", short_name(max(map(operator_introduced, kinds)))
    programs = [plan.compiled.program for plan in plans if plan.compiled is not None]
    if programs:
        yield "temporary memory", _bytes(sum(program.temporary_size for program in programs))
        constants = {id(held.Data): len(held.Data) for program in programs for held in program.constants}
        yield "weights", _bytes(sum(program.persistent_size for program in programs) + sum(constants.values()))
    if profile:
        stamps = "the device's timestamps" if model.device.has_timestamps else "the host's clock, a submission each"
        yield "times by", stamps


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
