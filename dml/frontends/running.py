"""What `dml run` does with a file, whatever its format: run it, explain it, profile it.

A format is a function from the file's path, a device and the options to a ``Runnable``, imported when a file of its
suffix comes along.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import DMLError
from dml.files import write_text
from dml.frontends.npy import read_npy, write_npy
from dml.frontends.summary import Explanation
from dml.runtime.recording import KernelTime


@dataclass(frozen=True)
class ModelInput:
    """An input of a model. kind: its data type in words; shape: sizes, symbolic ones by name, None where unknown;
    dtype: None for what is no tensor of numbers; aliases: other names that it may be given by."""

    name: str
    kind: str
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any] | None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        shape = "of any shape" if self.shape is None else " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.kind} {shape}"

    def random(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> npt.NDArray[Any]:
        """Numbers from -1 to 1, or integers 0 and 1, which are valid as indices and masks alike; 1 for sizes that
        ``sizes`` lacks. Raises DMLError for an input that cannot be made."""
        if self.shape is None or self.dtype is None or self.dtype.hasobject:
            raise DMLError(f"input {self.name!r}: {self.kind} has no random values here; give it as --input")
        shape = tuple(sizes.get(size, 1) if isinstance(size, str) else size for size in self.shape)
        if self.dtype.kind in "iub":
            return rng.integers(0, 2, shape).astype(self.dtype)
        return rng.uniform(-1, 1, shape).astype(self.dtype)


@dataclass(frozen=True)
class Options:
    """say: takes lines of output. allow_paths_outside: a file may name files out of its folder. iterations: runs.

    fallback: nodes of a model that no DirectML operators say may run on the host.
    inputs: a model's inputs by name, each an .npy file. output_dir: where a model's outputs go, an .npy file each.
    sizes: symbolic sizes of inputs that are not given, by name. random: random numbers for inputs that are not given.
    """

    say: Callable[[str], None] = print
    allow_paths_outside: bool = False
    iterations: int = 1
    fallback: bool = True
    inputs: Mapping[str, Path] = field(default_factory=dict)
    output_dir: Path | None = None
    sizes: Mapping[str, int] = field(default_factory=dict)
    random: bool = False

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The inputs. Raises DMLError for a file that is no array."""
        return {name: read_npy(path) for name, path in self.inputs.items()}

    def complete(self, wanted: Sequence[ModelInput]) -> dict[str, npt.NDArray[Any]]:
        """The arrays that a run takes: those of ``inputs``, and random ones for others where ``random`` says so.

        wanted: the model's inputs. A symbolic size has the number of a given array, else of ``sizes``, else 1, which is
        said. Raises DMLError that lists the inputs where one is missing.
        """
        given = self.arrays()
        missing = [one for one in wanted if not given.keys() & {one.name, *one.aliases}]
        if not missing:
            return given
        if not self.random:
            listed = "; ".join(map(str, missing))
            raise DMLError(
                f"inputs are missing: {listed}. Give each as --input {missing[0].name}=FILE.npy, or take random "
                "numbers with --random (--size NAME=NUMBER for sizes with names)"
            )
        known = dict(self.sizes)
        for one in wanted:
            array = given.get(one.name)
            if array is not None and one.shape is not None and array.ndim == len(one.shape):
                known |= {size: n for size, n in zip(one.shape, array.shape, strict=True) if isinstance(size, str)}
        rng = np.random.default_rng(0)
        for one in missing:
            given[one.name] = one.random(rng, known)
            self.say(f"{one.name}: random {given[one.name].dtype} {given[one.name].shape}")
        return given

    def deliver(self, outputs: Mapping[str, npt.NDArray[Any]]) -> None:
        """Write the outputs into the folder, or say what they are where there is none."""
        for name, array in outputs.items():
            self.say(f"{name}: {array.dtype} {array.shape}")
            if self.output_dir is None:
                self.say(np.array2string(array, threshold=64, edgeitems=3))
            else:
                _save(self.output_dir, name, array)


def _save(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """An output's file appears whole or not at all; characters that are no file name's become underscores."""
    write_npy(folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name).lstrip('.') or 'output'}.npy", array)


class Runnable(Protocol):
    """A file, compiled for a device."""

    def run(self) -> None:
        """Do what the file says, and print what it says."""
        ...

    def describe(self) -> str:
        """The compiled programs in words."""
        ...

    def profile(self) -> Mapping[str, list[KernelTime]]:
        """What each run of a compiled program took, kernel by kernel."""
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
    from dml.frontends.onnx.command import ONNXRun

    return ONNXRun(path, device, options)


#: Suffix -> how to open such a file.
FORMATS: dict[str, Callable[[Path, Device, Options], Runnable]] = {
    ".json": _dxdispatch,
    ".onnx": _onnx,
    ".xml": _openvino,
}


@checked
def open_file(path: Path, device: Device, options: Options) -> Runnable:
    """The file, compiled for the device. Raises DMLError for a suffix that is not known, and what the format raises."""
    opener = FORMATS.get(path.suffix.lower())
    if opener is None:
        known = ", ".join(FORMATS)
        raise DMLError(f"{path}: no format is known by the suffix {path.suffix!r}; there are {known}")
    return opener(path, device, options)


def explain_file(path: Path, device: Device, options: Options) -> Explanation:
    """Explain which operators the nodes of an ONNX model, or the layers of an OpenVINO IR model, became.

    options: inputs whose values or sizes matter; others are zeros. Raises DMLError for another suffix, and if the model
    cannot be read or compiled.
    """
    if path.suffix.lower() == ".onnx":
        from dml.frontends.onnx import prepare
        from dml.frontends.onnx.command import explain

        return explain(prepare(path, device), options.arrays(), sizes=options.sizes)
    if path.suffix.lower() == ".xml":
        from dml.frontends.openvino.command import explain as explain_layers

        return explain_layers(path, device, options.arrays(), options.sizes)
    raise DMLError(f"{path}: only .onnx and OpenVINO's .xml are explained, found the suffix {path.suffix!r}")


#: A node of a graph in a kernel's label; see dml.graph.model.
_GRAPH_NODE = re.compile(r"\bnode (\d+) \(")


def in_the_models_words(times: Sequence[KernelTime], names: Mapping[int, str]) -> list[KernelTime]:
    """Put the model's names for nodes of the compiled graph, by number, into labels: conv1 (CONVOLUTION)."""

    def name(found: re.Match[str]) -> str:
        return f"{names[int(found[1])]} (" if int(found[1]) in names else found[0]

    return [time._replace(node=_GRAPH_NODE.sub(name, time.node)) for time in times]


def write_trace(path: Path, profile: Mapping[str, list[KernelTime]], clock: str) -> None:
    """Chrome's trace events, for Perfetto and chrome://tracing: a row per run, its kernels one after another.

    clock: what measured, for the reader. Raises DMLError where the file cannot be written.
    """
    events: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": f"dml ({clock})"}}]
    for row, (name, times) in enumerate(profile.items(), 1):
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": row, "args": {"name": name}})
        start = 0
        for index, (node, kernel, nanoseconds) in enumerate(times):
            events.append(
                {
                    "ph": "X",
                    "name": node or kernel,
                    "cat": "kernel",
                    "pid": 1,
                    "tid": row,
                    "ts": start / 1000,
                    "dur": nanoseconds / 1000,
                    "args": {"kernel": kernel, "dispatch": index},
                }
            )
            start += nanoseconds
    write_text(path, json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
