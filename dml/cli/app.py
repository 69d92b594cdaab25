"""The command line: registration of commands, exit codes and help."""

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

#: Exit codes of commands; 0 is success.
REFUSED, MISUSED, NO_DEVICE, INTERRUPTED = 1, 2, 3, 130

_HELP = "DirectML's descriptor API on Vulkan compute."
_EXIT_CODES = (
    "Exit codes: 0 done; 1 refused, with the reason on standard error, or a fault that validate found; 2 a wrong "
    "command line; 3 no Vulkan device, with what to install; 130 interrupted."
)

app = typer.Typer(help=_HELP, epilog=_EXIT_CODES, no_args_is_help=True, rich_markup_mode="rich")

#: Command -> examples that its help shows.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandWithExamples(TyperCommand):
    """A command whose help ends with examples, one per line."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        write_examples(str(self.name), formatter)


def write_examples(name: str, formatter: Any) -> None:
    """Write a command's examples, one per line."""
    formatter.write("Examples:\n" + "".join(f"  {example}\n" for example in EXAMPLES[name]))


def command(*examples: str) -> Callable[[_Command], _Command]:
    """Register a function as a command under its name. examples: complete command lines for its help ("dml devices").

    A DMLError ends the command with its message on standard error and exit code REFUSED, or NO_DEVICE if the machine
    has no Vulkan; Ctrl-C ends it with INTERRUPTED.
    """

    def register(function: _Command) -> _Command:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except DMLError as error:
                from ..runtime.advice import NoVulkanDevice

                raise fail(str(error), NO_DEVICE if isinstance(error, NoVulkanDevice) else REFUSED) from None
            except KeyboardInterrupt:  # older versions of typer would exit with 1
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
    """Print a message on standard error; return the exception that ends the command."""
    Console(stderr=True).print(message, style="red", highlight=False, markup=False, soft_wrap=True)
    return typer.Exit(code)
