"""Attention that a model writes as product, softmax and product. If the scores take much memory, they are computed for
a few heads at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

from dml.compiler.operators.activation.softmax import SOFTMAX, axes_of
from dml.compiler.parts import Box, narrow
from dml.compiler.program import Operand
from dml.compiler.selection.attention import scores_together
from dml.compiler.target import Target
from dml.descriptors.gemm import DML_GEMM_OPERATOR_DESC
from dml.enums import DML_MATRIX_TRANSFORM_TRANSPOSE
from dml.graph.model import Graph, Node, Port, Value
from dml.tensors import DML_BUFFER_TENSOR_DESC

_Sizes = tuple[int, ...]


class Scores(NamedTuple):
    """The nodes of an attention, in order: the scores' product, their softmax, and the product with values. together:
    number of matrices of scores in memory at once."""

    product: Node
    softmax: Node
    mixed: Node
    together: int

    @property
    def tensor(self) -> DML_BUFFER_TENSOR_DESC:
        """The description of all scores: the first product's result."""
        return self.product.result[0].tensor

    def firsts(self) -> range:
        """Return, for each part that is computed at a time, the index of its first matrix of scores."""
        return range(0, math.prod(self.tensor.Sizes[:-2]), self.together)

    def sizes(self, whole: _Sizes) -> _Sizes:
        """Return a tensor's sizes, restricted to the matrices that are computed at a time."""
        return (*(size for _, size in _box(whole[:-2], 0, self.together)), *whole[-2:])

    def part(self, operand: Operand, batch: _Sizes, first: int) -> Operand:
        """Return ``together`` matrices of an operand from number ``first`` on, after broadcasting it to ``batch``, the
        dimensions before the matrices."""
        whole = operand.broadcast((*batch, *operand.sizes[-2:]))
        return narrow(whole, range(len(batch)), _box(batch, first, self.together))


def many_scores(graph: Graph, target: Target) -> dict[Node, Scores]:
    """Return the attentions whose scores exceed the bytes that the target should hold at once, by their last node."""
    found = (_scores(node, target) for node in graph.nodes if isinstance(node.desc, DML_GEMM_OPERATOR_DESC))
    return {one.mixed: one for one in found if one is not None}


def _scores(mixed: Node, target: Target) -> Scores | None:
    softmax = _sole_producer(mixed, mixed.inputs[0])
    desc = mixed.desc
    assert isinstance(desc, DML_GEMM_OPERATOR_DESC)
    if softmax is None or not isinstance(softmax.desc, SOFTMAX) or mixed.epilogue is not None:
        return None
    product = _sole_producer(softmax, softmax.inputs[0])
    if product is None or not isinstance(product.desc, DML_GEMM_OPERATOR_DESC) or softmax.epilogue is not None:
        return None
    scores, weights = product.result[0].tensor, softmax.result[0].tensor
    total = scores.TotalTensorSizeInBytes
    if (
        total <= scores_together(target, total)
        or desc.TransA == DML_MATRIX_TRANSFORM_TRANSPOSE
        or isinstance(desc.FusedActivation, SOFTMAX)
        or isinstance(product.desc.FusedActivation, SOFTMAX)
        or axes_of(softmax.desc, weights.rank) != (weights.rank - 1,)
    ):
        return None
    tensors = (product.desc.OutputTensor, scores, weights, desc.ATensor, desc.OutputTensor)
    batches = [tensor.Sizes[:-2] for tensor in tensors]
    count = math.prod(batches[0])
    if any(math.prod(batch) != count for batch in batches) or len({t.Sizes[-2:] for t in tensors[:4]}) > 1:
        return None
    most = max(1, scores_together(target, total) * count // total)
    fitting = (number for number in range(min(most, count - 1), 0, -1) if count % number == 0)
    together = next((n for n in fitting if all(_divides(batch, n) for batch in batches)), count)
    # Parts of few matrices would be too many
    return None if together == count or 4 * together < most else Scores(product, softmax, mixed, together)


def _sole_producer(reader: Node, entry: tuple[Port, Value] | None) -> Node | None:
    """Return the node that computes an input if only this reader uses it and both describe it as packed; else None."""
    if entry is None or not entry[1].is_private or entry is not reader.inputs[0]:
        return None
    maker = entry[1].producer
    seen = entry[0].tensor
    if maker is None or len([*filter(None, maker.outputs)]) != 1 or seen.rank < 3:
        return None
    written = maker.result[0].tensor
    return maker if written.is_packed and seen.is_packed and written.DataType == seen.DataType else None


def _divides(batch: _Sizes, count: int) -> bool:
    """Whether the batch can be divided into boxes of ``count`` consecutive elements."""
    for size in reversed(batch):
        if count % size:
            return size % count == 0
        count //= size
    return count == 1


def _box(batch: _Sizes, first: int, count: int) -> Box:
    """Return the box of ``count`` consecutive elements of the batch."""
    box: list[tuple[int, int]] = []
    for size in reversed(batch):
        own = min(size, count)
        box.insert(0, (first % size if own < size else 0, own))
        first, count = first // size, count // own
    return tuple(box)
