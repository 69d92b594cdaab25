"""Comparisons and logic: true is written as 1, and any nonzero value is read as true."""

from __future__ import annotations

from dml.compiler.kernels.kinds import glsl_of
from dml.compiler.lowering import elementwise
from dml.compiler.operators.elementwise.numeric import AB, numeric
from dml.compiler.scalar import Expression, Leaf, node
from dml.descriptors import elementwise as d

for _cls, _word, _pair in (
    (d.DML_ELEMENT_WISE_LOGICAL_EQUALS_OPERATOR_DESC, "$x0 == $x1", "$x0 == $x1"),
    (d.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OPERATOR_DESC, "$x0 > $x1", "less_{s}64($x1, $x0)"),
    (d.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OPERATOR_DESC, "$x0 < $x1", "less_{s}64($x0, $x1)"),
    (d.DML_ELEMENT_WISE_LOGICAL_GREATER_THAN_OR_EQUAL_OPERATOR_DESC, "$x0 >= $x1", "!less_{s}64($x0, $x1)"),
    (d.DML_ELEMENT_WISE_LOGICAL_LESS_THAN_OR_EQUAL_OPERATOR_DESC, "$x0 <= $x1", "!less_{s}64($x1, $x0)"),
):
    numeric(_cls, glsl="uint", fits=True, float=f"uint({_word})", word=f"uint({_word})", pair=f"uint({_pair})")

numeric(d.DML_ELEMENT_WISE_LOGICAL_AND_OPERATOR_DESC, fits=True, uint="uint($x0 != 0u && $x1 != 0u)")
numeric(d.DML_ELEMENT_WISE_LOGICAL_OR_OPERATOR_DESC, fits=True, uint="uint(($x0 | $x1) != 0u)")
numeric(d.DML_ELEMENT_WISE_LOGICAL_XOR_OPERATOR_DESC, fits=True, uint="uint(($x0 != 0u) != ($x1 != 0u))")
numeric(d.DML_ELEMENT_WISE_LOGICAL_NOT_OPERATOR_DESC, ["InputTensor"], fits=True, uint="uint($x0 == 0u)")


@elementwise(d.DML_ELEMENT_WISE_IF_OPERATOR_DESC, "ConditionTensor", *AB)
def select(desc: d.DML_ELEMENT_WISE_IF_OPERATOR_DESC) -> Expression:
    return node("$x0 != 0u ? $x1 : $x2", Leaf(0), Leaf(1), Leaf(2), glsl=glsl_of(desc.OutputTensor))
