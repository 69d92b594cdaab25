"""Picture of a DML_GRAPH_DESC: its operators and their kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.arguments import checked
from dml.capability import short_name
from dml.descriptors.base import OperatorDesc, each_tensor
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC, DML_GRAPH_DESC
from dml.runtime.recording import KernelTime
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.validator import needed_level

from .kernels import add_times, facts_of, kernels_of
from .model import Picture, PictureNode, PictureValue, relate, shortened


@checked
def graph_picture(
    desc: DML_GRAPH_DESC, compiled: CompiledOperator, device: Device, title: str, times: Sequence[KernelTime] = ()
) -> Picture:
    """Draw a graph that ``Device.compile_graph`` compiled.

    times: results of ``compiled.profile``. After compilation, ``Builder.graph`` is a Builder's description.
    """
    node_descs: list[Any] = [wrapper.Desc for wrapper in desc.Nodes]
    # Typed Any: a compiled graph's lists hold the right kinds of edges
    incoming: list[Any] = [wrapper.Desc for wrapper in desc.InputEdges]
    between: list[Any] = [wrapper.Desc for wrapper in desc.IntermediateEdges]
    outgoing: list[Any] = [wrapper.Desc for wrapper in desc.OutputEdges]
    descs: dict[int, OperatorDesc] = {
        number: node.Operator.desc
        for number, node in enumerate(node_descs)
        if not isinstance(node, DML_CONSTANT_DATA_GRAPH_NODE_DESC)
    }
    ports = {
        number: ([*each_tensor(found.inputs())], [*each_tensor(found.outputs())]) for number, found in descs.items()
    }
    names = {edge.GraphInputIndex: edge.Name or f"input {edge.GraphInputIndex}" for edge in incoming}
    place = {index: number for number, index in enumerate(names)}
    nodes = [PictureNode("input", "input", name) for name in names.values()]
    owner = {}
    for number, found in descs.items():
        owner[number] = len(nodes)
        nodes.append(_node(found, node_descs[number].Name or f"node {number}", number, ports[number][1]))
    edges: list[tuple[int, int, str]] = []
    for edge in incoming:
        source, target = place[edge.GraphInputIndex], owner[edge.ToNodeIndex]
        value = _value(names[edge.GraphInputIndex], ports[edge.ToNodeIndex][0][edge.ToNodeInputIndex])
        nodes[source].outputs = [value]
        nodes[target].inputs.append(value)
        edges.append((source, target, value.name))
    for edge in between:
        known = edge.FromNodeIndex not in owner
        name = f"constant {edge.FromNodeIndex}" if known else _name(edge.FromNodeIndex, edge.FromNodeOutputIndex)
        value = _value(name, ports[edge.ToNodeIndex][0][edge.ToNodeInputIndex], known=known)
        nodes[owner[edge.ToNodeIndex]].inputs.append(value)
        if not known:
            edges.append((owner[edge.FromNodeIndex], owner[edge.ToNodeIndex], name))
    for edge in outgoing:
        name = _name(edge.FromNodeIndex, edge.FromNodeOutputIndex)
        value = _value(name, ports[edge.FromNodeIndex][1][edge.FromNodeOutputIndex])
        edges.append((owner[edge.FromNodeIndex], len(nodes), name))
        nodes.append(PictureNode("output", "output", edge.Name or f"output {edge.GraphOutputIndex}", inputs=[value]))
    kernels = kernels_of(compiled, owner)
    if times:
        add_times(kernels, times)
    relate(nodes, kernels)
    return Picture(title, nodes, list(dict.fromkeys(edges)), kernels,
                   facts_of(device, list(descs.values()), [compiled], profile=bool(times)))  # fmt: skip


def _node(desc: OperatorDesc, name: str, number: int, outputs: list[DML_BUFFER_TENSOR_DESC | None]) -> PictureNode:
    attributes = [
        (info.name, shortened(str(getattr(desc, info.name)))) for info in desc.fields_info
        if info.kind == "attribute" and info.counts is None and getattr(desc, info.name) is not None
    ]  # fmt: skip
    kind = short_name(desc.OPERATOR_TYPE)
    values = [_value(_name(number, index), tensor) for index, tensor in enumerate(outputs) if tensor is not None]
    level = short_name(needed_level(desc))
    return PictureNode("node", kind, name, [], values, attributes, [kind], level)


def _name(number: int, output: int) -> str:
    return f"node {number}, output {output}"


def _value(name: str, tensor: DML_BUFFER_TENSOR_DESC | None, *, known: bool = False) -> PictureValue:
    assert tensor is not None, "edges of compiled graphs have both ends"
    return PictureValue(name, tensor.Sizes, short_name(tensor.DataType), int(tensor.TotalTensorSizeInBytes), known)
