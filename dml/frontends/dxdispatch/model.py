"""A model file as data: resources, dispatchables and commands. References between them are checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from dml.arguments import checked
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_EXECUTION_FLAGS
from dml.errors import HRESULT, DMLError
from dml.files import reading
from dml.frontends.dxdispatch import images
from dml.frontends.dxdispatch.document import Json, parse, placed
from dml.frontends.dxdispatch.files import Folder
from dml.frontends.dxdispatch.onnx_model import DxOnnx
from dml.frontends.dxdispatch.operators import execution_flags, operator
from dml.frontends.dxdispatch.resources import Resource, resource
from dml.tensors import numpy_dtype

_Made = TypeVar("_Made")

#: Kinds of dispatchables that are files -> suffix of such a file. `load` takes one in a model's place.
_FILES = {"onnx": ".onnx", "dmlserializedgraph": ".bin"}


@dataclass(frozen=True)
class DxSource:
    """A binding of a resource from byte ``offset`` on. path: the binding's location in the file. shape: that of the
    array, for an ONNX model."""

    resource: Resource
    offset: int
    path: str
    shape: tuple[int, ...] | None = None


Bindings = dict[str, tuple[DxSource, ...]]


@dataclass(frozen=True)
class Overrides:
    """Settings for ONNX models from the command line, which override the file's.

    sizes: symbolic dimension -> size. shapes: input or output -> the bound value's shape.
    """

    sizes: Mapping[str, int] = field(default_factory=dict)
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class DxDispatchable:
    """A DirectML operator to compile, alone or (as_graph) as the only node of a graph. bindings: for initialization."""

    name: str
    desc: OperatorDesc
    flags: DML_EXECUTION_FLAGS
    as_graph: bool
    bindings: Bindings
    path: str


@dataclass(frozen=True)
class DxGraph:
    """A file with a serialized graph. Its constants are files in the same folder."""

    name: str
    source: Path
    flags: DML_EXECUTION_FLAGS
    path: str


Dispatchable = DxDispatchable | DxGraph | DxOnnx


@dataclass(frozen=True)
class DispatchCommand:
    dispatchable: Dispatchable
    bindings: Bindings
    path: str


@dataclass(frozen=True)
class PrintCommand:
    resource: Resource
    verbose: bool
    path: str


@dataclass(frozen=True)
class WriteFileCommand:
    """A command that writes a resource to a file. dimensions: the shape of the array in an .npy file; empty for one
    dimension with all elements."""

    resource: Resource
    target: str
    dimensions: tuple[int, ...]
    path: str


Command = DispatchCommand | PrintCommand | WriteFileCommand


@dataclass(frozen=True)
class DxModel:
    folder: Folder
    resources: dict[str, Resource] = field(default_factory=dict)
    dispatchables: dict[str, Dispatchable] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()


@checked
def load(
    path: str | Path,
    *,
    allow_paths_outside: bool = False,
    input_path: Path | None = None,
    output_path: Path | None = None,
    overrides: Overrides | None = None,
) -> DxModel:
    """Read a model and the files that it names.

    The file may also be an ONNX model or a serialized graph, which is dispatched once without bindings. input_path,
    output_path: folders that replace the model's folder for files that it reads and writes. overrides: settings for
    ONNX models from the command line. Raises DMLError, with the location in the file, for a file that is not a model,
    for invalid descriptors and for Direct3D 12's dispatchables; and for paths outside the model's folder unless
    ``allow_paths_outside``.
    """
    path = Path(path)
    alone = path.suffix.lower() in _FILES.values()
    with reading(path):
        data = _alone(path) if alone else path.read_bytes()
    try:
        inputs, outputs = (
            Folder(root or path.parent, allow_paths_outside or alone) for root in (input_path, output_path)
        )
        return read(data, inputs, outputs, overrides)
    except DMLError as error:
        raise DMLError(f"{path}: {error.message}", error.hresult) from None


def _alone(path: Path) -> bytes:
    """Return the contents of a model file that dispatches an ONNX model or a serialized graph."""
    kind = next(kind for kind, suffix in _FILES.items() if suffix == path.suffix.lower())
    model = {
        "resources": {},
        "dispatchables": {path.stem: {"type": kind, "sourcePath": str(path.resolve())}},
        "commands": [{"type": "dispatch", "dispatchable": path.stem, "bindings": {}}],
    }
    return json.dumps(model).encode()


def read(data: bytes, folder: Folder, outputs: Folder | None = None, overrides: Overrides | None = None) -> DxModel:
    """Read a model from a file's bytes. outputs: the folder to write to, by default ``folder``. See ``load``."""
    overrides = overrides or Overrides()
    root = parse(data)
    resources = {name: resource(name, value, folder) for name, value in root.need("resources").members()}
    dispatchables = {
        name: _dispatchable(name, value, resources, folder, overrides)
        for name, value in root.need("dispatchables").members()
    }
    commands = tuple(_command(value, resources, dispatchables, overrides) for value in root.need("commands").items())
    return DxModel(outputs or folder, resources, dispatchables, commands)


