"""GridSample."""

from __future__ import annotations

from dml.frontends.meaning.grid import grid_sampled
from dml.frontends.openvino.convert import IrContext, IrValue, layer


@layer("GridSample")
def grid_sample(c: IrContext) -> IrValue:
    """Sample an image {N, C, H, W} at points {N, rows, columns, 2}: x before y, from -1 to 1."""
    mode, padding = c.layer.text("mode", "bilinear"), c.layer.text("padding_mode", "zeros")
    if mode not in ("nearest", "bilinear", "bicubic") or padding not in ("zeros", "border", "reflection"):
        raise c.error(f"mode {mode!r} with padding_mode {padding!r} is not supported")
    corners = c.layer.flag("align_corners")
    return grid_sampled(c.tensor(0), c.tensor(1), mode.removeprefix("bi"), padding, corners).reshape(*c.sizes)
