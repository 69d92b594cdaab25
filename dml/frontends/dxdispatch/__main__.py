"""python -m dml.frontends.dxdispatch model.json: the command line of DxDispatch, on Vulkan devices.

It has DxDispatch's options, except those for Direct3D 12 (queues, barriers, PIX, HLSL, power) and for ONNX Runtime's
optimizer. Reference: DxDispatch's --help.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dml.errors import DMLError

_TIMING = "Timing"
_DEVICES = "Devices"
_ONNX = "ONNX models"


def main(
    model: Annotated[
        Path | None, typer.Argument(help="Path to the JSON model file, or an ONNX model.", show_default=False)
    ] = None,
    model_option: Annotated[Path | None, typer.Option("-m", "--model", help="Path to the model file.")] = None,
    show_dependencies: Annotated[
        bool, typer.Option("-S", "--show_dependencies", help="Show versions of dml and its dependencies.")
    ] = False,
    input_path: Annotated[Path | None, typer.Option("--input_path", help="Base path for reading input files.")] = None,
    output_path: Annotated[
        Path | None, typer.Option("--output_path", help="Base path for writing output files.")
    ] = None,
    print_commands: Annotated[
        bool, typer.Option("--print_commands", help="Print a message before and after each command.")
    ] = False,
    dispatch_iterations: Annotated[
        int, typer.Option("-i", "--dispatch_iterations", min=1, help="Minimum measurements.", rich_help_panel=_TIMING)
    ] = 1,
    dispatch_repeat: Annotated[
        int, typer.Option("-r", "--dispatch_repeat", min=1, help="Dispatches per measurement.", rich_help_panel=_TIMING)
    ] = 1,
    milliseconds_to_run: Annotated[
        int, typer.Option("-t", "--milliseconds_to_run", min=0, help="Minimum measured time.", rich_help_panel=_TIMING)
    ] = 0,
    dispatch_interval: Annotated[
        int,
        typer.Option(
            "-I", "--dispatch_interval", min=0, help="Minimum milliseconds per measurement.", rich_help_panel=_TIMING
        ),
    ] = 0,
    warmup_samples: Annotated[
        int, typer.Option("-w", "--warmup_samples", min=0, help="Initial cold measurements.", rich_help_panel=_TIMING)
    ] = 1,
    timing_verbosity: Annotated[
        int,
        typer.Option(
            "-v", "--timing_verbosity", min=0, max=2, help="0: hot, 1: cold too, 2: all.", rich_help_panel=_TIMING
        ),
    ] = 0,
    adapter: Annotated[
        str, typer.Option("-a", "--adapter", help="Part of the device's name.", rich_help_panel=_DEVICES)
    ] = "",
    show_adapters: Annotated[
        bool, typer.Option("-s", "--show_adapters", help="Show the devices.", rich_help_panel=_DEVICES)
    ] = False,
    onnx_free_dim_name_override: Annotated[
        list[str] | None,
        typer.Option(
            "-f",
            "--onnx_free_dim_name_override",
            metavar="NAME:SIZE",
            help="Size of a dimension; repeatable.",
            rich_help_panel=_ONNX,
        ),
    ] = None,
    binding_shape: Annotated[
        list[str] | None,
        typer.Option(
            "-b",
            "--binding_shape",
            metavar="TENSOR:N,N",
            help="Shape of a bound value; repeatable.",
            rich_help_panel=_ONNX,
        ),
    ] = None,
    clear_shader_caches: Annotated[
        bool, typer.Option("--clear_shader_caches", help="Clear the shader cache first.", rich_help_panel=_DEVICES)
    ] = False,
) -> None:
    """Run a DxDispatch model."""
    from dml import cache
    from dml.api.device import create_device
    from dml.frontends.dxdispatch import Session, load
    from dml.frontends.dxdispatch.model import Overrides
    from dml.frontends.dxdispatch.timing import Timing
    from dml.runtime.devices import list_devices

    path = model or model_option
    if clear_shader_caches:
        cache.clear()
    if show_adapters:
        for found in list_devices():
            typer.echo(f"{found.index}: {found.name}")
    if show_dependencies:
        _show_dependencies()
    if path is None:
        if show_adapters or show_dependencies:
            return
        raise typer.BadParameter("a model is needed", param_hint="MODEL")
    timing = Timing(
        dispatch_iterations, dispatch_repeat, milliseconds_to_run, dispatch_interval, warmup_samples, timing_verbosity
    )
    device = create_device(adapter or None)
    typer.echo(f"Running on '{device.vulkan.name}'")
    overrides = Overrides(
        {name: numbers[0] for name, numbers in _numbers(onnx_free_dim_name_override, "-f").items()},
        _numbers(binding_shape, "-b"),
    )
    loaded = load(path, input_path=input_path, output_path=output_path, overrides=overrides)
    Session(loaded, device, say=typer.echo, timing=timing, print_commands=print_commands).run()


def _numbers(given: list[str] | None, option: str) -> dict[str, tuple[int, ...]]:
    """Parse NAME:N,N, ...; return the numbers by name."""
    found = {}
    for text in given or ():
        name, colon, sizes = text.rpartition(":")
        parts = sizes.split(",")
        if not colon or not name or not all(part.isdecimal() for part in parts):
            raise typer.BadParameter(f"takes NAME:NUMBERS, found {text!r}", param_hint=option)
        found[name] = tuple(map(int, parts))
    return found


def _show_dependencies() -> None:
    from importlib.metadata import PackageNotFoundError, version

    from dml import __version__

    typer.echo(f"dml: {__version__}")
    for name in ("kp", "numpy"):
        try:
            typer.echo(f"{name}: {version(name)}")
        except PackageNotFoundError:
            typer.echo(f"{name}: not installed as a package")


def command() -> None:
    """Run the command line; a DMLError becomes a line on standard error and exit code 1."""
    try:
        typer.run(main)
    except DMLError as error:
        print(error, file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    command()
