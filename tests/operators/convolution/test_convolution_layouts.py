"""CONVOLUTION of tensors with gaps, reversed dimensions and channels last."""

from __future__ import annotations

import pytest
from convolution_cases import BACKWARD, CASES, FORWARD, build, check


@pytest.mark.parametrize("case", CASES[2:11:2], ids=range(2, 11, 2))
@pytest.mark.parametrize("direction, dtype", [(FORWARD, "FLOAT16"), (BACKWARD, "FLOAT32")])
@pytest.mark.parametrize("layout", ["padded", "reversed", "nhwc"])
def test_layouts(device, case, direction, layout, dtype):
    check(device, *build(dtype, 2, direction=direction, layout=layout, **case))
