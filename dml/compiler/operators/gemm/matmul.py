"""The product of matrices on which GEMM, recurrences, attention and convolutions build."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.gemm.layout import quads, readable, transposed
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection.gemm import (
    NarrowProduct,
    ProductKernel,
    is_better_transposed,
    longest_product,
    product_kernel,
    product_steps,
)
from dml.compiler.selection.tiles import ProductSizes, TiledProduct, has_any_rows
from dml.compiler.target import Target
from dml.enums import DML_TENSOR_DATA_TYPE, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_INT32
from dml.tensors import packed_strides


def matmul(
    builder: ProgramBuilder,
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

    a {..., M, K}, b {..., K, N}, c (or None) broadcasting to result {..., M, N}: FLOAT32 or FLOAT16 each; or a, b and
    result INT32 without c, alpha and activation (sums modulo 2^32). Any strides: transposes are strides
    (``transposed``). Leading dimensions of a and b broadcast to those of result, which may have none. Sums of floats
    accumulate in float32, in an order that never changes; c is not read where beta is 0. activation: an expression of
    Leaf(0), the sum.
    """
    target, (m, n) = builder.target, result.sizes[-2:]
    if is_better_transposed(target, m, n):
        a, b, c, result = transposed(b), transposed(a), c and transposed(c.broadcast(result.sizes)), transposed(result)
    m, n = result.sizes[-2:]
    if not has_any_rows(target, _sizes_of({"a": a, "b": b, "result": result})):
        a = readable(builder, a, uses=n)
    b = readable(builder, b, uses=m)
    batch = result.sizes[:-2]
    operands = {"a": a.broadcast((*batch, *a.sizes[-2:])), "b": b.broadcast((*batch, *b.sizes[-2:])), "result": result}
    if c is not None and beta != 0.0:
        operands["c"] = c.broadcast(result.sizes)
    operands = _merge_batch(operands)
    for products in _parts(operands, target):
        _sum_of_products(builder, products, alpha, beta, activation or Leaf(0))


def sum_type(result: Operand) -> tuple[str, DML_TENSOR_DATA_TYPE]:
    """In what the sums for a result are kept: the name in GLSL, and the data type."""
    if DATA_TYPES[result.data_type].kind == "int":
        return "int", DML_TENSOR_DATA_TYPE_INT32
    return "float", DML_TENSOR_DATA_TYPE_FLOAT32


def _parts(operands: Mapping[str, Operand], target: Target) -> Iterator[list[Mapping[str, Operand]]]:
    """Parts of the result, each as the products along k that add up to it: what bindings hold and loops take."""
    result = operands["result"]
    space = (*result.sizes, operands["a"].sizes[-1])
    axes = range(len(space))
    # All operands over (batch, m, n, k), still where they do not vary.
    views = {}
    for name, operand in operands.items():
        *batch, down, across = operand.strides
        steps = {"a": (down, 0, across), "b": (0, across, down)}.get(name, (down, across, 0))
        views[name] = operand.view(space, (*batch, *steps))
    extents = space
    if any(operand.region.size > target.max_region for operand in operands.values()):
        # A sum of several products is kept in a temporary of 32 bits.
        sums = words(space, (*packed_strides(result.sizes), 0))
        extents = cut([*views.values(), sums], target.max_region, axes) or space
    along_k = list(boxes(space[-1:], (min(extents[-1], longest_product(target, _kernel(target, operands))),)))

    def part(box: Box) -> dict[str, Operand]:
        *batch, rows, columns, depth = (size for _, size in box)
        shapes = {"a": (rows, depth), "b": (depth, columns)}
        return {
            name: narrow(view, axes, box).view((*batch, *shapes.get(name, (rows, columns))), operands[name].strides)
            for name, view in views.items()
        }

    for box in boxes(space[:-1], extents[:-1]):
        yield [part((*box, *depth)) for depth in along_k]


def _sum_of_products(
    builder: ProgramBuilder, products: Sequence[Mapping[str, Operand]], alpha: float, beta: float, finish: Expression
) -> None:
    """``finish`` of the sum of some products along k and of c: each is added to the one before."""
    sums: Operand | None = None
    for product in products:
        is_last = product is products[-1]
        operands = dict(product)
        result = operands["result"]
        if sums is not None:
            operands["c"], beta = sums, 1.0
        if not is_last:
            operands["result"] = sums = builder.temporary(sum_type(result)[1], result.sizes)
        _product(builder, operands, alpha, beta, finish if is_last else Leaf(0))


def _sizes_of(operands: Mapping[str, Operand]) -> ProductSizes:
    a, b = operands["a"], operands["b"]
    *batch, m, n = operands["result"].sizes
    return ProductSizes(m, n, a.sizes[-1], math.prod(batch), a.is_static, b.is_static)


def _kernel(target: Target, operands: Mapping[str, Operand]) -> ProductKernel:
    sizes = _sizes_of(operands)
    down, across = operands["b"].strides[-2:]
    along_columns = _along(target, "a", operands) == "column"
    return product_kernel(target, sizes, a_along_columns=along_columns, b_along_k=down < across)


