"""Arguments of dynamo's graphs: weights, tensors, and numbers, which become inputs or constants of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx

#: For each argument of a program: its symbolic dimensions with their symbols, or None for an int.
Dynamic = Mapping[int, str] | None


@dataclass
class Taken:
    """A graph in a program's form, and the arguments that become inputs.

    module: the graph, which reads symbolic sizes from the tensors. places: for each input, the index of the graph's
    argument. dynamic: for each input, the dimensions with symbolic sizes; None for an int. weights: the inputs that are
    parameters or buffers.
    """

    module: fx.GraphModule
    places: list[int] = field(default_factory=list)
    dynamic: list[Dynamic] = field(default_factory=list)
    weights: set[int] = field(default_factory=set)


def numbers_of(graph: fx.GraphModule) -> tuple[set[int], set[int]]:
    """Return the indices of arguments that are numbers: ints that are not a tensor's size, and floats.

    Dynamo passes a float that changes as a float64 tensor without dimensions; the graph calls its ``item()``.
    """
    places = list(graph.graph.find_nodes(op="placeholder"))
    sizes = {symbol for node in places for symbol in symbols_of(node).values()}
    ints = {
        index for index, node in enumerate(places) if _is_number(node) and node.users and symbol_of(node) not in sizes
    }
    floats = {index for index, node in enumerate(places) if node.users and _is_float(node)}
    return ints, floats


def value_of(argument: Any) -> Any:
    """Return an argument's number."""
    return argument.item() if isinstance(argument, torch.Tensor) else argument


def taken(graph: fx.GraphModule, arguments: Sequence[Any], fixed: AbstractSet[int]) -> Taken:
    """Convert the graph to a program's form. fixed: indices of numbers that become constants with the values of
    ``arguments``."""
    copied = fx.GraphModule(graph, fx.Graph())
    copied.graph.output(copied.graph.graph_copy(graph.graph, {}))
    found = Taken(copied)
    places = list(copied.graph.find_nodes(op="placeholder"))
    originals = list(graph.graph.find_nodes(op="placeholder"))
    symbols: dict[str, tuple[fx.Node, int]] = {}
    for node, original, value in zip(places, originals, arguments, strict=True):
        if isinstance(value, torch.Tensor):
            for axis, symbol in symbols_of(original).items():
                symbols.setdefault(symbol, (node, axis))
    last = places[-1] if places else None
    wide = any(isinstance(value, torch.Tensor) and value.dtype == torch.float64 and value.ndim for value in arguments)
    removed: list[fx.Node] = []
    for index, (node, value, original) in enumerate(zip(places, arguments, originals, strict=True)):
        is_tensor = isinstance(value, torch.Tensor)
        if index in fixed:
            number = value_of(value)
            for user in _items(node) if is_tensor else [node]:
                _replace(user, number)
                removed += [user] if is_tensor else []
        elif not is_tensor and symbol_of(original) in symbols:
            if node.users:
                with copied.graph.inserting_after(last):
                    size = copied.graph.call_function(torch.ops.aten.sym_size.int, symbols[symbol_of(original)])
                node.replace_all_uses_with(size)
        elif is_tensor or node.users:
            if is_tensor and _is_float(original):
                # a Python float and an integer give the default float type; a float64 tensor would give float64
                kind = torch.float64 if wide else torch.get_default_dtype()
                for user in _items(node):
                    with copied.graph.inserting_before(user):
                        user.replace_all_uses_with(copied.graph.call_method("to", (node, kind)))
                    removed.append(user)
            if is_weight(value):
                found.weights.add(len(found.places))
            found.places.append(index)
            found.dynamic.append(symbols_of(original) if is_tensor else None)
            continue
        removed.append(node)
    for node in removed:
        copied.graph.erase_node(node)
    copied.recompile()
    return found


def is_weight(value: Any) -> bool:
    """Return whether dynamo lifted the argument out of a module: a parameter or a buffer."""
    return isinstance(value, torch.Tensor) and (
        isinstance(value, torch.nn.Parameter) or getattr(value, "_dynamo_static_input_type", None) is not None
    )


def _is_number(node: fx.Node) -> bool:
    return not isinstance(node.meta.get("example_value"), torch.Tensor)


def _is_float(node: fx.Node) -> bool:
    """Return whether a placeholder is a float passed as a tensor, of which the graph only reads the number."""
    example = node.meta.get("example_value")
    is_scalar = isinstance(example, torch.Tensor) and example.dtype == torch.float64 and not example.ndim
    return is_scalar and len(_items(node)) == len(node.users)


def _items(node: fx.Node) -> list[fx.Node]:
    return [user for user in node.users if user.op == "call_method" and user.target == "item"]


def _replace(node: fx.Node, number: Any) -> None:
    """Replace a node's value by a number wherever other nodes use it."""
    for user in list(node.users):
        user.args = fx.map_arg(user.args, lambda argument: number if argument is node else argument)
        user.kwargs = fx.map_arg(user.kwargs, lambda argument: number if argument is node else argument)


def symbol_of(node: fx.Node) -> str:
    """Return the symbol of a placeholder's number; the number itself if it is fixed."""
    value = node.meta.get("example_value")
    return str(value.node.expr) if isinstance(value, torch.SymInt) else str(value)


def symbols_of(node: fx.Node) -> dict[int, str]:
    """Return the dimensions of a tensor whose sizes are single symbols."""
    example = node.meta.get("example_value")
    shape = example.shape if isinstance(example, torch.Tensor) else ()
    return {axis: str(size.node.expr) for axis, size in enumerate(shape) if isinstance(size, torch.SymInt)}
