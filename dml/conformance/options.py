"""Errors of the command line's options, which exit with another status than errors of a run."""

from __future__ import annotations

from dml.errors import DMLError


class OptionError(DMLError):
    """An option with a value that cannot be used."""
