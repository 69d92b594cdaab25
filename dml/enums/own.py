"""Operators of this package that front ends need and DirectML lacks.

They are not members of ``DML_OPERATOR_TYPE``, so queries and lists of its operators leave them out. Their numbers
differ from its numbers.
"""

from __future__ import annotations

from enum import IntEnum


class OWN_OPERATOR_TYPE(IntEnum):
    """This package's own operators, numbered far above DirectML's."""

    OWN_OPERATOR_NON_MAX_SUPPRESSION = 1 << 31
    OWN_OPERATOR_INSERT_ROWS = (1 << 31) + 1
