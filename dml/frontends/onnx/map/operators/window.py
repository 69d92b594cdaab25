"""Sliding windows of convolutions and pooling: strides, dilations, padding and the output's sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dml.errors import DMLError
from dml.shapes import same_paddings, window_counts, window_reach

from ..node import OnnxNode


@dataclass
class Window:
    """A window, with one item per spatial dimension. reaches_beyond: windows may reach beyond the end padding."""

    size: list[int]
    strides: list[int]
    dilations: list[int]
    start: list[int]
    end: list[int]
    output: list[int]
    reaches_beyond: bool


def auto_pad(node: OnnxNode) -> str:
    """Return auto_pad; NOTSET if it is absent or empty (some exporters write an empty string)."""
    choices = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    return node.one_of("auto_pad", "NOTSET", choices) if node.text("auto_pad", "") else "NOTSET"


def window_of(node: OnnxNode, spatial: Sequence[int], kernel: Sequence[int] = ()) -> Window:
    """Return the window of a node over spatial sizes, with auto_pad and ceil_mode resolved.

    kernel: a convolution's. A window larger than the padded elements is refused for convolutions; when pooling, its
    output size rounds towards zero, as in onnxruntime: one window if it is less than a stride too large.
    """
    rank = len(spatial)
    strides = node.ints("strides") or [1] * rank
    dilations = node.ints("dilations") or [1] * rank
    pads = node.ints("pads") or [0] * (2 * rank)
    size = list(node.ints("kernel_shape") or kernel)
    if not len(size) == len(strides) == len(dilations) == rank or len(pads) != 2 * rank:
        raise DMLError(f"kernel_shape, strides, dilations and pads must fit {rank} spatial dimensions")
    if any(item < 1 for item in (*size, *strides, *dilations)) or any(pad < 0 for pad in pads):
        raise DMLError("kernel_shape, strides and dilations must be positive, pads not negative")
    reach = [window_reach(k, d) for k, d in zip(size, dilations, strict=True)]
    auto = auto_pad(node)
    start, end = pads[:rank], pads[rank:]
    if auto.startswith("SAME"):
        start, end = map(list, same_paddings(spatial, reach, strides, more_at_start=auto == "SAME_LOWER"))
    elif auto == "VALID":
        start, end = [0] * rank, [0] * rank
    beyond = node.integer("ceil_mode", 0) != 0
    output = list(window_counts(spatial, size, strides, dilations, start, end, round_up=beyond, starts_inside=True))
    for index in range(rank):
        missing = reach[index] - (spatial[index] + start[index] + end[index])
        if missing > 0:
            beyond, output[index] = True, 1 - missing // strides[index]
            if kernel or output[index] < 0:
                raise DMLError(f"a window of {reach[index]} does not fit {spatial[index]} elements and their padding")
    return Window(size, strides, dilations, start, end, output, beyond)
