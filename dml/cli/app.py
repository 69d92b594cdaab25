"""The command line as a whole: how a command is registered, how one ends, and what its help shows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click
import typer
from rich.console import Console
from typer.core import TyperCommand

from ..errors import DMLError

_Command = TypeVar("_Command", bound=Callable[..., None])

#: How every command exits.
DONE, REFUSED, MISUSED = 0, 1, 2

app = typer.Typer(help="DirectML's descriptor API on Vulkan compute.", no_args_is_help=True, add_completion=False)

#: By command: its examples, as its help shows them.
EXAMPLES: dict[str, tuple[str, ...]] = {}


class CommandWithExamples(TyperCommand):
    """A command whose help ends in examples, each in a line of its own."""

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help(ctx, formatter)
        formatter.write("Examples:\n" + "".join(f"  {example}\n" for example in EXAMPLES[str(self.name)]))


def command(*examples: str) -> Callable[[_Command], _Command]:
    """Register a function as the command of its name, with examples for its help, whole lines ("dml devices").

    A DMLError that it raises ends it with its message on standard error and exit code REFUSED.
    """

    def register(function: _Command) -> _Command:
        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except DMLError as error:
                raise fail(str(error)) from None

        EXAMPLES[function.__name__] = examples
        app.command(function.__name__, cls=CommandWithExamples)(run)
        return function

    return register


def fail(message: str, code: int = REFUSED) -> typer.Exit:
    """What to raise to end a command: the message goes to standard error."""
    Console(stderr=True).print(message, style="red", highlight=False, markup=False)
    return typer.Exit(code)
