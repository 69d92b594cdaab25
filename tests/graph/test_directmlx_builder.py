"""Features of DirectMLX's Graph in Builder: policies, name scopes, flags, reinterpreted views; constants as outputs."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from expressions import evaluate
from hypothesis import given, settings
from hypothesis import strategies as st

import dml
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from dml.graph.policies import interleaved_channel, packed

Array = npt.NDArray[Any]
RNG = np.random.default_rng(7)
UINT32, FLOAT32 = dml.DML_TENSOR_DATA_TYPE_UINT32, dml.DML_TENSOR_DATA_TYPE_FLOAT32


def random(*sizes: int) -> Array:
    return RNG.uniform(-1, 1, sizes).astype(np.float32)


def near(found: Array, expected: Any) -> None:
    """Compare within the error of sums of a few dozen float32 products of values below 1."""
    assert found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


# --- views of other data types ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("optimize", [True, False])
def test_a_view_as_another_data_type_reads_the_bits(device: Any, optimize: bool) -> None:
    """Views of another data type between fused element-wise operators, after a matrix product, of an input, and as an
    output."""
    x, w = random(6, 8), random(8, 8)
    graph = Builder(device)
    t, weights = graph.input("x", x.shape), graph.constant(w)
    bits = (t * 2.0).view(data_type=UINT32)
    outputs = {
        "cleared sign": (bits & 0x7FFFFFFF).view(data_type=FLOAT32) + 1.0,
        "product": op.gemm(t, weights).view(data_type=UINT32) >> 1,
        "input": t.view(data_type=UINT32),
        "halves": t.view((6, 16), data_type=dml.DML_TENSOR_DATA_TYPE_UINT16),
        "columns": (t + 1.0).view((8, 6), (1, 8), data_type=UINT32) | 0,
    }
    found = graph.compile(outputs, optimize=optimize).dispatch({"x": x})
    np.testing.assert_array_equal(found["cleared sign"], np.abs(x * 2) + 1)
    product = evaluate(device, {"x": x}, lambda t: {"y": op.gemm(t, w)})["y"]
    np.testing.assert_array_equal(found["product"], product.view(np.uint32) >> 1)
    np.testing.assert_array_equal(found["input"], x.view(np.uint32))
    np.testing.assert_array_equal(found["halves"], x.view(np.uint16))
    np.testing.assert_array_equal(found["columns"], (x + np.float32(1)).view(np.uint32).T)


def test_a_view_reaches_no_further_than_its_tensor(device: Any) -> None:
    x = Builder(device).input("x", (3, 5), dml.DML_TENSOR_DATA_TYPE_FLOAT16)
    with pytest.raises(dml.DMLError, match="reach 60 bytes, the tensor has 32"):
        x.view(data_type=FLOAT32)


@pytest.mark.parametrize("whole", [False, True])
def test_a_view_of_a_part(device: Any, whole: bool) -> None:
    """An input that only a part's view reads, or the whole first, keeps its size."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    graph = Builder(device)
    t = graph.input("x", x.shape)
    outputs = {"whole": t + 2.0} if whole else {}
    found = graph.compile({**outputs, "part": t.view((3, 3), (4, 1)) + 1.0}).dispatch({"x": x})
    np.testing.assert_array_equal(found["part"], x[:, :3] + 1)


