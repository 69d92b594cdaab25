"""Attention with scores in registers or shared memory: one kernel, and a second one that merges parts where several
workgroups share keys.

Sizes: as in attention.py; a row is one of the R queries of the query heads that share a key and value head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.lanes import adjacent
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.parts import crop
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant
from dml.compiler.selection.attention import (
    WORKGROUP,
    AttentionFew,
    AttentionMatrices,
    AttentionShape,
    AttentionTiles,
    attention_sharing,
)
from dml.compiler.selection.product_tiles import MATRIX_UNITS
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32

#: FLOAT16 elements per vector.
_HALVES = 8


@dataclass(frozen=True)
class AttentionOperands:
    """The operands of attention.

    query, result: {batch, key head, one of its query heads, query, element}. key, value: {batch, head, key, element}.
    more: ``relative`` {batch, query head, query, key}, ``mask`` and ``lengths``, if present. new: number of keys
    that are not past ones. kind: the mask's type.
    """

    query: Operand
    key: Operand
    value: Operand
    result: Operand
    more: Mapping[str, Operand]
    new: int
    scale: float
    filter: float
    kind: int

    @property
    def rows(self) -> int:
        return self.query.sizes[2] * self.query.sizes[3]

    @property
    def constants(self) -> dict[str, Constant]:
        batch, heads, each, queries, size = self.query.sizes
        return {
            "KEYS": self.key.sizes[2],
            "NEW": self.new,
            "BATCH": batch,
            "FILTER": self.filter,
            "SCALE": self.scale,
            "ROWS": self.rows,
            "QUERIES": queries,
            "EACH": each,
            "KEY_HEADS": heads,
            "SIZE": size,
            "VALUE_SIZE": self.value.sizes[3],
        }


def attend_at_once(builder: ProgramBuilder, operands: AttentionOperands) -> bool:
    """Add the dispatches; return False if scores should go to memory, or a tensor exceeds a binding."""
    target = builder.target
    every = (operands.query, operands.key, operands.value, operands.result, *operands.more.values())
    if any(crop(operand, target.max_region).region.size > target.max_region for operand in every):
        return False
    batch, heads = operands.query.sizes[:2]
    size, value_size = operands.query.sizes[4], operands.value.sizes[3]
    unit = min(adjacent((operand,), 3) for operand in (operands.key, operands.value))
    unit = unit if operands.key.data_type == operands.value.data_type else 1
    halves = all(
        adjacent((operand,), operand.rank - 1) == _HALVES for operand in (operands.query, operands.key, operands.value)
    )
    masked, biased = operands.kind != 0, "relative" in operands.more
    shape = AttentionShape(
        batch * heads, operands.rows, operands.key.sizes[2], size, value_size, unit, halves, masked, biased
    )
    chosen = attention_sharing(target, shape)
    if chosen is None:
        return False
    tile = chosen.round * WORKGROUP // chosen.lanes if isinstance(chosen, AttentionFew) else chosen.keys
    part_keys = -(-operands.key.sizes[2] // (chosen.parts * tile)) * tile
    parts = -(-operands.key.sizes[2] // part_keys)
    split = _KeySplit(builder, operands, _written(builder, operands, parts), parts, part_keys)
    if isinstance(chosen, AttentionTiles):
        _tiles(split, chosen)
    elif isinstance(chosen, AttentionMatrices):
        _on_matrices(split, chosen)
    else:
        _few(split, chosen)
    if parts > 1:
        _merge(builder, operands, split.written, parts)
    return True


def _written(builder: ProgramBuilder, operands: AttentionOperands, parts: int) -> dict[str, Operand]:
    """Return the tensors to write: the result, or each row's partial sums and statistics."""
    if parts == 1:
        return {"y": operands.result}
    heads = math.prod(operands.query.sizes[:2])
    sizes = {"sums": operands.value.sizes[3], "statistics": 2}
    return {
        name: builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (heads, operands.rows, parts, size))
        for name, size in sizes.items()
    }


