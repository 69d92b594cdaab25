"""Products of matrices: GEMM, and the product that recurrent, attention and convolution lowerings build on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.activation.softmax import axes_of, softmax
from dml.compiler.operators.elementwise.linear_quantization import difference, quantized
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.compiler.selection import max_steps
from dml.compiler.target import Target
from dml.descriptors.activation import DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC
from dml.descriptors.gemm import (
    DML_GEMM_OPERATOR_DESC,
    DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC,
    DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC,
    DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC,
)
from dml.enums import (
    DML_MATRIX_TRANSFORM_TRANSPOSE,
    DML_TENSOR_DATA_TYPE_FLOAT32,
    DML_TENSOR_DATA_TYPE_INT32,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

#: An operand of which each element is used this often is worth a copy that can be read four elements at a time.
WORTH_PACKING = 32
#: A product of fewer rows than this has its own kernel on GPUs.
NARROW = 16
#: Steps, at most, in which the last few products are made one by one, or invocations' sums meet.
_OTHER_STEPS = 6


def transposed(matrix: Operand) -> Operand:
    """The matrix with its last two dimensions exchanged: another view of the same elements."""
    sizes, strides = matrix.sizes, matrix.strides
    return matrix.view((*sizes[:-2], sizes[-1], sizes[-2]), (*strides[:-2], strides[-1], strides[-2]))


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
    target = builder.target
    if _is_better_transposed(result, target):
        a, b, c, result = transposed(b), transposed(a), c and transposed(c.broadcast(result.sizes)), transposed(result)
    m, n = result.sizes[-2:]
    if target.is_cpu:
        a = _readable(builder, a, n)
        b = _readable(builder, b, m)
    batch = result.sizes[:-2]
    operands = {"a": a.broadcast((*batch, *a.sizes[-2:])), "b": b.broadcast((*batch, *b.sizes[-2:])), "result": result}
    if c is not None and beta != 0.0:
        operands["c"] = c.broadcast(result.sizes)
    operands = _merge_batch(operands)
    for products in _parts(operands, target):
        _sum_of_products(builder, products, alpha, beta, activation or Leaf(0))


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
    most = max(16, (max_steps(target) - _OTHER_STEPS) * _kernel(operands, target).depth // 16 * 16)
    along_k = list(boxes(space[-1:], (min(extents[-1], most),)))

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
        made = dict(product)
        if sums is not None:
            made["c"], beta = sums, 1.0
        if not is_last:
            kind = (
                DML_TENSOR_DATA_TYPE_INT32
                if DATA_TYPES[made["result"].data_type].kind == "int"
                else DML_TENSOR_DATA_TYPE_FLOAT32
            )
            made["result"] = sums = builder.temporary(kind, made["result"].sizes)
        _product(builder, made, alpha, beta, finish if is_last else Leaf(0))


@dataclass(frozen=True)
class Kernel:
    """A kernel and the tile of result that one of its workgroups computes, ``depth`` products of each sum in a step."""

    name: str
    tile: tuple[int, int]
    workgroup: int
    defines: Mapping[str, object]
    depth: int


def _kernel(operands: Mapping[str, Operand], target: Target) -> Kernel:
    if target.is_cpu:
        return _tiled(operands, target)
    return _narrow(operands) if operands["result"].sizes[-2] < NARROW else _shared(operands, target)


def _lanes(target: Target) -> int:
    """Invocations beside each other in a workgroup that shares no memory: what the device runs in step."""
    return max(4, min(32, target.subgroup_size))


def _tile_costs(m: int, n: int, batch: int, target: Target) -> dict[tuple[int, int], float]:
    """What a product costs on a CPU's driver by the sums that an invocation keeps.

    Reading an element into a register costs some 20 multiplications there, and more than 256 sums no longer stay near.
    """
    lanes = _lanes(target)
    costs = {}
    for tile_m in (1, 2, 4, 8, 16):
        for tile_n in (4, 8, 16):
            groups = batch * -(-m // tile_m) * -(-n // (tile_n * lanes))
            costs[tile_m, tile_n] = max(groups, 8) * (20.0 * (tile_m + tile_n) + tile_m * tile_n)
    return costs


def product_cost(m: int, n: int, batch: int, target: Target) -> float:
    """What a step of k of ``batch`` products costs on a CPU's driver, in multiplications of all lanes at once."""
    return min(_tile_costs(m, n, batch, target).values())


