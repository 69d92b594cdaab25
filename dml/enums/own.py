"""Operators of ours, which DirectML does not have: what a front end's formats ask for and no operator of its says.

They have no place among ``DML_OPERATOR_TYPE``, nor in what is asked and listed by it. Their numbers are none of its.
"""

from __future__ import annotations

from enum import IntEnum


class OWN_OPERATOR_TYPE(IntEnum):
    """This package's own operators, numbered far above DirectML's."""

    OWN_OPERATOR_NON_MAX_SUPPRESSION = 1 << 31
    OWN_OPERATOR_INSERT_ROWS = (1 << 31) + 1
