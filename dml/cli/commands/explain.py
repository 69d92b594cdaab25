"""`dml explain`: the DirectML operators of each node of a model."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ...capability import short_name
from ..app import MISUSED, command, fail
from ..arguments import DeviceOption, SizeOption, input_files, sizes_of
from ..tables import print_json, show, table

if TYPE_CHECKING:
    from ...frontends.summary import Explanation
    from ...picture import Picture


@command(
    "dml explain model.onnx", "dml explain model.onnx --input x=x.npy --size batch=8",
    "dml explain model.onnx --html page.html --profile", "dml explain model.xml --json --profile",
)  # fmt: skip
def explain(
    model: Annotated[Path, typer.Argument(help="The model: .onnx, OpenVINO's .xml, or a serialized graph, .bin.")],
    device: DeviceOption = "",
    input: Annotated[
        list[str] | None, typer.Option(help="An input whose values or sizes matter, name=file.npy; repeatable.")
    ] = None,
    size: SizeOption = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with a drawing of the model and its fusions.")] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="With --html or --json: run it; add each kernel's time.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON: nodes, and kernels with --profile.")] = False,
) -> None:
    """Show the DirectML operators of each node of a model, and the feature level they need.

    Nodes for the host run only with --profile.
    """
    from ...api.device import create_device
    from ...frontends.options import Options
    from ...frontends.running import explain_file
    from ...picture.files import picture_of
    from ...waiting import Waiting

    if profile and html is None and not json:
        words = "--profile: needs --html or --json to write the times to; `dml run --profile` prints them"
        raise fail(words, MISUSED)
    options = Options(inputs=input_files(input), sizes=sizes_of(size))
    opened = create_device(device or None)
    picture, found = None, None
    with Waiting(Console(stderr=True)):
        if html is not None or profile:
            picture = picture_of(model, opened, options, profile=profile)
        if html is None or json:
            found = explain_file(model, opened, options)
    if html is not None and picture is not None:
        from ...picture import write_picture

        write_picture(picture, html)
    if json and found is not None:
        print_json(_as_json(found, picture if profile else None, opened.vulkan.name))
    elif found is not None:
        _show(model, found)


def _show(model: Path, found: Explanation) -> None:
    listed = table(escape(model.name), "node", "operators", "feature level")
    for row in found.rows:
        became = row.on_host or ", ".join(row.operators) or "(a constant or a view)"
        listed.add_row(escape(row.node), escape(became), short_name(row.level) if row.operators else "")
    show(listed)
    for words in found.assumed:
        show(escape(words))


def _as_json(found: Explanation, picture: Picture | None, device: str) -> dict[str, Any]:
    nodes = [
        {
            "node": row.node,
            "operators": row.operators,
            "feature_level": short_name(row.level) if row.operators else None,
            "on_host": row.on_host or None,
        }
        for row in found.rows
    ]
    facts = {"device": device, "sizes": dict(found.sizes), "assumed": found.assumed, "nodes": nodes}
    if picture is None:
        return facts
    names = [node.name or next((value.name for value in node.outputs), node.operator) for node in picture.nodes]
    kernels = [
        dataclasses.asdict(kernel) | {"nodes": [names[index] for index in kernel.nodes]} for kernel in picture.kernels
    ]
    return {**facts, "kernels": kernels}
