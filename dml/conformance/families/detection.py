"""NON_MAX_SUPPRESSION, an operator of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from dml.conformance.layouts import Tensor
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, data_types, flags, sizes, tensor
from dml.conformance.references.suppression import suppress
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, filled
from dml.conformance.variety import exact
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_DATA_TYPE_UINT32

_WORDS = DML_TENSOR_DATA_TYPE_UINT32
#: Number of boxes -> maximum number of kept boxes.
_MOST: dict[str, Any] = {"half": lambda boxes: (boxes + 1) // 2, "1": lambda boxes: 1, "all": lambda boxes: boxes}


def _described(choice: Choice) -> dict[str, Any]:
    images, classes, boxes = choice.sizes
    most = choice.most(boxes)
    room = images * classes * most
    number = tensor(DML_TENSOR_DATA_TYPE_FLOAT32, (1,))
    return {
        "BoxesTensor": tensor(choice.type, (images, boxes, 4)),
        "ScoresTensor": tensor(choice.type, (images, classes, boxes)),
        "LimitTensor": tensor(DML_TENSOR_DATA_TYPE_INT64, (1,)) if choice.limits else None,
        "IouThresholdTensor": number if choice.overlap else None,
        "ScoreThresholdTensor": number if choice.least else None,
        "OutputCountTensor": tensor(_WORDS, (1,)),
        "OutputSelectedTensor": tensor(_WORDS, (room, 3)),
        "OutputScoresTensor": tensor(choice.type, (room,)) if choice.scores else None,
        "MaximumBoxes": most,
        "CenterPointBox": choice.centers,
        "Inclusive": choice.inclusive,
    }


def _inputs(desc: Any, values: Values) -> Inputs:
    """Return boxes of about a third of the image, so that about half are dropped; no two scores are equal."""

    def make(name: str, given: Tensor) -> Any:
        if name == "BoxesTensor":
            ends = values.rng.random((*given.Sizes[:2], 2, 2))
            first, extent = ends[:, :, 0], 0.1 + 0.4 * ends[:, :, 1]
            flipped = values.rng.random((*given.Sizes[:2], 1)) < 0.5
            if desc.CenterPointBox:
                pair = (first, extent)
            else:
                pair = (np.where(flipped, first + extent, first), np.where(flipped, first, first + extent))
            return np.concatenate(pair, -1).astype(given.dtype)
        if name == "ScoresTensor":
            order = values.rng.permuted(np.broadcast_to(np.arange(given.Sizes[-1]), given.Sizes), axis=-1)
            return ((order + 1) / (given.Sizes[-1] + 1)).astype(given.dtype)
        if name == "LimitTensor":
            return values.integers(given, -1, desc.MaximumBoxes + 1)
        return np.array([0.31 if name == "IouThresholdTensor" else 0.243], given.dtype)

    return filled(desc, make)


def _kept(desc: Any, inputs: Inputs) -> Outputs:
    limit = int(inputs["LimitTensor"][0]) if "LimitTensor" in inputs else desc.MaximumBoxes
    rows = suppress(
        inputs["BoxesTensor"],
        inputs["ScoresTensor"],
        max(0, min(limit, desc.MaximumBoxes)),
        float(inputs["IouThresholdTensor"][0]) if "IouThresholdTensor" in inputs else 0.0,
        float(inputs["ScoreThresholdTensor"][0]) if "ScoreThresholdTensor" in inputs else None,
        centers=desc.CenterPointBox,
        inclusive=desc.Inclusive,
    )
    selected = np.zeros(desc.OutputSelectedTensor.Sizes, np.uint32)
    selected[: len(rows)] = np.array(rows, np.uint32).reshape(-1, 3)
    beyond = np.arange(len(selected)) >= len(rows)
    found: dict[str, Expected | list[Expected]] = {
        "OutputCountTensor": exact(np.array([len(rows)], np.uint32)),
        "OutputSelectedTensor": Expected(selected, undefined=np.broadcast_to(beyond[:, None], selected.shape)),
    }
    if desc.OutputScoresTensor is not None:
        scores = np.zeros(len(selected))
        scores[: len(rows)] = [inputs["ScoresTensor"][row] for row in rows]
        found["OutputScoresTensor"] = Expected(scores, undefined=beyond)
    return found


subject(
    OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
    parameters={
        "type": data_types("FLOAT32"),
        "sizes": sizes("2x3x17", "1x1x1", "1x2x301", "3x1x64", "1x2x201"),
        "most": _MOST,
        "limits": flags(),
        "overlap": {"yes": True, "no": False},
        "least": flags(),
        "scores": {"yes": True, "no": False},
        "centers": flags(),
        "inclusive": flags(),
    },
    describe=_described,
    reference=_kept,
    inputs=_inputs,
    layouts=("packed", "padded", "permuted", "mixed"),
    values=("ordinary",),
)