@dataclass(frozen=True)
class _KeySplit:
    """An attention over ``parts`` of ``part_keys`` keys each. written: the tensors to write."""

    builder: ProgramBuilder
    operands: AttentionOperands
    written: Mapping[str, Operand]
    parts: int
    part_keys: int

    def dispatch(
        self, kernel: str, tensors: Mapping[str, Bound], tiles: tuple[int, int], defines: Mapping[str, Any], *,
        workgroup: int, steps: int, each: int, code: str = "",
    ) -> None:  # fmt: skip
        """Add the dispatch. tensors: query, key and value. tiles: parts and tiles of rows, in the order of the grid."""
        operands, space = self.operands, (*self.operands.query.sizes[:2], *tiles)
        bound = {name: read(operand) for name, operand in operands.more.items()}
        for name, operand in self.written.items():
            bound[name] = write(operand, vector=name == "y" and _stores(operand) == 4)
        self.builder.dispatch(
            kernel,
            {**tensors, **bound},
            groups=math.prod(space),
            space=space,
            workgroup=workgroup,
            constants={**operands.constants, "PARTS": self.parts, "PART_KEYS": self.part_keys},
            defines={
                "MASK": operands.kind,
                "IN_PARTS": int(self.parts > 1),
                "STORES": _stores(operands.result),
                **defines,
            },
            code=code,
            steps=steps,
            each=each,
        )


