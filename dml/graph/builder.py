"""Builds DML_GRAPH_DESC from expressions, as DirectMLX does.

    graph = Builder(device)
    x = graph.input("x", (8, 16))
    y = relu(gemm(x, graph.constant(weights)))
    compiled = graph.compile({"y": y})

``dml.graph.operations`` has the operators; ``Builder.node`` takes any other as a descriptor's class and fields.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, Protocol, cast

import numpy as np
import numpy.typing as npt

from dml import enums
from dml.arguments import as_array, checked
from dml.capability import LATEST
from dml.compiler.pattern import TracedConstant
from dml.descriptors.base import OperatorDesc, each_tensor
from dml.descriptors.elementwise import DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC
from dml.descriptors.graph import (
    DML_GRAPH_DESC,
    DML_INPUT_GRAPH_EDGE_DESC,
    DML_INTERMEDIATE_GRAPH_EDGE_DESC,
    DML_OPERATOR_GRAPH_NODE_DESC,
    DML_OUTPUT_GRAPH_EDGE_DESC,
)
from dml.descriptors.movement import DML_CAST_OPERATOR_DESC
from dml.enums import DML_EXECUTION_FLAGS, DML_FEATURE_LEVEL, DML_TENSOR_DATA_TYPE, DML_TENSOR_DIMENSION_COUNT_MAX1
from dml.enums.naming import no_attribute
from dml.errors import HRESULT, DMLError
from dml.graph.arithmetic import TensorArithmetic
from dml.graph.constants import SharedConstants, tensor_bytes
from dml.graph.conversions import conversions
from dml.graph.model import Edge, Graph, GraphParts, InputEdge, OutputEdge, assemble, reachable
from dml.graph.policies import TensorPolicy, described
from dml.graph.unit_dimensions import missing_dimensions, widened, widened_attributes
from dml.tensors import (
    DML_BUFFER_TENSOR_DESC,
    as_element,
    broadcast_strides,
    calc_buffer_tensor_size,
    data_type_of,
    numpy_dtype,
    packed_tensor,
)
from dml.traced import Numbers, TracedInt, filled

if TYPE_CHECKING:
    from typing import TypeAlias

    from typing_extensions import TypeVar

    #: Type of a device's compiled graph.
    Compiled = TypeVar("Compiled", default=Any)
    Compiled_co = TypeVar("Compiled_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    Compiled = TypeVar("Compiled")
    Compiled_co = TypeVar("Compiled_co", covariant=True)

FLOAT32 = enums.DML_TENSOR_DATA_TYPE_FLOAT32


class DeviceLike(Protocol[Compiled_co]):
    """The part of a device that a builder uses (dml.api.device imports this module)."""

    @property
    def feature_level(self) -> DML_FEATURE_LEVEL: ...

    def create_operator(self, desc: Any) -> Any: ...

    def _compile_graph(self, graph: Graph, flags: Any, *, optimize: bool, inputs: Any, outputs: Any) -> Compiled_co: ...


class Tensor(TensorArithmetic):
    """A value in a graph under construction: its source and its layout.

    Python's operators, NumPy's element-wise functions (np.exp(x)) and ``x[...]`` add operators to the graph.
    """

    def __init__(self, builder: Builder, source: tuple[str, int, int], desc: DML_BUFFER_TENSOR_DESC) -> None:
        self.builder = builder
        self.source = source
        self.desc = desc

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.desc.Sizes

    @property
    def data_type(self) -> DML_TENSOR_DATA_TYPE:
        return self.desc.DataType

    @property
    def rank(self) -> int:
        return len(self.desc.Sizes)

    def __repr__(self) -> str:
        return f"Tensor({self.desc.DataType.name}, {self.sizes}, from {self.source})"

    @checked
    def view(
        self,
        sizes: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        data_type: DML_TENSOR_DATA_TYPE | str | None = None,
    ) -> Tensor:
        """View the same bytes with other sizes, strides or data type; nothing is computed (DirectMLX: Reinterpret).

        sizes: default to the tensor's own, with its strides. Raises DMLError if the view exceeds its bytes.
        """
        if sizes is None:
            sizes, strides = self.sizes, self.desc.Strides if strides is None else strides
        desc = _viewed(
            self.desc,
            self.data_type if data_type is None else cast(DML_TENSOR_DATA_TYPE, data_type),
            tuple(sizes),
            None if strides is None else tuple(strides),
        )
        return Tensor(self.builder, self.source, desc)

    @checked
    def reshape(self, *sizes: int | Sequence[int]) -> Tensor:
        """Return other sizes of the same elements in row-major order; one size may be -1. Copies if strides require
        it. The sizes may also be one sequence."""
        count = self.desc.element_count
        given = _integers(sizes, "reshape")
        wanted = list(given)
        if -1 in wanted:
            known = prod(size for size in wanted if size != -1)
            wanted[wanted.index(-1)] = count // known if known else 0
        if prod(wanted) != count or wanted.count(-1):
            raise DMLError(f"reshape: {self.sizes} has {count} elements, {tuple(given)} does not fit")
        return self.packed().view(wanted)

    @checked
    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """Permute the dimensions (by default reverse them); nothing is computed. The axes may also be one sequence."""
        given = _integers(axes, "transpose")
        order = [axis % self.rank for axis in given] or list(range(self.rank))[::-1]
        if sorted(order) != list(range(self.rank)):
            raise DMLError(f"transpose: {tuple(given)} is not an order of {self.rank} dimensions")
        strides = self.desc.strides
        return self.view([self.sizes[axis] for axis in order], [strides[axis] for axis in order])

    @checked
    def broadcast(self, sizes: Sequence[int]) -> Tensor:
        """Broadcast to larger sizes, aligned at the right; nothing is computed."""
        sizes = tuple(sizes)
        if sizes == self.sizes:
            return self
        return self.view(sizes, broadcast_strides(self.sizes, sizes, self.desc.strides))

    def packed(self) -> Tensor:
        """Return the tensor itself if its elements are in row-major order without gaps, else a copy."""
        if self.desc.is_packed:
            return self
        return self.builder.written(self, packed_tensor(self.data_type, self.sizes))


def _integers(given: tuple[int | Sequence[int], ...], where: str) -> list[int]:
    """Return the integers, given as separate arguments or as one sequence."""
    if len(given) == 1 and not isinstance(given[0], int | np.integer):
        given = tuple(given[0])
    if any(not isinstance(number, int | np.integer) or isinstance(number, bool) for number in given):
        raise DMLError(f"{where} takes integers, or one sequence of integers, found {given}")
    return list(given)  # type: ignore[arg-type]


#: Placeholder for graph inputs beyond those of the Builder.
_UNUSED = packed_tensor(FLOAT32, (1,))


def _description(parts: GraphParts) -> DML_GRAPH_DESC:
    """Return the description, whose edges name nodes by number."""
    inputs = [DML_INPUT_GRAPH_EDGE_DESC(*edge) for edge in parts.input_edges]
    between = [DML_INTERMEDIATE_GRAPH_EDGE_DESC(*edge) for edge in parts.edges]
    results = [
        DML_OUTPUT_GRAPH_EDGE_DESC(edge.source, edge.source_output, edge.graph_output, edge.name)
        for edge in parts.output_edges
    ]
    return DML_GRAPH_DESC(
        parts.input_count,
        parts.output_count,
        parts.nodes,
        InputEdges=inputs,
        IntermediateEdges=between,
        OutputEdges=results,
    )


@lru_cache(maxsize=8192)
def _most_dimensions(desc: OperatorDesc) -> int:
    """Return the largest dimension count of a description's tensors."""
    tensors = each_tensor((*desc.inputs(), *desc.outputs()))
    return max((tensor.rank for tensor in tensors if tensor is not None), default=0)


