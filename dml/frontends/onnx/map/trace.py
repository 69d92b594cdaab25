"""Walks a model with known input shapes, and builds the graph of DirectML operators.

Every value's shape is known when its node is reached, so no shapes are inferred beforehand: a node whose inputs are
all constants is computed at once (shapes and values derived from them), every other node is mapped. A mapping may need
the numbers in a tensor (Reshape's shape, a Loop's count). If the tensor is constant, they are known. If it depends on
the model's inputs, the graph built so far computes it on the device, and it becomes a guard: the compiled model is
valid only for inputs that lead to the same numbers. A node with a data-dependent number of rows instead ends the
graph, if it can be split there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper

from dml.api.device_array import DeviceArray
from dml.descriptors.base import OperatorDesc
from dml.descriptors.graph import DML_OPERATOR_GRAPH_NODE_DESC
from dml.enums import DML_TENSOR_DIMENSION_COUNT_MAX1
from dml.errors import HRESULT, DMLError
from dml.graph.builder import Builder, DeviceLike, Source
from dml.graph.constants import SharedConstants

from ..dtypes import BOOL, STORED_AS_FLOAT32, Array, DType, Shape, storage
from ..load.lenient import names_read
from ..load.loading import initial_arrays
from ..registry import mapping_of, schema_of, standard
from .folding import fold
from .mapped import MappedNode, MappedNodes
from .node import LateCount, NodeFacts, OnnxNode, Unsupported, noted
from .value import OnnxValue, constant

#: A value on an edge of the model: a tensor, a sequence of values, or an absent optional.
Item = Any
#: Maximum number of nodes after loops are unrolled, and of nodes that compute the values on which rounds depend.
_UNROLLED = 20_000


class ValueFacts(NamedTuple):
    """A value on an edge, as a plan has it. is_constant: known before the model runs."""

    name: str
    shape: Shape
    dtype: DType
    is_constant: bool


class NodeRecord(NamedTuple):
    """The operators of a node, for ``explain``. Sequences and absent values are missing from its inputs and outputs.

    operators: DirectML's operators. numbers: their numbers among the Builder's nodes. depth: 0 for a node of the
    model's graph, more in bodies of functions, loops and branches. is_late: whether it returns ``LateRows``. label: as
    ``NodeFacts.label``.
    """

    node: str
    operators: list[OperatorDesc]
    numbers: range
    depth: int
    inputs: list[ValueFacts]
    outputs: list[ValueFacts]
    is_late: bool
    label: str


class Repeated(NamedTuple):
    """A node that reuses an earlier mapping: the mapping, and the number of the node's first operator in this
    Builder."""

    known: MappedNode
    first: int
    proto: NodeFacts

    def records(self) -> list[NodeRecord]:
        """Return the records of inner nodes, then its own."""
        first, proto, known = self.first, self.proto, self.known
        *inside, own = (
            record._replace(numbers=range(first + record.numbers.start, first + record.numbers.stop))
            for record in self.known.records
        )
        if proto is not known.proto:
            given = [index for index, result in enumerate(known.results) if result is not None]
            own = own._replace(
                node=str(proto),
                label=proto.label,
                inputs=[
                    record._replace(name=proto.input[index])
                    for record, index in zip(own.inputs, known.given, strict=True)
                ],
                outputs=[
                    record._replace(name=proto.output[index]) for record, index in zip(own.outputs, given, strict=False)
                ],
            )
        return [*inside, own]


def written_out(record: Sequence[NodeRecord | Repeated]) -> list[NodeRecord]:
    """Return the record of every node."""
    return [item for entry in record for item in (entry.records() if isinstance(entry, Repeated) else [entry])]


class Guard:
    """A value that the graph depends on: how to compute it from the model's inputs, and its expected numbers.

    of: reduces the value to the part that the graph depends on.
    """

    def __init__(
        self, compiled: Any, name: str, array: Array, of: Callable[[Array], Any] | None = None, reader: str = ""
    ) -> None:
        self.compiled = compiled
        #: Label of the node in the model's graph that needs the value.
        self.reader = reader
        self.name = name
        self.array = array
        self.of = of or np.ndarray.tobytes
        self.expected = self.of(array)

    @property
    def inputs(self) -> list[str]:
        """Names of the model's inputs from which the value is computed."""
        if self.compiled is None:
            return [self.name]
        return [name for name, tensor in self.compiled.input_fields if tensor is not None]

    def holds(self, feeds: Mapping[str, Array]) -> bool:
        found = np.asarray(feeds[self.name]) if self.compiled is None else run(self.compiled, feeds)[self.name]
        return bool(self.of(found) == self.expected)


