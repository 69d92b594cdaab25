"""Representations: short in Python's prompt and in messages, tables in notebooks."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml import DMLError
from dml.graph import operations as op
from dml.graph.builder import Builder
from sample_descriptors import sample


def tensor(*sizes, **more):
    return dml.DML_BUFFER_TENSOR_DESC("FLOAT32", sizes, **more)


def test_a_tensor():
    assert repr(tensor(1, 3, 5, 5)) == "DML_BUFFER_TENSOR_DESC(FLOAT32, (1, 3, 5, 5))"
    assert repr(tensor(2, 3, Strides=(1, 2))) == "DML_BUFFER_TENSOR_DESC(FLOAT32, (2, 3), Strides=(1, 2))"
    more = tensor(2, 3, TotalTensorSizeInBytes=64, GuaranteedBaseOffsetAlignment=16, Flags="OWNED_BY_DML")
    assert repr(more).removeprefix("DML_BUFFER_TENSOR_DESC(FLOAT32, (2, 3), ") == (
        "TotalTensorSizeInBytes=64, GuaranteedBaseOffsetAlignment=16, Flags=OWNED_BY_DML)"
    )
    assert repr(dml.DML_BUFFER_TENSOR_DESC("UNKNOWN", ())) == "DML_BUFFER_TENSOR_DESC(UNKNOWN, ())"


def test_an_operator():
    x = tensor(1, 1, 2, 3)
    relu = dml.DML_ACTIVATION_RELU_OPERATOR_DESC()
    gemm = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=x, BTensor=x, OutputTensor=tensor(1, 1, 2, 2), TransA="NONE", TransB="TRANSPOSE", Alpha=1.5, Beta=0.0,
        FusedActivation=relu,
    )  # fmt: skip
    assert repr(gemm) == (
        "DML_GEMM_OPERATOR_DESC(ATensor=(FLOAT32, (1, 1, 2, 3)), BTensor=(FLOAT32, (1, 1, 2, 3)), "
        "OutputTensor=(FLOAT32, (1, 1, 2, 2)), TransA=NONE, TransB=TRANSPOSE, Alpha=1.5, Beta=0.0, "
        "FusedActivation=DML_ACTIVATION_RELU_OPERATOR_DESC())"
    )
    join = dml.DML_JOIN_OPERATOR_DESC(InputTensors=[x, x], OutputTensor=tensor(1, 1, 4, 3), Axis=2)
    assert "InputTensors=[(FLOAT32, (1, 1, 2, 3)), (FLOAT32, (1, 1, 2, 3))]" in repr(join)
    assert "InputCount" not in repr(join)


def test_messages_show_tensors_short():
    x = tensor(1, 1, 2, 3)
    gemm = sample("GEMM").replace(FusedActivation=dml.DML_ACTIVATION_RELU_OPERATOR_DESC(x, x))
    with pytest.raises(DMLError, match=r"must be None in a fused .*, found a tensor \(FLOAT32, \(1, 1, 2, 3\)\)"):
        dml.validate(gemm)


def test_reprs_of_a_device_and_its_objects(device):
    vulkan = device.vulkan
    assert repr(device) == f"<Device: {vulkan.name}, {vulkan.driver}, feature level 6_4>"
    assert "largest binding" in device._repr_html_()
    buffer = device.create_buffer(1024)
    assert repr(buffer) == f"<Buffer: 1024 bytes on {vulkan.name}>"
    operator = device.create_operator(sample("GEMM"))
    assert repr(operator).startswith("<Operator: DML_GEMM_OPERATOR_DESC(ATensor=")
    compiled = device.compile_operator(operator)
    kernels = [dispatch.label for dispatch in compiled.program.dispatches]
    assert repr(compiled) == f"<CompiledOperator: GEMM, kernels {', '.join(kernels)}>"
    compiled.set_name("mine")
    assert repr(compiled).startswith("<CompiledOperator 'mine': GEMM, ")
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    assert repr(table) == f"<BindingTable: for {compiled!r}>"
    assert repr(device.create_binding_table()) == "<BindingTable: for nothing>"
    assert repr(device.create_operator_initializer([compiled])) == "<OperatorInitializer: GEMM>"
    assert repr(device.create_command_list()) == "<CommandList: 0 recorded>"


def test_a_closed_device():
    with dml.create_device() as closed:
        pass
    assert repr(closed).endswith(", feature level 6_4, closed>")
    assert "closed" in closed._repr_html_()


def test_a_compiled_operator_as_a_table(device):
    graph = Builder(device)
    x = graph.input("x", (4, 8))
    compiled = graph.compile({"y": op.relu(op.gemm(x, graph.constant(np.ones((8, 3), np.float32))))})
    page = compiled._repr_html_()
    for dispatch in [*compiled.program.initialize, *compiled.program.dispatches]:
        assert f"<td>{dispatch.label}</td>" in page
    assert page.count("<tr>") == 1 + len(compiled.program.initialize) + len(compiled.program.dispatches)
    assert "DML_GRAPH_DESC: temporary " in page


def test_equal_kernels_are_counted(device):
    graph = Builder(device)
    x = graph.input("x", (4, 8))
    for _ in range(3):
        x = op.softmax(x, axes=[1])
    compiled = graph.compile({"y": x})
    kernels = [dispatch.label for dispatch in compiled.program.dispatches]
    most = max(set(kernels), key=kernels.count)
    assert kernels.count(most) >= 3
    assert f"{most} x {kernels.count(most)}" in repr(compiled)
