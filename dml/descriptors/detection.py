"""Our own operators, for detectors, that DirectML lacks. Front ends create them; no query lists them."""

from __future__ import annotations

from ..enums.own import OWN_OPERATOR_TYPE
from .base import Input, OperatorDesc, OptionalInput, OptionalOutput, Output, own_operator


@own_operator(OWN_OPERATOR_TYPE.OWN_OPERATOR_NON_MAX_SUPPRESSION)
class OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC(OperatorDesc):
    """Select boxes in each class of each image, by falling score, that overlap no better one: ONNX's
    NonMaxSuppression.

    BoxesTensor: {images, boxes, 4}, two opposite corners (y, x, y, x), or with CenterPointBox (x, y, width, height).
    ScoresTensor: {images, classes, boxes}. LimitTensor: maximum number of boxes per class; below 0 none are kept.
    IouThresholdTensor: a box is dropped where its intersection over union with a better one exceeds this, or with
    Inclusive equals it; 0 if None. ScoreThresholdTensor: boxes need a higher score than this; all qualify if None.
    MaximumBoxes: maximum number of boxes per class that are kept and that the outputs have room for.

    OutputCountTensor: the number of kept boxes. OutputSelectedTensor: {images * classes * MaximumBoxes, 3}; its first
    rows, one per kept box, are (image, class, box), sorted by image, class and falling score; equal scores keep the
    boxes' order. The other rows are not written. OutputScoresTensor: {images * classes * MaximumBoxes}, the scores of
    the rows.
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
