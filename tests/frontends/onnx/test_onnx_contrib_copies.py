"""com.microsoft's copies of ONNX's operators, which older exporters write, compared with onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from models import Array, assert_close, in_onnxruntime, node_model

import dml
from dml.frontends.onnx import prepare


def real(*sizes: int) -> Array:
    return np.random.default_rng(71).standard_normal(sizes).astype(np.float32)


#: Operator, inputs, names of constant inputs, rank of the output, attributes.
CASES: list[tuple[str, dict[str, Array], list[str], int, dict[str, Any]]] = [
    ("CDist", {"a": real(20, 8), "b": real(30, 8)}, [], 2, {}),
    ("CDist", {"a": real(20, 8), "b": real(30, 8) + 1}, [], 2, {"metric": "euclidean"}),
    ("ExpandDims", {"x": real(4, 5), "axis": np.array(1, np.int32)}, ["axis"], 3, {}),
    ("ExpandDims", {"x": real(4, 5), "axis": np.array(-1, np.int32)}, ["axis"], 3, {}),
    ("GatherND", {"x": real(4, 5, 6), "i": np.array([[0, 1], [3, 4]])}, [], 2, {}),
    ("GridSample", {"x": real(1, 3, 9, 8), "g": real(1, 5, 6, 2) / 2}, [], 4, {"padding_mode": "border"}),
    ("Pad", {"x": real(3, 4), "p": np.array([1, 0, 2, 3]), "v": np.array([7], np.float32)}, ["p", "v"], 2, {}),
    ("Pad", {"x": real(3, 4), "p": np.array([1, 0, 1, 2])}, ["p"], 2, {"mode": "reflect"}),
    ("Range", {"a": np.array(2.0, np.float32), "b": np.array(9.0, np.float32)}, ["a", "b"], 1, {}),
    ("Range", {"a": np.array(9), "b": np.array(1), "c": np.array(-2)}, ["a", "b", "c"], 1, {}),
    ("TransposeMatMul", {"a": real(2, 8, 5), "b": real(2, 8, 6)}, [], 3, {"transA": 1, "alpha": 0.5}),
    ("Trilu", {"x": real(2, 5, 6), "k": np.array(-1)}, ["k"], 3, {"upper": 0}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{'-'.join(map(str, case[4]))}")
def test_copies_like_onnxruntime(device: dml.Device, case: Any) -> None:
    op, inputs, constants, rank, attributes = case
    inputs, dtype = {**inputs}, next(iter(inputs.values())).dtype
    if len(constants) == len(inputs):  # a model needs at least one input
        constants = constants[1:]
    model, given = node_model(op, inputs, {"y": (rank, dtype)}, constants=constants, **attributes)
    assert_close(prepare(model, device, fallback=False).run(given), in_onnxruntime(model, given), 1e-5)


def test_rows_of_other_sizes_have_no_distance(device: dml.Device) -> None:
    model, given = node_model("CDist", {"a": real(3, 8), "b": real(3, 7)}, {"y": (2, np.float32)})
    with pytest.raises(dml.DMLError, match="rows of A and B must have the same size, found"):
        prepare(model, device).run(given)
