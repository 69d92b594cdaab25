"""ADAM_OPTIMIZER: the bias correction is computed once; then each parameter is updated independently."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels.kinds import MATH
from dml.compiler.kernels.prelude import read, write
from dml.compiler.lowering import lowering
from dml.compiler.parts import in_parts
from dml.compiler.program import Operand
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.descriptors.training import DML_ADAM_OPTIMIZER_OPERATOR_DESC
from dml.enums import DML_TENSOR_DATA_TYPE_FLOAT32

KERNEL = "training/adam.comp"
_INPUTS = {
    "x": "InputParametersTensor",
    "m": "InputFirstMomentTensor",
    "v": "InputSecondMomentTensor",
    "gradient": "GradientTensor",
}
_OUTPUTS = {"new_x": "OutputParametersTensor", "new_m": "OutputFirstMomentTensor", "new_v": "OutputSecondMomentTensor"}


@lowering(DML_ADAM_OPTIMIZER_OPERATOR_DESC)
def adam_optimizer(desc: DML_ADAM_OPTIMIZER_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Lower the operator; it computes in float32. At training step 0 the correction is 0 / 0, by the page's formula:
    parameters become NaN, so the first step is 1."""
    alpha = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, (1,))
    step = builder["TrainingStepTensor"].view((1,), (1,))
    apply(builder, _correction(desc.Beta1, desc.Beta2), alpha, [step])

    names = [*_INPUTS, *_OUTPUTS]
    merged = merge(*(builder[tensor] for tensor in (*_INPUTS.values(), *_OUTPUTS.values())))
    for part in in_parts(merged, builder.target.max_region):
        _step(desc, builder, alpha, dict(zip(names, part, strict=True)))


def _step(
    desc: DML_ADAM_OPTIMIZER_OPERATOR_DESC, builder: ProgramBuilder, alpha: Operand, operands: Mapping[str, Operand]
) -> None:
    first = operands["x"]
    unit = DATA_TYPES[first.data_type].per_vector
    vectors = all(operand.is_packed and operand.base % unit == 0 for operand in operands.values())
    bound = {
        name: read(operand, vector=vectors) if name in _INPUTS else write(operand, vector=vectors)
        for name, operand in operands.items()
    }
    unit = unit if vectors else 1
    builder.dispatch(
        KERNEL,
        {**bound, "alpha": read(alpha)},
        space=first.sizes,
        count=-(-first.count // unit),
        constants=_rates(desc),
        defines={"UNIT": f"{unit}u", "VECTORS": int(vectors)},
    )


def _rates(desc: DML_ADAM_OPTIMIZER_OPERATOR_DESC) -> dict[str, Constant]:
    """Return the attributes as the kernels name them; REST1 is 1 - Beta1."""
    beta1, beta2 = np.float32(desc.Beta1), np.float32(desc.Beta2)
    return {
        "LEARNING_RATE": float(desc.LearningRate),
        "BETA1": float(beta1),
        "BETA2": float(beta2),
        "REST1": float(np.float32(1) - beta1),
        "REST2": float(np.float32(1) - beta2),
        "EPSILON": float(desc.Epsilon),
    }


def _correction(beta1: float, beta2: float) -> Expression:
    """Return sqrt(1 - Beta2^T) / (1 - Beta1^T) of step T, as 1 - e^(T log Beta), which is precise for Beta near 1."""

    def logarithm(beta: float) -> float:
        value = float(np.float32(beta))
        return math.log(value) if value > 0 else -math.inf

    code = "$x0 == 0.0 ? 0.0 : -expm1_accurate($x0 * $Logarithm)"
    step = node("float($x0)", Leaf(0))
    first = node(code, step, includes=[MATH], Logarithm=logarithm(beta1))
    second = node(code, step, includes=[MATH], Logarithm=logarithm(beta2))
    return node("divide(sqrt_accurate($x0), $x1)", second, first, includes=[MATH])
