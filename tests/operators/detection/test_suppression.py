"""NON_MAX_SUPPRESSION, our own operator: its rules, its results other than the rows, and the splitting of long work.

tests/frontends/onnx/test_onnx_suppression.py compares its rows with onnxruntime's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import max_steps
from dml.compiler.target import DeviceClass, Target
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.enums.own import OWN_OPERATOR_TYPE
from dml.frontends.dxdispatch.writing import dispatchable
from harness import tensor

#: The kernels with a round per box: of GPUs, of CPU drivers.
ROUNDS = ("detection/suppress.comp", "detection/visit.comp")


def described(**changes: Any) -> OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC:
    fields = {
        "BoxesTensor": tensor("FLOAT32", (2, 5, 4)), "ScoresTensor": tensor("FLOAT32", (2, 3, 5)), "LimitTensor": None,
        "IouThresholdTensor": None, "ScoreThresholdTensor": None, "OutputCountTensor": tensor("UINT32", (1,)),
        "OutputSelectedTensor": tensor("UINT32", (24, 3)), "OutputScoresTensor": tensor("FLOAT32", (24,)),
        "MaximumBoxes": 4, "CenterPointBox": False, "Inclusive": False,
    }  # fmt: skip
    return OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(**(fields | changes))


def test_the_operator_is_not_one_of_directmls(device: dml.Device) -> None:
    """It has rules and a lowering like DirectML's operators, but none of DirectML's names, numbers or lists includes
    it."""
    dml.validate(described())
    with pytest.raises(dml.DMLError, match=r"NON_MAX_SUPPRESSION.MaximumBoxes: must be from 1 to 5, .*, found 6"):
        dml.validate(described(MaximumBoxes=6))
    with pytest.raises(dml.DMLError, match=r"NON_MAX_SUPPRESSION.OutputScoresTensor"):
        dml.validate(described(OutputScoresTensor=described().OutputCountTensor))
    kind = OWN_OPERATOR_TYPE.OWN_OPERATOR_NON_MAX_SUPPRESSION
    assert kind not in dml.operators()
    for name in ("NON_MAX_SUPPRESSION", int(kind)):
        with pytest.raises(dml.DMLError, match="operator type"):
            dml.operator_support(name)
    with pytest.raises(dml.DMLError, match="DirectML has no such operator"):
        dispatchable(described())


def boxes_and_scores(images: int, classes: int, count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    corners = rng.random((images, count, 2))
    boxes = np.concatenate([corners, corners + 0.1 * rng.random((images, count, 2))], -1)
    scores = rng.random((images, classes, count))
    return {"BoxesTensor": boxes.astype(np.float32), "ScoresTensor": scores.astype(np.float32)}


def test_it_gives_scores(device: dml.Device) -> None:
    inputs = boxes_and_scores(2, 3, 5)
    found = device.compile_operator(device.create_operator(described())).dispatch(inputs)
    count = int(found["OutputCountTensor"][0])
    assert 12 <= count <= 24
    rows = found["OutputSelectedTensor"][:count].tolist()
    assert found["OutputScoresTensor"][:count].tolist() == [inputs["ScoresTensor"][tuple(row)] for row in rows]
    assert rows == sorted(rows, key=lambda row: (row[0], row[1], -inputs["ScoresTensor"][tuple(row)]))


@pytest.mark.parametrize(("inclusive", "kept"), [(False, [0, 1, 2]), (True, [0, 2])])
def test_an_overlap_at_the_threshold(device: dml.Device, inclusive: bool, kept: list[int]) -> None:
    """The second box covers half of its union with the first; boxes of equal scores are taken in index order."""
    boxes = np.array([[[0, 0, 2, 1], [0, 0, 1, 1], [5, 5, 6, 6]]], np.float32)
    inputs = {"BoxesTensor": boxes, "ScoresTensor": np.full((1, 1, 3), 0.5, np.float32)}
    desc = described(
        BoxesTensor=tensor("FLOAT32", (1, 3, 4)), ScoresTensor=tensor("FLOAT32", (1, 1, 3)), MaximumBoxes=3,
        IouThresholdTensor=tensor("FLOAT32", (1,)), OutputSelectedTensor=tensor("UINT32", (3, 3)),
        OutputScoresTensor=None, Inclusive=inclusive,
    )  # fmt: skip
    compiled = device.compile_operator(device.create_operator(desc))
    found = compiled.dispatch({**inputs, "IouThresholdTensor": np.array([0.5], np.float32)})
    rows = found["OutputSelectedTensor"][: int(found["OutputCountTensor"][0])]
    assert rows.tolist() == [[0, 0, place] for place in kept]


def crowd(count: int, most: int) -> OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC:
    """Describe the suppression of ``count`` boxes of one image in two classes, at most ``most`` per class."""
    return described(
        BoxesTensor=tensor("FLOAT32", (1, count, 4)), ScoresTensor=tensor("FLOAT32", (1, 2, count)),
        OutputSelectedTensor=tensor("UINT32", (2 * most, 3)), OutputScoresTensor=None, MaximumBoxes=most,
    )  # fmt: skip


@pytest.mark.parametrize("device_class", [DeviceClass.CPU, DeviceClass.DISCRETE])
def test_rounds_go_in_parts(seen_as: Callable[..., dml.Device], device_class: DeviceClass) -> None:
    """Results do not depend on how many loop iterations an invocation may make."""
    desc, inputs = crowd(700, 300), boxes_and_scores(1, 2, 700)
    found = []
    for few in (None, 256):
        device = seen_as(device_class=device_class, fewer_steps=few)
        compiled = device.compile_operator(device.create_operator(desc))
        rounds = [one for one in compiled.program.dispatches if one.label in ROUNDS]
        assert max(one.steps for one in rounds) <= max_steps(device.vulkan.target)
        assert len(rounds) >= (50 if few else 1)
        outputs = compiled.dispatch(inputs)
        count = int(outputs["OutputCountTensor"][0])
        found.append(outputs["OutputSelectedTensor"][:count].tolist())
    assert found[0] == found[1]
    assert 200 < len(found[0]) < 600


def test_a_class_that_is_too_large() -> None:
    """A single round takes more loop iterations than the device allows an invocation."""
    desc = crowd(2**20, 1)
    assert compile_operator(desc, Target(DeviceClass.CPU)).dispatches
    with pytest.raises(dml.DMLError, match="NON_MAX_SUPPRESSION: 1048576 boxes of a class are too many"):
        compile_operator(desc, Target(DeviceClass.CPU, fewer_steps=256))
