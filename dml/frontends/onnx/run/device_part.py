"""Nodes that run on the device, compiled per set of input shapes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dml.api.device import Device
from dml.api.device_array import DeviceArray
from dml.api.pattern import CompiledPattern
from dml.api.resident import SharedMemory
from dml.enums import DML_TENSOR_DIMENSION_COUNT_MAX1
from dml.errors import DMLError
from dml.graph.constants import SharedConstants
from dml.planning.patterns import PlanPatterns
from dml.planning.plans import Plans
from dml.stages import stage
from dml.stored import detached
from dml.traced import Numbers, UntracedError, filled, numbers_in

from ..dtypes import STORED_AS_FLOAT32, Array, DType, Shape
from ..map.mapped import MappedNodes
from ..map.node import NodeFacts
from ..map.trace import GraphFacts, Guard, NodeRecord, Trace, run, written_out
from ..map.value import LateRows


@dataclass
class LateResult:
    """An output with a data-dependent number of rows: the first ``count`` of ``rows``."""

    rows: str
    count: str
    dtype: DType
    turned: bool


@dataclass
class Result:
    """An output: its shape and dtype, and its elements if constant."""

    shape: Shape
    dtype: DType
    array: Any


class OnnxPlan:
    """A model compiled for input shapes: its graph, and how to return its outputs. The rest of the trace is not
    kept."""

    def __init__(self, trace: Trace, outputs: Mapping[str, Any], shared: SharedMemory | None = None) -> None:
        self.guards: list[Guard] = trace.guards
        self.limits = list(trace.limits)
        #: Outputs written to callers' arrays.
        self.in_place = frozenset(trace.in_place)
        self.outputs = {name: _described(item, name) for name, item in outputs.items()}
        tensors: dict[str, Any] = {}
        for name, item in outputs.items():
            for key, value in flat(name, item):
                if isinstance(value, LateRows):
                    tensors |= {key: value.rows.tensor, f"{key}#count": value.count.tensor}
                elif value.constant is None:
                    # an output that is an input is copied, by an operator with at most eight dimensions
                    many = value.tensor.desc.rank > DML_TENSOR_DIMENSION_COUNT_MAX1
                    tensors[key] = value.tensor.reshape(value.size) if many else value.tensor
        self.compiled = trace.builder.compile(tensors) if tensors else None
        if self.compiled is not None:
            self.compiled.shared = shared
        record = trace.record
        self._recorded: Callable[[], list[NodeRecord]] = lambda: written_out(record)
        #: Names of the nodes with a data-dependent number of rows.
        self.late_nodes = [node.node for node in trace.record if isinstance(node, NodeRecord) and node.is_late]
        #: Node of the compiled graph -> node of the Builder.
        self.graph_nodes = {number: position for position, number in enumerate(trace.builder.built)} if tensors else {}

    @property
    def record(self) -> list[NodeRecord]:
        """Records of the nodes' mappings."""
        return self._recorded()

    @property
    def kept(self) -> Mapping[object, int]:
        """The memory that the plan keeps on the device, except weights, with bytes: inputs, outputs, temporaries and
        kernels."""
        return {} if self.compiled is None else self.compiled.kept

    @property
    def kept_kernels(self) -> set[object]:
        """The kernels among ``kept``."""
        return set() if self.compiled is None else self.compiled.kept_kernels

    def holds(self, feeds: Mapping[str, Array]) -> bool:
        """Return whether inputs with these values lead to this graph."""
        return all(guard.holds(feeds) for guard in self.guards)

    def pattern(self) -> tuple[list[int], Callable[[Numbers], OnnxPlan]]:
        """Return the traced numbers of a plan, and a function that makes the plan for others.

        Raises UntracedError if it depends on more than sizes.
        """
        if self.guards or self.late_nodes:
            raise UntracedError("the plan depends on numbers in the inputs")
        names, results, record = list(self.outputs), list(self.outputs.values()), self.record
        compiled = None if self.compiled is None else CompiledPattern(self.compiled)
        limits = self.limits
        numbers: list[int] = [*numbers_in([results, record, limits]), *(() if compiled is None else compiled.numbers)]

        def of_sizes(values: Numbers) -> OnnxPlan:
            plan = copy(self)
            plan.outputs = dict(zip(names, filled(results, values), strict=True))
            plan.compiled = None if compiled is None else compiled.filled(values)
            plan._recorded = lambda: filled(record, values)
            plan.limits = filled(limits, values)
            return plan

        return numbers, of_sizes

    def is_same(self, other: OnnxPlan) -> bool:
        """Return whether both run the same dispatches over tensors of the same layouts, with the same results."""
        if not _are_same(self.outputs, other.outputs):
            return False
        mine, others = self.compiled, other.compiled
        if mine is None or others is None:
            return mine is others
        return bool(
            mine.program == others.program
            and mine.kernels == others.kernels
            and mine.input_fields == others.input_fields
            and mine.output_fields == others.output_fields
        )

    def run(
        self, feeds: Mapping[str, Array], keep: Collection[str] = (), into: Mapping[str, DeviceArray] | None = None
    ) -> dict[str, Any]:
        """Run and return the outputs by name. keep: outputs that stay on the device, if they are computed there. into:
        arrays of the outputs written in place."""
        results: dict[str, Any] = {}
        for limit in self.limits:
            limit.check(feeds)
        if self.compiled is not None:
            kept = [key for name in keep for key, result in flat(name, self.outputs[name]) if _stays(result)]
            results = run(self.compiled, feeds, kept, into)
            self.compiled.forget_constants()
        return {name: _collect(name, item, results) for name, item in self.outputs.items()}


