"""Layers with networks inside: branches chosen or joined, loops unrolled."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dml.graph.operations as op
from dml.errors import HRESULT, DMLError
from dml.frontends.openvino.convert import IrContext, IrValue, build_body, layer
from dml.frontends.openvino.ir import ELEMENT_TYPES, IrBody, PortMap
from dml.graph.builder import Tensor

#: The most layers that a loop is unrolled to.
_UNROLLED = 20_000


@layer("If")
def if_(c: IrContext) -> Sequence[IrValue]:
    """A known condition chooses; by one that is computed, each output is of one branch or the other."""
    condition = c.value(0)
    if not isinstance(condition, Tensor):
        return _branch(c, "then_body" if bool(np.ravel(condition)[0]) else "else_body")
    made: list[IrValue] = []
    for a, b in zip(*(map(c.as_tensor, _branch(c, name)) for name in ("then_body", "else_body")), strict=True):
        if a.sizes != b.sizes:
            raise c.error(
                f"its branches give tensors of sizes {a.sizes} and {b.sizes}, by a condition that is computed"
            )
        made.append(op.if_(condition.reshape(*(1,) * a.rank).broadcast(a.sizes), a, b))
    return made


def _branch(c: IrContext, name: str) -> list[IrValue]:
    body = _body(c, name)
    found = build_body(body.network, c.graph, {entry.layer: _outer(c, entry) for entry in body.inputs})
    return _ordered(c, {entry.port: _inner(c, found, entry.layer) for entry in body.outputs})


@layer("Loop", "TensorIterator")
def loop(c: IrContext) -> Sequence[IrValue]:
    """As often as its count, its condition and the parts of its inputs say, which must be known here."""
    body = _body(c, "body")
    own = {at.id: at for at in body.network.layers}
    count = _count(c, body)
    state = {entry.layer: _outer(c, entry) for entry in body.inputs if entry.port >= 0 and entry.axis is None}
    scans: dict[int, list[IrValue]] = {entry.port: [] for entry in body.outputs if entry.axis is not None}
    found: dict[int, IrValue] = {}
    for step in range(count):
        for entry in body.inputs:
            if entry.purpose == "current_iteration":
                port = own[entry.layer].outputs[0]
                sizes = [1 if size < 0 else size for size in port.sizes]
                state[entry.layer] = np.full(sizes, step, ELEMENT_TYPES[port.element_type])
            elif entry.axis is not None:
                state[entry.layer] = _part(c, entry, step)
        found = build_body(body.network, c.graph, state)
        for entry in body.outputs:
            if entry.axis is not None:
                scans[entry.port].append(_inner(c, found, entry.layer))
        state |= {parameter: _inner(c, found, result) for parameter, result in body.back.items()}
        if not _goes_on(c, body, found):
            break
    made = {entry.port: _last(c, body, entry, found, state) for entry in body.outputs if entry.axis is None}
    for entry in body.outputs:
        if entry.axis is not None:
            parts = [c.as_tensor(value) for value in scans[entry.port]]
            if not parts:
                raise c.error("a loop that runs no time joins nothing")
            made[entry.port] = op.join(parts if entry.stride > 0 else parts[::-1], entry.axis % parts[0].rank)
    return _ordered(c, made)


def _count(c: IrContext, body: IrBody) -> int:
    """How often it runs at most."""
    counts = []
    if c.layer.type == "Loop":
        if not bool(np.ravel(c.known(1))[0]):
            return 0
        most = c.integers(0)[0]
        counts += [most] if most >= 0 else []
    for entry in body.inputs:
        if entry.axis is not None:
            first, last = _ends(c, entry)
            counts.append(max(0, (last - first) // entry.stride))
    most = _UNROLLED // max(1, len(body.network.layers))
    if not counts:
        raise c.error("neither a count nor the parts of an input say how often it runs")
    if min(counts) > most:
        raise DMLError(f"{c.layer}: {min(counts)} iterations are too many to unroll", HRESULT.E_NOTIMPL)
    return min(counts)


def _ends(c: IrContext, entry: PortMap) -> tuple[int, int]:
    """Return the start and the end of the axis that an iteration slices; -1 is the end of the axis."""
    value = _outer(c, entry)
    sizes = value.sizes if isinstance(value, Tensor) else value.shape
    if not entry.stride or entry.axis is None or not -len(sizes) <= entry.axis < len(sizes):
        raise c.error(f"parts along axis {entry.axis} by strides of {entry.stride} do not fit sizes {sizes}")
    size = sizes[entry.axis]
    first, last = (at + size + 1 if at < 0 else at for at in (entry.start, entry.end))
    if not (0 <= first <= size and 0 <= last <= size and entry.part == abs(entry.stride)):
        raise c.error(f"parts of {entry.part} from {entry.start} to {entry.end} by {entry.stride} do not fit {size}")
    return first, last


def _part(c: IrContext, entry: PortMap, step: int) -> IrValue:
    """What an iteration takes of an input."""
    assert entry.axis is not None
    first, _ = _ends(c, entry)
    start = first + step * entry.stride - (entry.part if entry.stride < 0 else 0)
    x = c.as_tensor(_outer(c, entry))
    axis = c.axis(entry.axis, x.rank)
    counts = [entry.part if at == axis else size for at, size in enumerate(x.sizes)]
    return op.slice_(x, [start if at == axis else 0 for at in range(x.rank)], counts, [1] * x.rank)


def _goes_on(c: IrContext, body: IrBody, found: dict[int, IrValue]) -> bool:
    for entry in body.outputs:
        if entry.purpose == "execution_condition":
            value = _inner(c, found, entry.layer)
            if isinstance(value, Tensor):
                raise DMLError(f"{c.layer}: its condition is computed from its inputs", HRESULT.E_NOTIMPL)
            return bool(np.ravel(value)[0])
    return True


def _last(c: IrContext, body: IrBody, entry: PortMap, found: dict[int, IrValue], state: dict[int, IrValue]) -> IrValue:
    """Return a value after the last iteration: its initial value if there was no iteration."""
    if found or entry.port < 0:
        return _inner(c, found, entry.layer) if found else np.zeros(1, np.uint8)
    for parameter, result in body.back.items():
        if result == entry.layer:
            return state[parameter]
    raise c.error("a loop that runs no time has no value for an output")


def _body(c: IrContext, name: str) -> IrBody:
    if name not in c.layer.bodies:
        raise c.error(f"its {name} is missing")
    return c.layer.bodies[name]


def _outer(c: IrContext, entry: PortMap) -> IrValue:
    """The value at a port of the layer."""
    if entry.port not in c.layer.input_ports:
        raise c.error(f"its body takes port {entry.port}, which it does not have")
    return c.values[c.layer.input_ports.index(entry.port)]


def _inner(c: IrContext, found: dict[int, IrValue], at: int) -> IrValue:
    """The value of a Result of the body."""
    if at not in found:
        raise c.error(f"its body has no Result {at}")
    return found[at]


def _ordered(c: IrContext, made: dict[int, IrValue]) -> list[IrValue]:
    """The layer's outputs."""
    for port in c.layer.outputs:
        if port.id not in made:
            raise c.error(f"its body gives nothing for its output port {port.id}")
    return [made[port.id] for port in c.layer.outputs]