#: Cached, since layers of a model repeat the same views.
@lru_cache(maxsize=8192)
def _viewed(
    seen: DML_BUFFER_TENSOR_DESC,
    data_type: DML_TENSOR_DATA_TYPE,
    sizes: tuple[int, ...],
    strides: tuple[int, ...] | None,
) -> DML_BUFFER_TENSOR_DESC:
    """View the tensor's bytes with other sizes and strides."""
    total = seen.TotalTensorSizeInBytes
    desc = DML_BUFFER_TENSOR_DESC(data_type, sizes, strides, total, Flags=seen.Flags)
    needed = calc_buffer_tensor_size(desc.DataType, desc.Sizes, desc.Strides)
    if needed > total:
        raise DMLError(
            f"view: sizes {desc.Sizes} with strides {desc.strides} reach {needed} bytes, the tensor has {total}"
        )
    if desc.TotalTensorSizeInBytes < total:  # a size derived from sizes and strides gives way to the given one
        return DML_BUFFER_TENSOR_DESC(data_type, sizes, strides, int(total), Flags=seen.Flags)
    return desc


def _of_type(desc: DML_BUFFER_TENSOR_DESC, kind: DML_TENSOR_DATA_TYPE) -> DML_BUFFER_TENSOR_DESC:
    """Return an output's description with another data type."""
    return DML_BUFFER_TENSOR_DESC(kind, desc.Sizes, desc.Strides)


