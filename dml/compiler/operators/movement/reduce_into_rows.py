"""REDUCE_INTO_ROWS: one invocation per column reduces its updates one after the other."""

from __future__ import annotations

from dml.compiler.apply import copy
from dml.compiler.builder import ProgramBuilder
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.prelude import read, update
from dml.compiler.lowering import lowering
from dml.compiler.operators.reduction.monoids import largest_of, product_of, smallest_of, sum_of
from dml.compiler.parts import boxes, cut, narrow
from dml.compiler.selection import lanes, max_steps
from dml.descriptors.movement import OWN_REDUCE_INTO_ROWS_OPERATOR_DESC
from dml.enums import DML_REDUCE_FUNCTION as _Function

_MONOIDS = {
    _Function.DML_REDUCE_FUNCTION_SUM: sum_of,
    _Function.DML_REDUCE_FUNCTION_MULTIPLY: product_of,
    _Function.DML_REDUCE_FUNCTION_MAX: largest_of,
    _Function.DML_REDUCE_FUNCTION_MIN: smallest_of,
}


@lowering(OWN_REDUCE_INTO_ROWS_OPERATOR_DESC)
def reduce_into_rows(desc: OWN_REDUCE_INTO_ROWS_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Lower the operator. If there are many updates, or tensors exceed a binding, each dispatch reduces some of the
    updates into some of the rows."""
    result, updates = builder["OutputTensor"], builder["UpdatesTensor"]
    indices = builder["IndicesTensor"].broadcast(updates.sizes)
    copy(builder, result, builder["InputTensor"])
    monoid = _MONOIDS[desc.Function](DATA_TYPES[result.data_type].kind)
    most = builder.target.max_region
    (rows,) = cut([result], most, (0,)) or result.sizes[:1]
    (taken,) = cut([updates, indices], most, (0,)) or updates.sizes[:1]
    steps = min(taken, max_steps(builder.target))
    for ((first, held),) in boxes(result.sizes[:1], (rows,)):
        for ((begin, count),) in boxes(updates.sizes[:1], (steps,)):
            builder.dispatch(
                "movement/reduce_into_rows.comp",
                {
                    "result": update(narrow(result, (0,), ((first, held),))),
                    "updates": read(narrow(updates, (0,), ((begin, count),))),
                    "indices": read(narrow(indices, (0,), ((begin, count),))),
                },
                space=result.sizes[1:],
                workgroup=lanes(builder.target),
                constants={"FIRST": first, "ROWS": held, "UPDATES": count},
                code="\n".join(monoid.function),
                steps=count,
            )
