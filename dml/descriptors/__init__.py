"""One frozen dataclass per DML_*_OPERATOR_DESC, a module per family, and the binding, graph and feature structures.

A structure reads as its page of the reference does: every field, in C order, spelled as there. Many are alike by that
design. None inherits from another: a DML_MAX_POOLING1_OPERATOR_DESC is no kind of DML_MAX_POOLING_OPERATOR_DESC (rules,
lowerings and the capability table go by the class), and its additional fields need not come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .base import DML_OPERATOR_DESC as DML_OPERATOR_DESC
from .base import FieldInfo as FieldInfo
from .base import OperatorDesc as OperatorDesc
from .base import operators as operators
from .base import unwrap as unwrap
from .binding import *  # noqa: F403
from .convolution import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .gemm import *  # noqa: F403
from .graph import *  # noqa: F403
from .movement import *  # noqa: F403
from .normalization import *  # noqa: F403
from .pooling import *  # noqa: F403
from .quantization import *  # noqa: F403
from .random import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .reduction import *  # noqa: F403
from .resample import *  # noqa: F403
from .training import *  # noqa: F403

if not TYPE_CHECKING:  # Type checkers cannot compute a list, and take every public name without one.
    # The structures of the modules above, without the enumerations and tensors those use.
    _structures = (name for name, value in list(globals().items())
                   if name.startswith("DML_") and value.__module__.startswith(__name__))  # fmt: skip
    __all__ = ["FieldInfo", "OperatorDesc", "operators", "unwrap", *_structures]
