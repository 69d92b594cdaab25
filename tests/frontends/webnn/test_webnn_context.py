"""Contexts, tensors and graphs of the WebNN front end: contents, errors and lifetimes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from webnn_graphs import described, dispatch

import dml
from dml.compiler.target import DeviceClass, Target
from dml.errors import HRESULT, DMLError
from dml.frontends.webnn import MLGraphBuilder, MLOperandDescriptor, MLTensorDescriptor, create_context
from dml.frontends.webnn.graph import KEPT_RECORDINGS

VECTOR = MLOperandDescriptor("float32", (3,))


@pytest.fixture
def context(device):
    made = create_context(device)
    yield made
    made.destroy()


def tensor(context, values=None, *, kind="float32", shape=(3,)):
    made = context.create_tensor(MLTensorDescriptor(kind, shape, readable=True, writable=True))
    if values is not None:
        context.write_tensor(made, np.asarray(values, kind).reshape(shape))
    return made


def accumulator(context):
    """Return a graph with total = state + x."""
    builder = MLGraphBuilder(context)
    return builder.build({"total": builder.add(builder.input("state", VECTOR), builder.input("x", VECTOR))})


def refused(hresult, *args, words):
    with pytest.raises(DMLError) as caught:
        args[0](*args[1:])
    assert caught.value.hresult == hresult
    for word in words.split():
        assert word in caught.value.message, caught.value.message


def test_a_tensor_starts_as_zeros_and_keeps_written_values(context):
    for kind in ("float32", "float16", "int64", "uint64", "int8", "uint8"):
        made = tensor(context, kind=kind, shape=(5,))
        np.testing.assert_array_equal(context.read_tensor(made), np.zeros(5, kind))
        context.write_tensor(made, np.arange(5).astype(kind))
        np.testing.assert_array_equal(context.read_tensor(made), np.arange(5).astype(kind))
    scalar = tensor(context, 7, kind="int32", shape=())
    assert context.read_tensor(scalar).shape == ()
    assert context.read_tensor(scalar) == 7


def test_four_bit_elements_are_packed_two_per_byte(context):
    made = context.create_tensor(MLTensorDescriptor("int4", (3,), readable=True, writable=True))
    context.write_tensor(made, bytes([0x7F, 0x08]))
    np.testing.assert_array_equal(context.read_tensor(made).astype(int), [-1, 7, -8])


def test_data_must_match(context):
    made = tensor(context)
    wrong = HRESULT.E_INVALIDARG
    refused(wrong, context.write_tensor, made, np.zeros(4, np.float32), words="write_tensor 3 4")
    refused(wrong, context.write_tensor, made, np.zeros(3, np.int32), words="write_tensor float32 int32")
    refused(wrong, context.write_tensor, made, b"123", words="12 bytes 3")
    context.write_tensor(made, np.float32([1, 2, 3]).tobytes())
    np.testing.assert_array_equal(context.read_tensor(made), [1, 2, 3])
    closed = context.create_tensor(MLTensorDescriptor("float32", (3,)))
    refused(wrong, context.write_tensor, closed, np.zeros(3, np.float32), words="writable")
    refused(wrong, context.read_tensor, closed, words="readable")


@pytest.mark.parametrize(
    ("kind", "shape", "words"),
    [
        ("float64", (2,), "data_type float64"),
        ("float32", (2, 0), "size (2, 0)"),
        ("float32", (2**32,), "4294967295"),
        ("float32", (1,) * 9, "8 dimensions 9"),
        ("float32", (2**16, 2**14), "bytes"),
    ],
)
def test_descriptors_of_no_tensor(context, kind, shape, words):
    builder = MLGraphBuilder(context)
    refused(HRESULT.E_INVALIDARG, context.create_tensor, MLTensorDescriptor(kind, shape), words=words)
    refused(HRESULT.E_INVALIDARG, builder.input, "x", MLOperandDescriptor(kind, shape), words=words)


def test_states_stream_through_a_graph_without_the_host(context):
    graph = accumulator(context)
    states = tensor(context, [0, 0, 0]), tensor(context)
    x = tensor(context, [1, 2, 3])
    for step in range(10):
        context.dispatch(graph, {"state": states[step % 2], "x": x}, {"total": states[1 - step % 2]})
    np.testing.assert_array_equal(context.read_tensor(states[0]), [10, 20, 30])


def test_recordings_are_bounded_and_dropped_with_their_tensors(context):
    graph = accumulator(context)
    x, results = tensor(context, [1, 1, 1]), [tensor(context) for _ in range(KEPT_RECORDINGS + 3)]
    for result in results:
        context.dispatch(graph, {"state": tensor(context, [1, 2, 3]), "x": x}, {"total": result})
    assert len(graph._recorded) == KEPT_RECORDINGS
    for result in results:
        np.testing.assert_array_equal(context.read_tensor(result), [2, 3, 4])
    x.destroy()
    assert len(graph._recorded) == 0


def test_dispatch_wants_each_tensor_once_as_described(context, device):
    graph = accumulator(context)
    a, b, c = (tensor(context) for _ in range(3))
    wrong = HRESULT.E_INVALIDARG
    refused(wrong, context.dispatch, graph, {"state": a}, {"total": c}, words="inputs state x")
    refused(wrong, context.dispatch, graph, {"state": a, "x": b, "y": c}, {"total": c}, words="given once")
    refused(wrong, context.dispatch, graph, {"state": a, "x": a}, {"total": c}, words="given once")
    refused(wrong, context.dispatch, graph, {"state": a, "x": b}, {"total": a}, words="given once")
    other = tensor(context, shape=(1, 3))
    refused(wrong, context.dispatch, graph, {"state": a, "x": other}, {"total": c}, words="'x' (3,) (1, 3)")
    second = create_context(device)
    refused(wrong, second.dispatch, graph, {}, {}, words="another context")
    refused(wrong, context.dispatch, graph, {"state": a, "x": tensor(second)}, {"total": c}, words="another context")
    constant = context.create_constant_tensor(VECTOR, np.zeros(3, np.float32))
    refused(wrong, context.dispatch, graph, {"state": a, "x": constant}, {"total": c}, words="constant")
    a.destroy()
    refused(
        HRESULT.DXGI_ERROR_INVALID_CALL, context.dispatch, graph, {"state": a, "x": b}, {"total": c}, words="destroyed"
    )


def test_destroyed_objects_are_unusable(device):
    context = create_context(device)
    graph, builder = accumulator(context), MLGraphBuilder(context)
    kept, (a, b, c) = tensor(context, [1, 2, 3]), (tensor(context) for _ in range(3))
    invalid = HRESULT.DXGI_ERROR_INVALID_CALL
    context.dispatch(graph, {"state": kept, "x": b}, {"total": c})
    graph.destroy()
    graph.destroy()
    np.testing.assert_array_equal(context.read_tensor(c), [1, 2, 3])
    refused(invalid, context.dispatch, graph, {"state": a, "x": b}, {"total": c}, words="graph destroyed")
    a.destroy()
    a.destroy()
    refused(invalid, context.read_tensor, a, words="destroyed")
    assert not context.is_lost
    context.destroy()
    context.destroy()
    assert context.lost is not None
    assert "destroy" in context.lost.message
    refused(invalid, context.read_tensor, c, words="destroyed")
    refused(invalid, context.create_tensor, MLTensorDescriptor("float32", (3,)), words="lost")
    refused(invalid, builder.input, "x", VECTOR, words="lost")
    refused(invalid, MLGraphBuilder, context, words="lost")
    assert not device.is_closed


def test_a_context_closes_the_device_it_opened(device):
    context = create_context(device.vulkan.name)
    context.destroy()
    assert context.device.is_closed
    refused(HRESULT.E_INVALIDARG, lambda: create_context(device, power_preference="auto"), words="power_preference")


def test_hints_choose_a_device_if_none_is_named(device, monkeypatch):
    """The hints choose among the machine's devices, and among simulated ones of other kinds."""
    opened = []
    monkeypatch.delenv("DML_VULKAN_DEVICE", raising=False)
    kinds = [DeviceClass.CPU, DeviceClass.DISCRETE, DeviceClass.INTEGRATED]
    pretended = [replace(device.vulkan, index=index, target=Target(kind)) for index, kind in enumerate(kinds)]
    monkeypatch.setattr("dml.frontends.webnn.context.list_devices", lambda: pretended)
    monkeypatch.setattr("dml.frontends.webnn.context.create_device", lambda which: opened.append(which) or device)
    for options in ({}, {"power_preference": "low-power"}, {"accelerated": False}, {"power_preference": "default"}):
        create_context(**options)
    create_context(1, accelerated=False)
    monkeypatch.setenv("DML_VULKAN_DEVICE", "0")
    create_context(power_preference="low-power")
    assert opened == [None, 2, 0, None, 1, None]


