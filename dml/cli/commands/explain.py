"""`dml explain`: which node of an ONNX model became which DirectML operators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ...capability import short_name
from ..app import MISUSED, command, fail
from ..arguments import DeviceOption, input_files
from ..tables import show, table


@command(
    "dml explain model.onnx", "dml explain model.onnx --input x=x.npy",
    "dml explain model.onnx --html page.html --profile",
)  # fmt: skip
def explain(
    model: Annotated[Path, typer.Argument(help="The model: .onnx; with --html also OpenVINO's .xml.")],
    device: DeviceOption = "",
    input: Annotated[
        list[str] | None, typer.Option(help="An input, name=file.npy, where its values or sizes matter; may repeat.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Draw the model into this page instead, with what fused.")] = None,
    profile: Annotated[bool, typer.Option("--profile", help="With --html: run it; add each kernel's time.")] = False,
) -> None:
    """Show which node of an ONNX model became which DirectML operators, and the feature level they need."""
    from ...api.device import create_device
    from ...frontends.onnx import prepare
    from ...frontends.onnx.command import explain as explained
    from ...frontends.running import Options
    from ...waiting import Waiting

    if profile and html is None:
        words = "--profile: needs --html, the page that the times go into; `dml run --profile` prints them"
        raise fail(words, MISUSED)
    options = Options(inputs=input_files(input))
    opened = create_device(device or None)
    with Waiting(Console(stderr=True)):
        if html is not None:
            from ...picture import write_picture
            from ...picture.files import picture_of

            write_picture(picture_of(model, opened, options, profile=profile), html)
            return
        rows, assumed = explained(prepare(model, opened), options.arrays())
    listed = table(escape(model.name), "node", "operators", "feature level")
    for row in rows:
        became = row.on_host or ", ".join(row.operators) or "(a constant or a view)"
        listed.add_row(escape(row.node), escape(became), short_name(row.level) if row.operators else "")
    show(listed)
    for words in assumed:
        show(escape(words))
