"""Convolutions of images."""

from __future__ import annotations

from collections.abc import Sequence

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.layouts import INPUT_LAYOUTS, reordered, transposed
from dml.frontends.webnn.operands import MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor
from dml.shapes import transposed_sizes, window_counts

CONV2D_FILTER_LAYOUTS = ("oihw", "hwio", "ohwi", "ihwo")
CONV_TRANSPOSE2D_FILTER_LAYOUTS = ("iohw", "hwoi", "ohwi")


class ConvolutionOperations(OperationBuilder):
    """``conv2d`` and ``conv_transpose2d``.

    padding is [beginning height, ending height, beginning width, ending width]; strides, dilations, output_padding and
    output_sizes are [height, width].
    """

    @checked
    def conv2d(
        self,
        input: MLOperand,
        filter: MLOperand,
        *,
        padding: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        groups: int = 1,
        input_layout: str = "nchw",
        filter_layout: str = "oihw",
        bias: MLOperand | None = None,
        label: str = "",
    ) -> MLOperand:
        """Cross-correlate an image with a filter; the output has the input's layout."""
        step = self.step("conv2d", label, input=input, filter=filter, bias=bias)
        step.same_types(input=input, filter=filter, bias=bias)
        pad, stride, dilation = step.windows(padding, strides, dilations)
        step.unsigned("groups", [groups], 1)
        step.one_of("input_layout", input_layout, INPUT_LAYOUTS)
        step.one_of("filter_layout", filter_layout, CONV2D_FILTER_LAYOUTS)
        batch, channels, *image = reordered(input.shape, input_layout, "nchw")
        filters, taken, *window = reordered(filter.shape, filter_layout, "oihw")
        step.require(
            channels % groups == 0 and channels // groups == taken and filters % groups == 0,
            f"{groups} groups of {channels} input channels do not fit a filter of {taken} input channels and {filters} "
            "output channels",
        )
        step.shape_of("bias", bias, (filters,))
        out = list(window_counts(image, window, stride, dilation, pad[0::2], pad[1::2]))
        step.require(
            all(map(is_dimension, out)), f"its output would have the height and width {out}: the window does not fit"
        )
        shape = (batch, filters, *out)

        def lower(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
            result = op.convolution(
                transposed(x, input_layout, "nchw"), transposed(w, filter_layout, "oihw"), b, strides=stride,
                dilations=dilation, start_padding=pad[0::2], end_padding=pad[1::2], groups=groups,
            )  # fmt: skip
            return transposed(result, "nchw", input_layout)

        return step.output(input.data_type, reordered(shape, "nchw", input_layout), lower)

    @checked
    def conv_transpose2d(
        self,
        input: MLOperand,
        filter: MLOperand,
        *,
        padding: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        dilations: Sequence[int] | None = None,
        output_padding: Sequence[int] | None = None,
        output_sizes: Sequence[int] | None = None,
        groups: int = 1,
        input_layout: str = "nchw",
        filter_layout: str = "iohw",
        bias: MLOperand | None = None,
        label: str = "",
    ) -> MLOperand:
        """Return the gradient of ``conv2d`` for its input; output_sizes replace output_padding."""
        step = self.step("conv_transpose2d", label, input=input, filter=filter, bias=bias)
        step.same_types(input=input, filter=filter, bias=bias)
        pad, stride, dilation = step.windows(padding, strides, dilations)
        added = step.numbers("output_padding", output_padding, (0, 0))
        step.unsigned("groups", [groups], 1)
        step.one_of("input_layout", input_layout, INPUT_LAYOUTS)
        step.one_of("filter_layout", filter_layout, CONV_TRANSPOSE2D_FILTER_LAYOUTS)
        batch, channels, *image = reordered(input.shape, input_layout, "nchw")
        taken, filters, *window = reordered(filter.shape, filter_layout, "iohw")
        step.require(
            channels == taken, f"the input must have the filter's number of channels, {taken}, found {channels}"
        )
        step.require(is_dimension(filters * groups), f"{groups} groups of {filters} output channels are too many")
        step.shape_of("bias", bias, (filters * groups,))
        sizes = transposed_sizes(
            (batch, channels, *image), (taken, filters, *window), stride, dilation, pad[0::2], pad[1::2]
        )
        whole = list(sizes[2:])
        if output_sizes is not None:
            out = step.numbers("output_sizes", output_sizes, (1, 1), 1)
            added = tuple(wanted - size for wanted, size in zip(out, whole, strict=True))
            step.require(
                all(0 <= a < s for a, s in zip(added, stride, strict=True)),
                f"output_sizes {out} must be at least {whole}, and exceed it by less than the strides {stride}",
            )
        else:
            step.require(
                all(a < s for a, s in zip(added, stride, strict=True)),
                f"output_padding {added} must be less than the strides {stride}",
            )
            out = tuple(size + a for size, a in zip(whole, added, strict=True))
        step.require(
            all(map(is_dimension, out)), f"its output would have the height and width {out}: the padding is too large"
        )
        shape = (batch, filters * groups, *out)

        def lower(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
            result = op.transposed_convolution(
                transposed(x, input_layout, "nchw"), transposed(w, filter_layout, "iohw"), b, strides=stride,
                dilations=dilation, start_padding=pad[0::2], end_padding=pad[1::2], output_padding=added,
                groups=groups,
            )  # fmt: skip
            return transposed(result, "nchw", input_layout)

        return step.output(input.data_type, reordered(shape, "nchw", input_layout), lower)