class InputLimit(NamedTuple):
    """An upper limit of the numbers in an input of the model. rule: the error message if one exceeds it."""

    name: str
    most: int
    more: int
    rule: str

    def check(self, feeds: Mapping[str, Array]) -> None:
        """Raise DMLError if the largest number plus ``more`` exceeds ``most``. An input on the device is not read."""
        given = feeds[self.name]
        if isinstance(given, np.ndarray):
            _check_most(given, self.most, self.more, self.rule)


def _check_most(array: Array, most: int, more: int, rule: str) -> None:
    found = array.max(initial=0) + more
    if found > most:
        raise DMLError(f"{rule}, found {found}")


def held(array: Array | DeviceArray) -> Array | DeviceArray:
    """Return an input array in the form that the device holds."""
    if isinstance(array, DeviceArray):
        return array
    if array.dtype == BOOL:
        return array.astype(np.uint8).reshape(array.shape or (1,))
    if array.dtype in STORED_AS_FLOAT32:
        return array.astype(np.float32).reshape(array.shape or (1,))
    return array.reshape(array.shape or (1,))


def run(
    compiled: Any, feeds: Mapping[str, Array], keep: Sequence[str] = (), into: Mapping[str, DeviceArray] | None = None
) -> dict[str, Any]:
    """Run a compiled graph on the arrays that it reads.

    keep: outputs that stay on the device. into: arrays to write outputs to.
    """
    used = [name for name, tensor in compiled.input_fields if tensor is not None]
    found: dict[str, Any] = compiled.dispatch({name: held(feeds[name]) for name in used}, keep=keep, into=into)
    return found


