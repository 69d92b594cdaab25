"""`dml` and `python -m dml`: the commands of `dml.cli`, or one line that names their missing packages."""

import errno
import os
import sys
import warnings


def main() -> None:
    """Run the command line. Exits with 1 if its own packages are missing or its output cannot be written, 130 after
    Ctrl-C."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(130)  # as in dml.cli.app, which may not be loaded yet
    except OSError as error:
        # Only standard output's errors have no file name; those of other files are DMLErrors.
        if error.filename is not None or errno.errorcode.get(error.errno or 0) not in ("ENOSPC", "EDQUOT", "EIO"):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards buffered output
        sys.exit(f"dml: cannot write to standard output: {error.strerror}")


def _run() -> None:
    try:
        from dml.cli import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("rich", "typer"):
            raise
        from dml.words import to_install

        sys.exit(f"the dml command needs {error.name}, which is not installed: {to_install('cli')}")
    # One line for readers, without the source location
    warnings.formatwarning = lambda message, *_, **__: f"dml: {message}\n"
    app()


if __name__ == "__main__":
    main()
