"""The memory that programs need: predicted, measured, and within DML_MEMORY_LIMIT."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder
from dml.runtime.context import Context
from dml.runtime.memory_limit import memory_limit
from dml.runtime.needs import memory_needs

MIB = 1 << 20


def layer(device: dml.Device, k: int, n: int, seed: int = 0) -> tuple[dml.CompiledOperator, np.ndarray, np.ndarray]:
    """Return a product with {k, n} weights, its input, and the expected result."""
    rng = np.random.default_rng(seed)
    weights, x = rng.standard_normal((k, n)).astype(np.float32), rng.standard_normal((8, k)).astype(np.float32)
    graph = Builder(device)
    compiled = graph.compile({"y": op.relu(op.gemm(graph.input("x", x.shape), graph.constant(weights)))})
    return compiled, x, np.maximum(x.astype(np.float64) @ weights, 0)


def in_use(context: Context) -> int:
    return sum(pool.in_use for pool in context._pools.values())


@pytest.fixture
def limited(monkeypatch: pytest.MonkeyPatch, device: dml.Device) -> dml.Device:
    """The device with room for 48 MiB, and none in the allocations of earlier tests."""
    monkeypatch.setattr(device.context, "_pools", {})
    monkeypatch.setattr(device.context, "memory_limit", 48 * MIB)
    return device


@pytest.mark.parametrize("k, n", [(64, 64), (1024, 3000)])
def test_memory_in_use_equals_the_prediction(device: dml.Device, k: int, n: int) -> None:
    before = in_use(device.context)
    compiled, x, expected = layer(device, k, n, seed=k)
    needs = memory_needs(compiled.program)
    found = compiled.dispatch({"x": x})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
    taken = in_use(device.context) - before
    staging = 0 if device.context.unified else needs.inputs + needs.outputs
    assert needs.weights >= 4 * k * n
    # pieces are rounded up, and kernels have parameter blocks
    assert needs.total <= taken <= 1.05 * (needs.total + staging) + 64 * 1024


def test_a_program_that_cannot_fit_is_refused_before_upload(
    limited: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = limited.context.memory_limit
    assert limit is not None
    compiled, x, expected = layer(limited, 1024, (limit // (4096 * 256) + 1) * 256)
    before = in_use(limited.context)
    with pytest.raises(
        dml.DMLError, match=r"needs .* \(weights .*constant 0.* more than the .* of DML_MEMORY_LIMIT"
    ) as error:
        compiled.dispatch({"x": x})
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY
    assert in_use(limited.context) == before
    monkeypatch.setattr(limited.context, "memory_limit", None)
    np.testing.assert_allclose(compiled.dispatch({"x": x})["y"], expected, rtol=1e-4, atol=1e-3)


def test_out_of_memory_errors_name_the_programs_needs(limited: dml.Device) -> None:
    """Each program fits alone; the second does not fit as well."""
    columns = 48 * MIB * 6 // 10 // (4096 * 256) * 256
    first, x, _ = layer(limited, 1024, columns, seed=1)
    first.dispatch({"x": x})
    second, x, _ = layer(limited, 1024, columns, seed=2)
    with pytest.raises(dml.DMLError, match=r"would exceed the .* bytes of DML_MEMORY_LIMIT.*needs .*weights") as error:
        second.dispatch({"x": x})
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY


@pytest.mark.parametrize("text, found", [("", None), ("512", 512 * MIB), ("0.5", MIB // 2)])
def test_the_limit_counts_mib(monkeypatch: pytest.MonkeyPatch, text: str, found: int | None) -> None:
    monkeypatch.setenv("DML_MEMORY_LIMIT", text)
    assert memory_limit() == found


@pytest.mark.parametrize("text", ["0", "-1", "many", "inf", "nan"])
def test_another_limit_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("DML_MEMORY_LIMIT", text)
    with pytest.raises(dml.DMLError, match=f"DML_MEMORY_LIMIT must be a positive number of MiB, found '{text}'"):
        memory_limit()
