"""Results of initialization are cached by the constants' bytes, which are read once."""

from __future__ import annotations

import hashlib
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dml
from dml.api import weights
from dml.compiler.program import Access, Dispatch, Program, StorageBinding
from dml.descriptors import graph
from dml.glslang import Source, compile
from dml.graph import operations as op
from dml.graph.builder import Builder


def test_constants_that_initialization_reads_are_hashed_once(
    device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    builder = Builder(device)
    # A constant's square root is computed at initialization
    known = rng.uniform(1, 2, (1, 1, 16, 24)).astype(np.float32)
    x = builder.input("x", (1, 1, 16, 24))
    compiled = builder.compile({"y": x + op.sqrt(builder.constant(known))})
    assert compiled.program.initialize, "nothing is computed beforehand"
    hashed: Counter[bytes] = Counter()

    def counted(data: bytes) -> Any:
        hashed[data] += 1
        return hashlib.sha256(data)

    monkeypatch.setattr(graph, "hashlib", SimpleNamespace(sha256=counted))
    given = rng.uniform(-1, 1, x.sizes).astype(np.float32)
    found = compiled.dispatch({"x": given})["y"]
    np.testing.assert_allclose(found, given + np.sqrt(known), rtol=1e-6)
    assert hashed[known.tobytes()] == 1


FILL = Source(
    "tests/fill.comp",
    """#version 450
layout(local_size_x = 1) in;
layout(push_constant) uniform Push { uint to; } push_;
layout(set = 0, binding = 0) writeonly buffer Y { uint y[]; };
layout(set = 0, binding = 1) uniform Parameters { uint value; };
void main() { y[push_.to] = value; }
""",
)


def test_results_with_other_parameters_are_not_shared(device: dml.Device) -> None:
    found = []
    for value in (3, 4, 3):
        program = Program()
        region = program.reserve(4)
        fill = Dispatch("fill", FILL, (StorageBinding(region, Access.WRITE),), (1, 1, 1), parameters=(value,))
        program.initialize = program.dispatches = [fill]
        found.append((weights.Weights(device.context, program, [compile(FILL)], {}).place(region), value))
    for place, value in found:
        assert place.buffer.read(np.uint32, 1).tolist() == [value]
    assert found[0][0].buffer is found[2][0].buffer


def test_initialization_uploads_its_constants_in_parts(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    builder = Builder(device)
    known = [rng.uniform(1, 2, (1, 1, 64, 64)).astype(np.float32) for _ in range(5)]
    x = builder.input("x", (1, 1, 64, 64))
    total = x
    for array in known:
        total = total * op.sqrt(builder.constant(array))
    compiled = builder.compile({"y": total})
    size = known[0].nbytes
    monkeypatch.setattr(weights, "_PART_BYTES", 2 * size)
    staged = []

    class Noted(weights.Constants):
        def __init__(self, context: Any, program: Any, dispatches: Any, *, keep: bool = False) -> None:
            super().__init__(context, program, dispatches, keep=keep)
            staged.append(sum(buffer.size for arena in self._arenas.values() for buffer in arena.buffers))

    monkeypatch.setattr(weights, "Constants", Noted)
    given = rng.uniform(-1, 1, x.sizes).astype(np.float32)
    found = compiled.dispatch({"x": given})["y"]
    np.testing.assert_allclose(found, given * np.prod([np.sqrt(array) for array in known], 0), rtol=1e-5)
    assert sum(staged) == 5 * size
    assert max(staged) <= 2 * size


def test_constants_for_initialization_are_freed(device: dml.Device) -> None:
    """Runs read only the row sums of 4 MiB of square roots, so the roots are freed after initialization."""
    rng = np.random.default_rng(6)
    known = rng.uniform(1, 2, (1, 1, 1024, 1024)).astype(np.float32)
    builder = Builder(device)
    rows = op.reduce(op.sqrt(builder.constant(known)), dml.DML_REDUCE_FUNCTION_SUM, [3])
    x = builder.input("x", (1, 1, 1024, 1))
    given = rng.uniform(-1, 1, x.sizes).astype(np.float32)
    compiled = builder.compile({"y": x + rows})
    assert len(compiled.program.initialize) >= 1
    for _ in range(2):
        found = compiled.dispatch({"x": given})["y"]
        expected = given + np.sqrt(known.astype(np.float64)).sum(3, keepdims=True)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
    kept = compiled._own()._weights
    assert sum(buffer.size for buffer in kept.buffers) < 1 << 20


def test_results_larger_than_their_sources_are_not_kept(device: dml.Device) -> None:
    """Bytes converted to floats are computed again in each run, unless they are small."""
    for rows, once in ((64, True), (2048, False)):
        known = np.arange(rows * 1000, dtype=np.uint32).astype(np.uint8).reshape(1, 1, rows, 1000)
        builder = Builder(device)
        wide = op.sqrt(op.cast(builder.constant(known), dml.DML_TENSOR_DATA_TYPE_FLOAT32))
        x = builder.input("x", (1, 1, rows, 1000))
        transposed = op.reduce(wide * x, dml.DML_REDUCE_FUNCTION_SUM, [3])
        compiled = builder.compile({"y": transposed, "z": op.gemm(x, wide, transpose_b=True)})
        assert bool(compiled.program.initialize) is once
        assert compiled.program.persistent_size <= (known.nbytes * 4 if once else 0)
        given = np.random.default_rng(7).uniform(-1, 1, x.sizes).astype(np.float32)
        root = np.sqrt(known.astype(np.float64))
        found = compiled.dispatch({"x": given})
        np.testing.assert_allclose(found["y"][..., 0], (root * given).sum(3), rtol=1e-4, atol=1e-2)
        np.testing.assert_allclose(
            found["z"], given.astype(np.float64) @ root.transpose(0, 1, 3, 2), rtol=1e-4, atol=0.05
        )