class Scope:
    """The names of a graph or function body; a nested graph also sees those of the enclosing graphs."""

    def __init__(self, opsets: Mapping[str, int], outer: Scope | None = None) -> None:
        self.opsets = opsets
        self.outer = outer
        self.items: dict[str, Item] = {}
        self.attributes: dict[str, Any] = {}

    def find(self, name: str) -> Item:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.items:
                return scope.items[name]
            scope = scope.outer
        raise DMLError(f"no value {name!r} in the model")

    def version(self, domain: str) -> int:
        return self.opsets.get(standard(domain), 1)

    def attribute(self, name: str) -> Any:
        """Return an attribute of the enclosing function; None if it has none of that name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.attributes:
                return scope.attributes[name]
            scope = scope.outer
        return None


@dataclass(frozen=True)
class GraphFacts:
    """A graph read once: its initializers, nodes and the names of its outputs."""

    initial: Mapping[str, Array]
    nodes: Sequence[NodeFacts]
    outputs: Sequence[str]

    @cached_property
    def constants(self) -> list[tuple[str, Shape, DType, Array]]:
        """Return the initializers, each with its shape and dtype."""
        return [(name, array.shape, array.dtype, array) for name, array in self.initial.items()]

    @classmethod
    def of(cls, graph: Any) -> GraphFacts:
        """Read a GraphProto."""
        return cls(
            initial_arrays(graph), [NodeFacts(item) for item in graph.node], [item.name for item in graph.output]
        )


class Trace:
    """One walk through a model. ``graph`` returns the outputs; ``guards`` are the values, in addition to the shapes, on
    which the graph depends."""

    def __init__(
        self,
        device: DeviceLike,
        functions: Mapping[tuple[str, str, str], Any],
        shared: SharedConstants | None = None,
        mapped: MappedNodes | None = None,
    ) -> None:
        self.builder = Builder(device, shared, converts=True)
        #: Mappings kept from other walks.
        self.mapped = mapped
        #: Whether the current node's mapping depends only on the node and its inputs, so that it may be reused.
        self.is_repeatable = True
        self.functions = functions
        self.feeds: dict[str, Array] | None = {}
        self.sources: dict[tuple[str, int, int], str] = {}
        self.guards: list[Guard] = []
        self.count = 0
        #: id -> nested graph, which must stay alive while its id is used, and its facts.
        self._nested: dict[int, tuple[Any, GraphFacts]] = {}
        #: In mapping order: nodes of a body precede the node that contains it.
        self.record: list[NodeRecord | Repeated] = []
        self.depth = 0
        self._reader = ""
        #: Whether the graph can be split after nodes; and the nodes after which it is split, which may return
        #: ``LateRows``.
        self.may_cut = False
        self.late: Collection[NodeFacts] = ()
        #: Output of the graph -> the input whose memory it shares.
        self.shared: Mapping[str, str] = {}
        #: The outputs in ``shared`` that a node writes in place.
        self.in_place: set[str] = set()
        #: Upper limits of numbers in inputs, checked at each run.
        self.limits: dict[InputLimit, None] = {}

    # Values

    def input(self, name: str, shape: Sequence[int], dtype: DType) -> OnnxValue:
        """Add an input to the graph.

        Without elements it is a constant. If the device lacks its type, no mapping accepts it.
        """
        if not prod(shape):
            return constant(self.builder, np.zeros(tuple(shape), dtype))
        try:
            kind = storage(dtype)
        except DMLError:
            return OnnxValue(self.builder, shape, dtype)
        tensor = self.builder.input(name, tuple(shape) or (1,), kind)
        self.sources[tensor.source] = name
        return OnnxValue(self.builder, shape, dtype, tensor=tensor)

    def decided(self, value: OnnxValue, of: Callable[[Array], Any]) -> Any:
        """Return ``of(numbers)`` of a value; the compiled model is valid while this result stays the same."""
        if value.array is not None:
            return of(value.array)
        self.is_repeatable = False
        # A copy, because the numbers may change.
        copy = OnnxValue(value.builder, value.shape, value.dtype, tensor=value.tensor)
        self.known(copy)
        guard = self.guards.pop()
        self.guards.append(Guard(guard.compiled, guard.name, guard.array, of, self._reader))
        return self.guards[-1].expected

    def limit(self, value: OnnxValue, most: int, more: int, rule: str, place: str) -> None:
        """Require that the numbers in a value, plus ``more``, are at most ``most``.

        Constants are checked now, inputs of the model at each run; values that the model computes are not checked.
        """
        if value.array is not None:
            _check_most(value.array, most, more, rule)
            return
        name = None if value.graph_tensor is None else self.sources.get(value.graph_tensor.source)
        if name is not None:
            self.limits[InputLimit(name, most, more, f"{place}: {rule}")] = None

    def known(self, value: OnnxValue) -> Array:
        """Return the numbers in a value."""
        if value.array is not None:
            return value.array
        self.is_repeatable = False
        if self.feeds is None:
            raise Unsupported("a shape or count depends on the model's inputs, whose values are needed here")
        name = self.sources.get(value.tensor.source)
        if name is not None and self.feeds[name].shape == value.shape and value.tensor.desc.is_packed:
            array, compiled = np.asarray(self.feeds[name]), None
        else:
            name = "known"
            compiled = self.builder.compile({name: value.tensor})
            array = run(compiled, self.feeds)[name]
        self.guards.append(Guard(compiled, name, array, reader=self._reader))
        array = array.reshape(value.shape).astype(value.dtype)
        value.array = array
        return array

    def limit_computed(self, nodes: int) -> None:
        """Raise Unsupported if ``nodes`` nodes are too many for computing the values on which a loop's rounds depend.

        Each value is computed by the whole graph before it, so that the work is quadratic in the number of rounds.
        """
        if nodes > _UNROLLED:
            raise Unsupported(f"its rounds depend on values that take more than {_UNROLLED} nodes to compute")

    # Graphs

    def graph(self, graph: GraphFacts, inputs: Mapping[str, Item], opsets: Mapping[str, int]) -> list[Item]:
        """Return the outputs of a model's graph. Inputs override initializers of the same name."""
        with np.errstate(all="ignore"):
            return self.body(graph, Scope(opsets), inputs)

    def body(self, graph: GraphFacts, scope: Scope, inputs: Mapping[str, Item]) -> list[Item]:
        """Map the nodes of a graph or function body, and return its outputs. scope: its names; those of the inputs are
        added."""
        builder = self.builder
        for name, shape, dtype, array in graph.constants:
            scope.items[name] = OnnxValue.again(builder, shape, dtype, array, None)
        scope.items.update(inputs)
        self.nodes(graph.nodes, scope)
        return [scope.find(name) for name in graph.outputs]

    def facts(self, graph: Any) -> GraphFacts:
        """Read a nested graph; the result is cached."""
        if id(graph) not in self._nested:
            self._nested[id(graph)] = graph, GraphFacts.of(graph)
        return self._nested[id(graph)][1]

    def nodes(self, nodes: Sequence[NodeFacts], scope: Scope) -> None:
        """Map nodes in order. Collects the nodes that cannot be mapped, for a single error."""
        failed: list[tuple[NodeFacts, DMLError]] = []
        missing: set[str] = set()
        for proto in nodes:
            if missing and missing & proto.reads():
                missing.update(proto.output)
                continue
            before = self.count
            try:
                self.node(proto, scope)
            except DMLError as error:
                if error.hresult != HRESULT.DXGI_ERROR_UNSUPPORTED:
                    raise
                self.count = before  # the count of a loop that is too long does not affect the nodes after it
                failed.append((proto, error))
                missing.update(proto.output)
        if failed:
            # nodes after which the graph can be split are retried once all other nodes are mapped
            late = all(isinstance(error, LateCount) for _, error in failed)
            failed = [(proto, error) for proto, error in failed if late or not isinstance(error, LateCount)]
            words = "; ".join(dict.fromkeys(error.message for _, error in failed))
            together = (LateCount if late else Unsupported)(words, [(proto, error.message) for proto, error in failed])
            together.placed_in |= {"model"}
            raise together

    def node(self, proto: NodeFacts, scope: Scope) -> None:
        self.count += 1
        if self.count > _UNROLLED:
            raise Unsupported(f"the model has more than {_UNROLLED} nodes after loops are unrolled")
        items = scope.items
        inputs = [items[name] if name in items else scope.find(name) if name else None for name in proto.input]
        plain = self.mapped is not None and not self.depth and self.shared.keys().isdisjoint(proto.output)
        found = self.mapped.key(proto, inputs) if plain and self.mapped is not None else None
        known = None if found is None or self.mapped is None else self.mapped.find(found[0])
        if found is not None and known is not None:
            results = self._again(known, proto, inputs, found[1])
        elif found is not None and self.mapped is not None:
            before = self.builder.added, [item is not None and item.graph_tensor is not None for item in inputs]
            counts = len(self.record), self.count
            self.is_repeatable = True
            results = self._mapped(proto, scope, inputs)
            if self.is_repeatable:
                records, count = written_out(self.record[counts[0] :]), self.count - counts[1]
                fragment = self.builder.fragment(before[0], found[1])
                self.mapped.keep(*found, inputs, before[1], fragment, results, proto, records, count, before[0][0])
        else:
            results = self._mapped(proto, scope, inputs)
        for name, item in zip(proto.output, results, strict=False):
            if name:
                scope.items[name] = item

    def _again(self, known: MappedNode, proto: NodeFacts, inputs: list[Item], sources: list[Source]) -> list[Item]:
        """Repeat the mapping of an equal, earlier node; return the node's outputs."""
        self.count += known.inside
        first, results = known.again(inputs, sources)
        self.record.append(Repeated(known, first, proto))
        return results

    def _mapped(self, proto: NodeFacts, scope: Scope, inputs: list[Item]) -> list[Item]:
        """Map a node, and return its outputs."""
        node = OnnxNode(self, proto, scope, inputs)
        before = len(self.builder._nodes)
        if not self.depth:
            self._reader = str(node)
        self.depth += 1
        try:
            for value in values_in(inputs):
                if not value.is_representable:
                    raise Unsupported(f"no DirectML data type holds {value.dtype}")
            results = self.results(node)
            _check_dimensions(results)
        except DMLError as error:
            error.at(str(node), "model")
            raise
        except Exception as error:  # a bug in a mapping keeps its own exception
            noted(error, f"while {node} of an ONNX model was mapped")
            raise
        finally:
            self.depth -= 1
        added = [item for item in self.builder._nodes[before:] if isinstance(item, DML_OPERATOR_GRAPH_NODE_DESC)]
        operators = [item.Operator.desc for item in added]
        numbers = range(before, len(self.builder._nodes))
        values = _facts(proto.input, inputs), _facts(proto.output, results)
        self.record.append(
            NodeRecord(str(node), operators, numbers, self.depth, *values, proto in self.late, proto.label)
        )
        return results

    def results(self, node: OnnxNode) -> list[Item]:
        """Return the outputs of a node: computed on constants, mapped, or those of its function body."""
        folded = fold(node)
        if folded is not None:
            return [constant(self.builder, array) for array in folded]
        function = self.functions.get((node.domain, node.op, node.proto.overload))
        if function is not None:
            return self.call(function, node)
        mapping = mapping_of(node.op, node.domain, node.version)
        results = None if mapping is None else mapping(node)
        if results is not None:
            return results if isinstance(results, list) else [results]
        function = schema_function(node)
        if function is None:
            raise Unsupported(f"no mapping for {node.domain or 'ai.onnx'}::{node.op} version {node.version}")
        return self.call(function, node)

    def call(self, function: Any, node: OnnxNode) -> list[Item]:
        """Return the outputs of a function's body for the node's inputs and attributes."""
        has_graph = any(isinstance(attribute, onnx.GraphProto) for attribute in node.attributes.values())
        scope = _around_graph(function, node) if has_graph else Scope(opsets_of(function, node.scope.opsets))
        scope.attributes = {a.name: helper.get_attribute_value(a) for a in getattr(function, "attribute_proto", ())}
        schema = schema_of(node.op, node.domain, node.version)
        if schema is not None:
            for name, attribute in schema.attributes.items():
                if attribute.default_value.type:
                    scope.attributes.setdefault(name, helper.get_attribute_value(attribute.default_value))
        scope.attributes.update(node.attributes)
        most = len(function.input)
        node.check(len(node.inputs) <= most, f"takes at most {most} inputs, found {len(node.inputs)}")
        given = list(node.inputs) + [None] * (most - len(node.inputs))
        scope.items = dict(zip(function.input, given, strict=True))
        self.nodes([NodeFacts(proto) for proto in function.node], scope)
        return [scope.items.get(name) for name in function.output]


