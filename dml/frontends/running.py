"""Opening of files for `dml run` and `dml explain`, of any format.

A format is a function from a path, a device and the options to a ``Runnable``; it is imported when a file of its suffix
is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import DMLError
from dml.frontends.options import Options
from dml.frontends.summary import Explanation
from dml.runtime.recording import KernelTime


class Runnable(Protocol):
    """A file, compiled for a device."""

    def run(self) -> None:
        """Execute the file and print its output."""
        ...

    def describe(self) -> str:
        """Describe the compiled programs."""
        ...

    def profile(self) -> Mapping[str, list[KernelTime]]:
        """Return the kernel times of each run of a compiled program."""
        ...


def _dxdispatch(path: Path, device: Device, options: Options) -> Runnable:
    from dml.frontends.dxdispatch import Session, load
    from dml.frontends.dxdispatch.timing import Timing

    model = load(path, allow_paths_outside=options.allow_paths_outside)
    return Session(model, device, say=options.say, timing=Timing(options.iterations))


def _openvino(path: Path, device: Device, options: Options) -> Runnable:
    from dml.frontends.openvino.command import OpenVINORun

    return OpenVINORun(path, device, options)


def _onnx(path: Path, device: Device, options: Options) -> Runnable:
    from dml.frontends.onnx.run.command import ONNXRun

    return ONNXRun(path, device, options)


#: Suffix -> function that opens such a file.
FORMATS: dict[str, Callable[[Path, Device, Options], Runnable]] = {
    ".bin": _dxdispatch,  # a serialized graph
    ".json": _dxdispatch,
    ".onnx": _onnx,
    ".xml": _openvino,
}


@checked
def open_file(path: Path, device: Device, options: Options) -> Runnable:
    """Compile a file for the device. Raises DMLError for an unknown suffix, and the format's errors."""
    opener = FORMATS.get(path.suffix.lower())
    if opener is None:
        known = ", ".join(FORMATS)
        raise DMLError(f"{path}: the suffix {path.suffix!r} is not supported; supported are {known}")
    return opener(path, device, options)


def explain_file(path: Path, device: Device, options: Options) -> Explanation:
    """Return the operators of each node of an ONNX model or serialized graph, or layer of an OpenVINO IR model.

    options: inputs whose values or sizes matter; others are zeros. Raises DMLError for another suffix, and if the
    model cannot be read or compiled.
    """
    if path.suffix.lower() == ".onnx":
        from dml.frontends.onnx import prepare
        from dml.frontends.onnx.run.command import explain

        return explain(prepare(path, device), options.arrays(), sizes=options.sizes)
    if path.suffix.lower() == ".xml":
        from dml.frontends.openvino.command import explain as explain_layers

        return explain_layers(path, device, options.arrays(), options.sizes)
    if path.suffix.lower() == ".bin":
        from dml.frontends.dxdispatch.serialized import explain_graph

        return explain_graph(path)
    raise DMLError(f"{path}: only .onnx, .xml and .bin are explained, found the suffix {path.suffix!r}")
