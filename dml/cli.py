"""The `dml` command: what devices this machine has, what each feature level supports, and running models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .capability import LATEST, TensorSupport, operator_introduced, operator_support, short_name
from .descriptors import operators
from .enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE, DML_REDUCE_FUNCTION, DML_TENSOR_DATA_TYPE
from .errors import DMLError

if TYPE_CHECKING:
    from .runtime.recording import KernelTime

_Enumeration = TypeVar("_Enumeration", bound=IntEnum)

app = typer.Typer(help="DirectML's descriptor API on Vulkan compute.", no_args_is_help=True, add_completion=False)


def _print(table: Table) -> None:
    """As wide as a terminal; in a pipe as wide as the table, so that tools find one row in one line."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=500)
    console.print(table)


def _fail(message: str) -> typer.Exit:
    Console(stderr=True).print(message, style="red", highlight=False, markup=False)
    return typer.Exit(1)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


@app.command()
def devices() -> None:
    """List the Vulkan devices: name, driver, type, limits."""
    from .runtime.devices import list_devices

    try:
        found = list_devices()
    except DMLError as error:
        raise _fail(str(error)) from None
    if not found:
        raise _fail("no Vulkan device; install a driver (Debian: mesa-vulkan-drivers)")
    table = _table("Vulkan devices", "index", "name", "type", "driver", "Vulkan", "memory", "largest buffer",
                   "workgroup", "shared memory", "subgroup")  # fmt: skip
    for device in found:
        target = device.target
        table.add_row(
            str(device.index), device.name, device.device_class.value, device.driver,
            ".".join(map(str, device.api_version)), _bytes(device.memory), _bytes(device.max_allocation),
            str(target.max_workgroup_invocations), _bytes(target.shared_memory), str(target.subgroup_size),
        )  # fmt: skip
    _print(table)


@app.command()
def support(
    operator: Annotated[str, typer.Argument(help="An operator, GRU or DML_OPERATOR_GRU; every one if left out.")] = "",
    feature_level: Annotated[str, typer.Option(help="A feature level, 3_0.")] = short_name(LATEST),
    function: Annotated[str, typer.Option(help="The function of REDUCE, ARGMAX; any of them if left out.")] = "",
) -> None:
    """Show what a feature level supports: an operator's tensors, or all operators."""
    level = _named(DML_FEATURE_LEVEL, feature_level.replace(".", "_"), "feature level")
    if not operator:
        _print(_operators(level))
        return
    kind = _named(DML_OPERATOR_TYPE, operator, "operator", prefix="DML_OPERATOR_")
    reduce_function = _named(DML_REDUCE_FUNCTION, function, "reduce function") if function else None
    try:
        found = operator_support(kind, level, reduce_function)
        since = operator_introduced(kind)
    except DMLError as error:
        raise _fail(str(error)) from None
    if found is None:
        raise _fail(f"{short_name(kind)} is not available at feature level {short_name(level)}: "
                    f"it came with {short_name(since)}")  # fmt: skip
    of = f" ({short_name(reduce_function)})" if reduce_function is not None else ""
    columns = ["tensor", "kind", "dimensions", "data types"]
    if any(tensor.sizes for tensor in found.values()):
        columns.append("sizes ([X] may be left out)")
    table = _table(f"{short_name(kind)}{of} at feature level {short_name(level)}", *map(escape, columns))
    for name, tensor in found.items():
        cells = [name, _kind(tensor), _counts(tensor.dimension_counts), _data_types(tensor.data_types)]
        if tensor.sizes:
            cells.append(escape(f"{{ {', '.join(tensor.sizes)} }}"))
        table.add_row(*cells)
    _print(table)


@app.command()
def run(
    model: Annotated[Path, typer.Argument(help="The model: .onnx, OpenVINO's .xml, or DxDispatch's .json.")],
    device: Annotated[str, typer.Option(help="The device's index or a part of its name; the best if left out.")] = "",
    feature_level: Annotated[str, typer.Option(help="A feature level, 3_0.")] = short_name(LATEST),
    explain: Annotated[bool, typer.Option("--explain", help="Show what the model compiles to; do not run it.")] = False,
    profile: Annotated[
        Path | None, typer.Option(help="Show the time of each kernel, and write a trace (chrome://tracing, Perfetto).")
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="How often each dispatch runs.")] = 1,
    input: Annotated[
        list[str] | None, typer.Option(help="An input of a model: name=file.npy; may be repeated.")
    ] = None,
    output_dir: Annotated[Path | None, typer.Option(help="Where a model's outputs go, an .npy file each.")] = None,
    allow_paths_outside: Annotated[
        bool, typer.Option("--allow-paths-outside", help="Files that the model names may lie outside of its folder.")
    ] = False,
    no_fallback: Annotated[
        bool, typer.Option("--no-fallback", help="Refuse an ONNX model with nodes that would run on the host.")
    ] = False,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show where the time went, on standard error.")] = False,
) -> None:
    """Run a model, explain what it compiles to, or profile it."""
    from .api.device import create_device
    from .frontends.running import Options, open_file, write_trace
    from .waiting import Waiting

    level = _named(DML_FEATURE_LEVEL, feature_level.replace(".", "_"), "feature level")
    try:
        opened = create_device(device or None, feature_level=level)
        files = _inputs(input or [])
        with Waiting(Console(stderr=True), verbose=verbose) as waiting:
            say = partial(waiting.say, typer.echo)
            runnable = open_file(
                model, opened, Options(say, allow_paths_outside, iterations, not no_fallback, files, output_dir)
            )
            if explain:
                say(runnable.describe())
            times = runnable.profile() if profile is not None else None
            if not explain and profile is None:
                runnable.run()
        if profile is not None and times is not None:
            clock = "device timestamps" if opened.has_timestamps else "host clock, each dispatch submitted on its own"
            _print_profile(times, clock)
            write_trace(profile, times, clock)
    except DMLError as error:
        raise _fail(str(error)) from None


