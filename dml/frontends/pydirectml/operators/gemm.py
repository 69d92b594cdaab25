"""Matrix products."""

from __future__ import annotations

from typing import Any

import dml.graph.operations as op
from dml.frontends.pydirectml.enumerations import MatrixTransform
from dml.frontends.pydirectml.expressions import Expression

from .common import FusedActivation, fused


def gemm(
    a: Expression,
    b: Expression,
    c: Expression | None = None,
    trans_a: Any = MatrixTransform.NONE,
    trans_b: Any = MatrixTransform.NONE,
    alpha: float = 1.0,
    beta: float = 1.0,
    fused_activation: FusedActivation | None = None,
) -> Expression:
    """alpha * A B + beta * C for matrices in the last two dimensions; the other dimensions broadcast."""
    return Expression(
        op.gemm(
            a.tensor,
            b.tensor,
            None if c is None else c.tensor,
            transpose_a=trans_a != MatrixTransform.NONE,
            transpose_b=trans_b != MatrixTransform.NONE,
            alpha=alpha,
            beta=beta,
            activation=fused(fused_activation),
        )
    )
