"""`dml validate`: shows all faults of the operators in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ...capability import short_name
from ..app import REFUSED, command
from ..arguments import NEWEST, LevelOption, level_of
from ..tables import print_json


@command("dml validate model.json", "dml validate gemm.json --feature-level 3_0", "dml validate a.json b.json --json")
def validate(
    files: Annotated[list[Path], typer.Argument(help='DxDispatch models, or single operators, {"Type", "Desc"}.')],
    feature_level: LevelOption = NEWEST,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check operators in DxDispatch's JSON, without a device: shows all faults, and exits with 1 if there are any."""
    from ...frontends.dxdispatch.validate import faults_of_file

    level = level_of(feature_level)
    found = [(path, operator) for path in files for operator in faults_of_file(path, level)]
    if json:
        answers: list[dict[str, Any]] = [
            {
                "file": str(path),
                "path": operator.path,
                "operator": operator.operator or None,
                "faults": [{"message": error.message, "hresult": error.hresult.name} for error in operator.faults],
            }
            for path, operator in found
        ]
        print_json(answers)
    else:
        for path, operator in found:
            where = ": ".join(filter(None, (str(path), operator.path)))
            if not operator.faults:
                typer.echo(f"{where}: {operator.operator} is valid at feature level {short_name(level)}")
            for error in operator.faults:
                typer.echo(f"{path if 'document' in error.placed_in else where}: {error.message}")
    if any(operator.faults for _, operator in found):
        raise typer.Exit(REFUSED)
