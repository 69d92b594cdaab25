"""Weights of four bits that stay as they are: a DEQUANTIZE that only products of few rows read."""

from __future__ import annotations

import math
from collections.abc import Callable

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.program import Operand
from dml.compiler.selection.few_rows import streams_blocks
from dml.compiler.target import Target
from dml.descriptors.activation import DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC, DML_ACTIVATION_SOFTMAX_OPERATOR_DESC
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.descriptors.quantization import DML_DEQUANTIZE_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE
from dml.graph.model import Node, Value
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

_SOFTMAX = DML_ACTIVATION_SOFTMAX_OPERATOR_DESC | DML_ACTIVATION_SOFTMAX1_OPERATOR_DESC


def blocks_of(
    node: Node, target: Target, read: Callable[[Value, DML_BUFFER_TENSOR_DESC], Operand]
) -> dict[str, Operand] | None:
    """What GEMM's lowering takes in the stead of BTensor where the node's result need not be made; else None.

    read: a value as a description sees it.
    """
    desc = node.desc
    if not isinstance(desc, DML_DEQUANTIZE_OPERATOR_DESC) or node.epilogue is not None:
        return None
    ((_, result),) = filter(None, node.outputs)
    (_, numbers), (_, scales), *zeros = filter(None, node.inputs)
    if DATA_TYPES[desc.InputTensor.DataType].bits != 4 or result.outputs or not result.consumers:
        return None
    sizes, counts = _matrix(desc.InputTensor), _matrix(desc.QuantizationTensors[0])
    if sizes is None or counts is None or counts[0] != sizes[0] or not _is_packed(desc.OutputTensor):
        return None
    block = sizes[1] // counts[1]
    if not all(_multiplies(consumer, at, target, sizes, block) for consumer, at in result.consumers):
        return None
    found = {"BTensor": _seen(read(numbers, desc.InputTensor), sizes)}
    found["BScales"] = _seen(read(scales, desc.QuantizationTensors[0]), counts)
    if zeros:
        found["BZeroPoints"] = _seen(read(zeros[0][1], desc.QuantizationTensors[1]), counts)
    whole = found["BTensor"]
    # (vectors of 32 numbers)
    return found if whole.strides[1] == 1 and not (whole.strides[0] % 32 or whole.base % 32) else None


def _multiplies(node: Node, at: int, target: Target, sizes: tuple[int, int], block: int) -> bool:
    """Whether a node's input ``at`` is the transposed B, of these sizes, of a product that takes it in such blocks."""
    desc, entry = node.desc, node.inputs[at]
    assert entry is not None
    port = entry[0]
    if not isinstance(desc, DML_GEMM_OPERATOR_DESC) or at >= node.own_inputs or port.name != "BTensor":
        return False
    *batch, m, n = desc.OutputTensor.Sizes
    return (
        desc.TransB == DML_MATRIX_TRANSFORM_TRANSPOSE
        and not isinstance(desc.FusedActivation, _SOFTMAX)
        and math.prod(batch) == 1
        and tuple(port.tensor.Sizes[-2:]) == sizes
        and _is_packed(port.tensor)
        and streams_blocks(target, m, n, sizes[1], block)
    )


def _matrix(tensor: DML_BUFFER_TENSOR_DESC) -> tuple[int, int] | None:
    """The last two sizes, where the others are 1."""
    *outer, rows, columns = (1, *tensor.Sizes)
    return (rows, columns) if math.prod(outer) == 1 else None


def _is_packed(tensor: DML_BUFFER_TENSOR_DESC) -> bool:
    return tuple(tensor.strides) == tuple(packed_strides(tensor.Sizes))


def _seen(operand: Operand, sizes: tuple[int, int]) -> Operand:
    return operand.view(sizes, (0, *operand.strides)[-2:])
