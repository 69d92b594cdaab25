"""Running models: ``prepare`` once, ``run`` often; and the same as an ``onnx.backend.base.Backend``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.backend import base

from dml.api.device import Device, create_device
from dml.arguments import as_array, checked
from dml.errors import HRESULT, DMLError
from dml.graph.builder import SharedConstants, bytes_under
from dml.stages import stage

from .dtypes import Array, DType, Shape, dtype_of
from .loading import Loaded, ModelSource, load, outline
from .plans import Plans
from .registry import standard
from .trace import GraphFacts, Guard, Trace, run, unmapped
from .value import OnnxValue


@dataclass
class Result:
    """An output: its shape and dtype, and its elements where they are constant."""

    shape: Shape
    dtype: DType
    array: Array | None


class OnnxPlan:
    """A model compiled for input shapes: the graph, and which outputs need it. Keeps nothing else of the trace."""

    def __init__(self, trace: Trace, outputs: Mapping[str, Any]) -> None:
        self.guards: list[Guard] = trace.guards
        self.outputs = {name: _described(item) for name, item in outputs.items()}
        tensors: dict[str, Any] = {}
        for name, item in outputs.items():
            for at, value in _flat(name, item):
                if value.array is None:
                    tensors[at] = value.tensor
        self.compiled = trace.builder.compile(tensors) if tensors else None
        self.record = trace.record
        #: Which node of the compiled graph is which of the Builder's.
        self.graph_nodes = {number: at for at, number in enumerate(trace.builder.built)} if tensors else {}

    @property
    def kept(self) -> Mapping[object, int]:
        """What it keeps on the device beside the weights, with its bytes: inputs, outputs, temporaries and kernels."""
        return {} if self.compiled is None else self.compiled.kept

    def holds(self, feeds: Mapping[str, Array]) -> bool:
        """Whether inputs with these values make the graph that this is."""
        return all(guard.holds(feeds) for guard in self.guards)

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        made = {} if self.compiled is None else run(self.compiled, feeds)
        if self.compiled is not None:
            self.compiled.forget_constants()
        return {name: _collect(name, item, made) for name, item in self.outputs.items()}


def _described(item: Any) -> Any:
    if isinstance(item, list):
        return [_described(inner) for inner in item]
    return None if item is None else Result(item.shape, item.dtype, item.array)


def _flat(name: str, item: Any) -> list[tuple[str, OnnxValue]]:
    if isinstance(item, list):
        return [pair for at, inner in enumerate(item) for pair in _flat(f"{name}[{at}]", inner)]
    return [] if item is None else [(name, item)]


def _collect(name: str, item: Any, made: Mapping[str, Array]) -> Any:
    if isinstance(item, list):
        return [_collect(f"{name}[{at}]", inner, made) for at, inner in enumerate(item)]
    if item is None:
        return None
    if item.array is not None:
        return item.array
    with np.errstate(all="ignore"):
        return made[name].reshape(item.shape).astype(item.dtype, copy=False)


class PreparedModel(base.BackendRep):  # type: ignore[misc]
    """A checked model on a device. Each set of input shapes is compiled when it first comes, and kept for a while.

    inputs, outputs: their names. Raises DMLError naming every node that cannot be mapped.
    """

    def __init__(self, loaded: Loaded, device: Device) -> None:
        self._constants = SharedConstants(filter(None, map(bytes_under, loaded.initial.values())))
        #: Without the initializers' numbers; nothing here may refer to the model that has them.
        self.model = model = outline(loaded.model)
        self.device = device
        graph = model.graph
        initialized = {tensor.name for tensor in graph.initializer}
        self.inputs = [entry.name for entry in graph.input if entry.name not in initialized]
        self.outputs = [entry.name for entry in graph.output]
        self._types = {entry.name: entry.type for entry in graph.input}
        self._opsets = {standard(entry.domain): entry.version for entry in model.opset_import}
        self._functions = {(standard(f.domain), f.name, getattr(f, "overload", "")): f for f in model.functions}
        self._plans = Plans()
        missing = unmapped(model)
        if missing:
            raise DMLError(f"the model has nodes that cannot be mapped: {'; '.join(missing)}", HRESULT.E_NOTIMPL)
        self._graph = GraphFacts(graph, loaded.initial)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order, of inputs in their order or by name.

        An input is an array of the dtype and rank the model says, with its fixed sizes; symbolic sizes are bound by it.
        Raises DMLError for a missing, unknown or wrong input, and for what cannot be computed.
        """
        plan, feeds = self.compiled_for(inputs)
        found = plan.run(feeds)
        return tuple(found[name] for name in self.outputs)

    def compiled_for(self, inputs: Any) -> tuple[OnnxPlan, dict[str, Array]]:
        """The model compiled for such inputs, and their arrays by the graph's names."""
        given = self._named(inputs)
        feeds, shapes = self._feeds(given)
        plan: OnnxPlan | None = self._plans.find(shapes, feeds)
        if plan is None:
            with stage("plan"):
                plan = self.plan(given, feeds)
            self._plans.add(shapes, plan)
        return plan, feeds

    def plan(self, given: Mapping[str, Any], feeds: dict[str, Array] | None) -> OnnxPlan:
        """The model compiled for inputs of these shapes. feeds: their values, where they may be needed."""
        trace = Trace(self.device, self._functions, self._constants)
        trace.feeds = feeds
        items = {name: _enter(trace, name, item) for name, item in given.items()}
        results = trace.graph(self._graph, items, self._opsets)
        return OnnxPlan(trace, dict(zip(self.outputs, results, strict=True)))

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

    def _feeds(self, given: Mapping[str, Any]) -> tuple[dict[str, Array], Any]:
        feeds: dict[str, Array] = {}

        def visit(name: str, item: Any) -> Any:
            if isinstance(item, list):
                return tuple(visit(f"{name}[{at}]", inner) for at, inner in enumerate(item))
            if item is None:
                return None
            feeds[name] = item
            return item.shape, str(item.dtype)

        return feeds, tuple((name, visit(name, item)) for name, item in sorted(given.items()))


