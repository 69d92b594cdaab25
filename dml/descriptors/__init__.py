"""One frozen dataclass per DML_*_OPERATOR_DESC, a module per family, and the binding, graph and feature structures.

A structure has every field of its page in the reference, in C order and spelled as there, so many are similar by
design. None inherits from another: a DML_MAX_POOLING1_OPERATOR_DESC is not a DML_MAX_POOLING_OPERATOR_DESC (rules,
lowerings and the capability table depend on the class), and its additional fields need not come last.
"""

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

if not TYPE_CHECKING:  # Type checkers cannot evaluate a computed list; without one they take every public name.
    # The structures of the modules above, without the enumerations and tensors that these import.
    _structures = (name for name, value in list(globals().items())
                   if name.startswith("DML_") and value.__module__.startswith(__name__))  # fmt: skip
    __all__ = ["FieldInfo", "OperatorDesc", "operators", "unwrap", *_structures]
