"""MEAN_VARIANCE_NORMALIZATION: over channels and images, or over any axes."""

from __future__ import annotations

from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.normalization.normalize import affine, normalize
from dml.compiler.operators.normalization.rows import Normalization
from dml.compiler.scalar import Leaf
from dml.descriptors import normalization as d


@lowering(
    d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC,
    d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC,
    d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC,
    epilogue=Epilogues.ANY,
)
def mean_variance(desc: Any, builder: ProgramBuilder) -> None:
    """Normalize by mean and variance; without UseMean, divide the elements by their root mean square."""
    either = isinstance(desc, d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC)
    axes = desc.Axes if hasattr(desc, "Axes") else (1, 2, 3) if desc.CrossChannel else (2, 3)
    value, parameters = affine(Leaf(0), builder.get("ScaleTensor"), builder.get("BiasTensor"))
    what = Normalization(
        builder["InputTensor"],
        builder["OutputTensor"],
        axes,
        desc.Epsilon,
        use_mean=desc.UseMean if either else True,
        use_variance=desc.UseVariance if either else desc.NormalizeVariance,
        finish=activate(desc.FusedActivation, value),
        parameters=parameters,
    )
    normalize(builder, what)
