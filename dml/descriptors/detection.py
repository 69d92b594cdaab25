"""Operators of ours that detectors need and DirectML does not have. Front ends make them; no query lists them."""

from __future__ import annotations

from ..enums.own import OWN_OPERATOR_TYPE
from .base import Input, OperatorDesc, OptionalInput, OptionalOutput, Output, own_operator


@own_operator(OWN_OPERATOR_TYPE.OWN_OPERATOR_NON_MAX_SUPPRESSION)
class OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(OperatorDesc):
    """Of each class of each image, by falling score, the boxes that overlap none kept before: ONNX's NonMaxSuppression.

    BoxesTensor: {images, boxes, 4}, two opposite corners (y, x, y, x), or with CenterPointBox (x, y, width, height).
    ScoresTensor: {images, classes, boxes}. LimitTensor: at most how many of a class are kept; below 0 none.
    IouThresholdTensor: what intersection over union is above for a box to go, or with Inclusive at as well; 0 where it
    is None. ScoreThresholdTensor: what a score is above for a box to be looked at; all are where it is None.
    MaximumBoxes: the most of a class that the outputs have room for, and that are kept.

    OutputCountTensor: how many boxes were kept. OutputSelectedTensor: {images * classes * MaximumBoxes, 3}, of which so
    many rows are (image, class, box), by image, class and falling score; of equal scores, the first box comes first.
    The other rows stay as they are. OutputScoresTensor: {images * classes * MaximumBoxes}, their scores.
    """

    BoxesTensor: Input
    ScoresTensor: Input
    LimitTensor: OptionalInput
    IouThresholdTensor: OptionalInput
    ScoreThresholdTensor: OptionalInput
    OutputCountTensor: Output
    OutputSelectedTensor: Output
    OutputScoresTensor: OptionalOutput
    MaximumBoxes: int
    CenterPointBox: bool
    Inclusive: bool
