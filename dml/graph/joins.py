"""Joins without copies: the operators that compute a join's inputs write them directly into the joined tensor.

A value that several joins read is placed in the last one's tensor. So if each join extends the previous one, as in
DenseNets, there is one tensor, and the earlier joins are views of its beginning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.program import Operand
from dml.descriptors.movement import DML_JOIN_OPERATOR_DESC
from dml.graph.model import Graph, Node, Port, Value, same_layout, static_values
from dml.graph.views import join_views, same_places, seen_through
from dml.tensors import DML_BUFFER_TENSOR_DESC


@dataclass
class JoinPlan:
    """The placement of values in joined tensors. places: value (a join's result may be one) -> its operand there, and
    its producer's description.

    copied: value that cannot be written in place -> the operand to which the first join that needs it copies it, and
    its description there.
    """

    places: dict[Value, tuple[Operand, DML_BUFFER_TENSOR_DESC]] = field(default_factory=dict)
    copied: dict[Value, tuple[Operand, DML_BUFFER_TENSOR_DESC]] = field(default_factory=dict)


def plan_joins(graph: Graph, written: Callable[[Port, Value], Operand]) -> JoinPlan:
    """Plan the joins of a graph. written: returns the place of a value that is in no join."""
    plan = JoinPlan()
    joins = [(node, node.desc) for node in graph.nodes if isinstance(node.desc, DML_JOIN_OPERATOR_DESC)]
    static = static_values(graph) if joins else set()
    # Later joins first, since a join can be part of a later one
    for node, desc in reversed(joins):
        if not all(v in static for _, v in filter(None, node.inputs)):
            _plan_join(plan, node, desc, node.result, static, written)
    return plan


def _plan_join(
    plan: JoinPlan,
    node: Node,
    desc: DML_JOIN_OPERATOR_DESC,
    result: tuple[Port, Value],
    static: set[Value],
    written: Callable[[Port, Value], Operand],
) -> None:
    port, value = result
    entries = [entry for entry in node.inputs if entry is not None]
    if value not in plan.places:
        inside = None if value.outputs else _inside_another(plan, desc, entries)
        if inside is not None and is_readable(value, inside, port.tensor):
            plan.places[value] = inside, port.tensor
    whole = plan.places[value][0] if value in plan.places else written(port, value)
    for (seen, part), view in zip(entries, join_views(desc, whole), strict=True):
        if part in static or part in plan.places:
            continue
        if _is_writable(part, seen.tensor, view):
            plan.places[part] = view, seen.tensor
        else:
            plan.copied.setdefault(part, (view, seen.tensor))


def _inside_another(
    plan: JoinPlan, desc: DML_JOIN_OPERATOR_DESC, entries: Sequence[tuple[Port, Value]]
) -> Operand | None:
    """Return the joined tensor as a view of a later join's if its inputs are contiguous there; else None."""
    lie: list[Operand] = []
    for seen, value in entries:
        place = plan.places.get(value) or plan.copied.get(value)
        if place is None or not same_layout(place[1], seen.tensor):
            return None
        lie.append(place[0])
    whole = lie[0].view(desc.OutputTensor.Sizes, lie[0].strides)
    views = join_views(desc, whole)
    found = all(same_places(own, view) for own, view in zip(lie, views, strict=True))
    return whole if found else None


def is_readable(value: Value, view: Operand, produced: DML_BUFFER_TENSOR_DESC) -> bool:
    """Whether all readers can read a value as a view. produced: its producer's description."""
    readers = [node.inputs[index] for node, index in value.consumers]
    return all(entry is not None and seen_through(view, produced, entry[0].tensor) is not None for entry in readers)


def _is_writable(value: Value, joined: DML_BUFFER_TENSOR_DESC, view: Operand) -> bool:
    """Whether a join's input can be written directly into the joined tensor, and read from there."""
    producer = value.producer
    if producer is None or value.outputs or not is_readable(value, view, joined):
        return False
    if not has_own_words(view):
        return False
    for port in producer.outputs:
        if port is not None and port[1] is value:
            return same_layout(port[0].tensor, joined)
    return False


def has_own_words(part: Operand) -> bool:
    """Whether a slice of a tensor shares no 32-bit word with the rest."""
    per_word = DATA_TYPES[part.data_type].per_word
    return per_word == 1 or (part.is_packed and part.base % per_word == 0 and part.count % per_word == 0)
