"""Insertion of rows into a cache of keys or values, in place."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import read, update
from dml.compiler.lowering import lowering
from dml.compiler.parts import crop, narrow
from dml.compiler.program import Operand
from dml.descriptors.attention import OWN_INSERT_ROWS_OPERATOR_DESC


@lowering(OWN_INSERT_ROWS_OPERATOR_DESC)
def insert_rows(desc: OWN_INSERT_ROWS_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    insert(builder, builder["RowsTensor"], builder["PositionsTensor"], builder["OutputTensor"], None)


def insert(builder: ProgramBuilder, rows: Operand, positions: Operand, cache: Operand, bias: Operand | None) -> None:
    """Write rows {B, M, S, H} plus bias {M, H} into the cache {B, M, C, H}; each batch element's rows start at its
    position {B}.

    A cache larger than one binding is written head by head.
    """
    batch, heads, _, size = rows.sizes
    if crop(cache, builder.target.max_region).region.size <= builder.target.max_region:
        _insert(builder, rows, positions, cache, bias)
        return
    for b in range(batch):
        for head in range(heads):
            box = ((b, 1), (head, 1))
            own = crop(narrow(cache, (0, 1), box), 0)
            own_bias = bias and bias.view((1, size), bias.strides, head * bias.strides[0])
            _insert(
                builder, narrow(rows, (0, 1), box), positions.view((1,), (1,), b * positions.strides[0]), own, own_bias
            )


def _insert(builder: ProgramBuilder, rows: Operand, positions: Operand, cache: Operand, bias: Operand | None) -> None:
    per_word = DATA_TYPES[cache.data_type].per_word
    *lines, size = rows.sizes
    by_line = (*cache.strides[:3], size, cache.base)
    whole = per_word > 1 and cache.strides[3] == 1 and not any(step % per_word for step in by_line)
    builder.dispatch(
        "attention/insert.comp",
        {
            "rows": read(rows),
            "positions": read(positions),
            "cache": update(cache),
            **({} if bias is None else {"bias": read(bias)}),
        },
        space=(*lines, size // per_word if whole else size),
        defines={"WHOLE_WORDS": int(whole)},
    )
