"""Pictures of model files, by format."""

from __future__ import annotations

from pathlib import Path

from dml.api.device import Device
from dml.errors import DMLError
from dml.frontends.options import Options

from .model import Picture


def picture_of(path: Path, device: Device, options: Options, *, profile: bool = False) -> Picture:
    """Draw an ONNX model, a serialized graph, or an OpenVINO IR model as its graph of DirectML operators.

    options: inputs whose values or sizes matter; others are zeros. profile: run the model and show each kernel's time.
    Raises DMLError for another suffix, or if the model cannot be read or compiled.
    """
    inputs = options.arrays()
    if path.suffix.lower() == ".onnx":
        from dml.frontends.onnx import prepare

        from .onnx import onnx_picture

        return onnx_picture(prepare(path, device), path.name, inputs, sizes=options.sizes, profile=profile)
    if path.suffix.lower() == ".xml":
        from dml.frontends.openvino.model import read_model
        from dml.frontends.openvino.networks import static_model, with_zeros
        from dml.frontends.openvino.states import whole

        from .graph import graph_picture

        model, _ = static_model(whole(read_model(path).compile(device)), inputs, options.sizes)
        times = model.compiled.profile(model.prepare(with_zeros(model, inputs))) if profile else ()
        return graph_picture(model.graph, model.compiled, device, path.name, times)
    if path.suffix.lower() == ".bin":
        from dml.frontends.dxdispatch.serialized import read_graph

        from .graph import graph_picture

        graph = read_graph(path)
        desc = graph.desc(device, path.parent)
        compiled = device.compile_graph(desc)
        return graph_picture(desc, compiled, device, path.name, compiled.profile(graph.zeros()) if profile else ())
    raise DMLError(f"{path}: only .onnx, .xml and .bin are drawn, found the suffix {path.suffix!r}")
