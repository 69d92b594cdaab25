"""Checks of operands and creation of outputs, shared by all operations of MLGraphBuilder."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

import numpy as np

from dml.arguments import checked
from dml.enums.naming import attribute_error, did_you_mean
from dml.errors import HRESULT, DMLError
from dml.frontends.webnn.limits import MLTensorLimits
from dml.frontends.webnn.operands import LARGEST_DIMENSION, Lowering, MLOperand, MLOperandDescriptor, OperationRecord


class ContextLike(Protocol):
    """The part of a context that a builder uses."""

    @property
    def is_lost(self) -> bool: ...

    def limits(self, operation: str) -> dict[str, MLTensorLimits]: ...


class OperationStep:
    """One call of an operation, with its name, label and operands: checks them and creates the outputs."""

    def __init__(self, builder: OperationBuilder, name: str, label: str, operands: dict[str, MLOperand | None]) -> None:
        self.name, self.label = name, label
        self._builder = builder
        self._inputs: list[MLOperand | None] = []
        limits = builder.context.limits(name)
        for field, operand in operands.items():
            self._inputs.append(operand)
            if operand is not None:
                self._check(field, operand, limits[field])

    def add(self, field: str, operands: Sequence[MLOperand]) -> None:
        """Add inputs given as a sequence of operands."""
        limits = self._builder.context.limits(self.name)[field]
        for index, operand in enumerate(operands):
            self._check(f"{field}[{index}]", operand, limits)
            self._inputs.append(operand)

    def _check(self, field: str, operand: MLOperand, limits: MLTensorLimits) -> None:
        if operand.builder is not self._builder:
            self.fail(f"{field} belongs to another builder")
        self.require(
            operand.data_type in limits.data_types,
            f"{field} must be {' or '.join(limits.data_types)}, found {operand.data_type}",
        )
        lowest, highest = limits.rank_range.min, limits.rank_range.max
        self.require(
            lowest <= operand.rank <= highest,
            f"{field} must have {lowest} to {highest} dimensions, found the shape {operand.shape}",
        )

    def fail(self, what: str) -> NoReturn:
        """Raise a DMLError that begins with the caller's label, if there is one."""
        raise DMLError(f"{f'[{self.label}] ' if self.label else ''}{self.name}: {what}")

    def require(self, condition: bool, rule: str) -> None:
        if not condition:
            self.fail(rule)

    def same_types(self, **operands: MLOperand | None) -> None:
        """Raise DMLError for operands of different data types."""
        given = {field: operand for field, operand in operands.items() if operand is not None}
        if len({operand.data_type for operand in given.values()}) > 1:
            found = ", ".join(f"{field} {operand.data_type}" for field, operand in given.items())
            self.fail(f"its operands must have one data type, found {found}")

    def shape_of(self, field: str, operand: MLOperand | None, wanted: Sequence[int]) -> None:
        """Raise DMLError if an operand is given and has another shape."""
        if operand is not None and operand.shape != tuple(wanted):
            self.fail(f"{field} must have the shape {tuple(wanted)}, found {operand.shape}")

    def axis(self, axis: int, operand: MLOperand, field: str = "axis") -> int:
        """Return the axis. Raises DMLError if the operand has no such dimension."""
        self.require(
            0 <= axis < operand.rank, f"{field} must be a dimension of the shape {operand.shape}, found {axis}"
        )
        return axis

    def axes(self, axes: Iterable[int], operand: MLOperand, field: str = "axes") -> tuple[int, ...]:
        """Return axes of the operand. Raises DMLError for a repeated axis."""
        chosen = tuple(axes)
        self.require(len(set(chosen)) == len(chosen), f"{field} must not repeat, found {chosen}")
        return tuple(self.axis(axis, operand, field) for axis in chosen)

    def numbers(
        self, field: str, given: Sequence[int] | None, default: Sequence[int], lowest: int = 0
    ) -> tuple[int, ...]:
        """Return a list option as unsigned numbers: ``given``, which must be as long as ``default``, or the default."""
        values = tuple(default if given is None else given)
        self.require(len(values) == len(default), f"{field} takes {len(default)} numbers, found {values}")
        return self.unsigned(field, values, lowest)

    def windows(
        self, padding: Sequence[int] | None, strides: Sequence[int] | None, dilations: Sequence[int] | None
    ) -> tuple[tuple[int, ...], ...]:
        """Return the options of windows over an image, by default no padding, and steps of one."""
        pad = self.numbers("padding", padding, (0, 0, 0, 0))
        return pad, self.numbers("strides", strides, (1, 1), 1), self.numbers("dilations", dilations, (1, 1), 1)

    def unsigned(self, field: str, values: Iterable[int], lowest: int = 0) -> tuple[int, ...]:
        """Return numbers in the range of WebIDL's `unsigned long`. Raises DMLError for others."""
        found = tuple(values)
        self.require(
            all(lowest <= value <= LARGEST_DIMENSION for value in found),
            f"{field} must be from {lowest} to {LARGEST_DIMENSION}, found {found}",
        )
        return found

    def finite(self, **values: float) -> None:
        """Raise DMLError for values that WebIDL's `double` does not allow: infinities and NaN."""
        for field, value in values.items():
            self.require(math.isfinite(value), f"{field} must be a finite number, found {value}")

    def one_of(self, field: str, value: str, allowed: Sequence[str]) -> str:
        self.require(value in allowed, f"{field} must be one of {', '.join(allowed)}, found {value!r}")
        return value

    def broadcast(self, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
        """Return the shape that both broadcast to."""
        try:
            return np.broadcast_shapes(tuple(a), tuple(b))
        except ValueError:
            self.fail(f"the shapes {tuple(a)} and {tuple(b)} do not broadcast to each other")

    def require_broadcast(self, field: str, shape: Sequence[int], wanted: Sequence[int]) -> None:
        """Raise DMLError for a shape that does not broadcast to ``wanted``."""
        if self.broadcast(shape, wanted) != tuple(wanted):
            self.fail(f"{field}: the shape {tuple(shape)} does not broadcast to {tuple(wanted)}")

    def output(self, data_type: str, shape: Iterable[int], lower: Lowering) -> MLOperand:
        """Return the operation's only output."""
        return self.outputs(data_type, [shape], lower)[0]

    def outputs(self, data_type: str, shapes: Sequence[Iterable[int]], lower: Lowering) -> list[MLOperand]:
        """Return outputs of one data type. Raises DMLError if one would not be a valid tensor."""
        descriptors = [MLOperandDescriptor(data_type, tuple(shape)) for shape in shapes]
        for descriptor in descriptors:
            fault = descriptor.fault()
            if fault is not None:
                self.fail(f"its output: {fault}")
        record = OperationRecord(self.name, tuple(self._inputs), lower)
        return [MLOperand(self._builder, one, record, index) for index, one in enumerate(descriptors)]


def named(method: Callable[..., MLOperand], name: str, doc: str) -> Callable[..., MLOperand]:
    """Return a method of MLGraphBuilder that a function made."""
    method.__name__, method.__qualname__, method.__doc__ = name, f"MLGraphBuilder.{name}", doc
    return checked(method)


class NamedInSnakeCase:
    """An interface of the specification; errors about unknown names suggest the name here (conv2d for conv2D)."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            known = [known_name for known_name in dir(type(self)) if known_name[0] != "_"]
            hint = did_you_mean("dispatch" if name == "compute" else name, known)
            raise attribute_error(f"{type(self).__name__!r} object has no attribute {name!r}", hint, name, self)


class OperationBuilder(NamedInSnakeCase):
    """Base class of the classes that define MLGraphBuilder's operations."""

    def __init_subclass__(cls) -> None:
        """Name the methods MLGraphBuilder.*, so that messages do not name the class of their family."""
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if hasattr(method, "__wrapped__"):
                method.__wrapped__.__qualname__ = f"MLGraphBuilder.{name}"

    def __init__(self, context: ContextLike) -> None:
        self.context = context
        self._built = False

    def require_open(self, what: str) -> None:
        """Raise DMLError (DXGI_ERROR_INVALID_CALL) after ``build``, and if the context is lost."""
        if self._built or self.context.is_lost:
            why = "the context is lost" if self.context.is_lost else "this builder has built its graph"
            raise DMLError(f"MLGraphBuilder.{what}: {why}", HRESULT.DXGI_ERROR_INVALID_CALL)

    def step(self, name: str, label: str, /, **operands: MLOperand | None) -> OperationStep:
        """Begin an operation on these operands; None for an optional one that is absent.

        Raises DMLError for operands of another builder, and for unsupported data types or ranks.
        """
        self.require_open(name)
        return OperationStep(self, name, label, operands)
