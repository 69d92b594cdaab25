"""Loading of untrusted ONNX models.

A broken protobuf, an invalid model, a tensor whose data does not match its dimensions, and external data outside the
model's folder raise DMLErrors before the claimed size is allocated.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from google.protobuf.descriptor import Descriptor, FieldDescriptor  # type: ignore[import-untyped,unused-ignore]
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped,unused-ignore]
from onnx import checker, numpy_helper

from dml.errors import DMLError
from dml.files import reading
from dml.graph.constants import bytes_under
from dml.stored import Stored, mapped

from ..dtypes import Array
from ..registry import mapping_of, schema_of
from .lenient import checkable, graph_nodes, inner_graphs, mend
from .weights_apart import without_weights

#: Operators that newer versions of their opset forbid, although their meaning is clear.
_DEPRECATED = {"GroupNormalization": range(18, 21), "Upsample": range(10, 1000), "Scatter": range(11, 1000)}
#: The checker serializes the model's outline, and protobuf cannot serialize messages of this size.
_MESSAGE_LIMIT = 2**31 - 1
_SPARSE_LIMIT = 2**28
#: Weights of models with at least this many bytes are read separately.
_LARGE_MODEL = 1 << 20
#: Maximum elements of an initializer copied verbatim.
_SMALL = 1024

ModelSource = Any  # str | os.PathLike[str] | bytes | onnx.ModelProto


def load_model(source: ModelSource) -> Any:
    """Load and check a model, given as a path, as serialized bytes or as a ModelProto. External data are read in.

    Raises DMLError for any fault. External data needs a path: it must be in the model's folder.
    """
    return _loaded(source, fill=True).model


class Loaded(NamedTuple):
    """A checked model, copies of its graph's initializers by name, and its outline (see ``outline``).

    Small omissions are repaired. The initializers and the outline do not refer to the model, which may lack the data
    of large initializers.
    """

    model: Any
    initial: dict[str, Array]
    outline: Any


def load(source: ModelSource) -> Loaded:
    """Load as ``load_model`` does, with the initializers as arrays.

    Large weights are in memory once; twice for a ModelProto.
    """
    return _loaded(source, fill=False)


def _loaded(source: ModelSource, fill: bool) -> Loaded:
    """Load a model. fill: copy all external data into it."""
    name, folder = "the model", None
    separate: dict[int, Stored] = {}
    if isinstance(source, onnx.ModelProto):
        model = source
    elif isinstance(source, bytes):
        model, separate = _read(memoryview(source), "the given bytes", fill)
    else:
        try:
            path = Path(os.fspath(source))
        except TypeError:
            raise DMLError(f"a model is a path, bytes or an onnx.ModelProto, found {type(source).__name__}") from None
        name, folder = str(path), path.parent
        with reading(path):
            model, separate = _read(_opened(path), name, fill)
    if not model.HasField("graph"):
        raise DMLError(f"{name} has no graph")
    own = len(model.graph.initializer)  # dense initializers come first
    files = ModelFolder(folder)
    read = [
        check_tensor(tensor, where, files, fill or index >= own or prod(tensor.dims) <= _SMALL, separate.get(index))
        for index, (where, tensor) in enumerate(tensors(model))
    ]
    light = outline(model)
    mend(light)
    check_model(light)
    return Loaded(model, initial_arrays(model.graph, read), light)


def _opened(path: Path) -> memoryview:
    """Return the file's bytes: mapped if it is large; read if it is small, or a device or pipe."""
    is_large = path.is_file() and path.stat().st_size >= _LARGE_MODEL
    return mapped(path) if is_large else memoryview(path.read_bytes())


def _read(data: memoryview, where: str, fill: bool) -> tuple[Any, dict[int, Stored]]:
    """Parse a model; also return the missing data of its initializers, by index. With ``fill`` none is missing."""
    split = without_weights(data) if not fill and len(data) >= _LARGE_MODEL else None
    return (_parse(bytes(data), where), {}) if split is None else (_parse(split[0], where), split[1])


def _parse(data: bytes, where: str) -> Any:
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        raise DMLError(f"{where}: not an ONNX model (broken protobuf)") from None
    wrong = next(_broken_texts(model), None)
    if wrong is not None:
        raise DMLError(f"{where}: not an ONNX model ({wrong} is not UTF-8)")
    return model


def _broken_texts(message: Any) -> Iterator[str]:
    """Yield the byte strings in a message that are not text, with descriptions of their places."""
    for field, is_text, is_list in _fields_with_text(message.DESCRIPTOR):
        name = field.name
        if not is_text and not is_list and not message.HasField(name):
            continue
        value = getattr(message, name)
        for inner in value if is_list else (value,):
            if not is_text:
                yield from _broken_texts(inner)
            elif isinstance(inner, bytes):
                yield f"{field.containing_type.name}.{name} {inner[:40]!r}"


