"""python -m dml.frontends.dxdispatch model.json: the command line of DxDispatch, on Vulkan devices.

It has DxDispatch's options, except those for Direct3D 12 (queues, barriers, PIX, HLSL, power) and for ONNX Runtime's
optimizer. Reference: DxDispatch's --help.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from dml.errors import DMLError

_timing, _devices, _onnx = (partial(Option, rich_help_panel=panel) for panel in ("Timing", "Devices", "ONNX models"))


def main(
    model: Annotated[
        Path | None, typer.Argument(help="Path to the JSON model file, or an ONNX model.", show_default=False)
    ] = None,
    model_option: Annotated[Path | None, Option("-m", "--model", help="Path to the model file.")] = None,
    show_dependencies: Annotated[
        bool, Option("-S", "--show_dependencies", help="Show versions of dml and its dependencies.")
    ] = False,
    input_path: Annotated[Path | None, Option("--input_path", help="Base path for reading input files.")] = None,
    output_path: Annotated[Path | None, Option("--output_path", help="Base path for writing output files.")] = None,
    print_commands: Annotated[
        bool, Option("--print_commands", help="Print a message before and after each command.")
    ] = False,
    dispatch_iterations: Annotated[
        int, _timing("-i", "--dispatch_iterations", min=1, help="Minimum measurements.")
    ] = 1,
    dispatch_repeat: Annotated[int, _timing("-r", "--dispatch_repeat", min=1, help="Dispatches per measurement.")] = 1,
    milliseconds_to_run: Annotated[
        int, _timing("-t", "--milliseconds_to_run", min=0, help="Minimum measured time.")
    ] = 0,
    dispatch_interval: Annotated[
        int, _timing("-I", "--dispatch_interval", min=0, help="Minimum milliseconds per measurement.")
    ] = 0,
    warmup_samples: Annotated[int, _timing("-w", "--warmup_samples", min=0, help="Initial cold measurements.")] = 1,
    timing_verbosity: Annotated[
        int, _timing("-v", "--timing_verbosity", min=0, max=2, help="0: hot, 1: cold too, 2: all.")
    ] = 0,
    adapter: Annotated[str, _devices("-a", "--adapter", help="Part of the device's name.")] = "",
    show_adapters: Annotated[bool, _devices("-s", "--show_adapters", help="Show the devices.")] = False,
    onnx_free_dim_name_override: Annotated[
        list[str] | None,
        _onnx("-f", "--onnx_free_dim_name_override", metavar="NAME:SIZE", help="Size of a dimension; repeatable."),
    ] = None,
    binding_shape: Annotated[
        list[str] | None,
        _onnx("-b", "--binding_shape", metavar="TENSOR:N,N", help="Shape of a bound value; repeatable."),
    ] = None,
    clear_shader_caches: Annotated[
        bool, _devices("--clear_shader_caches", help="Clear the shader cache first.")
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
