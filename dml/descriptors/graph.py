"""Graphs of operators: nodes, the edges between them, and the edges to and from the graph's own inputs and outputs.

References: dml_graph_desc, dml_graph_node_desc, dml_graph_edge_desc and the pages of the single nodes and edges.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from ..enums import DML_GRAPH_EDGE_TYPE, DML_GRAPH_NODE_TYPE
from ..errors import DMLError
from ..stored import are_equal, check_unchanged, in_parts, sampled
from ..structures import derive_count, structure

if TYPE_CHECKING:
    import numpy.typing as npt
    from typing_extensions import Buffer


@structure()
@dataclass(frozen=True)
class DML_OPERATOR_GRAPH_NODE_DESC:
    """A node that runs an operator made by `create_operator`."""

    Operator: Any  # an operator of dml.api.operator, a higher layer
    Name: str | None = None


@structure(converted=("Data", "DataSize"))
@dataclass(frozen=True)
class DML_CONSTANT_DATA_GRAPH_NODE_DESC:
    """A node (from feature level 6_2) whose output is the bytes of Data; DataSize is derived, or must agree.

    Data: bytes, a read-only memoryview of bytes that never change, or a buffer, which is copied.
    """

    Data: bytes | memoryview
    DataSize: int = None  # type: ignore[assignment]  # derived in __post_init__
    Name: str | None = None

    if TYPE_CHECKING:

        def __init__(
            self, Data: Buffer | npt.NDArray[Any], DataSize: int | None = ..., Name: str | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        view = self.Data
        is_kept = (
            type(view) is memoryview and view.readonly and view.format == "B" and view.ndim == 1 and view.contiguous
        )
        if type(view) is not bytes and not is_kept:
            try:
                object.__setattr__(self, "Data", bytes(memoryview(self.Data)))
            except TypeError:
                raise DMLError(
                    f"DML_CONSTANT_DATA_GRAPH_NODE_DESC.Data: must be bytes or a buffer, found {self.Data!r}"
                ) from None
        derive_count(self, "DataSize", len(self.Data), "Data")

    @cached_property
    def digest(self) -> bytes:
        """An identifier of the bytes in this process, the same for equal bytes; computed once."""
        if len(self.Data) >= _LARGE:
            return _name_of_large(self)
        return hashlib.sha256(b"".join(map(bytes, in_parts(self.Data, 0, len(self.Data))))).digest()


#: Constants of at least this many bytes are not hashed completely, which would take as long as uploading them.
_LARGE = 1 << 16
#: (size, hash of some bytes) -> large constants that are still alive, and their identifiers.
_names: dict[tuple[int, bytes], list[tuple[weakref.ref[DML_CONSTANT_DATA_GRAPH_NODE_DESC], bytes]]] = {}
_naming = threading.Lock()


def _name_of_large(node: DML_CONSTANT_DATA_GRAPH_NODE_DESC) -> bytes:
    """Return the identifier of an equal constant that is still alive, else a new one."""
    size = len(node.Data)
    key = size, hashlib.sha256(sampled(node.Data, 64, size // 64)).digest()
    with _naming:
        if len(_names) > 4096:
            for unused in [
                size_and_hash
                for size_and_hash, references in _names.items()
                if all(reference() is None for reference, _ in references)
            ]:
                del _names[unused]
        alive = [(reference, name) for reference, name in _names.get(key, ()) if reference() is not None]
        for reference, name in alive:
            if _is_same(reference(), node):
                return name
        name = secrets.token_bytes(32)
        _names[key] = [*alive, (weakref.ref(node), name)]
        return name


def _is_same(other: DML_CONSTANT_DATA_GRAPH_NODE_DESC | None, node: DML_CONSTANT_DATA_GRAPH_NODE_DESC) -> bool:
    """Return whether a named node has the same bytes; False if its file was overwritten, because the name stands for
    the old bytes."""
    if other is None:
        return False
    try:
        return are_equal(other.Data, node.Data)
    except DMLError:
        check_unchanged(node.Data)
        return False


@structure()
@dataclass(frozen=True)
class DML_INPUT_GRAPH_EDGE_DESC:
    """An edge from an input of the graph to an input of a node."""

    GraphInputIndex: int
    ToNodeIndex: int
    ToNodeInputIndex: int
    Name: str | None = None


@structure()
@dataclass(frozen=True)
class DML_OUTPUT_GRAPH_EDGE_DESC:
    """An edge from an output of a node to an output of the graph."""

    FromNodeIndex: int
    FromNodeOutputIndex: int
    GraphOutputIndex: int
    Name: str | None = None


@structure()
@dataclass(frozen=True)
class DML_INTERMEDIATE_GRAPH_EDGE_DESC:
    """An edge from an output of one node to an input of another."""

    FromNodeIndex: int
    FromNodeOutputIndex: int
    ToNodeIndex: int
    ToNodeInputIndex: int
    Name: str | None = None


_NODES: dict[DML_GRAPH_NODE_TYPE, type] = {
    DML_GRAPH_NODE_TYPE.DML_GRAPH_NODE_TYPE_OPERATOR: DML_OPERATOR_GRAPH_NODE_DESC,
    DML_GRAPH_NODE_TYPE.DML_GRAPH_NODE_TYPE_CONSTANT: DML_CONSTANT_DATA_GRAPH_NODE_DESC,
}
_EDGES: dict[DML_GRAPH_EDGE_TYPE, type] = {
    DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_INPUT: DML_INPUT_GRAPH_EDGE_DESC,
    DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_OUTPUT: DML_OUTPUT_GRAPH_EDGE_DESC,
    DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_INTERMEDIATE: DML_INTERMEDIATE_GRAPH_EDGE_DESC,
}
_Node = DML_OPERATOR_GRAPH_NODE_DESC | DML_CONSTANT_DATA_GRAPH_NODE_DESC
_Edge = DML_INPUT_GRAPH_EDGE_DESC | DML_OUTPUT_GRAPH_EDGE_DESC | DML_INTERMEDIATE_GRAPH_EDGE_DESC


@structure()
@dataclass(frozen=True)
class DML_GRAPH_NODE_DESC:
    """A node of a given type; the node itself is accepted wherever this is."""

    Type: DML_GRAPH_NODE_TYPE
    Desc: _Node

    if TYPE_CHECKING:

        def __init__(self, Type: DML_GRAPH_NODE_TYPE | str | int, Desc: _Node) -> None: ...

    def __post_init__(self) -> None:
        _check_type(self, _NODES)


@structure()
@dataclass(frozen=True)
class DML_GRAPH_EDGE_DESC:
    """An edge of a given type; the edge itself is accepted wherever this is."""

    Type: DML_GRAPH_EDGE_TYPE
    Desc: _Edge

    if TYPE_CHECKING:

        def __init__(self, Type: DML_GRAPH_EDGE_TYPE | str | int, Desc: _Edge) -> None: ...

    def __post_init__(self) -> None:
        _check_type(self, _EDGES)


@structure(
    "InputCount", "OutputCount", "NodeCount", "Nodes", "InputEdgeCount", "InputEdges", "OutputEdgeCount", "OutputEdges",
    "IntermediateEdgeCount", "IntermediateEdges",
    converted=("NodeCount", "Nodes", "InputEdgeCount", "InputEdges", "OutputEdgeCount", "OutputEdges",
               "IntermediateEdgeCount", "IntermediateEdges"),
)  # fmt: skip
@dataclass(frozen=True, kw_only=True)
class DML_GRAPH_DESC:
    """A graph: its numbers of inputs and outputs, its nodes, and its edges by kind.

    Edges refer to nodes by index. NodeCount and the edge counts are derived; given ones must agree.

    Fields are given by name, or by position in C's order, with all counts of nodes and edges or without them.
    """

    InputCount: int
    OutputCount: int
    Nodes: tuple[DML_GRAPH_NODE_DESC, ...]
    InputEdges: tuple[DML_GRAPH_EDGE_DESC, ...] = ()
    OutputEdges: tuple[DML_GRAPH_EDGE_DESC, ...]
    IntermediateEdges: tuple[DML_GRAPH_EDGE_DESC, ...] = ()
    NodeCount: int = None  # type: ignore[assignment]  # derived in __post_init__, like the three below
    InputEdgeCount: int = None  # type: ignore[assignment]
    OutputEdgeCount: int = None  # type: ignore[assignment]
    IntermediateEdgeCount: int = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # bare nodes and edges are accepted; fields by name, by position without counts, and as in C

        @overload
        def __init__(
            self,
            InputCount: int,
            OutputCount: int,
            *,
            Nodes: Sequence[DML_GRAPH_NODE_DESC | _Node],
            InputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INPUT_GRAPH_EDGE_DESC] = ...,
            OutputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_OUTPUT_GRAPH_EDGE_DESC],
            IntermediateEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INTERMEDIATE_GRAPH_EDGE_DESC] = ...,
            NodeCount: int | None = ...,
            InputEdgeCount: int | None = ...,
            OutputEdgeCount: int | None = ...,
            IntermediateEdgeCount: int | None = ...,
        ) -> None: ...

        @overload
        def __init__(
            self,
            InputCount: int,
            OutputCount: int,
            Nodes: Sequence[DML_GRAPH_NODE_DESC | _Node],
            InputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INPUT_GRAPH_EDGE_DESC],
            OutputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_OUTPUT_GRAPH_EDGE_DESC],
            IntermediateEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INTERMEDIATE_GRAPH_EDGE_DESC] = ...,
        ) -> None: ...

        @overload
        def __init__(
            self,
            InputCount: int,
            OutputCount: int,
            NodeCount: int | None,
            Nodes: Sequence[DML_GRAPH_NODE_DESC | _Node],
            InputEdgeCount: int | None,
            InputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INPUT_GRAPH_EDGE_DESC],
            OutputEdgeCount: int | None,
            OutputEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_OUTPUT_GRAPH_EDGE_DESC],
            IntermediateEdgeCount: int | None = ...,
            IntermediateEdges: Sequence[DML_GRAPH_EDGE_DESC | DML_INTERMEDIATE_GRAPH_EDGE_DESC] = ...,
        ) -> None: ...

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "Nodes", _wrapped(self, "Nodes", DML_GRAPH_NODE_DESC, _NODES))
        derive_count(self, "NodeCount", len(self.Nodes), "Nodes")
        for kind, edge_type in (
            ("Input", DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_INPUT),
            ("Output", DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_OUTPUT),
            ("Intermediate", DML_GRAPH_EDGE_TYPE.DML_GRAPH_EDGE_TYPE_INTERMEDIATE),
        ):
            edges = _wrapped(self, f"{kind}Edges", DML_GRAPH_EDGE_DESC, {edge_type: _EDGES[edge_type]})
            object.__setattr__(self, f"{kind}Edges", edges)
            derive_count(self, f"{kind}EdgeCount", len(edges), f"{kind}Edges")


def _check_type(desc: Any, kinds: dict[Any, type]) -> None:
    expected = kinds.get(desc.Type)
    if expected is None or not isinstance(desc.Desc, expected):
        wanted = expected.__name__ if expected else " or ".join(kind.name for kind in kinds)
        field = "Desc" if expected else "Type"
        raise DMLError(f"{type(desc).__name__}.{field}: must be {wanted}, found {getattr(desc, field)!r}")


def _wrapped(
    graph: DML_GRAPH_DESC,
    field: str,
    wrapper: type[DML_GRAPH_NODE_DESC] | type[DML_GRAPH_EDGE_DESC],
    kinds: dict[Any, type],
) -> tuple[Any, ...]:
    """Return the field's items, each in a DML_GRAPH_NODE_DESC or DML_GRAPH_EDGE_DESC."""
    items = getattr(graph, field)
    if not isinstance(items, Sequence):
        raise DMLError(f"DML_GRAPH_DESC.{field}: must be a sequence, found {items!r}")
    result = []
    by_class = {desc_class: kind for kind, desc_class in kinds.items()}
    for index, item in enumerate(items):
        if isinstance(item, wrapper) and item.Type in kinds:
            result.append(item)
            continue
        kind = by_class.get(type(item))
        if kind is None:
            kind = next((kind for desc_class, kind in by_class.items() if isinstance(item, desc_class)), None)
        if kind is None:
            names = " or ".join(desc_class.__name__ for desc_class in kinds.values())
            raise DMLError(f"DML_GRAPH_DESC.{field}[{index}]: must be a {names}, found {item!r}")
        wrapped: Any = object.__new__(wrapper)  # planning takes 4 to 11 % longer with the constructor's checks
        wrapped.__dict__.update(Type=kind, Desc=item)
        result.append(wrapped)
    return tuple(result)


__all__ = [
    "DML_CONSTANT_DATA_GRAPH_NODE_DESC", "DML_GRAPH_DESC", "DML_GRAPH_EDGE_DESC", "DML_GRAPH_NODE_DESC",
    "DML_INPUT_GRAPH_EDGE_DESC", "DML_INTERMEDIATE_GRAPH_EDGE_DESC", "DML_OPERATOR_GRAPH_NODE_DESC",
    "DML_OUTPUT_GRAPH_EDGE_DESC",
]  # fmt: skip
