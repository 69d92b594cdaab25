"""GEMM."""

from __future__ import annotations

import math

from dml.compiler.builder import ProgramBuilder
from dml.compiler.lowering import Epilogues, lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.activation.softmax import SOFTMAX, axes_of, softmax
from dml.compiler.operators.gemm.blocks import Blocks, products_of_blocks
from dml.compiler.operators.gemm.layout import transposed
from dml.compiler.operators.gemm.matmul import ProductFinish, matmul
from dml.compiler.operators.gemm.stacks import product_of_stack
from dml.compiler.program import Operand
from dml.compiler.selection.stored_weights import keeps_wider, widens_halves
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE, DML_TENSOR_DATA_TYPE_FLOAT16, DML_TENSOR_DATA_TYPE_FLOAT32


@lowering(DML_GEMM_OPERATOR_DESC, epilogue=Epilogues.ANY)
def gemm(desc: DML_GEMM_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    a, b, c, result = builder["ATensor"], builder["BTensor"], builder.get("CTensor"), builder["OutputTensor"]
    if desc.TransA == DML_MATRIX_TRANSFORM_TRANSPOSE:
        a = transposed(a)
    if desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE:
        b = transposed(b)
    fused = desc.FusedActivation
    if isinstance(fused, SOFTMAX):  # needs whole rows of the product
        sums = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, result.sizes)
        matmul(builder, a, b, c, sums, ProductFinish(desc.Alpha, desc.Beta))
        softmax(builder, sums, result, axes_of(fused, result.rank))
        return
    finish = ProductFinish(desc.Alpha, desc.Beta, activate(fused))
    # Present only in graphs: see dml/graph/blocks.py and dml/graph/stacks.py
    scales, zeros, indices = (builder.get(f"BTensor.{name}") for name in ("Scales", "ZeroPoints", "Indices"))
    if indices is not None:
        stack = Blocks(transposed(b), scales, zeros)
        product_of_stack(builder, a, stack, indices, c, result, finish, data_type=desc.BTensor.DataType)
        return
    is_single = math.prod(result.sizes[:-2]) == 1
    if scales is not None or (is_single and _is_stored_half(b) and widens_halves(builder.target, result.sizes[-2])):
        # B is FLOAT16, or a graph left it quantized.
        if scales is not None and desc.TransB != DML_MATRIX_TRANSFORM_TRANSPOSE:
            scales, zeros = transposed(scales), zeros and transposed(zeros)
        blocks = Blocks(transposed(b), scales, zeros)
        products_of_blocks(builder, a, blocks, c, result, finish, data_type=desc.BTensor.DataType)
        return
    matmul(builder, a, b, c, result, finish)


def _is_stored_half(b: Operand) -> bool:
    return b.is_static and b.data_type == DML_TENSOR_DATA_TYPE_FLOAT16 and not keeps_wider("product", b.region.size)
