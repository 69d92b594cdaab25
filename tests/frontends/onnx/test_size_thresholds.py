"""Results do not depend on the size thresholds of mappings, folding and loading.

Each threshold is lowered, so that the small models of ONNX's own suite exceed it.
"""

from __future__ import annotations

import ast
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from excluded import reason
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from models import assert_close, in_onnxruntime, node_model
from onnx import numpy_helper
from test_backend_suite import CASES, compare, model_and_data
from test_onnx_contrib import CASES as CONTRIB

import dml
from dml.frontends.onnx import prepare

#: Thresholds by module, with replacements that small models exceed.
LOWERED: dict[str, dict[str, tuple[int, ...]]] = {
    "dml.compiler.operators.attention": {"MOST_SCORES": (64, 256)},
    "dml.compiler.selection.stored_weights": {"_PART_BYTES": (1, 256)},
    "dml.frontends.meaning.integers": {"PRODUCT_BYTES": (1, 256)},
    "dml.frontends.meaning.resampling": {"_BAND": (1, 2), "_LEAST_SAVED": (0, 1)},
    "dml.frontends.meaning.scatter": {
        "_PAIRS": (0, 50),
        "_SPAN": (1, 2),
        "_HELD": (0, 1 << 20),
        "_SPARSE": (0, 4),
        "_COLUMNS": (0, 1 << 20),
    },
    "dml.frontends.onnx.map.folding": {"_INPUT_LIMIT": (0, 2, 10), "_OUTPUT_LIMIT": (0, 2, 10)},
    "dml.frontends.onnx.run.host_part": {"_LARGE": (0, 16)},
    "dml.frontends.onnx.load.loading": {"_LARGE_MODEL": (0, 64), "_SMALL": (0, 2, 16)},
    "dml.frontends.onnx.map.mapped": {"_SMALL": (0, 2, 16), "MOST_NODES": (0, 1), "MOST_BYTES": (0, 64)},
    "dml.frontends.onnx.map.operators.attention_products": {"MOST_SCORES": (64, 256)},
    "dml.frontends.onnx.map.operators.decoder_attention": {"MOST_MASK": (0, 64)},
    "dml.frontends.onnx.map.operators.experts": {"MOST_BYTES": (1, 256)},
    "dml.frontends.onnx.map.operators.spectrum": {"_LONG": (4, 8)},
    "dml.frontends.onnx.map.trace": {"_UNROLLED": (1, 5)},
    "dml.frontends.onnx.map.traced_arrays": {"_FEW": (0, 1)},
    "dml.frontends.onnx.map.value": {"SMALL": (0, 1, 8)},
    "dml.frontends.onnx.load.weights_apart": {"_LARGE": (1, 16)},
    "dml.graph.equal": {"_COMPARED_BYTES": (0, 16)},
    "dml.graph.fusion": {"_DEEPEST": (1, 3), "_DEEPEST_EPILOGUE": (1, 2), "_MOST_FIRSTS": (1,)},
    "dml.graph.kept": {"SMALL": (0, 64)},
}
#: Integer constants of the modules in ``FOLDERS`` that are not size thresholds.
OTHERS: dict[str, set[str]] = {
    "dml.frontends.meaning.integers": {"_EXPONENT_BITS"},  # follows from 64 bits
    "dml.frontends.meaning.resampling": {"LONGEST", "_MOST_WEIGHTS"},  # larger sizes are refused
    "dml.frontends.onnx.run.severity": {"WARNING"},
    "dml.frontends.onnx.load.lenient": {"_IR_VERSION", "_FREE_INITIALIZERS", "_MOST_VERSION"},
    "dml.frontends.onnx.load.loading": {"_MESSAGE_LIMIT", "_SPARSE_LIMIT"},  # larger sizes are refused
    "dml.frontends.onnx.map.operators.matmul_bnb4": {"_FLOATS_AT_ONCE"},
    "dml.frontends.onnx.map.operators.matmul_nbits": {"_FLOATS_AT_ONCE"},
    "dml.frontends.onnx.map.operators.nchwc": {"SMALLEST_BLOCK"},
    "dml.frontends.onnx.map.operators.spectrum": {"_LIMIT"},  # larger sizes are refused
    "dml.frontends.onnx.load.weights_apart": {
        "_GRAPH", "_INITIALIZER", "_RAW_DATA", "_NUMBER", "_EIGHT", "_BYTES", "_FOUR",
    },
    "dml.graph.reading": {"_MOST"},  # larger sizes are refused
    "dml.graph.unit_dimensions": {"_OF_ONE"},  # a stride
}  # fmt: skip
FOLDERS = ("frontends/meaning", "frontends/onnx", "graph")
#: Modules that fold: beyond their lowered thresholds, nodes that compute sizes run on the host.
FOLDING = {"dml.frontends.onnx.map.folding", "dml.frontends.onnx.map.trace"}
PLAIN = {case.name: case for case in CASES if not reason(case.name)}


