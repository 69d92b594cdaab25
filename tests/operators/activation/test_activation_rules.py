"""Rules about the attributes of activations, alone and fused."""

from __future__ import annotations

import pytest

import dml
from dml import DMLError

TENSOR = dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (1, 1, 2, 2))


def softplus(steepness, fused):
    if not fused:
        return dml.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(TENSOR, TENSOR, steepness)
    return dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(
        TENSOR, TENSOR, TENSOR, dml.DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC(Steepness=steepness)
    )


@pytest.mark.parametrize("fused", [False, True])
def test_softplus_is_at_least_1_steep_before_6_4(fused):
    dml.validate(softplus(0.25, fused))
    dml.validate(softplus(1, fused), dml.DML_FEATURE_LEVEL_6_3)
    with pytest.raises(DMLError, match=r"ACTIVATION_SOFTPLUS\.Steepness: must be at least 1 before .*found 0.25"):
        dml.validate(softplus(0.25, fused), dml.DML_FEATURE_LEVEL_6_3)