@settings(max_examples=15)
@given(
    kinds=st.lists(
        st.sampled_from(["float32", "int32", "uint32", "float16", "uint16", "uint8"]), min_size=1, max_size=4
    ),
    optimize=st.booleans(),
)
def test_views_in_a_chain(device: Any, kinds: list[str], optimize: bool) -> None:
    """After each view, operators change the integers' bits or copy the floats."""
    # bytes that form normal numbers in every type
    words = RNG.integers(0x3C, 0x40, (4, 32)).astype(np.uint8).view(np.uint32)
    graph = Builder(device)
    t, expected = graph.input("x", words.shape, UINT32), words
    for kind in kinds:
        dtype = np.dtype(kind)
        sizes = (4, 8 * 4 // dtype.itemsize)
        t, expected = t.view(sizes, data_type=dml.data_type_of(dtype)), expected.view(dtype)
        if dtype.kind == "f":
            t = op.identity(t)
        else:
            t, expected = ~t, ~expected
            t, expected = ~t, ~expected
            t, expected = t ^ 1, expected ^ dtype.type(1)
    (found,) = graph.compile([t], optimize=optimize).dispatch({"x": words}).values()
    np.testing.assert_array_equal(found.view(np.uint8), np.ascontiguousarray(expected).view(np.uint8))


# --- tensor policies --------------------------------------------------------------------------------------------------


def network(x: Tensor, w: Array, bias: Array) -> dict[str, Tensor]:
    hidden = op.relu(op.convolution(x, w, bias, start_padding=(1, 1), end_padding=(1, 1)))
    values, places = op.max_pooling_with_indices(hidden, (2, 2), strides=(2, 2))
    parts = op.split(hidden, 1, [2, 4])
    return {
        "hidden": hidden,
        "values": values,
        "places": places,
        "flat": hidden.reshape(2, -1) + 1.0,
        "first": parts[0] * 2.0,
        "means": op.reduce(hidden, dml.DML_REDUCE_FUNCTION_AVERAGE, [2, 3]),
    }


@pytest.mark.parametrize("optimize", [True, False])
def test_a_policy_moves_elements_and_changes_none(device: Any, optimize: bool) -> None:
    x, w, bias = random(2, 3, 6, 8), random(6, 3, 3, 3), random(6)
    found = {}
    for policy in (None, packed, interleaved_channel):
        graph = Builder(device, tensor_policy=policy)
        outputs = network(graph.input("x", x.shape), w, bias)
        compiled = graph.compile(outputs, optimize=optimize)
        found[policy] = compiled.dispatch({"x": x})
        if policy is interleaved_channel:
            assert outputs["hidden"].desc.Strides == dml.nhwc_strides((2, 6, 6, 8))
            assert outputs["means"].desc.Strides == (6, 1, 6, 6)
            assert outputs["flat"].desc.is_packed
    for name, expected in found[None].items():
        np.testing.assert_array_equal(found[packed][name], expected)
        near(found[interleaved_channel][name], expected)


def test_an_output_has_the_policys_layout(device: Any) -> None:
    """The bytes of the bound output buffer have the policy's layout."""
    x = random(1, 3, 4, 5)
    graph = Builder(device, tensor_policy=interleaved_channel)
    t = graph.input("x", x.shape)
    compiled = graph.compile({"computed": op.sqrt(op.absolute(t)), "copied": t})
    buffers = [device.create_buffer(x), *(device.create_buffer(x.nbytes) for _ in range(2))]
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled, 16))
    bindings = [dml.DML_BUFFER_BINDING(buffer, 0, x.nbytes) for buffer in buffers]
    table.bind_inputs(bindings[:1])
    table.bind_outputs(bindings[1:])
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    device.execute_command_lists([commands])
    computed, copied = (np.frombuffer(buffer.read(), np.float32).reshape(1, 4, 5, 3) for buffer in buffers[1:])
    np.testing.assert_array_equal(copied, np.moveaxis(x, 1, -1))
    near(computed, np.sqrt(np.abs(np.moveaxis(x, 1, -1))))


def test_a_policy_may_change_between_operators_and_sizes_grow(device: Any) -> None:
    def roomy(data_type: Any, flags: Any, sizes: tuple[int, ...]) -> dml.DML_BUFFER_TENSOR_DESC:
        size = dml.calc_buffer_tensor_size(data_type, sizes) + 64
        return dml.DML_BUFFER_TENSOR_DESC(data_type, sizes, None, size, 16, flags)

    x = random(2, 3)
    graph = Builder(device, tensor_policy=roomy)
    first = graph.input("x", x.shape) + 1.0
    assert (first.desc.TotalTensorSizeInBytes, first.desc.GuaranteedBaseOffsetAlignment) == (24 + 64, 16)
    graph.tensor_policy = None
    second = first * 2.0
    assert second.desc.TotalTensorSizeInBytes == 24
    np.testing.assert_array_equal(graph.compile({"y": second}).dispatch({"x": x})["y"], (x + 1) * 2)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (lambda data_type, flags, sizes: None, "must return a DML_BUFFER_TENSOR_DESC, found None"),
        (lambda data_type, flags, sizes: dml.DML_BUFFER_TENSOR_DESC(data_type, (1,)), r"must keep .* sizes \(2, 3\)"),
    ],
)
def test_a_policy_that_answers_something_else_is_refused(device: Any, policy: Any, message: str) -> None:
    graph = Builder(device, tensor_policy=policy)
    x = graph.input("x", (2, 3))
    with pytest.raises(dml.DMLError, match=message):
        _ = x + 1.0


# --- names, flags, inputs ---------------------------------------------------------------------------------------------


def test_name_scopes_name_nodes(device: Any) -> None:
    graph = Builder(device)
    x = graph.input("x", (2, 3))
    with graph.name_scope("encoder"):
        y = op.exp(x)
        with graph.name_scope("layer0"):
            z = graph.node(
                dml.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC,
                {"OutputTensor": y.desc},
                "root",
                InputTensor=y,
                ScaleBias=None,
            )["OutputTensor"]
    w = op.log(z)
    names = [node.Desc.Name for node in graph.build({"w": w}).Nodes]
    assert names == ["encoder", "encoder_layer0_root", None]
    with pytest.raises(RuntimeError), graph.name_scope("gone"):
        raise RuntimeError
    op.exp(x)
    assert graph._scopes == []