def is_file(value: Json) -> bool:
    """Return whether a dispatchable is a file rather than an operator. Raises DMLError for HLSL."""
    kind = value.need("type", "Type")
    if kind.string().lower() == "hlsl":
        raise placed(
            kind.path,
            "HLSL shaders are compiled for Direct3D 12; only DirectML operators run on Vulkan",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return kind.string().lower() in _FILES


def _file(name: str, value: Json, folder: Folder, overrides: Overrides) -> DxGraph | DxOnnx:
    source, free = value.need("sourcePath"), value.get("freeDimensionNameOverrides")
    try:
        path = folder.resolve(source.string())
    except DMLError as error:
        source.fail(error.message)
    if value.need("type", "Type").string().lower() == "dmlserializedgraph":
        return DxGraph(name, path, execution_flags(value.get("executionFlags")), value.path)
    sizes = {} if free is None else {size: given.unsigned() for size, given in free.members()}
    return DxOnnx(name, path, value.path, {**sizes, **overrides.sizes})


def _dispatchable(
    name: str, value: Json, resources: dict[str, Resource], folder: Folder, overrides: Overrides
) -> Dispatchable:
    if is_file(value):
        return _file(name, value, folder, overrides)
    compiled = value.get("dmlCompileType")
    if compiled is not None and compiled.string() not in ("DmlCompileOp", "DmlCompileGraph"):
        compiled.fail(f"must be DmlCompileOp or DmlCompileGraph, found {compiled.string()!r}")
    bindings = value.get("bindings")
    return DxDispatchable(
        name,
        operator(value),
        execution_flags(value.get("executionFlags")),
        compiled is not None and compiled.string() == "DmlCompileGraph",
        _bindings(bindings, resources) if bindings is not None else {},
        value.path,
    )


def _bindings(value: Json, resources: dict[str, Resource]) -> Bindings:
    """Return bind point -> bound resources, from a name, an object or an array of them."""
    return {
        point: tuple(_source(item, resources) for item in (given.items() if given.is_array else [given]))
        for point, given in value.members()
    }


def _source(value: Json, resources: dict[str, Resource]) -> DxSource:
    """Read the members of a binding that DirectML uses: resource and offset; and the shape, which ONNX models use.

    The other members describe views for HLSL.
    """
    if value.is_string:
        return DxSource(_named(value, resources, "resource"), 0, value.path)
    shape = value.get("shape")
    sizes = None if shape is None else shape.unsigned_array()
    found = _named(value.need("name"), resources, "resource")
    elements = value.unsigned_member("elementOffset", bits=64)
    width = value.unsigned_member("elementSizeInBytes", "elementStride") or found.element_size
    if elements and not width:
        value.fail("an elementOffset into values of mixed types needs 'elementSizeInBytes'")
    last = elements + value.unsigned_member("elementCount", bits=64)
    if last * width > found.size and not found.deferred:
        value.fail(f"ends at byte {last * width}, beyond the resource's {found.size} bytes")
    return DxSource(found, elements * width, value.path, sizes)


def _named(value: Json, known: dict[str, _Made], what: str) -> _Made:
    name = value.string()
    if name not in known:
        value.fail(f"the model has no {what} {name!r}")
    return known[name]


def _command(
    value: Json, resources: dict[str, Resource], dispatchables: dict[str, Dispatchable], overrides: Overrides
) -> Command:
    kind = value.need("type")
    readers: dict[str, Callable[[], Command]] = {
        "dispatch": lambda: _dispatch(value, resources, dispatchables, overrides),
        "print": lambda: _print(value, resources),
        "writefile": lambda: _write_file(value, resources),
    }
    if kind.string().lower() not in readers:
        kind.fail(f"{kind.string()!r} is not a command; the commands are dispatch, print and writeFile")
    return readers[kind.string().lower()]()


def _dispatch(
    value: Json, resources: dict[str, Resource], dispatchables: dict[str, Dispatchable], overrides: Overrides
) -> DispatchCommand:
    groups = value.get("threadGroupCount")  # only HLSL shaders use it: it is checked and ignored
    if groups is not None and len(groups.unsigned_array()) != 3:
        groups.fail("must be an array of 3 integers")
    dispatchable = _named(value.need("dispatchable"), dispatchables, "dispatchable")
    given = value.get("bindings") if isinstance(dispatchable, DxOnnx) else value.need("bindings")
    bindings = {} if given is None else _bindings(given, resources)
    deferred = [source for found in bindings.values() for source in found if source.resource.deferred]
    if isinstance(dispatchable, DxOnnx):
        bindings = {
            point: tuple(replace(source, shape=overrides.shapes.get(point, source.shape)) for source in found)
            for point, found in bindings.items()
        }
    elif deferred:
        raise placed(deferred[0].path, "only ONNX models may use deferred resources: their outputs have the sizes")
    return DispatchCommand(dispatchable, bindings, value.path)


def _print(value: Json, resources: dict[str, Resource]) -> PrintCommand:
    verbose = value.get("verbose")
    found = _named(value.need("resource"), resources, "resource")
    if not found.element_size:
        value.fail("values of several types cannot be printed")
    return PrintCommand(found, verbose is not None and verbose.boolean(), value.path)


def _write_file(value: Json, resources: dict[str, Resource]) -> WriteFileCommand:
    target, dimensions = value.need("targetPath"), value.get("dimensions")
    suffix = Path(target.string()).suffix.lower()
    found = _named(value.need("resource"), resources, "resource")
    if suffix == ".npy" and not found.element_size:
        target.fail("an array has one data type; write these values to a raw file")
    sizes = dimensions.unsigned_array() if dimensions is not None else ()
    if sizes:
        assert dimensions is not None
        needed = math.prod(sizes) * found.element_size
        if needed > found.size and not found.deferred:
            dimensions.fail(f"{list(sizes)} take {needed} bytes, the resource has {found.size}")
    if suffix in images.SUFFIXES:
        try:
            images.check(sizes, numpy_dtype(found.data_type) if found.element_size else np.dtype(np.void))
        except DMLError as error:
            value.fail(error.message)
    return WriteFileCommand(found, target.string(), sizes, value.path)
