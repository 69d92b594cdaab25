"""The rules every operator shares: attribute types, well-formed tensors, capability tables, equality constraints.

References: dml_buffer_tensor_desc, dml-strides, directml-constants, dml-feature-level-history.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from enum import IntEnum
from functools import lru_cache
from math import gcd, prod
from typing import Any

from ..capability import (
    OperatorSupport,
    TensorSupport,
    enumerator_introduced,
    operator_introduced,
    operator_support,
    same_properties,
    short_name,
)
from ..capability.own import takes_type
from ..descriptors import FieldInfo
from ..enums import (
    DML_FEATURE_LEVEL,
    DML_TENSOR_DATA_TYPE,
    DML_TENSOR_DIMENSION_COUNT_MAX,
    DML_TENSOR_DIMENSION_COUNT_MAX1,
    DML_TENSOR_FLAGS,
)
from ..tensors import (
    DML_BUFFER_TENSOR_DESC,
    DML_SCALAR_UNION,
    DML_SCALE_BIAS,
    DML_SIZE_2D,
    ELEMENT_BITS,
    calc_buffer_tensor_size,
    element_bits,
    spanned_elements,
)
from .base import Accepted, Check, rule_of

UINT_MAX = 2**32 - 1
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def check_operator(check: Check) -> None:
    """Check a description: the common rules, then the operator's own."""
    check.attempt(check_available, check)
    check_attributes(check)
    support = supported_tensors(check)
    for info in check.desc.fields_info:
        if info.is_tensor:
            check.attempt(check_tensor_field, check, info, support[info.name])
    check_same(check)
    own_rule = rule_of(type(check.desc))
    if own_rule is not None:
        check.attempt(own_rule, check.desc, check)


def check_available(check: Check) -> None:
    """Require that the feature level has the operator."""
    since = operator_introduced(check.desc.OPERATOR_TYPE)
    if since > check.level:
        check.fail("Type", f"is available from feature level {short_name(since)} on", check.level)


def supported_tensors(check: Check) -> OperatorSupport:
    """Return the operator's capability table at the feature level; for REDUCE, that of its function."""
    support = operator_support(check.desc.OPERATOR_TYPE, check.level, getattr(check.desc, "Function", None))
    if support is None:
        check.fail("Type", "has no capability table at this feature level", check.level)
    return support


# --- attributes ------------------------------------------------------------------------------------------------------


def check_attributes(check: Check) -> None:
    """Require attributes within range, enumerators that exist at the level, and arrays of the right length.

    The description's constructor has checked their types.
    """
    for info in check.desc.fields_info:
        if not info.is_tensor:
            check.attempt(_check_attribute, check, info, getattr(check.desc, info.name))
    check.attempt(_check_counts, check)


def _check_attribute(check: Check, info: FieldInfo, value: Any) -> None:
    if info.enum is not None:
        _check_enumerator(check, info.name, value)
    elif value is not None and info.type in _ATTRIBUTE_CHECKS:
        _ATTRIBUTE_CHECKS[info.type](check, info.name, value)
        if info.name == "Epsilon":  # on all pages it avoids a division by zero, which a negative one could cause
            check.at_least("Epsilon", 0)


def _check_enumerator(check: Check, field: str, value: IntEnum) -> None:
    since = enumerator_introduced(value)
    if since > check.level:
        check.fail(field, f"{value.name} is available from feature level {short_name(since)} on", check.level)


def _uint(check: Check, field: str, value: int) -> None:
    check.that(0 <= value <= UINT_MAX, field, f"must be an integer from 0 to {UINT_MAX}", value)


def _int(check: Check, field: str, value: int) -> None:
    check.that(_INT_MIN <= value <= _INT_MAX, field, f"must be an integer from {_INT_MIN} to {_INT_MAX}", value)


def _size_2d(check: Check, field: str, value: DML_SIZE_2D) -> None:
    for name in ("Width", "Height"):
        size = getattr(value, name)
        check.that(1 <= size <= UINT_MAX, f"{field}.{name}", f"must be an integer from 1 to {UINT_MAX}", size)


#: Fields whose value becomes an output element, where NaN is valid.
_ELEMENTS = frozenset({"PaddingValue", "Value", "OutOfBoundsInputValue"})


def _float(check: Check, field: str, value: float) -> None:
    """Require a number that float32 can hold. The pages say nothing of others: NaN and larger numbers are refused here.

    Infinities are accepted, as a limit without effect or as padding of a maximum. So is a Min above Max, for which the
    pages' max(Min, min(x, Max)) gives Min.
    """
    try:
        struct.pack("<f", value)
    except (OverflowError, struct.error):  # OverflowError: an integer beyond a double
        check.fail(field, "must be an infinity or a number that float32 holds, at most 3.4028235e+38", value)
    _not_nan(check, field, value)


def _not_nan(check: Check, field: str, value: float) -> None:
    check.that(field in _ELEMENTS or not math.isnan(value), field, "must not be NaN", value)


