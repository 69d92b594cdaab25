"""Decompositions of operators that ONNX lacks: sorting and searching, running products, and functions of two
elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

#: Maximum number of comparisons by which values are placed in a sorted sequence.
_COMPARISONS = 1 << 26


def _sort(x: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None) -> tuple[Tensor, Tensor]:
    """Sort by ONNX's TopK, which keeps the order of equal elements: always stable."""
    if not x.dim():
        return x.clone(), torch.zeros_like(x, dtype=torch.int64)
    if x.dtype == torch.bool:
        values, indices = _sort(x.to(torch.uint8), dim, descending)
        return values.to(torch.bool), indices
    values, indices = torch.topk(x, x.shape[dim], dim, descending)
    return values, indices


def _smallest(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the k-th smallest element and its index: kthvalue."""
    if not x.dim():
        return NotImplemented
    value, index = (each.narrow(dim, -1, 1) for each in torch.topk(x, k, dim, False))
    return (value, index) if keepdim else (value.squeeze(dim), index.squeeze(dim))


def _median(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    found = _smallest(x, (x.shape[dim] + 1) // 2, dim, keepdim) if x.dim() else NotImplemented
    if found is NotImplemented or not x.is_floating_point():
        return found
    missing = x.isnan()
    has_nan, first = missing.any(dim, keepdim), missing.to(torch.uint8).argmax(dim, keepdim)
    return torch.where(has_nan, float("nan"), found[0]), torch.where(has_nan, first, found[1])


def _median_of_numbers(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    return NotImplemented if x.is_floating_point() else _median(x, dim, keepdim)


def _median_of_all(x: Tensor) -> Any:
    values: Tensor = torch.median(x.reshape(-1), 0).values
    return values


def _search(
    sequence: Tensor, values: Tensor, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:  # fmt: skip
    """Count the elements of the sorted sequence before each value: searchsorted and bucketize."""
    if sorter is not None or not values.dim() or sequence.shape[-1] * values.numel() > _COMPARISONS:
        return NotImplemented
    first, second = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2), values.unsqueeze(-1)
    before = first <= second if right or side == "right" else first < second
    if second.is_floating_point():  # NaN comes after all numbers
        before = torch.logical_or(before, second.isnan())
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def _bucketize(values: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    return _search(boundaries, values, out_int32=out_int32, right=right)


def _running_product(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    """Multiply by the elements before at distances 1, 2, 4, ..."""
    size = x.shape[dim] if x.dim() else None
    if not isinstance(size, int):
        return NotImplemented
    x = x.to(dtype or (x.dtype if x.is_floating_point() else torch.int64))
    distance = 1
    while distance < size:
        ones = torch.ones_like(x.narrow(dim, 0, distance))
        x = x * torch.cat([ones, x.narrow(dim, 0, size - distance)], dim)
        distance *= 2
    return x


def _without_nan(operator: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a maximum or minimum that ignores a NaN if the other operand is a number."""

    def extremum(a: Tensor, b: Tensor) -> Tensor:
        found = operator(a, b)
        if not found.is_floating_point():
            return found
        return torch.where(a.isnan(), b, torch.where(b.isnan(), a, found))

    return extremum


def _copysign(x: Tensor, sign: Any) -> Tensor:
    if not isinstance(sign, Tensor):
        sign = torch.full((), float(sign))
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    negative = torch.logical_or(sign < 0, torch.logical_and(sign == 0, 1 / sign < 0))
    return torch.where(negative, -x.abs(), x.abs())


def _is_close(a: Tensor, b: Tensor, *_: Any, **__: Any) -> Any:
    """Compare booleans, which the exporter subtracts."""
    return a == b if a.dtype == torch.bool else NotImplemented


def _hypot(a: Tensor, b: Tensor) -> Tensor:
    """Return the length of (a, b); its squares stay within the type's range."""
    largest, smallest = torch.maximum(a.abs(), b.abs()), torch.minimum(a.abs(), b.abs())
    ratio = torch.where(largest == 0, 0, smallest / largest)
    found = largest * (1 + ratio * ratio).sqrt()
    return torch.where(torch.logical_or(a.isinf(), b.isinf()), torch.inf, found)


ORDERED: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.sort.default: _sort,
    torch.ops.aten.sort.stable: _sort,
    torch.ops.aten.kthvalue.default: _smallest,
    torch.ops.aten.median.dim: _median,
    torch.ops.aten.nanmedian.dim: _median_of_numbers,
    torch.ops.aten.median.default: _median_of_all,
    torch.ops.aten.searchsorted.Tensor: _search,
    torch.ops.aten.bucketize.Tensor: _bucketize,
    torch.ops.aten.cumprod.default: _running_product,
    torch.ops.aten.fmax.default: _without_nan(torch.maximum),
    torch.ops.aten.fmin.default: _without_nan(torch.minimum),
    torch.ops.aten.copysign.Tensor: _copysign,
    torch.ops.aten.copysign.Scalar: _copysign,
    torch.ops.aten.isclose.default: _is_close,
    torch.ops.aten.hypot.default: _hypot,
}
