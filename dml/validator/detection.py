"""Rules of the operators of detection networks."""

from __future__ import annotations

from ..descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from .base import Check, rule


@rule(OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC)
def non_max_suppression(desc: OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC, check: Check) -> None:
    images, boxes = desc.BoxesTensor.Sizes[:2]
    classes = desc.ScoresTensor.Sizes[1]
    check.sizes("BoxesTensor", (images, boxes, 4), why="{images, boxes, 4}")
    check.sizes("ScoresTensor", (images, classes, boxes), why="{images, classes, boxes} for those of BoxesTensor")
    for name in ("LimitTensor", "IouThresholdTensor", "ScoreThresholdTensor", "OutputCountTensor"):
        check.sizes(name, (1,), why="a scalar")
    check.that(1 <= desc.MaximumBoxes <= boxes, "MaximumBoxes", f"must be from 1 to {boxes}, the boxes of an image")
    room = images * classes * desc.MaximumBoxes
    check.sizes("OutputSelectedTensor", (room, 3), why="MaximumBoxes for each class of each image")
    check.sizes("OutputScoresTensor", (room,), why="MaximumBoxes for each class of each image")
