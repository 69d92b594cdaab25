"""Helpers shared by subjects with windows over the spatial dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np

from dml.conformance.limits import Expected, sum_of_products
from dml.conformance.parameters import Choice, Skip, sizes
from dml.conformance.references.rounded import Rounded
from dml.descriptors.base import OperatorDesc
from dml.shapes import pooled_sizes

#: Two and three spatial dimensions, with sizes of one, primes, and enough elements for a few workgroups.
SIZES = sizes("2x3x9x8", "1x1x1x1", "1x2x5x13", "3x1x31x2", "1x4x41x30", "2x2x5x4x6", "1x1x7x1x3", "1x1x20x9x9")
#: Values by label, cycled over the spatial dimensions; a workgroup shares the work of a large window.
WINDOW: dict[str, Any] = {
    "window": {"3": (3,), "1": (1,), "2.3": (2, 3), "5.1": (5, 1), "27": (27,), "9": (9,)},
    "strides": {"1": (1,), "2": (2,), "1.3": (1, 3)},
    "padding": {"0": ((0,), (0,)), "1": ((1,), (1,)), "0.2_1": ((0, 2), (1,)), "4": ((4,), (4,))},  # before, behind
}
DILATIONS = {"dilations": {"1": (1,), "2": (2,), "1.3": (1, 3)}}


def along(sizes: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
    """Return a value for each spatial dimension; the given ones repeat cyclically."""
    return tuple(islice(cycle(values), len(sizes) - 2))


def pooled_by(choice: Choice) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Return the pooled sizes, and the window's fields, with Dilations if the choice has some. Raises Skip if none
    fits."""
    window = {
        "Strides": along(choice.sizes, choice.strides),
        "WindowSize": along(choice.sizes, choice.window),
        "StartPadding": along(choice.sizes, choice.padding[0]),
        "EndPadding": along(choice.sizes, choice.padding[1]),
    }
    dilations = getattr(choice, "dilations", None)
    gaps = along(choice.sizes, dilations or (1,))
    pooled = pooled_sizes(
        choice.sizes, window["WindowSize"], window["Strides"], gaps, window["StartPadding"], window["EndPadding"]
    )
    if min(pooled) < 1:
        raise Skip("the window does not fit into the padded input")
    return pooled, window if dilations is None else {**window, "Dilations": gaps}


def window_of(desc: Any) -> dict[str, Any]:
    """Return a description's window in the form that the references take."""
    return {
        "window": desc.WindowSize,
        "strides": desc.Strides,
        "start": desc.StartPadding,
        "end": desc.EndPadding,
        "dilations": getattr(desc, "Dilations", (1,) * len(desc.WindowSize)),
    }


def window_parameters(operator: type[OperatorDesc], **more: Any) -> dict[str, Any]:
    """Return the parameters of a subject."""
    dilated = DILATIONS if any(info.name == "Dilations" for info in operator.fields_info) else {}
    return {"sizes": SIZES, **WINDOW, **dilated, **more}


def gathered(values: Any, terms: Any, desc: Any) -> Expected:
    """Return an expected gradient. Each element is the sum of at most a window of output gradients; ``terms`` is the
    sum of their magnitudes."""
    count = 3 * math.prod(desc.WindowSize)  # each gradient may be a rounded quotient
    sums = Rounded(values, sum_of_products(count, terms, np.dtype(np.float32), values))
    return sums.expected(desc.OutputGradientTensor, "a float32 sum in any order")
