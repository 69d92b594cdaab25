"""Rules of the optimizers."""

from __future__ import annotations

from ..descriptors import DML_ADAM_OPTIMIZER_OPERATOR_DESC
from .base import Check, rule


@rule(DML_ADAM_OPTIMIZER_OPERATOR_DESC)
def adam_optimizer(desc: DML_ADAM_OPTIMIZER_OPERATOR_DESC, check: Check) -> None:
    check.sizes("TrainingStepTensor", (1,) * desc.TrainingStepTensor.rank, why="a scalar")
    check.in_range("Beta1", 0, 1)
    check.in_range("Beta2", 0, 1)
