"""Operators that gather or scatter elements by indices: gathers, scatters, one-hot. All exact to the bit.

Negative indices count from the end. With edge values some are invalid: gathers then read the nearest element, and
scatters and one-hot write nothing. Of several updates of an element the last in row-major order is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dml import descriptors as d
from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, Skip, flags, sizes, tensor
from dml.conformance.references import indexing
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values, filled
from dml.conformance.variety import AXES, SIZES, axis_of, exact, far_integers, moved
from dml.descriptors.movement import OWN_REDUCE_INTO_ROWS_OPERATOR_DESC
from dml.enums import (
    DML_REDUCE_FUNCTION,
    DML_REDUCE_FUNCTION_MAX,
    DML_REDUCE_FUNCTION_MIN,
    DML_REDUCE_FUNCTION_MULTIPLY,
    DML_REDUCE_FUNCTION_SUM,
    DML_TENSOR_DATA_TYPE_INT32,
)
from dml.shapes import gathered_nd_sizes, gathered_sizes, ones_along, with_rank, with_size
from dml.tensors import DML_BUFFER_TENSOR_DESC

Array = npt.NDArray[Any]


def _indices(values: Values, indices: DML_BUFFER_TENSOR_DESC, extents: Any, beyond: int = 0) -> Array:
    """Return indices below the extents, which broadcast to the tensor; negative ones if its type has them.

    beyond: distance of invalid indices; with edge values some are farther.
    """
    sizes_ = np.broadcast_to(np.asarray(extents, np.int64), indices.Sizes)
    signed = indices.dtype.kind == "i"
    outside = beyond + (2 if values.edges else 0)
    low = -sizes_ - outside if signed else np.zeros_like(sizes_)
    drawn: Array = values.rng.integers(low, sizes_ + outside).astype(indices.dtype)
    if values.edges:
        far = far_integers(indices.dtype)
        chosen = values.rng.choice(far, indices.Sizes)
        drawn = np.where(values.rng.random(indices.Sizes) < 1 / 8, chosen, drawn)
    return drawn


_INDEXED = sizes("1x3x4", "1", "7", "1x1x3x4x5", "6x64", "1x1x1x2x1x3x2x3", "1x37x41", "1x1x5x13x48")


def _gather(choice: Choice) -> dict[str, Any]:
    rank, count = len(choice.sizes), choice.dimensions
    axis = axis_of(choice, rank)
    if count > rank:
        raise Skip(f"indices have {rank} dimensions, fewer than {count}")
    indices = with_rank((2, 3, 5)[3 - count :], rank)
    gathered = gathered_sizes(choice.sizes, indices, axis, count)
    if len(gathered) > rank:
        raise Skip(f"the output would have {len(gathered)} dimensions, more than the input")
    return {
        "IndicesTensor": tensor(choice.index, indices),
        "OutputTensor": tensor(choice.type, with_rank(gathered, rank)),
        "Axis": axis,
        "IndexDimensions": count,
    }


def _gather_inputs(desc: Any, values: Values) -> Inputs:
    return {
        "InputTensor": values.fill(desc.InputTensor),
        "IndicesTensor": _indices(values, desc.IndicesTensor, desc.InputTensor.Sizes[desc.Axis]),
    }


def _gathered(desc: d.DML_GATHER_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x, indices = inputs["InputTensor"], inputs["IndicesTensor"]
    return moved(indexing.gather(x, indices, desc.Axis, desc.IndexDimensions, desc.OutputTensor.Sizes))


_DIMENSIONS = {"1": 1, "0": 0, "2": 2, "3": 3}
subject(
    d.DML_GATHER_OPERATOR_DESC,
    parameters={"index": "IndicesTensor", "sizes": _INDEXED, "axis": AXES, "dimensions": _DIMENSIONS},
    describe=_gather,
    inputs=_gather_inputs,
    reference=_gathered,
)

#: Size of the axis -> number of indices along it.
_COUNTS: dict[str, Any] = {"same": lambda n: n, "one": lambda n: 1, "more": lambda n: 2 * n + 1}


def _gather_elements(choice: Choice) -> dict[str, Any]:
    axis = axis_of(choice, len(choice.sizes))
    picked = with_size(choice.sizes, axis, choice.count(choice.sizes[axis]))
    return {"IndicesTensor": tensor(choice.index, picked), "OutputTensor": tensor(choice.type, picked), "Axis": axis}


subject(
    d.DML_GATHER_ELEMENTS_OPERATOR_DESC,
    parameters={"index": "IndicesTensor", "sizes": SIZES, "axis": AXES, "count": _COUNTS},
    describe=_gather_elements,
    inputs=_gather_inputs,
    reference=lambda desc, inputs: moved(
        indexing.gather_elements(inputs["InputTensor"], inputs["IndicesTensor"], desc.Axis)
    ),
)


_ND_SIZES = sizes("3x2x4x5", "1", "7", "1x5x3x2", "2x64", "1x1x3x2x1x2x1x3", "1x1x37x41")
_ND: dict[str, Any] = {
    "index": "IndicesTensor",
    "sizes": _ND_SIZES,
    # number of coordinates in an index tuple
    "coordinates": {"1": 1, "2": 2, "all": 8},
    # sizes of the indices without the last dimension
    "tuples": {"list": (6,), "single": (), "grid": (2, 3), "many": (300,), "block": (2, 3, 5)},
    # number of leading dimensions that the operator ignores
    "unused": {"0": 0, "1": 1},
}


def _tuples(choice: Choice, batches: int = 0) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the indices of a description, and the sizes of the result."""
    rank, unused = len(choice.sizes), choice.unused
    if set(choice.sizes[:unused]) - {1} or unused >= rank:
        raise Skip("only dimensions of size 1 can be ignored")
    used = choice.sizes[unused:]
    if batches > min(len(used), 1 + len(choice.tuples)) - 1:
        raise Skip(f"too few dimensions for {batches} batch dimensions")
    coordinates = min(choice.coordinates, len(used) - batches)
    if coordinates < choice.coordinates < 8:
        raise Skip(f"{choice.coordinates} coordinates for {len(used)} dimensions")
    indices = (*used[:batches], *choice.tuples[batches:], coordinates)
    picked = gathered_nd_sizes(used, indices, batches)
    if max(len(indices), len(picked)) > rank:
        raise Skip(f"indices or output would have more than the input's {rank} dimensions")
    return {
        "IndicesTensor": tensor(choice.index, with_rank(indices, rank)),
        "InputDimensionCount": len(used),
        "IndicesDimensionCount": len(indices),
    }, with_rank(picked, rank)


