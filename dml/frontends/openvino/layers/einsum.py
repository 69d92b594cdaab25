"""Einsum: sums of products over labelled dimensions, two operands at a time."""

from __future__ import annotations

from math import prod

import dml.graph.operations as op
from dml import enums
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import size_rule
from dml.graph.builder import Tensor


@layer("Einsum")
def einsum(c: IrContext) -> IrValue:
    """Contract operands pairwise. Shared dimensions that are needed later are batch dimensions; others are summed."""
    tensors = c.tensors()
    terms, output = _equation(c, tensors)
    operands = [_diagonal(tensor, term) for tensor, term in zip(tensors, terms, strict=True)]
    result, labels = operands[0]
    for index, (tensor, own) in enumerate(operands[1:], 1):
        needed = set(output).union(*(term for _, term in operands[index + 1 :]))
        result, labels = _contracted(*_summed(result, labels, {*own, *needed}), tensor, own, needed)
    result, labels = _summed(result, labels, set(output))
    order = [labels.index(label) for label in output]
    return (result.transpose(*order) if len(order) > 1 else result).reshape(*c.sizes)


@size_rule("Einsum")
def _einsum_sizes(c: IrContext, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
    terms, output = _equation(c, c.tensors())
    size: dict[str, int] = {}
    for term, sizes in zip(terms, inputs, strict=True):
        for label, count in zip(term, sizes, strict=True):
            size[label] = max(size.get(label, 1), count)
    return tuple(size[label] for label in output)


def _equation(c: IrContext, tensors: list[Tensor]) -> tuple[list[str], str]:
    """Return the labels of each operand and of the result: letters, and other characters for "...", aligned at the
    right."""
    left, arrow, right = c.layer.text("equation").replace(" ", "").partition("->")
    sides = left.split(",")
    if len(sides) != len(tensors):
        raise c.error(f"equation {left!r} has {len(sides)} operands, found {len(tensors)}")
    hidden = [tensor.rank - len(side.replace("...", "")) for side, tensor in zip(sides, tensors, strict=True)]
    widest = max(0, *hidden)
    dots = [chr(0xE000 + index) for index in range(widest)]
    if any(count < 0 or (count and "..." not in side) for side, count in zip(sides, hidden, strict=True)):
        raise c.error(f"equation {left!r} does not fit tensors of sizes {[tensor.sizes for tensor in tensors]}")
    terms = [side.replace("...", "".join(dots[widest - n :])) for side, n in zip(sides, hidden, strict=True)]
    every = "".join(terms)
    once = sorted(label for label in set(every) if every.count(label) == 1 and label not in dots)
    output = right.replace("...", "".join(dots)) if arrow else "".join([*dots, *once])
    if not set(output) <= set(every) or len(set(output)) != len(output):
        raise c.error(f"equation {left!r}->{right!r}: its result has a label that no operand has, or a label twice")
    return terms, output


def _diagonal(tensor: Tensor, term: str) -> tuple[Tensor, str]:
    """Merge the dimensions of a repeated label: the strides of a diagonal are their sum."""
    labels = "".join(dict.fromkeys(term))
    if labels == term:
        return tensor, term
    axes = [[axis for axis, name in enumerate(term) if name == label] for label in labels]
    strides = [sum(tensor.desc.strides[axis] for axis in some) for some in axes]
    return tensor.view([tensor.sizes[some[0]] for some in axes], strides), labels


def _summed(tensor: Tensor, labels: str, kept: set[str]) -> tuple[Tensor, str]:
    """Sum over the dimensions whose labels are not in ``kept``; return the tensor and its labels."""
    summed = [index for index, label in enumerate(labels) if label not in kept]
    if not summed:
        return tensor, labels
    left = "".join(label for label in labels if label in kept)
    sizes = [tensor.sizes[index] for index in range(tensor.rank) if index not in summed]
    return op.reduce(tensor, enums.DML_REDUCE_FUNCTION_SUM, summed).reshape(*(sizes or [1])), left


def _contracted(a: Tensor, a_labels: str, b: Tensor, b_labels: str, needed: set[str]) -> tuple[Tensor, str]:
    """Multiply two operands and sum over the shared labels that nothing else needs."""
    b, b_labels = _summed(b, b_labels, {*a_labels, *needed})
    size: dict[str, int] = {}
    for tensor, labels in ((a, a_labels), (b, b_labels)):
        for label, count in zip(labels, tensor.sizes, strict=False):
            size[label] = max(size.get(label, 1), count)
    batch = [label for label in a_labels if label in b_labels and label in needed]
    inner = [label for label in a_labels if label in b_labels and label not in needed]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]

    def arranged(tensor: Tensor, labels: str, groups: list[list[str]]) -> Tensor:
        order = [label for group in groups for label in group]
        if len(order) > 1:
            tensor = tensor.transpose(*(labels.index(label) for label in order))
        whole = tensor.broadcast([size[label] for label in order]) if order else tensor
        return whole.reshape(1, *(prod(size[label] for label in group) for group in groups))

    product = op.gemm(arranged(a, a_labels, [batch, rows, inner]), arranged(b, b_labels, [batch, inner, columns]))
    left = "".join([*batch, *rows, *columns])
    return product.reshape(*([size[label] for label in left] or [1])), left
