"""Reductions over any set of axes, of any length: the mechanism.

``reduce`` is what the operators of reduce.py stand on, and other families: normalization, softmax, quantization.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dml.compiler.builder import ProgramBuilder, merge_dimensions
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import read, write
from dml.compiler.parts import Box, boxes, cut, narrow, words
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node, substitute
from dml.compiler.selection.lines import SUM_BLOCK, LineSharing, reduction_sharing
from dml.compiler.target import Target
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides

KERNEL = "reduction/reduce.comp"
REDUCE = "lib/reduce.glsl"
MATH = "lib/math.glsl"
INT64 = "lib/int64.glsl"
VALUE = Leaf(0)


@dataclass(frozen=True)
class Monoid:
    """An associative and commutative combination of accumulators, as GLSL.

    glsl: the accumulator's type. identity: its neutral element. combine: an expression over ``a`` and ``b``.
    pack: the accumulator ``$x0`` as 32-bit words, each a uint expression. unpack: an expression over those words,
    ``$x0``, ``$x1``, ... includes, declare: what these need.
    """

    glsl: str
    identity: str
    combine: str
    pack: tuple[str, ...]
    unpack: str
    includes: tuple[str, ...] = ()
    declare: str = ""


FLOAT_SUM = Monoid("float", "0.0", "a + b", ("floatBitsToUint($x0)",), "uintBitsToFloat($x0)")
FLOAT_PRODUCT = replace(FLOAT_SUM, identity="1.0", combine="a * b")
#: NaN among the elements makes the result NaN.
FLOAT_MAX = replace(FLOAT_SUM, identity="uintBitsToFloat(0xff800000u)", combine="reduce_max(a, b)", includes=(REDUCE,))
FLOAT_MIN = replace(FLOAT_SUM, identity="uintBitsToFloat(0x7f800000u)", combine="reduce_min(a, b)", includes=(REDUCE,))

#: The root of a sum of squares that may leave float32's range where the root does not: the squares of large, medium and
#: small elements are summed apart, each sort scaled. Elements are ``norm_terms``, the outcome ``norm_of``.
NORM = Monoid(
    "vec3",
    "vec3(0.0)",
    "a + b",
    tuple(f"floatBitsToUint($x0.{part})" for part in "xyz"),
    "vec3(uintBitsToFloat($x0), uintBitsToFloat($x1), uintBitsToFloat($x2))",
    includes=("lib/norm.glsl",),
)

_WORD = {"int": "int($x0)", "uint": "$x0"}


def _integer(kind: str, combine: str, identity: str) -> Monoid:
    return Monoid(kind, identity, combine, ("uint($x0)",), _WORD[kind])


def _integer64(combine: str, identity: str) -> Monoid:
    return Monoid("uvec2", identity, combine, ("$x0.x", "$x0.y"), "uvec2($x0, $x1)", includes=(INT64,))


def sum_of(kind: str) -> Monoid:
    """The sum of a kind of value (see DataType); integers wrap."""
    if kind == "float":
        return FLOAT_SUM
    return _integer64("add64(a, b)", "uvec2(0u)") if kind.endswith("64") else _integer(kind, "a + b", "0")


def product_of(kind: str) -> Monoid:
    if kind == "float":
        return FLOAT_PRODUCT
    return _integer64("mul64(a, b)", "uvec2(1u, 0u)") if kind.endswith("64") else _integer(kind, "a * b", "1")


def largest_of(kind: str) -> Monoid:
    if kind == "float":
        return FLOAT_MAX
    if kind.endswith("64"):
        less = "less_i64" if kind == "int64" else "less_u64"
        return _integer64(f"{less}(a, b) ? b : a", "uvec2(0u, 0x80000000u)" if kind == "int64" else "uvec2(0u)")
    return _integer(kind, "max(a, b)", "int(0x80000000u)" if kind == "int" else "0u")


def smallest_of(kind: str) -> Monoid:
    if kind == "float":
        return FLOAT_MIN
    if kind.endswith("64"):
        less = "less_i64" if kind == "int64" else "less_u64"
        greatest = "uvec2(0xffffffffu, 0x7fffffffu)" if kind == "int64" else "uvec2(0xffffffffu)"
        return _integer64(f"{less}(b, a) ? b : a", greatest)
    return _integer(kind, "min(a, b)", "0x7fffffff" if kind == "int" else "0xffffffffu")


def reduce(
    builder: ProgramBuilder,
    monoid: Monoid,
    inputs: Sequence[Operand],
    axes: Sequence[int],
    results: Sequence[tuple[Operand, Expression]],
    element: Expression = VALUE,
    *,
    positional: bool = False,
) -> None:
    """Combine ``element`` over ``axes`` and store expressions of the outcome.

    inputs: operands of any types that broadcast to the sizes of the first. element: what one place contributes, of the
    monoid's type; its leaves are the inputs, and after them the place's row-major number among the reduced axes (with
    ``positional``). results: operands of the first input's sizes, 1 along the axes, with an expression each: leaf 0 is
    the accumulator, leaf i input i, which must not vary along the axes.

    Any length: long reductions to few results take two or more dispatches through a temporary. Float sums run in
    float32 in blocks and trees. Any size: tensors that one binding does not hold are reduced in parts.
    """
    expressions = [expression for _, expression in results]
    operands, kept = _views(inputs, axes, [operand for operand, _ in results], positional)
    sizes, most = operands[0].sizes, builder.target.max_region
    dimensions = range(len(sizes))
    extents = cut(operands, most, dimensions) or sizes
    chunks = list(boxes(sizes[kept:], extents[kept:]))
    if len(chunks) > 1:
        # Each part keeps a partial result of every chunk.
        shape = (*sizes[:kept], len(chunks))
        *outer, inner = packed_strides(shape)
        partial = words((*sizes, len(chunks)), (*outer, *(0 for _ in sizes[kept:]), inner))
        extents = cut([*operands, partial], most, dimensions) or extents
    for box in boxes(sizes[:kept], extents[:kept]):
        part = [narrow(operand, dimensions[:kept], box) for operand in operands]
        plan = _plan(builder.target, part[: len(inputs)], part[len(inputs) :], kept)
        if len(chunks) == 1:
            plan.dispatch(builder, monoid, element, expressions)
        else:
            plan.dispatch_parts(builder, monoid, element, expressions, chunks)


@dataclass(frozen=True)
class _Plan:
    """The operands as (kept dimensions, reduced dimensions), merged, and how the work is shared.

    rows: the numbers of the inputs that do not vary along the reduced dimensions. wide, unit: adjacent results, and
    adjacent reduced elements, that one step of an invocation takes.
    """

    inputs: tuple[Operand, ...]
    results: tuple[Operand, ...]
    kept: int
    rows: frozenset[int]
    wide: int
    unit: int
    sharing: LineSharing

    @property
    def kept_sizes(self) -> tuple[int, ...]:
        return self.inputs[0].sizes[: self.kept]

    def dispatch(
        self,
        builder: ProgramBuilder,
        monoid: Monoid,
        element: Expression,
        finish: Sequence[Expression],
    ) -> None:
        """finish: an expression for each result."""
        count = math.prod(self.kept_sizes)
        steps = math.prod(self.inputs[0].sizes[self.kept :]) // self.unit
        chunk, chunks = self.sharing.cut(steps)
        lanes = self.sharing.lanes
        expressions, targets = finish, self.results
        if chunks > 1:
            expressions = _packed(monoid)
            targets = tuple(builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, (chunks * count,)) for _ in monoid.pack)
        code, constants = self._code(monoid, element, expressions, targets, partial=chunks > 1)
        groups = count // self.wide
        builder.dispatch(
            KERNEL,
            {
                **{f"y{i}": write(operand) for i, operand in enumerate(targets)},
                **{
                    f"x{i}": read(operand, vector=i not in self.rows and self.wide * self.unit > 1)
                    for i, operand in enumerate(self.inputs)
                },
            },
            count=groups * chunks * lanes,
            workgroup=self.sharing.workgroup,
            constants={"RESULTS": groups, "CHUNKS": chunks, "CHUNK": chunk, "STEPS": steps, **constants},
            defines={
                "ACC": monoid.glsl,
                "IDENTITY": monoid.identity,
                "LANES": lanes,
                "WIDE": self.wide,
                "UNIT": self.unit,
                "BLOCK": SUM_BLOCK,
            },
            code=code,
            steps=-(-chunk // lanes),
            each=self.wide * self.unit,
        )
        if chunks > 1:
            sizes, strides = (chunks, *self.kept_sizes), (count, *packed_strides(self.kept_sizes))
            self._combine(builder, monoid, finish, [plane.view(sizes, strides) for plane in targets])

    def dispatch_parts(
        self,
        builder: ProgramBuilder,
        monoid: Monoid,
        element: Expression,
        finish: Sequence[Expression],
        parts: Sequence[Box],
    ) -> None:
        """As ``dispatch``, over parts of the reduced dimensions one by one."""
        sizes = self.inputs[0].sizes[self.kept :]
        axes = range(self.kept, self.kept + len(sizes))
        # What belongs to one result lies together, so that the partial results can be cut by results.
        shape = (*self.kept_sizes, len(parts))
        planes = [builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, shape) for _ in monoid.pack]
        strides = packed_strides(shape)
        leaves = [Leaf(i) for i in range(len(self.inputs))]
        for number, part in enumerate(parts):
            inputs = [narrow(operand, axes, part) for operand in self.inputs]
            one = (*self.kept_sizes, *(1,) * len(sizes)), (*strides[:-1], *(0,) * len(sizes))
            places = [plane.view(*one, number) for plane in planes]
            placed = substitute(element, [*leaves, _position(Leaf(len(leaves)), sizes, part)])
            _plan(builder.target, inputs, places, self.kept).dispatch(builder, monoid, placed, _packed(monoid))
        by_part = (len(parts), *self.kept_sizes), (1, *strides[:-1])
        self._combine(builder, monoid, finish, [plane.view(*by_part) for plane in planes])

    def _combine(
        self,
        builder: ProgramBuilder,
        monoid: Monoid,
        expressions: Sequence[Expression],
        planes: Sequence[Operand],
    ) -> None:
        """Reduce partial results: the same monoid over their words, as (partial results, kept dimensions)."""
        sizes, inputs = planes[0].sizes, list(planes)
        places: list[Expression] = [Leaf(0)] * len(self.inputs)
        for i in sorted(self.rows):
            places[i] = Leaf(len(inputs))
            inputs.append(self.inputs[i].view(sizes, (0, *self.inputs[i].strides[: self.kept])))
        results = [
            (operand.view((1, *self.kept_sizes), (0, *operand.strides[: self.kept])), substitute(expression, places))
            for operand, expression in zip(self.results, expressions, strict=True)
        ]
        words = [Leaf(i) for i in range(len(planes))]
        unpack = node(monoid.unpack, *words, glsl=monoid.glsl)
        reduce(builder, monoid, inputs, (0,), results, unpack)

    def _code(
        self,
        monoid: Monoid,
        element: Expression,
        expressions: Sequence[Expression],
        targets: Sequence[Operand],
        *,
        partial: bool,
    ) -> tuple[str, dict[str, Constant]]:
        types = [DATA_TYPES[operand.data_type].glsl for operand in self.inputs]
        lines = [f'#include "{include}"' for include in monoid.includes]
        if monoid.declare:
            lines.append(monoid.declare)
        lines.append(f"{monoid.glsl} combine({monoid.glsl} a, {monoid.glsl} b) {{ return {monoid.combine}; }}")
        emitted = emit(element, [*types, "uint"], "element", monoid.glsl)
        constants = dict(emitted.constants)
        lines.append(emitted.code)
        rank = self.inputs[0].rank
        lines.append(coordinates("kept", "x0", rank, range(self.kept), self.wide))
        lines.append(coordinates("reduced", "x0", rank, range(self.kept, rank), self.unit))
        lines += self._rows(rank)
        lines += self._accumulate(rank)

        body = []
        for i, (expression, target) in enumerate(zip(expressions, targets, strict=True)):
            finish = emit(expression, [monoid.glsl, *types[1:]], f"finish{i}", DATA_TYPES[target.data_type].glsl)
            constants.update(finish.constants)
            lines.append(finish.code)
            for j in range(self.wide):
                rows = [f"row_x{k}[{j}]" if k in self.rows else f"{types[k]}(0)" for k in range(1, len(self.inputs))]
                call = f"finish{i}({', '.join([f'a[{j}]', *rows])})"
                if partial:
                    at = f"(chunk * RESULTS + slot) * WIDE + {j}u"
                else:
                    at = f"y{i}_at(c) + {j}u * y{i}_STRIDE_{self.kept - 1}" if j else f"y{i}_at(c)"
                body.append(f"    y{i}_store({at}, {call});")
        lines.append(f"void store_results(uint c[{rank}], uint slot, uint chunk, {monoid.glsl} a[WIDE]) {{")
        if not partial:
            lines += [f"    c[{d}] = 0u;" for d in range(self.kept, rank)]
        lines += [*body, "}"]
        return "\n".join(lines), constants

    def _rows(self, rank: int) -> list[str]:
        """void load_rows(c): the inputs that belong to a result, read once."""
        lines = [f"x{i}_VALUE row_x{i}[WIDE];" for i in sorted(self.rows)]
        lines.append(f"void load_rows(uint c[{rank}]) {{")
        for d in range(self.kept, rank):
            lines.append(f"    c[{d}] = 0u;")
        for i in sorted(self.rows):
            for j in range(self.wide):
                lines.append(f"    row_x{i}[{j}] = x{i}_load(x{i}_at(c) + {j}u * x{i}_STRIDE_{self.kept - 1});")
        return [*lines, "}"]

    def _accumulate(self, rank: int) -> list[str]:
        """void accumulate(c, position, a): a step's elements, every load first."""
        group = self.wide * self.unit
        lines = [f"void accumulate(uint c[{rank}], uint position, inout ACC a[WIDE]) {{"]
        for i, operand in enumerate(self.inputs):
            if i in self.rows:
                continue
            if group == 1:
                lines.append(f"    x{i}_VALUE v{i} = x{i}_load(x{i}_at(c));")
                continue
            per_vector = DATA_TYPES[operand.data_type].per_vector
            lines.append(f"    uint first{i} = x{i}_at(c) / {per_vector}u;")
            lines += [f"    uvec4 v{i}_{v} = x{i}_vector(first{i} + {v}u);" for v in range(group // per_vector)]
        elements = [self._element(k) for k in range(group)]
        if self.wide > 1:
            lines += [f"    a[{j}] = combine(a[{j}], {elements[j]});" for j in range(self.wide)]
        else:
            while len(elements) > 1:
                elements = [f"combine({a}, {b})" for a, b in zip(elements[::2], elements[1::2], strict=True)]
            lines.append(f"    a[0] = combine(a[0], {elements[0]});")
        return [*lines, "}"]

    def _element(self, k: int) -> str:
        """The call of element() for place k of a step."""
        arguments = []
        for i, operand in enumerate(self.inputs):
            bits = DATA_TYPES[operand.data_type].bits
            vector, rest = divmod(k * bits, 128)
            component = rest // 32
            if i in self.rows:
                arguments.append(f"row_x{i}[{k if self.wide > 1 else 0}]")
            elif self.wide * self.unit == 1:
                arguments.append(f"v{i}")
            elif bits == 64:
                arguments.append(f"v{i}_{vector}.{'xyzw'[component : component + 2]}")
            else:
                arguments.append(f"x{i}_decode(v{i}_{vector}.{'xyzw'[component]} >> {rest % 32}u)")
        position = f"position + {k}u" if self.unit > 1 else "position"
        return f"element({', '.join([*arguments, position])})"


def coordinates(name: str, operand: str, rank: int, dimensions: range, group: int = 1) -> str:
    """GLSL void <name>_coordinates(i, c): the place of group i among these dimensions of a bound operand.

    A group is ``group`` neighbours along the innermost of them. The other coordinates stay as they are.
    """
    lines = [f"void {name}_coordinates(uint i, inout uint c[{rank}]) {{"]
    for d in reversed(dimensions):
        innermost, outermost = d == dimensions[-1], d == dimensions[0]
        size = f"({operand}_SIZE_{d} / {group}u)" if innermost and group > 1 else f"{operand}_SIZE_{d}"
        value = "i" if outermost else f"i % {size}"
        lines.append(f"    c[{d}] = {value}{f' * {group}u' if innermost and group > 1 else ''};")
        if not outermost:
            lines.append(f"    i /= {size};")
    return "\n".join([*lines, "}"])


def _packed(monoid: Monoid) -> list[Expression]:
    """The accumulator as words."""
    return [node(word, Leaf(0), glsl="uint") for word in monoid.pack]


def _position(place: Expression, sizes: Sequence[int], part: Box) -> Expression:
    """The row-major number among dimensions of these sizes of a part's ``place``, which counts in the part alone."""
    terms: list[str] = []
    constants: dict[str, Any] = {}
    own = whole = 1
    for d, (size, (start, extent)) in reversed(list(enumerate(zip(sizes, part, strict=True)))):
        terms.append(f"($x0 / $Own{d} % $Extent{d} + $Start{d}) * $Whole{d}")
        constants |= {f"Own{d}": own, f"Extent{d}": extent, f"Start{d}": start, f"Whole{d}": whole}
        own, whole = own * extent, whole * size
    return node(" + ".join(terms), place, glsl="uint", **constants)


def _views(
    inputs: Sequence[Operand], axes: Sequence[int], results: Sequence[Operand], positional: bool
) -> tuple[list[Operand], int]:
    """Inputs and results as (kept dimensions, reduced dimensions), merged; and the number of the former."""
    sizes = inputs[0].sizes
    operands = [operand.broadcast(sizes) for operand in inputs]
    kept_axes = [d for d in range(len(sizes)) if d not in axes]
    reduced_axes = sorted(set(axes))
    if not positional:
        # The order of the elements is free: the innermost in memory last.
        reduced_axes.sort(key=lambda d: -operands[0].strides[d])

    def merged(chosen: Sequence[int], which: Sequence[Operand]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
        found, strides = merge_dimensions([sizes[d] for d in chosen], [[o.strides[d] for d in chosen] for o in which])
        return (found, strides) if found else ((1,), [(0,)] * len(which))

    kept, kept_strides = merged(kept_axes, [*operands, *results])
    reduced, reduced_strides = merged(reduced_axes, operands)
    viewed = [
        operand.view((*kept, *reduced), (*outer, *inner))
        for operand, outer, inner in zip(operands, kept_strides, reduced_strides, strict=False)
    ]
    stored = [
        operand.view((*kept, *(1 for _ in reduced)), (*outer, *(0 for _ in reduced)))
        for operand, outer in zip(results, kept_strides[len(operands) :], strict=True)
    ]
    return [*viewed, *stored], len(kept)


def _plan(target: Target, inputs: Sequence[Operand], results: Sequence[Operand], kept: int) -> _Plan:
    """For operands as ``_views`` makes them."""
    sizes = inputs[0].sizes
    rows = frozenset(i for i in range(1, len(inputs)) if not any(inputs[i].strides[kept:]))
    full = [inputs[i] for i in range(len(inputs)) if i not in rows]
    count, length = math.prod(sizes[:kept]), math.prod(sizes[kept:])
    unit = adjacent(full, len(sizes) - 1)
    wide = adjacent(full, kept - 1) if unit == 1 else 1
    step = full[0].strides[kept - 1]
    beside = wide > 1 or 0 < step < full[0].strides[-1]
    row = sizes[kept - 1] * DATA_TYPES[full[0].data_type].bits // 8 if beside else 0
    sharing = reduction_sharing(target, count // wide, length // unit, row)
    return _Plan(tuple(inputs), tuple(results), kept, rows, wide, unit, sharing)


def adjacent(operands: Sequence[Operand], axis: int) -> int:
    """How many elements along an axis a step takes as whole uvec4; 1 where the layout forbids it."""
    unit = max(DATA_TYPES[operand.data_type].per_vector for operand in operands)
    for operand in operands:
        bits = DATA_TYPES[operand.data_type].bits
        others = [stride for d, stride in enumerate(operand.strides) if d != axis]
        if operand.strides[axis] != 1 or operand.sizes[axis] % unit:
            return 1
        if any(step * bits % 128 for step in (operand.base, *others)):
            return 1
    return unit


def kind_of(operand: Operand) -> str:
    """What a kernel computes with for this operand: float, int, uint, int64, uint64 or float64."""
    return DATA_TYPES[operand.data_type].kind
