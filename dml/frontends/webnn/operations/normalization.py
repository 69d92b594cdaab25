"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.layouts import INPUT_LAYOUTS
from dml.frontends.webnn.operands import MLOperand
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor


class NormalizationOperations(OperationBuilder):
    """``batch_normalization``, ``instance_normalization`` and ``layer_normalization``."""

    @checked
    def batch_normalization(
        self,
        input: MLOperand,
        mean: MLOperand,
        variance: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        axis: int = 1,
        epsilon: float = 1e-5,
        label: str = "",
    ) -> MLOperand:
        """scale * (x - mean) / sqrt(variance + epsilon) + bias; each of the four has one element per index of the
        axis."""
        step = self.step(
            "batch_normalization", label, input=input, mean=mean, variance=variance, scale=scale, bias=bias
        )
        step.same_types(input=input, mean=mean, variance=variance, scale=scale, bias=bias)
        step.finite(epsilon=epsilon)
        step.axis(axis, input)
        for name, operand in (("mean", mean), ("variance", variance), ("scale", scale), ("bias", bias)):
            step.shape_of(name, operand, (input.shape[axis],))

        def lower(x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
            def along(value: Tensor | None, default: float) -> Tensor:
                if value is None:
                    value = x.builder.constant(np.full(x.sizes[axis], default), x.data_type)
                return value.reshape(*(size if index == axis else 1 for index, size in enumerate(x.sizes)))

            return op.batch_normalization(
                x, along(mean, 0), along(variance, 1), along(scale, 1), along(bias, 0), epsilon=epsilon
            )

        return step.output(input.data_type, input.shape, lower)

    @checked
    def instance_normalization(
        self,
        input: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        epsilon: float = 1e-5,
        layout: str = "nchw",
        label: str = "",
    ) -> MLOperand:
        """Normalize each channel of each image, then apply scale and bias, which have one element per channel."""
        step = self.step("instance_normalization", label, input=input, scale=scale, bias=bias)
        step.same_types(input=input, scale=scale, bias=bias)
        step.finite(epsilon=epsilon)
        step.one_of("layout", layout, INPUT_LAYOUTS)
        channel = layout.index("c")
        step.shape_of("scale", scale, (input.shape[channel],))
        step.shape_of("bias", bias, (input.shape[channel],))
        axes = (layout.index("h"), layout.index("w"))

        def lower(x: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
            return _normalize(x, axes, scale, bias, (channel,), epsilon)

        return step.output(input.data_type, input.shape, lower)

    @checked
    def layer_normalization(
        self,
        input: MLOperand,
        *,
        scale: MLOperand | None = None,
        bias: MLOperand | None = None,
        axes: Sequence[int] | None = None,
        epsilon: float = 1e-5,
        label: str = "",
    ) -> MLOperand:
        """Normalize over the axes, by default all but the first, then apply scale and bias.

        scale, bias: a dimension for each axis, in the order of axes.
        """
        step = self.step("layer_normalization", label, input=input, scale=scale, bias=bias)
        step.same_types(input=input, scale=scale, bias=bias)
        step.finite(epsilon=epsilon)
        chosen = tuple(range(1, input.rank)) if axes is None else step.axes(axes, input)
        for name, operand in (("scale", scale), ("bias", bias)):
            step.shape_of(name, operand, [input.shape[axis] for axis in chosen])

        def lower(x: Tensor, scale: Tensor | None, bias: Tensor | None) -> Tensor:
            if not chosen:  # without axes, each element equals its mean
                return x - x if bias is None else op.add(x - x, bias)
            return _normalize(x, chosen, scale, bias, chosen, epsilon)

        return step.output(input.data_type, input.shape, lower)


def _normalize(
    x: Tensor, axes: Sequence[int], scale: Tensor | None, bias: Tensor | None, along: Sequence[int], epsilon: float
) -> Tensor:
    """Normalize over the axes. along: the dimension of x for each dimension of scale and bias."""

    def placed(value: Tensor | None, default: float) -> Tensor | None:
        if scale is None and bias is None:
            return None
        sizes = [size if axis in along else 1 for axis, size in enumerate(x.sizes)]
        if value is None:
            return x.builder.constant(np.full(sizes, default), x.data_type)
        return value.transpose(*(along.index(axis) for axis in sorted(along))).reshape(*sizes)

    return op.mean_variance_normalization(
        x, sorted(axes), scale=placed(scale, 1.0), bias=placed(bias, 0.0), epsilon=epsilon
    )
