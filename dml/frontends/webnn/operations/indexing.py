"""Elements gathered and scattered by indices; a negative index counts from the end."""

from __future__ import annotations

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.operands import MLOperand
from dml.frontends.webnn.steps import OperationBuilder, OperationStep
from dml.shapes import replaced, with_size


class IndexingOperations(OperationBuilder):
    """The specification's ``gather`` and ``scatter`` operations."""

    @checked
    def gather(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """Return slices of the input along the axis; the indices' dimensions replace the axis."""
        step = self.step("gather", label, input=input, indices=indices)
        step.axis(axis, input)
        shape = replaced(input.shape, axis, indices.shape)
        return step.output(input.data_type, shape, lambda x, i: op.gather(x, i, axis))

    @checked
    def gather_elements(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """Return the element at each index along the axis; its other coordinates are those of the index."""
        step = self.step("gather_elements", label, input=input, indices=indices)
        _one_axis(step, input, indices, axis)
        return step.output(input.data_type, indices.shape, lambda x, i: op.gather_elements(x, i, axis))

    @checked
    def gather_nd(self, input: MLOperand, indices: MLOperand, *, label: str = "") -> MLOperand:
        """Return parts of the input; the last dimension of the indices holds the parts' leading coordinates."""
        step = self.step("gather_nd", label, input=input, indices=indices)
        return step.output(input.data_type, _parts(step, input, indices), op.gather_nd)

    @checked
    def scatter_elements(
        self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, axis: int = 0, label: str = ""
    ) -> MLOperand:
        """Return the input with each update at its index along the axis; its other coordinates are the update's own."""
        step = self.step("scatter_elements", label, input=input, indices=indices, updates=updates)
        step.same_types(input=input, updates=updates)
        _one_axis(step, input, indices, axis)
        step.shape_of("updates", updates, indices.shape)
        return step.output(input.data_type, input.shape, lambda x, i, new: op.scatter_elements(x, i, new, axis))

    @checked
    def scatter_nd(self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, label: str = "") -> MLOperand:
        """Return the input with parts replaced; the last dimension of the indices holds the parts' leading
        coordinates."""
        step = self.step("scatter_nd", label, input=input, indices=indices, updates=updates)
        step.same_types(input=input, updates=updates)
        step.shape_of("updates", updates, _parts(step, input, indices))
        return step.output(input.data_type, input.shape, op.scatter_nd)


def _one_axis(step: OperationStep, input: MLOperand, indices: MLOperand, axis: int) -> None:
    """Raise DMLError for indices whose shape differs from the input's along other axes."""
    step.axis(axis, input)
    step.require(indices.rank == input.rank, f"indices must have {input.rank} dimensions, found {indices.shape}")
    step.shape_of("indices", indices, with_size(input.shape, axis, indices.shape[axis]))


def _parts(step: OperationStep, input: MLOperand, indices: MLOperand) -> tuple[int, ...]:
    """Return the shape of the parts that the indices select."""
    *places, coordinates = indices.shape
    step.require(
        coordinates <= input.rank,
        f"indices of shape {indices.shape} have more coordinates than the input {input.shape} has dimensions",
    )
    return (*places, *input.shape[coordinates:])
