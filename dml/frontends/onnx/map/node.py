"""A node while it is mapped, with checked access to its inputs and attributes.

Every fault that a model can have is checked here or in the mapping, and raises a DMLError that names the node, the
input or attribute, and the rule. Any other exception from a mapping is a bug.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import onnx
from onnx import helper

from dml.errors import HRESULT, DMLError
from dml.shapes import checked_axis
from dml.traced import whole

from ..dtypes import Array
from ..load.lenient import names_read
from ..registry import standard
from .value import OnnxValue, constant

if TYPE_CHECKING:
    from .trace import Item, Scope, Trace

_Choice = TypeVar("_Choice")


class Unsupported(DMLError):
    """The model may be valid, but DirectML operators cannot express it.

    nodes: the affected nodes of the mapped graph, each with the reason.
    """

    def __init__(self, message: str, nodes: Sequence[tuple[NodeFacts, str]] = ()) -> None:
        super().__init__(message, HRESULT.DXGI_ERROR_UNSUPPORTED)
        self.nodes = nodes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


class LateCount(Unsupported):
    """The graph must be split after nodes that return a data-dependent number of rows. nodes: these nodes."""


class NodeFacts:
    """A node of a model, read once, since protobuf is slow. Its fields have protobuf's names."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.name: str = raw.name
        self.op_type: str = raw.op_type
        self.domain = standard(raw.domain)
        self.overload: str = getattr(raw, "overload", "")
        self.input: tuple[str, ...] = tuple(raw.input)
        self.output: tuple[str, ...] = tuple(raw.output)
        self.attributes = [
            (entry.name, entry.ref_attr_name, None if entry.ref_attr_name else helper.get_attribute_value(entry))
            for entry in raw.attribute
        ]

    def __str__(self) -> str:
        return f"node {self.name!r} ({self.op_type})" if self.name else f"node {self.op_type}"

    @property
    def label(self) -> str:
        """Short identification: its name, or its first output's."""
        return self.name or next(filter(None, self.output), self.op_type)

    def reads(self) -> set[str]:
        """Return the names that it reads, including those that its nested graphs read."""
        return names_read(self.raw)


