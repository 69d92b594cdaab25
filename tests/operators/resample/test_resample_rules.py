"""Descriptions that UPSAMPLE_2D, the RESAMPLE operators and their gradients refuse."""

from __future__ import annotations

import numpy as np
import pytest
from test_resample_values import grad_of, resample_of, upsample_of

import dml
from harness import refuse, tensor


def check_rules(good, offsets):
    dml.validate(good)
    refuse(good.replace(Scales=(2, 0)), "Scales", "positive")
    refuse(good.replace(Scales=(2, 2.0**-127)), "Scales", "positive")  # a subnormal, whose reciprocal is infinite
    refuse(good.replace(Scales=(2, float("inf"))), "Scales", "finite")
    more = {"InputPixelOffsets": (0.5,), "OutputPixelOffsets": (0.5,)} if offsets else {}
    refuse(good.replace(Scales=(2,), **more), "Scales", "2 item(s)")
    output = "OutputGradientTensor" if hasattr(good, "OutputGradientTensor") else "OutputTensor"
    refuse(good.replace(**{output: tensor("FLOAT16", (4, 3))}), output, "data type")
    if offsets:
        refuse(good.replace(InputPixelOffsets=(0.5,)), "InputPixelOffsets", "2 item(s)")
        refuse(good.replace(InputPixelOffsets=(0.5, float("inf"))), "InputPixelOffsets", "finite")
        refuse(good.replace(OutputPixelOffsets=(0.5, float("inf"))), "OutputPixelOffsets", "finite")


def test_upsample_rules():
    good = upsample_of(np.zeros((1, 1, 2, 3), np.float32), 2, 3, "LINEAR")
    dml.validate(good)
    refuse(good.replace(OutputTensor=tensor("FLOAT32", (1, 1, 4, 8))), "OutputTensor", "(1, 1, 4, 9)")
    refuse(good.replace(ScaleSize=dml.DML_SIZE_2D(Width=0, Height=2)), "ScaleSize.Width", "from 1")
    refuse(good.replace(OutputTensor=tensor("FLOAT16", (1, 1, 4, 9))), "data type")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_resample_rules(version):
    x = np.zeros((2, 3), np.float32)
    check_rules(resample_of(version, x, (4, 3), (2, 1)), offsets=version > 0)


@pytest.mark.parametrize("version", [0, 1])
def test_resample_grad_rules(version):
    check_rules(grad_of(version, np.zeros((4, 3), np.float32), (2, 3), (2, 1)), offsets=True)
