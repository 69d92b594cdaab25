"""Damaged ONNX files: any changed bytes or fields give a model or a DMLError."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.message import Message  # type: ignore[import-untyped,unused-ignore]
from onnx import helper, numpy_helper

import dml
from dml.compiler.target import DeviceClass, Target
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.inspect import inspect_model
from dml.planning.planner import Planner

PLANNER = Planner(Target(DeviceClass.DISCRETE))


def small() -> Any:
    """Return a model with several types, each kind of attribute, a nested graph, a function, and symbolic sizes."""
    ones = helper.make_graph(
        [helper.make_node("Relu", ["h"], ["inner"])], "branch", [], [helper.make_tensor_value_info("inner", 1, None)]
    )
    double = helper.make_function(
        "local", "Double", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 17)]
    )
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["h"], kernel_shape=[2, 2], pads=[0, 0, 0, 0], auto_pad="NOTSET"),
        helper.make_node("If", ["c"], ["i"], then_branch=ones, else_branch=ones),
        helper.make_node("Double", ["i"], ["d"], domain="local"),
        helper.make_node("Reshape", ["d", "shape"], ["r"]),
        helper.make_node("Constant", [], ["k"], value=numpy_helper.from_array(np.array([2.0], np.float32))),
        helper.make_node("Mul", ["r", "k"], ["m"]),
        helper.make_node("Softmax", ["m"], ["y"], axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", 1, ["batch", 1, 3, 3])],
        [helper.make_tensor_value_info("y", 1, ["batch", 8])],
        [
            numpy_helper.from_array(np.ones((2, 1, 2, 2), np.float32), "w"),
            numpy_helper.from_array(np.array([0, 8]), "shape"),
            numpy_helper.from_array(np.array(True), "c"),
        ],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=[double], ir_version=10)


MODEL = small()
DATA = MODEL.SerializeToString()


def failure(source: Any) -> str | None:
    """Read and plan a model; return the traceback of any exception except DMLError."""
    try:
        inspect_model(source, PLANNER)
    except dml.DMLError:
        return None
    except Exception:
        return traceback.format_exc()
    return None


def test_the_undamaged_model_is_planned_and_runs(device: dml.Device) -> None:
    facts = inspect_model(MODEL, PLANNER)
    assert facts.memory, facts.unplanned
    (y,) = prepare(MODEL, device).run([np.ones((2, 1, 3, 3), np.float32)])
    assert np.allclose(y, 1 / 8)


@pytest.mark.parametrize("seed", range(12))
def test_changed_bytes(seed: int) -> None:
    random = np.random.default_rng(seed)
    for _ in range(40):
        data = bytearray(DATA)
        for _ in range(random.integers(1, 5)):
            match random.integers(4):
                case 0:
                    data[random.integers(len(data))] = random.integers(256)
                case 1:
                    data[random.integers(len(data))] ^= 1 << random.integers(8)
                case 2:
                    del data[random.integers(len(data)) :]
                case 3:
                    at, size = random.integers(len(data)), random.integers(1, 9)
                    data[at : at + size] = random.integers(0, 256, random.integers(0, 9), np.uint8).tobytes()
            if not data:
                break
        assert failure(bytes(data)) is None, (seed, bytes(data))


#: Kind of field -> new values.
VALUES: dict[str, tuple[Any, ...]] = {
    "int": (-(2**31), -1, 0, 1, 99, 2**31 - 1),
    "long": (-(2**63), -1, 0, 3, 2**31, 2**63 - 1),
    "float": (float("nan"), float("-inf"), -1e30),
    "str": ("", "x", "a" * 300, "\u2603/\\"),
    "bytes": (b"", b"\xff", b"\0" * 77),
}


def kind_of(descriptor: Any) -> str:
    wide = (descriptor.TYPE_INT64, descriptor.TYPE_UINT64)
    kinds = {descriptor.CPPTYPE_FLOAT: "float", descriptor.CPPTYPE_DOUBLE: "float"}
    if descriptor.cpp_type == descriptor.CPPTYPE_STRING:
        return "bytes" if descriptor.type == descriptor.TYPE_BYTES else "str"
    return kinds.get(descriptor.cpp_type, "long" if descriptor.type in wide else "int")


def changes(message: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield each set field's path and a mutation: clear it, repeat it, or replace its value."""
    for descriptor, value in message.ListFields():
        at = (*path, descriptor.name)
        yield *at, "clear", None
        many = hasattr(value, "append") or hasattr(value, "add")
        if descriptor.cpp_type == descriptor.CPPTYPE_MESSAGE:
            for index, inner in enumerate(value if many else [value]):
                yield from changes(inner, (*at, index) if many else at)
            if many:
                yield *at, "repeat", None
        else:
            for wrong in VALUES[kind_of(descriptor)]:
                yield *at, "set", wrong


CHANGES = list(changes(MODEL))


def changed(change: tuple[Any, ...]) -> Any:
    """Return the changed model; None if protobuf rejects the value."""
    *path, what, wrong = change
    model = onnx.ModelProto()
    model.CopyFrom(MODEL)
    at: Any = model
    for step in path[:-1]:
        at = at[step] if isinstance(step, int) else getattr(at, step)
    name = path[-1]
    value = getattr(at, name)
    try:
        if what == "clear":
            at.ClearField(name)
        elif what == "repeat":
            value.add().CopyFrom(value[0])
        elif hasattr(value, "append"):
            value[0] = wrong
        else:
            setattr(at, name, wrong)
    except ValueError:
        return None
    assert isinstance(model, Message)
    return model


@pytest.mark.parametrize("part", range(8))
def test_changed_fields(part: int) -> None:
    """Each field is cleared, repeated, or set to invalid values."""
    found = {}
    for change in CHANGES[part::8]:
        model = changed(change)
        if model is not None:
            found[change] = failure(model)
    wrong = {change: text for change, text in found.items() if text is not None}
    assert len(found) > 50
    assert not wrong, "\n\n".join(f"{change}:\n{text}" for change, text in list(wrong.items())[:3])


def test_names_that_are_no_text() -> None:
    """Protobuf returns strings that are not UTF-8 as bytes."""
    data = DATA.replace(b"Softmax", b"Soft\xffax").replace(b"\x01m\x12", b"\x01\xfe\x12")
    with pytest.raises(dml.DMLError, match=r"not an ONNX model \(NodeProto\..* is not UTF-8\)"):
        inspect_model(data, PLANNER)


@pytest.mark.parametrize("version", [-1, -(2**63), 0, 10**6, 2**63 - 1])
@pytest.mark.parametrize("domain", ["", "local", "com.microsoft"])
def test_versions_of_opsets(version: int, domain: str) -> None:
    model = small()
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for entry in model.opset_import:
        if entry.domain == domain:
            entry.version = version
    assert failure(model) is None
    assert failure(model.SerializeToString()) is None
