"""Layouts of images and filters: the order of dimensions that DirectML has, and back."""

from __future__ import annotations

from collections.abc import Sequence

from dml.graph.builder import Tensor

#: MLInputOperandLayout.
INPUT_LAYOUTS = ("nchw", "nhwc")


def reordered(shape: Sequence[int], layout: str, wanted: str) -> tuple[int, ...]:
    """The sizes of a layout, in the order of another: reordered(shape, "nhwc", "nchw")."""
    return tuple(shape[layout.index(letter)] for letter in wanted)


def transposed(x: Tensor, layout: str, wanted: str) -> Tensor:
    """The tensor's dimensions in the order of another layout; nothing is computed."""
    return x if layout == wanted else x.transpose(*(layout.index(letter) for letter in wanted))
