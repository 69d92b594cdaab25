"""ONNX models for `dml run`, and for `dml explain`: the DirectML operators of each node, and their feature level."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dml.api.device import Device
from dml.enums import DML_FEATURE_LEVEL
from dml.frontends.kernel_times import with_node_names
from dml.frontends.options import ModelInput, Options
from dml.frontends.summary import Explained, Explanation, operators_of, symbolic_sizes
from dml.runtime.recording import KernelTime

from ..dtypes import Array, dtype_of
from ..map.trace import held
from ..map.unmapped import grouped
from .backend import Part, PreparedModel, prepare
from .device_part import OnnxPlan
from .host_part import HostPart
from .stand_ins import StandIns, stand_ins, tried, value_summary


class ONNXRun:
    """A model with its input files, for ``dml run``."""

    def __init__(self, path: Path, device: Device, options: Options) -> None:
        self._model = prepare(path, device, fallback=options.fallback)
        self._options = options
        self._name = path.name

    def run(self) -> None:
        inputs = self._options.complete(self._inputs())
        for _ in range(self._options.iterations):
            outputs = self._model.run(inputs)
        flat: dict[str, Array] = {}
        for name, item in zip(self._model.outputs, outputs, strict=True):
            items = (
                {f"{name}.{index}": element for index, element in enumerate(item)}
                if isinstance(item, list)
                else {name: item}
            )
            flat.update({key: element for key, element in items.items() if element is not None})
        self._options.deliver(flat)

    def _inputs(self) -> list[ModelInput]:
        """Return the inputs without a default; optional ones may be omitted."""
        entries = {entry.name: entry for entry in self._model.model.graph.input}
        symbolic_sizes(map(value_summary, entries.values()), self._options.sizes)
        found = []
        for name in self._model.inputs:
            one = value_summary(entries[name])
            number = entries[name].type.tensor_type.elem_type
            found.append(ModelInput(name, one.kind, one.shape, dtype_of(number) if number else None))
        return found

    def describe(self) -> str:
        found = explain(self._model, self._options.arrays(), sizes=self._options.sizes)
        return "\n".join([*map(str, found.rows), *found.assumed])

    def profile(self) -> dict[str, list[KernelTime]]:
        options = self._options
        inputs = options.complete(self._inputs()) if options.random else options.arrays()
        walked = walk(self._model, inputs, sizes=options.sizes, profile=True)
        if walked.inputs.words:
            self._options.say(walked.inputs.words)
        return times_by_part(walked.parts, self._name)


def times_by_part(parts: Sequence[WalkedPart], name: str) -> dict[str, list[KernelTime]]:
    """Return the dispatch times of each part, by the part's name, which begins with ``name``."""
    if len(parts) == 1:
        return {name: parts[0].times}
    where = ["on the host" if isinstance(each.part, HostPart) else "on the device" for each in parts]
    return {f"{name}, part {index + 1}, {where[index]}": each.times for index, each in enumerate(parts)}


class WalkedPart(NamedTuple):
    """A part of a model in a walk.

    plan, feeds: for a part on the device. outputs: for a part on the host, by name; zeros if it did not run. open:
    outputs of a host part whose sizes are known only at run time, here assumed to be 1. unknown: values of unknown rank
    that the part reads; a part with such values has no plan.
    """

    part: Part
    plan: OnnxPlan | None
    feeds: Mapping[str, Array]
    outputs: Mapping[str, Any]
    times: list[KernelTime]
    open: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class Walk(NamedTuple):
    """The parts of a model, in order, and the arrays for its inputs."""

    parts: list[WalkedPart]
    inputs: StandIns

    @property
    def times(self) -> list[KernelTime]:
        """Return the measured times, in order."""
        return [time for part in self.parts for time in part.times]


def walk(
    model: PreparedModel,
    inputs: Mapping[str, Array] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    profile: bool = False,
) -> Walk:
    """Compile the parts of a model for these inputs; see ``stand_ins`` for inputs that are not given.

    A part on the device runs if later parts depend on its shapes. Parts on the host run only for a profile: otherwise
    their outputs are zeros of the shapes that ONNX infers. profile: measure each dispatch, and each part on the host.
    Raises DMLError if the model cannot be compiled for the inputs.
    """
    given = dict(inputs or {})
    entries = [entry for entry in model.model.graph.input if entry.name in model.inputs]
    stand = stand_ins(entries, given, sizes)
    parts, stand = tried(stand, given, lambda found: _walked(model, found, profile))
    return Walk(parts, stand)


