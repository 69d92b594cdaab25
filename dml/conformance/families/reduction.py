"""Reductions, indices of extremes, cumulative sums and products, and selections by value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml import descriptors as d
from dml.capability import operator_support, short_name
from dml.conformance.limits import Expected, Tight, sum_of_products
from dml.conformance.parameters import Choice, Skip, enumerators, flags, sizes, tensor, types_of
from dml.conformance.references import reduction
from dml.conformance.subject import Inputs, Outputs, subject
from dml.conformance.values import Values, is_float
from dml.conformance.variety import AXES, SIZES, Array, any_bits, axis_of, chosen, exact
from dml.enums import DML_AXIS_DIRECTION, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE_UINT32
from dml.shapes import effective_rank, ones_along, with_size
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: From one dimension to eight, and long lines, which take several dispatches.
_SIZES = sizes("2x3x4", "1", "7", "1x3x1x5", "6x64", "2x1x3x2x1x2x1x3", "17x31x13", "3x9001")

#: Dimension count -> axes of a reduction.
_AXES: dict[str, Any] = {
    "last": lambda rank: (rank - 1,),
    "all": lambda rank: tuple(range(rank)),
    "first": lambda rank: (0,),
    "none": lambda rank: (),
    "odd": lambda rank: tuple(range(1, rank, 2)),
    "even_backwards": lambda rank: tuple(reversed(range(0, rank, 2))),
}
_DIRECTIONS = enumerators(DML_AXIS_DIRECTION)
_DECREASING = DML_AXIS_DIRECTION.DML_AXIS_DIRECTION_DECREASING


def _axes(choice: Choice) -> tuple[int, ...]:
    rank = len(choice.sizes)
    axes: tuple[int, ...] = choice.axes(rank)
    label = choice.label("axes")
    if rank == 1 and label not in ("last", "none"):
        raise Skip(f"with one dimension, {label} means the same as last or none")
    return axes


#: WebNN's limits in ulp, by the number of reduced elements; for sums, valid if all terms have one sign.
_WEBNN = {
    "AVERAGE": lambda n: n + 2,
    "L1": lambda n: n,
    "L2": lambda n: 2 * n + 1,
    "LOG_SUM": lambda n: n + 18,
    "LOG_SUM_EXP": lambda n: 2 * n + 18,
    "MULTIPLY": lambda n: n,
    "SUM": lambda n: n,
    "SUM_SQUARE": lambda n: 2 * n,
}


#: Tight limits in ulps of the steps after the sum: its rounding, a quotient, a logarithm. The sum's own error is
#: absolute.
_TIGHT = {"SUM": 1, "AVERAGE": 3, "LOG_SUM": 4, "LOG_SUM_EXP": 6}


def _function(desc: d.DML_REDUCE_OPERATOR_DESC) -> str:
    return short_name(desc.Function)


def _reduce(choice: Choice) -> dict[str, Any]:
    support = operator_support(d.DML_REDUCE_OPERATOR_DESC.OPERATOR_TYPE, function=choice.function)
    assert support is not None
    if choice.type not in support["InputTensor"].data_types:
        raise Skip(f"{short_name(choice.function)} does not take the type")
    axes = _axes(choice)
    finds = short_name(choice.function) in ("ARGMIN", "ARGMAX")
    if not finds and choice.label("index") != "UINT32":
        raise Skip("only ARGMIN and ARGMAX give indices")
    output = tensor(choice.index if finds else choice.type, ones_along(choice.sizes, axes))
    return {"Function": choice.function, "OutputTensor": output, "Axes": axes}


def _reduced_values(function: str, x: DML_BUFFER_TENSOR_DESC, values: Values) -> Array:
    if function in ("MIN", "MAX", "ARGMIN", "ARGMAX"):
        return values.fill(x)
    if not is_float(x.dtype):
        # Odd factors, so that every low bit of the product depends on all of them.
        return np.asarray(any_bits(values, x) | x.dtype.type(function == "MULTIPLY"))
    if function == "MULTIPLY":
        return _near_one(x, values)
    if function == "LOG_SUM":
        return values.between(x, 0.1, 4)
    if function == "LOG_SUM_EXP":
        return values.between(x, -30, 30)
    if function == "L2":
        # Squares may exceed the type's range, while the root does not.
        filled = values.fill(x)
        return np.where(np.isfinite(filled), filled, x.dtype.type(2))
    return values.finite(x)


def _near_one(x: DML_BUFFER_TENSOR_DESC, values: Values) -> Array:
    """Return factors of both signs so near to 1 that the product of all stays within the type's range."""
    width = min(0.5, 1 / np.sqrt(x.element_count))
    factors = values.between(x, 1 - width, 1 + width)
    return np.asarray(factors * values.rng.choice([-1, 1], x.Sizes).astype(x.dtype))


def _reduced(desc: d.DML_REDUCE_OPERATOR_DESC, inputs: Inputs) -> Expected:
    x, function, kind = inputs["InputTensor"], _function(desc), desc.OutputTensor.dtype
    if function in ("ARGMIN", "ARGMAX"):
        return exact(reduction.arg(function == "ARGMAX", x, desc.Axes).astype(kind))
    values = reduction.reduce(function, x, desc.Axes)
    if function in ("MIN", "MAX"):
        return chosen(values)
    if not is_float(kind):
        return exact(values)
    count = x.size // values.size
    ulp = _WEBNN[function](count)
    absolute = _absolute_error(function, x, desc.Axes, values, kind)
    why = f"WebNN: {ulp} ulp for {count} elements; a sum near zero"
    kept = _TIGHT.get(function)
    tight = None if kept is None or kept >= ulp else Tight(kept, absolute, f"a sum in any order, then {kept} ulp")
    return Expected(values, ulp, absolute, why, tight=tight)


