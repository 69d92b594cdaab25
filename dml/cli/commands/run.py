"""`dml run`: runs, describes or profiles a model of any supported format."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from ..app import command
from ..arguments import NEWEST, DeviceOption, LevelOption, SizeOption, check_folder, input_files, level_of, sizes_of
from ..tables import show, table

if TYPE_CHECKING:
    from ...runtime.recording import KernelTime


@command(
    "dml run model.onnx --input x=x.npy --output-dir results",
    "dml run model.onnx --random --size batch=8",
    "dml run model.json --explain",
    "dml run model.xml --device llvmpipe --profile trace.json",
)
def run(
    model: Annotated[
        Path, typer.Argument(help="The model: .onnx, OpenVINO's .xml, DxDispatch's .json, or a serialized graph, .bin.")
    ],
    device: DeviceOption = "",
    feature_level: LevelOption = NEWEST,
    explain: Annotated[bool, typer.Option("--explain", help="Describe the compiled programs; run nothing.")] = False,
    profile: Annotated[
        Path | None, typer.Option(help="Show the time of each kernel, and write a trace (chrome://tracing, Perfetto).")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Number of runs of each dispatch.")] = 1,
    input: Annotated[list[str] | None, typer.Option(help="An input of a model: name=file.npy; repeatable.")] = None,
    random: Annotated[bool, typer.Option("--random", help="Use random numbers for inputs that are not given.")] = False,
    size: SizeOption = None,
    output_dir: Annotated[Path | None, typer.Option(help="Folder for a model's outputs, one .npy file each.")] = None,
    allow_paths_outside: Annotated[
        bool, typer.Option("--allow-paths-outside", help="Allow files outside the model's folder.")
    ] = False,
    no_fallback: Annotated[
        bool, typer.Option("--no-fallback", help="Refuse models with nodes that would run on the host.")
    ] = False,
    half: Annotated[bool, typer.Option("--half", help="Allow half precision for computations on FLOAT16.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show the time of each stage, on standard error.")] = False,
) -> None:
    """Run a model, describe its compiled programs, or profile it."""
    from ...api.device import create_device
    from ...enums import DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION, DML_EXECUTION_FLAG_NONE
    from ...frontends.kernel_times import write_trace
    from ...frontends.options import Options
    from ...frontends.running import open_file
    from ...waiting import Waiting

    level, sizes = level_of(feature_level), sizes_of(size)
    if profile is not None:
        check_folder("--profile", profile)
    flags = DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION if half else DML_EXECUTION_FLAG_NONE
    opened = create_device(device or None, feature_level=level, execution_flags=flags)
    files = input_files(input)
    with Waiting(Console(stderr=True), verbose=verbose) as waiting:
        say = partial(waiting.say, typer.echo)
        options = Options(say, allow_paths_outside, iterations, not no_fallback, files, output_dir, sizes, random)
        runnable = open_file(model, opened, options)
        if explain:
            say(runnable.describe())
        times = runnable.profile() if profile is not None else None
        if not explain and profile is None:
            runnable.run()
    if profile is not None and times is not None:
        clock = "device timestamps" if opened.has_timestamps else "host clock, each dispatch submitted on its own"
        _show_profile(times, clock)
        write_trace(profile, times, clock)


def _show_profile(profile: Mapping[str, list[KernelTime]], clock: str) -> None:
    for name, times in profile.items():
        whole = sum(taken.nanoseconds for taken in times)
        measured = "host clock" if name.endswith("on the host") else clock
        listed = table(f"{escape(name)}: {whole / 1e6:.4f} ms ({measured})", "nodes", "kernel", "ms", "share")
        for node, kernel, nanoseconds in times:
            share = f"{nanoseconds / whole:.1%}" if whole else ""
            listed.add_row(escape(node), escape(kernel), f"{nanoseconds / 1e6:.4f}", share)
        show(listed)
