"""Types that the constructors of descriptions accept, for type checkers: more than the fields hold (see ``base``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from ..tensors import DML_BUFFER_TENSOR_DESC, DML_TENSOR_DESC
from .base import DML_OPERATOR_DESC, OperatorDesc

AnyTensor: TypeAlias = DML_BUFFER_TENSOR_DESC | DML_TENSOR_DESC
AnyOperator: TypeAlias = OperatorDesc | DML_OPERATOR_DESC
Number: TypeAlias = "float | np.floating[Any] | np.integer[Any]"
Truth: TypeAlias = "bool | int | np.bool_"
#: Numbers of enumerators, and their names in full or without the prefix.
Named: TypeAlias = str | int
Integers: TypeAlias = Iterable[SupportsIndex]
Numbers: TypeAlias = Iterable[Number]