def _enter(trace: Trace, name: str, item: Any) -> Any:
    if isinstance(item, list):
        return [_enter(trace, f"{name}[{at}]", inner) for at, inner in enumerate(item)]
    return None if item is None else trace.input(name, item.shape, item.dtype)


def _checked(name: str, item: Any, kind: Any) -> Any:
    """An input as the model's type says: an array, a list of arrays, or None for an absent optional."""
    if kind.HasField("optional_type"):
        return None if item is None else _checked(name, item, kind.optional_type.elem_type)
    if kind.HasField("sequence_type"):
        if not isinstance(item, Sequence):
            raise DMLError(f"input {name!r}: a sequence of arrays must be given")
        return [_checked(f"{name}[{at}]", inner, kind.sequence_type.elem_type) for at, inner in enumerate(item)]
    if not kind.HasField("tensor_type"):
        raise DMLError(f"input {name!r}: only tensors, sequences and optionals are taken", HRESULT.E_NOTIMPL)
    array = item if isinstance(item, np.ndarray) else as_array(item, f"input {name!r}")
    dtype = dtype_of(kind.tensor_type.elem_type)
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


@checked
def prepare(source: ModelSource, device: int | str | Device | None = None, **kwargs: Any) -> PreparedModel:
    """A model, ready to run.

    source: a path, serialized bytes or an onnx.ModelProto. device: a dml Device, or what ``dml.create_device`` takes;
    "CPU" (ONNX's default), "CUDA" and None mean the default device.
    Raises DMLError for a broken or invalid model, and for one with nodes that cannot be mapped, naming all of them.
    """
    with stage("parse"):
        loaded = load(source)
    return PreparedModel(loaded, device if isinstance(device, Device) else _open(device))


def _open(device: int | str | None) -> Device:
    from dml.api.device import _default_device

    if device is None or str(device).split(":")[0] in ("CPU", "CUDA", "GPU"):
        return _default_device()
    return create_device(device)


@checked
def run_model(
    source: ModelSource, inputs: Any, device: int | str | Device | None = None, **kwargs: Any
) -> tuple[Any, ...]:
    """Prepare and run once."""
    return prepare(source, device).run(inputs)


@checked
def supports_device(device: str) -> bool:
    """Whether there is such a device."""
    try:
        _open(device)
    except DMLError:
        return False
    return True


class Backend(base.Backend):  # type: ignore[misc]
    """The ONNX backend interface: ``prepare``, ``run_model``, ``run_node``, ``supports_device``."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every node can be mapped."""
        return not unmapped(model)

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
        """One node on arrays, in the newest opset unless ``opset_version`` is given."""
        arrays = [np.asarray(array) for array in inputs]
        kinds = [helper.np_dtype_to_tensor_dtype(array.dtype) for array in arrays]
        entries = [
            helper.make_tensor_value_info(name, kind, array.shape)
            for name, kind, array in zip([n for n in node.input if n], kinds, arrays, strict=True)
        ]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        version = int(kwargs.get("opset_version", onnx.defs.onnx_opset_version()))
        graph = helper.make_graph([node], "node", entries, results)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
        loaded = Loaded(model, {})
        return PreparedModel(loaded, device if isinstance(device, Device) else _open(device)).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return supports_device(device)


__all__ = ["Backend", "OnnxPlan", "PreparedModel", "prepare", "run_model", "supports_device"]
