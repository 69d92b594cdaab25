"""What an ONNX model is, before it is run: inputs, outputs, operators and whether they are mapped, memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import onnx

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import DMLError
from dml.frontends.planning import PlannedGraph, Planner
from dml.runtime.needs import MemoryNeeds

from .backend import PreparedModel
from .blocked import with_blocks
from .dtypes import Array, dtype_of
from .loading import ModelSource, load, nodes
from .registry import mapping_of, schema_of, standard

#: Initializers that a summary lists.
_LISTED = 10


@dataclass(frozen=True)
class ValueSummary:
    """An input or output: its name, its type in words, and its sizes, symbolic ones by name; None where it is no tensor
    or does not say."""

    name: str
    kind: str
    shape: tuple[int | str, ...] | None


@dataclass(frozen=True)
class OperatorSummary:
    """An operator, as often as the model has it. how: "mapped"; "function", of operators that are; or "host"."""

    name: str
    domain: str
    version: int
    count: int
    how: str


@dataclass(frozen=True)
class TensorSummary:
    """An initializer: its type in words, its shape, its bytes in the file, and those of it that runs read on the device
    (None where no plan says)."""

    name: str
    kind: str
    shape: tuple[int, ...]
    bytes: int
    device_bytes: int | None


@dataclass(frozen=True)
class ModelSummary:
    """What a model is. weights: the elements and bytes of its initializers.

    sizes: what the plan takes for symbolic sizes. memory: bytes on the device while it runs, by use, for those sizes;
    None where it cannot be planned without running, unplanned says why. largest: the largest initializers, their bytes
    in the file and on the device, where what is made of one counts as something else.
    """

    opsets: Mapping[str, int]
    producer: str
    inputs: tuple[ValueSummary, ...]
    outputs: tuple[ValueSummary, ...]
    operators: tuple[OperatorSummary, ...]
    weight_elements: int
    weight_bytes: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, int] | None = None
    unplanned: str = ""
    largest: tuple[TensorSummary, ...] = ()


@checked
def inspect_model(
    source: ModelSource,
    planner: Planner,
    *,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> ModelSummary:
    """Everything about a model that can be said without running it.

    sizes: for symbolic sizes, 1 for others. inputs: arrays of inputs, where their values matter; zeros otherwise.
    Raises DMLError for a broken or invalid model.
    """
    loaded = load(source)
    model, initial = loaded.model, loaded.initial
    graph = model.graph
    entries = [entry for entry in graph.input if entry.name not in initial]
    given = dict(inputs or {})
    for name in given:
        if name not in {entry.name for entry in entries}:
            raise DMLError(f"the model has no input {name!r}; it has {', '.join(entry.name for entry in entries)}")
    found_inputs = tuple(map(_value, entries))
    names = {size for value in found_inputs for size in value.shape or () if isinstance(size, str)}
    for name in sizes or {}:
        if name not in names:
            raise DMLError(f"the model has no size {name!r}; it has {', '.join(sorted(names)) or 'none'}")
    taken = {name: (sizes or {}).get(name, 1) for name in sorted(names)}
    needs, unplanned = None, ""
    try:
        for entry in entries:
            if entry.name not in given:
                given[entry.name] = zeros(entry, taken)
        needs = _needs(loaded, planner, given)
    except DMLError as error:
        unplanned = error.message
    return ModelSummary(
        opsets={standard(entry.domain) or "ai.onnx": entry.version for entry in model.opset_import},
        producer=" ".join(filter(None, (model.producer_name, model.producer_version))),
        inputs=found_inputs,
        outputs=tuple(map(_value, graph.output)),
        operators=_operators(model, initial),
        weight_elements=sum(array.size for array in initial.values()),
        weight_bytes=sum(array.nbytes for array in initial.values()),
        sizes=taken,
        memory=None if needs is None else needs.by_use,
        unplanned=unplanned,
        largest=_largest(initial, needs),
    )


def _needs(loaded: Any, planner: Planner, given: Mapping[str, Any]) -> MemoryNeeds:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreparedModel(loaded, cast(Device, planner))  # which asks of a device what a planner does
        plan, _ = model.compiled_for(given)
    return MemoryNeeds(0, 0, 0, 0, ()) if plan.compiled is None else cast(PlannedGraph, plan.compiled).needs()


def _largest(initial: Mapping[str, Array], needs: MemoryNeeds | None) -> tuple[TensorSummary, ...]:
    there = None if needs is None else dict(needs.constants)
    found = sorted(initial.items(), key=lambda item: -item[1].nbytes)[:_LISTED]
    return tuple(
        TensorSummary(name, str(array.dtype), array.shape, array.nbytes, None if there is None else there.get(name, 0))
        for name, array in found
    )


def _value(entry: Any) -> ValueSummary:
    kind = entry.type
    if not kind.HasField("tensor_type"):
        return ValueSummary(entry.name, (kind.WhichOneof("value") or "unknown").removesuffix("_type"), None)
    tensor = kind.tensor_type
    name = _type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return ValueSummary(entry.name, name, None)
    return ValueSummary(
        entry.name,
        name,
        tuple(
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value > 0 else dim.dim_param or f"{entry.name}.{at}"
            for at, dim in enumerate(tensor.shape.dim)
        ),
    )


def _type_name(number: int) -> str:
    """NumPy's name of an ONNX data type: float32."""
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(number))
    except (KeyError, ValueError, TypeError):
        return f"data type {number}"


def zeros(entry: Any, sizes: Mapping[str, int]) -> Array:
    """An input of zeros, where symbolic sizes are these, else 1. Takes no memory.

    Raises DMLError for what is no tensor, says no shape, or is too large.
    """
    value = _value(entry)
    if value.shape is None:
        raise DMLError(f"input {entry.name!r} has no shape: it must be given")
    shape = [sizes.get(size, 1) if isinstance(size, str) else size for size in value.shape]
    try:
        return np.broadcast_to(np.zeros((), dtype_of(entry.type.tensor_type.elem_type)), shape)
    except ValueError as error:
        raise DMLError(f"input {entry.name!r}: no array has shape {tuple(shape)}: {error}") from None


def _operators(model: Any, initial: Mapping[str, Array]) -> tuple[OperatorSummary, ...]:
    """Those of the graph, of graphs inside it and of functions, the most frequent first."""
    opsets = {standard(entry.domain): entry.version for entry in model.opset_import}
    mapped_at = with_blocks(opsets, nodes(model), initial)
    own = {(standard(function.domain), function.name) for function in model.functions}
    counts = Counter((standard(node.domain), node.op_type) for node in nodes(model))
    found = []
    for (domain, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        version = opsets.get(domain, 1)
        schema = schema_of(name, domain, version)
        if (domain, name) in own:
            how = "function"
        elif mapping_of(name, domain, mapped_at.get(domain, 1)) is not None:
            how = "mapped"
        elif schema is not None and (schema.has_function or schema.has_context_dependent_function):
            how = "function"
        else:
            how = "host"
        found.append(OperatorSummary(name, domain or "ai.onnx", version, count, how))
    return tuple(found)
