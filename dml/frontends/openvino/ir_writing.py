"""Writes a network as OpenVINO IR: the layers that OpenVINO itself runs on the host."""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, tostring

from .ir import IrBody, IrLayer, IrPort, Network


def ir_bytes(network: Network) -> tuple[bytes, bytes]:
    """Return the bytes of a network's .xml and .bin; the .bin holds only this network's constants."""
    weights = bytearray()
    root = Element("net", name=network.name, version="11")
    _write(network, root, weights)
    return tostring(root, "utf-8", xml_declaration=True), bytes(weights)


def _write(network: Network, root: Element, weights: bytearray) -> None:
    """Add layers and edges to <net>, or to a layer's body."""
    layers, edges = SubElement(root, "layers"), SubElement(root, "edges")
    for layer in network.layers:
        _layer(network, layer, layers, weights)
        for number, (source, index) in zip(layer.input_ports, layer.inputs, strict=True):
            ends = (source.id, source.outputs[index].id, layer.id, number)
            names = ("from-layer", "from-port", "to-layer", "to-port")
            SubElement(edges, "edge", dict(zip(names, map(str, ends), strict=True)))


def _layer(network: Network, layer: IrLayer, layers: Element, weights: bytearray) -> None:
    element = SubElement(layers, "layer", id=str(layer.id), name=layer.name, type=layer.type, version=layer.version)
    attributes = dict(layer.attributes)
    if layer.type == "Const":
        data = network.constant(layer).tobytes()
        kind = layer.outputs[0].element_type  # compressed constants are written decompressed
        attributes |= {"offset": str(len(weights)), "size": str(len(data)), "element_type": kind}
        weights += data
        weights += bytes(-len(weights) % 64)  # aligned for any element type
    if layer.type == "Parameter":
        port = layer.outputs[0]
        attributes["shape"] = ",".join("?" if size < 0 else str(size) for size in port.sizes)
        attributes["element_type"] = port.element_type
    SubElement(element, "data", attributes)
    if layer.inputs:
        inputs = SubElement(element, "input")
        for number, (source, index) in zip(layer.input_ports, layer.inputs, strict=True):
            _port(inputs, number, source.outputs[index])
    if layer.outputs:
        outputs = SubElement(element, "output")
        for port in layer.outputs:
            _port(outputs, port.id, port)
    for name, body in layer.bodies.items():
        _body(name, body, element, weights)


def _port(parent: Element, number: int, port: IrPort) -> None:
    precision = {"boolean": "BOOL"}.get(port.element_type, port.element_type.upper())
    precision = f"FP{precision[1:]}" if precision.startswith("F") else precision
    element = SubElement(parent, "port", id=str(number), precision=precision)
    if port.names:
        element.set("names", ",".join(port.names))
    for size in port.sizes:
        SubElement(element, "dim").text = str(size)


def _body(name: str, body: IrBody, parent: Element, weights: bytearray) -> None:
    maps = SubElement(parent, f"{name.removesuffix('body')}port_map")
    for side, entries in (("input", body.inputs), ("output", body.outputs)):
        for entry in entries:
            given = {"external_port_id": str(entry.port), "internal_layer_id": str(entry.layer)}
            if entry.purpose:
                given["purpose"] = entry.purpose
            if entry.axis is not None:
                parts = {"axis": entry.axis, "start": entry.start, "end": entry.end}
                parts |= {"stride": entry.stride, "part_size": entry.part}
                given |= {key: str(value) for key, value in parts.items()}
            SubElement(maps, side, given)
    if body.back:
        edges = SubElement(parent, "back_edges")
        for parameter, result in body.back.items():
            SubElement(edges, "edge", {"from-layer": str(result), "to-layer": str(parameter)})
    _write(body.network, SubElement(parent, name), weights)