def constants(folder: Path) -> dict[str, set[str]]:
    """Return the names of integer constants of each module below a folder."""
    found: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assigned = (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))
        targets = (target for node in assigned for target in ast.walk(node) if isinstance(target, ast.Name))
        names = {target.id for target in targets if isinstance(target.ctx, ast.Store) and target.id.isupper()}
        parts = ("dml", *path.relative_to(Path(dml.__file__).parent).with_suffix("").parts)
        module = ".".join(parts).removesuffix(".__init__")
        numbers = {name for name in names if type(getattr(import_module(module), name)) is int}
        if numbers:
            found[module] = numbers
    return found


def test_every_threshold_is_lowered_here() -> None:
    for folder in FOLDERS:
        for module, names in constants(Path(dml.__file__).parent / folder).items():
            assert names <= LOWERED.get(module, {}).keys() | OTHERS.get(module, set()), module
    for module, kept in [*OTHERS.items(), *LOWERED.items()]:
        assert all(type(getattr(import_module(module), name)) is int for name in kept), module


def holding(model: Any, arrays: dict[str, Any]) -> Any:
    """Return the model with some of its inputs as constants."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    left = [entry for entry in changed.graph.input if entry.name not in arrays]
    del changed.graph.input[:]
    changed.graph.input.extend(left)
    changed.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    return changed


@st.composite
def thresholds(draw: Any) -> dict[tuple[str, str], int]:
    places = [(module, name) for module, names in LOWERED.items() for name in names]
    chosen = draw(st.one_of(st.just(places), st.lists(st.sampled_from(places), min_size=1, max_size=3)))
    return {place: draw(st.sampled_from(LOWERED[place[0]][place[1]])) for place in chosen}


@pytest.mark.no_validation
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(PLAIN)), held=st.integers(0, 255), lowered=thresholds())
def test_onnx_suite_across_thresholds(
    device: dml.Device, name: str, held: int, lowered: dict[tuple[str, str], int]
) -> None:
    """Results do not depend on thresholds. held: bit mask of the inputs that become constants."""
    case = PLAIN[name]
    model, sets = model_and_data(case)
    inputs, outputs = sets[0]
    names = [entry.name for entry in model.graph.input]
    kinds = {entry.name: entry.type.WhichOneof("value") for entry in model.graph.input}
    known = {
        own: np.asarray(value)
        for index, (own, value) in enumerate(zip(names, inputs, strict=False))
        if held >> index & 1 and kinds[own] == "tensor_type"
    }
    left = [value for own, value in zip(names, inputs, strict=False) if own not in known]
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (module, threshold), value in lowered.items():
            patch.setattr(import_module(module), threshold, value)
        prepared = prepare(
            holding(model, known).SerializeToString(),
            device,
            fallback=bool(FOLDING & {module for module, _ in lowered}),
        )
        compare(list(prepared.run(left)), list(outputs), case)


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(case=st.sampled_from(CONTRIB), held=st.integers(0, 255), lowered=thresholds())
def test_contrib_operators_across_thresholds(
    device: dml.Device, case: Any, held: int, lowered: dict[tuple[str, str], int]
) -> None:
    op, inputs, rank, attributes, tolerance = case
    kinds = {"MatMulIntegerToFloat": np.float32, "QLinearConcat": np.uint8}  # types other than the first input's
    kind = kinds.get(op, next(iter(inputs.values())).dtype)
    known = tuple(name for index, name in enumerate(inputs) if index and held >> index & 1 and inputs[name] is not None)
    model, given_ = node_model(op, inputs, {"y": (rank, kind)}, constants=known, **attributes)
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in lowered.items():
            patch.setattr(import_module(module), name, value)
        found = prepare(model, device, fallback=False).run(given_)
    assert_close(found, in_onnxruntime(model, given_), tolerance)
