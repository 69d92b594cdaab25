"""`dml explain`: which node of an ONNX model became which DirectML operators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ...capability import short_name
from ..app import command
from ..arguments import DeviceOption, input_files
from ..tables import show, table


@command("dml explain model.onnx", "dml explain model.onnx --input x=x.npy")
def explain(
    model: Annotated[Path, typer.Argument(help="The model, an .onnx file.")],
    device: DeviceOption = "",
    input: Annotated[
        list[str] | None, typer.Option(help="An input, name=file.npy, where its values or sizes matter; may repeat.")
    ] = None,
) -> None:
    """Show which node of an ONNX model became which DirectML operators, and the feature level they need."""
    from ...api.device import create_device
    from ...frontends.onnx import prepare
    from ...frontends.onnx.command import explain as explained
    from ...frontends.running import Options
    from ...waiting import Waiting

    inputs = Options(inputs=input_files(input)).arrays()
    opened = create_device(device or None)
    with Waiting(Console(stderr=True)):
        rows = explained(prepare(model, opened), inputs)
    listed = table(escape(model.name), "node", "operators", "feature level")
    for node, names, level in rows:
        listed.add_row(escape(node), ", ".join(names) or "(a constant or a view)", short_name(level) if names else "")
    show(listed)
