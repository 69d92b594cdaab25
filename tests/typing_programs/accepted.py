"""Programs that run, in which type checkers find no faults. (tests/test_type_checkers.py runs the checkers and this
file.)"""

import dataclasses

import numpy as np

import dml
from dml.graph import Builder
from dml.graph import operations as op


def tensors() -> None:
    """Fields by position in the short order, by position in C's order, and by keyword; enumerators by name and by
    number; sizes as any sequence."""
    short = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", [1, 1, 2, 3], [6, 6, 3, 1])
    in_c = dml.DML_BUFFER_TENSOR_DESC(
        dml.DML_TENSOR_DATA_TYPE_FLOAT32, dml.DML_TENSOR_FLAG_NONE, 4, (1, 1, 2, 3), (6, 6, 3, 1), 24, 0
    )
    by_name = dml.DML_BUFFER_TENSOR_DESC(DataType=1, Sizes=np.array([1, 1, 2, 3]), Strides=(6, 6, 3, 1), Flags="NONE")
    assert short == in_c == by_name
    sizes: tuple[int, ...] = short.Sizes
    assert dataclasses.replace(short, Sizes=(4, 6), Strides=None).TotalTensorSizeInBytes == 96
    assert sizes == (1, 1, 2, 3)


def convolution(device: dml.Device) -> None:
    """A convolution by name, with lists and the names of enumerators."""
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 4, 4))
    w = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 3, 3))
    y = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 2))
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        x, w, OutputTensor=y, Mode="CROSS_CORRELATION", Direction="FORWARD", Strides=[1, 1], Dilations=[1, 1],
        StartPadding=[0, 0], EndPadding=[0, 0], OutputPadding=[0, 0], GroupCount=1,
    )  # fmt: skip
    mode: dml.DML_CONVOLUTION_MODE = desc.Mode
    assert mode is dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION
    operator: dml.Operator = device.create_operator(desc)
    compiled: dml.CompiledOperator = device.compile_operator(operator)
    assert compiled.label == "CONVOLUTION"


def positions(device: dml.Device) -> None:
    """Fields in C's order, with the counts before arrays and without them."""
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 3))
    y = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 1))
    assert dml.DML_REDUCE_OPERATOR_DESC("SUM", x, y, [3]) == dml.DML_REDUCE_OPERATOR_DESC("SUM", x, y, 1, [3])
    product = dml.DML_GEMM_OPERATOR_DESC(x, x, None, y, "NONE", dml.DML_MATRIX_TRANSFORM_TRANSPOSE, 1.0, 0.0, None)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    added = dml.DML_ELEMENT_WISE_ADD1_OPERATOR_DESC(x, x, x, relu)
    joined = dml.DML_JOIN_OPERATOR_DESC([x, x], dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 4, 3)), 2)
    for desc in (added, joined):
        dml.validate(desc, "5_1")
    assert product.TransB == 1
    assert isinstance(
        device.create_operator(dml.DML_OPERATOR_DESC(dml.DML_OPERATOR_ELEMENT_WISE_ADD1, added)), dml.Operator
    )


def graph_in_cs_words(device: dml.Device) -> None:
    """Bare nodes and edges, and wrapped ones."""
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (4,))
    exp = device.create_operator(dml.DML_ELEMENT_WISE_EXP_OPERATOR_DESC(x, x))
    root = device.create_operator(dml.DML_ELEMENT_WISE_SQRT_OPERATOR_DESC(InputTensor=x, OutputTensor=x))
    desc = dml.DML_GRAPH_DESC(
        InputCount=1,
        OutputCount=1,
        Nodes=[
            dml.DML_OPERATOR_GRAPH_NODE_DESC(exp),
            dml.DML_GRAPH_NODE_DESC("OPERATOR", dml.DML_OPERATOR_GRAPH_NODE_DESC(root)),
        ],
        InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        IntermediateEdges=[dml.DML_INTERMEDIATE_GRAPH_EDGE_DESC(0, 0, 1, 0)],
        OutputEdges=[dml.DML_OUTPUT_GRAPH_EDGE_DESC(1, 0, 0)],
    )
    assert desc.NodeCount == 2
    again = dml.DML_GRAPH_DESC(1, 1, 2, desc.Nodes, 1, desc.InputEdges, 1, desc.OutputEdges, 1, desc.IntermediateEdges)
    (y,) = device.compile_graph(again).dispatch({0: np.zeros(4, np.float32)}).values()
    np.testing.assert_array_equal(y, 1)
    constant = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(np.zeros(4, np.float32))
    assert constant.DataSize == 16


def binding(device: dml.Device) -> None:
    """HelloDirectML: initialize, bind, record, execute, read back."""
    x = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", [1, 2, 3, 4])
    identity = dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(x, x)
    flags = dml.DML_EXECUTION_FLAG_NONE
    compiled = device.compile_operator(device.create_operator(identity), flags)
    initializer = device.create_operator_initializer([compiled])
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer, None, None, 16))
    recorder, commands = device.create_command_recorder(), device.create_command_list()
    recorder.record_dispatch(commands, initializer, table)
    table.reset(dml.DML_BINDING_TABLE_DESC(compiled, SizeInDescriptors=16))
    given, result = device.create_buffer(np.arange(24, dtype=np.float32)), device.create_buffer(96)
    table.bind_inputs([dml.DML_BINDING_DESC("BUFFER", dml.DML_BUFFER_BINDING(given, 0, given.size))])
    table.bind_outputs([dml.DML_BUFFER_BINDING(result)])
    recorder.record_dispatch(commands, compiled, table)
    fence: dml.Fence = device.execute_command_lists([commands], wait=False)
    assert fence.wait()
    np.testing.assert_array_equal(np.frombuffer(result.read(), np.float32), np.arange(24))


def expressions(device: dml.Device) -> None:
    """The builder: NumPy's operators, functions with their parameters, a compiled graph of a known type."""
    graph = Builder(device)
    x = graph.input("x", (2, 3))
    y = op.softmax(op.leaky_relu(x * 2 + 1, 0.1), [1])
    large = (y > 0.5) | (x == 0)
    z = op.if_(large, np.exp(y), 0.0)[:, 1:]
    bits = x.view(data_type="UINT32") | graph.constant([0], "UINT32")
    total = op.reduce(x, "SUM", [1])
    wide = op.upsample_2d(graph.input("image", (1, 1, 2, 2), "FLOAT16"), 2, 2, "NEAREST_NEIGHBOR")
    assert (bits.sizes, total.sizes, wide.sizes) == ((2, 3), (2, 1), (1, 1, 4, 4))
    compiled: dml.CompiledOperator = graph.compile({"z": z})
    found = compiled.dispatch({"x": np.zeros((2, 3), np.float32)})["z"]
    assert found.shape == (2, 2)


def support() -> None:
    found = dml.operator_support("GRU", "3_0")
    assert found is not None
    tensor: dml.TensorSupport = found["InputTensor"]
    assert tensor.kind == "input"
    level = dml.DML_FEATURE_LEVEL_6_4
    assert dml.validate(dml.DML_FILL_VALUE_CONSTANT_OPERATOR_DESC(
        dml.DML_BUFFER_TENSOR_DESC("INT32", (2,)), "INT32", dml.DML_SCALAR_UNION(Int32=3)
    ), level) is None  # fmt: skip


def main(device: dml.Device | None = None) -> None:
    device = device or dml.create_device()
    tensors()
    support()
    for program in (convolution, positions, graph_in_cs_words, binding, expressions):
        program(device)
