"""The operand-dependent part of "normalization/rows.comp", as GLSL for the end of its prelude.

A step is ``unit`` adjacent elements of a row. Names in the GLSL: ``from_t`` is the index at which the current segment
of an invocation's row begins in tensor t; ``all_t`` is a parameter's element if constant along the segment; ``t_0``,
``t_1``, ... are the vectors of a step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.kinds import MATH
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node, substitute
from dml.compiler.selection.lines import Rows


@dataclass(frozen=True)
class RowOperands:
    """The operands of rows by name, as (kept dimensions, reduced dimensions): ``x``, ``y``, parameters and statistics.

    A row's segments are along the innermost reduced dimension. kept: number of kept dimensions.
    """

    named: Mapping[str, Operand]
    parameters: tuple[str, ...]
    kept: int

    @property
    def x(self) -> Operand:
        return self.named["x"]

    @property
    def y(self) -> Operand:
        return self.named["y"]

    @property
    def last(self) -> int:
        """The dimension along a segment of a row."""
        return self.x.rank - 1

    @property
    def segmented(self) -> bool:
        """Whether a row has several segments."""
        return self.x.rank - self.kept > 1

    @cached_property
    def varying(self) -> list[str]:
        """The parameters that vary along a segment."""
        return [name for name in self.parameters if self.named[name].strides[-1] != 0]

    @cached_property
    def unit(self) -> int:
        return lanes.adjacent([self.x, self.y, *(self.named[name] for name in self.varying)], self.last)

    @property
    def vectors(self) -> int:
        """Vectors of x per step; 0 if x is read one element at a time."""
        return self.unit // DATA_TYPES[self.x.data_type].per_vector if self.unit > 1 else 0

    @cached_property
    def rows(self) -> Rows:
        sizes = self.x.sizes
        interleaved = self.x.strides[self.kept - 1] == 1 and self.x.strides[-1] != 1
        segments = math.prod(sizes[self.kept : -1])
        return Rows(math.prod(sizes[: self.kept]), segments, sizes[-1] // self.unit, interleaved)


def kernel_code(
    operands: RowOperands, finish: Expression, *, held: bool = False, packed: bool = False
) -> tuple[str, dict[str, Constant]]:
    """Return the GLSL and the constants that it reads.

    finish: expression of the normalized element and the parameters. held: for normalization/held.comp, which keeps the
    row in registers; packed: as vectors.
    """
    count = len(operands.parameters)
    normalized = node("($x0 - $x1) * $x2", Leaf(0), Leaf(1 + count), Leaf(2 + count))
    value = substitute(finish, [normalized, *(Leaf(1 + i) for i in range(count))])
    emitted = emit(value, ["float"] * (3 + count), "finish", "float")
    parts = [
        f'#include "{MATH}"',
        "float row_mean, row_factor;",
        coordinates("row", "x", operands.x.rank, range(operands.kept)),
        coordinates("segment", "x", operands.x.rank, range(operands.kept, operands.last)),
        emitted.code,
        *([] if held else _step_sums(operands)),
        *_start_segment(operands),
        *(_read_packed(operands) if packed else _read_held(operands) if held else []),
        *_write_step(operands, held=held),
    ]
    return "\n".join(parts), emitted.constants


def _step_sums(operands: RowOperands) -> list[str]:
    """Return step_sums(from, at, shift): the sums of a step's differences from ``shift``, and of their squares.

    The step starts ``at`` elements into the segment that begins at index ``from``.
    """
    lines = ["vec2 step_sums(uint from, uint at, float shift) {"]
    if operands.unit == 1:
        elements = [f"x_load(from + at * x_STRIDE_{operands.last})"]
    else:
        lines += _load_vectors(operands, "x", "from + at")
        elements = [_element(operands, "x", k) for k in range(operands.unit)]
    lines += [f"    float v{k} = {element} - shift;" for k, element in enumerate(elements)]
    sums, squares = (
        _tree([f"v{k}" for k in range(operands.unit)]),
        _tree([f"v{k} * v{k}" for k in range(operands.unit)]),
    )
    return [*lines, f"    return vec2({sums}, {squares});", "}"]


def _tree(terms: list[str]) -> str:
    """Return the pairwise sum of the terms, whose number is a power of two."""
    while len(terms) > 1:
        terms = [f"({a} + {b})" for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return terms[0]


def _load_vectors(operands: RowOperands, name: str, index: str) -> list[str]:
    """Load the vectors of a step that begins at the given element index; ``_element`` unpacks them."""
    operand = operands.named[name]
    first = f"({index}) / {DATA_TYPES[operand.data_type].per_vector}u"
    return lanes.load(name, lanes.variables(f"{name}_", operand, operands.unit), first)


def _element(operands: RowOperands, name: str, k: int) -> str:
    """Return element k of a step whose vectors are loaded."""
    operand = operands.named[name]
    return lanes.element(name, operand, lanes.variables(f"{name}_", operand, operands.unit), k)


def _start_segment(operands: RowOperands) -> list[str]:
    """Return start_segment(c): the segment's start in each tensor, and the parameters that are constant along it."""
    moving = ["x", "y", *operands.varying]
    same = [name for name in operands.parameters if name not in operands.varying]
    return [
        *(f"uint from_{name};" for name in moving),
        *(f"float all_{name};" for name in same),
        f"void start_segment(uint c[{operands.x.rank}]) {{",
        *(f"    from_{name} = {name}_at(c);" for name in moving),
        *(f"    all_{name} = {name}_load({name}_at(c));" for name in same),
        "}",
    ]


