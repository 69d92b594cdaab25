"""Layers that contain networks: branches (both may be computed) and loops (which are unrolled)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dml.graph.operations as op
from dml.errors import HRESULT
from dml.frontends.openvino.convert import IrContext, IrValue, build_body, layer, sizes_of
from dml.frontends.openvino.ir import IrBody, PortMap
from dml.graph.builder import Tensor
from dml.shapes import with_size

#: Maximum number of layers that a loop may add to the graph.
_UNROLLED = 20_000


@layer("If")
def if_(c: IrContext) -> Sequence[IrValue]:
    """Take one branch if the condition is known; otherwise compute both, and select each output by the condition."""
    condition = c.value(0)
    if not isinstance(condition, Tensor):
        return _branch(c, "then_body" if bool(np.ravel(condition)[0]) else "else_body")
    results: list[IrValue] = []
    for a, b in zip(*(map(c.as_tensor, _branch(c, name)) for name in ("then_body", "else_body")), strict=True):
        if a.sizes != b.sizes:
            raise c.error(
                f"its condition is computed, so its branches must have equal sizes, found {a.sizes} and {b.sizes}"
            )
        results.append(op.if_(condition.reshape(*(1,) * a.rank).broadcast(a.sizes), a, b))
    return results


def _branch(c: IrContext, name: str) -> list[IrValue]:
    body = _body(c, name)
    found = build_body(body.network, c.graph, {entry.layer: _outer(c, entry) for entry in body.inputs})
    return _ordered(c, {entry.port: _inner(c, found, entry.layer) for entry in body.outputs})


@layer("Loop", "TensorIterator")
def loop(c: IrContext) -> Sequence[IrValue]:
    """Unroll the loop. Its count, its condition and the slices of its inputs must be known now."""
    body = _body(c, "body")
    own = {layer.id: layer for layer in body.network.layers}
    count = _count(c, body)
    state = {entry.layer: _outer(c, entry) for entry in body.inputs if entry.port >= 0 and entry.axis is None}
    scans: dict[int, list[IrValue]] = {entry.port: [] for entry in body.outputs if entry.axis is not None}
    found: dict[int, IrValue] = {}
    for step in range(count):
        for entry in body.inputs:
            if entry.purpose == "current_iteration":
                port = own[entry.layer].outputs[0]
                sizes = [1 if size < 0 else size for size in port.sizes]
                state[entry.layer] = np.full(sizes, step, port.dtype)
            elif entry.axis is not None:
                state[entry.layer] = _part(c, entry, step)
        found = build_body(body.network, c.graph, state)
        for entry in body.outputs:
            if entry.axis is not None:
                scans[entry.port].append(_inner(c, found, entry.layer))
        state |= {parameter: _inner(c, found, result) for parameter, result in body.back.items()}
        if not _goes_on(c, body, found):
            break
    results = {entry.port: _last(c, body, entry, found, state) for entry in body.outputs if entry.axis is None}
    for entry in body.outputs:
        if entry.axis is not None:
            parts = [c.as_tensor(value) for value in scans[entry.port]]
            c.check(bool(parts), "an output that joins iterations needs at least one iteration")
            results[entry.port] = op.join(parts if entry.stride > 0 else parts[::-1], entry.axis % parts[0].rank)
    return _ordered(c, results)


def _count(c: IrContext, body: IrBody) -> int:
    """Return the maximum number of iterations."""
    counts = []
    if c.layer.type == "Loop":
        if not bool(c.single(1)):
            return 0
        most = c.integer(0)
        counts += [most] if most >= 0 else []
    for entry in body.inputs:
        if entry.axis is not None:
            first, last = _ends(c, entry)
            counts.append(max(0, (last - first) // entry.stride))
    most = _UNROLLED // max(1, len(body.network.layers))
    c.check(bool(counts), "the number of iterations is given neither by a count nor by an input that is sliced")
    if min(counts) > most:
        raise c.error(f"{min(counts)} iterations are too many to unroll", HRESULT.E_NOTIMPL)
    return min(counts)


def _ends(c: IrContext, entry: PortMap) -> tuple[int, int]:
    """Return the start and end of the range that the iterations slice; -1 means the end of the axis."""
    sizes = sizes_of(_outer(c, entry))
    if not entry.stride or entry.axis is None or not -len(sizes) <= entry.axis < len(sizes):
        raise c.error(f"slices along axis {entry.axis} with stride {entry.stride} do not fit sizes {sizes}")
    size = sizes[entry.axis]
    first, last = (position + size + 1 if position < 0 else position for position in (entry.start, entry.end))
    if not (0 <= first <= size and 0 <= last <= size and entry.part == abs(entry.stride)):
        raise c.error(
            f"slices of {entry.part} from {entry.start} to {entry.end} by {entry.stride} do not fit size {size}"
        )
    return first, last


def _part(c: IrContext, entry: PortMap, step: int) -> IrValue:
    """Return an iteration's slice of an input."""
    assert entry.axis is not None
    first, _ = _ends(c, entry)
    start = first + step * entry.stride - (entry.part if entry.stride < 0 else 0)
    x = c.as_tensor(_outer(c, entry))
    axis = c.axis(entry.axis, x.rank)
    return op.slice_(x, with_size([0] * x.rank, axis, start), with_size(x.sizes, axis, entry.part))


def _goes_on(c: IrContext, body: IrBody, found: dict[int, IrValue]) -> bool:
    for entry in body.outputs:
        if entry.purpose == "execution_condition":
            value = _inner(c, found, entry.layer)
            if isinstance(value, Tensor):
                raise c.error("its condition must not depend on its inputs", HRESULT.E_NOTIMPL)
            return bool(np.ravel(value)[0])
    return True


def _last(c: IrContext, body: IrBody, entry: PortMap, found: dict[int, IrValue], state: dict[int, IrValue]) -> IrValue:
    """Return a value after the last iteration, or its initial value if there was no iteration."""
    if found or entry.port < 0:
        return _inner(c, found, entry.layer) if found else np.zeros(1, np.uint8)
    for parameter, result in body.back.items():
        if result == entry.layer:
            return state[parameter]
    raise c.error("an output has no initial value, and the loop has no iteration")


def _body(c: IrContext, name: str) -> IrBody:
    c.check(name in c.layer.bodies, f"its {name} is missing")
    return c.layer.bodies[name]


def _outer(c: IrContext, entry: PortMap) -> IrValue:
    """Return the value at an input port of the layer."""
    c.check(entry.port in c.layer.input_ports, f"its body reads input port {entry.port}, which the layer does not have")
    return c.values[c.layer.input_ports.index(entry.port)]


def _inner(c: IrContext, found: dict[int, IrValue], index: int) -> IrValue:
    """Return the value of a Result of the body."""
    c.check(index in found, f"its body has no Result {index}")
    return found[index]


def _ordered(c: IrContext, results: dict[int, IrValue]) -> list[IrValue]:
    """Return the layer's outputs in order."""
    for port in c.layer.outputs:
        c.check(port.id in results, f"its body has no Result for output port {port.id}")
    return [results[port.id] for port in c.layer.outputs]
