"""Element-wise operators: each is an expression of the elements at one place."""

from __future__ import annotations

from dml.compiler.activation import activate
from dml.compiler.expression import Expression, Leaf, node
from dml.compiler.kernel import VALUE_TYPES
from dml.compiler.lowering import elementwise
from dml.descriptors.elementwise import (
    DML_ELEMENT_WISE_ADD1_OPERATOR_DESC,
    DML_ELEMENT_WISE_ADD_OPERATOR_DESC,
    DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC,
)
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALE_BIAS

INT64 = "lib/int64.glsl"


def kind(tensor: DML_BUFFER_TENSOR_DESC) -> str:
    """What a kernel computes with for this tensor: float, int, uint, int64, uint64 or float64."""
    return VALUE_TYPES[tensor.DataType].kind


def scale_bias(given: DML_SCALE_BIAS | None, x: Expression = Leaf(0)) -> Expression:
    """x * Scale + Bias where a scale and bias are given, x where not."""
    return x if given is None else node("$x0 * $Scale + $Bias", x, Scale=float(given.Scale), Bias=float(given.Bias))


@elementwise(DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC, "InputTensor")
def identity(desc: DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC) -> Expression:
    return scale_bias(desc.ScaleBias)


def add(tensor: DML_BUFFER_TENSOR_DESC) -> Expression:
    if kind(tensor) in ("int64", "uint64"):
        return node("add64($x0, $x1)", Leaf(0), Leaf(1), glsl="uvec2", includes=[INT64])
    return node("$x0 + $x1", Leaf(0), Leaf(1), glsl=VALUE_TYPES[tensor.DataType].glsl)


@elementwise(DML_ELEMENT_WISE_ADD_OPERATOR_DESC, "ATensor", "BTensor")
def add_tensors(desc: DML_ELEMENT_WISE_ADD_OPERATOR_DESC) -> Expression:
    return add(desc.OutputTensor)


@elementwise(DML_ELEMENT_WISE_ADD1_OPERATOR_DESC, "ATensor", "BTensor")
def add_activated(desc: DML_ELEMENT_WISE_ADD1_OPERATOR_DESC) -> Expression:
    return activate(desc.FusedActivation, add(desc.OutputTensor))