def test_constants(context):
    builder = MLGraphBuilder(context)
    data = np.float32([1, 2, 3])
    by_array, by_bytes = builder.constant(VECTOR, data), builder.constant(VECTOR, data.tobytes())
    data[:] = 9  # the graph keeps its own copy
    constant = builder.constant(context.create_constant_tensor(VECTOR, np.float32([10, 20, 30])))
    number = builder.constant("float32", 0.5)
    assert number.shape == ()
    total = builder.add(builder.add(by_array, by_bytes), builder.add(constant, number))
    (found,) = dispatch(context, builder.build({"total": total}), {}).values()
    np.testing.assert_array_equal(found, [12.5, 24.5, 36.5])


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("uint8", 300, 255), ("int8", -1.9, -1), ("int64", 2**62 + 1, 2**62 + 1), ("int32", np.nan, 0), ("uint8", -3, 0)],
)
def test_numbers_are_cast(context, kind, value, expected):
    builder = MLGraphBuilder(context)
    graph = builder.build({"y": builder.identity(builder.constant(kind, value))})
    assert dispatch(context, graph, {})["y"] == expected


def test_constants_must_match(context, device):
    builder = MLGraphBuilder(context)
    wrong = HRESULT.E_INVALIDARG
    refused(wrong, builder.constant, VECTOR, np.zeros(2, np.float32), words="3 2")
    refused(wrong, builder.constant, "int16", 1, words="data_type int16")
    refused(wrong, builder.constant, "float32", "1", words="number")
    refused(wrong, builder.constant, tensor(context), words="create_constant_tensor")
    other = create_context(device).create_constant_tensor(VECTOR, np.zeros(3, np.float32))
    refused(wrong, builder.constant, other, words="another context")


