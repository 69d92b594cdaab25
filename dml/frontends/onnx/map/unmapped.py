"""Finds the nodes of a model that neither a mapping nor a function covers, before compilation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import onnx.defs

from ..load.lenient import inner_graphs
from ..registry import mapping_of, schema_of, standard
from .node import NodeFacts
from .trace import opsets_of

_Seen = frozenset[tuple[str, str]]


class Uncovered(NamedTuple):
    """A node that neither a mapping nor a function covers."""

    domain: str
    operator: str
    version: int
    node: str

    def __str__(self) -> str:
        named = f" (node {self.node!r})" if self.node else ""
        return f"{self.domain or 'ai.onnx'}::{self.operator} version {self.version}{named}"


class _Coverage:
    """Tells which nodes the mappings and the model's own functions cover."""

    def __init__(self, model: Any) -> None:
        self.functions = {(standard(f.domain), f.name): f for f in model.functions}

    def missing(
        self, nodes: Iterable[Any], opsets: Mapping[str, int], seen: _Seen = frozenset()
    ) -> Iterator[Uncovered]:
        """Yield the uncovered nodes, including those in nested graphs and in functions that are called."""
        for node in nodes:
            domain, name = standard(node.domain), node.op_type
            version = opsets.get(domain, 1)
            for graph in inner_graphs(node):
                yield from self.missing(graph.node, opsets, seen)
            own = self.functions.get((domain, name))
            if own is None and mapping_of(name, domain, version) is not None:
                continue
            schema = None if own is not None else schema_of(name, domain, version)
            if schema is not None and schema.has_context_dependent_function:
                continue
            body = own or (schema.function_body if schema is not None and schema.has_function else None)
            if body is None:
                yield Uncovered(domain, name, version, node.name)
            elif (domain, name) not in seen:
                yield from self.missing(body.node, opsets_of(body, opsets), seen | {(domain, name)})


def opsets_in(model: Any) -> dict[str, int]:
    """Return the model's imports, domain -> version."""
    return {standard(entry.domain): entry.version for entry in model.opset_import}


def unmapped(model: Any, opsets: Mapping[str, int]) -> list[Uncovered]:
    """Return every node of a model that neither a mapping nor a function covers."""
    return list(dict.fromkeys(_Coverage(model).missing(model.graph.node, opsets)))


def unknown(found: Iterable[Uncovered]) -> list[Uncovered]:
    """Return the nodes that no host runtime supports: neither onnxruntime, if installed, nor onnx."""
    beyond_onnx = [item for item in found if not onnx.defs.has(item.operator, item.domain)]
    return [item for item in beyond_onnx if (item.domain, item.operator) not in _operators_of_onnxruntime()]


@cache
def _operators_of_onnxruntime() -> frozenset[tuple[str, str]]:
    """Return domain and name of each operator that the installed onnxruntime supports; none without onnxruntime."""
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    except ImportError:
        return frozenset()
    return frozenset((schema.domain, schema.name) for schema in get_all_operator_schema())


def uncovered(model: Any, opsets: Mapping[str, int]) -> dict[int, str]:
    """Return the uncovered nodes of the model's graph, or nodes with uncovered ones inside: number -> reason."""
    coverage = _Coverage(model)
    found = {index: next(coverage.missing([node], opsets), None) for index, node in enumerate(model.graph.node)}
    return {index: f"no mapping for {what}" for index, what in found.items() if what is not None}


def grouped(nodes: Iterable[NodeFacts]) -> str:
    """Describe nodes grouped by their operators."""
    names: dict[str, list[str]] = {}
    for node in nodes:
        operator = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        names.setdefault(operator, []).append(node.name or next(filter(None, node.output), ""))
    return ", ".join(
        f"{len(found)} {operator} ({', '.join(map(repr, found[:3]))}{', ...' if len(found) > 3 else ''})"
        for operator, found in names.items()
    )
