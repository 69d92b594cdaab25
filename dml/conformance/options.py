"""Errors of command-line options, which have their own exit status."""

from dml.errors import DMLError


class OptionError(DMLError):
    """An option with a value that cannot be used."""
