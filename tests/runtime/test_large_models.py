"""Models whose weights together exceed one descriptor's binding."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import dml
from dml.graph.builder import Builder
from dml.graph.operations import gemm

SIZE, LAYERS = 5120, 3


@pytest.mark.slow
@pytest.mark.no_validation
def test_300_mebibytes_of_weights(device: dml.Device) -> None:
    """Three layers of 100 MiB are on the device once, even with a second model of the same weights."""
    rng = np.random.default_rng(0)
    weights = [rng.integers(-1, 2, (1, 1, SIZE, SIZE), np.int8).astype(np.float32) for _ in range(LAYERS)]

    def model(batch: int):
        graph = Builder(device)
        value = graph.input("x", (1, 1, batch, SIZE))
        for weight in weights:
            value = gemm(value, graph.constant(weight)) * (1 / 64)
        return graph.compile({"y": value})

    def run(compiled, batch: int) -> None:
        x = np.random.default_rng(1).integers(-1, 2, (1, 1, batch, SIZE)).astype(np.float32)
        expected = x.astype(np.float64)
        for weight in weights:
            expected = expected @ weight / 64
        found = compiled.dispatch({"x": x})["y"]
        # Sums of 5,120 products of both signs, rounded three times: 1e-5 of the largest is generous
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())

    def used() -> int:
        gc.collect()
        device.context.queue.finish()
        return sum(pool.in_use for pool in device.context._pools.values())

    before, total = used(), sum(weight.nbytes for weight in weights)
    first = model(1)
    run(first, 1)
    assert total <= used() - before < total + (32 << 20)
    second = model(2)
    run(second, 2)
    assert used() - before < total + (64 << 20)
