"""An ONNX model as a picture: its nodes beside the kernels of the program that it was compiled to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from dml.capability import operator_introduced, short_name
from dml.compiler.program import Dispatch, Space
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.onnx import PreparedModel
from dml.frontends.onnx.command import WalkedPart, walk
from dml.frontends.onnx.device_part import OnnxPlan
from dml.frontends.onnx.dtypes import Array
from dml.frontends.onnx.host_part import HostPart
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
    drawing = _Drawing()
    parts = walk(model, inputs, profile=profile)
    for part in parts:
        for name in (name for name in part.feeds if name in model.inputs):
            drawing.add(_input(name, part.feeds[name]), [], [name])
    for part in parts:
        if isinstance(part.part, HostPart):
            _draw_on_host(drawing, part, part.part)
        elif part.plan is not None:
            _draw_on_device(drawing, part, part.plan)
    for name in model.outputs:
        drawing.add(PictureNode("output", "output", name, inputs=drawing.known(name)), [name], [])
    relate(drawing.nodes, drawing.kernels)
    return Picture(title, drawing.nodes, drawing.edges, drawing.kernels, list(_facts(model, parts, profile)))


class _Drawing:
    """What was drawn so far, and which node made which value."""

    def __init__(self) -> None:
        self.nodes: list[PictureNode] = []
        self.edges: list[tuple[int, int, str]] = []
        self.kernels: list[PictureKernel] = []
        self._made_by: dict[str, int] = {}

    def add(self, node: PictureNode, reads: Iterable[str], makes: Iterable[str]) -> int:
        """Add a node with edges from what made the values that it reads; its number. A value is drawn once."""
        if node.kind == "input" and node.name in self._made_by:
            return self._made_by[node.name]
        at = len(self.nodes)
        self.nodes.append(node)
        self.edges += [(self._made_by[name], at, name) for name in dict.fromkeys(reads) if name in self._made_by]
        self._made_by.update(dict.fromkeys(makes, at))
        return at

    def known(self, name: str) -> list[PictureValue]:
        """The value of a name, where a node that was drawn makes it."""
        at = self._made_by.get(name)
        return [] if at is None else [value for value in self.nodes[at].outputs if value.name == name]


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
        at = drawing.add(node, [value.name for value in record.inputs], [value.name for value in record.outputs])
        owner.update({plan.graph_nodes[number]: at for number in record.numbers if number in plan.graph_nodes})
    kernels = _kernels(plan, owner)
    if walked.times:
        ran = [kernel for kernel in kernels if not kernel.once]
        for kernel, time in zip(ran, walked.times, strict=True):
            kernel.nanoseconds = time.nanoseconds
    drawing.kernels += kernels


def _draw_on_host(drawing: _Drawing, walked: WalkedPart, part: HostPart) -> None:
    drawn: list[int] = []
    for facts in part.nodes:
        raw = facts.raw
        node = PictureNode("node", _operator(raw), raw.name, attributes=_attributes(raw), on_host=part.runtime)
        node.inputs = [value for name in facts.input for value in drawing.known(name)]
        node.outputs = [_of_host(name, walked.outputs[name]) for name in facts.output if _is_array(walked, name)]
        drawn.append(drawing.add(node, facts.input, facts.output))
    times = sum(time.nanoseconds for time in walked.times) if walked.times else None
    written = sum(value.size for at in drawn for value in drawing.nodes[at].outputs)
    drawing.kernels.append(
        PictureKernel(f"{part.runtime}, on the host", drawn, False, (0, 0, 0), 0, 0, written, 0, 0, nanoseconds=times)
    )


def _is_array(walked: WalkedPart, name: str) -> bool:
    return hasattr(walked.outputs.get(name), "dtype")


def _of_host(name: str, array: Any) -> PictureValue:
    return PictureValue(name, tuple(map(int, array.shape)), str(array.dtype), int(array.nbytes))


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
        _attributes(proto),
        [short_name(kind) for kind in record.kinds],
        short_name(level) if record.kinds else "",
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


def _facts(model: PreparedModel, parts: Sequence[WalkedPart], profile: bool) -> Iterator[tuple[str, str]]:
    vulkan = model.device.vulkan
    yield "device", f"{vulkan.name}, {vulkan.driver}"
    plans = [part.plan for part in parts if part.plan is not None]
    kinds = [kind for plan in plans for record in plan.record for kind in record.kinds]
    if kinds:
        yield "feature level", short_name(max(map(operator_introduced, kinds)))
    if len(plans) < len(parts):
        on_host = sum(len(part.part.nodes) for part in parts if part.plan is None)
        yield "on the host", f"{on_host} nodes, in {len(parts) - len(plans)} of {len(parts)} parts"
    programs = [plan.compiled.program for plan in plans if plan.compiled is not None]
    if programs:
        yield "temporary memory", _bytes(max(program.temporary_size for program in programs))
        constants = {id(each.Data): len(each.Data) for program in programs for each in program.constants}
        yield "weights", _bytes(sum(program.persistent_size for program in programs) + sum(constants.values()))
    if profile:
        stamps = "the device's timestamps" if model.device.has_timestamps else "the host's clock, a submission each"
        yield "times by", stamps


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