def _is_better_transposed(result: Operand, target: Target) -> bool:
    """Whether the product of the transposes, in the other order, is the one that the kernels do well."""
    m, n = result.sizes[-2:]
    if not target.is_cpu:
        return n < min(m, NARROW)
    batch = math.prod(result.sizes[:-2])
    straight, exchanged = (min(_tile_costs(*sizes, batch, target).values()) for sizes in ((m, n), (n, m)))
    return 1.5 * exchanged < straight


def _tiled(operands: Mapping[str, Operand], target: Target) -> Kernel:
    result = operands["result"]
    m, n = result.sizes[-2:]
    costs = _tile_costs(m, n, math.prod(result.sizes[:-2]), target)
    if quads(operands["a"]) == "column":
        costs = {tile: cost for tile, cost in costs.items() if tile[0] % 4 == 0}
    tile_m, tile_n = min(costs, key=lambda tile: costs[tile])
    lanes = _lanes(target)
    defines = {"TILE_M": f"{tile_m}u", "TILE_N": f"{tile_n}u"}
    return Kernel("gemm/tiled.comp", (tile_m, tile_n * lanes), lanes, defines, 4)


def _narrow(operands: Mapping[str, Operand]) -> Kernel:
    """128 invocations: 32 steps of k beside each other where b is contiguous along k, else 32 columns."""
    m = operands["result"].sizes[-2]
    tile = 1 << (m - 1).bit_length()
    down, across = operands["b"].strides[-2:]
    lanes, slices = (4, 32) if down < across else (32, 4)
    defines = {"TILE_M": f"{tile}u", "LANES": f"{lanes}u", "SLICES": f"{slices}u"}
    defines["K_FIRST"] = str(down < across).lower()
    return Kernel("gemm/narrow.comp", (tile, lanes), lanes * slices, defines, slices)


