"""The severity from which warnings are said: a process's default, and a session's own."""

from __future__ import annotations

from dml.arguments import checked
from dml.errors import DMLError

#: onnxruntime's severity of warnings: 0 is verbose, 1 information, 2 warnings, 3 errors, 4 fatal.
WARNING = 2

_default_severity = WARNING


@checked
def set_default_logger_severity(severity: int) -> None:
    """Say warnings (0 to 2), as is the default, or none (3, 4), in sessions whose options say no other severity."""
    global _default_severity
    if not 0 <= severity <= 4:
        raise DMLError(f"set_default_logger_severity: takes 0 to 4, found {severity}")
    _default_severity = severity


def says_warnings(severity: int = -1) -> bool:
    """Whether a session of this severity (-1: the default) says warnings."""
    return (_default_severity if severity < 0 else severity) <= WARNING
