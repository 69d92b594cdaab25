"""The matrix product that GEMM, recurrences, attention and convolutions use."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dml import enums
from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.float_modes import half_arithmetic
from dml.compiler.kernels.kinds import X
from dml.compiler.kernels.prelude import read, write
from dml.compiler.operators.gemm.layout import in_eights, readable, transposed, vector_direction, without_collisions
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf
from dml.compiler.selection import keeps_fours
from dml.compiler.selection.devices import finds_places_first, loads_ahead
from dml.compiler.selection.few_rows import FewMatrixProduct, VectorProduct
from dml.compiler.selection.gemm import (
    MatrixProduct,
    NarrowProduct,
    ProductKernel,
    SharedProduct,
    is_better_transposed,
    longest_product,
    multiplies_on_matrices,
    part_of_k,
    product_kernel,
    product_steps,
)
from dml.compiler.selection.product_tiles import MATRIX_UNITS
from dml.compiler.selection.tiles import ProductSizes, TiledProduct, has_any_rows
from dml.compiler.target import Target
from dml.tensors import packed_strides

#: The operands that are stacks of matrices if the product has indices, which choose a matrix per batch element.
STACKED = ("b", "scales", "zeros")


@dataclass(frozen=True)
class StackPart:
    """The matrices of a stack that one dispatch binds: ``matrices`` of them, from number ``first`` on."""

    first: int
    matrices: int


@dataclass(frozen=True)
class ProductFinish:
    """The result of a product's sums: ``activation(alpha * sum + beta * c)``. activation: an expression of Leaf(0)."""

    alpha: float = 1.0
    beta: float = 1.0
    activation: Expression = X


def matmul(
    builder: ProgramBuilder,
    a: Operand,
    b: Operand,
    c: Operand | None,
    result: Operand,
    finish: ProductFinish = ProductFinish(),
    *,
    one_by_one: bool = False,
    runs: int = 1,
) -> None:
    """Compute ``result = finish(a x b, c)``, one matrix product per batch element.

    a {..., M, K}, b {..., K, N}, c (or None) broadcasting to result {..., M, N}: FLOAT32 or FLOAT16 each; or a, b and
    result INT32 without c and finish (sums modulo 2^32). Strides are arbitrary: transposes are strides
    (``transposed``). Leading dimensions of a and b broadcast to those of result, which may have none. Floating-point
    sums accumulate in float32, in a fixed order; c is not read if beta is 0. one_by_one: the tiled kernel stores
    results one by one even if four are contiguous, so that one kernel serves every n. runs: how often the operator
    computes such products.
    """
    target = builder.target
    if finish.beta == 0.0:
        c = None
    shared = _shared_as_rows(merge_batch(_over_batch(a, b, c, result)))
    if shared is not None:
        a, b, c, result = shared["a"], shared["b"], shared.get("c"), shared["result"]
    if is_better_transposed(target, sizes_of({"a": a, "b": b, "result": result})):
        a, b, c, result = transposed(b), transposed(a), c and transposed(c.broadcast(result.sizes)), transposed(result)
    m, n = result.sizes[-2:]
    if is_half(a) and is_half(b) and multiplies_on_matrices(target, m, n, a.sizes[-1]):
        a, b = in_eights(builder, a), in_eights(builder, b)
    else:
        if not has_any_rows(target, sizes_of({"a": a, "b": b, "result": result})):
            a = readable(builder, a, uses=n)
        b = without_collisions(builder, readable(builder, b, uses=m), uses=m)
    operands = merge_batch(_over_batch(a, b, c, result))
    for products in _parts(operands, target):
        _sum_of_products(builder, products, finish, one_by_one, runs)


def _over_batch(a: Operand, b: Operand, c: Operand | None, result: Operand) -> dict[str, Operand]:
    """Broadcast a product's operands to the result's batch, and c to the result."""
    batch = result.sizes[:-2]
    operands = {"a": a.broadcast((*batch, *a.sizes[-2:])), "b": b.broadcast((*batch, *b.sizes[-2:])), "result": result}
    return operands if c is None else operands | {"c": c.broadcast(result.sizes)}


