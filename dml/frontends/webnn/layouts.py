"""Layouts of images and filters: conversion of shapes and tensors to DirectML's order of dimensions, and back."""

from __future__ import annotations

from collections.abc import Sequence

from dml.graph.builder import Tensor

#: MLInputOperandLayout.
INPUT_LAYOUTS = ("nchw", "nhwc")


def reordered(shape: Sequence[int], layout: str, wanted: str) -> tuple[int, ...]:
    """Return a shape in the order of another layout: reordered(shape, "nhwc", "nchw")."""
    return tuple(shape[layout.index(letter)] for letter in wanted)


def transposed(x: Tensor, layout: str, wanted: str) -> Tensor:
    """Transpose a tensor to another layout; nothing is computed."""
    return x if layout == wanted else x.transpose(*(layout.index(letter) for letter in wanted))
