"""Inspection of an ONNX model without running it: inputs, outputs, operators and their mapping, memory."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from dml.api.device import Device
from dml.arguments import checked
from dml.errors import DMLError
from dml.frontends.summary import LISTED, ModelSummary, OperatorSummary, largest_tensors, symbolic_sizes
from dml.planning.planner import PlannedGraph, Planner
from dml.runtime.needs import MemoryNeeds

from ..dtypes import Array
from ..load.loading import ModelSource, load, nodes
from ..map.blocked import with_blocks
from ..registry import mapping_of, schema_of, standard
from .backend import PreparedModel
from .stand_ins import StandIns, stand_ins, tried, value_summary


@checked
def inspect_model(
    source: ModelSource,
    planner: Planner,
    *,
    sizes: Mapping[str, int] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> ModelSummary:
    """Summarize a model without running it.

    sizes: sizes of symbolic dimensions, by default 1. inputs: arrays for inputs whose values matter; the others are
    zeros. Raises DMLError for a broken or invalid model.
    """
    loaded = load(source)
    model, initial = loaded.model, loaded.initial
    graph = model.graph
    entries = [entry for entry in graph.input if entry.name not in initial]
    given = dict(inputs or {})
    for name in given:
        if name not in {entry.name for entry in entries}:
            raise DMLError(f"the model has no input {name!r}; it has {', '.join(entry.name for entry in entries)}")
    found_inputs = tuple(map(value_summary, entries))
    symbolic_sizes(found_inputs, sizes)
    stand, needs, unplanned = StandIns({}), None, ""
    try:
        stand = stand_ins(entries, given, sizes)
        needs, _ = tried(stand, given, lambda found: _needs(loaded, planner, found.arrays))
    except DMLError as error:
        unplanned = error.message
    return ModelSummary(
        opsets={standard(entry.domain) or "ai.onnx": entry.version for entry in model.opset_import},
        producer=" ".join(filter(None, (model.producer_name, model.producer_version))),
        inputs=found_inputs,
        outputs=tuple(map(value_summary, graph.output)),
        operators=_operators(model, initial),
        weight_elements=sum(array.size for array in initial.values()),
        weight_bytes=sum(array.nbytes for array in initial.values()),
        sizes=stand.sizes,
        assumed=stand.assumed,
        memory=None if needs is None else needs.by_use,
        unplanned=unplanned,
        largest=largest_tensors(initial.items(), None if needs is None else needs.by_constant),
        prepared=() if needs is None else needs.prepared[:LISTED],
    )


def _needs(loaded: Any, planner: Planner, given: Mapping[str, Any]) -> MemoryNeeds:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreparedModel(loaded, cast(Device, planner))  # a planner answers the same questions as a Device
        plan, _ = model.compiled_for(given)
    return MemoryNeeds(0, 0, 0, 0, ()) if plan.compiled is None else cast(PlannedGraph, plan.compiled).needs()


def _operators(model: Any, initial: Mapping[str, Array]) -> tuple[OperatorSummary, ...]:
    """Summarize operators of the graph, of nested graphs and of functions, the most frequent first."""
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
