"""NonMaxSuppression and NonZero, whose numbers of rows are known only at run time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dml.graph.operations as op
from dml import enums
from dml.descriptors.detection import OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC
from dml.descriptors.reduction import DML_NONZERO_COORDINATES_OPERATOR_DESC
from dml.frontends.openvino.convert import IrContext, LateIrValue, Made, layer
from dml.graph.builder import Tensor
from dml.tensors import ELEMENT_BITS, numpy_dtype, packed_tensor

FLOAT32, INT64 = enums.DML_TENSOR_DATA_TYPE_FLOAT32, enums.DML_TENSOR_DATA_TYPE_INT64
UINT32 = enums.DML_TENSOR_DATA_TYPE_UINT32


@layer("NonZero", counts=1)
def nonzero(c: IrContext) -> Made:
    x = c.tensor(0)
    c.check(bool(c.layer.inputs[0][0].outputs[c.layer.inputs[0][1]].sizes), "its input must not be a scalar")
    if ELEMENT_BITS[x.data_type] == 64:
        x = op.logical_not(op.equals(x, c.as_tensor(np.zeros(1, numpy_dtype(x.data_type)))))
    outputs = {
        "OutputCountTensor": packed_tensor(UINT32, (1,)),
        "OutputCoordinatesTensor": packed_tensor(UINT32, (x.desc.element_count, x.rank)),
    }
    results = c.graph.node(DML_NONZERO_COORDINATES_OPERATOR_DESC, outputs, InputTensor=x)
    return LateIrValue(results["OutputCoordinatesTensor"], results["OutputCountTensor"], turned=True)


@layer("NonMaxSuppression", counts=2)
def non_max_suppression(c: IrContext) -> Sequence[Made]:
    """Suppress boxes as OpenVINO's CPU plugin does: overlap equal to the threshold suppresses a box, too.

    In every version of the layer, the outputs have only as many rows as boxes were kept.
    """
    boxes, scores = (op.cast(c.tensor(index), FLOAT32) for index in range(2))
    if boxes.rank != 3 or scores.rank != 3 or boxes.sizes != (scores.sizes[0], scores.sizes[2], 4):
        raise c.error(f"takes boxes {{N, B, 4}} and scores {{N, C, B}}, found {boxes.sizes} and {scores.sizes}")
    encoding = c.layer.text("box_encoding", "corner")
    c.check(encoding in ("corner", "center"), f"attribute box_encoding must be corner or center, found {encoding!r}")
    if len(c.values) > 5 and np.any(c.known(5) != 0):
        raise c.error("soft suppression (a soft_nms_sigma other than 0) is not supported")
    images, classes, count = scores.sizes
    limit = c.values[2] if len(c.values) > 2 else np.zeros(1, np.int64)
    known = count if isinstance(limit, Tensor) else int(np.ravel(limit)[0])
    most = max(1, min(known, count))  # the output needs a row; the kernel reads a limit of 0 itself
    room = images * classes * most
    kinds = {"OutputCountTensor": (UINT32, (1,)), "OutputSelectedTensor": (UINT32, (room, 3)),
             "OutputScoresTensor": (FLOAT32, (room,))}  # fmt: skip
    results = c.graph.node(
        OWN_NON_MAX_SUPPRESSION_OPERATOR_DESC,
        {name: packed_tensor(*kind) for name, kind in kinds.items()},
        BoxesTensor=boxes,
        ScoresTensor=scores,
        LimitTensor=_scalar(c, 2, INT64),
        IouThresholdTensor=_scalar(c, 3, FLOAT32),
        ScoreThresholdTensor=_scalar(c, 4, FLOAT32),
        MaximumBoxes=most,
        CenterPointBox=encoding == "center",
        Inclusive=True,
    )
    rows, values, counted = results["OutputSelectedTensor"], results["OutputScoresTensor"], results["OutputCountTensor"]
    if c.layer.flag("sort_result_descending", True):
        # Equal scores keep the order of the rows; unused rows come last
        is_row = op.less_than(c.as_tensor(np.arange(room, dtype=np.uint32)), counted)
        values, order = op.top_k(op.if_(is_row, values, -np.inf), room, 0, enums.DML_AXIS_DIRECTION_DECREASING)
        rows = op.gather(rows, order, 0)
    outputs: list[Made] = [LateIrValue(rows, counted)]
    if len(c.layer.outputs) > 1:
        places = op.cast(op.slice_(rows, (0, 0), (room, 2)), FLOAT32)
        outputs.append(LateIrValue(op.join([places, values.reshape(room, 1)], 1), counted))
        outputs.append(c.converted(counted, 2))
    return outputs


def _scalar(c: IrContext, index: int, kind: enums.DML_TENSOR_DATA_TYPE) -> Tensor:
    """Return an input of one number, 0 if it is absent."""
    if index >= len(c.values):
        return c.as_tensor(np.zeros(1, np.int64 if kind == INT64 else np.float32))
    given = c.tensor(index)
    c.check(given.desc.element_count == 1, f"input {index} must hold one number, found sizes {given.sizes}")
    return op.cast(given.reshape(1), kind)
