"""Products of matrices: GEMM, and the product that recurrent, attention and convolution lowerings build on."""

from __future__ import annotations

import math

from dml.compiler.activation import activate
from dml.compiler.builder import Builder, merge_dimensions
from dml.compiler.expression import Expression, Leaf, emit
from dml.compiler.kernel import Bound, Constant, read, write
from dml.compiler.lowering import lowering
from dml.compiler.program import Operand
from dml.compiler.target import Target
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE


def transposed(matrix: Operand) -> Operand:
    """The matrix with its last two dimensions exchanged: another view of the same elements."""
    sizes, strides = matrix.sizes, matrix.strides
    return matrix.view((*sizes[:-2], sizes[-1], sizes[-2]), (*strides[:-2], strides[-1], strides[-2]))


def matmul(
    program: Builder,
    a: Operand,
    b: Operand,
    c: Operand | None,
    result: Operand,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    activation: Expression | None = None,
) -> None:
    """``result = activation(alpha * a x b + beta * c)``, one product of matrices for each batch element.

    a {..., M, K}, b {..., K, N}, c (or None) broadcasting to result {..., M, N}: FLOAT32 or FLOAT16 each, any
    strides; leading dimensions of a and b broadcast to those of result, which may have none. Transposes are strides
    (``transposed``). Sums accumulate in float32 in the order of k. activation: an expression of Leaf(0), the sum.
    """
    batch = result.sizes[:-2]
    a = a.broadcast((*batch, *a.sizes[-2:]))
    b = b.broadcast((*batch, *b.sizes[-2:]))
    operands = {"a": a, "b": b, "result": result}
    if c is not None and beta != 0.0:
        operands["c"] = c.broadcast(result.sizes)
    operands = _merge_batch(operands)
    _general(program, operands, alpha, beta, activation or Leaf(0))


def _merge_batch(operands: dict[str, Operand]) -> dict[str, Operand]:
    """The operands, whose batch dimensions have equal sizes, with those merged; at least one is left."""
    batch = operands["result"].sizes[:-2]
    sizes, strides = merge_dimensions(batch, [operand.strides[:-2] for operand in operands.values()])
    if not sizes:
        sizes, strides = (1,), [(0,)] * len(operands)
    return {
        name: operand.view((*sizes, *operand.sizes[-2:]), (*own, *operand.strides[-2:]))
        for (name, operand), own in zip(operands.items(), strides, strict=True)
    }


def _matrix_code(operands: dict[str, Operand]) -> str:
    """For each operand ``t``: t_batch(at), the index where a batch element's matrix begins, and T_ROW, T_COLUMN."""
    lines = []
    for name, operand in operands.items():
        rank = operand.rank - 2
        terms = " + ".join([f"{name}_BASE"] + [f"at[{d}] * {name}_STRIDE_{d}" for d in range(rank)])
        lines.append(f"uint {name}_batch(uint at[{rank}]) {{ return {terms}; }}")
        lines.append(f"#define {name.upper()}_ROW {name}_STRIDE_{rank}")
        lines.append(f"#define {name.upper()}_COLUMN {name}_STRIDE_{rank + 1}")
    return "\n".join(lines)


def _general(program: Builder, operands: dict[str, Operand], alpha: float, beta: float, finish: Expression) -> None:
    result = operands["result"]
    batch, (m, n), k = result.sizes[:-2], result.sizes[-2:], operands["a"].sizes[-1]
    emitted = emit(finish, ["float"], "finish")
    tile_m, tile_n = min(4, m), min(4, n)
    tensors: dict[str, Bound] = {
        name: write(operand) if name == "result" else read(operand) for name, operand in operands.items()
    }
    constants: dict[str, Constant] = {"M": m, "N": n, "K": k, "BATCH": math.prod(batch), "ALPHA": float(alpha)}
    program.dispatch(
        "gemm/general.comp",
        tensors,
        space=batch,
        count=math.prod(batch) * -(-m // tile_m) * -(-n // tile_n),
        constants={**constants, "BETA": float(beta), **emitted.constants},
        defines={"TILE_M": tile_m, "TILE_N": tile_n, "HAS_C": int("c" in operands)},
        code=_matrix_code(operands) + "\n" + emitted.code,
    )


@lowering(DML_GEMM_OPERATOR_DESC)
def gemm(desc: DML_GEMM_OPERATOR_DESC, program: Builder, target: Target) -> None:
    a, b = program["ATensor"], program["BTensor"]
    if desc.TransA == DML_MATRIX_TRANSFORM_TRANSPOSE:
        a = transposed(a)
    if desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE:
        b = transposed(b)
    matmul(
        program,
        a,
        b,
        program.get("CTensor"),
        program["OutputTensor"],
        alpha=desc.Alpha,
        beta=desc.Beta,
        activation=activate(desc.FusedActivation),
    )
