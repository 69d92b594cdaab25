"""Products with weights of 2, 4, 8 and 16 bits that stay as stored, for language models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from dml import enums
from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.gemm.layout import readable, transposed, vector_direction, with_aligned_rows
from dml.compiler.operators.gemm.matmul import (
    ProductFinish,
    StackPart,
    matmul,
    matrix_code,
    matrix_defines,
    merge_batch,
    stack_constants,
    stored_defines,
)
from dml.compiler.operators.gemm.stored import stored_product
from dml.compiler.operators.movement.views import part
from dml.compiler.operators.quantization import dequantize_blocks
from dml.compiler.parts import crop
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Leaf
from dml.compiler.selection.few_rows import VectorProduct
from dml.compiler.selection.stored_weights import (
    VECTOR_BITS,
    block_product,
    columns_in_part,
    keeps_halves,
    rows_in_part,
    streams_blocks,
)


@dataclass(frozen=True)
class Blocks:
    """Weights {..., n, k}: quantized numbers with scales and zero points {..., n or 1, blocks}, or FLOAT16 numbers
    without them."""

    numbers: Operand
    scales: Operand | None = None
    zeros: Operand | None = None

    @property
    def bits(self) -> int:
        return DATA_TYPES[self.numbers.data_type].bits

    @property
    def per_block(self) -> list[Operand]:
        return [operand for operand in (self.scales, self.zeros) if operand is not None]

    @property
    def matrix(self) -> Blocks:
        """The weights as one matrix: their last two dimensions, where all others have size 1."""
        given = [self.numbers, *self.per_block]
        return Blocks(*(operand.view(operand.sizes[-2:], operand.strides[-2:]) for operand in given))

    def elements(self, axis: int, start: int, count: int) -> Blocks:
        """Return the weights of ``count`` batch elements from ``start`` on. axis: the batch dimension of numbers,
        scales and zero points."""
        return Blocks(*rows_of_blocks(self.numbers, self.per_block, start, count, axis))

    def rows(self, start: int, count: int) -> Blocks:
        """Return the weights of some of the product's columns."""
        return Blocks(*rows_of_blocks(self.numbers, self.per_block, start, count))


