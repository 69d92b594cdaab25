"""Subjects of operators whose output elements depend on the inputs' elements at the same position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.conformance.limits import EXACT, Expected, Limit
from dml.conformance.parameters import Choice, enumerators, sizes, tensor, types_of
from dml.conformance.references.activations import attributes_of
from dml.conformance.references.elementwise import exact, scaled, typed_limits
from dml.conformance.references.whole import wrapped
from dml.conformance.subject import Inputs, Subject, subject
from dml.conformance.values import Values, integer_range, is_float
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALE_BIAS, broadcast_strides, numpy_dtype

Array = npt.NDArray[Any]
Tensor = DML_BUFFER_TENSOR_DESC
InputMaker = Callable[[Any, Values], Inputs]

#: One to eight dimensions, sizes of one, primes, and enough elements for several workgroups.
SIZES = sizes("3x5x7", "1", "67", "2x3x1x5", "2x1x2x1x2x1x3x2", "13x331")
#: SIZES and more, with every rank from 1 to 8, for operators of few data types.
ALL_RANKS = SIZES | sizes("2x1x3x2x4", "2x1x2x1x3x3", "1x2x1x2x2x3x2")


def _along(kept: Callable[[int, int], bool]) -> Callable[[Tensor], Tensor]:
    """Return a function that sets a tensor's strides to 0, except along dimensions for which ``kept(axis, rank)``
    holds."""

    def repeat(whole: Tensor) -> Tensor:
        sizes = [size if kept(axis, whole.rank) else 1 for axis, size in enumerate(whole.Sizes)]
        return Tensor(whole.DataType, whole.Sizes, broadcast_strides(sizes, whole.Sizes))

    return repeat


#: How a second input broadcasts by strides of 0: not at all, one number per column, one per row, or a single number.
REPEATED: Mapping[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda whole: whole,
    "row": _along(lambda axis, rank: axis == rank - 1),
    "column": _along(lambda axis, rank: axis < rank - 1),
    "one": _along(lambda axis, rank: False),
}
NO_SCALE: Mapping[str, Any] = {}
#: Powers of two, so that products do not round.
SCALES: Mapping[str, Mapping[str, Any]] = {
    "none": NO_SCALE,
    "0.5x+0.25": {"ScaleBias": DML_SCALE_BIAS(0.5, 0.25)},
    "2x+3": {"ScaleBias": DML_SCALE_BIAS(2.0, 3.0)},
}


def drawn(values: Values, tensor: Tensor, low: float, high: float) -> Array:
    """Draw values from low to high; with ``edges``, half of them come from ``Values.fill``."""
    ordinary = values.between(tensor, low, high)
    if not values.edges:
        return ordinary
    return np.asarray(np.where(values.rng.random(tensor.Sizes) < 0.5, values.fill(tensor), ordinary))


def any_integers(values: Values, tensor: Tensor) -> Array:
    """Draw integers from their type's whole range."""
    kind = numpy_dtype(tensor.DataType)
    return values.rng.integers(*integer_range(kind), tensor.Sizes, dtype=kind, endpoint=True)


def domain(low: float, high: float, *others: tuple[float, float], whole: tuple[int, int] | None = None) -> InputMaker:
    """Return an input generator: floats from low to high; the second, third, ... input from its own range. whole: the
    range of integers; by default half are from -100 to 100 and half from their type's whole range.

    Integers that a ScaleBias changes stay small: narrower types wrap only at the end, and intermediate steps are
    unspecified.
    """
    ranges = [(low, high), *others]

    def inputs(desc: OperatorDesc, values: Values) -> Inputs:
        found = {}
        for index, (name, field) in enumerate(desc.inputs()):
            assert isinstance(field, Tensor)
            if is_float(numpy_dtype(field.DataType)):
                found[name] = drawn(values, field, *ranges[min(index, len(ranges) - 1)])
            elif getattr(desc, "ScaleBias", None) is not None:
                found[name] = values.between(field, -30, 30)
            elif whole is not None:
                found[name] = drawn(values, field, *whole)
            else:
                small, far = drawn(values, field, -100, 100), any_integers(values, field)
                found[name] = np.where(values.rng.random(field.Sizes) < 0.5, small, far)
        return found

    return inputs


def pointwise(
    operator: type[OperatorDesc],
    compute: Callable[..., Any],
    limit: Limit | Callable[[Any], Limit] = EXACT,
    inputs: InputMaker | None = None,
    absolute: Callable[..., Any] | None = None,
    types: str | None = None,
    as_bits: bool = False,
    **parameters: Mapping[str, Any] | str,
) -> Subject:
    """Register an operator.

    compute: its reference, a function of an array per input (float64 or Python integers) and the attributes by name.
    limit: the limit of float results, or a function from a description to it. absolute: an additional error, a function
    of the same arguments. types: the tensor whose data types vary, by default the first one. parameters: fields of the
    description by name; ``output`` names the output if its data type differs from the inputs'. as_bits: the reference
    takes the elements' bits as NumPy's unsigned integers.
    """
    of = types_of(operator, types or next(info.name for info in operator.fields_info if info.is_tensor))
    own = {"type": of, "sizes": ALL_RANKS if len(of) <= 3 else SIZES, **parameters}
    if len(operator.input_names) == 2:
        own["second"] = REPEATED
    (output,) = operator.output_names

    def describe(choice: Choice) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        if "second" in own:
            fields[operator.input_names[1]] = choice.second(tensor(choice.type, choice.sizes))
        if "output" in own:
            fields[output] = tensor(choice.output, choice.sizes)
        for name in parameters.keys() - {"output"}:
            given = getattr(choice, name)
            fields |= given(choice) if callable(given) else given
        return fields

    def reference(desc: OperatorDesc, given: Inputs) -> Expected:
        attributes = typed_limits(attributes_of(desc), given[operator.input_names[0]].dtype)
        see = bits_of if as_bits else exact
        arrays = [see(given[name]) for name in operator.input_names]
        kind = numpy_dtype(getattr(desc, output).DataType)
        with np.errstate(all="ignore"):
            arrays[0] = scaled(arrays[0], attributes.pop("ScaleBias", None), given[operator.input_names[0]].dtype)
            values = np.asarray(compute(*arrays, **attributes))
            if as_bits:
                values = values.view(kind) if values.dtype.itemsize == kind.itemsize else values.astype(kind)
                return Expected(values.astype(np.float64) if kind.kind == "f" else values)
            values = values.astype(np.float64) if kind.kind == "f" else wrapped(values, kind)
            off = 0.0 if absolute is None or kind.kind != "f" else absolute(*arrays, **attributes)
        return (limit if isinstance(limit, Limit) else limit(desc)).expected(values, kind, off)

    return subject(operator, parameters=own, describe=describe, reference=reference, inputs=inputs)


def bits_of(array: Array) -> Array:
    return array.view(f"u{array.dtype.itemsize}")


def attribute_sets(*sets: Mapping[str, float]) -> dict[str, Mapping[str, float]]:
    """Return sets of attributes, labelled by their values: 0.2_0.5."""
    return {"_".join(f"{value:g}" for value in item.values()): item for item in sets}


def modes(field: str, enumeration: Any) -> dict[str, Mapping[str, Any]]:
    """Return {field: enumerator} for each enumerator, by label."""
    return {label: {field: value} for label, value in enumerators(enumeration).items()}
