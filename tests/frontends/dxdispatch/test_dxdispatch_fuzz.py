"""Broken models: any file is either read or raises a DMLError."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dml
from dml.frontends.dxdispatch.files import Folder
from dml.frontends.dxdispatch.model import DxModel, read

TENSOR = {"DataType": "FLOAT32", "Sizes": [3], "Strides": [1], "Flags": "NONE", "DimensionCount": 1}
WHOLE = {
    "resources": {
        "A": {"initialValuesDataType": "FLOAT32", "initialValues": [1, 2, 3], "sizeInBytes": 12},
        "B": {"initialValuesDataType": "INT8", "initialValues": {"valueCount": 3, "valueStart": 0, "valueDelta": 1}},
        "C": {"initialValuesDataType": "UNKNOWN", "initialValues": [{"type": "INT8", "value": 1}]},
        "D": {"initialValuesDataType": "FLOAT16", "initialValues": {"valueCount": 3, "value": "nan"}},
    },
    "dispatchables": {
        "add": {
            "type": "DML_OPERATOR_ELEMENT_WISE_ADD1",
            "desc": {
                "ATensor": TENSOR,
                "BTensor": TENSOR,
                "OutputTensor": {"Type": "BUFFER", "Desc": TENSOR},
                "FusedActivation": {"Type": "ACTIVATION_LINEAR", "Alpha": 1, "Beta": 0},
            },
            "bindings": {"ATensor": {"name": "A", "elementOffset": 0, "elementCount": 1}},
            "executionFlags": ["NONE"],
        },
        "fill": {
            "type": "FILL_VALUE_CONSTANT",
            "OutputTensor": TENSOR,
            "ValueDataType": "FLOAT32",
            "Value": {"Float32": 1},
        },
        "up": {
            "type": "UPSAMPLE_2D",
            "InputTensor": TENSOR,
            "OutputTensor": TENSOR,
            "ScaleSize": {"Width": 1, "Height": 1},
            "InterpolationMode": "LINEAR",
        },
    },
    "commands": [
        {"type": "dispatch", "dispatchable": "add", "bindings": {"ATensor": ["A"], "BTensor": "B"}},
        {"type": "print", "resource": "A", "verbose": False},
        {"type": "writeFile", "resource": "A", "targetPath": "a.npy", "dimensions": [3]},
    ],
}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 16)  # larger counts are legal, and slow
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["nan", "FLOAT32", "UINT4", "UNKNOWN", "INT64", "OWNED_BY_DML", "RNN", "INVALID", "A", "hlsl"])
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner))


def places(value, path=()):
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


PLACES = [path for path in places(WHOLE) if path]


def changed(value, path, new):
    """Return a copy with the value at a path replaced, or removed if ``new`` is Ellipsis."""
    key, *rest = path
    copy = dict(value) if isinstance(value, dict) else list(value)
    if rest:
        copy[key] = changed(value[key], rest, new)
    elif new is Ellipsis:
        del copy[key]
    else:
        copy[key] = new
    return copy


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Folder(tmp_path_factory.mktemp("model"))


def test_the_unbroken_model_is_read(folder):
    assert len(read(json.dumps(WHOLE).encode(), folder).commands) == 3


@settings(max_examples=400)
@given(st.sampled_from(PLACES), VALUES | st.just(...))
@example(("resources", "A", "initialValues"), [float("inf")])
@example(("resources", "A", "initialValues"), [10**400])
@example(("dispatchables", "fill", "Value"), 10**400)
@example(("dispatchables", "fill", "ValueDataType"), "UNKNOWN")
@example(("dispatchables", "fill", "ValueDataType"), "INT4")
def test_one_wrong_value(folder, path, new):
    data = json.dumps(changed(WHOLE, path, new)).encode()
    with contextlib.suppress(dml.DMLError):
        assert isinstance(read(data, folder), DxModel)


@settings(max_examples=200)
@given(st.data())
def test_cut_and_scrambled_text(folder, data):
    text = json.dumps(WHOLE)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    broken = text[:start] + data.draw(st.text(alphabet='{}[]",:/*1eE-\\u\n ', max_size=5)) + text[end:]
    with contextlib.suppress(dml.DMLError):
        assert isinstance(read(broken.encode(), folder), DxModel)


@settings(max_examples=200)
@given(st.binary(max_size=60))
def test_any_bytes(folder, data):
    with contextlib.suppress(dml.DMLError):
        read(data, folder)
