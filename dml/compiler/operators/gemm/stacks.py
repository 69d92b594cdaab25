"""Products with matrices of a stack, which indices on the device choose, as a mixture of experts does."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from dml.compiler.builder import ProgramBuilder
from dml.compiler.operators.gemm.blocks import Blocks, products_of_blocks, stream, streamable, streams
from dml.compiler.operators.gemm.layout import in_eights, readable, transposed, vector_direction
from dml.compiler.operators.gemm.matmul import (
    STACKED,
    ProductFinish,
    StackPart,
    is_half,
    kernel_of,
    matmul,
    multiply,
    sizes_of,
)
from dml.compiler.operators.movement.gather import gather_along
from dml.compiler.parts import boxes, crop, cut, narrow
from dml.compiler.program import Operand
from dml.compiler.selection.gemm import is_better_transposed, is_worth_packing, longest_product, multiplies_on_matrices
from dml.compiler.selection.tiles import TiledProduct, has_any_rows
from dml.enums import DML_TENSOR_DATA_TYPE

#: A part of the stack, the columns of c and of the result that it computes, and the indices of its matrices (None:
#: all).
_Part = tuple[Blocks, Operand | None, Operand, StackPart | None]


def product_of_stack(
    builder: ProgramBuilder,
    a: Operand,
    b: Blocks,
    indices: Operand,
    c: Operand | None,
    result: Operand,
    finish: ProductFinish,
    *,
    data_type: DML_TENSOR_DATA_TYPE,
) -> None:
    """Like ``matmul`` with transposed b, where b is a stack {E, n, k} of matrices (floats, or quantized with scales),
    and ``indices`` {P} chooses a matrix for each batch element.

    Kernels read the chosen matrices in place if sizes and layouts allow it; else the matrices are copied first.

    data_type: of b, or of the dequantized weights.
    """
    c = None if c is None or finish.beta == 0.0 else c.broadcast(result.sizes)
    flat_result, flat_c = _flat(result), c and _flat(c)
    flat_a = _flat(a).broadcast((*flat_result.sizes[:-1], a.sizes[-1]))
    named = {"a": flat_a, "b": transposed(b.numbers), "scales": b.scales, "zeros": b.zeros, "indices": indices}
    named |= {"c": flat_c, "result": flat_result}
    operands = {name: operand for name, operand in named.items() if operand is not None}
    if _binds(builder, operands):
        multiply_in_place = _multiply if b.scales is None else _stream
        if multiply_in_place(builder, operands, b, finish):
            return
    chosen = Blocks(*(_chosen(builder, stack, indices) for stack in (b.numbers, *b.per_block)))
    if b.scales is None:
        wide = transposed(chosen.numbers)
        matmul(builder, flat_a, wide, flat_c, flat_result, finish)
        return
    products_of_blocks(builder, flat_a, chosen, flat_c, flat_result, finish, data_type=data_type)


def _flat(operand: Operand) -> Operand:
    """View an operand whose batch has one dimension above 1 as {P, rows, columns}."""
    *outer, rows, columns = operand.sizes
    axis = max(range(len(outer)), key=outer.__getitem__, default=None)
    size, stride = (1, 0) if axis is None else (outer[axis], operand.strides[axis])
    return operand.view((size, rows, columns), (stride, *operand.strides[-2:]))


def _chosen(builder: ProgramBuilder, stack: Operand, indices: Operand) -> Operand:
    """Return a copy of the chosen matrices {P, n, k}."""
    sizes = (indices.sizes[0], *stack.sizes[1:])
    if not stack.strides[0]:
        return stack.view(sizes, stack.strides)
    copy = builder.temporary(stack.data_type, sizes)
    gather_along(builder, copy, stack, indices.view((1, 1, *indices.sizes), (0, 0, *indices.strides)), 0, 1)
    return copy


def _multiply(builder: ProgramBuilder, operands: dict[str, Operand], b: Blocks, finish: ProductFinish) -> bool:
    """Multiply by floats of the stack if kernels can read them in place; return whether they can."""
    a, result = operands["a"], operands["result"]
    target, (m, n), k = builder.target, result.sizes[-2:], a.sizes[-1]
    on_matrices = is_half(a) and is_half(b.numbers) and multiplies_on_matrices(target, m, n, k)
    is_packed = vector_direction(b.numbers, count=8 if on_matrices else 4) is not None
    if is_better_transposed(target, sizes_of(operands)):
        return False
    if not is_packed and (on_matrices or is_worth_packing(target, m, known=False)):
        return False
    kernel = kernel_of(target, operands, in_eights=on_matrices)
    parts = list(_parts(builder, b, operands.get("c"), result))
    in_parts = isinstance(kernel, TiledProduct)
    if not parts or (len(parts) > 1 and not in_parts) or k > longest_product(target, kernel):
        return False
    if on_matrices:
        operands["a"] = in_eights(builder, a)
    elif not has_any_rows(target, sizes_of(operands)):
        operands["a"] = readable(builder, a, uses=n)
    for own, own_c, own_result, stack in parts:
        operands |= {"b": transposed(own.numbers), "result": own_result}
        if own_c is not None:
            operands["c"] = own_c
        multiply(builder, operands, finish, stack=stack)
    return True


def _stream(builder: ProgramBuilder, operands: dict[str, Operand], b: Blocks, finish: ProductFinish) -> bool:
    """Multiply by quantized matrices of the stack if a kernel can read them in place; return whether it can."""
    result = operands["result"]
    if not streams(builder, b, result.sizes[-2]):
        return False
    parts = list(_parts(builder, b, operands.get("c"), result))
    if parts:
        a = streamable(builder, operands["a"])
        for own, own_c, own_result, stack in parts:
            stream(builder, a, own, own_c, own_result, finish, operands["indices"], stack)
    return bool(parts)


def _binds(builder: ProgramBuilder, operands: Mapping[str, Operand]) -> bool:
    """Whether a kernel can bind all operands: there are enough storage buffers, and a (or its copy), c, the result and
    the indices fit one binding each."""
    *outer, k = operands["a"].sizes
    copy = 4 * math.prod(outer) * (k + 8)
    sizes = (operand.region.size for name, operand in operands.items() if name not in STACKED)
    return max(copy, *sizes) <= builder.target.max_region and len(operands) <= builder.target.max_storage_buffers


def _parts(builder: ProgramBuilder, b: Blocks, c: Operand | None, result: Operand) -> Iterator[_Part]:
    """Divide the stack into parts that fit a binding: some of the matrices, or some rows of each. Yield each part with
    the columns of c and of the result that it computes; yield nothing if not even a row fits."""
    most, axes = builder.target.max_region, (0, 1)
    matrices, rows, _ = b.numbers.sizes
    extents = cut([b.numbers, *b.per_block], most, axes)
    for box in boxes((matrices, rows), extents) if extents else ():
        (first, count), columns = box
        own = Blocks(*(crop(narrow(operand, axes, box), most) for operand in (b.numbers, *b.per_block)))
        own_c, own_result = (operand and narrow(operand, (2,), (columns,)) for operand in (c, result))
        assert own_result is not None
        yield own, own_c, own_result, None if count == matrices else StackPart(first, matrices)
