"""`dml support`: what each feature level supports."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ...capability import LATEST, TensorSupport, operator_introduced, operator_support, short_name
from ...descriptors import operators
from ...enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from ..app import command, fail
from ..arguments import LevelOption, level_of, named
from ..tables import show, table


@command("dml support", "dml support GRU --feature-level 3_0", "dml support REDUCE --function ARGMAX")
def support(
    operator: Annotated[str, typer.Argument(help="An operator, GRU or DML_OPERATOR_GRU; every one if left out.")] = "",
    feature_level: LevelOption = short_name(LATEST),
    function: Annotated[str, typer.Option(help="The function of REDUCE, ARGMAX; any of them if left out.")] = "",
) -> None:
    """Show what a feature level supports: an operator's tensors, or all operators."""
    level = level_of(feature_level)
    if not operator:
        show(_operators(level))
        return
    kind = named(DML_OPERATOR_TYPE, operator, "operator", prefix="DML_OPERATOR_")
    reduce_function = named(DML_REDUCE_FUNCTION, function, "reduce function") if function else None
    found = operator_support(kind, level, reduce_function)
    since = operator_introduced(kind)
    if found is None:
        raise fail(f"{short_name(kind)} is not available at feature level {short_name(level)}: "
                   f"it came with {short_name(since)}")  # fmt: skip
    of = f" ({short_name(reduce_function)})" if reduce_function is not None else ""
    columns = ["tensor", "kind", "dimensions", "data types"]
    if any(tensor.sizes for tensor in found.values()):
        columns.append("sizes ([X] may be left out)")
    listed = table(f"{short_name(kind)}{of} at feature level {short_name(level)}", *map(escape, columns))
    for name, tensor in found.items():
        cells = [name, _kind(tensor), _counts(tensor.dimension_counts), _data_types(tensor.data_types)]
        if tensor.sizes:
            cells.append(escape(f"{{ {', '.join(tensor.sizes)} }}"))
        listed.add_row(*cells)
    show(listed)


def _operators(level: DML_FEATURE_LEVEL) -> Table:
    from ...compiler.lowering import implemented  # `support GRU` needs no compiler

    compiled = implemented()
    listed = table(f"Operators at feature level {short_name(level)}", "operator", "since", "available", "implemented")
    for kind, desc_class in operators().items():
        since = operator_introduced(kind)
        listed.add_row(short_name(kind), short_name(since), _mark(since <= level), _mark(desc_class in compiled))
    listed.caption = f"{len(compiled)} of {len(operators())} implemented"
    return listed


def _mark(yes: bool) -> str:
    return "yes" if yes else "no"


def _kind(tensor: TensorSupport) -> str:
    return f"{'optional ' if tensor.optional else ''}{tensor.kind}{' array' if tensor.array else ''}"


def _counts(counts: range) -> str:
    return f"{counts.start} to {counts.stop - 1}" if len(counts) > 1 else f"{counts.start}"


def _data_types(data_types: Iterable[DML_TENSOR_DATA_TYPE]) -> str:
    return ", ".join(short_name(data_type) for data_type in sorted(data_types))
