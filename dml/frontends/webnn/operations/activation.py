"""Activations."""

from __future__ import annotations

from functools import partial

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.operands import MLOperand
from dml.frontends.webnn.operations.elementwise import unary
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor


class ActivationOperations(OperationBuilder):
    """The specification's activations."""

    gelu = unary("gelu", op.gelu, "x times the cumulative normal distribution at x.")
    hard_swish = unary("hard_swish", partial(op.hard_swish, alpha=1 / 6, beta=0.5), "x * clamp(x + 3, 0, 6) / 6.")
    relu = unary("relu", op.relu, "x where it is positive, 0 elsewhere.")
    sigmoid = unary("sigmoid", op.sigmoid, "1 / (1 + exp(-x)).")
    softplus = unary("softplus", op.softplus, "log(1 + exp(x)).")
    softsign = unary("softsign", op.softsign, "x / (1 + |x|).")
    tanh = unary("tanh", op.tanh, "The hyperbolic tangent.")

    @checked
    def elu(self, input: MLOperand, *, alpha: float = 1.0, label: str = "") -> MLOperand:
        """x where it is positive, alpha * (exp(x) - 1) elsewhere."""
        step = self.step("elu", label, input=input)
        step.finite(alpha=alpha)
        return step.output(input.data_type, input.shape, lambda x: op.elu(x, alpha=alpha))

    @checked
    def hard_sigmoid(self, input: MLOperand, *, alpha: float = 0.2, beta: float = 0.5, label: str = "") -> MLOperand:
        """clamp(alpha * x + beta, 0, 1)."""
        step = self.step("hard_sigmoid", label, input=input)
        step.finite(alpha=alpha, beta=beta)
        return step.output(input.data_type, input.shape, lambda x: op.hard_sigmoid(x, alpha=alpha, beta=beta))

    @checked
    def leaky_relu(self, input: MLOperand, *, alpha: float = 0.01, label: str = "") -> MLOperand:
        """x where it is positive, alpha * x elsewhere."""
        step = self.step("leaky_relu", label, input=input)
        step.finite(alpha=alpha)
        return step.output(input.data_type, input.shape, lambda x: op.leaky_relu(x, alpha=alpha))

    @checked
    def linear(self, input: MLOperand, *, alpha: float = 1.0, beta: float = 0.0, label: str = "") -> MLOperand:
        """alpha * x + beta."""
        step = self.step("linear", label, input=input)
        step.finite(alpha=alpha, beta=beta)
        return step.output(input.data_type, input.shape, lambda x: op.linear(x, alpha=alpha, beta=beta))

    @checked
    def prelu(self, input: MLOperand, slope: MLOperand, *, label: str = "") -> MLOperand:
        """x where it is positive, slope * x elsewhere; the two broadcast to each other."""
        step = self.step("prelu", label, input=input, slope=slope)
        step.same_types(input=input, slope=slope)
        shape = step.broadcast(input.shape, slope.shape)

        def lower(x: Tensor, slopes: Tensor) -> Tensor:
            return op.parameterized_relu(x.broadcast(shape or (1,)), slopes)

        return step.output(input.data_type, shape, lower)

    @checked
    def softmax(self, input: MLOperand, axis: int, *, label: str = "") -> MLOperand:
        """exp(x) divided by its sum along the axis."""
        step = self.step("softmax", label, input=input)
        step.axis(axis, input)
        return step.output(input.data_type, input.shape, lambda x: op.softmax(x, axes=(axis,)))