class OnnxNode:
    """A node while it is mapped. Methods raise DMLError if the model lacks the requested item."""

    def __init__(self, trace: Trace, proto: NodeFacts, scope: Scope, inputs: list[Item]) -> None:
        self.trace = trace
        self.proto = proto
        self.scope = scope
        self.inputs = inputs
        self.builder = trace.builder
        self.op = proto.op_type
        self.domain = proto.domain
        self.version = scope.version(proto.domain)
        given = {name: scope.attribute(other) if other else value for name, other, value in proto.attributes}
        self.attributes = {name: value for name, value in given.items() if value is not None}

    def __str__(self) -> str:
        return str(self.proto)

    def check(self, holds: bool, rule: str) -> None:
        """Raise DMLError with the rule and the value that was found, unless the rule holds."""
        if not holds:
            raise DMLError(rule)

    def constant(self, array: Any) -> OnnxValue:
        return constant(self.builder, array)

    # Inputs and outputs

    def has(self, index: int) -> bool:
        """Return whether the input is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def input(self, index: int, *, rank: int | None = None, least: int = 0) -> OnnxValue:
        """Return a required tensor input. rank: the required rank; least: the minimum rank."""
        self.check(self.has(index), f"input {index} must be given")
        item = self.inputs[index]
        if not isinstance(item, OnnxValue):
            raise DMLError(f"input {index} must be a tensor")
        self.check(rank in (None, item.rank), f"input {index} must have rank {rank}, found shape {item.shape}")
        self.check(item.rank >= least, f"input {index} must have at least rank {least}, found shape {item.shape}")
        return item

    def optional(self, index: int, *, rank: int | None = None) -> OnnxValue | None:
        """Return an optional input; rank: its required rank."""
        return self.input(index, rank=rank) if self.has(index) else None

    def variadic(self) -> list[OnnxValue]:
        """Return all inputs of a variadic node, at least one."""
        self.check(bool(self.inputs), "at least one input must be given")
        return [self.input(index) for index in range(len(self.inputs))]

    def wants(self, index: int) -> bool:
        """Return whether the node names the output."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def writes_in_place(self, shared: Mapping[int, int]) -> bool:
        """Return whether each of these inputs shares its memory with its output.

        If so, the node must write the outputs in place and not read the inputs.
        """
        trace, inputs, outputs = self.trace, self.proto.input, self.proto.output
        if trace.depth != 1 or max(shared) >= len(inputs) or max(shared.values()) >= len(outputs):
            return False
        if any(trace.shared.get(outputs[to]) != inputs[index] for index, to in shared.items()):
            return False
        trace.in_place.update(outputs[to] for to in shared.values())
        return True

    # Numbers in constant inputs

    def known(self, index: int) -> Array | None:
        """Return the constant numbers of an input; None if it is absent."""
        return self.trace.known(self.input(index)) if self.has(index) else None

    def numbers(self, index: int) -> Array:
        """Return the constant numbers of a required input, flattened."""
        return self.trace.known(self.input(index)).reshape(-1)

    def single(self, index: int) -> Any:
        """Return the number in a required input of one element."""
        shape = self.input(index).shape
        found = self.numbers(index)
        self.check(found.size == 1, f"input {index} must hold one number, found shape {shape}")
        return found.tolist()[0]

    def decided(self, index: int, of: Callable[[Array], Any]) -> Any:
        """Return ``of(numbers)`` of an input. The plan stays valid for numbers with the same result."""
        return self.trace.decided(self.input(index), of)

    def limit(self, index: int, most: int, more: int, rule: str) -> None:
        """Raise DMLError if a number in an input plus ``more`` exceeds ``most``; the check is repeated in each run."""
        if self.has(index):
            self.trace.limit(self.input(index), most, more, rule, str(self))

    def is_late(self, value: OnnxValue) -> bool:
        """Return whether the node returns ``LateRows``, because the row count depends on ``value``; the graph is then
        split after it.

        Raises LateCount if the graph could be split there but is not yet. No split is possible inside other nodes, or
        for a count that depends on no input: the count must then be known when the graph is built.
        """
        if self.proto in self.trace.late:
            return True
        self.trace.is_repeatable = False
        if self.trace.may_cut and self.trace.depth == 1 and self.builder.depends_on_inputs(value.tensor):
            raise LateCount("its number of rows depends on the values of its input")
        return False

    # Attributes

    def required(self, name: str) -> Any:
        """Return an attribute that must be given."""
        self.check(name in self.attributes, f"attribute {name!r} must be given")
        return self.attributes[name]

    def ints(self, name: str, index: int | None = None) -> list[int] | None:
        """Return integers from an attribute or, in newer versions, an input; None if neither is given."""
        if name in self.attributes:
            given = self.attributes[name]
            is_whole = isinstance(given, list) and all(isinstance(item, int) for item in given)
            self.check(is_whole, f"attribute {name!r} must be integers, found {given!r}")
            return list(given)
        found = None if index is None else self.known(index)
        return None if found is None else [whole(item) for item in found.reshape(-1)]

    def each(self, name: str, count: int, default: int) -> list[int]:
        """Return an attribute of ``count`` integers, for example one per dimension; by default all are ``default``."""
        found = self.ints(name) or [default] * count
        self.check(len(found) == count, f"attribute {name!r} must have {count} items, found {found}")
        return found

    def attribute_protos(self) -> list[Any]:
        """Return the attributes; references to those of the enclosing function are resolved."""
        kinds = {name: onnx.AttributeProto.INTS for name, value in self.attributes.items() if value == []}
        return [helper.make_attribute(*item, attr_type=kinds.get(item[0])) for item in self.attributes.items()]

    def integer(self, name: str, default: int, *, least: int | None = None, most: int | None = None) -> int:
        """Return an integer attribute, checked against the bounds."""
        value = self.attributes.get(name, default)
        self.check(isinstance(value, int), f"attribute {name!r} must be an integer, found {value!r}")
        self.check(least is None or value >= least, f"attribute {name!r} must be at least {least}, found {value}")
        self.check(most is None or value <= most, f"attribute {name!r} must be at most {most}, found {value}")
        return int(value)

    def number(self, name: str, default: float) -> float:
        value = self.attributes.get(name, default)
        self.check(isinstance(value, int | float), f"attribute {name!r} must be a number, found {value!r}")
        return float(value)

    def text(self, name: str, default: str) -> str:
        value = self.attributes.get(name, default)
        self.check(isinstance(value, bytes | str), f"attribute {name!r} must be text, found {value!r}")
        return value.decode(errors="replace") if isinstance(value, bytes) else str(value)

    def one_of(self, name: str, default: str, choices: Collection[str]) -> str:
        """Return a text attribute that must be one of the choices."""
        found = self.text(name, default)
        self.check(found in choices, f"attribute {name!r} must be one of {', '.join(choices)}, found {found!r}")
        return found

    def choice(self, name: str, default: str, choices: Mapping[str, _Choice]) -> _Choice:
        """Return the choice that a text attribute names."""
        return choices[self.one_of(name, default, choices)]

    def axis(self, name: str, default: int, rank: int) -> int:
        """Return an axis attribute as a nonnegative axis."""
        return checked_axis(self.integer(name, default), rank)


def noted(error: Exception, note: str) -> None:
    """Add a note to an exception, shown in tracebacks from Python 3.11 on."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), note]
