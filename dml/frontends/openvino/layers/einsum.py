"""Einsum: sums of products over labelled dimensions."""

from __future__ import annotations

import dml.graph.operations as op
from dml import enums
from dml.frontends.meaning import integers
from dml.frontends.meaning.einsum import EinsumOperations, contracted, diagonal, read_equation
from dml.frontends.openvino.convert import IrContext, IrValue, layer
from dml.frontends.openvino.sizes import size_rule
from dml.graph.builder import Tensor


@layer("Einsum")
def einsum(c: IrContext) -> IrValue:
    tensors = c.tensors()
    terms, output = read_equation(c.layer.text("equation"), [tensor.sizes for tensor in tensors])
    return contracted(list(map(_diagonal, tensors, terms)), output, _OPERATIONS).reshape(*c.sizes)


@size_rule("Einsum")
def _einsum_sizes(c: IrContext, inputs: list[tuple[int, ...]]) -> tuple[int, ...]:
    terms, output = read_equation(c.layer.text("equation"), inputs)
    size: dict[str, int] = {}
    for term, sizes in zip(terms, inputs, strict=True):
        for label, count in zip(term, sizes, strict=True):
            size[label] = max(size.get(label, 1), count)
    return tuple(size[label] for label in output)


def _diagonal(tensor: Tensor, term: list[str]) -> tuple[Tensor, list[str]]:
    labels, sizes, strides = diagonal(term, tensor.sizes, tensor.desc.strides)
    return (tensor if labels == term else tensor.view(sizes, strides)), labels


def _total(tensor: Tensor, axes: list[int]) -> Tensor:
    sizes = [size for axis, size in enumerate(tensor.sizes) if axis not in axes]
    return op.reduce(tensor, enums.DML_REDUCE_FUNCTION_SUM, axes).reshape(*(sizes or [1]))


#: A scalar is a tensor of one element.
_OPERATIONS: EinsumOperations[Tensor] = EinsumOperations(
    sizes=lambda tensor: tensor.sizes,
    total=_total,
    transpose=lambda tensor, order: tensor.transpose(*order) if len(order) > 1 else tensor,
    expanded=lambda tensor, sizes: tensor.broadcast(sizes) if sizes else tensor,
    reshape=lambda tensor, sizes: tensor.reshape(*(sizes or [1])),
    matmul=integers.matmul,
)
