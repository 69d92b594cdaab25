"""`dml tune`: measures kernel variants on a device and stores the fastest."""

from __future__ import annotations

from dataclasses import asdict
from json import dumps as to_json
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from ...errors import DMLError
from ..app import INTERRUPTED, command, fail
from ..arguments import DeviceOption
from ..tables import print_json, show, table

if TYPE_CHECKING:
    from ...compiler.tuned import Tuned
    from ...runtime.devices import VulkanDevice


@command(
    "dml tune", "dml tune --quick --device NVIDIA", "dml tune --families product,attention", "dml tune --show --json",
    "dml tune --constants lines.CPU_PARALLEL",
)  # fmt: skip
def tune(
    names: Annotated[list[str] | None, typer.Argument(help="Constants for --constants; all if left out.")] = None,
    device: DeviceOption = "",
    families: Annotated[str, typer.Option(help="Kernel families, separated by commas; by default all.")] = "",
    quick: Annotated[bool, typer.Option("--quick", help="Measure a few sizes only: about a minute.")] = False,
    show_: Annotated[bool, typer.Option("--show", help="Show stored results; measure nothing.")] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Delete the device's stored results.")] = False,
    constants: Annotated[
        bool, typer.Option("--constants", help="Measure the constants of the rules again; store nothing.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure variants of the heavy kernels on a device, and store the fastest for later processes.

    It takes up to a minute for each family: product, few rows, convolution, attention, recurrent, rows. Ctrl-C ends it
    and keeps the results so far. The results apply to this device and driver; processes with DML_DISABLE_TUNING=1
    ignore them. Keep the device idle meanwhile. Each variant is compared with a float64 reference before it is timed.

    With --constants, time each measured constant of the rules and its alternatives, and say whether it holds here.
    """
    from ...runtime import tuned_file
    from ...runtime.devices import choose
    from ...tuning.works import FAMILIES

    wanted = [name.strip() for name in families.split(",")] if families else list(FAMILIES)
    for name in wanted:
        if name not in FAMILIES:
            raise DMLError(f"--families: there is no family {name!r}; there are {', '.join(FAMILIES)}")
    if names and not constants:
        raise DMLError(f"{' '.join(names)}: names of constants need --constants")
    found = choose(device or None)
    if constants:
        _remeasure(found, names or [], as_json=json)
        return
    if clear:
        was_there = tuned_file.forget(found.file_name)
        typer.echo(f"{found.name}: {'forgotten' if was_there else 'nothing was measured'}")
        return
    if not show_:
        tuned_file.check(found.file_name)
        _measure(found, wanted, quick=quick)
    kept = tuned_file.load(found.file_name)
    if json:
        print_json(
            {"device": found.name, "driver": found.driver, "choices": [asdict(choice) for choice in kept.choices]}
        )
    else:
        _show(found, kept)
    if tuned_file.is_disabled():
        typer.echo(f"{tuned_file.DISABLE_VARIABLE} is set: these results are not used", err=True)


def _remeasure(found: VulkanDevice, names: list[str], *, as_json: bool) -> None:
    from ...tuning import constants

    measured = []
    for row in constants.wanted(names, found.target):
        result = constants.remeasure(found, row)
        measured.append(constants.as_json(result, found.driver))
        if not as_json:
            _show_constant(measured[-1])
    if as_json:
        print_json({"device": found.name, "driver": found.driver, "constants": measured})


def _show_constant(result: dict[str, Any]) -> None:
    typer.echo(f"{result['name']} = {to_json(result['value'])}: {result['verdict']}")
    for work in result["workloads"]:
        typer.echo(f"  {to_json(work)}")
    for value, milliseconds in result["samples"].items():
        faster = f", {result['faster'][value]:.2f} times as fast" if value in result["faster"] else ""
        typer.echo(f"  {value}: {', '.join(f'{each:g}' for each in milliseconds)} ms{faster}")


def _measure(found: VulkanDevice, families: list[str], *, quick: bool) -> None:
    from ...conformance.samples import judge
    from ...tuning.tuner import Tuner
    from ...waiting import Waiting

    with Waiting(Console(stderr=True)) as waiting:

        def told(line: str) -> None:
            waiting.say(lambda text: typer.echo(text, err=True), line)

        tuner = Tuner(found, told, judge=judge)
        try:
            tuner.tune(families, quick=quick)
        except KeyboardInterrupt:
            count = len(tuner.table.choices)
            raise fail(f"interrupted; kept the choices made so far: {count}", INTERRUPTED) from None


def _show(found: VulkanDevice, kept: Tuned) -> None:
    if not kept:
        typer.echo(f"{found.name}: nothing was measured; rules decide")
        return
    listed = table(escape(f"{found.name}, {found.driver}"), "family", "work", "fastest", "ms", "by rules", "ms")
    for choice in kept.choices:
        listed.add_row(
            choice.family, escape(choice.work), escape(choice.variant), f"{1e3 * choice.seconds:.4g}",
            "" if choice.rule == choice.variant else escape(choice.rule), f"{1e3 * choice.rule_seconds:.4g}",
        )  # fmt: skip
    show(listed)
