"""ONNX models for `dml run`, and `dml explain`: which node became which DirectML operators, at which feature level."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dml.api.device import Device
from dml.capability import operator_introduced, short_name
from dml.enums import DML_FEATURE_LEVEL, DML_OPERATOR_TYPE
from dml.errors import DMLError
from dml.frontends.running import Options
from dml.runtime.recording import KernelTime

from .backend import Part, PreparedModel, prepare
from .device_part import OnnxPlan
from .dtypes import Array, dtype_of
from .host_part import HostPart
from .node import NodeFacts
from .trace import held
from .unmapped import grouped


class ONNXRun:
    """A model with its inputs' files, for ``dml run``."""

    def __init__(self, path: Path, device: Device, options: Options) -> None:
        self._model = prepare(path, device, fallback=options.fallback)
        self._options = options
        self._name = path.name

    def run(self) -> None:
        inputs = self._options.arrays()
        for _ in range(self._options.iterations):
            outputs = self._model.run(inputs)
        flat: dict[str, Array] = {}
        for name, item in zip(self._model.outputs, outputs, strict=True):
            items = {f"{name}.{at}": one for at, one in enumerate(item)} if isinstance(item, list) else {name: item}
            flat.update({key: one for key, one in items.items() if one is not None})
        self._options.deliver(flat)

    def describe(self) -> str:
        return "\n".join(map(str, explain(self._model, self._options.arrays())))

    def profile(self) -> dict[str, list[KernelTime]]:
        parts, _ = planned(self._model, self._options.arrays())
        if len(parts) == 1:
            return {self._name: profiled(parts[0])}
        return {
            f"{self._name}, part {at}{', on the host' if one.plan is None else ''}": profiled(one)
            for at, one in enumerate(parts, 1)
        }


class PlannedPart(NamedTuple):
    """A part of a model, what it was compiled to (None on the host), and the values that reached it."""

    part: Part
    plan: OnnxPlan | None
    values: dict[str, Any]


def profiled(one: PlannedPart) -> list[KernelTime]:
    """What each dispatch of a part's program takes, in order; on the host, what its nodes take together."""
    if isinstance(one.part, HostPart):
        one.part.run(one.values)  # what it makes ready is not counted
        start = time.perf_counter_ns()
        one.part.run(one.values)
        return [KernelTime(grouped(one.part.nodes), one.part.runtime, time.perf_counter_ns() - start)]
    plan, feeds = one.part.compiled_for(one.values)
    if plan.compiled is None:
        return []
    used = [name for name, tensor in plan.compiled.input_fields if tensor is not None]
    found: list[KernelTime] = plan.compiled.profile({name: held(feeds[name]) for name in used})
    return found


class Explained(NamedTuple):
    """What became of a node: operators and the feature level that has all of them, or what runs it on the host."""

    node: str
    operators: list[str]
    level: DML_FEATURE_LEVEL
    on_host: str = ""

    def __str__(self) -> str:
        if self.on_host:
            return f"{self.node}: {self.on_host}"
        if not self.operators:
            return f"{self.node}: a constant or a view"
        return f"{self.node}: {', '.join(self.operators)} (feature level {short_name(self.level)})"


def explain(model: PreparedModel, inputs: Mapping[str, Array] | None = None) -> list[Explained]:
    """What became of each node, in the order of the parts that the model was cut into.

    Inputs that are not given stand for zeros of the model's shapes, a symbolic size for 1. Parts run where others come
    after them, since these depend on their shapes. Raises DMLError where the model cannot be compiled for them.
    """
    rows: list[Explained] = []
    for part, plan, _ in planned(model, inputs)[0]:
        if plan is not None:
            rows += [Explained(made.node, *_operators(made.kinds)) for made in plan.record]
        elif isinstance(part, HostPart):
            rows += [_on_host(model, part, node) for node in part.nodes]
    return rows


def _on_host(model: PreparedModel, part: HostPart, node: NodeFacts) -> Explained:
    name = f"node {node.name!r} ({node.op_type})" if node.name else f"node {node.op_type}"
    level = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0
    return Explained(name, [], level, f"on the host, {part.runtime}{model.reason(node)}")


def planned(
    model: PreparedModel, inputs: Mapping[str, Array] | None = None
) -> tuple[list[PlannedPart], dict[str, Array]]:
    """The parts compiled for these inputs, zeros for those that are not given as in ``explain``, and all of them."""
    given = dict(inputs or {})
    for entry in model.model.graph.input:
        if entry.name in model.inputs and entry.name not in given:
            given[entry.name] = _zeros(entry)
    parts: dict[Part, PlannedPart] = {}

    def step(part: Part, values: Mapping[str, Any]) -> dict[str, Any]:
        read = {name: values[name] for name in part.inputs if name in values}
        if isinstance(part, HostPart):
            parts[part] = PlannedPart(part, None, read)
            return part.run(read)
        plan, feeds = part.compiled_for(read)
        parts[part] = PlannedPart(part, plan, read)
        return {} if part is model.parts[-1] else plan.run(feeds)

    model.each_part(given, step)
    return [parts[part] for part in model.parts], given


def _zeros(entry: Any) -> Array:
    kind = entry.type
    if not kind.HasField("tensor_type"):
        raise DMLError(f"input {entry.name!r} is no tensor: it must be given to explain the model")
    shape = [dim.dim_value or 1 for dim in kind.tensor_type.shape.dim]
    dtype = dtype_of(kind.tensor_type.elem_type)
    return np.full(shape, "", dtype) if dtype.hasobject else np.zeros(shape, dtype)


def _operators(kinds: list[DML_OPERATOR_TYPE]) -> tuple[list[str], DML_FEATURE_LEVEL]:
    level = max((operator_introduced(kind) for kind in kinds), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    return [short_name(kind) for kind in kinds], level