def _read_held(operands: RowOperands) -> list[str]:
    """Return read_held(at, v), which reads a step's elements."""
    lines = [f"void read_held(uint at, out float v[{operands.unit}]) {{"]
    if operands.unit == 1:
        return [*lines, f"    v[0] = x_load(from_x + at * x_STRIDE_{operands.last});", "}"]
    lines += _load_vectors(operands, "x", "from_x + at")
    return [*lines, *(f"    v[{k}] = {_element(operands, 'x', k)};" for k in range(operands.unit)), "}"]


def _read_packed(operands: RowOperands) -> list[str]:
    """Return read_held(at, w), which reads a step's vectors, and elements_of(w, v), which unpacks them."""
    vectors = [f"w[{v}]" for v in range(operands.vectors)]
    first = f"(from_x + at) / {DATA_TYPES[operands.x.data_type].per_vector}u"
    return [
        f"void read_held(uint at, out uvec4 w[{operands.vectors}]) {{",
        *(f"    {vector} = x_vector({first} + {v}u);" for v, vector in enumerate(vectors)),
        "}",
        f"void elements_of(uvec4 w[{operands.vectors}], out float v[{operands.unit}]) {{",
        *(f"    v[{k}] = {lanes.element('x', operands.x, vectors, k)};" for k in range(operands.unit)),
        "}",
    ]


def _write_step(operands: RowOperands, *, held: bool) -> list[str]:
    """Return write_step(at), which computes and stores the results of one step; every load comes before the first
    store.

    held: return write_held(at, v) instead, whose elements are already loaded.
    """

    def element(name: str, k: int) -> str:
        if held and name == "x":
            return f"v[{k}]"
        if name in operands.parameters and name not in operands.varying:
            return f"all_{name}"
        if operands.unit == 1:
            return f"{name}_load(from_{name} + at * {name}_STRIDE_{operands.last})"
        return _element(operands, name, k)

    def finished(k: int) -> str:
        arguments = [element(name, k) for name in ("x", *operands.parameters)]
        return f"finish({', '.join(arguments)}, row_mean, row_factor)"

    lines = [f"void write_held(uint at, float v[{operands.unit}]) {{" if held else "void write_step(uint at) {"]
    if operands.unit == 1:
        return [*lines, f"    y_store(from_y + at * y_STRIDE_{operands.last}, {finished(0)});", "}"]
    for name in [*([] if held else ["x"]), *operands.varying]:
        lines += _load_vectors(operands, name, f"from_{name} + at")
    stored, first = lanes.variables("y_", operands.y, operands.unit), "from_y + at"
    per_vector = DATA_TYPES[operands.y.data_type].per_vector
    for v, vector in enumerate(stored):
        lines += lanes.clear([vector])
        elements = range(v * per_vector, (v + 1) * per_vector)
        lines += [lanes.put("y", operands.y, stored, k, first, finished(k)) for k in elements]
    return [*lines, *lanes.store("y", stored, f"({first}) / {per_vector}u"), "}"]
