"""Loops whose end depends on computed values. The device cannot run them: all iterations are recorded beforehand."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from .ir import IrBody, IrLayer, Network


def stopped_by_data(network: Network) -> set[IrLayer]:
    """Return the Loops whose count or condition depends on the values of the network's parameters, and the layers that
    have such a Loop inside."""
    if not any(layer.bodies for layer in network.layers):
        return set()
    data = _data(network, {layer.id for layer in network.layers if layer.type == "Parameter"})
    return {layer for layer in network.layers if _stops_by(layer, data)}


def _data(network: Network, given: AbstractSet[int]) -> set[IrLayer]:
    """Return the layers whose values depend on the values of the given parameters; a ShapeOf depends only on sizes."""
    found: set[IrLayer] = set()
    for layer in network.layers:
        if layer.id in given or (layer.type != "ShapeOf" and any(source in found for source, _ in layer.inputs)):
            found.add(layer)
    return found


def _stops_by(layer: IrLayer, data: AbstractSet[IrLayer]) -> bool:
    is_loop = layer.type == "Loop"
    if is_loop and any(source in data for source, _ in layer.inputs[:2]):
        return True
    for body in layer.bodies.values():
        inside = _data_inside(layer, body, data)
        ends = {entry.layer for entry in body.outputs if entry.purpose == "execution_condition"}
        if is_loop and any(item.id in ends for item in inside):
            return True
        if any(_stops_by(item, inside) for item in body.network.layers):
            return True
    return False


def _data_inside(layer: IrLayer, body: IrBody, data: AbstractSet[IrLayer]) -> set[IrLayer]:
    """Return the layers of a body whose values depend on data, in any iteration."""
    outside = {port: source for port, (source, _) in zip(layer.input_ports, layer.inputs, strict=True)}
    given = {entry.layer for entry in body.inputs if entry.axis is not None or outside.get(entry.port) in data}
    while True:
        inside = _data(body.network, given)
        results = {item.id for item in inside}
        more = {parameter for parameter, result in body.back.items() if result in results} - given
        if not more:
            return inside
        given |= more