def _scale_bias(check: Check, field: str, value: DML_SCALE_BIAS) -> None:
    _float(check, f"{field}.Scale", value.Scale)
    _float(check, f"{field}.Bias", value.Bias)


def _scalar_union(check: Check, field: str, value: DML_SCALAR_UNION) -> None:
    """Require a scalar of the type that the operator's only DML_TENSOR_DATA_TYPE field names.

    Data types without elements have no scalars; the operator's own rule refuses them.
    """
    (data_type,) = (
        getattr(check.desc, info.name) for info in check.desc.fields_info if info.enum is DML_TENSOR_DATA_TYPE
    )
    if data_type in ELEMENT_BITS:
        _not_nan(check, field, value.value(data_type))


_AttributeCheck = Callable[[Check, str, Any], None]


def _array(item_check: _AttributeCheck) -> _AttributeCheck:
    def check_array(check: Check, field: str, value: tuple[Any, ...]) -> None:
        for index, item in enumerate(value):
            item_check(check, f"{field}[{index}]", item)

    return check_array


#: Checks by field type; other types have no range.
_ATTRIBUTE_CHECKS: dict[str, _AttributeCheck] = {
    "uint": _uint,
    "int": _int,
    "float": _float,
    "uint_array": _array(_uint),
    "int_array": _array(_int),
    "float_array": _array(_float),
    "DML_SCALE_BIAS": _scale_bias,
    "DML_SIZE_2D": _size_2d,
    "DML_SCALAR_UNION": _scalar_union,
}


def _check_counts(check: Check) -> None:
    """Require equal lengths of arrays that share a count."""
    for info in check.desc.fields_info:
        if info.counts is None:
            continue
        count = getattr(check.desc, info.name)
        for other in check.desc.fields_info:
            if other.kind == "attribute" and other.type in ("uint_array", "int_array", "float_array"):
                length = len(getattr(check.desc, other.name))
                check.that(length == count, other.name, f"must have {count} item(s), as {info.counts}", length)


# --- tensors ---------------------------------------------------------------------------------------------------------


def check_tensor_field(check: Check, info: FieldInfo, support: TensorSupport) -> None:
    """Require a mandatory tensor, and well-formed, supported tensors."""
    value = getattr(check.desc, info.name)
    if value is None:
        if not support.optional:
            check.fail(info.name, f"is required at feature level {short_name(check.level)}", None)
        return
    if info.type == "tensor_array":
        if not value:
            check.fail(info.name, "must be a sequence of at least one tensor", value)
        named = [(f"{info.name}[{index}]", tensor) for index, tensor in enumerate(value)]
    else:
        named = [(info.name, value)]
    for field, tensor in named:
        check.attempt(_check_tensor_once, check, field, tensor)
        takes = takes_type(check.desc.OPERATOR_TYPE, info.name, tensor.DataType, support)
        if tensor.rank not in support.dimension_counts or not takes:
            check_support(check, field, tensor, support, takes)
        if info.kind == "output":
            check.attempt(check_output, check, field, tensor)


_accepted: Accepted[tuple[DML_BUFFER_TENSOR_DESC, DML_FEATURE_LEVEL]] = Accepted()


