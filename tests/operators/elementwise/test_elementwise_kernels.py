"""What element-wise descriptions compile to, without a device."""

from __future__ import annotations

import pytest

import dml
from dml.compiler.kernels.expression import emit
from dml.compiler.lowering import compile_operator, implemented
from dml.compiler.operators.activation.functions import activate
from dml.compiler.target import Target
from dml.descriptors import operators
from harness import tensor

FAMILIES = ("DML_OPERATOR_ELEMENT_WISE_", "DML_OPERATOR_ACTIVATION_")


def test_every_operator_of_the_families_compiles():
    missing = [
        kind.name for kind, cls in operators().items() if kind.name.startswith(FAMILIES) and cls not in implemented()
    ]
    assert not missing


def test_clip_is_fused_as_a_float_expression():
    emitted = emit(activate(dml.DML_ELEMENT_WISE_CLIP_OPERATOR_DESC(Min=-0.5, Max=6)), ["float"], result="float")
    assert sorted(emitted.constants.values()) == [-0.5, 6.0]


@pytest.mark.parametrize("name", ["ADD", "MAX", "LOGICAL_EQUALS", "BIT_XOR"])
def test_contiguous_data_is_one_dimension_moved_as_vectors(name):
    out = "UINT8" if name.startswith("LOGICAL") else "FLOAT32"
    x = tensor("FLOAT32", (2, 3, 4, 8))
    desc = getattr(dml, f"DML_ELEMENT_WISE_{name}_OPERATOR_DESC")(x, x, tensor(out, x.Sizes))
    (dispatch,) = compile_operator(desc, Target()).dispatches
    assert dispatch.label == "elementwise/vector.comp"
    # 192 elements in one dimension, 4 of FLOAT32 or 16 of UINT8 at a time, 64 invocations to a workgroup.
    assert dispatch.constants[0] == 192
    assert dispatch.groups == (1, 1, 1)
