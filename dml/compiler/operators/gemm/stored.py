"""Products on GPUs that dequantize weights on their way to shared memory, without working memory."""

from __future__ import annotations

import math

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES, WORD_BITS
from dml.compiler.operators.gemm.layout import in_eights, transposed
from dml.compiler.operators.gemm.matmul import ProductFinish, is_half, kernel_of, merge_batch, multiply, sizes_of
from dml.compiler.program import Operand
from dml.compiler.selection.gemm import (
    MatrixProduct,
    SharedProduct,
    is_better_transposed,
    longest_product,
    multiplies_on_matrices,
)
from dml.compiler.selection.stored_weights import loads_blocks


def stored_product(
    builder: ProgramBuilder,
    a: Operand,
    numbers: Operand,
    scales: Operand,
    zeros: Operand | None,
    c: Operand | None,
    result: Operand,
    finish: ProductFinish,
) -> bool:
    """Compute ``result = finish(a x b, c)`` if one dispatch can; return whether it can.

    numbers {..., n, k} of 2, 4 or 8 bits; scales, zeros {..., n or 1, blocks}: b is (numbers - zeros) * scales,
    transposed. Leading dimensions as in ``matmul``; c, if it is added, has the sizes of the result.
    """
    target, (m, n), k = builder.target, result.sizes[-2:], a.sizes[-1]
    blocks = scales.sizes[-1]
    if k % blocks or not loads_blocks(target, m, k // blocks, halves=is_half(a)) or not _is_in_words(numbers):
        return False
    on_matrices = is_half(a) and multiplies_on_matrices(target, m, n, k)
    batch = result.sizes[:-2]
    operands = {"a": a, "b": transposed(numbers), "result": result}
    if c is not None:
        operands["c"] = c
    for name, operand in (("scales", scales), ("zeros", zeros)):
        if operand is not None:
            operands[name] = operand.broadcast((*operand.sizes[:-2], n, blocks))
    if is_better_transposed(target, sizes_of(operands)):
        return False
    kernel = kernel_of(target, operands, in_eights=on_matrices)
    if not isinstance(kernel, SharedProduct | MatrixProduct) or k > longest_product(target, kernel):
        return False
    copy = 2 * math.prod(a.sizes[:-1]) * (k + 8)
    if max(copy, *(operand.region.size for operand in operands.values())) > target.max_region:
        return False
    if on_matrices:
        operands["a"] = in_eights(builder, a)
    operands = {name: operand.broadcast((*batch, *operand.sizes[-2:])) for name, operand in operands.items()}
    multiply(builder, merge_batch(operands), finish)
    return True


def _is_in_words(numbers: Operand) -> bool:
    """Whether the numbers of a column are contiguous and start on a word boundary."""
    per_word = WORD_BITS // DATA_TYPES[numbers.data_type].bits
    *outer, along = numbers.strides
    steps = [stride for size, stride in zip(numbers.sizes[:-1], outer, strict=True) if size > 1]
    return along == 1 and not any(step % per_word for step in (numbers.base, *steps))