def _check_tensor_once(check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    key = tensor, check.level
    if key not in _accepted:
        check_tensor(check, field, tensor)
        _accepted.add(key)


def check_tensor(check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    """Require a well-formed buffer tensor (dml_buffer_tensor_desc)."""
    _check_enumerator(check, f"{field}.DataType", tensor.DataType)
    if int(tensor.Flags) & ~int(DML_TENSOR_FLAGS.DML_TENSOR_FLAG_OWNED_BY_DML):
        check.fail(f"{field}.Flags", "must be DML_TENSOR_FLAGS", tensor.Flags)
    if tensor.DataType == DML_TENSOR_DATA_TYPE.DML_TENSOR_DATA_TYPE_UNKNOWN:
        check.fail(f"{field}.DataType", "must be a known data type", tensor.DataType)
    _check_shape(check, field, tensor)
    _check_memory(check, field, tensor)


def _check_shape(check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    sizes, strides = tensor.Sizes, tensor.Strides
    if not all(1 <= size <= UINT_MAX for size in sizes):
        check.fail(f"{field}.Sizes", f"must be integers from 1 to {UINT_MAX}", sizes)
    old = check.level < DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_3_0
    most = DML_TENSOR_DIMENSION_COUNT_MAX if old else DML_TENSOR_DIMENSION_COUNT_MAX1
    if not 1 <= len(sizes) <= most:
        rule = f"must be from 1 to {most} at feature level {short_name(check.level)}"
        check.fail(f"{field}.DimensionCount", rule, len(sizes))
    if strides is not None:
        if not all(0 <= stride <= UINT_MAX for stride in strides):
            check.fail(f"{field}.Strides", f"must be integers from 0 to {UINT_MAX}", strides)
        if len(strides) != len(sizes):
            check.fail(f"{field}.Strides", f"must have as many items as Sizes, {len(sizes)}", strides)
    if prod(sizes) > UINT_MAX:
        check.fail(f"{field}.Sizes", f"must not hold more than {UINT_MAX} elements", sizes)
    if strides is not None and spanned_elements(sizes, strides) > UINT_MAX:
        check.fail(f"{field}.Strides", f"must not span more than {UINT_MAX} elements", strides)


def _check_memory(check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    total, alignment = tensor.TotalTensorSizeInBytes, tensor.GuaranteedBaseOffsetAlignment
    least = calc_buffer_tensor_size(tensor.DataType, tensor.Sizes, tensor.Strides)
    if not least <= total < 2**64:
        check.fail(f"{field}.TotalTensorSizeInBytes", f"must be at least {least}, as sizes and strides imply", total)
    if total % 4:
        check.fail(f"{field}.TotalTensorSizeInBytes", "must be a multiple of 4", total)
    element = max(1, element_bits(tensor.DataType) // 8)
    if not 0 <= alignment <= UINT_MAX or (alignment and (alignment < element or alignment & (alignment - 1))):
        rule = f"must be 0 or a power of two of at least the element size, {element}"
        check.fail(f"{field}.GuaranteedBaseOffsetAlignment", rule, alignment)


def check_support(
    check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC, support: TensorSupport, takes: bool
) -> None:
    """Require a dimension count of the capability table, and a data type that the tensor ``takes``."""
    at_level = f"at feature level {short_name(check.level)}"
    sizes = f", {support.sizes_in_words}{' (NCHW)' if support.is_image else ''}" if support.sizes else ""
    check.attempt(check.that, tensor.rank in support.dimension_counts, f"{field}.DimensionCount",
                  f"must be {support.counts_in_words} {at_level}{sizes}", tensor.rank)  # fmt: skip
    check.attempt(check.that, takes, f"{field}.DataType",
                  f"must be one of {support.data_types_in_words} {at_level}", tensor.DataType)  # fmt: skip


def check_output(check: Check, field: str, tensor: DML_BUFFER_TENSOR_DESC) -> None:
    """Refuse outputs that DirectML would own, since every dispatch writes them, and outputs with overlapping
    elements."""
    if tensor.owned_by_dml:
        check.fail(f"{field}.Flags", "must not have DML_TENSOR_FLAG_OWNED_BY_DML on an output", tensor.Flags)
    if tensor.Strides is not None and elements_overlap(tensor.Sizes, tensor.Strides):
        check.fail(f"{field}.Strides", f"must not make elements of an output of sizes {tensor.Sizes} overlap",
                   tensor.Strides)  # fmt: skip


@lru_cache(maxsize=4096)
def elements_overlap(sizes: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether two elements share an index.

    They do exactly if differences d of coordinates, |d[i]| < sizes[i] and not all zero, satisfy sum(d[i] * strides[i])
    == 0. The usual layouts need no search: a stride is 0, there are more elements than indices, or every stride exceeds
    the largest index within one step of it.
    """
    dimensions = sorted(((stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1), reverse=True)
    if any(stride == 0 for stride, _ in dimensions):
        return True
    reaches = [0]  # per dimension, the largest index that the faster ones reach together
    for stride, size in reversed(dimensions):
        reaches.insert(0, reaches[0] + (size - 1) * stride)
    if prod(sizes) > reaches[0] + 1:
        return True
    if all(stride > inside for (stride, _), inside in zip(dimensions, reaches[1:], strict=True)):
        return False
    divisors = [0]  # per dimension, the greatest common divisor of its stride and the faster ones'
    for stride, _ in reversed(dimensions):
        divisors.insert(0, gcd(divisors[0], int(stride)))
    dead: set[tuple[int, int, bool]] = set()

    def cancels(position: int, rest: int, moved: bool) -> bool:
        """Whether differences in the dimensions starting at `position` can sum to -rest."""
        if position == len(dimensions):
            return moved and rest == 0
        state = (position, rest, moved)
        if abs(rest) > reaches[position] or rest % divisors[position] or state in dead:
            return False
        stride, size = dimensions[position]
        inside = reaches[position + 1]
        # Beyond these differences the faster dimensions cannot compensate for this one.
        low = max(-(size - 1) if moved else 0, -((rest + inside) // stride))
        high = min(size - 1, (inside - rest) // stride)
        if any(cancels(position + 1, rest + step * stride, moved or step != 0) for step in range(low, high + 1)):
            return True
        dead.add(state)
        return False

    return cancels(0, 0, False)


def check_same(check: Check) -> None:
    """Require the documented equalities between the tensors present."""
    checks = {"DataType": check.same_data_type, "DimensionCount": check.same_rank, "Sizes": check.same_sizes}
    for same in same_properties(check.desc.OPERATOR_TYPE):
        if not check.is_faulty(*same.tensors):
            for what in same.properties:
                checks[what](*same.tensors)


__all__ = [
    "check_attributes", "check_available", "check_operator", "check_output", "check_same", "check_support",
    "check_tensor", "check_tensor_field", "elements_overlap", "supported_tensors",
]  # fmt: skip
