"""Rules of the pooling operators and of the regions of interest."""

from __future__ import annotations

from typing import Any

from ..descriptors import (
    DML_AVERAGE_POOLING1_OPERATOR_DESC,
    DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC,
    DML_AVERAGE_POOLING_OPERATOR_DESC,
    DML_LP_POOLING1_OPERATOR_DESC,
    DML_LP_POOLING_OPERATOR_DESC,
    DML_MAX_POOLING1_OPERATOR_DESC,
    DML_MAX_POOLING2_OPERATOR_DESC,
    DML_MAX_POOLING_GRAD_OPERATOR_DESC,
    DML_MAX_POOLING_OPERATOR_DESC,
    DML_MAX_UNPOOLING_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC,
)
from .base import Check, rule

_UINT_MAX = 2**32 - 1
_ARRAYS = ("Strides", "WindowSize", "StartPadding", "EndPadding", "Dilations")


def pooled_sizes(desc: Any, check: Check, sizes: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes that pooling a tensor of `sizes` gives, once the window's arrays are checked.

    A window with dilations reaches over Dilations * (WindowSize - 1) + 1 elements: the pages' formula leaves that out.
    """
    spatial = len(sizes) - 2
    for field in _ARRAYS:
        if hasattr(desc, field):
            check.length(field, spatial, why="one per spatial dimension")
            if field not in ("StartPadding", "EndPadding"):
                check.at_least(field, 1)
    dilations = getattr(desc, "Dilations", (1,) * spatial)
    pooled = []
    for axis, size in enumerate(sizes[2:]):
        padded = size + desc.StartPadding[axis] + desc.EndPadding[axis]
        reach = dilations[axis] * (desc.WindowSize[axis] - 1) + 1
        check.that(padded <= _UINT_MAX, "StartPadding", f"must leave a padded size of at most {_UINT_MAX}", padded)
        check.that(
            reach <= padded, "WindowSize",
            f"must reach over at most {padded} elements, the padded size of spatial dimension {axis}", reach,
        )  # fmt: skip
        pooled.append((padded - reach) // desc.Strides[axis] + 1)
    return (*sizes[:2], *pooled)


@rule(DML_AVERAGE_POOLING_OPERATOR_DESC)
@rule(DML_AVERAGE_POOLING1_OPERATOR_DESC)
@rule(DML_MAX_POOLING_OPERATOR_DESC)
def pooling(desc: Any, check: Check) -> None:
    check.sizes("OutputTensor", pooled_sizes(desc, check, desc.InputTensor.Sizes), why="the positions of the window")


@rule(DML_LP_POOLING_OPERATOR_DESC)
@rule(DML_LP_POOLING1_OPERATOR_DESC)
def lp_pooling(desc: Any, check: Check) -> None:
    pooling(desc, check)
    check.at_least("P", 1)


@rule(DML_MAX_POOLING1_OPERATOR_DESC)
@rule(DML_MAX_POOLING2_OPERATOR_DESC)
def max_pooling_with_indices(desc: Any, check: Check) -> None:
    pooling(desc, check)
    check.same_sizes("OutputTensor", "OutputIndicesTensor")


@rule(DML_MAX_UNPOOLING_OPERATOR_DESC)
def max_unpooling(desc: DML_MAX_UNPOOLING_OPERATOR_DESC, check: Check) -> None:
    check.same_sizes("InputTensor", "IndicesTensor")


@rule(DML_AVERAGE_POOLING_GRAD_OPERATOR_DESC)
@rule(DML_MAX_POOLING_GRAD_OPERATOR_DESC)
def pooling_grad(desc: Any, check: Check) -> None:
    pooled = pooled_sizes(desc, check, desc.OutputGradientTensor.Sizes)
    check.sizes("InputGradientTensor", pooled, why="what pooling a tensor of OutputGradientTensor's sizes gives")


@rule(DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC)
def quantized_pooling(desc: DML_QUANTIZED_LINEAR_AVERAGE_POOLING_OPERATOR_DESC, check: Check) -> None:
    pooling(desc, check)
    sizes = desc.InputTensor.Sizes
    per_channel = (1, sizes[1]) + (1,) * (len(sizes) - 2)
    for name in ("InputScaleTensor", "InputZeroPointTensor", "OutputScaleTensor", "OutputZeroPointTensor"):
        for field, tensor in check.tensors(name):
            ones = (1,) * tensor.rank
            check.that(
                tensor.Sizes in (ones, per_channel), field,
                f"must have one element, or sizes {per_channel} (one per channel)", tensor.Sizes,
            )  # fmt: skip
