"""Selects the highest-scoring box among overlapping ones, one at a time: ONNX's NonMaxSuppression."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def suppress(
    boxes: Array, scores: Array, most: int, overlap: float, least: float | None, *, centers: bool, inclusive: bool
) -> list[tuple[int, int, int]]:
    """Return (image, class, box) of each kept box, by image, class and falling score.

    most: maximum per class. overlap: intersection over union above which (with ``inclusive``, from which on) a box is
    dropped. least: boxes with scores up to this one are dropped.
    """
    found = []
    for image, class_ in np.ndindex(*scores.shape[:2]):
        own, corners = scores[image, class_], corners_of(boxes[image], centers=centers)
        kept: list[int] = []
        for box in np.argsort(-own.astype(np.float64), kind="stable"):
            if len(kept) == most or (least is not None and own[box] <= least):
                break
            shares = (share(corners[box], corners[other]) for other in kept)
            if not any(item > overlap or (inclusive and item == overlap) for item in shares):
                kept.append(int(box))
        found += [(image, class_, box) for box in kept]
    return found


def corners_of(boxes: Array, *, centers: bool) -> Array:
    """Return {box, [low y, low x, high y, high x]} in float64."""
    wide = boxes.astype(np.float64)
    if centers:  # boxes are x, y, width, height
        middle, half = wide[:, 1::-1], wide[:, :1:-1] / 2
        return np.concatenate([middle - half, middle + half], -1)
    return np.concatenate([np.minimum(wide[:, :2], wide[:, 2:]), np.maximum(wide[:, :2], wide[:, 2:])], -1)


def share(first: Array, second: Array) -> float:
    """Return the intersection over union of two boxes; NaN, which exceeds no limit, if neither has an area."""
    sides = np.minimum(first[2:], second[2:]) - np.maximum(first[:2], second[:2])
    common = float(np.prod(np.maximum(sides, 0.0)))
    union = float(np.prod(first[2:] - first[:2])) + float(np.prod(second[2:] - second[:2])) - common
    return common / union if union else float("nan")