def test_building(context):
    builder = MLGraphBuilder(context)
    x = builder.input("x", VECTOR)
    y = builder.relu(x)
    wrong = HRESULT.E_INVALIDARG
    refused(wrong, builder.build, {}, words="needs at least one output")
    refused(wrong, builder.build, {"": y}, words="name")
    refused(wrong, builder.build, {"x": x}, words="'x' input")
    refused(wrong, MLGraphBuilder(context).build, {"y": y}, words="another builder")
    builder.input("unused", MLOperandDescriptor("int8", (2,)))
    graph = builder.build({"y": y, "again": y})
    assert list(graph.inputs) == ["x"]
    found = dispatch(context, graph, {"x": np.float32([-1, 0, 2])})
    np.testing.assert_array_equal(found["y"], [0, 0, 2])
    np.testing.assert_array_equal(found["again"], [0, 0, 2])
    for call in (lambda: builder.build({"y": y}), lambda: builder.relu(x), lambda: builder.input("z", VECTOR)):
        refused(HRESULT.DXGI_ERROR_INVALID_CALL, call, words="built")


def test_two_inputs_of_one_name(context):
    builder = MLGraphBuilder(context)
    total = builder.add(builder.input("x", VECTOR), builder.input("x", VECTOR))
    refused(HRESULT.E_INVALIDARG, builder.build, {"y": total}, words="two inputs 'x'")


def test_a_deep_graph(context):
    builder = MLGraphBuilder(context)
    x = value = builder.input("x", VECTOR)
    for _ in range(1500):
        value = builder.add(value, x)
    found = dispatch(context, builder.build({"y": value}), {"x": np.float32([1, 2, 3])})
    np.testing.assert_array_equal(found["y"], [1501, 3002, 4503])


def test_weights_are_prepared_once(context):
    """Building a graph whose convolution has constant weights initializes its persistent resource."""
    builder = MLGraphBuilder(context)
    rng = np.random.default_rng(0)
    x, w, scale = (rng.uniform(-1, 1, s).astype(np.float32) for s in ((1, 2, 8, 8), (4, 2, 3, 3), (4,)))
    made = builder.conv2d(builder.input("x", described(x)), builder.constant(described(w), w))
    mean, variance = (builder.constant(described(scale), each) for each in (scale * 0, scale * 0 + 1))
    y = builder.batch_normalization(made, mean, variance, scale=builder.constant(described(scale), scale), epsilon=0)
    graph = builder.build({"y": y})
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
    expected = np.einsum("nchwij,kcij->nkhw", windows, w) * scale.reshape(1, 4, 1, 1)
    for _ in range(2):
        np.testing.assert_allclose(dispatch(context, graph, {"x": x})["y"], expected, rtol=1e-5, atol=1e-5)


def test_older_feature_levels_take_less(device):
    old = create_context(dml.Device(device.vulkan, dml.DML_FEATURE_LEVEL_2_0))
    builder = MLGraphBuilder(old)
    assert old.op_support_limits()["is_nan"]["a"].data_types == ("float32", "float16")
    assert old.op_support_limits()["gelu"]["input"].data_types == ()
    refused(HRESULT.E_INVALIDARG, builder.gelu, builder.input("x", VECTOR), words="gelu input float32")


def test_names_in_camel_case_are_told_those_here(context):
    builder = MLGraphBuilder(context)
    for of, name, hint in (
        (builder, "conv2D", "did you mean conv2d"),
        (builder, "averagePool2d", "did you mean average_pool2d"),
        (builder, "xyzzy", "'xyzzy'$"),
        (context, "createTensor", "did you mean create_tensor"),
        (context, "compute", "did you mean dispatch"),
        (context, "__wrapped__", "'__wrapped__'$"),
    ):
        with pytest.raises(AttributeError, match=hint):
            getattr(of, name)