def _kernel_defines(kernel: ProductKernel, operands: Mapping[str, Operand]) -> tuple[str, dict[str, object]]:
    """The shader of the kernel, and what its tile is called there."""
    match kernel:
        case TiledProduct():
            return "gemm/tiled.comp", {
                "TILE_M": f"{kernel.rows}u",
                "TILE_N": f"{kernel.columns}u",
                "SHARES_ROWS": int(kernel.shares_rows),
            }
        case NarrowProduct():
            return "gemm/narrow.comp", {
                "TILE_M": f"{kernel.rows}u",
                "LANES": f"{kernel.lanes}u",
                "SLICES": f"{kernel.slices}u",
                "K_FIRST": str(kernel.k_first).lower(),
            }
    defines: dict[str, object] = {"TILE_M": f"{kernel.size}u", "TILE_N": f"{kernel.size}u", "TILE_K": f"{kernel.slab}u"}
    defines |= {"FOURS_M": f"{kernel.blocks}u", "FOURS_N": f"{kernel.blocks}u"}
    for name, row, along in (("a", False, "A_ALONG_M"), ("b", True, "B_ALONG_N")):
        down, across = operands[name].strides[-2:]
        defines[along] = "true" if (across <= down) == row else "false"
    return "gemm/shared.comp", defines


def _along(target: Target, name: str, operands: Mapping[str, Operand]) -> str | None:
    """The direction in which the kernel reads or stores four elements of an operand at once."""
    operand, is_result = operands[name], name == "result"
    whole_words = DATA_TYPES[operand.data_type].bits == 32
    if (name == "a" or (is_result and whole_words)) and has_any_rows(target, _sizes_of(operands)):
        return None
    return quads(operand, store=is_result)


def _merge_batch(operands: Mapping[str, Operand]) -> dict[str, Operand]:
    """The operands, whose batch dimensions have equal sizes, with those merged; at least one is left."""
    batch = operands["result"].sizes[:-2]
    sizes, strides = merge_dimensions(batch, [operand.strides[:-2] for operand in operands.values()])
    if not sizes:
        sizes, strides = (1,), [(0,)] * len(operands)
    return {
        name: operand.view((*sizes, *operand.sizes[-2:]), (*own, *operand.strides[-2:]))
        for (name, operand), own in zip(operands.items(), strides, strict=True)
    }


def _matrix_code(operands: Mapping[str, Operand]) -> str:
    """For each operand ``t``: t_batch(at), the index where a batch element's matrix begins, and T_ROW, T_COLUMN."""
    lines = []
    for name, operand in operands.items():
        rank = operand.rank - 2
        terms = " + ".join([f"{name}_BASE"] + [f"at[{d}] * {name}_STRIDE_{d}" for d in range(rank)])
        lines.append(f"uint {name}_batch(uint at[{rank}]) {{ return {terms}; }}")
        lines.append(f"#define {name.upper()}_ROW {name}_STRIDE_{rank}")
        lines.append(f"#define {name.upper()}_COLUMN {name}_STRIDE_{rank + 1}")
    return "\n".join(lines)


def _product(
    builder: ProgramBuilder, operands: Mapping[str, Operand], alpha: float, beta: float, finish: Expression
) -> None:
    kernel = _kernel(builder.target, operands)
    shader, tile = _kernel_defines(kernel, operands)
    result = operands["result"]
    batch, (m, n), k = result.sizes[:-2], result.sizes[-2:], operands["a"].sizes[-1]
    kind, _ = sum_type(result)
    emitted = emit(finish, [kind], "finish")
    defines: dict[str, object] = {"HAS_C": int("c" in operands), "SUM_IS_INT": int(kind == "int"), **tile}
    tensors = {"c": read(operands["c"])} if "c" in operands else {}
    for name in ("a", "b", "result"):
        operand = operands[name]
        along = _along(builder.target, name, operands)
        wide = along is not None and DATA_TYPES[operand.data_type].bits == 32
        tensors[name] = (write if name == "result" else read)(operand, vector=wide)
        defines[f"{name.upper()}_ALONG"] = (along or "nowhere").upper()
        defines[f"{name.upper()}_WIDE"] = int(wide)
        defines[f"{name.upper()}_PAIRS"] = int(along is not None and not wide)
    constants: dict[str, Constant] = {"M": m, "N": n, "BATCH": math.prod(batch), "ALPHA": float(alpha)}
    builder.dispatch(
        shader,
        tensors,
        space=batch,
        groups=math.prod(batch) * -(-m // kernel.tile[0]) * -(-n // kernel.tile[1]),
        workgroup=kernel.workgroup,
        constants={**constants, "BETA": float(beta), **emitted.constants},
        defines=defines,
        push={"K": k},  # no constant: drivers would unroll a short loop whose body is long as it is
        code=_matrix_code(operands) + "\n" + emitted.code,
        steps=product_steps(kernel, k),
        each=kernel.depth * math.prod(kernel.tile) // kernel.workgroup,
    )
