"""Products with weights of four bits, which stay as they are in memory: what decoding a language model does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.gemm.layout import quads, with_rows_of_fours
from dml.compiler.operators.gemm.matmul import matrix_code, matrix_defines, merge_batch
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection.few_rows import block_product
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT4


@dataclass(frozen=True)
class Blocks:
    """Numbers {n, k} of UINT4 or INT4, packed along k; scales and zero points (or None) {n, blocks}."""

    numbers: Operand
    scales: Operand
    zeros: Operand | None

    @property
    def size(self) -> int:
        """Steps of k in a block."""
        return self.numbers.sizes[1] // self.scales.sizes[1]


def product_of_blocks(
    builder: ProgramBuilder,
    a: Operand,
    b: Blocks,
    c: Operand | None,
    result: Operand,
    *,
    alpha: float,
    beta: float,
    activation: Expression | None,
) -> None:
    """As ``matmul`` with the transposed b; a {..., M, K} and result {..., M, N} have no batch of more than one."""
    m, n = result.sizes[-2:]
    k = a.sizes[-1]
    if quads(a) != "row":
        copy = with_rows_of_fours(builder, DML_TENSOR_DATA_TYPE_FLOAT32, a.sizes)
        apply(builder, Leaf(0), copy, [a])
        a = copy
    operands = {"a": a, "result": result}
    if c is not None and beta != 0.0:
        operands["c"] = c.broadcast(result.sizes)
    operands = merge_batch(operands)
    kernel = block_product(m)
    emitted = emit(activation or Leaf(0), ["float"], "finish")
    tensors = {"c": read(operands["c"])} if "c" in operands else {}
    tensors |= {"scales": read(b.scales), "b": read(b.numbers, vector=True)}
    if b.zeros is not None:
        tensors["zeros"] = read(b.zeros)
    defines: dict[str, object] = {"HAS_C": int("c" in operands), "HAS_ZEROS": int(b.zeros is not None), "SUM_IS_INT": 0}
    eights = a.data_type == DML_TENSOR_DATA_TYPE_FLOAT16 and quads(operands["a"], of=8) == "row"
    for name in ("a", "result"):
        own, wide = matrix_defines(name, operands[name], quads(operands[name], store=name == "result"))
        defines |= own
        tensors[name] = (write if name == "result" else read)(operands[name], vector=wide or (name == "a" and eights))
    constants: dict[str, Constant] = {"M": m, "N": n, "BLOCK_SHIFT": b.size.bit_length() - 1, "ALPHA": float(alpha)}
    builder.dispatch(
        "gemm/blocks.comp",
        tensors,
        space=operands["result"].sizes[:-2],
        groups=math.prod(-(-size // tile) for size, tile in zip((m, n), kernel.tile, strict=True)),
        workgroup=kernel.workgroup,
        constants={**constants, "BETA": float(beta), **emitted.constants},
        defines={
            **defines,
            "B_WIDE": 0,
            "B_PAIRS": 0,
            "IS_SIGNED": int(b.numbers.data_type == DML_TENSOR_DATA_TYPE_INT4),
            "TILE_M": f"{kernel.rows}u",
            "COLUMNS": f"{kernel.columns}u",
            "LANES": f"{kernel.lanes}u",
            "SLICES": f"{kernel.slices}u",
            "NEAR": f"{kernel.near}u",
            "UNROLL": f"{kernel.unroll}u",
            "A_EIGHTS": int(eights),
        },
        push={"K": k},
        code=matrix_code(operands) + "\n" + emitted.code,
        steps=-(-k // kernel.depth) + 16,
        each=kernel.depth * math.prod(kernel.tile) // kernel.workgroup,
    )
