"""Placeholder arrays for missing inputs, to examine a model without its data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import onnx

from dml.errors import DMLError
from dml.frontends.summary import ValueSummary, symbolic_sizes

from ..dtypes import Array, dtype_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class StandIns:
    """A model's inputs, given or not.

    arrays: all inputs by name. sizes: values of symbolic sizes. assumed: sizes that were not given. ones: inputs that
    are one instead of zero.
    """

    arrays: dict[str, Any]
    sizes: dict[str, int] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()
    ones: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Describe the assumed sizes and how to set them; "" if none was assumed."""
        if not self.assumed:
            return ""
        taken = ", ".join(f"{name}={self.sizes[name]}" for name in self.assumed)
        return f"sizes assumed: {taken} (--size {self.assumed[0]}=NUMBER gives one)"

    def with_assumed(self, error: DMLError) -> DMLError:
        """Add the assumed sizes, which may be the cause, to an error's message."""
        return DMLError("; ".join(filter(None, (error.message, self.words))), error.hresult)


def stand_ins(entries: Iterable[Any], given: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> StandIns:
    """Create zeros for the inputs that are not given.

    entries: the model's inputs (ValueInfoProto). sizes: sizes of symbolic dimensions by name; given arrays have
    precedence, and the others are 1. Raises DMLError for a size that no input has, and the errors of ``zeros``.
    """
    entries = list(entries)
    named = symbolic_sizes(map(value_summary, entries), sizes)
    known = dict(sizes or {})
    for entry in entries:
        shape, found = value_summary(entry).shape or (), getattr(given.get(entry.name), "shape", ())
        if len(found) == len(shape):
            known.update({name: size for name, size in zip(shape, found, strict=True) if isinstance(name, str)})
    taken = {name: known.get(name, 1) for name in named}
    zero = {entry.name: zeros(entry, taken) for entry in entries if entry.name not in given}
    return StandIns({**given, **zero}, taken, tuple(name for name in taken if name not in known))


def tried(stand: StandIns, given: Mapping[str, Any], attempt: Callable[[StandIns], _T]) -> tuple[_T, StandIns]:
    """Return the result of an attempt and the placeholders used: zeros or, if it fails with zeros, ones.

    With zeros, loops have no iterations, so sequences have no items. Raises the first attempt's DMLError, with the
    assumed sizes.
    """
    try:
        return attempt(stand), stand
    except DMLError as error:
        ones = _with_ones(stand, given)
        if ones is not None:
            with suppress(DMLError):
                return attempt(ones), ones
        raise stand.with_assumed(error) from error


def _with_ones(stand: StandIns, given: Mapping[str, Any]) -> StandIns | None:
    """Replace missing single integers and booleans, such as counts and conditions, by one; None if there are none."""
    own = ((name, array) for name, array in stand.arrays.items() if name not in given)
    ones = tuple(name for name, array in own if array.size == 1 and array.dtype.kind in "iub")
    arrays = stand.arrays | {name: np.ones_like(stand.arrays[name]) for name in ones}
    return StandIns(arrays, stand.sizes, stand.assumed, ones) if ones else None


def zeros(entry: Any, sizes: Mapping[str, int]) -> Array:
    """Return zeros for an input, as a broadcast scalar, which takes no memory. sizes: values of symbolic sizes; the
    others are 1.

    Raises DMLError for a type that is not a tensor, has no shape, or is too large.
    """
    value = value_summary(entry)
    if value.shape is None:
        raise DMLError(f"input {entry.name!r} has no shape: it must be given")
    shape = [sizes.get(size, 1) if isinstance(size, str) else size for size in value.shape]
    try:
        return np.broadcast_to(np.zeros((), dtype_of(entry.type.tensor_type.elem_type)), shape)
    except ValueError as error:
        raise DMLError(f"input {entry.name!r}: no array has shape {tuple(shape)}: {error}") from None


def value_summary(entry: Any) -> ValueSummary:
    """Describe an input or output of a model; a size without a name is named by the value and its position, x.0."""
    kind = entry.type
    if not kind.HasField("tensor_type"):
        return ValueSummary(entry.name, (kind.WhichOneof("value") or "unknown").removesuffix("_type"), None)
    tensor = kind.tensor_type
    name = _type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return ValueSummary(entry.name, name, None)
    return ValueSummary(
        entry.name,
        name,
        tuple(
            dim.dim_value
            if dim.HasField("dim_value") and dim.dim_value > 0
            else dim.dim_param or f"{entry.name}.{index}"
            for index, dim in enumerate(tensor.shape.dim)
        ),
    )


def _type_name(number: int) -> str:
    """Return NumPy's name of an ONNX data type: float32."""
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, ValueError, TypeError):
        return f"data type {number}"
