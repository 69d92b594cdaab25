"""The activations that other operators apply to their results, of arrays and of `Rounded` numbers."""

from __future__ import annotations

from dml import descriptors as d
from dml.conformance.references.activations import activate
from dml.conformance.references.rounded import Numbers, Rounded, exponential

#: What functions of exponentials may be off by, in half ulp, besides an ulp of 1.
_SMOOTH = 12
#: Those of no more than comparisons and a product.
_PLAIN = (
    d.DML_ACTIVATION_IDENTITY_OPERATOR_DESC,
    d.DML_ACTIVATION_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_LEAKY_RELU_OPERATOR_DESC,
    d.DML_ACTIVATION_THRESHOLDED_RELU_OPERATOR_DESC,
)


def activated(x: Numbers, activation: d.OperatorDesc | None) -> Numbers:
    """A result behind its FusedActivation."""
    if activation is None:
        return x
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        return softmax(x, tuple(activation.Axes))
    if isinstance(activation, d.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC):
        return softmax(x, (x.ndim - 1,))
    if not isinstance(x, Rounded):
        return activate(activation, x)
    found = x.apply(lambda v: activate(activation, v), 4 if isinstance(activation, _PLAIN) else _SMOOTH)
    # Alpha * x + Beta, exp(x) - 1 and log(1 + exp(x)) cancel near 0: what counts there is an ulp of 1.
    return found if isinstance(activation, _PLAIN) else Rounded(found.value, found.error + 2.0**-22)


def softmax(x: Numbers, axes: tuple[int, ...]) -> Numbers:
    """exp(x - max) / sum, over all of the axes together; how the maximum is rounded cancels out."""
    largest = (x.value if isinstance(x, Rounded) else x).max(axes, keepdims=True)
    grown = exponential(x - largest)
    return grown / grown.sum(axes, keepdims=True)
