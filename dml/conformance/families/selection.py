"""The largest and smallest elements in order, and the coordinates of nonzero elements. All exact to the bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, enumerators, flags, sizes, tensor
from dml.conformance.references import reduction
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values
from dml.conformance.variety import AXES, SIZES, axis_of, chosen, exact
from dml.enums import DML_AXIS_DIRECTION, DML_TENSOR_DATA_TYPE_UINT32
from dml.shapes import effective_rank, with_size

#: K, as a function of the size along the axis.
_KS: dict[str, Any] = {
    "half": lambda n: (n + 1) // 2,
    "1": lambda n: 1,
    "70": lambda n: min(n, 70),
    "all": lambda n: n,
    "1000": lambda n: min(n, 1000),  # a real shape, from whose line a CPU driver selects in several blocks
}


def _top_k_fields(choice: Choice) -> dict[str, Any]:
    axis = axis_of(choice, len(choice.sizes))
    k = choice.k(choice.sizes[axis])
    if k == 1 and choice.label("k") == "all":
        raise Skip("with one element, all equals 1")
    if choice.label("k") in ("70", "1000") and k < int(choice.label("k")):
        raise Skip("with fewer elements, it equals all")
    found = with_size(choice.sizes, axis, k)
    return {
        "OutputValueTensor": tensor(choice.type, found),
        "OutputIndexTensor": tensor(choice.index, found),
        "Axis": axis,
        "K": k,
    }


def _topmost(desc: Any, inputs: Inputs) -> Outputs:
    increasing = DML_AXIS_DIRECTION.DML_AXIS_DIRECTION_INCREASING
    largest = getattr(desc, "AxisDirection", None) != increasing
    found, places = reduction.top_k(inputs["InputTensor"], desc.Axis, desc.K, largest=largest)
    return {"OutputValueTensor": chosen(found), "OutputIndexTensor": exact(places.astype(desc.OutputIndexTensor.dtype))}


def _lines(desc: Any, values: Values) -> Inputs:
    """Sort a third of the lines in ascending order and a third in descending order, so that the first elements are in
    the last or the first group."""
    x = values.fill(desc.InputTensor)
    ordered = np.moveaxis(x, desc.Axis, -1)
    lines = ordered.reshape(-1, ordered.shape[-1]).copy()
    lines[1::3] = np.sort(lines[1::3], axis=-1)
    lines[2::3] = np.sort(lines[2::3], axis=-1)[:, ::-1]
    return {"InputTensor": np.ascontiguousarray(np.moveaxis(lines.reshape(ordered.shape), -1, desc.Axis))}


_TOP_K: dict[str, Any] = {
    # A line longer than a block of 1024 elements is sorted in several blocks.
    "sizes": {**SIZES, **sizes("3x1281")},
    "axis": AXES,
    "k": _KS,
    "index": "OutputIndexTensor",
}

subject(
    d.DML_TOP_K_OPERATOR_DESC,
    parameters=_TOP_K,
    describe=_top_k_fields,
    reference=_topmost,
    inputs=_lines,
)
subject(
    d.DML_TOP_K1_OPERATOR_DESC,
    parameters={**_TOP_K, "direction": enumerators(DML_AXIS_DIRECTION)},
    describe=lambda choice: {**_top_k_fields(choice), "AxisDirection": choice.direction},
    reference=_topmost,
    inputs=_lines,
)


def _coordinates(choice: Choice) -> dict[str, Any]:
    """Return the fields, with a coordinate per dimension of the input or, optionally, none for leading sizes of 1."""
    rank = len(choice.sizes)
    columns = max(1, effective_rank(choice.sizes)) if choice.shorter else rank
    if choice.shorter and columns == rank:
        raise Skip("there is no leading dimension of size 1 to drop")
    rows = math.prod(choice.sizes)
    return {
        "OutputCountTensor": tensor(DML_TENSOR_DATA_TYPE_UINT32, (1,) * rank),
        "OutputCoordinatesTensor": tensor(DML_TENSOR_DATA_TYPE_UINT32, (*(1,) * (rank - 2), rows, columns)),
    }


def _sparse(desc: d.DML_NONZERO_COORDINATES_OPERATOR_DESC, values: Values) -> Inputs:
    """Set a random share of the elements to zero."""
    share = values.rng.choice([0.0, 0.05, 0.5, 1.0])
    kept = values.rng.random(desc.InputTensor.Sizes) < share
    filled = values.fill(desc.InputTensor)
    return {"InputTensor": np.where(kept, filled, filled.dtype.type(0))}


def _found(desc: d.DML_NONZERO_COORDINATES_OPERATOR_DESC, inputs: Inputs) -> Outputs:
    output = desc.OutputCoordinatesTensor
    rows, undefined = reduction.nonzero_coordinates(inputs["InputTensor"], output.Sizes[-1])
    coordinates = np.zeros(undefined.shape, output.dtype)
    coordinates[: len(rows)] = rows
    count = np.full(desc.OutputCountTensor.Sizes, len(rows), desc.OutputCountTensor.dtype)
    return {
        "OutputCountTensor": exact(count),
        "OutputCoordinatesTensor": Expected(
            coordinates.reshape(output.Sizes), undefined=undefined.reshape(output.Sizes)
        ),
    }


subject(
    d.DML_NONZERO_COORDINATES_OPERATOR_DESC,
    parameters={"sizes": SIZES, "shorter": flags()},
    describe=_coordinates,
    inputs=_sparse,
    reference=_found,
)
