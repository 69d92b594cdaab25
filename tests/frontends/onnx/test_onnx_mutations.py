"""Mutations of ONNX's node tests: each gives a graph or a DMLError, never another exception."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from test_backend_suite import CASES, plain

import dml
from dml.frontends.onnx import load_model
from dml.frontends.onnx.map.trace import GraphFacts, Trace
from dml.frontends.onnx.map.unmapped import opsets_in, unmapped
from dml.frontends.onnx.registry import standard

Arrays = Mapping[str, Any]


def examples() -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return for each operator the model and inputs of its first case with small tensors."""
    found: dict[str, tuple[Any, dict[str, Any]]] = {}
    for case in CASES:
        if case.model is None or len(case.model.graph.node) != 1:
            continue
        inputs = {
            entry.name: plain(item) for entry, item in zip(case.model.graph.input, case.data_sets[0][0], strict=False)
        }
        usable = all(isinstance(item, np.ndarray) and item.dtype != object for item in inputs.values())
        if usable and sum(item.size for item in inputs.values()) < 5000:
            found.setdefault(case.model.graph.node[0].op_type, (case.model, inputs))
    return found


EXAMPLES = examples()


def with_inputs(model: Any, inputs: Arrays) -> tuple[Any, Arrays]:
    """Return the model for these inputs. Small ones except the first become constants, so that their values are
    known."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    given = {}
    for index, (name, array) in enumerate(inputs.items()):
        (entry,) = (entry for entry in changed.graph.input if entry.name == name)
        if index and array.size <= 64:
            changed.graph.initializer.append(numpy_helper.from_array(array, name))
            changed.graph.input.remove(entry)
        else:
            given[name] = array
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            entry.CopyFrom(helper.make_tensor_value_info(name, kind, array.shape))
    return changed, given


def wrong_arrays(array: Any) -> Iterator[Any]:
    """Yield the array with other ranks, sizes, types and values."""
    yield from (array[None], array[..., None], array.reshape(-1), np.concatenate([array.reshape(-1)] * 2))
    if array.ndim and array.size:
        yield from (array[0], array[:0], array[..., :1], array.reshape(-1)[0])
    with np.errstate(all="ignore"):
        yield from (array.astype(np.int32), array.astype(np.float32), array.astype(bool), np.full_like(array, 7))
        yield array if array.dtype == bool else -array


def wrong_attributes(value: Any) -> list[Any]:
    """Yield other values of an attribute's type."""
    if isinstance(value, list) and value and isinstance(value[0], int | float):
        return [value[:-1], [*value, value[-1]], [-item for item in value], [type(value[0])(0)] * len(value)]
    if isinstance(value, int):
        return [-99, -1, 0, 1, 2, 99]
    if isinstance(value, float):
        return [-1.0, 0.0, float("nan"), 1e39]
    return [b"", b"x", b"\xff"] if isinstance(value, bytes) else []


def mutations(model: Any, inputs: Arrays) -> Iterator[tuple[str, Any, Arrays]]:
    """Yield descriptions of changes, the changed models and their inputs."""
    for name, array in inputs.items():
        for wrong in wrong_arrays(array):
            wrong = np.asarray(wrong)
            yield f"{name}: {wrong.dtype} {wrong.shape}", *with_inputs(model, {**inputs, name: wrong})
    (node,) = model.graph.node
    for index in range(len(node.input)):
        changed, given = with_inputs(model, inputs)
        changed.graph.node[0].input[index] = ""
        yield f"input {index} left out", changed, given
    for index, attribute in enumerate(node.attribute):
        for wrong in wrong_attributes(helper.get_attribute_value(attribute)):
            changed, given = with_inputs(model, inputs)
            made = helper.make_attribute(attribute.name, wrong, attr_type=attribute.type)
            changed.graph.node[0].attribute[index].CopyFrom(made)
            yield f"{attribute.name} = {wrong!r}", changed, given
        changed, given = with_inputs(model, inputs)
        del changed.graph.node[0].attribute[index]
        yield f"no {attribute.name}", changed, given


def map_nodes(device: dml.Device, model: Any, given: Arrays) -> None:
    """Do all steps of ``prepare`` and ``run`` before a graph is compiled."""
    checked = load_model(model)
    if unmapped(checked, opsets_in(checked)):
        return
    trace = Trace(device, {})
    trace.feeds = None  # so that no part of the graph has to run on the device to compute a value
    items = {name: trace.input(name, array.shape, array.dtype) for name, array in given.items()}
    trace.graph(
        GraphFacts.of(checked.graph), items, {standard(entry.domain): entry.version for entry in checked.opset_import}
    )


@pytest.mark.slow
@pytest.mark.parametrize("operator", EXAMPLES)
def test_mutated_nodes(device: dml.Device, operator: str) -> None:
    faults = []
    for what, model, given in mutations(*EXAMPLES[operator]):
        try:
            map_nodes(device, model, given)
        except dml.DMLError:
            pass
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            faults.append(f"{what}: {type(error).__name__}: {error} ({place.filename}:{place.lineno})")
    assert not faults, "\n".join(faults)
