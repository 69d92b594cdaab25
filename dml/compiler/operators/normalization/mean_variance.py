"""MEAN_VARIANCE_NORMALIZATION: over channels and images, or over any axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.normalization.normalize import affine, normalize
from dml.compiler.operators.normalization.rows import Normalization
from dml.compiler.scalar import Leaf
from dml.descriptors import normalization as d


@lowering(d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, epilogue=Epilogues.ANY)
def mean_variance(desc: d.DML_MEAN_VARIANCE_NORMALIZATION_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    axes = (1, 2, 3) if desc.CrossChannel else (2, 3)
    _mean_variance(desc, builder, axes, use_mean=True, use_variance=desc.NormalizeVariance)


@lowering(d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, epilogue=Epilogues.ANY)
def mean_variance_axes(desc: d.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    _mean_variance(desc, builder, desc.Axes, use_mean=True, use_variance=desc.NormalizeVariance)


@lowering(d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, epilogue=Epilogues.ANY)
def mean_variance_either(desc: d.DML_MEAN_VARIANCE_NORMALIZATION2_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Normalize by mean and variance; without UseMean, divide the elements by their root mean square."""
    _mean_variance(desc, builder, desc.Axes, use_mean=desc.UseMean, use_variance=desc.UseVariance)


def _mean_variance(
    desc: Any, builder: ProgramBuilder, axes: Sequence[int], *, use_mean: bool, use_variance: bool
) -> None:
    value, parameters = affine(Leaf(0), builder.get("ScaleTensor"), builder.get("BiasTensor"))
    what = Normalization(
        builder["InputTensor"],
        builder["OutputTensor"],
        axes,
        desc.Epsilon,
        use_mean=use_mean,
        use_variance=use_variance,
        finish=activate(desc.FusedActivation, value),
        parameters=parameters,
    )
    normalize(builder, what)
