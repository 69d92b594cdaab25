"""Every DirectML enumeration with its values, and the constants.

Enumerators are spelled and reachable as in C: `DML_TENSOR_DATA_TYPE_FLOAT32` is a name of this package (and of `dml`)
as well as a member of `DML_TENSOR_DATA_TYPE`. Reference: directml-enumerations, directml-constants.
"""

from typing import TYPE_CHECKING

from .attributes import *  # noqa: F403
from .devices import *  # noqa: F403
from .enumerators import *  # noqa: F403
from .operators import *  # noqa: F403
from .tensors import *  # noqa: F403

if not TYPE_CHECKING:  # Type checkers cannot compute a list, and take every public name without one.
    __all__ = [name for name in list(globals()) if name.startswith("DML_")]
