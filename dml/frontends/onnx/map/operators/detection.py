"""Non-maximum suppression of detected boxes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.tensors import packed_tensor

from ...dtypes import FLOAT32, INT64, UINT32, storage
from ...registry import onnx_op
from ..functions import part
from ..node import OnnxNode
from ..value import LateRows, OnnxValue, cast, reshape


@onnx_op("NonMaxSuppression", since=10)
def non_max_suppression(node: OnnxNode) -> OnnxValue | LateRows:
    """Suppress boxes by an operator of our own, since DirectML has none. Limit and thresholds are read at run time.

    onnxruntime refuses an IoU threshold outside 0 to 1. Here it is refused only if it is constant; a computed one is
    used without a check.
    """
    boxes, scores = node.input(0, rank=3), node.input(1, rank=3)
    (images, count, corners), classes = boxes.shape, scores.shape[1]
    node.check(corners == 4, f"boxes must have 4 numbers each, found shape {boxes.shape}")
    node.check(
        (scores.shape[0], scores.shape[2]) == (images, count),
        f"scores must have shape ({images}, classes, {count}), as boxes {boxes.shape}, found {scores.shape}",
    )
    centers = node.integer("center_point_box", 0)
    node.check(centers in (0, 1), f"attribute 'center_point_box' must be 0 or 1, found {centers}")
    limit = _scalar(node, 2, None)
    overlap = _scalar(node, 3, lambda given: 0 <= given <= 1)
    least = _scalar(node, 4, None)
    known = 0 if limit is None else count if limit.array is None else int(limit.array.reshape(-1)[0])
    most = min(known, count)
    if most <= 0 or not boxes.size or not scores.size:
        return node.constant(np.zeros((0, 3), np.int64))
    inputs = [item for item in (boxes, scores, limit, overlap, least) if item is not None and item.array is None]
    late = node.is_late(next((item for item in inputs if node.builder.depends_on_inputs(item.tensor)), boxes))
    room = images * classes * most
    outputs = node.builder.node(
        OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
        {
            "OutputCountTensor": packed_tensor(storage(UINT32), (1,)),
            "OutputSelectedTensor": packed_tensor(storage(UINT32), (room, 3)),
        },
        BoxesTensor=cast(boxes, FLOAT32).tensor,
        ScoresTensor=cast(scores, FLOAT32).tensor,
        LimitTensor=None if limit is None or limit.array is not None else cast(limit, INT64).tensor,
        IouThresholdTensor=None if overlap is None else cast(overlap, FLOAT32).tensor,
        ScoreThresholdTensor=None if least is None else cast(least, FLOAT32).tensor,
        MaximumBoxes=most,
        CenterPointBox=bool(centers),
        Inclusive=False,
    )
    rows = boxes.with_tensor(outputs["OutputSelectedTensor"], (room, 3), UINT32)
    counted = boxes.with_tensor(outputs["OutputCountTensor"], (1,), UINT32)
    if late:
        return LateRows(rows, counted, INT64)
    return cast(part(rows, 0, 0, int(node.trace.known(counted)[0])), INT64)


def _scalar(node: OnnxNode, index: int, holds: Callable[[float], bool] | None) -> OnnxValue | None:
    """Return an optional input of one number, as a tensor of one element."""
    given = node.optional(index)
    if given is None:
        return None
    node.check(given.size == 1, f"input {index} must hold one number, found shape {given.shape}")
    if holds is not None and given.array is not None:
        found = given.array.reshape(-1)[0]
        node.check(holds(found), f"input {index} must be from 0 to 1, found {found}")
    return reshape(given, (1,))