def _widened(tensor: Tensor, cls: type[OperatorDesc], count: int) -> Tensor:
    """See ``widened``."""
    return Tensor(tensor.builder, tensor.source, widened(tensor.desc, cls, count))


def _descs(
    cls: type[OperatorDesc], outputs: Mapping[str, Any], fields: Mapping[str, Any]
) -> dict[str, DML_BUFFER_TENSOR_DESC]:
    """Return the descriptions of a node's tensors by field; an array is described by its first tensor."""
    inputs = {field: fields[field] for field in cls.input_names if fields.get(field) is not None}
    tensors = inputs | dict(outputs)
    first = {name: value[0] if isinstance(value, list | tuple) else value for name, value in tensors.items()}
    return {name: value if isinstance(value, DML_BUFFER_TENSOR_DESC) else value.desc for name, value in first.items()}


def _each(value: Any, change: Callable[..., Any], *arguments: Any) -> Any:
    """Apply ``change`` to a tensor, or to each tensor of an array."""
    if isinstance(value, list | tuple):
        return [change(item, *arguments) for item in value]
    return change(value, *arguments)


Operand: TypeAlias = Tensor | int | float | npt.NDArray[Any]
#: A tensor's source: ("input", its number, 0), or ("node", its number, output).
Source: TypeAlias = tuple[str, int, int]


class Fragment(NamedTuple):
    """Nodes that were added to a Builder, and their edges, ready to be added again.

    input_edges: (number of an outside tensor, node, its input), for outside tensors that are inputs of the graph.
    edges: (node, its output, node, its input); (-1 - n, 0, ...) for values of outside tensor n.
    """

    nodes: tuple[Any, ...]
    input_edges: tuple[tuple[int, int, int], ...]
    edges: tuple[tuple[int, int, int, int], ...]


#: Replacements for the methods of DirectMLX's Graph.
_DIRECTMLX = {
    **dict.fromkeys(("push_name", "pop_name"), "`with builder.name_scope(name):` names the nodes of a block"),
    **dict.fromkeys(("set_tensor_policy", "get_tensor_policy"), "tensor_policy is an attribute"),
    **dict.fromkeys(("input_tensor", "create_input_node"), "input(name, sizes, data_type) adds an input"),
    **dict.fromkeys(("create_operator_node", "create_node"), "node(structure, outputs, **fields) adds an operator"),
    **dict.fromkeys(("create_constant_node", "constant_data"), "constant(array) adds a constant"),
    **dict.fromkeys(("dispatch", "run"), "compile(outputs) returns what is dispatched"),
}  # fmt: skip