def _stays(result: Result) -> bool:
    """Return whether a result can stay on the device.

    Rows with a computed count come to the host; so do bfloat16 and float8, which are rounded there.
    """
    return isinstance(result, Result) and result.array is None and result.dtype not in STORED_AS_FLOAT32


def _described(item: Any, name: str) -> Any:
    if isinstance(item, list):
        return [_described(inner, f"{name}[{index}]") for index, inner in enumerate(item)]
    if isinstance(item, LateRows):
        return LateResult(name, f"{name}#count", item.dtype, item.turned)
    return None if item is None else Result(item.shape, item.dtype, detached(item.constant))


def _are_same(first: Any, second: Any) -> bool:
    """Return whether outputs of two plans have the same description."""
    if isinstance(first, Result) and isinstance(second, Result):
        arrays = np.array_equal(first.array, second.array) if first.array is not None else second.array is None
        return arrays and (first.shape, first.dtype) == (second.shape, second.dtype)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_are_same(item, second[name]) for name, item in first.items())
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_are_same, first, second))
    return bool(first == second)


def flat(name: str, item: Any) -> list[tuple[str, Any]]:
    """Return (name, tensor) for each tensor of an item, which may be a list or None."""
    if isinstance(item, list):
        return [pair for index, inner in enumerate(item) for pair in flat(f"{name}[{index}]", inner)]
    return [] if item is None else [(name, item)]


def _collect(name: str, item: Any, results: Mapping[str, Any]) -> Any:
    if isinstance(item, list):
        return [_collect(f"{name}[{index}]", inner, results) for index, inner in enumerate(item)]
    if item is None:
        return None
    if isinstance(item, LateResult):
        rows = results[item.rows][: int(results[item.count][0])]
        return np.ascontiguousarray(rows.T if item.turned else rows, item.dtype)
    if item.array is not None:
        return item.array.copy()  # the caller may write to its outputs
    found = results[name]
    if isinstance(found, DeviceArray):
        return found.seen_as(item.shape, item.dtype)
    with np.errstate(all="ignore"):
        return found.reshape(item.shape).astype(item.dtype, copy=False)


