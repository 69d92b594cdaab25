"""Elements gathered and scattered by their indices; an index counts from the end where it is negative."""

from __future__ import annotations

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.operands import MLOperand
from dml.frontends.webnn.steps import OperationBuilder, OperationStep


class IndexingOperations(OperationBuilder):
    """``gather`` and ``scatter`` in the specification's kinds."""

    @checked
    def gather(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """Slices of the input along the axis, which becomes the indices' dimensions."""
        step = self.step("gather", label, input=input, indices=indices)
        step.axis(axis, input)
        shape = (*input.shape[:axis], *indices.shape, *input.shape[axis + 1 :])
        return step.output(input.data_type, shape, lambda x, at: op.gather(x, at, axis))

    @checked
    def gather_elements(self, input: MLOperand, indices: MLOperand, *, axis: int = 0, label: str = "") -> MLOperand:
        """For each index the element at it along the axis, and at the index's own place otherwise."""
        step = self.step("gather_elements", label, input=input, indices=indices)
        _one_axis(step, input, indices, axis)
        return step.output(input.data_type, indices.shape, lambda x, at: op.gather_elements(x, at, axis))

    @checked
    def gather_nd(self, input: MLOperand, indices: MLOperand, *, label: str = "") -> MLOperand:
        """The parts of the input whose leading coordinates are the indices' last dimension."""
        step = self.step("gather_nd", label, input=input, indices=indices)
        return step.output(input.data_type, _parts(step, input, indices), op.gather_nd)

    @checked
    def scatter_elements(
        self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, axis: int = 0, label: str = ""
    ) -> MLOperand:
        """The input with each update at its index along the axis, and at its own place otherwise."""
        step = self.step("scatter_elements", label, input=input, indices=indices, updates=updates)
        step.same_types(input=input, updates=updates)
        _one_axis(step, input, indices, axis)
        step.shape_of("updates", updates, indices.shape)
        return step.output(input.data_type, input.shape, lambda x, at, new: op.scatter_elements(x, at, new, axis))

    @checked
    def scatter_nd(self, input: MLOperand, indices: MLOperand, updates: MLOperand, *, label: str = "") -> MLOperand:
        """The input with the parts replaced whose leading coordinates are the indices' last dimension."""
        step = self.step("scatter_nd", label, input=input, indices=indices, updates=updates)
        step.same_types(input=input, updates=updates)
        step.shape_of("updates", updates, _parts(step, input, indices))
        return step.output(input.data_type, input.shape, op.scatter_nd)


def _one_axis(step: OperationStep, input: MLOperand, indices: MLOperand, axis: int) -> None:
    """Refuse indices whose shape is not the input's but along the axis."""
    step.axis(axis, input)
    step.require(indices.rank == input.rank, f"indices must have {input.rank} dimensions, found {indices.shape}")
    step.shape_of("indices", indices, (*input.shape[:axis], indices.shape[axis], *input.shape[axis + 1 :]))


def _parts(step: OperationStep, input: MLOperand, indices: MLOperand) -> tuple[int, ...]:
    """The shape of the parts that coordinates pick."""
    *places, coordinates = indices.shape
    step.require(
        coordinates <= input.rank,
        f"indices of the shape {indices.shape} have more coordinates than the input, {input.shape}, dimensions",
    )
    return (*places, *input.shape[coordinates:])
