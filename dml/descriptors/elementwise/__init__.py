"""Descriptions of the element-wise operators.

Input and output tensors have the same sizes (a stride of 0 broadcasts an input). An operator with ScaleBias applies
its function to x * Scale + Bias instead of x.
"""

from typing import TYPE_CHECKING

from .arithmetic import *  # noqa: F403
from .logic import *  # noqa: F403
from .ranges import *  # noqa: F403
from .trigonometry import *  # noqa: F403

if not TYPE_CHECKING:  # Type checkers cannot evaluate a computed list; without one they take every public name.
    __all__ = [name for name in list(globals()) if name.startswith("DML_ELEMENT_WISE_")]
