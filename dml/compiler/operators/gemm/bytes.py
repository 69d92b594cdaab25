"""Products of 8-bit integer matrices without conversion, by integer dot products or matrix units.

A byte minus its zero point needs nine bits. So the bytes are multiplied, and the zero points are subtracted from the
sums: the sum of (a - p) * (b - q) is the sum of a * b, minus q times the sum of a, minus p times the sum of (b - q).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.operators.gemm.layout import transposed, vector_direction
from dml.compiler.operators.gemm.matmul import matrix_code, merge_batch
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection.bytes import (
    TERM_ROWS,
    TERM_WORKGROUP,
    VECTOR,
    ByteKernel,
    ByteMatrixProduct,
    DotProduct,
    DotRows,
    TiledBytes,
    byte_kernel,
    finishes_in_a_loop,
    is_better_exchanged,
)
from dml.compiler.selection.devices import loads_ahead
from dml.compiler.target import Target
from dml.enums import DML_TENSOR_DATA_TYPE_INT8, DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_DATA_TYPE_UINT8

#: XOR with it subtracts 128 from each of a word's four bytes.
_FLIP = 0x80808080


@dataclass(frozen=True)
class Bytes:
    """INT8 or UINT8 {..., rows, k}, and its zero point (or None), which broadcasts to {..., rows, 1}."""

    operand: Operand
    point: Operand | None

    @property
    def is_signed(self) -> bool:
        return self.operand.data_type == DML_TENSOR_DATA_TYPE_INT8

    def is_flipped(self, *, signed: bool) -> bool:
        """Whether the kernel flips the highest bit of each byte: to subtract 128 from unsigned bytes for signed
        products, or to add 128 to signed bytes for unsigned products."""
        return signed != self.is_signed

    def has_point(self, *, signed: bool) -> bool:
        """Whether the sums must be corrected for the zero point."""
        return self.point is not None or self.is_flipped(signed=signed)


def multiplies_signed(kernel: ByteKernel, *factors: Bytes) -> bool:
    """Whether the kernel multiplies signed bytes: TiledBytes never, matrix units always, other kernels unless both
    factors are unsigned."""
    if isinstance(kernel, TiledBytes):
        return False
    return isinstance(kernel, ByteMatrixProduct) or any(factor.is_signed for factor in factors)


def product_of_bytes(
    builder: ProgramBuilder,
    a: Bytes,
    b: Bytes,
    result: Operand,
    finish: Expression,
    extra_operands: Sequence[Operand] = (),
) -> bool:
    """Compute ``result = finish(a x b)``; return False if the device has no kernel for it.

    a {..., M, K}, b {..., N, K} (transposed), minus their zero points. finish: an expression of the sum modulo 2^32, an
    int (leaf 0), and of the elements of ``extra_operands``, which broadcast to ``result`` {..., M, N} (leaves 1, 2,
    ...).
    """
    target, (m, n), k = builder.target, result.sizes[-2:], a.operand.sizes[-1]
    if is_better_exchanged(target, m, n):
        a, b, m, n = b, a, n, m
        extra_operands = [transposed(operand.broadcast(result.sizes)) for operand in extra_operands]
        result = transposed(result)
    batch = result.sizes[:-2]
    kernel = byte_kernel(target, m, n, k, math.prod(batch))
    bound = (operand.region.size for operand in (a.operand, b.operand, result, *extra_operands))
    largest = max(*bound, *(math.prod(factor.operand.sizes[:-1]) * _filled(k) for factor in (a, b)))
    if kernel is None or largest > target.max_region:
        return False
    if isinstance(kernel, TiledBytes) and not isinstance(finish, Leaf):
        # Element-wise kernels move vectors.
        sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
        product_of_bytes(builder, a, b, sums, Leaf(0))
        apply(builder, finish, result, [sums, *extra_operands])
        return True
    signed = multiplies_signed(kernel, a, b)
    operands = {"a": lines(builder, a, signed=signed), "b": lines(builder, b, signed=signed)}
    if a.has_point(signed=signed) or b.has_point(signed=signed):
        adds_a, adds_b = b.has_point(signed=signed), a.has_point(signed=signed)
        operands["a_terms"] = row_terms(builder, a, operands["a"], signed=signed, adds=adds_a, less=0)
        operands["b_terms"] = row_terms(builder, b, operands["b"], signed=signed, adds=adds_b, less=k)
    for name, operand in operands.items():
        operands[name] = operand.broadcast((*batch, *operand.sizes[-2:]))
    operands["result"] = result
    operands |= {f"extra{index}": operand.broadcast(result.sizes) for index, operand in enumerate(extra_operands)}
    operands = merge_batch(operands)
    result = operands["result"]
    fours = vector_direction(result, store=True) == "row"
    row = DATA_TYPES[result.data_type]
    if row.bits < 16:
        fours = result.strides[-1] == 1 and _is_multiple((result.base, result.sizes[-1], *result.strides[:-1]), 4)
    tensors = {name: read(operand, vector=name in ("a", "b")) for name, operand in operands.items()}
    dispatch_bytes(
        builder,
        kernel,
        {**tensors, "result": write(result)},
        result.sizes[:-2],
        (m, n, operands["a"].sizes[-1]),
        code=matrix_code(operands),
        finish=finish,
        flips=(a.is_flipped(signed=signed), b.is_flipped(signed=signed)),
        defines={
            "WINDOWS": 0,
            "STORES": row.per_word if fours else 0,
            "HAS_TERMS": int("a_terms" in operands),
            "DOT_SIGNED": int(signed),
        },
    )
    return True


def dispatch_bytes(
    builder: ProgramBuilder,
    kernel: ByteKernel,
    tensors: Mapping[str, Bound],
    batch: Sequence[int],
    sizes: tuple[int, int, int],
    *,
    code: str,
    finish: Expression,
    flips: tuple[bool, bool],
    defines: Mapping[str, int],
    constants: Mapping[str, Constant] | None = None,
) -> None:
    """Dispatch a kernel of gemm/bytes.glsl over bound tensors; ``finish`` reads those named ``extra0``, ...

    sizes: M, N and K, which is padded. flips: ``is_flipped`` of a and of b.
    """
    m, n, k = sizes
    extra_operands = [name for name in tensors if name.startswith("extra")]
    kinds = [DATA_TYPES[tensors[name].operand.data_type].glsl for name in extra_operands]
    result_type = DATA_TYPES[tensors["result"].operand.computed_type].glsl
    emitted = emit(finish, ["int", *kinds], "finish", result_type)
    loads = [
        f"{name}_load({name}_batch(at) + m * {name.upper()}_ROW + n * {name.upper()}_COLUMN)" for name in extra_operands
    ]
    finished = f"""{result_type} finished(int sum, uint at[RANK], uint m, uint n) {{
    return finish({", ".join(["sum", *loads])});
}}"""
    shader, tile = _kernel_defines(builder.target, kernel)
    is_long = bool(extra_operands) or tensors["result"].operand.epilogue is not None
    builder.dispatch(
        shader,
        tensors,
        space=batch,
        groups=math.prod(batch) * -(-m // kernel.tile[0]) * -(-n // kernel.tile[1]),
        workgroup=kernel.workgroup,
        constants={"M": m, "N": n, "BATCH": math.prod(batch)}
        | {f"{name}_FLIP": _FLIP if flip else 0 for name, flip in zip("AB", flips, strict=True)}
        | dict(constants or {})
        | emitted.constants,
        defines={
            **defines,
            **tile,
            "LONG_FINISH": int(is_long or finishes_in_a_loop(builder.target, defines["STORES"])),
        },
        push={"K": k},  # K is pushed instead of a constant for the reason in gemm/shared.comp
        code="\n".join([code, emitted.code, finished]),
        steps=-(-k // kernel.tile_k) + 6,
        each=kernel.tile_k * math.prod(kernel.tile) // kernel.workgroup // (1 if isinstance(kernel, TiledBytes) else 4),
    )


def _kernel_defines(target: Target, kernel: ByteKernel) -> tuple[str, dict[str, object]]:
    """Return the kernel's shader and the defines of its tile."""
    rows, columns = kernel.tile
    defines: dict[str, object] = {"TILE_M": f"{rows}u", "TILE_N": f"{columns}u", "TILE_K": f"{kernel.tile_k}u"}
    match kernel:
        case TiledBytes():
            return "gemm/bytes_tiled.comp", {**defines, "OWN_N": f"{kernel.columns}u"}
        case DotProduct():
            down, across = kernel.blocks
            blocks = {"FOURS_M": f"{down}u", "FOURS_N": f"{across}u"}
            return "gemm/bytes.comp", {**defines, **blocks, "LOADS_AHEAD": int(loads_ahead(target))}
        case DotRows():
            return "gemm/bytes_rows.comp", {**defines, "LANES": f"{kernel.lanes}u", "SLICES": f"{kernel.slices}u"}
        case ByteMatrixProduct():
            own = {f"SUB_{axis}": f"{size}u" for axis, size in zip("MN", kernel.subgroup_tile, strict=True)}
            shape = {f"MATRIX_{axis}": f"{size}u" for axis, size in zip("MNK", kernel.shape, strict=True)}
            return "gemm/bytes_matrix.comp", {**defines, **own, **shape, "HALF_VECTORS": int(kernel.shape[2] < VECTOR)}


