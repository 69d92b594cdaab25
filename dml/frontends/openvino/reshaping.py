"""A network for other sizes of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from dml.graph.builder import Builder
from dml.planning.planner import planner

from .convert import build, counted_outputs
from .ir import IrLayer, Network, with_sizes


def reshaped(network: Network, given: Mapping[str, tuple[int, ...]]) -> Network:
    """Return a copy whose parameters have these sizes, by name; -1 leaves one open.

    The sizes of everything that depends on them are open, too: they are inferred when the network is built.
    """
    made = with_sizes(network, given)
    changed: set[IrLayer] = set()
    for layer in made.layers:
        if layer.type == "Parameter" and layer.name in given:
            changed.add(layer)
        elif any(source in changed for source, _ in layer.inputs) and layer.type != "Result":
            changed.add(layer)
            layer.bodies = {name: replace(body, network=_opened(body.network)) for name, body in layer.bodies.items()}
            counted = counted_outputs(layer)
            layer.outputs = [
                port if at < counted else replace(port, sizes=(-1,) * len(port.sizes))
                for at, port in enumerate(layer.outputs)
            ]
    return made


def resolve_sizes(network: Network) -> None:
    """Infer the sizes of all layers, in place, from those of the parameters. No device is needed.

    Raises DMLError for sizes that layers do not take, or that are not inferred.
    """
    build(network, Builder(cast(Any, planner()[0])))  # (a planner is asked what a device is)


def _opened(network: Network) -> Network:
    """Return the network of a body with the sizes of all its parameters open."""
    parameters = [layer for layer in network.layers if layer.type == "Parameter"]
    return reshaped(network, {layer.name: (-1,) * len(layer.outputs[0].sizes) for layer in parameters})
