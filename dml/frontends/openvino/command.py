"""`dml run`, `dml inspect` and `dml explain` of OpenVINO IR: layers and their operators, inputs, outputs, memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import DMLError
from dml.frontends.kernel_times import with_node_names
from dml.frontends.openvino.convert import is_mapped
from dml.frontends.openvino.ir import ELEMENT_TYPES, ENDS, IrLayer, Network, with_sizes
from dml.frontends.openvino.model import read_model
from dml.frontends.openvino.networks import (
    CompiledNetwork,
    assumed_shape,
    parameter_summary,
    port_summary,
    static_model,
    with_zeros,
)
from dml.frontends.openvino.parted import RUNTIME, PartedNetwork
from dml.frontends.openvino.states import STATE_TYPES, split, whole, without_variables
from dml.frontends.options import ModelInput, Options
from dml.frontends.summary import (
    LISTED,
    Explained,
    Explanation,
    ModelSummary,
    OperatorSummary,
    TensorSummary,
    ValueSummary,
    operators_of,
    symbolic_sizes,
)
from dml.planning.planner import PlannedGraph, Planner
from dml.runtime.recording import KernelTime


class OpenVINORun:
    """A model and its input files, for ``dml run``."""

    def __init__(self, path: Path, device: Device, options: Options) -> None:
        self._model = read_model(path).compile(device, fallback=options.fallback)
        self._options = options
        self._name = path.name

    def run(self) -> None:
        inputs = self._options.complete(self._inputs())
        for _ in range(self._options.iterations):
            outputs = self._model(inputs)
        self._options.deliver(outputs)

    def _inputs(self) -> list[ModelInput]:
        found = []
        for name, layer in self._model.parameters.items():
            one = parameter_summary(layer)
            found.append(ModelInput(name, one.kind, one.shape, np.dtype(one.kind), tuple(layer.outputs[0].names)))
        symbolic_sizes(map(parameter_summary, self._model.parameters.values()), self._options.sizes)
        return found

    def describe(self) -> str:
        return self._static(self._options.arrays()).compiled.describe()

    def profile(self) -> dict[str, list[KernelTime]]:
        options = self._options
        given = options.complete(self._inputs()) if options.random else options.arrays()
        model = self._static(given)
        times = model.compiled.profile(model.prepare(with_zeros(model, given)))
        return {self._name: with_node_names(times, model.layer_names)}

    def _static(self, given: Mapping[str, npt.NDArray[Any]]) -> CompiledNetwork:
        return static_model(whole(self._model), given, self._options.sizes)[0]


def explain(path: Path, device: Device, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Explanation:
    """Return the operators of each layer. inputs, sizes: determine dynamic sizes; the others are 1.

    Raises DMLError if the model cannot be read or compiled.
    """
    read = read_model(path)
    model = without_variables(read.compile(device))
    if isinstance(model, PartedNetwork):
        return _explained_parts(model, inputs, sizes)
    static, taken = static_model(model, inputs, sizes)
    return Explanation(_rows(static), [f"{name} = 1" for name in taken if name not in sizes], taken)


def _rows(model: CompiledNetwork) -> list[Explained]:
    return [
        Explained(str(layer), *operators_of([node.Operator.desc for node in nodes]))
        for layer, nodes in model.nodes.items()
        if layer.type not in ENDS
    ]


def _explained_parts(model: PartedNetwork, inputs: Mapping[str, Any], sizes: Mapping[str, int]) -> Explanation:
    """Return the layers part by part. Nothing runs, so the operators of a part that reads another part's results are
    unknown."""
    summaries = [parameter_summary(layer) for layer in model.parameters.values()]
    taken = {name: sizes.get(name, 1) for name in symbolic_sizes(summaries, sizes)}
    feeds = model.stand_ins(inputs, sizes)
    rows: list[Explained] = []
    for part in model.parts:
        if not part.on_host and feeds.keys() >= set(part.inputs):
            rows += _rows(part.compiled_for({name: feeds[name] for name in part.inputs}))
            continue
        where = f"on the host, {RUNTIME}" if part.on_host else "on the device; its operators depend on an earlier part"
        level = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0
        rows += [Explained(str(layer), [], level, where) for layer in part.layers if layer.type not in ENDS]
    return Explanation(rows, [f"{name} = 1" for name in taken if name not in sizes], taken)


def inspect_network(path: Path, planner: Planner, sizes: Mapping[str, int]) -> ModelSummary:
    """Summarize a model and the memory it needs; see ``ModelSummary``. sizes: the dynamic sizes, 1 if not given.

    Raises DMLError if it cannot be read.
    """
    network = read_model(path).network
    parameters = network.of_type("Parameter")
    inputs = tuple(map(parameter_summary, parameters))
    symbolic_sizes(inputs, sizes)
    shapes = {layer.name: assumed_shape(layer, sizes) for layer in parameters}
    taken = {
        f"{layer.name}.{index}": shapes[layer.name][index]
        for layer in parameters
        for index, size in enumerate(layer.outputs[0].sizes)
        if size < 0
    }
    needs, unplanned = None, ""
    try:
        main = split(network).network
        given = {layer.name: assumed_shape(layer, sizes) for layer in main.of_type("Parameter")}
        # a planner answers the same questions as a Device
        compiled = CompiledNetwork(with_sizes(main, given), cast(Device, planner)).compiled
        needs = cast(PlannedGraph, compiled).needs()
    except DMLError as error:
        unplanned = error.message
    constants = [_constant(network, layer) for layer in network.of_type("Const")]
    return ModelSummary(
        opsets={"OpenVINO": max((int(re.sub(r"\D", "", layer.version) or 0) for layer in network.layers), default=0)},
        producer=f"OpenVINO IR {network.version}",
        inputs=inputs,
        outputs=tuple(map(_result, network.of_type("Result"))),
        operators=_operators(network),
        weight_elements=sum(prod(constant.shape) for constant in constants),
        weight_bytes=sum(constant.bytes for constant in constants),
        sizes=taken,
        assumed=tuple(name for name in taken if name not in sizes),
        memory=None if needs is None else needs.by_use,
        unplanned=unplanned,
        prepared=() if needs is None else needs.prepared[:LISTED],
        largest=tuple(sorted(constants, key=lambda constant: -constant.bytes)[:LISTED]),
    )


def _constant(network: Network, layer: IrLayer) -> TensorSummary:
    data, sizes = network.constant_bytes(layer)
    kind = layer.text("element_type")
    dtype = str(np.dtype(ELEMENT_TYPES[kind])) if kind in ELEMENT_TYPES else kind
    return TensorSummary(layer.name, dtype, sizes, len(data), None)


def _result(layer: IrLayer) -> ValueSummary:
    source, index = layer.inputs[0]
    port = source.outputs[index]
    return port_summary((*port.names, source.name)[0], port)


def _operators(network: Network) -> tuple[OperatorSummary, ...]:
    """Return the layers by type, the most frequent first."""
    counts = Counter((layer.type, layer.version) for layer in network.layers if layer.type not in ENDS)
    return tuple(
        OperatorSummary(kind, version, 0, count, "mapped" if is_mapped(kind) or kind in STATE_TYPES else "host")
        for (kind, version), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
