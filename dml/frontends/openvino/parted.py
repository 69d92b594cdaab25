"""Networks in parts. Layers without a mapping to operators run on the host, by OpenVINO's CPU plugin. A layer with an
output size known only at run time ends a part; the next part is compiled for the actual size."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import HRESULT, DMLError, HostNodesWarning
from dml.frontends.extras import is_installed
from dml.frontends.parts import Cut, cut

from .convert import check_layers, check_types, counted_outputs, is_mapped, named_results
from .host_process import HostModel
from .ir import ENDS, IrLayer, Network
from .ir_writing import ir_bytes
from .loops import stopped_by_data
from .networks import Compilations, CompiledNetwork, assumed_shape, given_arrays, may_be_number

_Array = npt.NDArray[Any]
#: OpenVINO layer types that no DirectML operators express.
HOST_TYPES = frozenset({
    "BinaryConvolution", "BitwiseLeftShift", "BitwiseRightShift", "Bucketize", "CTCGreedyDecoder",
    "CTCGreedyDecoderSeqLen", "CTCLoss", "Col2Im", "DeformableConvolution", "DeformablePSROIPooling",
    "DetectionOutput", "EmbeddingBagOffsets", "EmbeddingBagOffsetsSum", "EmbeddingBagPacked", "EmbeddingBagPackedSum",
    "EmbeddingSegmentsSum", "ErfInv", "ExperimentalDetectronDetectionOutput",
    "ExperimentalDetectronGenerateProposalsSingleImage", "ExperimentalDetectronPriorGridGenerator",
    "ExperimentalDetectronROIFeatureExtractor", "ExperimentalDetectronTopKROIs", "ExtractImagePatches", "GRN",
    "GatherTree", "GenerateProposals", "I420toBGR", "I420toRGB", "ISTFT", "Inverse", "MatrixNms", "MulticlassNms",
    "Multinomial", "NMSRotated", "NV12toBGR", "NV12toRGB", "PSROIPooling", "PriorBox", "PriorBoxClustered", "Proposal",
    "ROIAlignRotated", "ROIPooling", "RandomUniform", "RegionYolo", "ReorgYolo", "STFT", "SearchSorted", "SegmentMax",
    "SliceScatter", "SparseFillEmptyRows", "Unique",
})  # fmt: skip
#: The runtime of layers on the host.
RUNTIME = "OpenVINO's CPU plugin"


class CutLayer:
    """A layer in the form that ``cut`` takes: values are named by layer and output, "3.0"."""

    def __init__(self, layer: IrLayer) -> None:
        self.layer = layer
        self.output = [_name(layer, index) for index in range(len(layer.outputs))]

    def reads(self) -> set[str]:
        return {_name(source, index) for source, index in self.layer.inputs}


def _name(layer: IrLayer, output: int) -> str:
    return f"{layer.id}.{output}"


def on_host(network: Network) -> list[IrLayer]:
    """Return the layers that cannot run on the device: their type, or that of a layer inside, is not mapped, or they
    loop until a computed condition ends the loop."""
    stopped = stopped_by_data(network)
    return [layer for layer in network.layers if layer.type not in ENDS and (layer in stopped or not _is_taken(layer))]


def _is_taken(layer: IrLayer) -> bool:
    inside = [item for body in layer.bodies.values() for item in body.network.layers if item.type not in ENDS]
    counts = any(_is_counted(source, index) for item in inside for source, index in item.inputs)
    return is_mapped(layer.type) and not counts and all(map(_is_taken, inside))


def _is_counted(source: IrLayer, index: int) -> bool:
    return index < counted_outputs(source)


def read_late(network: Network) -> set[IrLayer]:
    """Return the layers with an output size known only at run time that other layers read."""
    return {
        source
        for layer in network.layers
        if layer.type != "Result"
        for source, index in layer.inputs
        if _is_counted(source, index)
    }


def _callers_level() -> int:
    """Return the stacklevel for a warning of the calling function that points to the first caller outside dml."""
    level, frame = 0, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "dml":
        level, frame = level + 1, frame.f_back
    return level + 1


class PartedNetwork:
    """A network in parts, on the device and on the host; call it with arrays by the names of its parameters.

    fallback: whether layers of HOST_TYPES may run on the host; a ``HostNodesWarning`` names them. Raises DMLError that
    lists them if they may not or if OpenVINO is not installed, and for layers of other types that are not mapped.
    """

    def __init__(self, network: Network, device: Device, *, fallback: bool = True) -> None:
        host = on_host(network)
        has_host = fallback and is_installed("openvino")
        try:
            check_types(network, HOST_TYPES if has_host else ())
        except DMLError as error:
            if has_host or not fallback:
                raise
            hint = "install openvino to run layers that it supports on its CPU plugin"
            raise DMLError(f"{error.message}; {hint}", error.hresult) from None
        if not has_host and (stopped := stopped_by_data(network)):
            raise DMLError(
                f"these layers stop by a computed condition, which only the host supports: "
                f"{'; '.join(str(layer) for layer in network.layers if layer in stopped)}",
                HRESULT.E_NOTIMPL,
            )
        self.parameters = network.parameters
        #: Name of a result -> name of its value.
        self._results = {name: _name(*layer.inputs[0]) for name, layer in named_results(network.layers).items()}
        nodes = [CutLayer(layer) for layer in network.layers if layer.type not in ("Parameter", "Result")]
        late = read_late(network)
        parts = cut(
            nodes,
            {index for index, node in enumerate(nodes) if node.layer in host},
            [_name(layer, 0) for layer in self.parameters.values()],
            [],
            list(dict.fromkeys(self._results.values())),
            {index for index, node in enumerate(nodes) if node.layer in late},
        )
        self.parts = [_NetworkPart(network, part, device) for part in parts]
        if host:
            warnings.warn(
                f"layers of the model run on the host, without DirectML: {'; '.join(map(str, host))}; "
                "fallback=False (dml run --no-fallback) refuses them",
                HostNodesWarning,
                stacklevel=_callers_level(),
            )

    @checked
    def __call__(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, _Array]:
        """Run, and return the results by tensor name, as CompiledNetwork does.

        Raises DMLError for a missing, unknown or misshapen input.
        """
        values = self._given(inputs)
        for part in self.parts:
            values |= part.run(values)
        return {name: values[value] for name, value in self._results.items()}

    def stand_ins(self, inputs: Mapping[str, _Array], sizes: Mapping[str, int]) -> dict[str, _Array]:
        """Return an array for each parameter by value name: the given one, else zeros of ``assumed_shape``."""
        ports = {name: layer.outputs[0] for name, layer in self.parameters.items()}
        absent = {name for name, port in ports.items() if not inputs.keys() & {name, *port.names}}
        zeros = {name: np.zeros(assumed_shape(self.parameters[name], sizes)) for name in absent}
        return self._given({**inputs, **zeros})

    def _given(self, inputs: Mapping[str, npt.ArrayLike]) -> dict[str, _Array]:
        given = given_arrays(self.parameters, inputs)
        for name in self.parameters:
            if name not in given:
                raise DMLError(f"parameter {name!r}: an array must be given")
        return {_name(self.parameters[name], 0): array for name, array in given.items()}


class _NetworkPart:
    """Layers that run together. Their network takes and returns values by name."""

    def __init__(self, whole: Network, cut: Cut[CutLayer], device: Device) -> None:
        self.on_host = cut.on_host
        self.inputs, self.outputs = cut.inputs, cut.outputs
        self.layers = [node.layer for node in cut.nodes]
        self.network = _network_of(whole, self.layers, cut.inputs, cut.outputs)
        #: The layers of a host part, without constants.
        self.host_layers = [layer for layer in self.layers if cut.on_host and layer.type not in ENDS]
        #: Name of a result -> name of the value that the part returns under it.
        self._results = {
            name: layer.name.removeprefix("result ") for name, layer in named_results(self.network.layers).items()
        }
        self._host: _HostNetwork | None = None
        self._lock = threading.Lock()
        self._compilations = Compilations(self.network, device)
        if cut.on_host:
            self._on_host()  # errors of OpenVINO appear at load
        else:
            check_layers(self.network)

    def run(self, values: Mapping[str, _Array]) -> dict[str, _Array]:
        feeds = {name: values[name] for name in self.inputs}
        try:
            compiled = None if self.on_host else self.compiled_for(feeds)
        except DMLError:
            # Few layers take tensors without elements, such as the rows of a NonZero that found none.
            if all(array.size for array in feeds.values()) or not is_installed("openvino"):
                raise
            compiled = None
        if compiled is None:
            return dict(zip(self.outputs, self._on_host()(list(feeds.values())), strict=True))
        found = compiled({name: array for name, array in feeds.items() if name in compiled.parameters})
        return {value: found[name] for name, value in self._results.items()}

    def compiled_for(self, feeds: Mapping[str, _Array]) -> CompiledNetwork:
        """Return the part compiled for arrays of these sizes, and for their values if layers need them at compile
        time, such as a shape that an earlier part computed."""
        numbers = {name: array for name, array in feeds.items() if may_be_number(array.dtype, array.shape)}
        return self._compilations.get({name: array.shape for name, array in feeds.items()}, numbers)

    def _on_host(self) -> _HostNetwork:
        with self._lock:
            if self._host is None:
                self._host = _HostNetwork(self.network)
            return self._host


def _check_regions(layer: IrLayer) -> None:
    """Raise DMLError for a RegionYolo of impossible counts, over which OpenVINO loops without end."""
    if layer.type == "RegionYolo" and layer.inputs:
        source, index = layer.inputs[0]
        sizes = source.outputs[index].sizes
        most = sizes[1] if len(sizes) > 1 and sizes[1] >= 0 else 1 << 16
        for name in ("num", "classes", "coords"):
            count = layer.integer(name)
            if not 0 <= count <= most:
                raise DMLError(f"{layer}: attribute {name} must be from 0 to {most}, found {count}")


class _HostNetwork:
    """A network on OpenVINO's CPU plugin, from its parameters' arrays to its results', in order."""

    def __init__(self, network: Network) -> None:
        self._layers = ", ".join(str(layer) for layer in network.layers if layer.type not in ENDS)
        for layer in network.layers:
            _check_regions(layer)
        try:
            self._model = HostModel(lambda: ir_bytes(network))
        except DMLError as error:
            raise self._error(error) from error

    def __call__(self, arrays: Sequence[_Array]) -> list[_Array]:
        try:
            return self._model.run(arrays)
        except DMLError as error:
            raise self._error(error) from error

    def _error(self, error: DMLError) -> DMLError:
        return DMLError(f"layers on the host, {self._layers}: {error.message}")


