"""ONNX models for `dml run`, and `dml explain`: which node became which DirectML operators, at which feature level."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dml.api.device import Device
from dml.capability import short_name
from dml.descriptors.base import OperatorDesc, operators
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.running import Options
from dml.runtime.recording import KernelTime
from dml.validator import needed_level

from .backend import Part, PreparedModel, prepare
from .device_part import OnnxPlan
from .dtypes import Array
from .host_part import HostPart
from .inspect import zeros
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
        found = explain(self._model, self._options.arrays())
        return "\n".join([*map(str, found.rows), *found.assumed])

    def profile(self) -> dict[str, list[KernelTime]]:
        return profiled_parts(self._model, self._options.arrays(), self._name)


def profiled_parts(model: PreparedModel, inputs: Mapping[str, Any], name: str) -> dict[str, list[KernelTime]]:
    """What each dispatch of each part takes, by the part's name, which begins with ``name``; see ``walk``."""
    parts = walk(model, inputs, profile=True)
    if len(parts) == 1:
        return {name: parts[0].times}
    where = ["on the host" if isinstance(each.part, HostPart) else "on the device" for each in parts]
    return {f"{name}, part {at + 1}, {where[at]}": each.times for at, each in enumerate(parts)}


class WalkedPart(NamedTuple):
    """A part of a model as it runs. plan, feeds: of one on the device; outputs: of one on the host, by name."""

    part: Part
    plan: OnnxPlan | None
    feeds: Mapping[str, Array]
    outputs: Mapping[str, Any]
    times: list[KernelTime]


def walk(model: PreparedModel, inputs: Mapping[str, Array] | None = None, *, profile: bool = False) -> list[WalkedPart]:
    """The parts that a model was cut into, compiled for these inputs, in order.

    Inputs that are not given stand for zeros of the model's shapes, a symbolic size for 1. Parts run where others come
    after them, since these depend on their shapes. profile: what each dispatch took, and each part on the host. Raises
    DMLError where the model cannot be compiled for the inputs.
    """
    given = dict(inputs or {})
    for entry in model.model.graph.input:
        if entry.name in model.inputs and entry.name not in given:
            given[entry.name] = zeros(entry, {})
    found: list[WalkedPart] = []

    def step(part: Part, values: Mapping[str, Any]) -> dict[str, Any]:
        if part is model.parts[0]:
            found.clear()  # (the model may be cut anew on the way)
        if isinstance(part, HostPart):
            made, times = _on_host(part, values, profile)
            found.append(WalkedPart(part, None, {}, made, times))
            return made
        plan, feeds = part.compiled_for(values)
        found.append(WalkedPart(part, plan, feeds, {}, _profiled(plan, feeds) if profile else []))
        return {} if part is model.parts[-1] else plan.run(feeds)

    model.each_part(given, step)
    return found


def _on_host(part: HostPart, values: Mapping[str, Any], profile: bool) -> tuple[dict[str, Any], list[KernelTime]]:
    made = part.run(values)
    if not profile:
        return made, []
    start = time.perf_counter_ns()  # what the first run made ready is not counted
    made = part.run(values)
    return made, [KernelTime(grouped(part.nodes), part.runtime, time.perf_counter_ns() - start)]


def _profiled(plan: OnnxPlan, feeds: Mapping[str, Array]) -> list[KernelTime]:
    """What each dispatch of the plan's program takes for these inputs, in order; nothing where it has no program."""
    if plan.compiled is None:
        return []
    used = [name for name, tensor in plan.compiled.input_fields if tensor is not None]
    found: list[KernelTime] = plan.compiled.profile({name: held(feeds[name]) for name in used})
    return found


class Explained(NamedTuple):
    """What became of a node: operators and the feature level that takes all of them with these tensors, or what runs it
    on the host."""

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


class Explanation(NamedTuple):
    """What became of each node, in the order of the parts that the model was cut into; and in words what was assumed
    for inputs that were not given, where more than their sizes counts."""

    rows: list[Explained]
    assumed: list[str]


def explain(model: PreparedModel, inputs: Mapping[str, Array] | None = None) -> Explanation:
    """What becomes of a model for these inputs; see ``walk``."""
    rows: list[Explained] = []
    given = set(inputs or {})
    readers: dict[str, None] = {}
    for part, plan, *_ in walk(model, inputs):
        if plan is not None:
            rows += [Explained(made.node, *_operators(made.operators)) for made in plan.record]
            guards = (guard for guard in plan.guards if not given.issuperset(guard.inputs))
            readers |= dict.fromkeys([*(guard.reader for guard in guards), *plan.late_nodes])
        if not isinstance(part, HostPart):
            continue
        for node in part.nodes:
            where = f"on the host, {part.runtime}{model.reason(node)}"
            name = f"node {node.name!r} ({node.op_type})" if node.name else f"node {node.op_type}"
            rows.append(Explained(name, [], DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0, where))
            readers[name] = None
    zeros_for = [name for name in model.inputs if name not in given]
    if not zeros_for or not readers:
        return Explanation(rows, [])
    words = f"zeros for {', '.join(zeros_for)} (--input {zeros_for[0]}=file.npy gives numbers)"
    return Explanation(rows, [f"planned by numbers, which are {words}: {', '.join(readers)}"])


def _operators(descs: list[OperatorDesc]) -> tuple[list[str], DML_FEATURE_LEVEL]:
    level = max(map(needed_level, descs), default=DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0)
    names = [
        short_name(desc.OPERATOR_TYPE) + ("" if desc.OPERATOR_TYPE in operators() else " (not DirectML's)")
        for desc in descs
    ]
    return names, level
