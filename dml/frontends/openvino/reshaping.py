"""A network with other sizes for its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from dml.graph.builder import Builder
from dml.planning.planner import planner

from .convert import build, counted_outputs
from .ir import IrLayer, Network, with_sizes


def reshaped(network: Network, given: Mapping[str, tuple[int, ...]]) -> Network:
    """Return a copy in which the named parameters have these sizes; -1 is dynamic.

    Sizes that depend on them become dynamic too, and are inferred when the network is built.
    """
    result = with_sizes(network, given)
    changed: set[IrLayer] = set()
    for layer in result.layers:
        if layer.type == "Parameter" and layer.name in given:
            changed.add(layer)
        elif any(source in changed for source, _ in layer.inputs) and layer.type != "Result":
            changed.add(layer)
            layer.bodies = {name: replace(body, network=_opened(body.network)) for name, body in layer.bodies.items()}
            counted = counted_outputs(layer)
            layer.outputs = [
                port if index < counted else replace(port, sizes=(-1,) * len(port.sizes))
                for index, port in enumerate(layer.outputs)
            ]
    return result


def resolve_sizes(network: Network) -> None:
    """Infer the sizes of all layers, in place, from those of the parameters. Needs no device.

    Raises DMLError for sizes that layers refuse, or that cannot be inferred.
    """
    build(network, Builder(cast(Any, planner()[0])))  # a planner answers the same questions as a Device


def _opened(network: Network) -> Network:
    """Return the network of a body, with all sizes of its parameters made dynamic."""
    return reshaped(network, {name: (-1,) * len(item.outputs[0].sizes) for name, item in network.parameters.items()})
