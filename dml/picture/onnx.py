"""An ONNX model as a picture: its nodes beside the kernels of the program that it was compiled to."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from dml.capability import operator_introduced, short_name
from dml.frontends.onnx import PreparedModel
from dml.frontends.onnx.command import planned, profiled
from dml.frontends.onnx.dtypes import Array
from dml.frontends.onnx.trace import NodeRecord, ValueFacts

from .kernels import add_times, facts_of, kernels_of
from .model import Picture, PictureNode, PictureValue, relate, shortened


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
    kernels = kernels_of(plan.compiled, owner)
    if profile:
        add_times(kernels, profiled(plan, feeds))
    relate(nodes, kernels)
    kinds = [kind for record in plan.record for kind in record.kinds]
    return Picture(title, nodes, edges, kernels, facts_of(model.device, kinds, plan.compiled, profile=profile))


def _input(name: str, array: Array) -> PictureNode:
    value = PictureValue(name, tuple(array.shape), str(array.dtype), int(array.nbytes))
    return PictureNode("input", "input", name, outputs=[value])


def _value(facts: ValueFacts) -> PictureValue:
    shape = tuple(map(int, facts.shape))
    return PictureValue(facts.name, shape, str(facts.dtype), prod(shape) * facts.dtype.itemsize, facts.is_constant)


def _node(proto: Any, record: NodeRecord, inner: list[str]) -> PictureNode:
    level = max(map(operator_introduced, record.kinds), default=None)
    domain = f"{proto.domain}::" if proto.domain not in ("", "ai.onnx") else ""
    return PictureNode(
        "node",
        f"{domain}{proto.op_type}",
        proto.name,
        [_value(value) for value in record.inputs],
        [_value(value) for value in record.outputs],
        [(entry.name, _attribute(entry)) for entry in proto.attribute],
        [short_name(kind) for kind in record.kinds],
        "" if level is None else short_name(level),
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
    return shortened(text)