def _around_graph(function: Any, node: OnnxNode) -> Scope:
    """Return the scope of a function body that holds the caller's nested graph (SequenceMap's): the graph's nodes have
    the caller's versions and read the caller's names. Raises Unsupported if the function has one of these names."""
    given = dict(zip(function.input, node.proto.input, strict=False))
    own = {name for name in function.input if given.get(name) != name}
    own.update(name for inner in function.node for name in inner.output)
    graphs = onnx.NodeProto(attribute=node.attribute_protos())
    hidden = own & names_read(graphs)
    if hidden:
        raise Unsupported(f"its body reads {sorted(hidden)[0]!r}, which is a name in the operator's function")
    return Scope(node.scope.opsets, node.scope)


def _check_dimensions(results: list[Item]) -> None:
    """Raise Unsupported for a view with more dimensions than a DirectML tensor can have: no operator could copy it."""
    for value in values_in(results):
        tensor = value.graph_tensor
        if tensor is not None and tensor.desc.rank > DML_TENSOR_DIMENSION_COUNT_MAX1 and not tensor.desc.is_packed:
            most = DML_TENSOR_DIMENSION_COUNT_MAX1
            raise Unsupported(f"tensors have at most {most} dimensions, found shape {value.shape}")


def values_in(item: Item) -> Iterator[OnnxValue]:
    """Yield the values in an item, or in a list of items."""
    if isinstance(item, list):
        for inner in item:
            yield from values_in(inner)
    elif isinstance(item, OnnxValue):
        yield item


