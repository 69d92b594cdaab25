"""Rules of softmax, log-softmax and hardmax, over the last dimension and over given axes."""

from __future__ import annotations

from ..descriptors import (
    DML_ACTIVATION_HARDMAX1_OPERATOR_DESC,
    DML_ACTIVATION_HARDMAX_OPERATOR_DESC,
    DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC,
    DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC,
    DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC,
    DML_ACTIVATION_SOFTMAX_OPERATOR_DESC,
    OperatorDesc,
)
from .base import Check, rule


@rule(DML_ACTIVATION_SOFTMAX_OPERATOR_DESC, fused=True)
def softmax(desc: OperatorDesc, check: Check) -> None:
    _rows(check)


@rule(DML_ACTIVATION_LOG_SOFTMAX_OPERATOR_DESC)
def log_softmax(desc: OperatorDesc, check: Check) -> None:
    _rows(check)


@rule(DML_ACTIVATION_HARDMAX_OPERATOR_DESC)
def hardmax(desc: OperatorDesc, check: Check) -> None:
    _rows(check)


@rule(DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, fused=True)
def softmax1(desc: OperatorDesc, check: Check) -> None:
    check.axes("Axes")


@rule(DML_ACTIVATION_LOG_SOFTMAX1_OPERATOR_DESC)
def log_softmax1(desc: OperatorDesc, check: Check) -> None:
    check.axes("Axes")


@rule(DML_ACTIVATION_HARDMAX1_OPERATOR_DESC)
def hardmax1(desc: OperatorDesc, check: Check) -> None:
    check.axes("Axes")


def _rows(check: Check) -> None:
    tensor = check.tensor("InputTensor")
    if tensor is not None and any(size != 1 for size in tensor.Sizes[:-2]):
        check.fail("InputTensor", "must have an effective rank of at most 2: leading sizes 1", tensor.Sizes)