class Builder(Generic[Compiled]):
    """Collects nodes and edges; ``build`` makes the DML_GRAPH_DESC, ``compile`` the compiled graph.

    shared: constants that other graphs hold too. tensor_policy: the layout of operators' outputs, packed by default; it
    may be changed between operators (see ``dml.graph.policies``). converts: whether to cast tensors whose data type an
    operator does not take, and its results back, and to add dimensions of size 1 if it needs more; otherwise the
    operator is refused.
    """

    def __init__(
        self,
        device: DeviceLike[Compiled],
        shared: SharedConstants | None = None,
        *,
        tensor_policy: TensorPolicy | None = None,
        converts: bool = False,
    ) -> None:
        self.device = device
        self.tensor_policy = tensor_policy
        self._converts = converts
        self._scopes: list[str] = []
        self._shared = shared or SharedConstants()
        self._nodes: list[Any] = []
        self._inputs: list[str] = []
        self._input_descs: list[DML_BUFFER_TENSOR_DESC] = []
        #: Edges by number: (graph input, node, its input), and (node, its output, node, its input).
        self._input_edges: list[tuple[int, int, int]] = []
        self._edges: list[tuple[int, int, int, int]] = []
        self._built: GraphParts | None = None
        #: Numbers of the most recently built graph's nodes, in its order.
        self.built: list[int] = []

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            from dml.graph import operations

            functions = {
                prefix + function: f"dml.graph.operations.{function} is a function of tensors"
                for function in operations.NAMES
                for prefix in ("", "activation_")
            }
            raise no_attribute(self, name, dir(type(self)), functions | _DIRECTMLX)

    def derived(
        self, array: npt.NDArray[Any], how: Hashable, make: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    ) -> npt.NDArray[Any]:
        """See ``SharedConstants.derived``."""
        return self._shared.derived(array, how, make)

    @checked
    def input(
        self,
        name: str,
        sizes: Sequence[int],
        data_type: DML_TENSOR_DATA_TYPE | str = FLOAT32,
        strides: Sequence[int] | None = None,
        *,
        owned_by_dml: bool = False,
    ) -> Tensor:
        """Add an input to the graph. owned_by_dml: given once, at initialization."""
        if name in self._inputs:
            raise DMLError(f"Builder.input: the graph already has an input {name!r}")
        flags = enums.DML_TENSOR_FLAG_OWNED_BY_DML if owned_by_dml else enums.DML_TENSOR_FLAG_NONE
        desc = DML_BUFFER_TENSOR_DESC(data_type, tuple(sizes), None if strides is None else tuple(strides), Flags=flags)
        self._inputs.append(name)
        self._input_descs.append(desc)
        return Tensor(self, ("input", len(self._inputs) - 1, 0), desc)

    @checked
    def constant(self, array: npt.ArrayLike, data_type: DML_TENSOR_DATA_TYPE | str | None = None) -> Tensor:
        """Add a constant array. Scalars become tensors of sizes (1,); booleans UINT8."""
        value = as_array(array, "Builder.constant")
        kind = data_type_of(value.dtype) if data_type is None else cast(DML_TENSOR_DATA_TYPE, data_type)
        if data_type is not None:
            value = value.astype(numpy_dtype(kind), copy=False)
        desc = packed_tensor(kind, value.shape or (1,))
        self._nodes.append(self._shared.node(tensor_bytes(value, desc)))
        return Tensor(self, ("node", len(self._nodes) - 1, 0), desc)

    def constant_of_sizes(
        self,
        sizes: tuple[int, ...],
        now: npt.NDArray[Any],
        numbers: Iterable[TracedInt],
        make: Callable[[Numbers], npt.NDArray[Any]],
    ) -> Tensor:
        """Like ``constant``, for an array that follows from traced numbers. now: its value for the current ones."""
        data_type = data_type_of(now.dtype)
        desc = packed_tensor(data_type, sizes or (1,))
        desc_now = packed_tensor(data_type, now.shape or (1,))
        self._nodes.append(
            TracedConstant(
                desc.TotalTensorSizeInBytes,
                numbers,
                lambda found: bytes(tensor_bytes(make(found), filled(desc, found))),
                lambda: bytes(tensor_bytes(now, desc_now)),
            )
        )
        return Tensor(self, ("node", len(self._nodes) - 1, 0), desc)

    def output(self, data_type: DML_TENSOR_DATA_TYPE, sizes: Sequence[int]) -> DML_BUFFER_TENSOR_DESC:
        """Describe an operator's output by the graph's tensor policy."""
        if self.tensor_policy is None:
            return packed_tensor(data_type, tuple(sizes))
        return described(self.tensor_policy, data_type, enums.DML_TENSOR_FLAG_NONE, tuple(sizes))

    @contextmanager
    def name_scope(self, name: str) -> Iterator[None]:
        """Prefix the names of nodes made in the block with the scopes' names, joined by "_"."""
        self._scopes.append(name)
        try:
            yield
        finally:
            self._scopes.pop()

    @checked
    def like(self, value: Operand, other: Tensor) -> Tensor:
        """Return the value as a tensor; a number gets the data type of ``other``.

        Raises DMLError for a number that this type cannot hold, such as a fraction among integers.
        """
        if isinstance(value, Tensor):
            if value.builder is not self:
                raise DMLError("a tensor of another Builder cannot be used here")
            return value
        if isinstance(value, int | float):
            return self.constant(as_element("operand", value, other.data_type), other.data_type)
        return self.constant(value)

    @checked
    def node(
        self, cls: type[OperatorDesc], outputs: Mapping[str, DML_BUFFER_TENSOR_DESC | Sequence[DML_BUFFER_TENSOR_DESC]],
        name: str | None = None, **fields: Any,
    ) -> dict[str, Any]:  # fmt: skip
        """Add an operator with Tensors (or sequences of them, or None) as inputs and values as attributes.

        Returns output name -> Tensor, or a list of them for a tensor array. Raises DMLError if the description breaks a
        rule: DXGI_ERROR_UNSUPPORTED for more than eight dimensions.
        """
        if self._converts:
            return self._widened_node(cls, outputs, name, fields, self._converting_node)
        return self._node(cls, outputs, name, fields)

    def _widened_node(
        self, cls: type[OperatorDesc], outputs: Mapping[str, DML_BUFFER_TENSOR_DESC | Sequence[DML_BUFFER_TENSOR_DESC]],
        name: str | None, fields: dict[str, Any], add: Callable[..., dict[str, Any]],
    ) -> dict[str, Any]:  # fmt: skip
        """Add a node with ``add``; if the operator needs more dimensions, its tensors get dimensions of size 1."""
        if self.device.feature_level == LATEST:  # the latest level accepts the fewest dimensions
            return add(cls, outputs, name, fields)
        descs = _descs(cls, outputs, fields)
        missing = missing_dimensions(cls, descs, fields.get("Function"), self.device.feature_level)
        if not missing:
            return add(cls, outputs, name, fields)
        fields |= widened_attributes(fields, max(missing.values()))
        wider: dict[str, Any] = dict(outputs)
        for field, count in missing.items():
            if field in outputs:
                wider[field] = _each(outputs[field], widened, cls, count)
            else:
                fields[field] = _each(fields[field], _widened, cls, count)
        results = add(cls, wider, name, fields)
        return {field: _each(tensor, _widened, cls, -missing[field]) for field, tensor in results.items()}

    def _converting_node(
        self, cls: type[OperatorDesc], outputs: Mapping[str, DML_BUFFER_TENSOR_DESC | Sequence[DML_BUFFER_TENSOR_DESC]],
        name: str | None, fields: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        """Like ``_node``, with casts around it if the operator does not take the data types."""
        found = {field: desc.DataType for field, desc in _descs(cls, outputs, fields).items()}
        kinds = conversions(
            cls,  # type: ignore[arg-type]  # a class is hashable
            tuple(found.items()),
            fields.get("Function"),
            self.device.feature_level,
        )
        if not kinds:
            return self._node(cls, outputs, name, fields)
        for field in cls.input_names:
            if field in kinds:
                fields[field] = _each(fields[field], self._cast, kinds[field])
        typed = {
            field: _each(desc, _of_type, kinds[field]) if field in kinds else desc for field, desc in outputs.items()
        }
        results = self._node(cls, typed, name, fields)
        for field in outputs:
            if field in kinds:
                results[field] = _each(results[field], self._cast, found[field])
        return results

    def _cast(self, tensor: Tensor, kind: DML_TENSOR_DATA_TYPE) -> Tensor:
        if tensor.data_type == kind:
            return tensor
        outputs = {"OutputTensor": packed_tensor(kind, tensor.sizes)}
        fields = {"InputTensor": tensor}
        result: Tensor = self._widened_node(DML_CAST_OPERATOR_DESC, outputs, None, fields, self._node)["OutputTensor"]
        return result

    def _node(
        self, cls: type[OperatorDesc], outputs: Mapping[str, DML_BUFFER_TENSOR_DESC | Sequence[DML_BUFFER_TENSOR_DESC]],
        name: str | None, fields: dict[str, Any],
    ) -> dict[str, Any]:  # fmt: skip
        described: dict[str, Any] = {}
        sources: list[Tensor | None] = []
        for field in cls.input_names:
            value = fields.pop(field, None)
            several = isinstance(value, list | tuple)
            for item in value if several else (value,):
                if item is not None and not (isinstance(item, Tensor) and item.builder is self):
                    raise DMLError(f"{cls.__name__}.{field}: takes Tensors of this Builder, found {item!r}")
                sources.append(item)
            if several:
                described[field] = [None if item is None else item.desc for item in value]
            else:
                described[field] = None if value is None else value.desc
        described.update({field: outputs.get(field) for field in cls.output_names})
        desc = cls(**described, **fields)
        try:
            operator = self.device.create_operator(desc)
        except DMLError as error:
            if _most_dimensions(desc) > DML_TENSOR_DIMENSION_COUNT_MAX1:  # no operator takes so many dimensions
                raise DMLError(error.message, HRESULT.DXGI_ERROR_UNSUPPORTED) from error
            raise
        index = len(self._nodes)
        if self._scopes:
            name = "_".join([*self._scopes, *([name] if name else [])])
        self._nodes.append(DML_OPERATOR_GRAPH_NODE_DESC(operator, name))
        for input_index, tensor in enumerate(sources):
            if tensor is not None:
                self._connect(tensor, index, input_index)
        results: dict[str, Any] = {}
        output_index = 0
        for field, desc in operator.desc.outputs():
            if isinstance(desc, tuple):
                results[field] = [Tensor(self, ("node", index, output_index + i), d) for i, d in enumerate(desc)]
                output_index += len(desc)
                continue
            if desc is not None:
                results[field] = Tensor(self, ("node", index, output_index), desc)
            output_index += 1
        return results

    @checked
    def one(
        self,
        cls: type[OperatorDesc],
        sizes: Sequence[int],
        data_type: DML_TENSOR_DATA_TYPE | None = None,
        **fields: Any,
    ) -> Tensor:
        """Like ``node``, for an operator with one output; its data type defaults to the first input's."""
        (output,) = cls.output_names
        if data_type is None:
            first = next((fields[name] for name in cls.input_names if name in fields), None)
            first = first[0] if isinstance(first, list | tuple) and first else first
            if not isinstance(first, Tensor):
                raise DMLError(f"{cls.__name__}: its first input must be a Tensor, found {first!r}")
            data_type = first.data_type
        result = self.node(cls, {output: self.output(data_type, sizes)}, **fields)[output]
        assert isinstance(result, Tensor)
        return result

    def written(self, tensor: Tensor, desc: DML_BUFFER_TENSOR_DESC) -> Tensor:
        """Copy the tensor to the described layout."""
        copy = DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC
        result = self.node(copy, {"OutputTensor": desc}, InputTensor=tensor, ScaleBias=None)["OutputTensor"]
        assert isinstance(result, Tensor)
        return result

    def _connect(self, tensor: Tensor, node: int, input_index: int) -> None:
        kind, index, output = tensor.source
        if kind == "input":
            self._input_edges.append((index, node, input_index))
        else:
            self._edges.append((index, output, node, input_index))

    @property
    def added(self) -> tuple[int, int, int]:
        """Return the current numbers of nodes and edges, for ``fragment``."""
        return len(self._nodes), len(self._input_edges), len(self._edges)

    def nodes_added(self, numbers: range) -> list[Any]:
        """Return nodes by number, in the order of addition."""
        return self._nodes[numbers.start : numbers.stop]

    def fragment(self, since: tuple[int, int, int], sources: Sequence[Source]) -> Fragment | None:
        """Return the nodes added since; None if they read earlier values other than ``sources``."""
        first, inputs, edges = since
        numbers = {source: number for number, source in enumerate(sources)}
        outer: list[tuple[int, int, int]] = []
        inner: list[tuple[int, int, int, int]] = []
        for index, node, input_index in self._input_edges[inputs:]:
            number = numbers.get(("input", index, 0))
            if number is None:
                return None
            outer.append((number, node - first, input_index))
        for maker, output, node, input_index in self._edges[edges:]:
            if maker >= first:
                inner.append((maker - first, output, node - first, input_index))
                continue
            number = numbers.get(("node", maker, output))
            if number is None:
                return None
            inner.append((-1 - number, 0, node - first, input_index))
        return Fragment(tuple(self._nodes[first:]), tuple(outer), tuple(inner))

    def add(self, fragment: Fragment, sources: Sequence[Source]) -> int:
        """Add a fragment again, with its outside tensors from these sources; return its first node's number."""
        first = len(self._nodes)
        self._nodes += fragment.nodes
        self._input_edges += [
            (sources[number][1], first + node, input_index) for number, node, input_index in fragment.input_edges
        ]
        self._edges += [
            (first + maker, output, first + node, input_index)
            if maker >= 0
            else (*sources[-1 - maker][1:], first + node, input_index)
            for maker, output, node, input_index in fragment.edges
        ]
        return first

    @checked
    def build(
        self, outputs: Mapping[str, Tensor] | Sequence[Tensor], *, input_count: int | None = None
    ) -> DML_GRAPH_DESC:
        """Build the graph with these outputs; unneeded nodes are left out.

        An output that is an input, a constant or a strided view gets an identity that writes it packed, or by the
        tensor policy. input_count: number of graph inputs, the last ones unused. Raises DMLError for tensors of another
        Builder, and for an ``input_count`` below the graph's own.
        """
        return _description(self._parts(outputs, input_count))

    @property
    def graph(self) -> DML_GRAPH_DESC | None:
        """The most recently built graph."""
        return None if self._built is None else _description(self._built)

    def _parts(self, outputs: Mapping[str, Tensor] | Sequence[Tensor], input_count: int | None) -> GraphParts:
        """Return the part of the graph that the outputs need."""
        if not 0 <= len(self._inputs) <= (len(self._inputs) if input_count is None else input_count):
            raise DMLError(
                f"Builder.build: input_count must be at least the graph's {len(self._inputs)}, found {input_count}"
            )
        named = list(outputs.items()) if isinstance(outputs, Mapping) else [(None, tensor) for tensor in outputs]
        for name, tensor in named:
            if tensor.builder is not self:
                raise DMLError(f"Builder.build: output {name!r} is a tensor of another Builder")
        sources = []
        for index, (name, tensor) in enumerate(named):
            try:
                sources.append(self._materialized(tensor).source)
            except DMLError as error:
                error.at(f"output {index if name is None else name!r}", "model")
                raise
        live = self._live([node for _, node, _ in sources])
        self.built = sorted(live)
        place = {node: index for index, node in enumerate(self.built)}
        self._built = GraphParts(
            [self._nodes[node] for node in self.built],
            len(self._inputs) if input_count is None else input_count,
            len(named),
            [
                InputEdge(index, place[node], input_index, self._inputs[index])
                for index, node, input_index in self._input_edges
                if node in live
            ],
            [
                Edge(place[maker], output, place[node], input_index)
                for maker, output, node, input_index in self._edges
                if node in live
            ],
            [
                OutputEdge(position, place[node], output, name)
                for position, ((_, node, output), (name, _)) in enumerate(zip(sources, named, strict=True))
            ],
            self._inputs.copy(),
        )
        return self._built

    def _materialized(self, tensor: Tensor) -> Tensor:
        """Return the tensor, or a copy if its node does not write the layout of a graph output."""
        wanted = self.output(tensor.data_type, tensor.sizes)
        kind, index, output = tensor.source
        if kind == "node" and isinstance(self._nodes[index], DML_OPERATOR_GRAPH_NODE_DESC):
            written: Any = [*each_tensor(self._nodes[index].Operator.desc.outputs())][output]
            if written.TotalTensorSizeInBytes == wanted.TotalTensorSizeInBytes:
                is_packed = wanted.is_packed and written.is_packed and tensor.desc.is_packed
                if is_packed or (
                    written.Sizes == wanted.Sizes and written.strides == tensor.desc.strides == wanted.strides
                ):
                    return tensor
        return self.written(tensor, wanted)

    def _live(self, wanted: Sequence[int]) -> set[int]:
        feeds: dict[int, list[int]] = {}
        for maker, _, node, _ in self._edges:
            feeds.setdefault(node, []).append(maker)
        return reachable(wanted, lambda node: feeds.get(node, ()))

    def depends_on_inputs(self, tensor: Tensor) -> bool:
        """Whether the tensor depends on an input of the graph."""
        kind, index, _ = tensor.source
        return kind == "input" or not self._live([index]).isdisjoint(node for _, node, _ in self._input_edges)

    @checked
    def compile(
        self,
        outputs: Mapping[str, Tensor] | Sequence[Tensor],
        flags: DML_EXECUTION_FLAGS = DML_EXECUTION_FLAGS.DML_EXECUTION_FLAG_NONE,
        *,
        optimize: bool = True,
        input_count: int | None = None,
        seen: tuple[Sequence[DML_BUFFER_TENSOR_DESC], Sequence[DML_BUFFER_TENSOR_DESC]] | None = None,
    ) -> Compiled:
        """Compile the graph; see ``Device.compile_graph``, also for flags.

        input_count: as for ``build``. seen: input and output tensors for ``dispatch``, if they differ from the graph's.
        """
        parts = self._parts(outputs, input_count)
        if seen is None:
            tensors = outputs.values() if isinstance(outputs, Mapping) else outputs
            unused = [_UNUSED] * (parts.input_count - len(self._inputs))
            seen = [*self._input_descs, *unused], [self.output(tensor.data_type, tensor.sizes) for tensor in tensors]
        return self.device._compile_graph(assemble(parts), flags, optimize=optimize, inputs=seen[0], outputs=seen[1])