def _shared(operands: Mapping[str, Operand], target: Target) -> Kernel:
    """Tiles of 128 x 128 where the device takes 256 invocations and the product fills it, else 64 x 64 or 32 x 32."""
    m, n = operands["result"].sizes[-2:]
    batch = math.prod(operands["result"].sizes[:-2])
    tile, fours, step = 32, 1, 16
    if target.max_workgroup_invocations >= 256 and batch * -(-m // 128) * -(-n // 128) >= 128:
        tile, fours, step = 128, 2, 8
    elif batch * -(-m // 64) * -(-n // 64) >= 64:
        tile, fours, step = 64, 2, 16
    defines = {"TILE_M": f"{tile}u", "TILE_N": f"{tile}u", "TILE_K": f"{step}u"}
    defines |= {"FOURS_M": f"{fours}u", "FOURS_N": f"{fours}u"}
    for name, row, along in (("a", False, "A_ALONG_M"), ("b", True, "B_ALONG_N")):
        down, across = operands[name].strides[-2:]
        defines[along] = "true" if (across <= down) == row else "false"
    return Kernel("gemm/shared.comp", (tile, tile), (tile // (4 * fours)) ** 2, defines, 1)


def quads(operand: Operand, *, store: bool = False) -> str | None:
    """The direction, "row" or "column", along which four elements can be read (stored) at once, or None.

    They are neighbours in memory and begin at multiples of four elements. Reading may reach beyond the end of a row,
    never beyond the region.
    """
    *batch, row, column = operand.strides
    *counts, rows, columns = operand.sizes
    last = operand.base + sum((size - 1) * stride for size, stride in zip(operand.sizes, operand.strides, strict=True))
    elements = operand.region.size * 8 // DATA_TYPES[operand.data_type].bits
    outer = [stride for stride, size in zip(batch, counts, strict=True) if size > 1] + [operand.base]
    if DATA_TYPES[operand.data_type].bits < 16 or last // 4 * 4 + 4 > elements:
        return None
    if column == 1 and not any(step % 4 for step in (*outer, row if rows > 1 else 0, columns if store else 0)):
        return "row"
    if row == 1 and rows >= 4 and not store and not any(step % 4 for step in (*outer, column if columns > 1 else 0)):
        return "column"
    return None


def _readable(builder: ProgramBuilder, operand: Operand, uses: int) -> Operand:
    """The operand, or a copy in 32-bit words, read four elements at a time, where each is used often enough."""
    whole_words = DATA_TYPES[operand.data_type].bits == 32
    if uses < WORTH_PACKING or (whole_words and quads(operand) is not None):
        return operand
    if operand.strides[-1] > operand.strides[-2]:
        return transposed(_readable(builder, transposed(operand), uses))
    distinct = tuple(1 if stride == 0 else size for size, stride in zip(operand.sizes, operand.strides, strict=True))
    padded = (*distinct[:-1], -(-distinct[-1] // 4) * 4)
    stage = builder.prepare(operand)
    copy = stage.temporary(operand.data_type if whole_words else DML_TENSOR_DATA_TYPE_FLOAT32, padded)
    copy = copy.view(distinct, packed_strides(padded))
    apply(stage, Leaf(0), copy, [operand.view(distinct, operand.strides)])
    return copy.broadcast(operand.sizes)


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


def matrix_code(operands: Mapping[str, Operand]) -> str:
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
    kernel = _kernel(operands, builder.target)
    result = operands["result"]
    batch, (m, n), k = result.sizes[:-2], result.sizes[-2:], operands["a"].sizes[-1]
    integers = DATA_TYPES[result.data_type].kind == "int"
    emitted = emit(finish, ["int" if integers else "float"], "finish")
    defines: dict[str, object] = {"HAS_C": int("c" in operands), "SUM_IS_INT": int(integers), **kernel.defines}
    tensors = {"c": read(operands["c"])} if "c" in operands else {}
    for name in ("a", "b", "result"):
        operand = operands[name]
        along = quads(operand, store=name == "result")
        wide = along is not None and DATA_TYPES[operand.data_type].bits == 32
        tensors[name] = (write if name == "result" else read)(operand, vector=wide)
        defines[f"{name.upper()}_ALONG"] = (along or "nowhere").upper()
        defines[f"{name.upper()}_WIDE"] = int(wide)
        defines[f"{name.upper()}_PAIRS"] = int(along is not None and not wide)
    constants: dict[str, Constant] = {"M": m, "N": n, "BATCH": math.prod(batch), "ALPHA": float(alpha)}
    builder.dispatch(
        kernel.name,
        tensors,
        space=batch,
        groups=math.prod(batch) * -(-m // kernel.tile[0]) * -(-n // kernel.tile[1]),
        workgroup=kernel.workgroup,
        constants={**constants, "BETA": float(beta), **emitted.constants},
        defines=defines,
        push={"K": k},  # no constant: drivers would unroll a short loop whose body is long as it is
        code=matrix_code(operands) + "\n" + emitted.code,
        steps=-(-k // kernel.depth) + _OTHER_STEPS,
        each=kernel.depth * math.prod(kernel.tile) // kernel.workgroup,
    )


@lowering(DML_GEMM_OPERATOR_DESC)
def gemm(desc: DML_GEMM_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    a, b, c, result = builder["ATensor"], builder["BTensor"], builder.get("CTensor"), builder["OutputTensor"]
    if desc.TransA == DML_MATRIX_TRANSFORM_TRANSPOSE:
        a = transposed(a)
    if desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE:
        b = transposed(b)
    fused = desc.FusedActivation
    if not isinstance(fused, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC | DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        matmul(builder, a, b, c, result, alpha=desc.Alpha, beta=desc.Beta, activation=activate(fused))
        return
    # Softmax needs whole rows of the product.
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
    matmul(builder, a, b, c, sums, alpha=desc.Alpha, beta=desc.Beta)
    softmax(builder, sums, result, axes_of(fused, result.rank))


# --- integers ---------------------------------------------------------------------------------------------------------


def along_dimension(parameter: Operand, rank: int, axis: int) -> Operand:
    """A scale or zero point as a tensor that broadcasts to ``rank`` dimensions.

    It has one element, or one for each place along ``axis``, in whichever of its dimensions that is.
    """
    (size, stride), *others = sorted(zip(parameter.sizes, parameter.strides, strict=True), reverse=True)
    assert all(other == 1 for other, _ in others), parameter.sizes
    sizes, strides = [1] * rank, [0] * rank
    sizes[axis], strides[axis] = size, stride
    return parameter.view(tuple(sizes), tuple(strides))


def without_zero_point(builder: ProgramBuilder, operand: Operand, zero_point: Operand | None, axis: int) -> Operand:
    """The 8-bit operand as INT32 with its zero point, one or one for each place along ``axis``, taken off."""
    if zero_point is None:
        expression, sources = node("int($x0)", Leaf(0), glsl="int"), [operand]
    else:
        expression = node("int($x0) - int($x1)", Leaf(0), Leaf(1), glsl="int")
        sources = [operand, along_dimension(zero_point, operand.rank, axis)]
    # Rows begin at multiples of four elements, to be read four at a time.
    row = -(-operand.sizes[-1] // 4) * 4
    stage = builder.prepare(*sources)
    copy = stage.temporary(DML_TENSOR_DATA_TYPE_INT32, (*operand.sizes[:-1], row))
    copy = copy.view(operand.sizes, copy.strides)
    apply(stage, expression, copy, sources)
    return copy


def requantize(
    builder: ProgramBuilder,
    sums: Operand,
    scales: tuple[Operand, Operand, Operand],
    zero_point: Operand | None,
    bias: Operand | None,
    result: Operand,
    tensor: DML_BUFFER_TENSOR_DESC,
) -> None:
    """``result = clamp(round((sums + bias) * (scales[0] * scales[1] / scales[2])) + zero_point)``, all broadcasting.

    tensor: the description of result, of an 8-bit type. Rounds to nearest even. The pages ask for what mathematically
    equals quantizing a dequantized product; that the scales make one float32 factor is as ONNX Runtime has it.
    """
    sources = [sums, *scales]
    total: Expression = Leaf(0)
    if bias is not None:
        sources.append(bias)
        total = node("$x0 + $x1", total, Leaf(len(sources) - 1), glsl="int")
    offset: Expression | None = None
    if zero_point is not None:
        sources.append(zero_point)
        offset = Leaf(len(sources) - 1)
    factor = node("divide_nearest($x0 * $x1, $x2)", Leaf(1), Leaf(2), Leaf(3), includes=[MATH])
    rounded = node("roundEven(float($x0) * $x1)", total, factor)
    apply(builder, quantized(tensor, rounded, offset), result, sources)


@lowering(DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC)
def matrix_multiply_integer(desc: DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    a = without_zero_point(builder, builder["ATensor"], builder.get("AZeroPointTensor"), -2)
    b = without_zero_point(builder, builder["BTensor"], builder.get("BZeroPointTensor"), -1)
    matmul(builder, a, b, None, builder["OutputTensor"])


@lowering(DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC)
def quantized_linear_matrix_multiply(
    desc: DML_QUANTIZED_LINEAR_MATRIX_MULTIPLY_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    result = builder["OutputTensor"]
    a = without_zero_point(builder, builder["ATensor"], builder.get("AZeroPointTensor"), -2)
    b = without_zero_point(builder, builder["BTensor"], builder.get("BZeroPointTensor"), -1)
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_INT32, result.sizes)
    matmul(builder, a, b, None, sums)
    scales = (
        along_dimension(builder["AScaleTensor"], result.rank, -2),
        along_dimension(builder["BScaleTensor"], result.rank, -1),
        along_dimension(builder["OutputScaleTensor"], result.rank, -2),
    )
    zero_point = builder.get("OutputZeroPointTensor")
    if zero_point is not None:
        zero_point = along_dimension(zero_point, result.rank, -2)
    requantize(builder, sums, scales, zero_point, None, result, desc.OutputTensor)


@lowering(DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC)
def matrix_multiply_integer_to_float(
    desc: DML_MATRIX_MULTIPLY_INTEGER_TO_FLOAT_OPERATOR_DESC, builder: ProgramBuilder
) -> None:
    def dequantized(which: str, tensor: DML_BUFFER_TENSOR_DESC, axis: int) -> Operand:
        x, scale, zero_point = (builder.get(f"{which}{part}Tensor") for part in ("", "Scale", "ZeroPoint"))
        assert x is not None
        assert scale is not None
        sources = [x, along_dimension(scale, x.rank, axis)]
        if zero_point is not None:
            sources.append(along_dimension(zero_point, x.rank, axis))
        value = difference(tensor, Leaf(0), None if zero_point is None else Leaf(2))
        row = -(-x.sizes[-1] // 4) * 4
        stage = builder.prepare(*sources)
        copy = stage.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (*x.sizes[:-1], row))
        copy = copy.view(x.sizes, copy.strides)
        apply(stage, node("$x0 * $x1", value, Leaf(1)), copy, sources)
        return copy

    a, b = dequantized("A", desc.ATensor, -2), dequantized("B", desc.BTensor, -1)
    matmul(builder, a, b, builder.get("BiasTensor"), builder["OutputTensor"])
