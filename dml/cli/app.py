"""The command line as a whole: how a command is registered, how one ends, and what its help shows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from typer.core import TyperCommand

from .. import __version__
from ..errors import DMLError

_Command = TypeVar("_Command", bound=Callable[..., None])

#: How every command exits, but for one that succeeds, with 0.
REFUSED, MISUSED, NO_DEVICE, INTERRUPTED = 1, 2, 3, 130

_HELP = "DirectML's descriptor API on Vulkan compute."
_EXIT_CODES = (
    "Exit codes: 0 done; 1 refused, with the reason on standard error, or a fault that validate found; 2 a wrong "
    "command line; 3 no Vulkan device, with what to install; 130 interrupted."
)

app = typer.Typer(help=_HELP, epilog=_EXIT_CODES, no_args_is_help=True, rich_markup_mode="rich")

#: By command: its examples, as its help shows them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandWithExamples(TyperCommand):
    """A command whose help ends in examples, each in a line of its own."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        write_examples(str(self.name), formatter)


def write_examples(name: str, formatter: Any) -> None:
    """A command's examples, a line each."""
    formatter.write("Examples:\n" + "".join(f"  {example}\n" for example in EXAMPLES[name]))


def command(*examples: str) -> Callable[[_Command], _Command]:
    """Register a function as the command of its name, with examples for its help, whole lines ("dml devices").

    A DMLError that it raises ends it with its message on standard error and exit code REFUSED, or NO_DEVICE where the
    machine has no Vulkan; Ctrl-C ends it with INTERRUPTED.
    """

    def register(function: _Command) -> _Command:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except DMLError as error:
                from ..runtime.advice import NoVulkanDevice

                raise fail(str(error), NO_DEVICE if isinstance(error, NoVulkanDevice) else REFUSED) from None
            except KeyboardInterrupt:  # (older typers would end it with 1)
                raise typer.Exit(INTERRUPTED) from None

        EXAMPLES[function.__name__] = examples
        app.command(function.__name__, cls=CommandWithExamples)(run)
        return function

    return register


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dml {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def fail(message: str, code: int = REFUSED) -> typer.Exit:
    """What to raise to end a command: the message goes to standard error."""
    Console(stderr=True).print(message, style="red", highlight=False, markup=False, soft_wrap=True)
    return typer.Exit(code)
