"""What all operations of MLGraphBuilder share: the checks of their operands, and the making of their outputs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NoReturn, Protocol

import numpy as np

from dml.errors import HRESULT, DMLError
from dml.frontends.webnn.limits import MLTensorLimits
from dml.frontends.webnn.operands import (
    LARGEST_DIMENSION,
    Lowering,
    MLOperand,
    MLOperandDescriptor,
    OperationRecord,
)


class ContextLike(Protocol):
    """What a builder needs of its context."""

    @property
    def is_lost(self) -> bool: ...

    def limits(self, operation: str) -> dict[str, MLTensorLimits]: ...


class OperationStep:
    """One call of an operation: it knows the operation's name, label and operands, checks, and makes outputs."""

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
        """More inputs: a sequence of operands."""
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
        """Raise the DMLError, with the caller's label first where there is one."""
        raise DMLError(f"{f'[{self.label}] ' if self.label else ''}{self.name}: {what}")

    def require(self, condition: bool, rule: str) -> None:
        if not condition:
            self.fail(rule)

    def same_types(self, **operands: MLOperand | None) -> None:
        """Refuse operands of different data types."""
        given = {field: operand for field, operand in operands.items() if operand is not None}
        if len({operand.data_type for operand in given.values()}) > 1:
            found = ", ".join(f"{field} {operand.data_type}" for field, operand in given.items())
            self.fail(f"its operands must have one data type, found {found}")

    def shape_of(self, field: str, operand: MLOperand | None, wanted: Sequence[int]) -> None:
        """Refuse an operand (where given) of another shape."""
        if operand is not None and operand.shape != tuple(wanted):
            self.fail(f"{field} must have the shape {tuple(wanted)}, found {operand.shape}")

    def axis(self, axis: int, operand: MLOperand, field: str = "axis") -> int:
        """The axis, where the operand has it."""
        self.require(
            0 <= axis < operand.rank, f"{field} must be a dimension of the shape {operand.shape}, found {axis}"
        )
        return axis

    def axes(self, axes: Iterable[int], operand: MLOperand, field: str = "axes") -> tuple[int, ...]:
        """Distinct axes of the operand."""
        chosen = tuple(axes)
        self.require(len(set(chosen)) == len(chosen), f"{field} must differ from each other, found {chosen}")
        return tuple(self.axis(axis, operand, field) for axis in chosen)

    def numbers(
        self, field: str, given: Sequence[int] | None, default: Sequence[int], lowest: int = 0
    ) -> tuple[int, ...]:
        """An option of as many unsigned numbers as its default has."""
        values = tuple(default if given is None else given)
        self.require(len(values) == len(default), f"{field} takes {len(default)} numbers, found {values}")
        return self.unsigned(field, values, lowest)

    def unsigned(self, field: str, values: Iterable[int], lowest: int = 0) -> tuple[int, ...]:
        """Numbers of WebIDL's `unsigned long`."""
        found = tuple(values)
        self.require(
            all(lowest <= value <= LARGEST_DIMENSION for value in found),
            f"{field} must be from {lowest} to {LARGEST_DIMENSION}, found {found}",
        )
        return found

    def finite(self, **values: float) -> None:
        """Refuse what WebIDL's `double` does not take."""
        for field, value in values.items():
            self.require(math.isfinite(value), f"{field} must be a finite number, found {value}")

    def one_of(self, field: str, value: str, allowed: Sequence[str]) -> str:
        self.require(value in allowed, f"{field} must be one of {', '.join(allowed)}, found {value!r}")
        return value

    def broadcast(self, a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
        """The shape that both broadcast to."""
        try:
            return np.broadcast_shapes(tuple(a), tuple(b))
        except ValueError:
            self.fail(f"the shapes {tuple(a)} and {tuple(b)} do not broadcast to each other")

    def require_broadcast(self, field: str, shape: Sequence[int], wanted: Sequence[int]) -> None:
        """Refuse a shape that does not broadcast to the wanted one, which stays as it is."""
        if self.broadcast(shape, wanted) != tuple(wanted):
            self.fail(f"{field}: the shape {tuple(shape)} does not broadcast to {tuple(wanted)}")

    def output(self, data_type: str, shape: Iterable[int], lower: Lowering) -> MLOperand:
        """The operation's one output."""
        return self.outputs(data_type, [shape], lower)[0]

    def outputs(self, data_type: str, shapes: Sequence[Iterable[int]], lower: Lowering) -> list[MLOperand]:
        """Outputs of one data type. Raises DMLError where one would be no tensor."""
        descriptors = [MLOperandDescriptor(data_type, tuple(shape)) for shape in shapes]
        for descriptor in descriptors:
            fault = descriptor.fault()
            if fault is not None:
                self.fail(f"its output: {fault}")
        made = OperationRecord(self.name, tuple(self._inputs), lower)
        return [MLOperand(self._builder, one, made, index) for index, one in enumerate(descriptors)]


class OperationBuilder:
    """The part of MLGraphBuilder that operations are methods of."""

    def __init_subclass__(cls) -> None:
        """Messages name the methods of MLGraphBuilder, whichever family they are of."""
        super().__init_subclass__()
        for name, method in vars(cls).items():
            if hasattr(method, "__wrapped__"):
                method.__wrapped__.__qualname__ = f"MLGraphBuilder.{name}"

    def __init__(self, context: ContextLike) -> None:
        self.context = context
        self._built = False

    def require_open(self, what: str) -> None:
        """Raise DMLError (DXGI_ERROR_INVALID_CALL) after ``build``, and where the context is lost."""
        if self._built or self.context.is_lost:
            why = "the context is lost" if self.context.is_lost else "this builder has built its graph"
            raise DMLError(f"MLGraphBuilder.{what}: {why}", HRESULT.DXGI_ERROR_INVALID_CALL)

    def step(self, name: str, label: str, /, **operands: MLOperand | None) -> OperationStep:
        """Begin an operation on these operands; None for one that is left out.

        Raises DMLError for operands of another builder, or of data types or ranks that are not supported.
        """
        self.require_open(name)
        return OperationStep(self, name, label, operands)
