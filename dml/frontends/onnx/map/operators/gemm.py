"""Matrix products, including Einsum."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

import dml.graph.operations as op
from dml import descriptors as d
from dml.descriptors.base import OperatorDesc
from dml.errors import DMLError
from dml.frontends.meaning.einsum import EinsumOperations, contracted, diagonal, read_equation
from dml.shapes import broadcast_sizes

from ...dtypes import INT32, UINT8, DType
from ...registry import onnx_op
from ..functions import matmul, total
from ..node import OnnxNode, Unsupported
from ..value import OnnxValue, applied, binary, expanded, one, reshape, transpose
from .activation import activated
from .casts import bit_cast


@onnx_op("Gemm")
def gemm(node: OnnxNode) -> OnnxValue:
    a, b, c = node.input(0, least=2), node.input(1, rank=2), node.optional(2)
    transpose_a, transpose_b = bool(node.integer("transA", 0)), bool(node.integer("transB", 0))
    if a.rank > 2:
        a = reshape(a, (a.shape[0], prod(a.shape[1:])))
    m, n = a.shape[1 if transpose_a else 0], b.shape[0 if transpose_b else 1]
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    c = None if c is None or not beta else expanded(c, (m, n))
    if a.dtype.kind in "iu":
        for factor in (alpha, beta):
            fits = factor.is_integer() and np.iinfo(a.dtype).min <= factor <= np.iinfo(a.dtype).max
            node.check(fits, f"alpha and beta must be numbers that {a.dtype} holds, found {factor}")
        result = matmul(transpose(a, (1, 0)) if transpose_a else a, b, transpose_b=transpose_b) * int(alpha)
        return result if c is None else result + c * int(beta)
    return applied(op.gemm, a, (m, n), b, c, transpose_a=transpose_a, transpose_b=transpose_b, alpha=alpha, beta=beta)


def product(a: OnnxValue, b: OnnxValue) -> OnnxValue:
    """Multiply as NumPy's matmul: vectors are rows on the left and columns on the right."""
    left, right = a.rank == 1, b.rank == 1
    a, b = _matrices(a, b)
    if a.shape[-1] != b.shape[-2]:
        raise DMLError(f"matrices of shapes {a.shape} and {b.shape} cannot be multiplied")
    result = matmul(a, b)
    shape = list(result.shape)
    if right:
        shape.pop(-1)
    if left:
        shape.pop(-1 if right else -2)
    return reshape(result, shape)


def _matrices(a: OnnxValue, b: OnnxValue) -> tuple[OnnxValue, OnnxValue]:
    """Return both as matrices: a left vector as a row, a right one as a column."""
    if not a.rank or not b.rank:
        raise DMLError("a matrix product needs tensors of at least rank 1")
    return reshape(a, (1, *a.shape)) if a.rank == 1 else a, reshape(b, (*b.shape, 1)) if b.rank == 1 else b


@onnx_op("MatMul")
def matmul_(node: OnnxNode) -> OnnxValue:
    return product(node.input(0), node.input(1))


@onnx_op("FusedMatMul", "FusedMatMulActivation", "TransposeMatMul", domain="com.microsoft")
def fused_matmul(node: OnnxNode) -> OnnxValue:
    a, b = _turned(node, node.input(0), "A"), _turned(node, node.input(1), "B")
    result, alpha = product(a, b), node.number("alpha", 1.0)
    result = result if alpha == 1.0 else result * alpha
    activation = node.text("activation", "")
    return activated(node, result, activation, "activation_") if activation else result


def _turned(node: OnnxNode, x: OnnxValue, side: str) -> OnnxValue:
    """Transpose as the attributes say: transBatch moves the first dimension before the last; trans swaps the
    last two."""
    order = list(range(x.rank))
    if x.rank > 1 and node.integer(f"transBatch{side}", 0):
        order = [*order[1:-1], order[0], order[-1]]
    if x.rank > 1 and node.integer(f"trans{side}", 0):
        order = [*order[:-2], order[-1], order[-2]]
    return transpose(x, order)


# Integers


def _batched(a: OnnxValue, b: OnnxValue) -> tuple[OnnxValue, OnnxValue, tuple[int, ...]]:
    """Return both operands with equal batches in at most two leading dimensions, and the result's shape."""
    left, right = a.rank == 1, b.rank == 1
    a, b = _matrices(a, b)
    batch = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    result = (*batch, *(() if left else a.shape[-2:-1]), *(() if right else b.shape[-1:]))
    a, b = expanded(a, (*batch, *a.shape[-2:])), expanded(b, (*batch, *b.shape[-2:]))
    if len(batch) > 2:
        a, b = (reshape(x, (prod(batch), *x.shape[-2:])) for x in (a, b))
    return a, b, result