def opsets_of(function: Any, around: Mapping[str, int]) -> dict[str, int]:
    """Return the opset versions of a function's body; a missing domain has the caller's version, else the newest."""
    own = {standard(entry.domain): entry.version for entry in function.opset_import}
    return {"": onnx.defs.onnx_opset_version(), **around, **own}


def _facts(names: Sequence[str], items: Sequence[Item]) -> list[ValueFacts]:
    return [
        ValueFacts(name, item.shape, item.dtype, item.constant is not None)
        for name, item in zip(names, items, strict=False)
        if isinstance(item, OnnxValue)
    ]


def schema_function(node: OnnxNode) -> Any | None:
    """Return the function body in an operator's schema for these inputs, or None."""
    schema = schema_of(node.op, node.domain, node.version)
    if schema is None:
        return None
    if schema.has_context_dependent_function:
        types = [_type_of(item) for item in node.inputs]
        proto = onnx.NodeProto()
        proto.CopyFrom(node.proto.raw)
        del proto.attribute[:]
        proto.attribute.extend(node.attribute_protos())
        with suppress(Exception):  # a schema may raise any exception for types that its body does not support
            body = schema.get_context_dependent_function(proto.SerializeToString(), types)
            if body:
                return onnx.FunctionProto.FromString(body)
    return schema.function_body if schema.has_function else None


def _type_of(item: Item) -> bytes:
    if item is None:
        return b""
    if isinstance(item, list):
        inner = onnx.TypeProto.FromString(_type_of(item[0]) if item else b"")
        return bytes(helper.make_sequence_type_proto(inner).SerializeToString())
    kind = helper.np_dtype_to_tensor_dtype(item.dtype)
    return bytes(helper.make_tensor_type_proto(kind, item.shape).SerializeToString())
