"""One frozen dataclass per DML_*_OPERATOR_DESC, a module per family, and the binding, graph and feature structures."""

from __future__ import annotations

from .activation import *  # noqa: F403
from .attention import *  # noqa: F403
from .base import DML_OPERATOR_DESC as DML_OPERATOR_DESC
from .base import FieldInfo, OperatorDesc, operators, unwrap
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

__all__ = ["FieldInfo", "OperatorDesc", "operators", "unwrap"]
__all__ += [  # the structures of the modules above, without the enumerations and tensors those use
    name for name, value in list(globals().items()) if name.startswith("DML_") and value.__module__.startswith(__name__)
]
