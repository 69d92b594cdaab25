"""Activations that other operators apply to their results, for arrays and for `Rounded` numbers."""

from __future__ import annotations

from dml import descriptors as d
from dml.conformance.references.activations import activate
from dml.conformance.references.rounded import Numbers, Rounded
from dml.conformance.references.softmax import softmax

#: Error in half ulps of activations that use exponentials, besides an ulp of 1.
_SMOOTH = 12
#: Activations that consist of comparisons and at most one product.
_PLAIN = (
    d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC,
    d.DML_ACTIVATION_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC,
)


def activated(x: Numbers, activation: d.OperatorDesc | None) -> Numbers:
    """Apply the FusedActivation to a result."""
    if activation is None:
        return x
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        return softmax(x, tuple(activation.Axes))
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC):
        return softmax(x, (x.ndim - 1,))
    if not isinstance(x, Rounded):
        return activate(activation, x)
    found = x.apply(lambda v: activate(activation, v), 4 if isinstance(activation, _PLAIN) else _SMOOTH)
    # Alpha * x + Beta, exp(x) - 1 and log(1 + exp(x)) cancel near 0: their error is an ulp of 1.
    return found if isinstance(activation, _PLAIN) else Rounded(found.value, found.error + 2.0**-22)
