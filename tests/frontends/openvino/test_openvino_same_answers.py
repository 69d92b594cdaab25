"""Members that take no arguments return what openvino's return, for the same model, shapes, types and arrays."""

from __future__ import annotations

from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dml
import dml.frontends.openvino as ours

theirs = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
opset = pytest.importorskip("openvino.opset13")

#: The members compared, by class.
MEMBERS = {
    "Model": "dynamic friendly_name get_friendly_name get_output_size get_parameters get_results inputs is_dynamic "
    "outputs parameters results",
    "CompiledModel": "inputs outputs query_state reset_state",
    "ConstOutput": "any_name element_type get_any_name get_element_type get_index get_names get_node get_partial_shape "
    "get_shape index names node partial_shape shape",
    "Node": "friendly_name get_friendly_name get_type_name",
    "InferRequest": "get_compiled_model input_tensors model_inputs model_outputs output_tensors",
    "PartialShape": "all_non_negative get_max_shape get_min_shape is_dynamic is_static rank to_string __len__",
    "Dimension": "get_max_length get_min_length is_dynamic is_static max_length min_length to_string __len__",
    "Shape": "to_string __len__ __repr__",
    "Type": "get_size get_type_name integral integral_number is_integral is_integral_number is_quantized is_real "
    "is_signed quantized real signed size to_string type_name",
    "Tensor": "byte_size element_type get_byte_size get_element_type get_shape get_size get_strides is_continuous "
    "shape size strides __repr__",
}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save y = relu(x) + z, also named v, and w = x z, of {2, 3}; z is int64."""
    x, z = opset.parameter([2, 3], np.float32, name="x"), opset.parameter([2, 3], np.int64, name="z")
    converted = opset.convert(z, "f32")
    y, w = opset.add(opset.relu(x), converted), opset.multiply(x, converted)
    y.output(0).set_names({"y", "v"})
    file = tmp_path_factory.mktemp("same") / "m.xml"
    theirs.save_model(theirs.Model([opset.result(y), opset.result(w)], [x, z], "two"), file, False)
    return file


def plain(value: Any) -> Any:
    """Return a result of either package as plain values."""
    kind = type(value).__name__
    if kind in ("Dimension", "PartialShape", "Shape"):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if kind == "Tensor":
        return value.data.tolist(), str(value.shape)
    if kind in ("ConstOutput", "Output"):
        return value.names, str(value.partial_shape)
    if kind == "CompiledModel":
        return plain(value.outputs)
    if kind == "Type":
        return value.get_type_name()
    return value.get_friendly_name() if hasattr(value, "get_friendly_name") else value


def agree(kind: str, mine: Any, their: Any) -> None:
    for name in MEMBERS[kind].split():
        found = []
        for one in (mine, their):
            try:
                member = getattr(one, name)
                found.append(plain(member() if callable(member) else member))
            except (RuntimeError, dml.DMLError):
                found.append("an error")
        assert found[0] == found[1], f"{kind}.{name} of {their!r}"


@pytest.mark.device
def test_models_and_requests(device: dml.Device, path: Path) -> None:
    read = [package.Core().read_model(path) for package in (ours, theirs)]
    names = (f"GPU.{device.vulkan.index}", "CPU")
    compiled = [package.compile_model(path, name) for package, name in zip((ours, theirs), names, strict=True)]
    requests = [one.create_infer_request() for one in compiled]
    for request, package in zip(requests, (ours, theirs), strict=True):
        x, z = package.Tensor(np.full((2, 3), -2, np.float32)), package.Tensor(np.full((2, 3), 5))
        request.set_tensors({"x": x, "z": z})
        request.set_output_tensors({1: package.Tensor(np.zeros((2, 3), np.float32))})
        request.infer()
    agree("Model", *read)
    agree("Model", *map(deepcopy, read))
    agree("CompiledModel", *compiled)
    agree("InferRequest", *requests)
    for number in (0, 1):
        for models in (read, compiled):
            agree("ConstOutput", *(model.input(number) for model in models))
            agree("ConstOutput", *(model.output(number) for model in models))
        agree("Node", *(model.input(number).node for model in compiled))
        for member in ("get_output_shape", "get_output_partial_shape", "get_output_element_type"):
            assert plain(getattr(read[0], member)(number)) == plain(getattr(read[1], member)(number))
    for model in read:
        model.set_friendly_name("three")
    agree("Model", *read)
    assert str(compiled[0]) == str(compiled[1])
    assert repr(requests[0]) == repr(requests[1])


@pytest.mark.parametrize("limits", [(), (3,), (1, 8), (0, 8), (2, -1), (0,)])
def test_dimensions(limits: tuple[int, ...]) -> None:
    mine, their = ours.Dimension(*limits), theirs.Dimension(*limits)
    agree("Dimension", mine, their)
    for other in (0, 3, 5):
        assert (mine == other) == (their == other)
    for second in ((), (3,), (5, 9)):
        assert mine.compatible(ours.Dimension(*second)) == their.compatible(theirs.Dimension(*second))


@pytest.mark.parametrize("sizes", [[1, -1, (2, 5)], [2, 3], [], "..8,2..,?"])
def test_partial_shapes(sizes: Any) -> None:
    mine, their = ours.PartialShape(sizes), theirs.PartialShape(sizes)
    agree("PartialShape", mine, their)
    if len(mine) == 3:
        for shape in (mine, their):
            shape[1] = 7
        assert str(mine) == str(their)
        assert (mine == [1, 7, 3]) == (their == theirs.PartialShape([1, 7, 3]))
        assert str(mine.get_dimension(2)) == str(their.get_dimension(2))
    if mine.is_static:
        agree("Shape", mine.to_shape(), their.to_shape())


@pytest.mark.parametrize("name", [kind.value for kind in ours.Type])
def test_types(name: str) -> None:
    mine, their = getattr(ours.Type, name), getattr(theirs.Type, name)
    agree("Type", mine, their)
    for other in ("f32", "i8", "boolean"):
        assert mine.compatible(getattr(ours.Type, other)) == their.compatible(getattr(theirs.Type, other))


def test_tensors() -> None:
    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    for shared in (True, False):
        own = x.copy()
        mine, their = (package.Tensor(own, shared_memory=shared) for package in (ours, theirs))
        own[0, 0] = 7
        agree("Tensor", mine, their)
        assert plain(mine) == plain(their)
    assert np.array_equal(np.asarray(mine), their.data)
    copy(mine).data[0, 0] = deepcopy(mine).data[0, 0] = 9
    assert np.array_equal(mine.data, their.data)