def rows_of_blocks(
    numbers: Operand, per_block: Sequence[Operand], start: int, count: int, axis: int = 0
) -> list[Operand]:
    """Slice the quantized numbers and the per-block tensors along a dimension. start, count: multiples of the block
    size."""
    taken = [part(numbers, axis, start, count)]
    for each in per_block:
        size = numbers.sizes[axis] // each.sizes[axis]
        # Cropped, since devices with few bindings copy tensors that would take several bindings.
        taken.append(each if each.sizes[axis] == 1 else crop(part(each, axis, start // size, count // size), 0))
    return taken


def products_of_blocks(
    builder: ProgramBuilder,
    a: Operand,
    b: Blocks,
    c: Operand | None,
    result: Operand,
    finish: ProductFinish,
    *,
    data_type: enums.DML_TENSOR_DATA_TYPE,
) -> None:
    """Like ``matmul`` with transposed b, for operands of equal rank. One dimension before the last two may have a size
    above 1: a batch, each element with its own weights (those of an expert, for example).

    data_type: the type of the dequantized weights.
    """
    multiply_stored = partial(stream, builder, finish=finish)

    def multiply_widened(a: Operand, b: Blocks, c: Operand | None, result: Operand) -> None:
        wide = transposed(_widened(builder, b, data_type))
        matmul(builder, a, wide, c, result, finish)

    c = None if c is None or finish.beta == 0.0 else c.broadcast(result.sizes)
    if b.scales is not None and stored_product(builder, a, b.numbers, b.scales, b.zeros, c, result, finish):
        return
    batch = max((1, *result.sizes[:-2]))
    if batch == 1:
        _in_parts(builder, a, b.matrix, c, result, multiply_stored, multiply_widened)
        return
    axis = result.sizes.index(batch)
    n, k = b.numbers.sizes[-2:]
    is_streamed = streams(builder, b.elements(axis, 0, 1).matrix, result.sizes[-2])
    step = 1 if is_streamed else rows_in_part(4 * n * k)
    for start in range(0, batch, step):
        count = min(step, batch - start)
        weights = b.elements(axis, start, count)
        own_a, own_result = part(a, axis, start, count), part(result, axis, start, count)
        own_c = c and part(c, axis, start, count)
        if count == 1:
            _in_parts(builder, own_a, weights.matrix, own_c, own_result, multiply_stored, multiply_widened)
        else:
            multiply_widened(own_a, weights, own_c, own_result)


#: Multiplies a by weights, adds c, and writes the result.
_Multiply = Callable[[Operand, Blocks, Operand | None, Operand], None]


def _in_parts(
    builder: ProgramBuilder,
    a: Operand,
    b: Blocks,
    c: Operand | None,
    result: Operand,
    stored: _Multiply,
    wide: _Multiply,
) -> None:
    """Multiply by one matrix of weights, some columns at a time. stored, wide: functions that multiply by these columns
    in stored form, and after dequantization."""
    n, k = b.numbers.sizes
    is_streamed = streams(builder, b, result.sizes[-2])
    # copy a at most once, for all parts
    a = streamable(builder, a) if is_streamed else readable(builder, a, uses=n)
    size, most = (k * b.bits // 8, n * k * b.bits // 8) if is_streamed else (4 * k, None)
    step = columns_in_part(builder.target, size, most)
    for columns, own_result, own_c in _parts(n, step, result, c):
        (stored if is_streamed else wide)(a, b.rows(*columns), own_c, own_result)


def _widened(builder: ProgramBuilder, weights: Blocks, data_type: enums.DML_TENSOR_DATA_TYPE) -> Operand:
    """Return the dequantized weights, in working memory."""
    wide_type = data_type if keeps_halves(builder.target) else enums.DML_TENSOR_DATA_TYPE_FLOAT32
    wide = builder.temporary(wide_type, weights.numbers.sizes)
    if weights.scales is None:
        apply(builder, Leaf(0), wide, [weights.numbers])
    else:
        dequantize_blocks(builder, wide, weights.numbers, weights.per_block)
    return wide


def _parts(
    n: int, step: int, result: Operand, c: Operand | None
) -> Iterator[tuple[tuple[int, int], Operand, Operand | None]]:
    """Yield the first column and the number of columns of each part, with the slices of the result and of c."""
    last = result.rank - 1
    for start in range(0, n, step):
        count = min(step, n - start)
        own = [operand and part(operand, last, start, count) for operand in (result, c)]
        assert own[0] is not None
        yield (start, count), own[0], own[1]


def streams(builder: ProgramBuilder, b: Blocks, m: int) -> bool:
    """Whether a kernel reads the numbers {..., n, k} as stored, in whole vectors."""
    n, k = b.numbers.sizes[-2:]
    of = VECTOR_BITS // b.bits
    *outer, across = b.numbers.strides
    return (
        b.scales is not None
        and b.scales.sizes[-2] == n
        and (b.zeros is None or b.zeros.sizes == b.scales.sizes)
        and across == 1
        and not any(stride % of for stride in (*outer, b.numbers.base))
        and streams_blocks(builder.target, m, n, k, k // b.scales.sizes[-1], b.bits)
    )


def streamable(builder: ProgramBuilder, a: Operand) -> Operand:
    """Return a, or a copy whose rows ``stream`` reads four elements at a time."""
    if vector_direction(a) == "row":
        return a
    copy = with_aligned_rows(builder, enums.DML_TENSOR_DATA_TYPE_FLOAT32, a.sizes)
    apply(builder, Leaf(0), copy, [a])
    return copy


def stream(
    builder: ProgramBuilder,
    a: Operand,
    b: Blocks,
    c: Operand | None,
    result: Operand,
    finish: ProductFinish,
    indices: Operand | None = None,
    stack: StackPart | None = None,
) -> None:
    """Add the dispatch of a product that ``streams``. indices, stack: as for ``multiply``; without them, b is one
    matrix."""
    m, n = result.sizes[-2:]
    k = a.sizes[-1]
    assert b.scales is not None
    block, vector = k // b.scales.sizes[-1], VECTOR_BITS // b.bits
    operands = {"a": a, "result": result}
    if c is not None:
        operands["c"] = c
    operands = merge_batch(operands)
    weights = {"b": transposed(b.numbers), "scales": b.scales, "zeros": b.zeros, "indices": indices}
    operands |= {name: operand for name, operand in weights.items() if operand is not None}
    batch = operands["result"].sizes[:-2]
    kernel = block_product(builder.target, m, b.bits, block)
    emitted = emit(finish.activation, ["float"], "finish")
    tensors = {name: read(operands[name]) for name in operands if name in ("c", "scales", "zeros", "indices")}
    parts = max(1, vector // block)
    whole = parts == 1 or isinstance(kernel, VectorProduct)
    tensors["b"] = read(operands["b"], vector=whole)
    defines: dict[str, object] = {"HAS_C": int("c" in operands), "SUM_IS_INT": 0, **stored_defines(b.numbers, b.zeros)}
    defines |= {"BATCHED": int(indices is not None), "B_IN_PARTS": int(stack is not None)}
    eights = a.data_type == enums.DML_TENSOR_DATA_TYPE_FLOAT16 and vector_direction(operands["a"], count=8) == "row"
    eights = eights and isinstance(kernel, VectorProduct)
    for name in ("a", "result"):
        own, wide = matrix_defines(name, operands[name], vector_direction(operands[name], store=name == "result"))
        defines |= own
        tensors[name] = (write if name == "result" else read)(operands[name], vector=wide or (name == "a" and eights))
    defines |= {
        "PARTS": parts,
        "TILE_M": f"{kernel.rows}u",
        "COLUMNS": f"{kernel.columns}u",
        "LANES": f"{kernel.lanes}u",
    }
    if isinstance(kernel, VectorProduct):
        shader, workgroup, depth, steps = "gemm/blocks.comp", kernel.workgroup, kernel.depth, -(-k // kernel.depth) + 16
        defines |= {
            "SLICES": f"{kernel.slices}u",
            "ADJACENT_SLICES": f"{kernel.adjacent_slices}u",
            "UNROLL": f"{kernel.unroll}u",
        }
        defines["A_EIGHTS"] = int(eights)
    else:
        shader, workgroup, depth = "gemm/blocks_columns.comp", kernel.lanes, vector // parts
        steps = k // depth + k // block
    constants: dict[str, Constant] = {
        "M": m,
        "N": n,
        "BLOCK_SHIFT": block.bit_length() - 1,
        "ALPHA": float(finish.alpha),
    }
    if indices is not None:
        constants |= {"BATCH": math.prod(batch), **stack_constants(stack)}
    builder.dispatch(
        shader,
        tensors,
        space=batch,
        groups=math.prod(batch) * math.prod(-(-size // tile) for size, tile in zip((m, n), kernel.tile, strict=True)),
        workgroup=workgroup,
        constants={**constants, "BETA": float(finish.beta), **emitted.constants},
        defines=defines,
        push={"K": k},
        code=matrix_code(operands, in_parts=stack is not None) + "\n" + emitted.code,
        steps=steps,
        each=depth * math.prod(kernel.tile) // workgroup,
    )