def _gather_nd(choice: Choice) -> dict[str, Any]:
    batches = getattr(choice, "batches", None)
    fields, picked = _tuples(choice, batches or 0)
    of_batches = {} if batches is None else {"BatchDimensionCount": batches}
    return {**fields, "OutputTensor": tensor(choice.type, picked), **of_batches}


def _trailing(array: Array, count: int) -> Array:
    return array.reshape(array.shape[array.ndim - count :])


def _nd_inputs(desc: Any, values: Values) -> Inputs:
    batches = getattr(desc, "BatchDimensionCount", 0)
    first = desc.InputTensor.rank - desc.InputDimensionCount + batches
    extents = desc.InputTensor.Sizes[first : first + desc.IndicesTensor.Sizes[-1]]
    updates = {"UpdatesTensor": values.fill(desc.UpdatesTensor)} if "UpdatesTensor" in desc.input_names else {}
    return {
        "InputTensor": values.fill(desc.InputTensor),
        "IndicesTensor": _indices(values, desc.IndicesTensor, extents),
        **updates,
    }


def _picked(desc: Any, inputs: Inputs) -> Expected:
    x = _trailing(inputs["InputTensor"], desc.InputDimensionCount)
    indices = _trailing(inputs["IndicesTensor"], desc.IndicesDimensionCount)
    picked = indexing.gather_nd(x, indices, getattr(desc, "BatchDimensionCount", 0))
    return moved(picked.reshape(desc.OutputTensor.Sizes))


for _operator, _batches in (
    (d.DML_GATHER_ND_OPERATOR_DESC, {}),
    (d.DML_GATHER_ND1_OPERATOR_DESC, {"batches": {"0": 0, "1": 1, "2": 2}}),
):
    subject(_operator, parameters={**_ND, **_batches}, describe=_gather_nd, inputs=_nd_inputs, reference=_picked)


def _scatter_nd(choice: Choice) -> dict[str, Any]:
    fields, picked = _tuples(choice)
    return {**fields, "UpdatesTensor": tensor(choice.type, picked)}


