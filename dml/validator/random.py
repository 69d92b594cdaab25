"""Rules of the random number generator."""

from __future__ import annotations

from ..descriptors import DML_RANDOM_GENERATOR_OPERATOR_DESC
from ..shapes import with_rank
from .base import Check, rule


@rule(DML_RANDOM_GENERATOR_OPERATOR_DESC)
def random_generator(desc: DML_RANDOM_GENERATOR_OPERATOR_DESC, check: Check) -> None:
    why = "a counter of 4 words and a key of 2"
    for name in ("InputStateTensor", "OutputStateTensor"):
        tensor = check.tensor(name)
        if tensor is not None:
            check.sizes(name, with_rank((6,), tensor.rank), why)
