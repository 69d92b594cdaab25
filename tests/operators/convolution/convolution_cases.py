"""Convolution cases: their descriptions and data, and the expected results from float64 NumPy."""

from __future__ import annotations

import numpy as np

import dml
from dml.conformance.references import convolution as reference
from harness import assert_sums, like, random, run, tensor

CONVOLUTION = dml.DML_CONVOLUTION_MODE_CONVOLUTION
CORRELATION = dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION
FORWARD, BACKWARD = dml.DML_CONVOLUTION_DIRECTION_FORWARD, dml.DML_CONVOLUTION_DIRECTION_BACKWARD


def build(
    dtype, batch, groups, inputs, outputs, sizes, window, direction=FORWARD, mode=CORRELATION, strides=None,
    dilations=None, start=None, end=None, output_padding=None, bias=True, layout="packed", activation=None, seed=0,
):  # fmt: skip
    """Return a description, its inputs, the expected result and the sum of the magnitudes of its terms.

    inputs, outputs: channels of one group.
    """
    rank = len(sizes)
    strides, dilations = strides or (1,) * rank, dilations or (1,) * rank
    start, end, output_padding = start or (0,) * rank, end or (0,) * rank, output_padding or (0,) * rank
    rng = np.random.default_rng(seed)
    x = random(rng, dtype, (batch, groups * inputs, *sizes))
    shape = (groups * inputs, outputs) if direction == BACKWARD else (groups * outputs, inputs)
    w = random(rng, dtype, (*shape, *window))
    b = random(rng, dtype, (1, groups * outputs, *(1,) * rank)) if bias else None
    function = reference.backward if direction == BACKWARD else reference.forward
    arguments = (strides, dilations, start, end, groups, mode == CONVOLUTION, output_padding)
    expected = function(x.astype(np.float64), w.astype(np.float64), *arguments)
    terms = function(abs(x.astype(np.float64)), abs(w.astype(np.float64)), *arguments)
    arrays = {"InputTensor": x, "FilterTensor": w}
    if b is not None:
        expected, terms = expected + b, terms + abs(b)
        arrays["BiasTensor"] = b
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=like(x, layout),
        FilterTensor=like(w, "padded" if layout != "packed" else layout),
        BiasTensor=None if b is None else like(b),
        OutputTensor=tensor(dtype, expected.shape, layout),
        Mode=mode,
        Direction=direction,
        Strides=strides,
        Dilations=dilations,
        StartPadding=start,
        EndPadding=end,
        OutputPadding=output_padding,
        GroupCount=groups,
        FusedActivation=activation,
    )
    return desc, arrays, expected, terms


def products(desc):
    """Return the number of products per output element: input channels of a group times window elements (backward: an
    upper bound)."""
    return desc.InputTensor.Sizes[1] // desc.GroupCount * int(np.prod(desc.FilterTensor.Sizes[2:]))


def check(device, desc, arrays, expected, terms):
    assert_sums(run(device, desc, arrays)["OutputTensor"], expected, terms, products(desc))


def of(groups, inputs, outputs, sizes, window, **attributes):
    """Return keyword arguments for ``build``."""
    return {"groups": groups, "inputs": inputs, "outputs": outputs, "sizes": sizes, "window": window, **attributes}


#: Every two attributes occur together in some case.
CASES = [
    of(1, 3, 5, (9,), (3,), strides=(2,), start=(1,), end=(2,)),
    of(2, 2, 4, (17,), (4,), dilations=(3,), start=(3,), end=(0,)),
    of(1, 4, 8, (8, 12), (3, 3), start=(1, 1), end=(1, 1)),
    of(1, 5, 3, (7, 9), (2, 5), strides=(2, 1), start=(0, 2), end=(1, 2)),
    of(6, 1, 1, (10, 11), (3, 3), strides=(1, 2), start=(1, 0), end=(0, 1)),
    of(3, 2, 2, (11, 10), (3, 2), dilations=(2, 3), strides=(3, 2)),
    of(1, 8, 12, (6, 6), (1, 1)),
    of(2, 4, 4, (8, 8), (1, 1), strides=(2, 2)),
    of(1, 2, 3, (4, 5, 6), (2, 3, 3), start=(1, 1, 1), end=(0, 1, 1)),
    of(2, 1, 2, (5, 4, 7), (3, 2, 1), strides=(2, 1, 3), dilations=(1, 2, 1)),
    of(1, 1, 17, (13, 13), (7, 7), start=(3, 3), end=(3, 3), strides=(2, 2)),
    of(1, 3, 2, (20,), (19,), start=(5,), end=(5,)),
]
