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
    found = [(path, checked) for path in files for checked in faults_of_file(path, level)]
    if json:
        answers: list[dict[str, Any]] = [
            {
                "file": str(path),
                "path": checked.path,
                "operator": checked.operator or None,
                "faults": [{"message": error.message, "hresult": error.hresult.name} for error in checked.faults],
            }
            for path, checked in found
        ]
        print_json(answers)
    else:
        for path, checked in found:
            where = ": ".join(filter(None, (str(path), checked.path)))
            if not checked.faults:
                typer.echo(f"{where}: {checked.operator} is valid at feature level {short_name(level)}")
            for error in checked.faults:
                typer.echo(f"{path if 'document' in error.placed_in else where}: {error.message}")
    if any(checked.faults for _, checked in found):
        raise typer.Exit(REFUSED)
