"""`dml support`: what each feature level supports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.markup import escape

from ...capability import (
    OperatorSupport,
    operator_introduced,
    operator_support,
    operator_type,
    short_name,
    supports_in_place,
)
from ...descriptors import operators as all_operators
from ...enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION
from ...enums.naming import by_name, named, near
from ...errors import DMLError
from ..app import command
from ..arguments import NEWEST, LevelOption, complete_operators, level_of
from ..tables import print_json, show, table

_Level = DML_FEATURE_LEVEL
_Type = DML_OPERATOR_TYPE


@command(
    "dml support",
    "dml support GRU GEMM --feature-level 3_0",
    "dml support SOFTMAX",
    "dml support REDUCE --function ARGMAX",
    "dml support --diff 5_0 6_4",
    "dml support CONVOLUTION --json",
)
def support(
    operator: Annotated[
        list[str] | None,
        typer.Argument(
            help="Operators, or parts of their names: GRU, SOFTMAX; all if left out.", autocompletion=complete_operators
        ),
    ] = None,
    feature_level: LevelOption = NEWEST,
    function: Annotated[str, typer.Option(help="The function of REDUCE, ARGMAX; any of them if left out.")] = "",
    diff: Annotated[
        tuple[str, str] | None, typer.Option(help="What the newer of two feature levels has more.", metavar="OLD NEW")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a feature level supports: some operators' tensors, or all operators."""
    wanted, several = _wanted(operator or [])
    if diff is not None:
        _show_difference(level_of(diff[0]), level_of(diff[1]), wanted or None, json)
        return
    level = level_of(feature_level)
    if not wanted:
        _show_all(level, list(all_operators()), json)
        return
    if several and not json:
        _show_all(level, wanted, json)
        return
    reduce_function = named(DML_REDUCE_FUNCTION, function, "--function") if function else None
    found = [operator_support(kind, level, reduce_function) for kind in wanted]
    if json:
        print_json(
            {
                "feature_level": short_name(level),
                "operators": [_as_json(kind, one) for kind, one in zip(wanted, found, strict=True)],
            }
        )
        return
    for kind, one in zip(wanted, found, strict=True):
        if one is None:
            raise DMLError(
                f"{short_name(kind)} is not available at feature level {short_name(level)}: it came with "
                f"{short_name(operator_introduced(kind))}"
            )
        listed = table(one.title, *map(escape, one.columns()))
        for row in one.rows():
            listed.add_row(*map(escape, row))
        show(listed)


def _wanted(texts: Sequence[str]) -> tuple[list[_Type], bool]:
    """The operators that the texts name, in full or by a part, each once; and whether one text named several."""
    found: dict[_Type, None] = {}
    several = False
    names = {short_name(kind): kind for kind in all_operators()}
    for text in texts:
        exact = by_name(DML_OPERATOR_TYPE, text)
        close = [] if exact is not None else near(text.upper().removeprefix("DML_OPERATOR_"), names)
        holds = [name for name in close if text.upper() in name]
        if exact is not None or not holds:
            found[operator_type(text)] = None  # raises where it is none, with what is near
        else:
            several = several or len(holds) > 1
            found.update(dict.fromkeys(names[name] for name in holds))
    return list(found), several


def _show_all(level: _Level, kinds: Sequence[_Type], json: bool) -> None:
    from ...compiler.lowering import implemented  # `support GRU` needs no compiler

    compiled, every = implemented(), all_operators()
    available = sum(operator_introduced(kind) <= level for kind in every)
    if json:
        rows = [
            {
                "operator": short_name(kind),
                "since": short_name(operator_introduced(kind)),
                "available": operator_introduced(kind) <= level,
                "implemented": every[kind] in compiled,
            }
            for kind in kinds
        ]
        counts = {"available": available, "of": len(every)}
        print_json({"feature_level": short_name(level), **counts, "operators": rows})
        return
    listed = table(f"Operators at feature level {short_name(level)}", "operator", "since", "available", "implemented")
    for kind in kinds:
        since = operator_introduced(kind)
        listed.add_row(short_name(kind), short_name(since), _mark(since <= level), _mark(every[kind] in compiled))
    show(listed)
    if len(kinds) == len(every):
        typer.echo(f"{available} of {len(every)} available, {len(compiled)} of {len(every)} implemented")
    else:
        typer.echo(f"with one name in full it shows the tensors: dml support {short_name(kinds[0])}")


def _show_difference(older: _Level, newer: _Level, kinds: Sequence[_Type] | None, json: bool) -> None:
    from ...capability.differences import support_difference

    older, newer = sorted((older, newer))
    found = support_difference(older, newer, kinds)
    counts = {
        level: sum(operator_introduced(kind) <= level for kind in all_operators()) for level in (older, newer)
    }  # fmt: skip
    if json:
        print_json(
            {
                "older": {"feature_level": short_name(older), "available": counts[older]},
                "newer": {"feature_level": short_name(newer), "available": counts[newer]},
                "operators": [
                    {"operator": short_name(one.operator), "new": one.is_new, "changes": one.changes()} for one in found
                ],
            }
        )
        return
    title = f"From feature level {short_name(older)} to {short_name(newer)}"
    listed = table(title, "operator", "tensors", "what is new")
    for one in found:
        if one.is_new:
            listed.add_row(short_name(one.operator), "", "the operator")
            continue
        by_change: dict[str, list[str]] = {}
        for name, change in one.changes().items():
            by_change.setdefault(change, []).append(name)
        for at, (change, tensors) in enumerate(by_change.items()):
            listed.add_row("" if at else short_name(one.operator), ", ".join(tensors), escape(change))
    show(listed)
    new = sum(one.is_new for one in found)
    typer.echo(
        f"{short_name(older)} has {counts[older]} of {len(all_operators())} operators, {short_name(newer)} has "
        f"{counts[newer]}; of those here {new} are new, {len(found) - new} take more"
    )


def _as_json(kind: _Type, found: OperatorSupport | None) -> dict[str, Any]:
    tensors = {
        name: {
            "kind": tensor.kind,
            "optional": tensor.optional,
            "array": tensor.array,
            "dimension_counts": [tensor.dimension_counts.start, tensor.dimension_counts.stop - 1],
            "data_types": [short_name(data_type) for data_type in sorted(tensor.data_types)],
            "sizes": None if tensor.sizes is None else list(tensor.sizes),
        }
        for name, tensor in (found or {}).items()
    }
    return {
        "operator": short_name(kind),
        "since": short_name(operator_introduced(kind)),
        "available": found is not None,
        "in_place": supports_in_place(kind),
        "tensors": tensors,
    }


def _mark(yes: bool) -> str:
    return "yes" if yes else "no"
