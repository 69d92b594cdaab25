"""Nodes that run on the host: on onnxruntime's CPU provider if installed and capable, else on onnx's reference
evaluator.

They form a separate model, which is created when the types of its inputs are known.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

from dml.api.device_array import DeviceArray
from dml.errors import DMLError
from dml.frontends.extras import is_installed
from dml.frontends.parts import Cut
from dml.stages import stage
from dml.stored import check_unchanged

from ..dtypes import Array, dtype_of
from ..map.node import NodeFacts
from ..map.unmapped import grouped

RUNTIME, REFERENCE = "onnxruntime's CPU provider", "onnx's reference evaluator"
#: Larger initializers are passed as inputs of each run: a protobuf message holds at most 2 GiB.
_LARGE = 1 << 20
#: Types whose arrays onnxruntime returns as integers with the same bits.
_NOT_ITS_ARRAYS = ("float8", "float4", "bfloat16", "int4", "int2")

_Run = Callable[[dict[str, Any]], Sequence[Any]]


class HostPart:
    """Nodes on the host.

    model: the whole model's outline, for its opsets, functions and types. initial: arrays of the initializers that the
    nodes read. replaceable: names of those that are also inputs.
    """

    on_host = True

    def __init__(
        self, model: Any, cut: Cut[NodeFacts], initial: Mapping[str, Array], replaceable: Mapping[str, Any]
    ) -> None:
        self.nodes = cut.nodes
        self.inputs, self.outputs = cut.inputs, cut.outputs
        self._model = model
        self._fixed = {
            name: array for name, array in initial.items() if name not in replaceable and array.nbytes <= _LARGE
        }
        self._defaults = {name: array for name, array in initial.items() if name not in self._fixed}
        entries = (*model.graph.input, *model.graph.output, *model.graph.value_info)
        self._types = {entry.name: entry.type for entry in entries}
        self._runners: dict[tuple[tuple[str, bytes], ...], dict[str, _Run]] = {}
        #: Name of the runtime that ran it last, or will run it.
        self.runtime = RUNTIME if is_installed("onnxruntime") else REFERENCE

    def run(
        self, values: Mapping[str, Any], keep: Collection[str] = (), shared: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Run and return the outputs by name, given the inputs by name. keep: ignored, since nothing is on the device.

        Raises DMLError if neither runtime computes them.
        """
        for array in self._defaults.values():
            check_unchanged(array)
        feeds = self._defaults | {name: on_host(values[name]) for name in self.inputs if name in values}
        kinds = {name: _type_of(item, self._types.get(name)) for name, item in feeds.items()}
        key = tuple((name, bytes(kind.SerializeToString())) for name, kind in kinds.items())
        with stage("host nodes"):
            if key not in self._runners:
                model = self._own_model(kinds)
                self._runners[key] = {RUNTIME: _lazy(_onnxruntime, model), REFERENCE: _lazy(_reference, model)}
            found = self._compute(self._runners[key], feeds)
        return dict(zip(self.outputs, map(_plain, found), strict=True))

    def outline(self, values: Mapping[str, Any]) -> tuple[dict[str, Array], tuple[str, ...]]:
        """Return zeros for the outputs whose types and ranks ONNX infers from inputs of these types and shapes.
        Nothing runs.

        Also returns the names of outputs with sizes that are known only at run time: these are 1.
        """
        feeds = self._defaults | {name: values[name] for name in self.inputs if name in values}
        input_types = {name: _type_of(item, self._types.get(name), shaped=True) for name, item in feeds.items()}
        types = {name: self._types[name] for name in self.outputs if name in self._types}
        try:
            inferred = shape_inference.infer_shapes(self._own_model(input_types), data_prop=True)
        except Exception as error:  # ONNX raises various exceptions
            logging.getLogger(__name__).debug("no shapes inferred: %s", error)
        else:
            types |= {entry.name: entry.type for entry in inferred.graph.output if _has_shape(entry.type)}
        found = {name: kind.tensor_type for name, kind in types.items() if _has_shape(kind)}
        sizes = {name: [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
                 for name, kind in found.items()}  # fmt: skip
        outputs = {
            name: np.zeros([1 if size is None else size for size in sizes[name]], dtype_of(kind.elem_type))
            for name, kind in found.items()
        }
        return outputs, tuple(name for name in found if None in sizes[name])

    def _compute(self, runners: dict[str, _Run], feeds: dict[str, Any]) -> Sequence[Any]:
        """Run on the first runtime that can.

        A runtime that refuses the model or its types is not tried again; one that fails only for these numbers is.
        """
        problems: dict[str, str] = {}
        unfit: list[str] = []
        for name, runner in list(runners.items()):  # another thread may remove a runner meanwhile
            try:
                found = runner(feeds)
            except Exception as error:  # each runtime raises its own exceptions
                problems[name] = _words(error)
                if isinstance(error, _UnfitError):
                    unfit.append(name)
                continue
            self.runtime = name
            for other in unfit:
                runners.pop(other, None)
            return found
        words = "; ".join(f"{name}: {why}" for name, why in problems.items())
        raise DMLError(f"nodes on the host, {grouped(self.nodes)}: {words}")

    def _own_model(self, kinds: Mapping[str, Any]) -> Any:
        """Return the nodes as a model with inputs of these types."""
        whole = self._model
        for array in self._fixed.values():
            check_unchanged(array)
        graph = helper.make_graph(
            [node.raw for node in self.nodes],
            "host",
            [helper.make_value_info(name, kind) for name, kind in kinds.items()],
            [onnx.ValueInfoProto(name=name) for name in self.outputs],
            [numpy_helper.from_array(array, name) for name, array in self._fixed.items()],
        )
        return helper.make_model(
            graph, opset_imports=whole.opset_import, functions=whole.functions, ir_version=whole.ir_version
        )


def _words(error: Exception) -> str:
    """Return an exception's message, or its type."""
    return str(getattr(error, "message", error)).strip() or type(error).__name__


class _UnfitError(DMLError):
    """A runtime refuses the nodes, or values of these types, regardless of their elements."""


def _lazy(make: Callable[[Any], _Run], model: Any) -> _Run:
    """Return a function that creates the runner when it is first called."""
    runs: list[_Run] = []

    def run(feeds: dict[str, Any]) -> Sequence[Any]:
        if not runs:
            try:
                runs.append(make(model))
            except Exception as error:  # each runtime raises its own exceptions
                raise _UnfitError(_words(error)) from error
        return runs[0](feeds)

    return run


def _onnxruntime(model: Any) -> _Run:
    import onnxruntime  # imported here, because only models with host parts need it

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors arrive as exceptions, so nothing is logged
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    strange = [entry.type for entry in session.get_outputs() if any(name in entry.type for name in _NOT_ITS_ARRAYS)]
    if strange:
        raise DMLError(f"its arrays are not of the type {strange[0]}")

    def run(feeds: dict[str, Any]) -> Sequence[Any]:
        for name, item in feeds.items():
            if hasattr(item, "dtype") and item.dtype.kind == "V":
                raise _UnfitError(f"takes no array of {item.dtype}, as {name!r} is")
        found: Sequence[Any] = session.run(None, feeds)
        return found

    return run


def _reference(model: Any) -> _Run:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(model)

    def run(feeds: dict[str, Any]) -> Sequence[Any]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found: Sequence[Any] = evaluator.run(None, feeds)
        return found

    return run


def on_host(item: Any) -> Any:
    """Copy a value's arrays to the host."""
    if isinstance(item, list):
        return [on_host(inner) for inner in item]
    return item.numpy() if isinstance(item, DeviceArray) else item


def _plain(item: Any) -> Any:
    """Return numbers and text as arrays, with text of any length."""
    found = np.asarray(item) if isinstance(item, np.generic | int | float | str) else item
    return found.astype(object) if isinstance(found, np.ndarray) and found.dtype.kind in "SU" else found


def _has_shape(kind: Any) -> bool:
    """Return whether it is a tensor type with a known rank."""
    return bool(kind.HasField("tensor_type") and kind.tensor_type.elem_type and kind.tensor_type.HasField("shape"))


def _type_of(item: Any, declared: Any, *, shaped: bool = False) -> Any:
    """Return the type of a value: its own if known, else the model's. shaped: include a tensor's shape."""
    if hasattr(item, "dtype"):
        kind = onnx.TensorProto.STRING if item.dtype.hasobject else helper.np_dtype_to_tensor_dtype(item.dtype)
        return helper.make_tensor_type_proto(kind, item.shape if shaped else None)
    if declared is not None:
        return declared
    if isinstance(item, list) and item:
        return helper.make_sequence_type_proto(_type_of(item[0], None))
    return helper.make_sequence_type_proto(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None))
