"""Repair of models that onnxruntime accepts but ONNX's checker refuses; applied before the check.

Tools write models with unsorted nodes, or without an IR version, a graph's name, types of outputs or of a function's
attributes, or an import of com.microsoft. The meaning is clear in each case.
"""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any

import onnx

from dml.errors import DMLError

from ..registry import schema_of, standard

#: Domains that onnxruntime always imports.
_RUNTIMES_OWN = ("com.microsoft", "com.microsoft.nchwc", "com.microsoft.dml")
#: Default IR version, and the first one in which initializers need not be inputs.
_IR_VERSION, _FREE_INITIALIZERS = 8, 4
_MOST_VERSION = 2**31 - 1


def mend(model: Any) -> None:
    """Repair a model in place: add the parts that it omits, and sort its nodes.

    Raises DMLError for versions that no opset has, and for names that are not text.
    """
    _check_text(model)
    for imports in (model.opset_import, *(function.opset_import for function in model.functions)):
        for entry in imports:
            if not 1 <= entry.version <= _MOST_VERSION:
                raise DMLError(f"opset {entry.domain or 'ai.onnx'!r} has no version {entry.version}")
            if not standard(entry.domain) and entry.version > onnx.defs.onnx_opset_version():
                raise DMLError(
                    f"the model imports opset {entry.version} of ai.onnx; onnx {onnx.__version__} knows versions up to "
                    f"{onnx.defs.onnx_opset_version()}: install a newer onnx"
                )
    if not model.ir_version:
        model.ir_version = _IR_VERSION
    model.graph.name = model.graph.name or "graph"
    imported = {entry.domain for entry in model.opset_import}
    used = {node.domain for node in graph_nodes(model.graph)}
    model.opset_import.extend(
        onnx.helper.make_opsetid(domain, 1) for domain in _RUNTIMES_OWN if domain in used - imported
    )
    _sort(model.graph)


def checkable(model: Any) -> Any:
    """Copy a repaired model and add the parts that only the checker requires.

    Raises DMLError for an input without a type, and for a value that nothing produces.
    """
    _check_names(model.graph, frozenset())
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = max(copy.ir_version, _FREE_INITIALIZERS)
    graph = copy.graph
    graph.ClearField("value_info")
    for entry in graph.input:
        if entry.type.WhichOneof("value") is None:
            raise DMLError(f"the model is not valid ONNX: input {entry.name!r} has no type")
    for entry in graph.output:
        if entry.type.WhichOneof("value") is None or not entry.type.tensor_type.elem_type:
            entry.type.Clear()
            entry.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for entry in (*graph.input, *graph.output):
        if entry.type.HasField("tensor_type") and not entry.type.tensor_type.HasField("shape"):
            entry.type.tensor_type.shape.SetInParent()
    for function in copy.functions:
        _type_references(function)
    latest = {tensor.name: tensor for tensor in graph.initializer}
    if len(latest) < len(graph.initializer):
        kept = list(latest.values())
        del graph.initializer[:]
        graph.initializer.extend(kept)
    return copy


def _type_references(function: Any) -> None:
    """Type the function's own attributes, which ``onnx.parser`` leaves untyped."""
    versions = {standard(entry.domain): entry.version for entry in function.opset_import}
    for node in graph_nodes(function):
        for attribute in node.attribute:
            if attribute.ref_attr_name and not attribute.type:
                domain = standard(node.domain)
                schema = schema_of(node.op_type, domain, versions.get(domain, 1))
                known = schema.attributes.get(attribute.name) if schema is not None else None
                attribute.type = int(known.type.value) if known is not None else onnx.AttributeProto.FLOAT


def _check_text(model: Any) -> None:
    """Refuse text that is not UTF-8, which protobuf returns as bytes."""

    def words() -> Iterator[Any]:
        for holder in (model, *model.functions):
            for entry in holder.opset_import:
                yield entry.domain
        for function in model.functions:
            yield from (function.name, function.domain, *function.input, *function.output)
        for graph in (model.graph, *model.functions):
            for node in graph_nodes(graph):
                yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
                for attribute in node.attribute:
                    yield from (attribute.name, attribute.ref_attr_name)
                for inner in inner_graphs(node):
                    yield from _entry_names(inner)
        yield from _entry_names(model.graph)

    for word in words():
        if not isinstance(word, str):
            raise DMLError(f"the model is not valid ONNX: the name {word!r} is not UTF-8")


def _entry_names(graph: Any) -> Iterator[Any]:
    for entry in (*graph.input, *graph.output, *graph.initializer):
        yield entry.name


def _check_names(graph: Any, around: frozenset[str]) -> None:
    """Check that every name that is read is defined."""
    known = around | _given_names(graph) | {name for node in graph.node for name in node.output}
    for node in graph.node:
        for name in node.input:
            if name and name not in known:
                raise DMLError(
                    f"the model is not valid ONNX: node {node.name or node.op_type!r} reads {name!r}, which is "
                    "neither an input, an initializer nor a node's output"
                )
        for inner in inner_graphs(node):
            _check_names(inner, known)
    for entry in graph.output:
        if entry.name not in known:
            raise DMLError(f"the model is not valid ONNX: no node computes its output {entry.name!r}")


def inner_graphs(node: Any) -> Iterator[Any]:
    """Yield the graphs in a node's attributes."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def graph_nodes(graph: Any) -> Iterator[Any]:
    """Yield the nodes of a graph or function body and of the graphs nested in them."""
    for node in graph.node:
        yield node
        for inner in inner_graphs(node):
            yield from graph_nodes(inner)


def names_read(node: Any) -> set[str]:
    """Return the outer names that a node reads: its inputs, and free names of its nested graphs."""
    names = set(node.input)
    for graph in inner_graphs(node):
        read = {output.name for output in graph.output}.union(*map(names_read, graph.node))
        names |= read - _given_names(graph).union(*(inner.output for inner in graph.node))
    return names - {""}


def _given_names(graph: Any) -> set[str]:
    """Return the names of a graph's inputs and initializers."""
    given = {entry.name for entry in (*graph.input, *graph.initializer)}
    return given | {sparse.values.name for sparse in graph.sparse_initializer}


def _sort(graph: Any) -> None:
    """Sort nodes topologically; leave their order if they are sorted already or cannot be."""
    for node in graph.node:
        for inner in inner_graphs(node):
            _sort(inner)
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    before = [{makers[name] for name in names_read(node) if name in makers} for node in graph.node]
    if all(other < index for index, others in enumerate(before) for other in others):
        return
    try:
        order = list(TopologicalSorter(dict(enumerate(before))).static_order())
    except CycleError:
        return
    copies = [onnx.NodeProto() for _ in order]
    for copy, index in zip(copies, order, strict=True):
        copy.CopyFrom(graph.node[index])
    del graph.node[:]
    graph.node.extend(copies)
