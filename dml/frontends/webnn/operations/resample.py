"""Images resized."""

from __future__ import annotations

import math
from collections.abc import Sequence

import dml.graph.operations as op
from dml import enums
from dml.arguments import checked
from dml.frontends.webnn.operands import MLOperand, is_dimension
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor

INTERPOLATION_MODES = {
    "nearest-neighbor": enums.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR,
    "linear": enums.DML_INTERPOLATION_MODE_LINEAR,
}


class ResampleOperations(OperationBuilder):
    """``resample2d``."""

    @checked
    def resample2d(
        self,
        input: MLOperand,
        *,
        mode: str = "nearest-neighbor",
        scales: Sequence[float] | None = None,
        sizes: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        label: str = "",
    ) -> MLOperand:
        """Resize two axes (by default the last two of four) by scales, or to sizes; coordinates are those of pixel
        centres.

        mode: "nearest-neighbor" (the first of two equally near elements) or "linear".
        """
        step = self.step("resample2d", label, input=input)
        step.one_of("mode", mode, tuple(INTERPOLATION_MODES))
        factors = (1.0, 1.0) if scales is None else tuple(scales)
        step.finite(**{f"scales[{index}]": factor for index, factor in enumerate(factors)})
        step.require(len(factors) == 2 and min(factors) > 0, f"scales takes two numbers above 0, found {factors}")
        chosen = step.axes((2, 3) if axes is None else axes, input)
        step.require(len(chosen) == 2, f"axes takes two numbers, found {chosen}")
        shape, scale = list(input.shape), [1.0] * input.rank
        wanted = None if sizes is None else step.numbers("sizes", sizes, (1, 1), 1)
        for index, axis in enumerate(chosen):
            shape[axis] = math.floor(input.shape[axis] * factors[index]) if wanted is None else wanted[index]
            step.require(is_dimension(shape[axis]), f"the dimension {axis} would have the size {shape[axis]}")
            scale[axis] = shape[axis] / input.shape[axis]

        # Nearest element: the coordinate minus one half, rounded up
        offset = 1.0 if mode == "nearest-neighbor" else 0.5

        def lower(x: Tensor) -> Tensor:
            return op.resample(
                x,
                shape,
                INTERPOLATION_MODES[mode],
                rounding_direction=enums.DML_AXIS_DIRECTION_INCREASING,
                scales=scale,
                input_pixel_offsets=(offset,) * input.rank,
                output_pixel_offsets=(-0.5,) * input.rank,
            )

        return step.output(input.data_type, shape, lower)
