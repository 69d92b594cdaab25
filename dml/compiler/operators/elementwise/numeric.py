"""Element-wise operators as one line of GLSL per kind of number (see dml.compiler.kernels.kinds)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dml.compiler.kernels.kinds import INCLUDES, X, affine, glsl_of, kind
from dml.compiler.lowering import elementwise
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors.base import OperatorDesc
from dml.tensors import DML_BUFFER_TENSOR_DESC, DML_SCALE_BIAS

AB = ("ATensor", "BTensor")


def pick(codes: Mapping[str, str], of: str) -> str:
    """Return the code for a kind; ``{t}`` in it stands for the kind's name, ``{s}`` for its first letter."""
    general = {"int": "word", "uint": "word", "int64": "pair", "uint64": "pair"}
    code = codes[of] if of in codes else codes[general.get(of, of)]
    return code.replace("{t}", of).replace("{s}", of[0])


def numeric(
    cls: type[OperatorDesc], inputs: Sequence[str] = AB, glsl: str | None = None, *, fits: bool = False, **codes: str
) -> None:
    """Register an operator by its code per kind of its first input.

    glsl: the result's type if different. fits: see Elementwise.
    """

    def expression(desc: Any) -> Expression:
        first: DML_BUFFER_TENSOR_DESC = getattr(desc, inputs[0])
        of = kind(first)
        leaves: list[Expression] = [Leaf(i) for i in range(len(inputs))]
        if hasattr(desc, "ScaleBias"):
            leaves[0] = scaled(desc)
        return node(pick(codes, of), *leaves, glsl=glsl or glsl_of(first), includes=INCLUDES.get(of, ()))

    elementwise(cls, *inputs, fits=fits)(expression)


def scaled(desc: Any, x: Expression = X) -> Expression:
    """Return the input after its ScaleBias, x * Scale + Bias, if the descriptor has one."""
    given: DML_SCALE_BIAS | None = desc.ScaleBias
    return x if given is None else affine(desc.InputTensor, given.Scale, given.Bias, x)
