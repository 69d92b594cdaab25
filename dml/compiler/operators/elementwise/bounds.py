"""Clips and thresholds."""

from __future__ import annotations

from typing import Any

from dml.compiler.data_types import DATA_TYPES, FLOAT32
from dml.compiler.kernels.clips import AT_LEAST, AT_MOST
from dml.compiler.kernels.kinds import INCLUDES, glsl_of, integer, kind, pair
from dml.compiler.lowering import elementwise
from dml.compiler.operators.activation.functions import activation
from dml.compiler.operators.elementwise.numeric import scaled
from dml.compiler.scalar import Constant, Expression, Leaf, node
from dml.descriptors import elementwise as d
from dml.tensors import DML_BUFFER_TENSOR_DESC, nearest_float


def bound(value: float | int, tensor: DML_BUFFER_TENSOR_DESC | None) -> int | float:
    """Convert Min or Max to the tensor's data type: floats rounded, integers truncated and clamped to its range."""
    row = FLOAT32 if tensor is None else DATA_TYPES[tensor.DataType]
    if row.is_floating:
        return nearest_float(value, row.dtype.type)
    return int(min(max(value, row.lowest), row.highest))


def constant(name: str, value: int | float, of: str) -> tuple[str, dict[str, Constant]]:
    """Return GLSL of a bound and its constants."""
    if of == "float":
        return f"${name}", {name: float(value)}
    if of in ("int", "uint"):
        return f"${name}", {name: integer(int(value), of)}
    return pair(name, int(value))


def less(of: str, a: str, b: str) -> str:
    return f"less_{of[0]}64({a}, {b})" if of in ("int64", "uint64") else f"{a} < {b}"


def limited(tensor: DML_BUFFER_TENSOR_DESC | None, name: str, value: int | float, x: Expression) -> Expression:
    """Return x limited below by the bound Min, or above by Max. NaN passes through."""
    of = kind(tensor)
    code, constants = constant(name, value, of)
    if of in ("int64", "uint64"):
        beyond = less(of, "$x0", code) if name == "Min" else less(of, code, "$x0")
        text = f"{beyond} ? {code} : $x0"
    elif of == "float":
        text = AT_LEAST if name == "Min" else AT_MOST
    else:
        text = f"{'max' if name == 'Min' else 'min'}($x0, {code})"
    return node(text, x, glsl=glsl_of(tensor), includes=INCLUDES[of], **constants)


def limits(desc: Any) -> tuple[int | float, int | float]:
    """Return Min and Max of a clip operator: floats, or scalars of MinMaxDataType."""
    tensor: DML_BUFFER_TENSOR_DESC | None = desc.InputTensor
    low, high = desc.Min, desc.Max
    if hasattr(desc, "MinMaxDataType"):
        low, high = low.value(desc.MinMaxDataType), high.value(desc.MinMaxDataType)
    return bound(low, tensor), bound(high, tensor)


@elementwise(d.DML_ELEMENT_WISE_CLIP1_OPERATOR_DESC, "InputTensor")
@activation(d.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC)
def clip(desc: Any) -> Expression:
    low, high = limits(desc)
    return limited(desc.InputTensor, "Min", low, limited(desc.InputTensor, "Max", high, scaled(desc)))


def clip_grad(desc: Any) -> Expression:
    of, glsl = kind(desc.InputTensor), glsl_of(desc.InputTensor)
    low, high = limits(desc)
    low_code, low_constants = constant("Min", low, of)
    high_code, high_constants = constant("Max", high, of)
    inside = f"{less(of, low_code, '$x0')} && {less(of, '$x0', high_code)}"
    zero = "uvec2(0u)" if glsl == "uvec2" else f"{glsl}(0)"
    # NaN is not clipped, so its gradient passes.
    free = f"{inside} || is_nan($x0)" if of == "float" else inside
    return node(
        f"{free} ? $x1 : {zero}", Leaf(0), Leaf(1), glsl=glsl, includes=INCLUDES[of], **low_constants, **high_constants
    )


for _cls in (d.DML_ELEMENT_WISE_CLIP_GRAD_OPERATOR_DESC, d.DML_ELEMENT_WISE_CLIP_GRAD1_OPERATOR_DESC):
    elementwise(_cls, "InputTensor", "InputGradientTensor")(clip_grad)


@elementwise(d.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC, "InputTensor")
def threshold(desc: d.DML_ELEMENT_WISE_THRESHOLD_OPERATOR_DESC) -> Expression:
    return limited(desc.InputTensor, "Min", bound(desc.Min, desc.InputTensor), scaled(desc))
