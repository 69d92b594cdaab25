"""Running of models: ``prepare`` once, ``run`` often; and an ``onnx.backend.base.Backend``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.backend import base

from dml.api.device import Device, create_device
from dml.api.device_array import DeviceArray
from dml.arguments import as_array, check_unmasked, checked
from dml.errors import HRESULT, DMLError, HostNodesWarning
from dml.frontends.parts import Cut, cut
from dml.graph.constants import SharedConstants, bytes_under
from dml.stages import stage
from dml.stored import check_unchanged

from ..dtypes import Array, dtype_of
from ..load.loading import Loaded, ModelSource, load
from ..map.blocked import NCHWC, with_blocks
from ..map.node import LateCount, NodeFacts, Unsupported
from ..map.trace import GraphFacts
from ..map.unmapped import grouped, opsets_in, uncovered, unknown, unmapped
from ..registry import standard
from .device_part import DevicePart, OnnxPlan
from .host_part import HostPart, on_host
from .severity import says_warnings

Part = DevicePart | HostPart


class PreparedModel(base.BackendRep):  # type: ignore[misc]
    """A checked model on a device. Each set of input shapes is compiled at its first use; recent ones are kept.

    inputs, outputs: their names. parts: consecutive parts on the device and on the host. fallback: whether nodes that
    cannot be mapped run on the host; a ``HostNodesWarning`` names them, unless onnxruntime's ``severity`` (-1: the
    default) is above warnings. Raises DMLError naming every node that cannot be mapped, if fallback is off.
    """

    def __init__(self, loaded: Loaded, device: Device, *, fallback: bool = True, severity: int = -1) -> None:
        stored = ((name, bytes_under(array)) for name, array in loaded.initial.items())
        self._constants = SharedConstants((name, data) for name, data in stored if data is not None)
        #: Without the initializers' data; nothing here may refer to the full model.
        self.model = model = loaded.outline
        self.device = device
        self._initial = loaded.initial
        graph = model.graph
        initialized = {tensor.name for tensor in graph.initializer}
        self.inputs = [entry.name for entry in graph.input if entry.name not in initialized]
        self.outputs = [entry.name for entry in graph.output]
        self._types = {entry.name: entry.type for entry in graph.input}
        self._functions = {(standard(f.domain), f.name, getattr(f, "overload", "")): f for f in model.functions}
        self._fallback = fallback
        self._severity = severity
        self._nodes = [NodeFacts(proto) for proto in graph.node]
        #: Index of each node on the host -> the reason.
        self._on_host: dict[int, str] = {}
        self._named_nodes: set[int] = set()
        #: Indices of nodes with a data-dependent number of rows; the nodes that read their outputs are in a later part.
        self._late: set[int] = set()
        self._opsets = with_blocks(opsets_in(model), graph.node, loaded.initial)
        missing = unmapped(model, self._opsets)
        if missing and not fallback:
            words = "; ".join(map(str, missing))
            raise DMLError(f"the model has nodes that cannot be mapped: {words}", HRESULT.E_NOTIMPL)
        strange = unknown(missing)
        if strange:
            words = "; ".join(map(str, strange))
            raise DMLError(
                f"the model has operators that neither dml nor a host runtime knows: {words}", HRESULT.E_NOTIMPL
            )
        #: (cut, nodes of the cut with a data-dependent number of rows) -> part.
        self._parts_of: dict[tuple[Cut[NodeFacts], frozenset[NodeFacts]], Part] = {}
        #: Values that parts on the device read and that should stay there.
        self._device_inputs: set[str] = set()
        self._cut(uncovered(model, self._opsets) if missing else {})
        self._warn()

    @property
    def parts(self) -> list[Part]:
        return list(self._parts_of.values())

    def _cut(self, refused: Mapping[int, str]) -> None:
        """Partition the graph again, with these additional nodes on the host."""
        self._on_host.update(refused)
        blocked = [index for index, node in enumerate(self._nodes) if node.domain == NCHWC]
        # Values between these nodes have a different layout on the host.
        if not self._on_host.keys().isdisjoint(blocked):
            refused = {**dict.fromkeys(blocked, "others of its domain are on the host"), **refused}
            self._on_host = {**refused, **self._on_host}
        self._late -= refused.keys()
        given = self._types
        constants = [name for name in self._initial if name not in given]
        found: dict[tuple[Cut[NodeFacts], frozenset[NodeFacts]], Part] = {}
        for part in cut(self._nodes, self._on_host.keys(), given, constants, self.outputs, self._late):
            key = part, frozenset(node for index in self._late if (node := self._nodes[index]) in part.nodes)
            found[key] = self._parts_of.get(key) or self._part(*key)  # an unchanged part keeps its plans
        self._parts_of = found
        self._device_inputs = {name for part in self.parts if not part.on_host for name in part.inputs}

    def _warn(self) -> None:
        """Warn about the nodes on the host that were not named before."""
        fresh = self._on_host.keys() - self._named_nodes
        if fresh:
            self._named_nodes |= fresh
            if not says_warnings(self._severity):
                return
            named = grouped(self._nodes[index] for index in sorted(fresh))
            warnings.warn(
                f"nodes of the model run on the host, without DirectML: {named}; "
                "fallback=False (dml run --no-fallback) refuses them",
                HostNodesWarning,
                stacklevel=5,
            )

    def _part(self, cut: Cut[NodeFacts], late: Collection[NodeFacts]) -> Part:
        names = {*cut.constants, *cut.inputs} & self._initial.keys()
        initial = {name: self._initial[name] for name in sorted(names)}
        if cut.on_host:
            return HostPart(self.model, cut, initial, self._types)
        graph = GraphFacts(initial, cut.nodes, cut.outputs)
        return DevicePart(self.device, graph, cut.inputs, self._opsets, self._functions, self._constants, late)

    def reason(self, node: NodeFacts) -> str:
        """Return the reason why a node is on the host, in brackets; "" if it only computes constants for others."""
        why = self._on_host.get(self._nodes.index(node))
        return "" if why is None else f" ({why})"

    @checked
    def run(
        self, inputs: Any, *, keep: Sequence[str] = (), shared: Mapping[str, str] | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Run and return the outputs in the model's order. inputs: arrays in the model's order, or by name.

        An input is an array of the model's dtype and rank, with its fixed sizes; symbolic sizes take the array's. A
        DeviceArray of the model's device is also accepted. keep: names of outputs that become DeviceArrays, so that
        values for the next run need not leave the device. shared: output -> input that is a DeviceArray: a cache that
        attention writes in place. The output is that array; if no node can write it in place, it is a new DeviceArray.
        Raises DMLError for a missing, unknown or wrong input, and for failures.
        """
        for name in keep:
            if name not in self.outputs:
                raise DMLError(f"keep: the model has no output {name!r}; it has {', '.join(self.outputs)}")

        shared = shared or {}
        for name, given in shared.items():
            if name not in self.outputs or given not in self._types:
                raise DMLError(f"shared: the model has no output {name!r} or no input {given!r}")
        kept = {*keep, *shared}
        found = self.each_part(inputs, lambda part, values: part.run(values, {*kept, *self._device_inputs}, shared))
        return tuple(self._output(found, name, name in kept) for name in self.outputs)

    def each_part(self, inputs: Any, step: Callable[[Part, Mapping[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Return all values between parts by name; ``step`` computes each part's outputs from earlier ones.

        Starts again if nodes of a part turn out to need the host, or to return a data-dependent number of rows.
        """
        given = self._named(inputs)
        while True:
            values = dict(given)
            try:
                for part in self.parts:
                    values.update(step(part, values))
            except Unsupported as error:
                refused = {
                    index: why for index, node in enumerate(self._nodes) for one, why in error.nodes if one is node
                }
                if isinstance(error, LateCount):
                    self._late |= refused.keys()
                    self._cut({})
                    continue
                if not self._fallback or not refused:
                    raise
                self._cut(refused)
                continue
            self._warn()
            return values

    def _output(self, values: Mapping[str, Any], name: str, keep: bool) -> Any:
        """Return an output's value, on the device if ``keep``; a copy if it is an input or an initializer."""
        if name not in values and name not in self._initial:
            raise DMLError(f"no value {name!r} in the model")
        value = values.get(name, self._initial.get(name))
        check_unchanged(value)
        if keep:
            return self._on_device(value)
        own = name in self._types or name in self._initial
        return np.array(value) if own and isinstance(value, np.ndarray) else on_host(value)

    def _on_device(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._on_device(inner) for inner in value]
        return None if value is None else self.device.to_device(value)

    def compiled_for(self, inputs: Any) -> tuple[OnnxPlan, dict[str, Array]]:
        """Return the model compiled for such inputs, and their arrays by the graph's names.

        Raises DMLError if part of it runs on the host.
        """
        given = self._named(inputs)
        match self.parts:
            case [DevicePart() as part]:
                return part.compiled_for(given)
        raise DMLError("the model cannot be compiled as one graph on the device")

    def _named(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            given = dict(inputs)
        else:
            if not isinstance(inputs, Sequence):
                inputs = [inputs]
            if len(inputs) > len(self.inputs):
                raise DMLError(f"the model has {len(self.inputs)} inputs, found {len(inputs)}")
            given = dict(zip(self.inputs, inputs, strict=False))
        for name in given:
            if name not in self._types:
                raise DMLError(f"the model has no input {name!r}; it has {', '.join(self.inputs)}")
        for name in self.inputs:
            if name not in given:
                raise DMLError(f"input {name!r}: an array must be given")
        return {name: _checked(name, item, self._types[name]) for name, item in given.items()}


def _checked(name: str, item: Any, kind: Any) -> Any:
    """Check an input against the model's type: an array, a list of arrays, or None for an absent optional."""
    if kind.HasField("optional_type"):
        return None if item is None else _checked(name, item, kind.optional_type.elem_type)
    if kind.HasField("sequence_type"):
        if not isinstance(item, Sequence):
            raise DMLError(f"input {name!r}: a sequence of arrays must be given")
        return [_checked(f"{name}[{index}]", inner, kind.sequence_type.elem_type) for index, inner in enumerate(item)]
    if kind.HasField("map_type"):
        if not isinstance(item, Mapping):
            raise DMLError(f"input {name!r}: a mapping must be given")
        return item
    if not kind.HasField("tensor_type"):
        raise DMLError(f"input {name!r}: must be a tensor, a sequence, an optional or a map", HRESULT.E_NOTIMPL)
    check_unmasked(item, f"input {name!r}")
    is_array = isinstance(item, DeviceArray) or (isinstance(item, np.ndarray) and item.dtype.isnative)
    array = item if is_array else as_array(item, f"input {name!r}")
    dtype = dtype_of(kind.tensor_type.elem_type)
    if dtype.hasobject and isinstance(array, np.ndarray) and array.dtype.kind in "US":
        array = array.astype(object)
    if isinstance(item, list | tuple | int | float) and isinstance(array, np.ndarray):
        array = _in_type(array, dtype)
    if array.dtype != dtype:
        raise DMLError(f"input {name!r}: takes arrays of {dtype}, found {array.dtype}")
    if kind.tensor_type.HasField("shape"):
        dims = kind.tensor_type.shape.dim
        if len(dims) != array.ndim:
            raise DMLError(f"input {name!r}: takes arrays of rank {len(dims)}, found one of shape {array.shape}")
        for dim, size in zip(dims, array.shape, strict=True):
            if dim.HasField("dim_value") and dim.dim_value > 0 and dim.dim_value != size:
                wanted = tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in dims)
                raise DMLError(f"input {name!r}: takes arrays of shape {wanted}, found {array.shape}")
    return array


def _in_type(array: Array, dtype: Any) -> Array:
    """Return Python's numbers, which have no data type, in the model's type if it represents them."""
    converted = array.astype(dtype) if array.dtype.kind in "iuf" and dtype.kind in "iuf" else array
    return converted if dtype.kind == "f" or np.array_equal(converted, array) else array


@checked
def prepare(
    source: ModelSource, device: int | str | Device | None = None, *, fallback: bool = True, **kwargs: Any
) -> PreparedModel:
    """Prepare a model for runs.

    source: a path, serialized bytes or an onnx.ModelProto. device: a dml Device, or an argument of
    ``dml.create_device``; "CPU" (ONNX's default), "CUDA", "GPU" and None mean the default device. fallback: nodes that
    cannot be mapped run on the host, on onnxruntime's CPU provider if installed, else on onnx's reference evaluator; a
    ``HostNodesWarning`` names them once. False refuses them. Raises DMLError for a broken or invalid model, and for
    one with nodes that can run neither on the device nor on the host, naming all of them.
    """
    with stage("parse"):
        loaded = load(source)
    return PreparedModel(loaded, device if isinstance(device, Device) else open_device(device), fallback=fallback)


def open_device(device: int | str | None) -> Device:
    """Open a device by its index or a part of its name; ONNX's device names mean the default one."""
    from dml.api.device import _default_device

    if device is None or str(device).split(":")[0] in ("CPU", "CUDA", "GPU"):
        return _default_device()
    return create_device(device)


@checked
def run_model(
    source: ModelSource, inputs: Any, device: int | str | Device | None = None, *, fallback: bool = True, **kwargs: Any
) -> tuple[Any, ...]:
    """Prepare and run once."""
    return prepare(source, device, fallback=fallback).run(inputs)


@checked
def supports_device(device: str) -> bool:
    """Return whether such a device exists."""
    try:
        open_device(device)
    except DMLError:
        return False
    return True


class Backend(base.Backend):  # type: ignore[misc]
    """The ONNX backend interface: ``prepare``, ``run_model``, ``run_node``, ``supports_device``."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Return whether every node can be mapped."""
        return not unmapped(model, opsets_in(model))

    @classmethod
    def prepare(cls, model: ModelSource, device: str | Device | None = "CPU", **kwargs: Any) -> PreparedModel:
        return prepare(model, device, **kwargs)

    @classmethod
    def run_model(
        cls, model: ModelSource, inputs: Any, device: str | Device | None = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        return run_model(model, inputs, device, **kwargs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Sequence[npt.ArrayLike], device: str | Device | None = "CPU", outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Run one node on arrays, in the newest opset unless ``opset_version`` is given."""
        for index, item in enumerate(inputs):
            check_unmasked(item, f"input {index}")
        arrays = [np.asarray(item) for item in inputs]
        kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
        entries = [
            helper.make_tensor_value_info(name, kind, array.shape)
            for name, kind, array in zip([n for n in node.input if n], kinds, arrays, strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        version = int(kwargs.get("opset_version", onnx.defs.onnx_opset_version()))
        graph = helper.make_graph([node], "node", entries, results)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
        loaded = Loaded(model, {}, model)
        return PreparedModel(loaded, device if isinstance(device, Device) else open_device(device)).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return supports_device(device)


__all__ = ["Backend", "PreparedModel", "prepare", "run_model", "supports_device"]
