"""Normalization of rows in one dispatch, statistics and result, where rows are many or short enough for that."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dml.compiler.builder import ProgramBuilder, merge_axes
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import lanes
from dml.compiler.kernels.coordinates import coordinates
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.lanes import adjacent
from dml.compiler.kernels.prelude import read, write
from dml.compiler.parts import cut, in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node, substitute
from dml.compiler.selection.lines import (
    WALKS,
    Rows,
    normalization_fits_one_dispatch,
    normalization_sharing,
    rows_together,
)


@dataclass(frozen=True)
class Normalization:
    """What to compute: ``finish`` of each element, its leaves the normalized element and then the parameters.

    parameters, statistics: operands by name that broadcast to the source's sizes; the kernel reads parameters, and
    writes the statistics ``mean`` and ``variance``, if there are any, once per row.
    """

    source: Operand
    result: Operand
    axes: Sequence[int]
    epsilon: float
    use_mean: bool
    use_variance: bool
    finish: Expression
    parameters: Mapping[str, Operand]
    statistics: Mapping[str, Operand] = field(default_factory=dict)


def normalize_rows(builder: ProgramBuilder, what: Normalization) -> bool:
    """Add the dispatch, or answer False where the rows want reductions that split them."""
    kept, operands = _row_views(what)
    views, outer, most = tuple(operands.values()), range(kept), builder.target.max_region
    rows, _ = _sizes(what, kept, operands)
    if not normalization_fits_one_dispatch(builder.target, rows) or cut(views, most, outer) is None:
        return False
    for part in in_parts(views, most, outer):
        _dispatch(builder, what, kept, dict(zip(operands, part, strict=True)))
    return True


def _sizes(what: Normalization, kept: int, operands: Mapping[str, Operand]) -> tuple[Rows, int]:
    """The rows, and how many neighbouring elements make a step."""
    x, y = operands["x"], operands["y"]
    last = x.rank - 1
    unit = adjacent([x, y, *(operands[name] for name in _varying(what, operands))], last)
    beside = x.strides[kept - 1] == 1 and x.strides[last] != 1
    return Rows(math.prod(x.sizes[:kept]), math.prod(x.sizes[kept:last]), x.sizes[last] // unit, beside), unit


def _varying(what: Normalization, operands: Mapping[str, Operand]) -> list[str]:
    """The parameters that vary along a segment."""
    return [name for name in what.parameters if operands[name].strides[-1] != 0]


def _dispatch(builder: ProgramBuilder, what: Normalization, kept: int, operands: Mapping[str, Operand]) -> None:
    x, y = operands["x"], operands["y"]
    rank, last = x.rank, x.rank - 1
    varying = _varying(what, operands)
    rows, unit = _sizes(what, kept, operands)
    sharing = normalization_sharing(builder.target, rows)
    iterations = WALKS * rows.iterations(sharing.lanes)
    common = [name for name in varying if not any(operands[name].strides[:kept])]
    each = rows_together(builder.target, rows.rows * sharing.lanes, iterations) if common else 1
    emitted = emit(_value(what), ["float"] * (3 + len(what.parameters)), "finish", "float")
    code = [
        f'#include "{MATH}"',
        f"float row_mean[{each}], row_factor[{each}];",
        coordinates("row", "x", rank, range(kept)),
        coordinates("segment", "x", rank, range(kept, last)),
        emitted.code,
        _step_sums(x, unit),
        _segment(operands, list(what.parameters), varying, each),
        _load_step(operands, common, unit),
        _write_step(operands, list(what.parameters), varying, common, unit),
    ]
    constants: dict[str, Constant] = {
        "ROWS": rows.rows,
        "SEGMENTS": rows.segments,
        "LENGTH": x.sizes[last],
        "EPSILON": what.epsilon,
    }
    builder.dispatch(
        "normalization/rows.comp",
        {
            "y": write(y, vector=unit > 1),
            "x": read(x, vector=unit > 1),
            **{name: read(operands[name], vector=unit > 1 and name in varying) for name in what.parameters},
            **{name: write(operands[name]) for name in what.statistics},
        },
        count=-(-rows.rows // each) * sharing.lanes,
        workgroup=sharing.workgroup,
        constants={**constants, **emitted.constants},
        defines={
            "LANES": sharing.lanes,
            "EACH": each,
            "UNIT": unit,
            "USE_MEAN": int(what.use_mean),
            "USE_VARIANCE": int(what.use_variance),
        },
        code="\n".join(code),
        steps=each * iterations,
        each=unit,
    )


def _value(what: Normalization) -> Expression:
    """``finish`` over the element, the parameters, and the row's mean and factor."""
    count = len(what.parameters)
    normalized = node("($x0 - $x1) * $x2", Leaf(0), Leaf(1 + count), Leaf(2 + count))
    return substitute(what.finish, [normalized, *(Leaf(1 + i) for i in range(count))])


