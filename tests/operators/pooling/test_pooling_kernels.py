"""Windows beyond the loop limits of a workgroup: computed as reductions where possible, else refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from harness import run
from sample_descriptors import sample


def pooling(name: str, dtype: str, size: int, **more: Any) -> dml.OperatorDesc:
    """Return the description of one window over a whole square image."""
    return sample(
        name, InputTensor=f"{dtype} 1x1x{size}x{size}", OutputTensor=f"{dtype} 1x1x1x1", WindowSize=(size, size),
        Strides=(1, 1), StartPadding=(0, 0), EndPadding=(0, 0), **more,
    )  # fmt: skip


def test_a_window_beyond_a_workgroup(device: dml.Device) -> None:
    """llvmpipe silently ends an invocation's loops after 65,535 iterations."""
    x = np.zeros((1, 1, 4096, 4096), np.uint8)
    x[..., 4095, 4095] = 7
    found = run(device, pooling("MAX_POOLING", "UINT8", 4096), {"InputTensor": x})
    assert found["OutputTensor"].item() == 7


@pytest.mark.parametrize(
    "desc, message",
    [
        (
            pooling("MAX_POOLING1", "UINT8", 4096, OutputIndicesTensor="UINT32 1x1x1x1"),
            "MAX_POOLING1_OPERATOR_DESC: a window has 16777216 elements, above this device's limit 7680000",
        ),
        (
            pooling("LP_POOLING", "FLOAT32", 2048, P=3),
            "LP_POOLING_OPERATOR_DESC: a window has 4194304 elements, above this device's limit 1536000",
        ),
    ],
    ids=["indices", "a norm"],
)
def test_a_window_beyond_a_workgroup_is_refused(desc: dml.OperatorDesc, message: str) -> None:
    """These operators cannot be computed as reductions."""
    with pytest.raises(dml.DMLError, match=message):
        compile_operator(desc, Target(DeviceClass.CPU))
