"""Descriptions of the element-wise operators.

Input and output tensors have the same sizes (a stride of 0 broadcasts an input). Where an operator takes ScaleBias, its
function sees x * Scale + Bias in place of x.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .arithmetic import *  # noqa: F403
from .logic import *  # noqa: F403
from .ranges import *  # noqa: F403
from .trigonometry import *  # noqa: F403

if not TYPE_CHECKING:  # Type checkers cannot compute a list, and take every public name without one.
    __all__ = [name for name in list(globals()) if name.startswith("DML_ELEMENT_WISE_")]