def test_compile_takes_execution_flags(device: Any) -> None:
    graph = Builder(device)
    outputs = {"y": graph.input("x", (2, 3)) + 1.0}
    volatile = dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
    assert graph.compile(outputs, volatile | dml.DML_EXECUTION_FLAG_DISABLE_META_COMMANDS).binds_late
    assert not graph.compile(outputs).binds_late
    with pytest.raises(dml.DMLError, match="flags"):
        graph.compile(outputs, 1 << 20)


def test_more_inputs_than_the_graph_has(device: Any) -> None:
    x = random(2, 3)
    graph = Builder(device)
    outputs = {"y": graph.input("x", x.shape) + 1.0}
    compiled = graph.compile(outputs, input_count=3)
    np.testing.assert_array_equal(compiled.dispatch({"x": x})["y"], x + 1)
    with pytest.raises(dml.DMLError, match="input_count must be at least the graph's 1, found 0"):
        graph.compile(outputs, input_count=0)


@pytest.mark.parametrize("call", ["compile", "build"])
def test_a_tensor_of_another_builder_is_refused(device: Any, call: str) -> None:
    other = Builder(device).input("x", (2, 3))
    graph = Builder(device)
    for outputs in ({"y": other}, [other], {"y": other + 1.0}):
        with pytest.raises(dml.DMLError, match="another Builder"):
            getattr(graph, call)(outputs)


# --- operators' arguments ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("direction", "chosen"), [("INCREASING", (1, 3, 5)), ("DECREASING", (0, 2, 4))])
def test_resample_rounds_halves_in_a_direction(device: Any, direction: str, chosen: tuple[int, ...]) -> None:
    """Every output's coordinate is halfway between two pixels."""
    x = random(1, 1, 1, 6)
    nearest = dml.DML_INTERPOLATION_MODE_NEAREST_NEIGHBOR
    found = evaluate(
        device,
        {"x": x},
        lambda t: {"y": op.resample(t, (1, 1, 1, 3), nearest, rounding_direction=f"DML_AXIS_DIRECTION_{direction}")},
    )["y"]
    np.testing.assert_array_equal(found[0, 0, 0], x[0, 0, 0, list(chosen)])


def test_resample_uses_the_oldest_operator_that_will_do(device: Any) -> None:
    x = random(1, 1, 2, 12)
    graph = Builder(device)
    t = graph.input("x", x.shape)
    increasing = dml.DML_AXIS_DIRECTION_INCREASING
    made = {
        1: op.resample(t, (1, 1, 2, 3)),
        2: op.resample(t, (1, 1, 2, 3), rounding_direction=increasing),
        3: op.resample(t, (1, 1, 2, 3), antialiased=True),
    }
    for number, tensor in made.items():
        name = type(graph._nodes[tensor.source[1]].Operator.desc).__name__
        assert name == f"DML_RESAMPLE{number}_OPERATOR_DESC"
    found = graph.compile({"y": made[3]}).dispatch({"x": x})["y"]
    weights = np.array([1, 3, 5, 7, 7, 5, 3, 1]) / 32  # a triangle filter four pixels wide, sampled between pixels
    near(found[0, 0, :, 1], x[0, 0, :, 2:10] @ weights)


def test_resample_grad_takes_scales_and_offsets(device: Any) -> None:
    """The gradient is the transpose of resample with the same arguments."""
    given: dict[str, Any] = {
        "scales": (1.0, 1.0, 1.0, 2.0), "input_pixel_offsets": (0.0,) * 4, "output_pixel_offsets": (0.0,) * 4,
    }  # fmt: skip
    linear = dml.DML_INTERPOLATION_MODE_LINEAR
    unit = np.eye(4, dtype=np.float32).reshape(4, 1, 1, 4)
    forward = evaluate(device, {"x": unit}, lambda t: {"y": op.resample(t, (4, 1, 1, 7), linear, **given)})["y"]
    gradient = random(1, 1, 1, 7)
    found = evaluate(device, {"g": gradient}, lambda t: {"y": op.resample_grad(t, (1, 1, 1, 4), linear, **given)})["y"]
    near(found.ravel(), forward.reshape(4, 7) @ gradient.ravel())


