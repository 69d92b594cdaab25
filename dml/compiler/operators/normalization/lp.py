"""LP_NORMALIZATION: division by a norm along an axis."""

from __future__ import annotations

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.kinds import MATH
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.reduction.engine import reduce
from dml.compiler.operators.reduction.monoids import FLOAT_SUM
from dml.compiler.operators.reduction.reduce import norm as reduce_norm
from dml.compiler.scalar import Leaf, node
from dml.descriptors import normalization as d
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32
from dml.shapes import ones_along


@lowering(d.DML_LP_NORMALIZATION_OPERATOR_DESC, epilogue=Epilogues.ANY)
def lp(desc: d.DML_LP_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Divide by (sum of |x|^P, plus epsilon)^(1/P); the reference does not say where epsilon goes."""
    source, axes = builder["InputTensor"], (desc.Axis,)
    norm = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, ones_along(source.sizes, axes))
    if desc.P == 1:
        finish = node("$x0 + $Epsilon", Leaf(0), Epsilon=desc.Epsilon)
        reduce(builder, FLOAT_SUM, [source], axes, [(norm, finish)], node("abs($x0)", Leaf(0)))
    else:
        reduce_norm(builder, source, norm, axes, desc.Epsilon)
    quotient = node("divide($x0, $x1)", Leaf(0), Leaf(1), includes=[MATH])
    apply(builder, quotient, builder["OutputTensor"], [source, norm])
