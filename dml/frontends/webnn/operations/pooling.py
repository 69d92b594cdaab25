"""Pooling of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import dml.graph.operations as op
from dml.frontends.webnn.layouts import INPUT_LAYOUTS, reordered, transposed
from dml.frontends.webnn.operands import MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder, named
from dml.graph.builder import Tensor
from dml.shapes import window_counts

ROUNDINGS = ("floor", "ceil")


def _pooling(name: str, function: Callable[..., Tensor], doc: str) -> Callable[..., MLOperand]:
    def method(
        self: OperationBuilder,
        input: MLOperand,
        *,
        window_dimensions: Sequence[int] | None = None,
        padding: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        layout: str = "nchw",
        output_shape_rounding: str = "floor",
        output_sizes: Sequence[int] | None = None,
        label: str = "",
    ) -> MLOperand:
        step = self.step(name, label, input=input)
        step.one_of("layout", layout, INPUT_LAYOUTS)
        step.one_of("output_shape_rounding", output_shape_rounding, ROUNDINGS)
        batch, channels, *image = reordered(input.shape, layout, "nchw")
        window = step.numbers("window_dimensions", window_dimensions, image, 1)
        pad, stride, dilation = step.windows(padding, strides, dilations)
        windows = (image, window, stride, dilation, pad[0::2], pad[1::2])
        possible = [list(window_counts(*windows, round_up=up)) for up in (False, True)]
        if output_sizes is not None:
            sizes = list(step.numbers("output_sizes", output_sizes, (1, 1), 1))
            step.require(sizes in possible, f"output_sizes must be one of {possible}, found {sizes}")
        else:
            sizes = possible[ROUNDINGS.index(output_shape_rounding)]
        step.require(
            all(possible[0]) and all(map(is_dimension, sizes)),
            f"its output would have the height and width {sizes}: the window {window} does not fit",
        )
        shape = (batch, channels, *sizes)

        def lower(x: Tensor) -> Tensor:
            pooled = function(
                transposed(x, layout, "nchw"),
                window,
                strides=stride,
                start_padding=pad[0::2],
                end_padding=pad[1::2],
                dilations=dilation,
                output_sizes=sizes,
            )
            return transposed(pooled, "nchw", layout)

        return step.output(input.data_type, reordered(shape, "nchw", layout), lower)

    return named(method, name, f"{doc}\n\n{_OPTIONS}")


_OPTIONS = """    window_dimensions, strides, dilations, output_sizes: [height, width]; by default the window is the
    whole image. padding: [beginning height, ending height, beginning width, ending width].
    output_shape_rounding: "floor" or "ceil"; unused where output_sizes are given.
    """


class PoolingOperations(OperationBuilder):
    """``average_pool2d``, ``l2_pool2d`` and ``max_pool2d``."""

    average_pool2d = _pooling("average_pool2d", op.average_pooling, "The mean of each window; padding is not counted.")
    l2_pool2d = _pooling("l2_pool2d", op.lp_pooling, "The square root of the sum of squares of each window.")
    max_pool2d = _pooling("max_pool2d", op.max_pooling, "The maximum of each window.")