def _is_multiple(numbers: Sequence[int], divisor: int) -> bool:
    return not any(number % divisor for number in numbers)


def _filled(k: int) -> int:
    """Round ``k``, the length of a row in bytes, up to whole vectors."""
    return -(-k // VECTOR) * VECTOR


def lines(builder: ProgramBuilder, factor: Bytes, *, signed: bool) -> Operand:
    """Return the bytes, or a copy, in rows of whole vectors; a copy is padded with bytes that count as zero."""
    operand = factor.operand
    *outer, k = operand.sizes
    steps = [step for step, size in zip(operand.strides, outer, strict=False) if size > 1]
    words = operand.as_type(DML_TENSOR_DATA_TYPE_UINT8)
    if operand.strides[-1] == 1 and _is_multiple((operand.base, k, *steps), VECTOR):
        return words
    distinct = tuple(1 if step == 0 else size for step, size in zip(operand.strides, outer, strict=False))
    stage = builder.prepare(operand)
    filled = _filled(k)
    copy = stage.temporary(DML_TENSOR_DATA_TYPE_UINT8, (*distinct, filled))
    source = words.view((*distinct, k), words.strides)
    if filled == k:
        apply(stage, Leaf(0), copy, [source])
    else:
        padding = 128 if factor.is_flipped(signed=signed) else 0
        constants: dict[str, Constant] = {"K": k, "PAD": padding}
        stage.for_each("gemm/bytes_lines.comp", copy, {"x": source}, constants=constants)
    return copy.broadcast((*outer, filled))


def row_terms(
    builder: ProgramBuilder, factor: Bytes, matrix: Operand, *, signed: bool, adds: bool, less: int
) -> Operand:
    """Return INT32 {..., rows, 2}: the zero point and the sum of each row of the matrix (see gemm/bytes_terms.comp).

    adds: whether the sum is needed, because the other factor has a zero point, which multiplies it.
    """
    *outer, filled = matrix.sizes
    distinct = tuple(1 if step == 0 else size for step, size in zip(matrix.strides, outer, strict=False))
    point = factor.point
    if point is not None:
        point = point.broadcast((*outer, 1)).view(tuple(outer), point.broadcast((*outer, 1)).strides[:-1])
        distinct = tuple(
            1 if step == own == 0 else size
            for step, own, size in zip(matrix.strides, point.strides, outer, strict=False)
        )
        point = point.view(distinct, point.strides)
    rows = matrix.view(distinct, matrix.strides[:-1])
    terms = dispatch_terms(
        builder,
        {"x": read(rows, vector=True)},
        point,
        distinct,
        signed=signed,
        unsigned_bytes=not factor.is_signed,
        constants={"K": filled if adds else 0, "LESS": less},
        defines={"WINDOWS": 0},
        steps=filled // VECTOR if adds else 0,
    )
    return terms.broadcast((*outer, 2))


def dispatch_terms(
    builder: ProgramBuilder,
    tensors: Mapping[str, Bound],
    point: Operand | None,
    sizes: tuple[int, ...],
    *,
    signed: bool,
    unsigned_bytes: bool,
    constants: Mapping[str, Constant],
    defines: Mapping[str, object],
    steps: int,
) -> Operand:
    """Run gemm/bytes_terms.comp over rows of these sizes: INT32 {*sizes, 2}. point: the zero points, of these sizes."""
    sources = [bound.operand for bound in tensors.values()] + ([] if point is None else [point])
    stage = builder.prepare(*sources)
    terms = stage.temporary(DML_TENSOR_DATA_TYPE_INT32, (*sizes, 2))
    stage.dispatch(
        "gemm/bytes_terms.comp",
        {**tensors, **({} if point is None else {"zero": read(point)}), "result": write(terms)},
        space=sizes,
        groups=-(-math.prod(sizes) // TERM_ROWS),
        workgroup=TERM_WORKGROUP,
        constants={
            "FLIP": 0 if unsigned_bytes else _FLIP,
            "POINT_ORIGIN": 128 * (signed + unsigned_bytes - 1) % 2**32,
            **constants,
        },
        defines={**defines, "ROWS": f"{TERM_ROWS}u", "HAS_ZERO": int(point is not None), "DOT_SIGNED": int(signed)},
        steps=-(-steps // (TERM_WORKGROUP // TERM_ROWS)) + 1,
        each=VECTOR,
    )
    return terms
