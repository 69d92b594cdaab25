"""Elements narrower than a word in layouts with gaps: stored one by one if the device can, else by atomics."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.features import NO_FEATURES, Features
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from sample_descriptors import sample
from sample_runs import UNTOUCHED, elements, run_sample, tensors

#: Operators computed by expressions, by copies, by several invocations per result, or with two results.
OPERATORS = ("ELEMENT_WISE_ADD", "SPLIT", "JOIN", "GATHER", "MAX_POOLING", "TOP_K", "SCATTER")
STORAGE = {"FLOAT16": "storage_16bit", "INT16": "storage_16bit", "INT8": "storage_8bit"}


def prelude(kind: str, layout: str, features: Features, name: str = "ELEMENT_WISE_ABS") -> str:
    target = Target(DeviceClass.DISCRETE, subgroup_size=32, features=features)
    (dispatch,) = compile_operator(sample(name, layout, kind), target).dispatches
    return dict(dispatch.source.headers)["prelude.glsl"]


@pytest.mark.parametrize("kind", STORAGE)
def test_only_single_stores_need_the_feature(kind: str) -> None:
    both = Features(storage_16bit=True, storage_8bit=True)
    assert "_elements[" in prelude(kind, "padded", both)
    assert "atomicOr" not in prelude(kind, "padded", both)
    for features in (NO_FEATURES, both.without(STORAGE[kind])):
        assert "_elements[" not in prelude(kind, "padded", features)
        assert "atomicOr" in prelude(kind, "padded", features)
    whole_words = prelude(kind, "packed", both, "GATHER")
    assert whole_words == prelude(kind, "packed", NO_FEATURES, "GATHER")
    assert prelude("FLOAT32", "padded", both) == prelude("FLOAT32", "padded", NO_FEATURES)


@pytest.mark.parametrize(("name", "kind"), [*itertools.product(OPERATORS, STORAGE)])
def test_the_same_bytes(device: dml.Device, seen_as: Callable[..., Any], name: str, kind: str) -> None:
    desc = sample(name, "padded", kind)
    try:
        dml.validate(desc)
    except dml.DMLError:
        pytest.skip(f"{name} takes no {kind}")
    features = device.vulkan.target.features
    if STORAGE[kind] not in features.names:
        pytest.skip(f"this device has no {STORAGE[kind]}")
    program, found = run_sample(device, desc)
    portable, expected = run_sample(seen_as(features=features.without(STORAGE[kind])), desc)
    assert program != portable
    for output, wanted, result in zip(found, expected, tensors(desc.outputs()), strict=True):
        np.testing.assert_array_equal(output, wanted)
        assert (output[~elements(result)] == UNTOUCHED).all()
