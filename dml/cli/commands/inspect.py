"""`dml inspect`: inputs, outputs, operators and memory of a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ...words import bytes_text
from ..app import command
from ..arguments import DeviceOption, SizeOption, input_files, sizes_of
from ..tables import print_json, show, table

if TYPE_CHECKING:
    from ...frontends.summary import ModelSummary, ValueSummary

_HOW = {"mapped": "yes", "function": "yes, as a function of other operators", "host": "no"}


@command("dml inspect model.onnx", "dml inspect model.onnx --size batch=8", "dml inspect model.onnx --json")
def inspect(
    model: Annotated[Path, typer.Argument(help="The model: .onnx, or OpenVINO's .xml.")],
    size: SizeOption = None,
    input: Annotated[
        list[str] | None, typer.Option(help="An input whose values matter, name=file.npy; repeatable.")
    ] = None,
    device: DeviceOption = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show inputs, outputs, operators and memory of a model. Nothing runs, and no device is needed."""
    from ...frontends.options import Options
    from ...planning.planner import planner

    arrays, sizes = Options(inputs=input_files(input)).arrays(), sizes_of(size)
    planned, name = planner(device or None)
    if model.suffix.lower() == ".xml":
        from ...frontends.openvino.command import inspect_network

        facts = inspect_network(model, planned, sizes)
    else:
        from ...frontends.onnx.run.inspect import inspect_model

        facts = inspect_model(model, planned, sizes=sizes, inputs=arrays)
    if json:
        print_json({**asdict(facts), "device": name})
    else:
        _show(model, facts, name)


def _show(model: Path, facts: ModelSummary, device: str) -> None:
    values = table(escape(model.name), "", "name", "type", "shape")
    for what, found in (("input", facts.inputs), ("output", facts.outputs)):
        for value in found:
            values.add_row(what, escape(value.name), value.kind, escape(_shape(value)))
    show(values)
    opsets = ", ".join(f"{domain} {version}" for domain, version in facts.opsets.items())
    listed = table("Operators", "operator", "nodes", "mapped")
    for operator in facts.operators:
        domain = "" if operator.domain == "ai.onnx" else f"{operator.domain}::"
        listed.add_row(escape(f"{domain}{operator.name}"), str(operator.count), _HOW[operator.how])
    show(listed)
    _show_weights(facts)
    typer.echo(f"opsets: {opsets}{f', made by {facts.producer}' if facts.producer else ''}")
    typer.echo(f"weights in the file: {facts.weight_elements} elements, {bytes_text(facts.weight_bytes)}")
    if facts.memory is None:
        typer.echo(f"memory on the device is not known without running: {facts.unplanned}")
        return
    sizes = ", ".join(
        f"{name}={size}{' (assumed)' if name in facts.assumed else ''}" for name, size in facts.sizes.items()
    )
    uses = ", ".join(f"{use} {bytes_text(size)}" for use, size in facts.memory.items())
    whole = bytes_text(sum(facts.memory.values()))
    typer.echo(f"memory on {device}{f' for {sizes}' if sizes else ''}: {whole} at most ({uses or 'nothing'})")


def _show_weights(facts: ModelSummary) -> None:
    if facts.largest:
        weights = table("Largest weights", "name", "type", "shape", "in the file", "on the device")
        for item in facts.largest:
            on_device = "unknown" if item.device_bytes is None else bytes_text(item.device_bytes)
            shape = " x ".join(map(str, item.shape)) or "scalar"
            weights.add_row(escape(item.name), item.kind, shape, bytes_text(item.bytes), on_device)
        show(weights)
    if facts.prepared:
        prepared = table("Largest weights that initialization makes", "by", "on the device")
        for name, size in facts.prepared:
            prepared.add_row(escape(name), bytes_text(size))
        show(prepared)


def _shape(value: ValueSummary) -> str:
    return "unknown" if value.shape is None else " x ".join(map(str, value.shape)) or "scalar"
