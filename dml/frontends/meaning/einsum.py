"""Einsum: sums of products over labelled dimensions, two operands at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Generic, NamedTuple, TypeVar

from dml.errors import DMLError

_Value = TypeVar("_Value")


class EinsumOperations(NamedTuple, Generic[_Value]):
    """A format's operations on its values. total: sums over axes, which it removes. matmul: multiplies batches of
    matrices, of rank 3."""

    sizes: Callable[[_Value], Sequence[int]]
    total: Callable[[_Value, list[int]], _Value]
    transpose: Callable[[_Value, list[int]], _Value]
    expanded: Callable[[_Value, list[int]], _Value]
    reshape: Callable[[_Value, list[int]], _Value]
    matmul: Callable[[_Value, _Value], _Value]


def read_equation(equation: str, shapes: Sequence[Sequence[int]]) -> tuple[list[list[str]], list[str]]:
    """Return the labels of each operand and of the result; "..." becomes numbers counted from the right."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    sides = left.split(",")
    if len(sides) != len(shapes):
        raise DMLError(f"equation {equation!r} has {len(sides)} operands, found {len(shapes)}")
    terms, widest = [], 0
    for side, shape in zip(sides, shapes, strict=True):
        hidden = len(shape) - len(side.replace("...", ""))
        if hidden < 0 or (hidden and "..." not in side):
            raise DMLError(f"equation {equation!r} does not fit a tensor of shape {tuple(shape)}")
        widest = max(widest, hidden)
        terms.append(_labels(side, hidden))
    if arrow:
        output = _labels(right, widest)
    else:
        counts = [label for term in terms for label in term]
        output = [str(index) for index in range(widest, 0, -1)]
        output += sorted({label for label in counts if counts.count(label) == 1 and not label.isdigit()})
    known = {label for term in terms for label in term}
    if not set(output) <= known or len(set(output)) != len(output):
        raise DMLError(f"equation {equation!r}: its result has labels that no operand has, or one twice")
    return terms, output


def _labels(side: str, hidden: int) -> list[str]:
    before, dots, after = side.partition("...")
    return [*before, *([str(index) for index in range(hidden, 0, -1)] if dots else []), *after]


def diagonal(
    labels: Sequence[str], sizes: Sequence[int], strides: Sequence[int]
) -> tuple[list[str], list[int], list[int]]:
    """Return labels, sizes and strides that read the diagonal of dimensions with the same label: their strides add
    up."""
    once = list(dict.fromkeys(labels))
    axes = [[axis for axis, name in enumerate(labels) if name == label] for label in once]
    for label, some in zip(once, axes, strict=True):
        if len({sizes[axis] for axis in some}) > 1:
            raise DMLError(f"label {label!r} has different sizes in a tensor of shape {tuple(sizes)}")
    return once, [sizes[some[0]] for some in axes], [sum(strides[axis] for axis in some) for some in axes]


def contracted(
    operands: Sequence[tuple[_Value, list[str]]], output: Sequence[str], do: EinsumOperations[_Value]
) -> _Value:
    """Contract operands pairwise: shared dimensions that are needed later are batch dimensions, others are summed."""
    result, labels = operands[0]
    for index, (value, own) in enumerate(operands[1:], 1):
        needed = set(output).union(*(term for _, term in operands[index + 1 :]))
        first = _summed(result, labels, {*own, *needed}, do)
        result, labels = _multiplied(first, _summed(value, own, {*labels, *needed}, do), needed, do)
    result, labels = _summed(result, labels, set(output), do)
    return do.transpose(result, [labels.index(label) for label in output])


def _summed(value: _Value, labels: list[str], kept: set[str], do: EinsumOperations[_Value]) -> tuple[_Value, list[str]]:
    """Sum over the dimensions whose labels are not in ``kept``."""
    axes = [axis for axis, label in enumerate(labels) if label not in kept]
    return (do.total(value, axes), [label for label in labels if label in kept]) if axes else (value, labels)


def _multiplied(
    a: tuple[_Value, list[str]], b: tuple[_Value, list[str]], needed: Iterable[str], do: EinsumOperations[_Value]
) -> tuple[_Value, list[str]]:
    """Multiply two operands and sum over the shared labels that nothing else needs."""
    (_, a_labels), (_, b_labels) = a, b
    sizes: dict[str, int] = {}
    for value, labels in (a, b):
        for label, size in zip(labels, do.sizes(value), strict=False):  # a scalar may be a tensor of one element
            other = sizes.get(label, size)
            if size != other and 1 not in (size, other):
                raise DMLError(f"label {label!r} has the sizes {other} and {size}")
            sizes[label] = max(size, other)
    shared = [label for label in a_labels if label in b_labels]
    batch, inner = [la for la in shared if la in needed], [la for la in shared if la not in needed]
    rows, columns = [la for la in a_labels if la not in shared], [la for la in b_labels if la not in shared]

    def arranged(operand: tuple[_Value, list[str]], first: list[str], second: list[str]) -> _Value:
        value, labels = operand
        order = [*batch, *first, *second]
        moved = do.transpose(value, [labels.index(label) for label in order])
        moved = do.expanded(moved, [sizes[label] for label in order])
        return do.reshape(moved, [prod(sizes[la] for la in part) for part in (batch, first, second)])

    result = do.matmul(arranged(a, rows, inner), arranged(b, inner, columns))
    order = [*batch, *rows, *columns]
    return do.reshape(result, [sizes[label] for label in order]), order
