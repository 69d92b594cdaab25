"""The operand-dependent part of "reduction/reduce.comp", as GLSL for the end of its prelude."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.expression import emit
from dml.compiler.operators.reduction.layout import ReductionLayout
from dml.compiler.operators.reduction.monoids import Monoid
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression


@dataclass(frozen=True)
class Combination:
    """The expressions of a reduction: ``element`` for each position, which the monoid combines, and those of the
    results, applied to the outcome.

    See ``reduce`` for the leaves of the expressions.
    """

    monoid: Monoid
    element: Expression
    finish: Sequence[Expression]


def kernel_code(
    layout: ReductionLayout, combination: Combination, stored: Sequence[Operand], *, partial: bool
) -> tuple[str, dict[str, Constant]]:
    """Return the GLSL and the constants that it reads.

    stored: the tensors y0, y1, ... for the results. partial: chunks' results are stored one after the other.
    """
    monoid, rank = combination.monoid, layout.rank
    emitted = emit(combination.element, [*_types(layout), "uint"], "element", monoid.glsl)
    stores, constants = _store_results(layout, combination, stored, partial=partial)
    lines = [
        *monoid.function,
        emitted.code,
        coordinates("kept", "x0", rank, range(layout.kept), layout.wide),
        coordinates("reduced", "x0", rank, range(layout.kept, rank), layout.unit),
        *_load_rows(layout),
        *_accumulate(layout),
        *stores,
    ]
    return "\n".join(lines), {**emitted.constants, **constants}


def _types(layout: ReductionLayout) -> list[str]:
    return [DATA_TYPES[operand.data_type].glsl for operand in layout.inputs]


def _load_rows(layout: ReductionLayout) -> list[str]:
    """Return void load_rows(c), which reads, once per result, the inputs that do not vary along the reduced axes."""
    lines = [f"x{i}_VALUE row_x{i}[WIDE];" for i in sorted(layout.rows)]
    lines.append(f"void load_rows(uint c[{layout.rank}]) {{")
    lines += _first_reduced(layout)
    for i in sorted(layout.rows):
        for j in range(layout.wide):
            lines.append(f"    row_x{i}[{j}] = x{i}_load(x{i}_at(c) + {j}u * x{i}_STRIDE_{layout.kept - 1});")
    return [*lines, "}"]


def _first_reduced(layout: ReductionLayout) -> list[str]:
    """Set the coordinates of the reduced dimensions to 0 in GLSL, for operands that do not vary along them."""
    return [f"    c[{d}] = 0u;" for d in range(layout.kept, layout.rank)]


def _accumulate(layout: ReductionLayout) -> list[str]:
    """Return void accumulate(c, position, a), which combines a step's elements. All loads come before the first
    combination."""
    group = layout.wide * layout.unit
    lines = [f"void accumulate(uint c[{layout.rank}], uint position, inout ACC a[WIDE]) {{"]
    for i, operand in enumerate(layout.inputs):
        if i in layout.rows:
            continue
        if group == 1:
            lines.append(f"    x{i}_VALUE v{i} = x{i}_load(x{i}_at(c));")
            continue
        lines.append(f"    uint first{i} = x{i}_at(c) / {DATA_TYPES[operand.data_type].per_vector}u;")
        lines += lanes.load(f"x{i}", lanes.variables(f"v{i}_", operand, group), f"first{i}")
    elements = [_element(layout, k) for k in range(group)]
    if layout.wide > 1:
        lines += [f"    a[{j}] = combine(a[{j}], {elements[j]});" for j in range(layout.wide)]
    else:
        while len(elements) > 1:
            elements = [f"combine({a}, {b})" for a, b in zip(elements[::2], elements[1::2], strict=True)]
        lines.append(f"    a[0] = combine(a[0], {elements[0]});")
    return [*lines, "}"]


def _element(layout: ReductionLayout, k: int) -> str:
    """Return the call of element() for position k of a step."""
    group = layout.wide * layout.unit
    arguments = []
    for i, operand in enumerate(layout.inputs):
        if i in layout.rows:
            arguments.append(f"row_x{i}[{k if layout.wide > 1 else 0}]")
        elif group == 1:
            arguments.append(f"v{i}")
        else:
            arguments.append(lanes.element(f"x{i}", operand, lanes.variables(f"v{i}_", operand, group), k))
    position = f"position + {k}u" if layout.unit > 1 else "position"
    return f"element({', '.join([*arguments, position])})"


def _store_results(
    layout: ReductionLayout, combination: Combination, stored: Sequence[Operand], *, partial: bool
) -> tuple[list[str], dict[str, Constant]]:
    """Return void store_results(c, slot, chunk, a), and the functions finish0(), finish1(), ... that it calls."""
    acc, types = combination.monoid.glsl, _types(layout)
    functions: list[str] = []
    calls: list[str] = []
    constants: dict[str, Constant] = {}
    for i, (expression, target) in enumerate(zip(combination.finish, stored, strict=True)):
        finish = emit(expression, [acc, *types[1:]], f"finish{i}", DATA_TYPES[target.computed_type].glsl)
        constants.update(finish.constants)
        functions.append(finish.code)
        for j in range(layout.wide):
            rows = [f"row_x{k}[{j}]" if k in layout.rows else f"{types[k]}(0)" for k in range(1, len(types))]
            call = f"finish{i}({', '.join([f'a[{j}]', *rows])})"
            if partial:
                address = f"(chunk * RESULTS + slot) * WIDE + {j}u"
            else:
                address = f"y{i}_at(c) + {j}u * y{i}_STRIDE_{layout.kept - 1}" if j else f"y{i}_at(c)"
            calls.append(f"    y{i}_store({address}, {call});")
    head = f"void store_results(uint c[{layout.rank}], uint slot, uint chunk, {acc} a[WIDE]) {{"
    return [*functions, head, *([] if partial else _first_reduced(layout)), *calls, "}"], constants
