"""ONNX's own backend test suite: its node, simple and pytorch-derived groups."""

from __future__ import annotations

import contextlib
import pickle
import sys
import warnings
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from excluded import EXCLUDED, NOWHERE, RUNS_ON_HOST, reason
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import dml
from dml import cache
from dml.capability import feature_level, operator_introduced, operator_support
from dml.compiler.target import DeviceClass, Target
from dml.conformance.layouts import tensors
from dml.files import write_whole
from dml.frontends.onnx import HostNodesWarning, load_model, prepare
from dml.frontends.onnx.run.inspect import inspect_model
from dml.graph import compile as compile_module
from dml.graph.fusion import fuse as fuse_graph
from dml.planning.planner import Planner


def cases_of_nodes() -> list[Any]:
    """Return ONNX's cases of single nodes, from a file in the cache's folder if there is one: ONNX computes the
    expected outputs in Python for about ten seconds, and each process that collects tests needs the names."""
    version = f"onnx{onnx.__version__}-numpy{np.__version__}-{sys.implementation.cache_tag}"
    kept = cache.root() / "tests" / f"{version}.pickle"
    with contextlib.suppress(Exception):  # missing, damaged, or of a class that has changed
        return list(pickle.loads(kept.read_bytes()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the suite's own casts overflow on purpose
        found = load_model_tests(kind="node")
    with contextlib.suppress(dml.DMLError):
        write_whole(kept, pickle.dumps(found))
    return found


CASES = cases_of_nodes()
for kind in ("simple", "pytorch-converted", "pytorch-operator"):
    CASES.extend(load_model_tests(kind=kind))
#: Cases that run on every driver. The others use the same graph operators and are too slow to repeat.
QUICK = ("test_gru_", "test_group_normalization_", "test_lstm_", "test_simple_rnn_")


def parameters() -> Iterator[Any]:
    for case in CASES:
        marks: list[Any] = [] if case.name.startswith(QUICK) else [pytest.mark.slow]
        yield pytest.param(case, id=case.name, marks=marks)


def expecting(failures: tuple[type[Exception], ...]) -> contextlib.AbstractContextManager[Any]:
    """Expect one of these failures, if there are any. (With xfail, pytest would format each traceback, in 60 ms.)"""
    return pytest.raises(failures) if failures else contextlib.nullcontext()


def model_and_data(case: Any) -> tuple[Any, list[tuple[list[Any], list[Any]]]]:
    """Return the model, and pairs of inputs and expected outputs, from memory or from the case's folder."""
    if case.model is not None:
        sets = [([plain(item) for item in ins], [plain(item) for item in outs]) for ins, outs in case.data_sets]
        return case.model, sets
    folder = Path(case.model_dir)
    model = load_model(folder / "model.onnx")
    sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        ins = [stored(data / f"input_{index}.pb", entry.type) for index, entry in enumerate(model.graph.input)
               if (data / f"input_{index}.pb").exists()]  # fmt: skip
        outs = [stored(data / f"output_{index}.pb", entry.type) for index, entry in enumerate(model.graph.output)]
        sets.append((ins, outs))
    return model, sets


def plain(item: Any) -> Any:
    return numpy_helper.to_array(item) if isinstance(item, onnx.TensorProto) else item


def stored(path: Path, kind: Any) -> Any:
    """Read a value of a type from its file."""
    readers: dict[str, tuple[Any, Any]] = {
        "sequence_type": (onnx.SequenceProto, numpy_helper.to_list),
        "optional_type": (onnx.OptionalProto, numpy_helper.to_optional),
        "tensor_type": (onnx.TensorProto, numpy_helper.to_array),
    }
    proto, read = readers[kind.WhichOneof("value")]
    message = proto()
    message.ParseFromString(path.read_bytes())
    return read(message)


def compare(found: Any, expected: Any, case: Any) -> None:
    if isinstance(expected, list | tuple):
        assert isinstance(found, list | tuple)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            compare(a, b, case)
    elif expected is None:
        assert found is None
    else:
        expected = np.asarray(expected)
        if expected.dtype.kind in "OUS":
            assert (found.dtype, found.tolist()) == (object, expected.tolist())
            return
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if found.dtype.kind not in "biu":
            found, expected = found.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(found, expected, rtol=case.rtol, atol=case.atol)


@pytest.mark.no_validation
@pytest.mark.parametrize("case", list(parameters()))
def test_case(device: dml.Device, case: Any) -> None:
    """An excluded case cannot be mapped (DMLError), or its results differ (AssertionError)."""
    model, sets = model_and_data(case)
    assert sets
    with expecting((dml.DMLError, AssertionError) if reason(case.name) else ()):
        prepared = prepare(model, device, fallback=False)
        for inputs, outputs in sets:
            compare(list(prepared.run(inputs)), list(outputs), case)


def for_the_host() -> Iterator[Any]:
    for case in CASES:
        if reason(case.name) in RUNS_ON_HOST:
            yield pytest.param(case, id=case.name, marks=pytest.mark.slow)


@pytest.mark.no_validation
@pytest.mark.parametrize("case", list(for_the_host()))
def test_case_with_nodes_on_the_host(device: dml.Device, case: Any) -> None:
    model, sets = model_and_data(case)
    with_operator = not fnmatchcase(case.name, NOWHERE)  # else no runtime has it
    with warnings.catch_warnings(record=True) as said, expecting(() if with_operator else (dml.DMLError,)):
        warnings.simplefilter("always")
        prepared = prepare(model, device)
        for inputs, outputs in sets:
            compare(list(prepared.run(inputs)), list(outputs), case)
    if with_operator:
        assert any(issubclass(one.category, HostNodesWarning) for one in said)


@pytest.mark.parametrize("level", ["1_0", "2_1", "3_0", "4_0", "5_0", "6_1"])
def test_no_operator_has_a_data_type_that_the_level_does_not_take(level: str, monkeypatch: Any) -> None:
    """Checks the operators that mappings and fusion add. An operator that fusion adds from a later level, such as
    ACTIVATION_GELU, may have the data types of the first level that has it."""
    given = feature_level(level)
    found: set[tuple[Any, str, Any]] = set()

    def fuse(graph: Any, target: Target) -> None:
        fuse_graph(graph, target)
        for desc in (node.desc for node in graph.nodes if node.desc is not None):
            fields = (*desc.inputs(), *desc.outputs())
            found.update((desc.OPERATOR_TYPE, name, tensor.DataType) for name, _, tensor in tensors(fields))

    monkeypatch.setattr(compile_module, "fuse", fuse)
    planner = Planner(Target(DeviceClass.CPU), given)
    planned = 0
    for case in CASES[::13]:
        if case.model is not None and reason(case.name) is None:
            names = [entry.name for entry in case.model.graph.input]
            inputs = dict(zip(names, map(plain, case.data_sets[0][0]), strict=False))
            planned += not inspect_model(case.model, planner, inputs=inputs).unplanned
    assert planned > 5
    for kind, name, data_type in found:
        support = operator_support(kind, max(given, operator_introduced(kind)))
        assert support is not None
        assert data_type in support[name].data_types, (kind, name, data_type)


def test_every_exclusion_excludes_something() -> None:
    names = [case.name for case in CASES]
    idle = [pattern for pattern, _ in EXCLUDED if not any(fnmatchcase(name, pattern) for name in names)]
    assert not idle