def _tiles(split: _KeySplit, chosen: AttentionTiles) -> None:
    operands = split.operands
    read_ = {"q": operands.query, "k": operands.key, "v": operands.value}
    units = {name: adjacent((operand,), operand.rank - 1) for name, operand in read_.items()}
    split.dispatch(
        "attention/tiles.comp",
        {name: read(operand, vector=units[name] > 1) for name, operand in read_.items()},
        (split.parts, -(-operands.rows // chosen.rows)),
        {
            "ROWS_TILE": chosen.rows,
            "KEYS_TILE": chosen.keys,
            "DEPTH": chosen.depth,
            "VALUES_TILE": chosen.values,
            "COLUMNS": chosen.columns,
            "STAGED": chosen.staged,
            "ACROSS": chosen.across,
            "AT_ONCE": int(operands.query.sizes[-1] <= chosen.depth),
            "WHOLE": int(operands.query.sizes[-1] % chosen.depth == 0),
        },
        workgroup=chosen.workgroup,
        steps=chosen.steps,
        each=chosen.rows * chosen.keys * 4 // chosen.workgroup,
        code="\n".join(_unit(name, operand, units[name]) for name, operand in read_.items()),
    )


def _on_matrices(split: _KeySplit, chosen: AttentionMatrices) -> None:
    operands = split.operands
    read_ = {"q": operands.query, "k": operands.key, "v": operands.value}
    split.dispatch(
        "attention/in_registers.comp" if chosen.in_registers else "attention/matrices.comp",
        {name: read(operand, vector=True) for name, operand in read_.items()},
        (split.parts, -(-operands.rows // chosen.rows)),
        {
            "ROWS_TILE": f"{chosen.rows}u",
            "KEYS_TILE": f"{chosen.keys}u",
            "SUB_ROWS": f"{chosen.subgroup_rows}u",
            "DEPTH": f"{chosen.depth}u",
            "COLUMNS": f"{chosen.columns}u",
            "TILES": chosen.tiles,
            "OWN": f"{chosen.scores}u",
            "SUBGROUP": f"{chosen.subgroup}u",
            "HALF_WEIGHTS": int(chosen.half_weights),
            **{f"MATRIX_{axis}": f"{size}u" for axis, size in zip("MNK", chosen.shape, strict=True)},
        },
        workgroup=chosen.workgroup,
        steps=chosen.steps,
        each=-(-math.prod(chosen.shape) // (chosen.subgroup * MATRIX_UNITS)),
    )


def _few(split: _KeySplit, chosen: AttentionFew) -> None:
    operands = split.operands
    split.dispatch(
        "attention/few_lanes.comp" if chosen.subgroup else "attention/few.comp",
        {"q": read(operands.query), "k": read(operands.key, vector=True), "v": read(operands.value, vector=True)},
        (-(-operands.rows // chosen.rows), split.parts),
        {
            "MY_ROWS": chosen.rows,
            "LANES": chosen.lanes,
            "EACH_ROUND": chosen.round,
            "SUBGROUP": chosen.subgroup,
            "OF_HALVES": int(DATA_TYPES[operands.result.data_type].bits == 16),
        },
        workgroup=WORKGROUP,
        steps=chosen.steps,
        each=chosen.rows * chosen.round,
        code="\n".join([_fours("k", operands.key), _fours("v", operands.value)]),
    )


def _stores(result: Operand) -> int:
    """Return the number of adjacent result elements that are stored at once: a vector, a word, or one element."""
    bits = DATA_TYPES[result.data_type].bits
    if bits == 32:
        return 4 if adjacent((result,), result.rank - 1) == 4 else 1
    *outer, last = result.strides
    return 2 if last == 1 and not any(number % 2 for number in (result.base, result.sizes[-1], *outer)) else 1


def _fours(name: str, operand: Operand) -> str:
    """Return GLSL vec4 <name>_four(w, h): the first or second four elements of a vector."""
    lines = [f"#define {name}_UNIT {DATA_TYPES[operand.data_type].per_vector}u"]
    if DATA_TYPES[operand.data_type].bits == 32:
        return "\n".join([*lines, f"vec4 {name}_four(uvec4 w, uint h) {{ return uintBitsToFloat(w); }}"])
    elements = ", ".join(f"{name}_decode({word} & 0xffffu), {name}_decode({word} >> 16)" for word in ("two.x", "two.y"))
    body = f"uvec2 two = h == 0u ? w.xy : w.zw; return vec4({elements});"
    return "\n".join([*lines, f"vec4 {name}_four(uvec4 w, uint h) {{ {body} }}"])


def _unit(name: str, operand: Operand, unit: int) -> str:
    """Return GLSL <name>_RAW <name>_unit(from, at, end, whole), which reads a row's elements starting at index ``at``,
    and <name>_four(raw, h), which decodes them.

    Elements from ``end`` on are 0; with ``whole`` there are none. No branch skips them, since loads inside branches
    wait for earlier loads: the first element is loaded instead.
    """
    if unit > 1:
        lines = [
            _fours(name, operand),
            f"#define {name}_RAW uvec4",
            f"uvec4 {name}_unit(uint from, uint at, uint end, bool whole) {{",
            f"    uint inside = (from + at) / {unit}u;",
            f"    uvec4 w = {name}_vector(whole || at < end ? inside : 0u);",
            "    return mix(uvec4(0u), w, bvec4(whole || at < end));",
            "}",
        ]
        return "\n".join(lines)
    stride = f"{name}_STRIDE_{operand.rank - 1}"
    elements = ", ".join(f"{name}_one(from, at + {i}u, end, whole)" for i in range(4))
    lines = [
        f"#define {name}_UNIT 4u",
        f"#define {name}_RAW vec4",
        f"vec4 {name}_four(vec4 v, uint h) {{ return v; }}",
        f"float {name}_one(uint from, uint at, uint end, bool whole) {{",
        f"    uint inside = from + at * {stride};",
        f"    float element = {name}_load(whole || at < end ? inside : 0u);",
        "    return whole || at < end ? element : 0.0;",
        "}",
        f"vec4 {name}_unit(uint from, uint at, uint end, bool whole) {{ return vec4({elements}); }}",
    ]
    return "\n".join(lines)


def _merge(builder: ProgramBuilder, operands: AttentionOperands, written: Mapping[str, Operand], parts: int) -> None:
    sizes = operands.result.sizes
    _, heads, _, queries, size = sizes

    def seen(name: str, step: int, inner: int) -> Operand:
        row = parts * step
        strides = (heads * operands.rows * row, operands.rows * row, queries * row, row, inner)
        return written[name].view(sizes, strides)

    builder.for_each(
        "attention/merge.comp",
        operands.result,
        {"sums": seen("sums", size, 1), "statistics": seen("statistics", 2, 0)},
        constants={"PARTS": parts, "VALUE_SIZE": size},
        steps=2 * parts,
        split_axes=(0, 1),
    )