def _shared_as_rows(operands: dict[str, Operand]) -> dict[str, Operand] | None:
    """Make the innermost batch elements that share b the rows of one product, which reads b once; None if there are
    none, or no strides express the rows."""
    *_, each, rows, _ = operands["result"].sizes
    others = [operand for name, operand in operands.items() if name != "b"]
    if each == 1 or operands["b"].strides[-3] or any(x.strides[-3] != rows * x.strides[-2] for x in others if rows > 1):
        return None

    def folded(name: str, x: Operand) -> Operand:
        (*outer, _, down, across), (*steps, by_element, by_row, last) = x.sizes, x.strides
        if name == "b":
            return x.view((*outer, down, across), (*steps, by_row, last))
        return x.view((*outer, each * rows, across), (*steps, by_row if rows > 1 else by_element, last))

    return {name: folded(name, operand) for name, operand in operands.items()}


def sum_type(result: Operand) -> tuple[str, enums.DML_TENSOR_DATA_TYPE]:
    """Return the type of a result's sums: the GLSL name, and the data type."""
    if DATA_TYPES[result.computed_type].kind == "int":
        return "int", enums.DML_TENSOR_DATA_TYPE_INT32
    return "float", enums.DML_TENSOR_DATA_TYPE_FLOAT32


def _parts(operands: Mapping[str, Operand], target: Target) -> Iterator[list[Mapping[str, Operand]]]:
    """Yield the parts of the result. Each part is a list of products over ranges of k whose sum it is; every product
    fits the bindings and an invocation's loop."""
    result = operands["result"]
    space = (*result.sizes, operands["a"].sizes[-1])
    longest = longest_product(target, kernel_of(target, operands))
    fit = all(operand.region.size <= target.max_region for operand in operands.values())
    if fit and space[-1] <= longest:
        yield [operands]
        return
    axes = range(len(space))
    # All operands over (batch, m, n, k), with stride 0 where they do not vary.
    views = {}
    for name, operand in operands.items():
        *batch, down, across = operand.strides
        steps = {"a": (down, 0, across), "b": (0, across, down)}.get(name, (down, across, 0))
        views[name] = operand.view(space, (*batch, *steps))
    extents = space
    if not fit:
        # The sum of several products is accumulated in a temporary of 32 bits.
        sums = words(space, (*packed_strides(result.sizes), 0))
        extents = cut([*views.values(), sums], target.max_region, axes) or space
    along_k = list(boxes(space[-1:], (min(extents[-1], longest),)))

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
    builder: ProgramBuilder,
    products: Sequence[Mapping[str, Operand]],
    finish: ProductFinish,
    one_by_one: bool,
    runs: int,
) -> None:
    """Compute ``finish`` of the sum of products along k and of c; each product is added to the sum of the previous
    ones."""
    sums: Operand | None = None
    for product in products:
        is_last = product is products[-1]
        operands = dict(product)
        result = operands["result"]
        if sums is not None:
            operands["c"], finish = sums, replace(finish, beta=1.0)
        if not is_last:
            operands["result"] = sums = builder.temporary(sum_type(result)[1], result.sizes)
        own = finish if is_last else replace(finish, activation=Leaf(0))
        multiply(builder, operands, own, one_by_one and is_last, runs=runs)


def sizes_of(operands: Mapping[str, Operand], runs: int = 1) -> ProductSizes:
    a, b = operands["a"], operands["b"]
    *batch, m, n = operands["result"].sizes
    # indices choose different matrices in each run
    b_known = "indices" not in operands and (b.is_static or b.as_weights)
    return ProductSizes(m, n, a.sizes[-1], math.prod(batch), a.is_static, b_known, runs)


def kernel_of(
    target: Target, operands: Mapping[str, Operand], *, in_eights: bool = False, runs: int = 1
) -> ProductKernel:
    """Return a product's kernel. in_eights: a will be copied so that it can be read in vectors of eight."""
    sizes = sizes_of(operands, runs)
    b = operands["b"]
    down, across = b.strides[-2:]
    along_k = down < across
    per_vector = DATA_TYPES[b.data_type].per_vector
    # Kernels dequantize stored numbers to a's data type.
    factors = [operands["a"]] if is_stored(operands) else [operands["a"], b]
    float16 = all(map(is_half, factors))
    read_so = factors[1:] if in_eights else factors
    return product_kernel(
        target,
        sizes,
        a_along_columns=_along(target, "a", operands) == "column",
        b_along_k=along_k,
        b_per_vector=per_vector if vector_direction(b, count=per_vector) == ("column" if along_k else "row") else 0,
        float16=float16,
        halves=float16 and all(vector_direction(factor, count=8) for factor in read_so),
        singles=not any(map(vector_direction, factors)),
        stored=is_stored(operands),
    )


def is_half(operand: Operand) -> bool:
    return operand.data_type == enums.DML_TENSOR_DATA_TYPE_FLOAT16


