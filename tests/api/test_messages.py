"""Messages name the tensor or field at fault."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml import DMLError
from dml.graph.builder import Builder
from sample_descriptors import sample


def tensor(*sizes, **more):
    return dml.DML_BUFFER_TENSOR_DESC("FLOAT32", sizes, **more)


def refuses(message, call, *arguments, **named):
    with pytest.raises(DMLError) as caught:
        call(*arguments, **named)
    assert caught.value.message == message


X = np.ones((2, 3), np.float32)


@pytest.fixture
def added(device):
    """Compile a graph whose first input has a name and whose second has none."""
    x = tensor(2, 3)
    add = device.create_operator(dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(x, x, x))
    return device.compile_graph(
        dml.DML_GRAPH_DESC(
            InputCount=2,
            OutputCount=1,
            Nodes=[dml.DML_OPERATOR_GRAPH_NODE_DESC(add)],
            InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0, "x"), dml.DML_INPUT_GRAPH_EDGE_DESC(1, 0, 1)],
            OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        )
    )


def test_inputs_of_a_graph(added):
    known = "it has x, without a name by index 1"
    refuses(f"DML_GRAPH_DESC: no input tensor 'y'; {known}", added.dispatch, {"y": X})
    refuses(f"DML_GRAPH_DESC: no input by index 2; {known}", added.dispatch, {2: X})
    refuses("DML_GRAPH_DESC: input 1: an array must be given", added.dispatch, {"x": X})
    refuses("DML_GRAPH_DESC: input 'x': an array must be given", added.dispatch, {1: X})
    short = "its sizes are (2, 3), found an array of shape (1, 3)"
    refuses(f"DML_GRAPH_DESC: input 1: {short}", added.dispatch, {0: X, 1: X[:1]})


@pytest.fixture
def owning(device):
    """Compile a GEMM without C, whose B is owned by DML."""
    x, w = tensor(1, 1, 4, 4), tensor(1, 1, 4, 4, Flags="OWNED_BY_DML")
    gemm = dml.DML_GEMM_OPERATOR_DESC(x, w, None, x, "NONE", "NONE", 1.0, 0.0, None)
    return device.compile_operator(device.create_operator(gemm))


def test_why_nothing_may_be_bound(device, owning):
    binding = dml.DML_BUFFER_BINDING(device.create_buffer(64), 0, 64)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(owning))
    here = "nothing may be bound here: "
    owned = "it has DML_TENSOR_FLAG_OWNED_BY_DML; bind it to the operator's initializer"
    refuses(f"GEMM.BTensor: {here}{owned}", table.bind_inputs, [binding, binding, None])
    left_out = "the description leaves this tensor out"
    refuses(f"GEMM.CTensor: {here}{left_out}", table.bind_inputs, [binding, None, binding])
    refuses(f"temporary resource: {here}the operator needs none", table.bind_temporary_resource, binding)
    initializer = device.create_operator_initializer([owning])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))
    alone = "an initializer takes tensors with DML_TENSOR_FLAG_OWNED_BY_DML alone; bind it at each dispatch"
    refuses(
        f"GEMM.ATensor: {here}{alone}",
        table.bind_inputs,
        [dml.DML_BUFFER_ARRAY_BINDING([binding, binding, None])],
    )


def test_a_number_in_an_arrays_place():
    x, y = tensor(1, 1, 2, 3), tensor(1, 1, 2, 1)
    with pytest.raises(DMLError, match=r"DML_REDUCE_OPERATOR_DESC.Axes: must be a sequence, found 3; .*AxisCount"):
        dml.DML_REDUCE_OPERATOR_DESC("SUM", x, y, 3)
    refuses(
        "DML_REDUCE_OPERATOR_DESC.AxisCount: must be 0, found 1: Axes has 0 item(s)",
        dml.DML_REDUCE_OPERATOR_DESC, "SUM", x, y, 1, (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "level", "more", "less"),
    [
        ("GEMM", "6_4", "ACTIVATION_SOFTMAX", "FOLD"),
        ("GEMM", "6_0", "ELEMENT_WISE_CLIP", "ACTIVATION_SOFTMAX"),
        ("CONVOLUTION", "5_0", "ACTIVATION_RELU", "ELEMENT_WISE_CLIP"),
    ],
)
def test_fusable_activations_are_listed(operator, level, more, less):
    desc = sample(operator).replace(FusedActivation=sample("ACTIVATION_HARD_SWISH"))
    with pytest.raises(DMLError, match=r"FusedActivation: must be an activation that can be fused") as caught:
        dml.validate(desc, level)
    listed = caught.value.message.partition("one of ")[2].partition(", found")[0].split(", ")
    assert more in listed
    assert less not in listed


@pytest.mark.parametrize(("start", "end", "field"), [((2, 3), (2, 3), "StartPadding"), ((0, 1), (0, 5), "EndPadding")])
def test_a_transposed_convolution_without_output_blames_the_padding(start, end, field):
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor(1, 1, 4, 4), FilterTensor=tensor(1, 1, 3, 3), OutputTensor=tensor(1, 1, 2, 1),
        Mode="CROSS_CORRELATION", Direction="BACKWARD", Strides=(1, 1), Dilations=(1, 1), StartPadding=start,
        EndPadding=end, OutputPadding=(0, 0), GroupCount=1,
    )  # fmt: skip
    with pytest.raises(DMLError) as caught:
        dml.validate(desc)
    assert caught.value.message.startswith(
        f"CONVOLUTION.{field}: must leave at least one of the 6 elements that the window covers in dimension 3: "
        f"StartPadding and EndPadding take {start[1]} and {end[1]}, found "
    )


def test_a_graph_builders_names(device):
    graph = Builder(device)
    x = graph.input("x", (2, 3))
    compiled = graph.compile({"y": x + 1.0})
    refuses("DML_GRAPH_DESC: no input tensor 'X'; it has x", compiled.dispatch, {"X": X})
