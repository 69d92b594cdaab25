"""examples/decoding.py: tokens equal onnxruntime's, and caches stay on the device."""

from __future__ import annotations

from typing import Any

import pytest

import dml
from dml.frontends.onnx import prepare
from example_module import example


@pytest.fixture(scope="module")
def decoding() -> Any:
    return example("decoding")


@pytest.mark.parametrize("name, count", [("gpt2", 12), ("llama", 64)])
def test_tokens_are_onnxruntimes(decoding: Any, device: dml.Device, name: str, count: int) -> None:
    found, expected, _ = decoding.compare(getattr(decoding, name)(), device, count)
    assert len(set(found)) > count // 4  # the model does not repeat one token
    assert found == expected


def test_a_cache_with_room_is_one_plan_and_two_buffers(decoding: Any, device: dml.Device) -> None:
    """The prompt has one plan and all steps share another; the kept outputs alternate between two buffers."""
    model = decoding.llama()
    prepared = prepare(model, device)
    buffers = []

    def run(feeds: Any) -> Any:
        results = prepared.run(feeds, keep=prepared.outputs)
        assert all(isinstance(one, dml.DeviceArray) for one in results)
        buffers.append(results[1].buffer)
        return results

    decoding.written(run, decoding.start(model), 12)
    assert len(prepared.parts[0].plans) == 2
    assert len(set(buffers[1:])) == 2