def is_stored(operands: Mapping[str, Operand]) -> bool:
    """Whether b is quantized, with scales (see stored.py)."""
    return "scales" in operands


def _kernel_defines(
    target: Target, kernel: ProductKernel, operands: Mapping[str, Operand]
) -> tuple[str, dict[str, object]]:
    """Return the kernel's shader and the defines of its tile."""
    match kernel:
        case TiledProduct():
            return "gemm/tiled.comp", {
                "TILE_M": f"{kernel.rows}u",
                "TILE_N": f"{kernel.columns}u",
                "SHARES_ROWS": int(kernel.shares_rows),
                "SUMS_IN_FOURS": int(keeps_fours(target)),
            }
        case NarrowProduct():
            return "gemm/narrow.comp", {
                "TILE_M": f"{kernel.rows}u",
                "LANES": f"{kernel.lanes}u",
                "SLICES": f"{kernel.slices}u",
                "K_FIRST": str(kernel.k_first).lower(),
            }
        case VectorProduct():
            return "gemm/vector.comp", {
                "TILE_M": f"{kernel.rows}u",
                "COLUMNS": f"{kernel.columns}u",
                "LANES": f"{kernel.lanes}u",
                "SLICES": f"{kernel.slices}u",
                "UNROLL": f"{kernel.unroll}u",
                "ADJACENT_SLICES": f"{kernel.adjacent_slices}u",
            }
        case FewMatrixProduct():
            return "gemm/few_matrix.comp", {
                "MATRICES": f"{kernel.matrices}u",
                "SUBGROUPS": f"{kernel.subgroups}u",
                "SLAB": f"{kernel.tile_k}u",
                **{f"MATRIX_{axis}": f"{size}u" for axis, size in zip("MNK", kernel.shape, strict=True)},
            }
        case MatrixProduct():
            return "gemm/cooperative.comp", {
                "TILE_M": f"{kernel.rows}u",
                "TILE_N": f"{kernel.columns}u",
                "TILE_K": f"{kernel.tile_k}u",
                "SUB_M": f"{kernel.subgroup_tile[0]}u",
                "SUB_N": f"{kernel.subgroup_tile[1]}u",
                **{f"MATRIX_{axis}": f"{size}u" for axis, size in zip("MNK", kernel.shape, strict=True)},
                "BAND": f"{kernel.band}u",
            }
    (rows, columns), (down, across) = kernel.tile, kernel.blocks
    defines: dict[str, object] = {"TILE_M": f"{rows}u", "TILE_N": f"{columns}u", "TILE_K": f"{kernel.tile_k}u"}
    defines |= {"FOURS_M": f"{down}u", "FOURS_N": f"{across}u"}
    defines |= {
        "HALF_STEPS": kernel.half_steps,
        "PLACES_FIRST": int(finds_places_first(target)),
        "LOADS_AHEAD": int(loads_ahead(target)),
    }
    for name, row, along in (("a", False, "A_ALONG_M"), ("b", True, "B_ALONG_N")):
        down, across = operands[name].strides[-2:]
        defines[along] = int((across <= down) == row)
    return "gemm/shared.comp", defines


def _may_read_eights(kernel: ProductKernel, name: str) -> bool:
    """Whether the kernel has code to read FLOAT16 steps of k of an operand in vectors of eight."""
    if isinstance(kernel, VectorProduct):
        return name == "a" and kernel.along_k and kernel.per_vector == 8
    return isinstance(kernel, NarrowProduct) and name != "result"


