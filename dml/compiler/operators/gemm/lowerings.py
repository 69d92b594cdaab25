"""GEMM."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.activation.softmax import axes_of, softmax
from dml.compiler.operators.gemm.blocks import Blocks, product_of_blocks
from dml.compiler.operators.gemm.layout import transposed
from dml.compiler.operators.gemm.matmul import matmul
from dml.descriptors.activation import DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE, DML_TENSOR_DATA_TYPE_FLOAT32


@lowering(DML_GEMM_OPERATOR_DESC)
def gemm(desc: DML_GEMM_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    a, b, c, result = builder["ATensor"], builder["BTensor"], builder.get("CTensor"), builder["OutputTensor"]
    if desc.TransA == DML_MATRIX_TRANSFORM_TRANSPOSE:
        a = transposed(a)
    if desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE:
        b = transposed(b)
    fused = desc.FusedActivation
    scales = builder.get("BScales")
    if scales is not None:
        # A graph left B as it is stored (see dml/graph/blocks.py).
        zeros = builder.get("BZeroPoints")
        if desc.TransB != DML_MATRIX_TRANSFORM_TRANSPOSE:
            scales, zeros = transposed(scales), zeros and transposed(zeros)
        product_of_blocks(
            builder,
            a,
            Blocks(transposed(b), scales, zeros),
            c,
            result,
            data_type=desc.BTensor.DataType,
            alpha=desc.Alpha,
            beta=desc.Beta,
            activation=activate(fused),
        )
        return
    if not isinstance(fused, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC | DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC):
        matmul(builder, a, b, c, result, alpha=desc.Alpha, beta=desc.Beta, activation=activate(fused))
        return
    # Softmax needs whole rows of the product.
    sums = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
    matmul(builder, a, b, c, sums, alpha=desc.Alpha, beta=desc.Beta)
    softmax(builder, sums, result, axes_of(fused, result.rank))
