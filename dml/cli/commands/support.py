"""`dml support`: what each feature level supports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from ...capability import (
    OperatorSupport,
    TensorSupport,
    enumerator_introduced,
    operator_introduced,
    operator_support,
    operator_type,
    short_name,
    supports_in_place,
    tensor_data_type_supported,
)
from ...capability.questions import supported_operators
from ...descriptors import operators as all_operators
from ...enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from ...enums.naming import by_name, named, similar_names
from ...errors import DMLError
from ..app import REFUSED, command
from ..arguments import NEWEST, LevelOption, complete_operators, level_of
from ..tables import print_json, show, table

_Level = DML_FEATURE_LEVEL
_Type = DML_OPERATOR_TYPE


@command(
    "dml support",
    "dml support GRU GEMM --feature-level 3_0",
    "dml support SOFTMAX",
    "dml support REDUCE --function ARGMAX",
    "dml support --data-type FLOAT64 --feature-level 4_1",
    "dml support --in-place",
    "dml support --lowest model.onnx",
    "dml support --diff 5_0 6_4",
    "dml support CONVOLUTION --json",
)
def support(
    operator: Annotated[
        list[str] | None,
        typer.Argument(
            help="Operators, or parts of their names: GRU, SOFTMAX; by default all.", autocompletion=complete_operators
        ),
    ] = None,
    feature_level: LevelOption = NEWEST,
    function: Annotated[str, typer.Option(help="The function of REDUCE, such as ARGMAX; by default any.")] = "",
    data_type: Annotated[
        str, typer.Option(help="List the operators that support this data type at the level, such as FLOAT64.")
    ] = "",
    in_place: Annotated[
        bool | None,
        typer.Option("--in-place/--not-in-place", help="List operators that can (or cannot) write over an input."),
    ] = None,
    lowest: Annotated[
        Path | None, typer.Option(help="Show the lowest feature level that supports this file: .json, .onnx, .xml.")
    ] = None,
    diff: Annotated[
        tuple[str, str] | None, typer.Option(help="Show what the newer feature level adds.", metavar="OLD NEW")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a feature level supports: the tensors of some operators, or all operators.

    Exits with 1 if an operator given by its full name is not available.
    """
    if lowest is not None:
        _show_lowest(lowest, json)
        return
    wanted, several = _wanted(operator or [])
    if diff is not None:
        _show_difference(level_of(diff[0]), level_of(diff[1]), wanted or None, json)
        return
    level = level_of(feature_level)
    if data_type or in_place is not None:
        wanted_type = named(DML_TENSOR_DATA_TYPE, data_type, "--data-type") if data_type else None
        _show_chosen(level, wanted or None, wanted_type, in_place, json)
        return
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
                "operators": [_as_json(kind, tensors) for kind, tensors in zip(wanted, found, strict=True)],
            }
        )
        if None in found and not several:
            raise typer.Exit(REFUSED)
        return
    for kind, tensors in zip(wanted, found, strict=True):
        if tensors is None:
            raise DMLError(
                f"{short_name(kind)} is not available at feature level {short_name(level)}: it came with "
                f"{short_name(operator_introduced(kind))}"
            )
        listed = table(tensors.title, *map(escape, tensors.columns()))
        for row in tensors.rows():
            listed.add_row(*map(escape, row))
        show(listed)
        place = (
            "can write an output over an input" if supports_in_place(kind) else "cannot write an output over an input"
        )
        typer.echo(f"{short_name(kind)}: since {short_name(operator_introduced(kind))}, {place}")


def _wanted(texts: Sequence[str]) -> tuple[list[_Type], bool]:
    """Return the operators that the texts name, fully or in part, and whether a text names several."""
    found: dict[_Type, None] = {}
    several = False
    names = {short_name(kind): kind for kind in all_operators()}
    for text in texts:
        exact = by_name(DML_OPERATOR_TYPE, text)
        close = [] if exact is not None else similar_names(text.upper().removeprefix("DML_OPERATOR_"), names)
        holds = [name for name in close if text.upper() in name]
        if exact is not None or not holds:
            found[operator_type(text)] = None  # raises DMLError with similar names if there is none
        else:
            several = several or len(holds) > 1
            found.update(dict.fromkeys(names[name] for name in holds))
    return list(found), several