def _row_views(what: Normalization) -> tuple[int, dict[str, Operand]]:
    """All operands as (kept dimensions..., reduced dimensions...), each part merged, and the number of the former."""
    x = what.source
    full = {"y": what.result, "x": x, **what.parameters, **what.statistics}
    named = {name: operand.broadcast(x.sizes) for name, operand in full.items()}
    kept_axes = [d for d in range(x.rank) if d not in what.axes]
    reduced_axes = sorted(set(what.axes), key=lambda d: -x.strides[d])

    kept, outer = merge_axes(list(named.values()), kept_axes)
    reduced, inner = merge_axes(list(named.values()), reduced_axes)
    views = {
        name: operand.view((*kept, *reduced), (*o, *i))
        for (name, operand), o, i in zip(named.items(), outer, inner, strict=True)
    }
    return len(kept), views


def _step_sums(x: Operand, unit: int) -> str:
    """step_sums(from, at, shift): of a step's differences to ``shift``, and of their squares.

    The step lies ``at`` elements into the segment that begins at index ``from``.
    """
    lines = ["vec2 step_sums(uint from, uint at, float shift) {"]
    if unit == 1:
        elements = [f"x_load(from + at * x_STRIDE_{x.rank - 1})"]
    else:
        lines += _load_vectors("x", x, unit, "from + at")
        elements = [_element("x", x, unit, k) for k in range(unit)]
    lines += [f"    float v{k} = {element} - shift;" for k, element in enumerate(elements)]

    def tree(terms: list[str]) -> str:
        while len(terms) > 1:
            terms = [f"({a} + {b})" for a, b in zip(terms[::2], terms[1::2], strict=True)]
        return terms[0]

    sums = tree([f"v{k}" for k in range(unit)]), tree([f"v{k} * v{k}" for k in range(unit)])
    return "\n".join([*lines, f"    return vec2({sums[0]}, {sums[1]});", "}"])


def _load_vectors(name: str, operand: Operand, unit: int, index: str) -> list[str]:
    """Loads the vectors of a step that begins at an element's index; ``_element`` takes them apart."""
    first = f"({index}) / {DATA_TYPES[operand.data_type].per_vector}u"
    return lanes.load(name, lanes.variables(f"{name}_", operand, unit), first)


def _element(name: str, operand: Operand, unit: int, k: int) -> str:
    """Element k of a step whose vectors are loaded."""
    return lanes.element(name, operand, lanes.variables(f"{name}_", operand, unit), k)


def _segment(operands: Mapping[str, Operand], parameters: list[str], varying: list[str], each: int) -> str:
    """start_segment(row, c): where an invocation's row has the segment, and the parameters that hold for all of it."""
    moving = ["x", "y", *varying]
    same = [name for name in parameters if name not in varying]
    lines = [f"uint from_{name}[{each}];" for name in moving]
    lines += [f"float all_{name}[{each}];" for name in same]
    lines.append(f"void start_segment(uint row, uint c[{operands['x'].rank}]) {{")
    lines += [f"    from_{name}[row] = {name}_at(c);" for name in moving]
    lines += [f"    all_{name}[row] = {name}_load({name}_at(c));" for name in same]
    return "\n".join([*lines, "}"])


def _load_step(operands: Mapping[str, Operand], common: list[str], unit: int) -> str:
    """load_step(at): a step of the parameters that all rows have in common."""
    names = [f"step_{name}_{k}" for name in common for k in range(unit)]
    lines = [f"float {', '.join(names)};"] if names else []
    lines.append("void load_step(uint at) {")
    for name in common:
        if unit == 1:
            lines.append(
                f"    step_{name}_0 = {name}_load(from_{name}[0] + at * {name}_STRIDE_{operands['x'].rank - 1});"
            )
            continue
        lines += _load_vectors(name, operands[name], unit, f"from_{name}[0] + at")
        lines += [f"    step_{name}_{k} = {_element(name, operands[name], unit, k)};" for k in range(unit)]
    return "\n".join([*lines, "}"])


def _write_step(
    operands: Mapping[str, Operand], parameters: list[str], varying: list[str], common: list[str], unit: int
) -> str:
    """write_step(row, at): the results of one step of an invocation's row, every load first."""
    last = operands["x"].rank - 1
    apart = [name for name in varying if name not in common]
    lines = ["void write_step(uint row, uint at) {"]

    def element(name: str, k: int) -> str:
        if name in common:
            return f"step_{name}_{k}"
        if name in parameters and name not in varying:
            return f"all_{name}[row]"
        if unit == 1:
            return f"{name}_load(from_{name}[row] + at * {name}_STRIDE_{last})"
        return _element(name, operands[name], unit, k)

    def finished(k: int) -> str:
        arguments = [element(name, k) for name in ("x", *parameters)]
        return f"finish({', '.join(arguments)}, row_mean[row], row_factor[row])"

    if unit == 1:
        lines.append(f"    y_store(from_y[row] + at * y_STRIDE_{last}, {finished(0)});")
        return "\n".join([*lines, "}"])
    for name in ("x", *apart):
        lines += _load_vectors(name, operands[name], unit, f"from_{name}[row] + at")
    y, first = operands["y"], "from_y[row] + at"
    held = lanes.variables("y_", y, unit)
    per_vector = DATA_TYPES[y.data_type].per_vector
    for v, vector in enumerate(held):
        lines += lanes.clear([vector])
        elements = range(v * per_vector, (v + 1) * per_vector)
        lines += [lanes.put("y", y, held, k, first, finished(k)) for k in elements]
    lines += lanes.store("y", held, f"({first}) / {per_vector}u")
    return "\n".join([*lines, "}"])