def _placed(desc: d.DML_SCATTER_ND_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x = _trailing(inputs["InputTensor"], desc.InputDimensionCount)
    indices = _trailing(inputs["IndicesTensor"], desc.IndicesDimensionCount)
    updates = inputs["UpdatesTensor"].reshape(gathered_nd_sizes(x.shape, indices.shape))
    return moved(indexing.scatter_nd(x, indices, updates).reshape(desc.OutputTensor.Sizes))


subject(d.DML_SCATTER_ND_OPERATOR_DESC, parameters=_ND, describe=_scatter_nd, inputs=_nd_inputs, reference=_placed)


def _scatter(choice: Choice) -> dict[str, Any]:
    axis = axis_of(choice, len(choice.sizes))
    placed = with_size(choice.sizes, axis, choice.count(choice.sizes[axis]))
    return {"IndicesTensor": tensor(choice.index, placed), "UpdatesTensor": tensor(choice.type, placed), "Axis": axis}


def _scattered(desc: d.DML_SCATTER_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x, indices, updates = (inputs[name] for name in desc.input_names)
    return moved(indexing.scatter(x, indices, updates, desc.Axis))


subject(
    d.DML_SCATTER_OPERATOR_DESC,
    parameters={"index": "IndicesTensor", "sizes": SIZES, "axis": AXES, "count": _COUNTS},
    describe=_scatter,
    inputs=lambda desc, values: {**_gather_inputs(desc, values), "UpdatesTensor": values.fill(desc.UpdatesTensor)},
    reference=_scattered,
)


def _one_hot(choice: Choice) -> dict[str, Any]:
    rank = len(choice.sizes)
    axis = axis_of(choice, rank)
    return {
        "IndicesTensor": tensor(choice.index, ones_along(choice.sizes, (axis,))),
        "ValuesTensor": tensor(choice.type, with_rank((choice.given,), rank)),
        "Axis": axis,
    }


def _one_hot_inputs(desc: d.DML_ONE_HOT_OPERATOR_DESC, values: Values) -> Inputs:
    return {
        "IndicesTensor": _indices(values, desc.IndicesTensor, desc.OutputTensor.Sizes[desc.Axis], beyond=1),
        "ValuesTensor": values.fill(desc.ValuesTensor),
    }


def _hot(desc: d.DML_ONE_HOT_OPERATOR_DESC, inputs: Inputs) -> Expected:
    off, on = inputs["ValuesTensor"].reshape(-1)[:2]
    return moved(indexing.one_hot(inputs["IndicesTensor"], off, on, desc.OutputTensor.Sizes, desc.Axis))


subject(
    d.DML_ONE_HOT_OPERATOR_DESC,
    parameters={
        "type": "OutputTensor",
        "index": "IndicesTensor",
        "sizes": SIZES,
        "axis": AXES,
        # Number of values; the operator uses the first two.
        "given": {"2": 2, "5": 5},
    },
    describe=_one_hot,
    inputs=_one_hot_inputs,
    reference=_hot,
)


#: Functions of REDUCE_INTO_ROWS, each with NumPy's function that combines two elements.
_REDUCED: dict[str, tuple[DML_REDUCE_FUNCTION, Any]] = {
    "sum": (DML_REDUCE_FUNCTION_SUM, np.add),
    "product": (DML_REDUCE_FUNCTION_MULTIPLY, np.multiply),
    "maximum": (DML_REDUCE_FUNCTION_MAX, np.maximum),
    "minimum": (DML_REDUCE_FUNCTION_MIN, np.minimum),
}


def _into_rows(choice: Choice) -> dict[str, Any]:
    rows, updates, columns = choice.sizes
    return {
        "InputTensor": tensor(choice.type, (rows, columns)),
        "IndicesTensor": tensor(DML_TENSOR_DATA_TYPE_INT32, (updates, 1 if choice.shared else columns)),
        "UpdatesTensor": tensor(choice.type, (updates, columns)),
        "OutputTensor": tensor(choice.type, (rows, columns)),
        "Function": choice.function[0],
    }


def _rows_inputs(desc: OWN_REDUCE_INTO_ROWS_OPERATOR_DESC, values: Values) -> Inputs:
    rows = desc.InputTensor.Sizes[0]
    return filled(
        desc, lambda name, each: values.integers(each, -2, rows + 1) if name == "IndicesTensor" else values.fill(each)
    )


def _reduced(desc: OWN_REDUCE_INTO_ROWS_OPERATOR_DESC, inputs: Inputs) -> Expected:
    """Reduce in the kernel's order and in the tensor's type, so that even floats must be equal."""
    found, updates = inputs["InputTensor"].copy(), inputs["UpdatesTensor"]
    indices = np.broadcast_to(inputs["IndicesTensor"], updates.shape)
    combine = next(combine for function, combine in _REDUCED.values() if function == desc.Function)
    for place in np.ndindex(*updates.shape):
        row = indices[place]
        if 0 <= row < len(found):
            with np.errstate(over="ignore"):
                found[row, place[1]] = combine(found[row, place[1]], updates[place])
    return exact(found)


subject(
    OWN_REDUCE_INTO_ROWS_OPERATOR_DESC,
    parameters={
        "type": "InputTensor",
        "sizes": sizes("4x9x5", "1x1x1", "7x40x1", "3x2x70"),
        "shared": flags(),
        "function": _REDUCED,
    },
    describe=_into_rows,
    inputs=_rows_inputs,
    reference=_reduced,
    values=("ordinary",),
)