class DevicePart:
    """Nodes on the device. Each set of input shapes is compiled at its first use; recent ones are kept.

    constants: shared with other parts and plans. functions: the model's own, by domain, name and overload. late: nodes
    whose outputs no other node of the part reads, so that they may be ``LateRows``.
    """

    on_host = False

    def __init__(
        self,
        device: Device,
        graph: GraphFacts,
        inputs: Sequence[str],
        opsets: Mapping[str, int],
        functions: Mapping[tuple[str, str, str], Any],
        constants: SharedConstants,
        late: Collection[NodeFacts] = (),
    ) -> None:
        self.nodes = graph.nodes
        self.inputs, self.outputs = inputs, graph.outputs
        self.plans = Plans()
        self._device = device
        self._graph = graph
        self._opsets = opsets
        self._functions = functions
        self._constants = constants
        self._late = late
        self._mapped = MappedNodes(graph, constants, late)
        #: Patterns of plans, by the inputs' names, ranks and dtypes.
        self.patterns: dict[Any, PlanPatterns] = {}
        #: Working memory of the plans, which run one at a time.
        self._shared = SharedMemory()

    def run(
        self, values: Mapping[str, Any], keep: Collection[str] = (), shared: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Run and return the outputs by name, given the inputs by name in ``values``.

        keep: outputs that stay on the device. shared: output -> name of the input, an array on the device, that it may
        overwrite. Raises Unsupported with the nodes that cannot be mapped for such inputs.
        """
        own = self._shared_here(values, shared or {})
        plan, feeds = self.compiled_for(values, own)
        into = {name: values[own[name]] for name in plan.in_place}
        return plan.run(feeds, [name for name in self.outputs if name in keep and name not in into], into) | into

    def _shared_here(self, values: Mapping[str, Any], shared: Mapping[str, str]) -> dict[str, str]:
        """Return the pairs of output and input that one node may write in place: no other node reads the input."""
        return {
            name: given
            for name, given in shared.items()
            if name in self.outputs
            and given not in self.outputs
            and self._readers[given] == 1
            and isinstance(values.get(given), DeviceArray)
            and values[given].dtype not in STORED_AS_FLOAT32
        }

    @cached_property
    def _readers(self) -> Counter[str]:
        """Count the nodes that read each value."""
        return Counter(name for node in self.nodes for name in node.reads())

    def compiled_for(
        self, values: Mapping[str, Any], shared: Mapping[str, str] | None = None
    ) -> tuple[OnnxPlan, dict[str, Array]]:
        """Return the part compiled for such inputs, and their arrays by the graph's names. shared: see ``run``."""
        shared = shared or {}
        given = {name: values[name] for name in self.inputs if name in values}
        feeds: dict[str, Array] = {}
        shapes = tuple((name, _fed(name, item, feeds)) for name, item in sorted(given.items()))
        key = (*shapes, *sorted(shared.items()))
        plan: OnnxPlan | None = self.plans.find(key, feeds)
        if plan is None:
            with stage("plan"):
                plan = self._planned(given, shapes, feeds, shared)
            self.plans.add(key, plan)
        return plan, feeds

    def _planned(
        self, given: Mapping[str, Any], shapes: Any, feeds: dict[str, Array], shared: Mapping[str, str]
    ) -> OnnxPlan:
        """Return the plan for inputs, from a pattern if there is one."""
        if not all(isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], str) for _, found in shapes):
            return self.plan(given, feeds, shared)  # an input is a sequence of tensors
        kind = tuple((name, len(shape), dtype) for name, (shape, dtype) in shapes)
        patterns = self.patterns.setdefault((kind, tuple(sorted(shared.items()))), PlanPatterns())
        sizes = tuple(size for _, (shape, _) in shapes for size in shape)
        found: OnnxPlan | None = patterns.find(sizes)
        if found is not None:
            return found

        def make(traced: Sequence[int]) -> tuple[list[int], Callable[[Numbers], OnnxPlan]]:
            left = iter(traced)
            items = {name: _Shaped(tuple(next(left) for _ in range(rank)), given[name].dtype) for name, rank, _ in kind}
            return self.plan(items, None, shared).pattern()

        plan = self.plan(given, feeds, shared)
        patterns.learn(sizes, plan, make)
        return plan

    def plan(
        self, given: Mapping[str, Any], feeds: dict[str, Array] | None, shared: Mapping[str, str] | None = None
    ) -> OnnxPlan:
        """Compile the part for inputs of these shapes. feeds: their values, where needed. shared: see ``run``."""
        self._constants.check_unchanged()
        trace = Trace(self._device, self._functions, self._constants, self._mapped)
        trace.feeds = feeds
        trace.shared = shared or {}
        trace.may_cut, trace.late = True, self._late
        items = {name: _enter(trace, name, item) for name, item in given.items()}
        results = trace.graph(self._graph, items, self._opsets)
        return OnnxPlan(trace, dict(zip(self.outputs, results, strict=True)), self._shared)


class _Shaped(NamedTuple):
    """The properties of an input that a plan depends on."""

    shape: tuple[int, ...]
    dtype: DType


def _fed(name: str, item: Any, feeds: dict[str, Array]) -> Any:
    """Return an item's shapes and dtypes, and add its arrays to ``feeds`` by name."""
    if isinstance(item, list):
        return tuple(_fed(f"{name}[{index}]", inner, feeds) for index, inner in enumerate(item))
    if item is None:
        return None
    if not hasattr(item, "shape"):
        raise DMLError(f"value {name!r}: the device takes tensors and sequences of them, found {type(item).__name__}")
    feeds[name] = item
    return item.shape, str(item.dtype)


def _enter(trace: Trace, name: str, item: Any) -> Any:
    if isinstance(item, list):
        return [_enter(trace, f"{name}[{index}]", inner) for index, inner in enumerate(item)]
    return None if item is None else trace.input(name, item.shape, item.dtype)
