"""The minimum severity of the messages that sessions show: the process's default, and a session's own."""

from dml.arguments import checked
from dml.errors import DMLError

#: onnxruntime's severity of warnings: 0 is verbose, 1 information, 2 warnings, 3 errors, 4 fatal.
WARNING = 2

_default_severity = WARNING


@checked
def set_default_logger_severity(severity: int) -> None:
    """Enable (0 to 2, the default) or disable (3, 4) warnings in sessions whose options set no other severity."""
    global _default_severity
    if not 0 <= severity <= 4:
        raise DMLError(f"set_default_logger_severity: takes 0 to 4, found {severity}")
    _default_severity = severity


def says_warnings(severity: int) -> bool:
    """Return whether a session with this severity (-1: the default) shows warnings."""
    return (_default_severity if severity < 0 else severity) <= WARNING
