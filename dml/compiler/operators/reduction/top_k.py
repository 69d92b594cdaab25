"""TOP_K, TOP_K1: the first K of each line in order; equal elements by ascending index, whatever the direction.

Blocks of a line are sorted in shared memory (on CPU drivers, a small K is selected one by one, and blocks are short:
the steps of a sort that wait for each other are dear there), and their first K merged pair by pair. NaN counts as the
largest value and the zeros are equal; values are copied as they are.
"""

from __future__ import annotations

import math

from dml import enums
from dml.compiler.builder import ProgramBuilder, merge_around
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.engine import coordinates, kind_of
from dml.compiler.operators.reduction.scan import axis_last
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.compiler.target import Target
from dml.descriptors.reduction import DML_TOP_K1_OPERATOR_DESC, DML_TOP_K_OPERATOR_DESC

SORT = "reduction/sort_blocks.comp"
SELECT = "reduction/select_blocks.comp"
MERGE = "reduction/merge_runs.comp"


@lowering(DML_TOP_K_OPERATOR_DESC, DML_TOP_K1_OPERATOR_DESC)
def top_k_operator(desc: DML_TOP_K_OPERATOR_DESC | DML_TOP_K1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    largest = isinstance(desc, DML_TOP_K_OPERATOR_DESC) or desc.AxisDirection == enums.DML_AXIS_DIRECTION_DECREASING
    outputs = builder["OutputValueTensor"], builder["OutputIndexTensor"]
    top_k(builder, builder["InputTensor"], *outputs, desc.Axis, desc.K, largest=largest)


def top_k(
    builder: ProgramBuilder, source: Operand, values: Operand, indices: Operand, axis: int, k: int, *, largest: bool
) -> None:
    """The k largest elements along ``axis``, falling, or the k smallest, rising, with their places along it."""
    at, merged = merge_around(axis, source, values, indices)
    apart = [axis_last(operand, at) for operand in merged]
    for x, y, z in in_parts(apart, builder.target.max_region, range(apart[0].rank - 1)):
        _top_k(builder, x, y, z, k, largest=largest)


def _top_k(builder: ProgramBuilder, x: Operand, values: Operand, indices: Operand, k: int, *, largest: bool) -> None:
    """Along the last dimension."""
    length, lines = x.sizes[-1], math.prod(x.sizes[:-1])
    wide = kind_of(x).endswith("64")
    words = 3 if wide else 2
    outputs: dict[str, Bound] = {"x": read(x), "values": write(values), "indices": write(indices)}
    line = coordinates("line", "x", x.rank, range(x.rank - 1))
    if DATA_TYPES[indices.data_type].bits == 64:
        line += "\nuvec2 index_of(uint i) { return uvec2(i, 0u); }"
    else:
        line += "\nuint index_of(uint i) { return i; }"
    key = f"{'uvec2' if wide else 'uint'} key_of(x_VALUE v) {{ return {'~' if largest else ''}order_{kind_of(x)}(v); }}"

    target = builder.target
    selects = target.is_cpu and k <= 128
    block = _selected_block(target, lines, length, k) if selects else _sorted_block(target, length)
    runs, span, keep = -(-length // block), block, min(k, block)
    entries = builder.temporary(enums.DML_TENSOR_DATA_TYPE_UINT32, (lines * runs * keep * words,)) if runs > 1 else None
    tensors: dict[str, Bound] = outputs if entries is None else {"x": read(x), "entries": write(entries)}
    constants = {"LINES": lines, "LENGTH": length, "BLOCKS": runs, "KEEP": keep}
    defines = {"KEY64": int(wide), "FINAL": int(runs == 1)}
    code = f'#include "lib/order.glsl"\n{line}\n{key}'
    if selects:
        constants["BLOCK"] = block
        builder.dispatch(
            SELECT,
            tensors,
            count=lines * runs,
            constants=constants,
            defines=defines,
            code=code,
            steps=keep * block,
        )
    else:
        segments = _segments(block)
        builder.dispatch(
            SORT,
            tensors,
            groups=-(-lines * runs // segments),
            workgroup=_sorters(target, block),
            constants=constants,
            defines={**defines, "BLOCK": f"{block}u", "SEGMENTS": f"{segments}u"},
            code=code,
            steps=_sort_steps(target, block),
        )
    while entries is not None:
        merged_keep = min(k, 2 * span)
        final = runs <= 2
        after = None
        tensors = {"entries": read(entries), **outputs}
        if not final:
            count = lines * -(-runs // 2) * merged_keep * words
            after = builder.temporary(enums.DML_TENSOR_DATA_TYPE_UINT32, (count,))
            tensors = {"entries": read(entries), "merged": write(after)}
        sizes = {"LINES": lines, "LENGTH": length, "RUNS": runs, "SPAN": span, "KEEP": keep, "MERGED": merged_keep}
        builder.dispatch(
            MERGE,
            tensors,
            count=lines * runs * keep,
            constants=sizes,
            defines={"KEY64": int(wide), "FINAL": int(final)},
            code=line if final else "",
            steps=keep.bit_length(),
        )
        entries, runs, span, keep = after, -(-runs // 2), 2 * span, merged_keep


def _selected_block(target: Target, lines: int, length: int, k: int) -> int:
    """Elements to an invocation that selects: lines split where they are few, into what still leaves most behind."""
    blocks = max(1, min(256 // lines, length // (8 * k)), -(-length * k // max_steps(target)))
    return max(1, min(-(-length // blocks), max_steps(target) // k))


def _segments(block: int) -> int:
    """Blocks that a workgroup sorts."""
    return max(1, 256 // block)


def _sorters(target: Target, block: int) -> int:
    """Invocations that sort blocks together; on a CPU's driver one vector."""
    return min(8 if target.is_cpu else 128, block * _segments(block) // 2, target.max_workgroup_invocations)


def _sort_steps(target: Target, block: int) -> int:
    """Reading, the exchanges of a bitonic sort, and writing."""
    shares = -(-block * _segments(block) // _sorters(target, block))
    stages = (block.bit_length() - 1) * block.bit_length() // 2
    return 2 * shares + stages * (1 + shares // 2)


def _sorted_block(target: Target, length: int) -> int:
    """Elements of a block that a workgroup sorts: a power of two."""
    block = min(16 if target.is_cpu else 1024, 1 << max(1, (length - 1).bit_length()))
    while block > 2 and _sort_steps(target, block) > max_steps(target):
        block //= 2
    return block
