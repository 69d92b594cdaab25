"""Operations of `dml run` on a file of any format: run, describe, profile.

A format is a function of the file's path, a device and the options that returns a ``Runnable``; its module is imported
for the first file with its suffix.
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
    """An input of a model.

    kind: its data type as text. shape: sizes, symbolic ones by name; None if unknown. dtype: None if it is not a
    tensor of numbers. aliases: other names under which it may be given.
    """

    name: str
    kind: str
    shape: tuple[int | str, ...] | None
    dtype: np.dtype[Any] | None
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        shape = "of any shape" if self.shape is None else " x ".join(map(str, self.shape)) or "scalar"
        return f"{self.name}: {self.kind} {shape}"

    def random(self, rng: np.random.Generator, sizes: Mapping[str, int]) -> npt.NDArray[Any]:
        """Return numbers from -1 to 1, or integers 0 and 1, which are valid both as indices and as masks.

        Symbolic sizes that ``sizes`` lacks are 1. Raises DMLError for an input that cannot be made.
        """
        if self.shape is None or self.dtype is None or self.dtype.hasobject:
            raise DMLError(f"input {self.name!r}: {self.kind} cannot be random; give it as --input")
        shape = tuple(sizes.get(size, 1) if isinstance(size, str) else size for size in self.shape)
        if self.dtype.kind in "iub":
            return rng.integers(0, 2, shape).astype(self.dtype)
        return rng.uniform(-1, 1, shape).astype(self.dtype)


@dataclass(frozen=True)
class Options:
    """Options of a run.

    say: called with each line of output. allow_paths_outside: the file may name files outside its folder. iterations:
    number of runs. fallback: nodes that DirectML operators cannot express may run on the host. inputs: a model's
    inputs by name, an .npy file each. output_dir: the folder for a model's outputs, an .npy file each. sizes: symbolic
    sizes, by name, of inputs that are not given. random: use random numbers for inputs that are not given.
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
        """Return the inputs. Raises DMLError for a file that is not an array."""
        return {name: read_npy(path) for name, path in self.inputs.items()}

    def complete(self, wanted: Sequence[ModelInput]) -> dict[str, npt.NDArray[Any]]:
        """Return a run's arrays: those of ``inputs``, and with ``random`` random ones for the others.

        wanted: the model's inputs. A symbolic size is a given array's, else that of ``sizes``, else 1; the shapes of
        random inputs are printed. Raises DMLError that lists the missing inputs.
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
        """Write the outputs into the folder; without one, print them."""
        for name, array in outputs.items():
            self.say(f"{name}: {array.dtype} {array.shape}")
            if self.output_dir is None:
                self.say(np.array2string(array, threshold=64, edgeitems=3))
            else:
                _save(self.output_dir, name, array)


def _save(folder: Path, name: str, array: npt.NDArray[Any]) -> None:
    """Write an output's file completely or not at all; characters that are not allowed become underscores."""
    write_npy(folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name).lstrip('.') or 'output'}.npy", array)


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
    from dml.frontends.onnx.command import ONNXRun

    return ONNXRun(path, device, options)


#: Suffix -> function that opens such a file.
FORMATS: dict[str, Callable[[Path, Device, Options], Runnable]] = {
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
    """Return the operators of each node of an ONNX model or layer of an OpenVINO IR model.

    options: inputs whose values or sizes matter; others are zeros. Raises DMLError for another suffix, and if the
    model cannot be read or compiled.
    """
    if path.suffix.lower() == ".onnx":
        from dml.frontends.onnx import prepare
        from dml.frontends.onnx.command import explain

        return explain(prepare(path, device), options.arrays(), sizes=options.sizes)
    if path.suffix.lower() == ".xml":
        from dml.frontends.openvino.command import explain as explain_layers

        return explain_layers(path, device, options.arrays(), options.sizes)
    raise DMLError(f"{path}: only .onnx and OpenVINO's .xml are explained, found the suffix {path.suffix!r}")


#: A graph's node in a kernel's label; see dml.graph.model.
_GRAPH_NODE = re.compile(r"\bnode (\d+) \(")


def in_the_models_words(times: Sequence[KernelTime], names: Mapping[int, str]) -> list[KernelTime]:
    """Insert the model's node names, by number in the compiled graph, into labels: conv1 (CONVOLUTION)."""

    def name(found: re.Match[str]) -> str:
        return f"{names[int(found[1])]} (" if int(found[1]) in names else found[0]

    return [time._replace(node=_GRAPH_NODE.sub(name, time.node)) for time in times]


def write_trace(path: Path, profile: Mapping[str, list[KernelTime]], clock: str) -> None:
    """Write Chrome's trace events, for Perfetto and chrome://tracing: a row per run, with its kernels in order.

    clock: name of the clock that measured, for the reader. Raises DMLError where the file cannot be written.
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
