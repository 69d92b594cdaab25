"""Slices of any window, stride and layout, and their gradients: Hypothesis searches for one that fails."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from movement_cases import numbers, run
from test_slices_values import grad_of, slice1_of, spread, taken

from harness import LAYOUTS, assert_exact


@st.composite
def windows(draw):
    """Draw (tensor size, offset, window size, stride, size of the slice) for each dimension."""
    dimensions = []
    for _ in range(draw(st.integers(1, 4))):
        size = draw(st.integers(1, 6))
        offset = draw(st.integers(0, size - 1))
        window = draw(st.integers(1, size - offset))
        step = draw(st.sampled_from([1, 2, 3, -1, -2]))
        dimensions.append((size, offset, window, step, draw(st.integers(1, (window - 1) // abs(step) + 1))))
    return tuple(zip(*dimensions, strict=True))


@settings(max_examples=30)
@given(
    windows(),
    st.sampled_from(["UINT8", "INT16", "FLOAT32", "INT64"]),
    st.sampled_from(LAYOUTS),
    st.sampled_from(LAYOUTS),
)
def test_any_slice(device, dimensions, dtype, layout, out_layout):
    sizes, *window, copied = dimensions
    x = numbers(dtype, sizes)
    desc = slice1_of(x, *window, layout, out_layout, copied)
    expected = taken(x, *window, copied)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], expected)
    grad = np.ascontiguousarray(expected)
    desc = grad_of(grad, sizes, *window, layout, out_layout)
    result = run(device, desc, {"InputGradientTensor": grad})["OutputGradientTensor"]
    assert_exact(result, spread(grad, sizes, *window))