def _network_of(whole: Network, layers: Sequence[IrLayer], inputs: Sequence[str], outputs: Sequence[str]) -> Network:
    """Return these layers as a network with a Parameter for each input and a Result for each output."""
    copies = {layer: replace(layer, outputs=list(layer.outputs), inputs=[]) for layer in layers}
    by_name = {
        _name(layer, output_index): (layer, output_index)
        for layer in whole.layers
        for output_index in range(len(layer.outputs))
    }
    number = max(layer.id for layer in whole.layers)
    entries: dict[str, IrLayer] = {}
    for name in inputs:
        layer, output_index = by_name[name]
        number += 1
        port = layer.outputs[output_index]
        entries[name] = IrLayer(number, name, "Parameter", "opset1", {}, outputs=[replace(port, id=0, names=(name,))])
    for layer, copied in copies.items():
        copied.inputs = [
            (copies[source], index) if source in copies else (entries[_name(source, index)], 0)
            for source, index in layer.inputs
        ]
    ends = []
    for name in outputs:
        layer, output_index = by_name[name]
        number += 1
        copy = copies[layer]
        copy.outputs[output_index] = replace(copy.outputs[output_index], names=(name,))
        ends.append(IrLayer(number, f"result {name}", "Result", "opset1", {}, [0], inputs=[(copy, output_index)]))
    return replace(whole, layers=[*entries.values(), *copies.values(), *ends])
