"""Matrix products."""

from __future__ import annotations

import math

import dml.graph.operations as op
from dml.arguments import checked
from dml.frontends.webnn.operands import MLOperand
from dml.frontends.webnn.steps import OperationBuilder
from dml.graph.builder import Tensor


class GemmOperations(OperationBuilder):
    """``gemm`` and ``matmul``."""

    @checked
    def gemm(
        self,
        a: MLOperand,
        b: MLOperand,
        *,
        c: MLOperand | None = None,
        alpha: float = 1.0,
        beta: float = 1.0,
        a_transpose: bool = False,
        b_transpose: bool = False,
        label: str = "",
    ) -> MLOperand:
        """alpha * A B + beta * C. a_transpose, b_transpose: transpose that matrix first. C broadcasts to the
        product."""
        step = self.step("gemm", label, a=a, b=b, c=c)
        step.same_types(a=a, b=b, c=c)
        step.finite(alpha=alpha, beta=beta)
        rows, inner = a.shape[::-1] if a_transpose else a.shape
        other, columns = b.shape[::-1] if b_transpose else b.shape
        step.require(
            inner == other, f"A must have as many columns as B has rows, after transposition, found {inner} and {other}"
        )
        if c is not None:
            step.require_broadcast("c", c.shape, (rows, columns))

        def lower(x: Tensor, y: Tensor, z: Tensor | None) -> Tensor:
            return op.gemm(
                x, y, z, transpose_a=bool(a_transpose), transpose_b=bool(b_transpose), alpha=alpha, beta=beta
            )

        return step.output(a.data_type, (rows, columns), lower)

    @checked
    def matmul(self, a: MLOperand, b: MLOperand, *, label: str = "") -> MLOperand:
        """Multiply the matrices in the last two dimensions; the other dimensions broadcast."""
        step = self.step("matmul", label, a=a, b=b)
        step.same_types(a=a, b=b)
        rows, inner = a.shape[-2:]
        other, columns = b.shape[-2:]
        step.require(inner == other, f"a must have as many columns as b has rows, found {inner} and {other}")
        batch = step.broadcast(a.shape[:-2], b.shape[:-2])
        return step.output(
            a.data_type, (*batch, rows, columns), lambda x, y: op.gemm(_batched(x, batch), _batched(y, batch))
        )


def _batched(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    """Broadcast the matrices to a batch; merge its dimensions if there are more than two."""
    whole = x.broadcast((*batch, *x.sizes[-2:]))
    return whole if len(batch) <= 2 else whole.reshape(math.prod(batch), *x.sizes[-2:])