def _absolute_error(function: str, x: Array, axes: Any, values: Array, kind: np.dtype[Any]) -> Array | float:
    """Return the absolute error of a result that is small compared with its terms, where ulps are meaningless."""
    count = x.size // values.size
    rounded = 2.0**-24
    if function in ("SUM", "AVERAGE"):
        magnitudes = reduction.reduce("L1", x, axes) / (count if function == "AVERAGE" else 1)
        return sum_of_products(count, magnitudes, kind, values)
    if function == "LOG_SUM":  # a sum near one has a logarithm near zero
        return (count + 6) * rounded
    if function == "LOG_SUM_EXP":  # as for LOG_SUM; the maximum is added at the end
        return (count + 12) * rounded + 2 * rounded * np.abs(reduction.reduce("MAX", x, axes))
    return 0.0


subject(
    d.DML_REDUCE_OPERATOR_DESC,
    parameters={
        "type": types_of(
            d.DML_REDUCE_OPERATOR_DESC, "InputTensor", function=DML_REDUCE_FUNCTION.DML_REDUCE_FUNCTION_MAX
        ),
        "function": dict(sorted(enumerators(DML_REDUCE_FUNCTION).items(), key=lambda item: item[0] != "SUM")),
        "sizes": _SIZES,
        "axes": _AXES,
        "index": types_of(
            d.DML_REDUCE_OPERATOR_DESC, "OutputTensor", function=DML_REDUCE_FUNCTION.DML_REDUCE_FUNCTION_ARGMAX
        ),
    },
    describe=_reduce,
    inputs=lambda desc, values: {"InputTensor": _reduced_values(_function(desc), desc.InputTensor, values)},
    reference=_reduced,
)


def _arg(choice: Choice) -> dict[str, Any]:
    axes = _axes(choice)
    output = tensor(choice.index, ones_along(choice.sizes, axes))
    return {"OutputTensor": output, "Axes": axes, "AxisDirection": choice.direction}


def _found(desc: Any, inputs: Inputs) -> Expected:
    largest, last = isinstance(desc, d.DML_ARGMAX_OPERATOR_DESC), desc.AxisDirection == _DECREASING
    places = reduction.arg(largest, inputs["InputTensor"], desc.Axes, last)
    return exact(places.astype(desc.OutputTensor.dtype))


for _operator in (d.DML_ARGMIN_OPERATOR_DESC, d.DML_ARGMAX_OPERATOR_DESC):
    subject(
        _operator,
        parameters={"sizes": _SIZES, "axes": _AXES, "index": "OutputTensor", "direction": _DIRECTIONS},
        describe=_arg,
        reference=_found,
    )


def _cumulative(operator: Any, exclusive: str, *, product: bool) -> None:
    def describe(choice: Choice) -> dict[str, Any]:
        axis = axis_of(choice, len(choice.sizes))
        return {"Axis": axis, "AxisDirection": choice.direction, exclusive: choice.exclusive}

    def inputs(desc: Any, values: Values) -> Inputs:
        return {"InputTensor": _reduced_values("MULTIPLY" if product else "SUM", desc.InputTensor, values)}

    def reference(desc: Any, inputs: Inputs) -> Expected:
        x, kind = inputs["InputTensor"], desc.OutputTensor.dtype
        how = {"backwards": desc.AxisDirection == _DECREASING, "exclusive": getattr(desc, exclusive)}
        values = reduction.cumulative(x, desc.Axis, product=product, **how)
        length = x.shape[desc.Axis]
        if not is_float(kind):
            return exact(values)
        if product:
            return Expected(values, length, why=f"up to {length} factors, each product rounded")
        magnitudes = reduction.cumulative(np.abs(x), desc.Axis, product=False, **how)
        absolute = sum_of_products(length, magnitudes, kind, values)
        return Expected(values, length - 1, absolute, f"WebNN: {length - 1} ulp; a sum near zero")

    subject(
        operator,
        parameters={"sizes": _SIZES, "axis": AXES, "direction": _DIRECTIONS, "exclusive": flags()},
        describe=describe,
        inputs=inputs,
        reference=reference,
    )


_cumulative(d.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC, "HasExclusiveSum", product=False)
_cumulative(d.DML_CUMULATIVE_PRODUCT_OPERATOR_DESC, "HasExclusiveProduct", product=True)

# --- selections -------------------------------------------------------------------------------------------------------

#: K, as a function of the size along the axis.
_KS: dict[str, Any] = {
    "half": lambda n: (n + 1) // 2,
    "1": lambda n: 1,
    "70": lambda n: min(n, 70),
    "all": lambda n: n,
    "1000": lambda n: min(n, 1000),  # long lines, from which CPU drivers select in several blocks
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


def _nonzero(desc: d.DML_NONZERO_COORDINATES_OPERATOR_DESC, inputs: Inputs) -> Outputs:
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
    reference=_nonzero,
)