@app.command()
def explain(
    model: Annotated[Path, typer.Argument(help="The model, an .onnx file.")],
    device: Annotated[str, typer.Option(help="The device's index or a part of its name; the best if left out.")] = "",
    input: Annotated[
        list[str] | None, typer.Option(help="An input, name=file.npy, where its values or sizes matter; may repeat.")
    ] = None,
) -> None:
    """Show which node of an ONNX model became which DirectML operators, and the feature level they need."""
    from .api.device import create_device
    from .frontends.running import Options

    try:
        from .frontends.onnx import prepare
        from .frontends.onnx.command import explain as explained
        from .waiting import Waiting

        inputs = Options(inputs=_inputs(input or [])).arrays()
        opened = create_device(device or None)
        with Waiting(Console(stderr=True)):
            rows = explained(prepare(model, opened), inputs)
    except DMLError as error:
        raise _fail(str(error)) from None
    table = _table(escape(model.name), "node", "operators", "feature level")
    for row in rows:
        names = row.on_host or ", ".join(row.operators) or "(a constant or a view)"
        table.add_row(escape(row.node), escape(names), short_name(row.level) if row.operators else "")
    _print(table)


@app.command()
def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Forget it all; it is made again when it is needed.")] = False,
) -> None:
    """Show what dml keeps on disk, compiled shaders and drivers' pipelines, or clear it."""
    from . import cache as kept
    from .glslang import compiler

    try:
        if clear:
            kept.clear()
        limit = kept.limit()
    except DMLError as error:
        raise _fail(str(error)) from None
    table = _table("What dml keeps on disk", "folder", "entries", "size")
    usage = kept.usage()
    for name, (entries, size) in usage.items():
        table.add_row(escape(str(kept.folder(name))), str(entries), _bytes(size))
    entries, size = (sum(each) for each in zip(*usage.values(), strict=True))
    table.add_row("together", str(entries), f"{_bytes(size)} of {_bytes(limit)}")
    _print(table)
    typer.echo(f"shaders are compiled by {compiler()}")


def _inputs(given: list[str]) -> dict[str, Path]:
    """name=file.npy, each."""
    inputs: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.rpartition("=")
        if not (name and equals and path):
            raise _fail(f"--input: name=file.npy is needed, found {text!r}")
        inputs[name] = Path(path)
    return inputs


def _print_profile(profile: Mapping[str, list[KernelTime]], clock: str) -> None:
    for name, times in profile.items():
        whole = sum(taken.nanoseconds for taken in times)
        table = _table(f"{escape(name)}: {whole / 1e6:.4f} ms ({clock})", "nodes", "kernel", "ms", "share")
        for node, kernel, nanoseconds in times:
            share = f"{nanoseconds / whole:.1%}" if whole else ""
            table.add_row(escape(node), escape(kernel), f"{nanoseconds / 1e6:.4f}", share)
        _print(table)


def _operators(level: DML_FEATURE_LEVEL) -> Table:
    from .compiler.lowering import implemented  # `support GRU` needs no compiler

    compiled = implemented()
    table = _table(f"Operators at feature level {short_name(level)}", "operator", "since", "available", "implemented")
    for kind, desc_class in operators().items():
        since = operator_introduced(kind)
        table.add_row(short_name(kind), short_name(since), _mark(since <= level), _mark(desc_class in compiled))
    table.caption = f"{len(compiled)} of {len(operators())} implemented"
    return table


def _named(enumeration: type[_Enumeration], text: str, what: str, prefix: str = "") -> _Enumeration:
    """The enumerator of that name, in full or without its prefix, in any case."""
    name = text.upper()
    prefix = prefix or f"{enumeration.__name__}_"
    full = name if name.startswith(prefix) else prefix + name
    if full not in enumeration.__members__:
        close = get_close_matches(full, enumeration.__members__, n=3, cutoff=0.5)
        hint = ", ".join(other.removeprefix(prefix) for other in close)
        raise _fail(f"no {what} {text!r}" + (f"; near it: {hint}" if hint else ""))
    return enumeration[full]


def _mark(yes: bool) -> str:
    return "yes" if yes else "no"


def _kind(tensor: TensorSupport) -> str:
    return f"{'optional ' if tensor.optional else ''}{tensor.kind}{' array' if tensor.array else ''}"


def _counts(counts: range) -> str:
    return f"{counts.start} to {counts.stop - 1}" if len(counts) > 1 else f"{counts.start}"


def _data_types(data_types: Iterable[DML_TENSOR_DATA_TYPE]) -> str:
    return ", ".join(short_name(data_type) for data_type in sorted(data_types))


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
