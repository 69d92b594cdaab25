"""Outputs of dynamo's graphs that share memory with inputs or other outputs, as PyTorch's views do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from dml.frontends.torch.arguments import symbol_of, symbols_of


class _View(NamedTuple):
    """An output as a view.

    base: the index of the argument, or of the output, that it is a view of. is_argument: base is an argument. sizes,
    strides, offset: in elements, ints or SymInts; the offset counts from the base's first element. base_strides: the
    base's, which it must have when the view is restored.
    """

    base: int
    is_argument: bool
    sizes: tuple[Any, ...]
    strides: tuple[Any, ...]
    offset: Any
    base_strides: tuple[Any, ...]


class Views:
    """The outputs of a graph that are views of arguments or of other outputs.

    The device computes every output as a separate tensor; ``restore`` replaces views by views, so that a later write
    to either is seen in both. A view is not restored if its sizes depend on data, if its data type is not its base's,
    if it alone is conjugated or negated, or if the tensor whose views they are is not an output.
    """

    def __init__(self, graph: fx.GraphModule) -> None:
        arguments = list(graph.graph.find_nodes(op="placeholder"))
        (returned,) = graph.graph.find_nodes(op="output")
        outputs = returned.args[0] if isinstance(returned.args[0], tuple | list) else ()
        #: Symbol -> the argument with its value: the argument's index and, if the symbol is a tensor's size, the axis.
        self._symbols: dict[str, tuple[int, int | None]] = {
            symbol: (index, axis) for index, node in enumerate(arguments) for axis, symbol in symbols_of(node).items()
        }
        self._symbols |= {
            symbol_of(node): (index, None)
            for index, node in enumerate(arguments)
            if isinstance(node.meta.get("example_value"), torch.SymInt)
        }
        self._views: dict[int, _View] = {}
        bases = {key: (index, True, tensor) for index, _, tensor, key in reversed(list(_stored(arguments)))}
        # the first node with a storage allocates it
        owners = {key: node for _, node, _, key in reversed(list(_stored(graph.graph.nodes)))}
        for index, node, tensor, key in _stored(outputs):
            if key not in bases and owners[key] is node:
                bases[key] = index, False, tensor
        for index, _, tensor, key in _stored(outputs):
            if key in bases:
                base, is_argument, other = bases[key]
                if _kind(tensor) == _kind(other) and (is_argument or base != index):
                    offset = tensor.storage_offset() - other.storage_offset()
                    shape = tuple(tensor.shape), tuple(tensor.stride()), offset
                    self._views[index] = _View(base, is_argument, *shape, tuple(other.stride()))

    def restore(self, arguments: Sequence[Any], outputs: Any) -> Any:
        """Return the outputs of a run, with views in place of copies."""
        if not self._views:
            return outputs
        found = list(outputs)
        for index, view in self._views.items():
            base = arguments[view.base] if view.is_argument else outputs[view.base]
            sizes, strides, (offset,), base_strides = (
                [self._value(number, arguments) for number in numbers]
                for numbers in (view.sizes, view.strides, [view.offset], view.base_strides)
            )
            if None not in (*sizes, *strides, offset) and base_strides == list(base.stride()):
                found[index] = base.detach().as_strided(sizes, strides, offset + base.storage_offset())
        return tuple(found)

    def _value(self, number: Any, arguments: Sequence[Any]) -> Any:
        """Return an int's or SymInt's value for these arguments; None if a symbol is neither a size nor an int among
        them."""
        if isinstance(number, int):
            return number
        expression = number.node.expr
        values = {}
        for symbol in expression.free_symbols:
            if str(symbol) not in self._symbols:
                return None
            index, axis = self._symbols[str(symbol)]
            values[symbol] = arguments[index] if axis is None else arguments[index].shape[axis]
        return int(expression.subs(values))


def _kind(tensor: torch.Tensor) -> tuple[torch.dtype, bool, bool]:
    """Return how a tensor's memory is read."""
    return tensor.dtype, tensor.is_conj(), tensor.is_neg()


def _example(node: Any) -> Any:
    """Return a node's example tensor from the trace; None if it has none with strides and a storage, as inside vmap."""
    value = node.meta.get("example_value") if isinstance(node, fx.Node) else None
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return None
    return None if torch._C._functorch.is_functorch_wrapped_tensor(value) else value


def _stored(nodes: Iterable[Any]) -> Iterable[tuple[int, Any, Any, int]]:
    """Yield the index, the node, the tensor and the storage's address of each node that has a tensor."""
    for index, node in enumerate(nodes):
        if (tensor := _example(node)) is not None:
            yield index, node, tensor, tensor.untyped_storage()._cdata