def test_convolution_flips_its_window_by_its_mode(device: Any) -> None:
    x, w = random(1, 2, 5, 6), random(3, 2, 2, 3)
    convolution = dml.DML_CONVOLUTION_MODE_CONVOLUTION
    flipped = np.ascontiguousarray(w[:, :, ::-1, ::-1])

    def make(t: Tensor) -> dict[str, Tensor]:
        back = np.ascontiguousarray(flipped.transpose(1, 0, 2, 3))
        return {
            "flipped": op.convolution(t, w, mode=convolution, output_sizes=(4, 4)),
            "plain": op.convolution(t, flipped),
            "back flipped": op.transposed_convolution(t, w.transpose(1, 0, 2, 3), mode=convolution),
            "back": op.transposed_convolution(t, back),
        }

    found = evaluate(device, {"x": x}, make)
    near(found["flipped"], found["plain"])
    near(found["back flipped"], found["back"])
    with pytest.raises(dml.DMLError, match=r"output_sizes must be \(4, 4\), found \(5, 4\)"):
        evaluate(device, {"x": x}, lambda t: {"y": op.convolution(t, w, output_sizes=(5, 4))})


def test_normalization_without_its_mean(device: Any) -> None:
    x = random(2, 3, 4)
    found = evaluate(
        device, {"x": x}, lambda t: {"y": op.mean_variance_normalization(t, [2], normalize_mean=False, epsilon=1e-3)}
    )["y"]
    near(found, x / np.sqrt((x.astype(np.float64) ** 2).mean(2, keepdims=True) + 1e-3))


@pytest.mark.parametrize("symmetric", [True, False])
def test_quantize_and_dequantize_in_blocks(device: Any, symmetric: bool) -> None:
    x = random(4, 8)
    scale, zero = np.full((4, 2), 1 / 127, np.float32), np.array([[0, 1], [2, 3]] * 2, np.int8)
    kind = dml.DML_QUANTIZATION_TYPE_SCALE if symmetric else dml.DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT

    def make(t: Tensor) -> dict[str, Tensor]:
        parameters = [t.builder.constant(scale), *([] if symmetric else [t.builder.constant(zero)])]
        whole = op.quantize(t, parameters, kind, dml.DML_TENSOR_DATA_TYPE_INT8)
        return {"whole": whole, "back": op.dequantize(whole, parameters, kind)}

    found = evaluate(device, {"x": x}, make)
    zeros = 0 if symmetric else np.repeat(zero, 4, 1).astype(float)
    np.testing.assert_array_equal(found["whole"], np.clip(np.rint(x * 127) + zeros, -128, 127))
    near(found["back"], (found["whole"] - zeros) / 127)


# --- constants as outputs ---------------------------------------------------------------------------------------------


def constant_graph(device: Any, data: Any, *, reads: dml.DML_BUFFER_TENSOR_DESC | None = None) -> Any:
    nodes: list[Any] = [dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(bytes(data))]
    edges: list[Any] = [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0, "constant"), dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 1)]
    between = []
    if reads is not None:
        identity = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(reads, reads)
        nodes.append(dml.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(identity)))
        between.append(dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(0, 0, 1, 0))
        edges.append(dml.DML_OUTPUT_GRAPH_EDGE_DESC(1, 0, 2, "copy"))
    return dml.DML_GRAPH_DESC(0, len(edges), nodes, (), edges, between)


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("size", [1, 4, 5, 4096 + 3])
def test_a_constant_goes_straight_to_an_output(device: Any, size: int, optimize: bool) -> None:
    """A constant of bytes, without a data type, goes to several outputs."""
    data = RNG.integers(0, 256, size).astype(np.uint8)
    found = device.compile_graph(constant_graph(device, data), optimize=optimize).dispatch({})
    assert list(found) == ["constant", 1]
    for output in found.values():
        np.testing.assert_array_equal(output, data)


@pytest.mark.parametrize("optimize", [True, False])
def test_a_constant_that_is_read_as_well_has_its_readers_type(device: Any, optimize: bool) -> None:
    data = random(3, 4)
    reads = dml.DML_BUFFER_TENSOR_DESC(FLOAT32, (3, 4))
    found = device.compile_graph(constant_graph(device, data, reads=reads), optimize=optimize).dispatch({})
    for output in found.values():
        np.testing.assert_array_equal(output, data)


@pytest.mark.parametrize(("function", "other"), [(operator.eq, 1), (operator.ne, 1)])
def test_comparisons_with_numbers_are_operators(device: Any, function: Callable[..., Any], other: Any) -> None:
    x = np.array([[1, 2, 1]], np.float32)
    found = evaluate(device, {"x": x}, lambda t: {"y": function(t, other)})["y"]
    np.testing.assert_array_equal(found, function(x, other))
    with pytest.raises(dml.DMLError, match="neither true nor false"):
        bool(function(Builder(device).input("x", (1,)), other))