def _parameter(value: OnnxValue | None, matrix: OnnxValue, side: str) -> OnnxValue | None:
    """Return a scale or zero point in the rank of ``matrix``: it has one element, or one per row (side "a") or column
    ("b")."""
    if value is None:
        return None
    ones = (1,) * (matrix.rank - 2)
    if value.size == 1:
        return reshape(value, (*ones, 1, 1))
    wanted = matrix.shape[-2] if side == "a" else matrix.shape[-1]
    if value.size != wanted:
        raise Unsupported(f"scales and zero points of shape {value.shape} for {matrix.shape} are not mapped")
    return reshape(value, (*ones, wanted, 1) if side == "a" else (*ones, 1, wanted))


def _of_integers(
    cls: type[OperatorDesc], a: OnnxValue, b: OnnxValue, shape: tuple[int, ...], dtype: DType, **fields: Any
) -> OnnxValue:
    """Multiply ``_batched`` matrices of integers. shape: the result's."""
    return reshape(one(cls, a, (*a.shape[:-1], b.shape[-1]), dtype, ATensor=a, BTensor=b, **fields), shape)


@onnx_op("MatMulInteger", since=10)
def matmul_integer(node: OnnxNode) -> OnnxValue:
    a, b, shape = _batched(node.input(0), node.input(1))
    return _of_integers(
        d.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
        a,
        b,
        shape,
        INT32,
        AZeroPointTensor=_parameter(node.optional(2), a, "a"),
        BZeroPointTensor=_parameter(node.optional(3), b, "b"),
    )


@onnx_op("QLinearMatMul", since=10)
def qlinear_matmul(node: OnnxNode) -> OnnxValue:
    a, b, shape = _batched(node.input(0), node.input(3))
    output = node.input(7)
    return _of_integers(
        d.DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC,
        a,
        b,
        shape,
        output.dtype,
        AScaleTensor=_parameter(node.input(1), a, "a"),
        AZeroPointTensor=_parameter(node.input(2), a, "a"),
        BScaleTensor=_parameter(node.input(4), b, "b"),
        BZeroPointTensor=_parameter(node.input(5), b, "b"),
        OutputScaleTensor=_parameter(node.input(6), a, "a"),
        OutputZeroPointTensor=_parameter(output, a, "a"),
    )


@onnx_op("MatMulIntegerToFloat", domain="com.microsoft")
def matmul_integer_to_float(node: OnnxNode) -> OnnxValue:
    return integer_product(
        node.input(0), node.input(1), node.input(2), node.input(3), node.optional(4), node.optional(5), node.optional(6)
    )


def integer_product(
    a: OnnxValue,
    b: OnnxValue,
    a_scale: OnnxValue,
    b_scale: OnnxValue,
    a_zero: OnnxValue | None,
    b_zero: OnnxValue | None,
    bias: OnnxValue | None,
) -> OnnxValue:
    """Return the product of quantized matrices in the scales' type; parameters have one element, or one per row or
    column.

    A bias per column is added.
    """
    if a.dtype != b.dtype:  # the operator needs equal types
        a, a_zero = _unsigned(a, a_zero)
        b, b_zero = _unsigned(b, b_zero)
    a, b, shape = _batched(a, b)
    return _of_integers(
        d.DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC,
        a,
        b,
        shape,
        a_scale.dtype,
        AScaleTensor=_parameter(a_scale, a, "a"),
        AZeroPointTensor=_parameter(a_zero, a, "a"),
        BScaleTensor=_parameter(b_scale, b, "b"),
        BZeroPointTensor=_parameter(b_zero, b, "b"),
        BiasTensor=None if bias is None else expanded(bias, (*a.shape[:-1], b.shape[-1])),
    )


def _unsigned(x: OnnxValue, zero: OnnxValue | None) -> tuple[OnnxValue, OnnxValue | None]:
    """Return quantized numbers and their zero point as UINT8: 128 is added to both if they are signed."""
    if x.dtype == UINT8:
        return x, zero

    def raised(value: OnnxValue) -> OnnxValue:
        return binary(op.bit_xor, bit_cast(value, UINT8), value.filled(128, (), UINT8))

    return raised(x), x.filled(128, (1,), UINT8) if zero is None else raised(zero)


# Einsum


@onnx_op("Einsum", since=12)
def einsum(node: OnnxNode) -> OnnxValue:
    values = node.variadic()
    terms, output = read_equation(node.text("equation", ""), [value.shape for value in values])
    return contracted(list(map(_diagonal, values, terms)), output, _OPERATIONS)


def _diagonal(value: OnnxValue, term: list[str]) -> tuple[OnnxValue, list[str]]:
    if len(set(term)) == len(term):
        return value, term
    labels, sizes, strides = diagonal(term, value.shape, value.tensor.desc.strides)
    return value.with_tensor(value.tensor.view(sizes, strides), sizes), labels


_OPERATIONS: EinsumOperations[OnnxValue] = EinsumOperations(
    sizes=lambda value: value.shape,
    total=lambda value, axes: total(value, axes, keep=False),
    transpose=transpose,
    expanded=expanded,
    reshape=reshape,
    matmul=matmul,
)