def _walked(model: PreparedModel, stand: StandIns, profile: bool) -> list[WalkedPart]:
    found: list[WalkedPart] = []

    def step(part: Part, values: Mapping[str, Any]) -> dict[str, Any]:
        if part is model.parts[0]:
            found.clear()  # the model may be partitioned again meanwhile
        unknown = tuple(name for name in part.inputs if name in made_on_host and name not in values)
        if unknown:
            found.append(WalkedPart(part, None, {}, {}, [], unknown=unknown))
            made_on_host.update(part.outputs)
            return {}
        if isinstance(part, HostPart):
            made_on_host.update(part.outputs)
            if profile:
                results, times = _on_host(part, values)
                found.append(WalkedPart(part, None, {}, results, times))
                return results
            results, still_open = part.outline(values)
            found.append(WalkedPart(part, None, {}, results, [], still_open))
            return results
        plan, feeds = part.compiled_for(values)
        found.append(WalkedPart(part, plan, feeds, {}, _profiled(plan, feeds) if profile else []))
        return {} if part is model.parts[-1] else plan.run(feeds)

    made_on_host: set[str] = set()
    model.each_part(stand.arrays, step)
    return found


def _on_host(part: HostPart, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[KernelTime]]:
    results = part.run(values)
    start = time.perf_counter_ns()  # the first run, which prepares, is not measured
    results = part.run(values)
    return results, [KernelTime(grouped(part.nodes), part.runtime, time.perf_counter_ns() - start)]


def _profiled(plan: OnnxPlan, feeds: Mapping[str, Array]) -> list[KernelTime]:
    """Return the time of each dispatch of the plan's program for these inputs, in order; nothing without a program."""
    if plan.compiled is None:
        return []
    used = [name for name, tensor in plan.compiled.input_fields if tensor is not None]
    found: list[KernelTime] = plan.compiled.profile({name: held(feeds[name]) for name in used})
    # a body's nodes come before the node that contains it
    names = {
        plan.graph_nodes[number]: record.label
        for record in plan.record
        for number in record.numbers
        if number in plan.graph_nodes
    }
    return with_node_names(found, names)


def explain(
    model: PreparedModel, inputs: Mapping[str, Array] | None = None, *, sizes: Mapping[str, int] | None = None
) -> Explanation:
    """Explain a model for these inputs; see ``walk``. No node runs on the host."""
    rows: list[Explained] = []
    given = set(inputs or {})
    readers: dict[str, None] = {}
    walked = walk(model, inputs, sizes=sizes)
    for walked_part in walked.parts:
        part, plan = walked_part.part, walked_part.plan
        if plan is not None:
            rows += [
                Explained(_described_node(record.node, record.label), *operators_of(record.operators))
                for record in plan.record
            ]
            guards = (guard for guard in plan.guards if not given.issuperset(guard.inputs))
            readers |= dict.fromkeys([*(guard.reader for guard in guards), *plan.late_nodes])
            continue
        for node in part.nodes:
            if isinstance(part, HostPart):
                where = f"on the host, {part.runtime}{model.reason(node)}"
            else:
                where = f"on the device; its operators depend on the shape of {', '.join(walked_part.unknown)}"
            rows.append(
                Explained(_described_node(str(node), node.label), [], DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0, where)
            )
    still_open = [name for walked_part in walked.parts for name in walked_part.open]
    host = f"sizes known only after a run on the host, assumed to be 1: {', '.join(still_open)}" if still_open else ""
    messages = [walked.inputs.words, host, _numbers(model, walked.inputs, given, readers)]
    return Explanation(rows, [*filter(None, messages)], walked.inputs.sizes)


def _numbers(model: PreparedModel, stand: StandIns, given: Collection[str], readers: Collection[str]) -> str:
    """Describe the numbers that the plan assumes; "" if there are none."""
    missing = [name for name in model.inputs if name not in given]
    if not missing or not readers:
        return ""
    zeros = [name for name in missing if name not in stand.ones]
    words = " and ".join(
        f"{number} for {', '.join(names)}" for number, names in (("zeros", zeros), ("ones", stand.ones)) if names
    )
    return f"planned by numbers, which are {words} (--input {missing[0]}=file.npy gives numbers): {', '.join(readers)}"


def _described_node(node: str, label: str) -> str:
    """Describe a node; an unnamed one by its first output."""
    return node if repr(label) in node else f"{node} -> {label}"