@cache
def _fields_with_text(kind: Descriptor) -> list[tuple[FieldDescriptor, bool, bool]]:
    """Return the fields of a kind of message that may contain text, whether each is text itself, and whether it is
    repeated: versions of protobuf disagree on how to ask for that, but agree on its default. (Weights are not among
    them: reading one copies it.)"""
    return [
        (field, field.type == field.TYPE_STRING, field.default_value == [])
        for field in kind.fields
        if field.type in (field.TYPE_STRING, field.TYPE_MESSAGE)
    ]


def outline(model: Any) -> Any:
    """Copy the model with its large initializers, already checked, replaced by a single zero.

    The copy describes the model except for these numbers, with which protobuf is slow.
    """
    light = onnx.ModelProto()
    _copy(model, light, "graph")
    _copy(model.graph, light.graph, "initializer")
    for tensor in model.graph.initializer:
        has_bytes = tensor.HasField("raw_data") or tensor.data_location == onnx.TensorProto.EXTERNAL
        if has_bytes and prod(tensor.dims) > _SMALL:
            size = -(-_element_bits(tensor.data_type, tensor.name) // 8)
            light.graph.initializer.add(name=tensor.name, data_type=tensor.data_type, raw_data=bytes(size))
        else:
            light.graph.initializer.append(tensor)
    return light


def _copy(source: Any, target: Any, without: str) -> None:
    """Copy all fields of a message except one into an empty message."""
    for field, value in source.ListFields():
        if field.name == without:
            continue
        if hasattr(value, "extend"):
            getattr(target, field.name).extend(value)
        elif isinstance(value, Message):
            getattr(target, field.name).CopyFrom(value)
        else:
            try:
                setattr(target, field.name, value)
            except UnicodeDecodeError:
                raise DMLError(f"the model is not valid ONNX: its {field.name} is not UTF-8: {value[:40]!r}") from None


def tensors(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield every TensorProto of a model with a description of its place: initializers and attributes, nested ones
    too."""
    yield from _graph_tensors(model.graph)
    for function in model.functions:
        yield from _node_tensors(function.node)


def _graph_tensors(graph: Any) -> Iterator[tuple[str, Any]]:
    for tensor in graph.initializer:
        yield f"initializer {tensor.name!r}", tensor
    for sparse in graph.sparse_initializer:
        yield f"sparse initializer {sparse.values.name!r}", sparse.values
        yield f"indices of sparse initializer {sparse.values.name!r}", sparse.indices
    yield from _node_tensors(graph.node)


def _node_tensors(nodes: Any) -> Iterator[tuple[str, Any]]:
    for node in nodes:
        for attribute in node.attribute:
            where = f"attribute {attribute.name!r} of node {node.name or node.op_type!r}"
            if attribute.HasField("t"):
                yield where, attribute.t
            for tensor in attribute.tensors:
                yield where, tensor
            if attribute.HasField("sparse_tensor"):
                yield where, attribute.sparse_tensor.values
                yield where, attribute.sparse_tensor.indices
        for graph in inner_graphs(node):
            yield from _graph_tensors(graph)


class ModelFolder:
    """A model's folder, or None, and the external data files opened in it."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._opened: dict[str, memoryview] = {}

    def open(self, location: str) -> memoryview | None:
        """Open the external data file at a location; None if it is no file in this folder. Raises OSError if it cannot
        be read."""
        if location not in self._opened:
            assert self.path is not None
            root = self.path.resolve()
            path = Path(os.path.realpath(root / location, strict=True))
            if not location or os.path.isabs(location) or not path.is_relative_to(root) or not path.is_file():
                return None
            self._opened[location] = mapped(path)
        return self._opened[location]


def check_tensor(
    tensor: Any, where: str, folder: ModelFolder, fill: bool, separate: Stored | None = None
) -> Stored | None:
    """Check that a tensor's data fills its dimensions.

    fill: copy external data into it. separate: its ``raw_data`` if it was read before. Returns its ``raw_data``, which
    protobuf copies at each access, or its external data; None if it has neither.
    """
    if any(size < 0 for size in tensor.dims):
        raise DMLError(f"{where}: a dimension is negative, found {tuple(tensor.dims)}")
    if tensor.HasField("segment"):
        raise DMLError(f"{where}: it is a segment of a tensor; segments are not supported")
    count = prod(tensor.dims)
    if tensor.data_type == onnx.TensorProto.STRING:
        if len(tensor.string_data) != count:
            raise DMLError(f"{where}: its dimensions say {count} strings, found {len(tensor.string_data)}")
        return None
    bits = _element_bits(tensor.data_type, where)
    size = (count * bits + 7) // 8
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        data = _external(tensor, size, where, folder)
        if fill:
            tensor.raw_data = bytes(data)
            tensor.ClearField("external_data")
            tensor.data_location = onnx.TensorProto.DEFAULT
        return data
    if tensor.HasField("raw_data"):
        data = bytes(tensor.raw_data) if separate is None else separate
        if len(data) != size:
            raise DMLError(f"{where}: its dimensions say {size} bytes, found {len(data)}")
        if fill and separate is not None:
            tensor.raw_data = bytes(separate)
        return data
    field = onnx.helper.tensor_dtype_to_field(tensor.data_type)
    found, wanted = len(getattr(tensor, field)), count
    if tensor.data_type in (onnx.TensorProto.COMPLEX64, onnx.TensorProto.COMPLEX128):
        wanted *= 2
    elif bits < 8:
        wanted = size
    if found != wanted:
        raise DMLError(f"{where}: its dimensions say {wanted} values, found {found}")
    return None


def _element_bits(data_type: int, where: str) -> int:
    narrow = {"INT4": 4, "UINT4": 4, "FLOAT4E2M1": 4, "INT2": 2, "UINT2": 2}
    for name, bits in narrow.items():
        if data_type == getattr(onnx.TensorProto, name, None):
            return bits
    try:
        return int(onnx.helper.tensor_dtype_to_np_dtype(data_type).itemsize) * 8
    except (KeyError, ValueError, TypeError):
        raise DMLError(f"{where}: unknown data type {data_type}") from None


def _external(tensor: Any, size: int, where: str, folder: ModelFolder) -> Stored:
    if folder.path is None:
        raise DMLError(f"{where}: has external data, which needs the model's path")
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = str(entries.get("location", ""))
    try:
        offset, length = int(entries.get("offset", "0") or 0), int(entries.get("length", "") or size)
    except ValueError:
        raise DMLError(f"{where}: offset and length of external data must be integers") from None
    name = f"{where}: its external data {location!r}"
    with reading(name):
        data = folder.open(location)
    if data is None:
        raise DMLError(f"{name} must be a file in the model's folder")
    if length != size:
        raise DMLError(f"{name} has a length of {length}, its dimensions say {size} bytes")
    if offset < 0 or offset + size > len(data):
        raise DMLError(f"{name} has {len(data)} bytes, not {size} from {offset} on")
    return data[offset : offset + size]


def check_model(model: Any) -> None:
    """Run ``onnx.checker``, but accept deprecated operators and operators that ONNX Runtime adds to ONNX's domain.

    The latter are LayerNormalization before 17 and SimplifiedLayerNormalization.
    """
    if model.ByteSize() >= _MESSAGE_LIMIT:
        return
    model = checkable(model)
    versions = {entry.domain or "ai.onnx": entry.version for entry in model.opset_import}

    def unchecked(node: Any) -> bool:
        version = versions.get("ai.onnx", 0)
        if node.domain not in ("", "ai.onnx"):
            return False
        is_unofficial = (
            schema_of(node.op_type, "", version) is None and mapping_of(node.op_type, "", version) is not None
        )
        return is_unofficial or version in _DEPRECATED.get(node.op_type, ())

    if any(unchecked(node) for node in nodes(model)):
        model.opset_import.append(onnx.helper.make_opsetid("unchecked", 1))
        for node in nodes(model):
            if unchecked(node):
                node.domain = "unchecked"
    try:
        checker.check_model(model)
    except (checker.ValidationError, ValueError) as error:
        raise DMLError(f"the model is not valid ONNX: {str(error).strip()}") from None


def nodes(model: Any) -> Iterator[Any]:
    """Yield every node of a model, those of functions and nested graphs included."""
    yield from graph_nodes(model.graph)
    for function in model.functions:
        yield from graph_nodes(function)


def array_of(tensor: Any, data: Stored | None = None) -> Array:
    """Return a checked TensorProto's elements. data: its ``raw_data`` or external data, if known."""
    try:
        if data is not None and sys.byteorder == "little" and _element_bits(tensor.data_type, tensor.name) >= 8:
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            return np.frombuffer(data, dtype).reshape(tuple(tensor.dims))
        if data is not None:  # the tensor itself may lack ``raw_data``
            tensor = onnx.TensorProto(
                name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=bytes(data)
            )
        return np.asarray(numpy_helper.to_array(tensor))
    except (ValueError, TypeError) as error:
        raise DMLError(f"tensor {tensor.name!r}: {error}") from None


def initial_arrays(graph: Any, data: Sequence[Stored | None] = ()) -> dict[str, Array]:
    """Return a graph's initializers by name, as arrays with their own memory. data: the first ones' ``raw_data``."""
    known = itertools.zip_longest(graph.initializer, data[: len(graph.initializer)])
    found = {tensor.name: _over_bytes(array_of(tensor, own)) for tensor, own in known}
    found |= {sparse.values.name: _over_bytes(sparse_array_of(sparse)) for sparse in graph.sparse_initializer}
    return found


def _over_bytes(array: Array) -> Array:
    if array.dtype.hasobject or bytes_under(array) is not None:
        return array
    return np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape)


def sparse_array_of(sparse: Any) -> Array:
    """Return a SparseTensorProto, which ONNX has checked, as a dense array."""
    dims, name = tuple(sparse.dims), sparse.values.name
    values, indices = array_of(sparse.values), array_of(sparse.indices)
    if prod(dims) > _SPARSE_LIMIT:
        raise DMLError(f"sparse tensor {name!r}: at most {_SPARSE_LIMIT} elements are made dense, found {dims}")
    dense = np.zeros(prod(dims), values.dtype)
    flat = indices if indices.ndim == 1 else indices @ np.array([prod(dims[index + 1 :]) for index in range(len(dims))])
    dense[flat] = values
    return dense.reshape(dims)
