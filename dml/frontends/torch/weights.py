"""The tensors of a graph that stay the same from call to call: parameters and buffers, and the graph without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx

#: What says when a weight has changed: where it lies, and how often it was written to.
Version = tuple[int, int]


@dataclass
class Frozen:
    """A graph whose weights are its own.

    module: takes the tensors that change, in order. varying: their places among all of the graph's arguments. dynamic:
    for each, the dimensions whose sizes are symbols, by number. weights: the places of the rest.
    """

    module: fx.GraphModule
    varying: list[int]
    dynamic: list[dict[int, str]]
    weights: list[int]


def is_weight(value: Any) -> bool:
    """Whether dynamo lifted the argument out of a module: a parameter or a buffer."""
    return isinstance(value, torch.Tensor) and (
        isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None
    )


def versions(arguments: Sequence[Any], places: Sequence[int]) -> list[Version]:
    """Tells whether these weights are what they were."""
    return [(arguments[at].data_ptr(), arguments[at]._version) for at in places]


def freeze(graph: fx.GraphModule, arguments: Sequence[Any]) -> Frozen:
    """The graph with its weights as buffers, and sizes that are arguments taken from the tensors that have them."""
    copied = fx.GraphModule(graph, fx.Graph())
    copied.graph.output(copied.graph.graph_copy(graph.graph, {}))
    found = Frozen(copied, [], [], [])
    places = list(copied.graph.find_nodes(op="placeholder"))
    symbols: dict[str, tuple[fx.Node, int]] = {}
    sizes: list[tuple[fx.Node, Any]] = []
    for at, (node, value, original) in enumerate(
        zip(places, arguments, graph.graph.find_nodes(op="placeholder"), strict=True)
    ):
        if isinstance(value, torch.Tensor) and is_weight(value):
            found.weights.append(at)
            copied.register_buffer(f"weight_{at}", value.detach())
            with copied.graph.inserting_before(node):
                node.replace_all_uses_with(copied.graph.get_attr(f"weight_{at}"))
            copied.graph.erase_node(node)
        elif isinstance(value, torch.Tensor):
            found.varying.append(at)
            own = _symbols(original)
            found.dynamic.append(own)
            for axis, symbol in own.items():
                symbols.setdefault(symbol, (node, axis))
        else:
            sizes.append((node, _symbol(original)))
    last = next(reversed(list(copied.graph.find_nodes(op="placeholder"))), None)
    for node, symbol in sizes:
        if node.users:
            source, axis = symbols[symbol]
            assert last is not None
            with copied.graph.inserting_after(last):
                node.replace_all_uses_with(copied.graph.call_function(torch.ops.aten.sym_size.int, (source, axis)))
        copied.graph.erase_node(node)
    copied.recompile()
    return found


def _symbol(node: fx.Node) -> str:
    value = node.meta["example_value"]
    return str(value.node.expr) if isinstance(value, torch.SymInt) else str(value)


def _symbols(node: fx.Node) -> dict[int, str]:
    """The dimensions of a tensor whose sizes are single symbols."""
    example = node.meta.get("example_value")
    shape = () if example is None else example.shape
    return {axis: str(size.node.expr) for axis, size in enumerate(shape) if isinstance(size, torch.SymInt)}
