"""NumPy arrays of every kind at every entry point: taken as their values, or refused with tensor name and rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import dml
import dml.frontends.genai as genai
import dml.frontends.onnx as ort
import dml.frontends.openvino as ov
import dml.frontends.pydirectml as pydml
import dml.frontends.webnn as webnn
from dml.frontends.onnx.run.backend import Backend
from dml.graph import Builder
from dml.graph import operations as op

X = np.arange(6, dtype=np.float32).reshape(2, 3)
TENSOR = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", X.shape)


def dispatched(device: dml.Device, array: Any) -> Any:
    relu = device.create_operator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(TENSOR, TENSOR))
    return device.compile_operator(relu).dispatch({"InputTensor": array})["OutputTensor"]


def in_a_graph(device: dml.Device, array: Any) -> Any:
    graph = Builder(device)
    return graph.compile({"y": op.relu(graph.input("x", X.shape))}).dispatch({"x": array})["y"]


def as_a_constant(device: dml.Device, array: Any) -> Any:
    graph = Builder(device)
    return graph.compile({"y": op.identity(graph.constant(array))}).dispatch({})["y"]


def as_an_operand(device: dml.Device, array: Any) -> Any:
    graph = Builder(device)
    return graph.compile({"y": graph.input("x", X.shape) + array}).dispatch({"x": np.zeros_like(X)})["y"]


def in_a_buffer(device: dml.Device, array: Any) -> Any:
    return device.create_buffer(array).read(np.float32).reshape(X.shape)


def written(device: dml.Device, array: Any) -> Any:
    buffer = device.create_buffer(X.nbytes)
    buffer.write(array)
    return buffer.read(np.float32).reshape(X.shape)


def on_the_device(device: dml.Device, array: Any) -> Any:
    return np.asarray(device.to_device(array))


def in_a_session(device: dml.Device, array: Any) -> Any:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, X.shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString(), device=device).run(None, {"x": array})[0]


def as_an_ort_value(device: dml.Device, array: Any) -> Any:
    return ort.OrtValue.ortvalue_from_numpy(array).numpy()


def in_openvino(device: dml.Device, array: Any) -> Any:
    return ov.Tensor(array).data


def in_genai(device: dml.Device, array: Any) -> Any:
    return genai.Tensor(array).as_numpy()


def in_pydirectml(device: dml.Device, array: Any) -> Any:
    return np.asarray(pydml.TensorData(array))


def in_webnn(device: dml.Device, array: Any) -> Any:
    context = webnn.create_context(device)
    tensor = context.create_tensor(webnn.MLTensorDescriptor("float32", X.shape, writable=True, readable=True))
    context.write_tensor(tensor, array)
    return context.read_tensor(tensor)


#: How the messages of each entry point begin.
ENTRY_POINTS: dict[Callable[[dml.Device, Any], Any], str] = {
    dispatched: "ACTIVATION_RELU.InputTensor: ",
    in_a_graph: "DML_GRAPH_DESC: input 'x': ",
    as_a_constant: "Builder.constant: ",
    as_an_operand: "Builder.constant: ",
    in_a_buffer: "Device.create_buffer: ",
    written: "Buffer.write: ",
    on_the_device: "Device.to_device: ",
    in_a_session: "input 'x': ",
    as_an_ort_value: "OrtValue: ",
    in_openvino: "Tensor: ",
    in_genai: "Tensor: ",
    in_pydirectml: "pydirectml.TensorData: ",
    in_webnn: "MLContext.write_tensor: ",
}


@pytest.mark.parametrize("enter", ENTRY_POINTS)
def test_layouts_and_byte_orders_are_no_matter(device: dml.Device, enter: Callable[[dml.Device, Any], Any]) -> None:
    read_only = X.copy()
    read_only.flags.writeable = False
    for array in (
        X.astype(">f4"),
        np.asfortranarray(X),
        np.repeat(X, 2, 1)[:, ::2],
        np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        read_only,
    ):
        np.testing.assert_array_equal(enter(device, array), X)
    np.testing.assert_array_equal(enter(device, np.broadcast_to(np.float32(3), X.shape)), np.full_like(X, 3))


@pytest.mark.parametrize("enter", ENTRY_POINTS)
@pytest.mark.parametrize("dtype", [object, str, complex, "M8[s]", np.longdouble])
def test_other_types_are_refused(device: dml.Device, enter: Callable[[dml.Device, Any], Any], dtype: Any) -> None:
    array = X.astype(np.int64).astype(dtype) if dtype == "M8[s]" else X.astype(dtype)
    with pytest.raises(dml.DMLError) as error:
        enter(device, array)
    assert str(error.value).startswith(ENTRY_POINTS[enter]), str(error.value)
    assert str(array.dtype) in str(error.value)


@pytest.mark.parametrize("enter", ENTRY_POINTS)
def test_masks_are_not_dropped(device: dml.Device, enter: Callable[[dml.Device, Any], Any]) -> None:
    """A masked array whose mask hides no element has all of its values."""
    np.testing.assert_array_equal(enter(device, np.ma.masked_greater(X, 9)), X)
    with pytest.raises(dml.DMLError) as error:
        enter(device, np.ma.masked_greater(X, 3))
    assert str(error.value).startswith(ENTRY_POINTS[enter]), str(error.value)
    assert "found a masked array of float32 with 2 of 6 masked" in str(error.value)


def test_masks_of_one_node(device: dml.Device) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    np.testing.assert_array_equal(Backend.run_node(relu, [X], device)[0], X)
    with pytest.raises(dml.DMLError, match=r"input 0: .* with 2 of 6 masked"):
        Backend.run_node(relu, [np.ma.masked_greater(X, 3)], device)


def test_a_masked_number_is_refused(device: dml.Device) -> None:
    x = Builder(device).input("x", X.shape)
    for make in (lambda: x + np.ma.masked, lambda: np.add(np.ma.masked, x)):
        with pytest.raises(dml.DMLError, match="with 1 of 1 masked"):
            make()


def test_numbers_among_integers(device: dml.Device) -> None:
    """A number that a tensor's type cannot hold is refused; NumPy would widen the type, and C drop the fraction."""
    graph = Builder(device)
    x = graph.input("x", (3,), "INT32")
    small = graph.input("small", (3,), "UINT8")
    for make in (
        lambda: x + 0.5,
        lambda: 1.5 * x,
        lambda: x >= 2.5,
        lambda: x + float("nan"),
        lambda: x - np.float64(0.1),
    ):
        with pytest.raises(dml.DMLError, match="operand: must be an integer, like the tensor's elements, found"):
            make()
    for make in (lambda: x + 2**40, lambda: small + 300, lambda: small - -1):
        with pytest.raises(dml.DMLError, match=r"operand: .* is outside the range of DML_TENSOR_DATA_TYPE_"):
            make()
    found = graph.compile({"y": x * 2.0 + 1, "z": small + 250}).dispatch(
        {"x": np.array([1, -2, 3], np.int32), "small": np.array([1, 2, 3], np.uint8)}
    )
    np.testing.assert_array_equal(found["y"], [3, -3, 7])
    np.testing.assert_array_equal(found["z"], [251, 252, 253])


def test_inputs_that_no_output_needs_keep_their_names(device: dml.Device) -> None:
    graph = Builder(device)
    x = graph.input("x", (3,))
    graph.input("unused", (3,))
    compiled = graph.compile({"y": x + 1})
    given = np.ones(3, np.float32)
    with pytest.raises(dml.DMLError, match="no input tensor 'z'; it has x, unused"):
        compiled.dispatch({"x": given, "z": given})
    with pytest.raises(dml.DMLError, match=r"input 'unused': takes no array: .* no output depends on it"):
        compiled.dispatch({"x": given, "unused": given})
    np.testing.assert_array_equal(compiled.dispatch({"x": given})["y"], 2)