def _each(kernel: ProductKernel) -> int:
    """Return the multiply-adds that an invocation computes per step (``Dispatch.each``)."""
    together = kernel.depth * math.prod(kernel.tile) // kernel.workgroup
    return -(-together // MATRIX_UNITS) if isinstance(kernel, MatrixProduct) else together


def _along(target: Target, name: str, operands: Mapping[str, Operand]) -> str | None:
    """Return the direction in which the kernel reads or stores four elements of an operand at once."""
    operand, is_result = operands[name], name == "result"
    whole_words = DATA_TYPES[operand.data_type].bits == 32
    if (name == "a" or (is_result and whole_words)) and has_any_rows(target, sizes_of(operands)):
        return None
    return vector_direction(operand, store=is_result)


def merge_batch(operands: Mapping[str, Operand]) -> dict[str, Operand]:
    """Merge the batch dimensions, of equal sizes, of the operands; at least one remains."""
    batch = operands["result"].sizes[:-2]
    sizes, strides = merge_dimensions(batch, [operand.strides[:-2] for operand in operands.values()])
    if not sizes:
        sizes, strides = (1,), [(0,)] * len(operands)
    return {
        name: operand.view((*sizes, *operand.sizes[-2:]), (*own, *operand.strides[-2:]))
        for (name, operand), own in zip(operands.items(), strides, strict=True)
    }


def matrix_code(operands: Mapping[str, Operand], *, in_parts: bool = False) -> str:
    """Return, for each operand ``t``, the constants T_ROW and T_COLUMN, and t_batch(at), the index of a batch element's
    matrix.

    With ``indices``, one per batch element, b, its scales and its zero points are stacks of matrices (see stacks.py).
    in_parts: also return b_is_bound(at): whether the bound part of the stack includes a batch element's matrix.
    """
    stacked = STACKED if "indices" in operands else ()
    batch = max(operand.rank for operand in operands.values()) - 2
    lines = _stack_code(in_parts=in_parts) if stacked else []
    for name, operand in operands.items():
        if name == "indices":
            continue
        rank = operand.rank - 2
        terms = [f"{name}_BASE"]
        if name in stacked:
            terms.append(f"stacked(at) * {name}_STRIDE_0")
        else:  # weights without a batch have no such dimensions
            terms += [f"at[{d}] * {name}_STRIDE_{d}" for d in range(rank)]
        lines.append(f"uint {name}_batch(uint at[{rank or batch}]) {{ return {' + '.join(terms)}; }}")
        lines.append(f"#define {name.upper()}_ROW {name}_STRIDE_{rank}")
        lines.append(f"#define {name.upper()}_COLUMN {name}_STRIDE_{rank + 1}")
    return "\n".join(lines)


def _stack_code(*, in_parts: bool) -> list[str]:
    """Return stacked(at), the position of a batch element's matrix in the bound part of the stack."""
    matrices, first = ("STACK_MATRICES", " - STACK_FIRST") if in_parts else ("b_SIZE_0", "")
    lines = [
        '#include "movement/index.glsl"',
        "uint stacked(uint at[1]) {",
        "    uint index;",
        f"    resolve(indices_BASE + at[0] * indices_STRIDE_0, {matrices}, index);",
        f"    return index{first};",
        "}",
    ]
    return [*lines, "bool b_is_bound(uint at[1]) { return stacked(at) < b_SIZE_0; }"] if in_parts else lines


def stack_constants(stack: StackPart | None) -> dict[str, Constant]:
    """Return the constants of ``matrix_code``'s text for a stack that is bound in parts."""
    return {} if stack is None else {"STACK_FIRST": stack.first, "STACK_MATRICES": stack.matrices}


def matrix_defines(name: str, operand: Operand, along: str | None) -> tuple[dict[str, object], bool]:
    """Return the defines that tell gemm/matrix.glsl how to read or, for "result", store a matrix, and whether it is
    bound as vectors.

    along: the direction of four adjacent elements accessed at once.
    """
    wide = along is not None and DATA_TYPES[operand.data_type].bits == 32
    which = name.upper()
    return {
        f"{which}_ALONG": (along or "nowhere").upper(),
        f"{which}_WIDE": int(wide),
        f"{which}_PAIRS": int(along is not None and not wide),
    }, wide


def stored_defines(numbers: Operand, zeros: Operand | None) -> dict[str, object]:
    """Return the defines with which a kernel reads a quantized b."""
    row = DATA_TYPES[numbers.data_type]
    return {
        "B_WIDE": 0,
        "B_PAIRS": 0,
        "BITS": f"{row.bits}u",
        "IS_SIGNED": int(row.kind == "int"),
        "HAS_ZEROS": int(zeros is not None),
    }


def multiply(
    builder: ProgramBuilder,
    operands: Mapping[str, Operand],
    finish: ProductFinish,
    one_by_one: bool = False,
    stack: StackPart | None = None,
    *,
    runs: int = 1,
) -> None:
    """Add one dispatch or, with split-k, one for the partial sums and one that adds them.

    operands: a, b, result, and c if it is added, with one batch dimension at least (``merge_batch``); if b is
    quantized, also its scales and optionally its zeros; if it is a stack {matrices, k, n}, the indices {batch}, and
    which of its matrices are bound (stack; None: all).
    """
    kernel = kernel_of(builder.target, operands, runs=runs)
    result, k = operands["result"], operands["a"].sizes[-1]
    part = part_of_k(kernel, k)
    if part >= k:
        _dispatch(builder, kernel, operands, finish, one_by_one=one_by_one, stack=stack)
        return
    assert stack is None
    split_k = -(-k // part)
    sums = builder.temporary(sum_type(result)[1], (split_k, *result.sizes))
    stride = sums.strides[0]
    first = sums.view(result.sizes, sums.strides[1:])
    products = {name: operand for name, operand in operands.items() if name != "c"} | {"result": first}
    _dispatch(builder, kernel, products, ProductFinish(beta=0.0), split_k, stride)
    _add_parts(builder, first, split_k, stride, operands, finish)


def _add_parts(
    builder: ProgramBuilder,
    first: Operand,
    split_k: int,
    stride: int,
    operands: Mapping[str, Operand],
    finish: ProductFinish,
) -> None:
    kind, _ = sum_type(operands["result"])
    emitted = emit(finish.activation, [kind], "finish")
    builder.for_each(
        "gemm/parts.comp",
        operands["result"],
        {"parts": first, **{name: operand for name, operand in operands.items() if name == "c"}},
        constants={
            "PARTS": split_k,
            "PARTS_STRIDE": stride,
            "ALPHA": float(finish.alpha),
            "BETA": float(finish.beta),
            **emitted.constants,
        },
        defines={"HAS_C": int("c" in operands), "SUM_IS_INT": int(kind == "int")},
        code=emitted.code,
        steps=split_k,
    )


def _dispatch(
    builder: ProgramBuilder,
    kernel: ProductKernel,
    operands: Mapping[str, Operand],
    finish: ProductFinish,
    split_k: int = 1,
    stride: int = 0,
    *,
    one_by_one: bool = False,
    stack: StackPart | None = None,
) -> None:
    """Add the dispatch. split_k: parts of k; the matrix of each part's results starts ``stride`` elements after the
    previous one."""
    shader, tile = _kernel_defines(builder.target, kernel, operands)
    result = operands["result"]
    batch, (m, n), k = result.sizes[:-2], result.sizes[-2:], operands["a"].sizes[-1]
    kind, _ = sum_type(result)
    emitted = emit(finish.activation, [kind], "finish")
    steps = kernel.half_steps if isinstance(kernel, SharedProduct) else 0
    defines: dict[str, object] = {"HAS_C": int("c" in operands), "SUM_IS_INT": int(kind == "int"), **tile}
    if stack is not None:
        defines["B_IN_PARTS"] = 1
    tensors = {name: read(operands[name]) for name in ("c", "scales", "zeros", "indices") if name in operands}
    for name in ("a", "b", "result"):
        operand = operands[name]
        if name == "b" and is_stored(operands):
            tensors[name] = read(operand)
            defines |= {"B_STORED": 1, "B_ALONG": "COLUMN", **stored_defines(operand, operands.get("zeros"))}
            continue
        singly = one_by_one and name == "result" and isinstance(kernel, TiledProduct)
        own, wide = matrix_defines(name, operand, None if singly else _along(builder.target, name, operands))
        defines |= own
        vector = wide or (name == "b" and isinstance(kernel, VectorProduct))
        vector |= name != "result" and isinstance(kernel, MatrixProduct | FewMatrixProduct)
        if _may_read_eights(kernel, name):
            eights = is_half(operand) and vector_direction(operand, count=8) == ("row" if name == "a" else "column")
            defines[f"{name.upper()}_EIGHTS"] = int(eights)
            vector |= eights
        tensors[name] = (write if name == "result" else read)(operand, vector=vector)
    constants: dict[str, Constant] = {"M": m, "N": n, "BATCH": math.prod(batch), "ALPHA": float(finish.alpha)}
    constants |= {"K_PART": part_of_k(kernel, k), "K_PART_STRIDE": stride}
    if is_stored(operands):
        constants["BLOCK"] = k // operands["scales"].sizes[-1]
    constants |= stack_constants(stack)
    builder.dispatch(
        shader,
        tensors,
        space=batch,
        groups=split_k * math.prod(batch) * -(-m // kernel.tile[0]) * -(-n // kernel.tile[1]),
        workgroup=kernel.workgroup,
        constants={**constants, "BETA": float(finish.beta), **emitted.constants},
        defines=defines,
        push={"K": k},  # not a constant: drivers would unroll a short loop, whose body is long already
        code=half_arithmetic(steps) + matrix_code(operands, in_parts=stack is not None) + "\n" + emitted.code,
        steps=product_steps(kernel, k),
        each=_each(kernel),
    )
