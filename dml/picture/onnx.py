"""An ONNX model as a picture: its nodes beside the kernels of the program that it was compiled to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from dml.capability import operator_introduced, short_name
from dml.compiler.program import Dispatch, Space
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.onnx import PreparedModel
from dml.frontends.onnx.command import planned, profiled
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
    plan, feeds = planned(model, inputs)
    graph = model.model.graph
    top = [record for record in plan.record if record.depth == 0]
    nodes = [_input(name, array) for name, array in feeds.items()]
    made_by = {node.name: at for at, node in enumerate(nodes)}
    owner: dict[int, int] = {}
    inner: list[str] = []
    of_record: dict[int, NodeRecord] = {}
    protos = iter(graph.node)
    for record in plan.record:
        if record.depth:
            inner.append(record.node)
            continue
        at = len(nodes)
        nodes.append(_node(next(protos), record, inner))
        inner = []
        of_record[at] = record
        made_by.update({value.name: at for value in record.outputs})
        owner.update({plan.graph_nodes[number]: at for number in record.numbers if number in plan.graph_nodes})
    values = {value.name: _value(value) for record in top for value in record.outputs}
    edges = [
        (made_by[name], at, name)
        for at, record in of_record.items()
        for name in dict.fromkeys(value.name for value in record.inputs)
        if name in made_by and made_by[name] != at
    ]
    for name in model.outputs:
        found = [values[name]] if name in values else []
        nodes.append(PictureNode("output", "output", name, inputs=found))
        if name in made_by:
            edges.append((made_by[name], len(nodes) - 1, name))
    kernels = _kernels(plan, owner)
    if profile:
        ran = [kernel for kernel in kernels if not kernel.once]
        for kernel, time in zip(ran, profiled(plan, feeds), strict=True):
            kernel.nanoseconds = time.nanoseconds
    relate(nodes, kernels)
    return Picture(title, nodes, edges, kernels, list(_facts(model, plan, profile)))


def _input(name: str, array: Array) -> PictureNode:
    value = PictureValue(name, tuple(array.shape), str(array.dtype), int(array.nbytes))
    return PictureNode("input", "input", name, outputs=[value])


def _value(facts: ValueFacts) -> PictureValue:
    shape = tuple(map(int, facts.shape))
    return PictureValue(facts.name, shape, str(facts.dtype), prod(shape) * facts.dtype.itemsize, facts.is_constant)


def _node(proto: Any, record: NodeRecord, inner: list[str]) -> PictureNode:
    level = max(map(operator_introduced, record.kinds), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    domain = f"{proto.domain}::" if proto.domain not in ("", "ai.onnx") else ""
    return PictureNode(
        "node",
        f"{domain}{proto.op_type}",
        proto.name,
        [_value(value) for value in record.inputs],
        [_value(value) for value in record.outputs],
        [(entry.name, _attribute(entry)) for entry in proto.attribute],
        [short_name(kind) for kind in record.kinds],
        short_name(level) if record.kinds else "",
        inner,
    )


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


def _facts(model: PreparedModel, plan: Any, profile: bool) -> Iterator[tuple[str, str]]:
    vulkan = model.device.vulkan
    yield "device", f"{vulkan.name}, {vulkan.driver}"
    kinds = [kind for record in plan.record for kind in record.kinds]
    if kinds:
        yield "feature level", short_name(max(map(operator_introduced, kinds)))
    if plan.compiled is not None:
        program = plan.compiled.program
        yield "temporary memory", _bytes(program.temporary_size)
        constants = {id(constant.Data): len(constant.Data) for constant in program.constants}
        yield "weights", _bytes(program.persistent_size + sum(constants.values()))
    if profile:
        stamps = "the device's timestamps" if model.device.has_timestamps else "the host's clock, a submission each"
        yield "times by", stamps


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} B"