def _show_lowest(path: Path, json: bool) -> None:
    from ...frontends.levels import needed_levels

    found = needed_levels(path)
    level = max((item.level for item in found), default=_Level.DML_FEATURE_LEVEL_1_0)
    if json:
        print_json(
            {
                "file": str(path),
                "feature_level": short_name(level),
                "operators": [{"what": item.what, "feature_level": short_name(item.level)} for item in found],
            }
        )
        return
    highest = [item.what for item in found if item.level == level]
    typer.echo(f"{path}: feature level {short_name(level)}")
    for what in highest[:5] if level > _Level.DML_FEATURE_LEVEL_1_0 else []:
        typer.echo(f"  {what}")
    if len(highest) > 5 and level > _Level.DML_FEATURE_LEVEL_1_0:
        typer.echo(f"  and {len(highest) - 5} more")


def _show_chosen(
    level: _Level, kinds: Sequence[_Type] | None, data_type: DML_TENSOR_DATA_TYPE | None, in_place: bool | None,
    json: bool,
) -> None:  # fmt: skip
    """List the operators of a level, among ``kinds`` if given, by data type or by support of in-place execution."""
    chosen = supported_operators(level, in_place=in_place, data_type=data_type)
    found = [kind for kind in chosen if kinds is None or kind in kinds]
    is_type = data_type is not None and tensor_data_type_supported(data_type, level)
    since = "" if data_type is None else short_name(enumerator_introduced(data_type))
    if json:
        about = None if data_type is None else {"name": short_name(data_type), "supported": is_type, "since": since}
        print_json(
            {
                "feature_level": short_name(level),
                "data_type": about,
                "in_place": in_place,
                "operators": [_as_json(kind, operator_support(kind, level)) for kind in found],
            }
        )
        return
    listed = table(f"Operators at feature level {short_name(level)}", "operator", "since", "in place", "tensors")
    for kind in found:
        tensors: Mapping[str, TensorSupport] = operator_support(kind, level) or {}
        taking = [name for name, tensor in tensors.items() if data_type is None or data_type in tensor.data_types]
        cells = (short_name(operator_introduced(kind)), _mark(supports_in_place(kind)), ", ".join(taking))
        listed.add_row(short_name(kind), *cells)
    show(listed)
    if data_type is not None:
        has = "is a" if is_type else "is not a"
        words = f"tensor data type at feature level {short_name(level)}; it came with {since}"
        typer.echo(f"{short_name(data_type)} {has} {words}")
    typer.echo(f"{len(found)} operator{'' if len(found) == 1 else 's'}")


def _show_all(level: _Level, kinds: Sequence[_Type], json: bool) -> None:
    from ...compiler.lowering import implemented  # imported here, because `support GRU` needs no compiler

    compiled, every = implemented(), all_operators()
    lowered = sum(cls in compiled for cls in every.values())
    available = sum(operator_introduced(kind) <= level for kind in every)
    if json:
        rows = [
            {
                "operator": short_name(kind),
                "since": short_name(operator_introduced(kind)),
                "available": operator_introduced(kind) <= level,
                "implemented": every[kind] in compiled,
                "in_place": supports_in_place(kind),
            }
            for kind in kinds
        ]
        counts = {"available": available, "of": len(every)}
        print_json({"feature_level": short_name(level), **counts, "operators": rows})
        return
    listed = table(f"Operators at feature level {short_name(level)}", "operator", "since", "available", "in place")
    for kind in kinds:
        since = operator_introduced(kind)
        listed.add_row(short_name(kind), short_name(since), _mark(since <= level), _mark(supports_in_place(kind)))
    show(listed)
    if len(kinds) == len(every):
        typer.echo(f"{available} of {len(every)} available, {lowered} of {len(every)} implemented")
    else:
        typer.echo(f"for the tensors, give one full name: dml support {short_name(kinds[0])}")


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
                    {"operator": short_name(item.operator), "new": item.is_new, "changes": item.lists()}
                    for item in found
                ],
            }
        )
        return
    title = f"From feature level {short_name(older)} to {short_name(newer)}"
    listed = table(title, "operator", "tensors", "what is new")
    for item in found:
        if item.is_new:
            listed.add_row(short_name(item.operator), "", "the operator")
            continue
        by_change: dict[str, list[str]] = {}
        for name, change in item.changes().items():
            by_change.setdefault(change, []).append(name)
        for index, (change, tensors) in enumerate(by_change.items()):
            listed.add_row("" if index else short_name(item.operator), ", ".join(tensors), escape(change))
    show(listed)
    new = sum(item.is_new for item in found)
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
            "choice": tensor.choice or None,
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
