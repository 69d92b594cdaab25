"""`dml` and `python -m dml`: the commands of `dml.cli`, or one line that says what they need."""

import sys
import warnings


def main() -> None:
    """Run the command line. Exits with 1 where the packages that it alone needs are not installed, 130 after Ctrl-C."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)  # as dml.cli.app has it, which may not be there yet


def _run() -> None:
    try:
        from dml.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        from dml.words import to_install

        sys.exit(f"the dml command needs {error.name}, which is not installed: {to_install('cli')}")
    # A line for who reads it, without the place in dml that it comes from
    warnings.formatwarning = lambda message, *_, **__: f"dml: {message}\n"
    app()


if __name__ == "__main__":
    main()
