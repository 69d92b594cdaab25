"""Aids for newcomers: names, hints, reprs, signatures, and copies with a field changed."""

from __future__ import annotations

import dataclasses
import inspect
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
from dml.cli.app import app
from dml.graph import Builder
from dml.graph import operations as op

X = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (1, 1, 2, 3))


def starred() -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec("from dml import *", found)
    return {name: value for name, value in found.items() if not name.startswith("__")}


def test_star_import_has_exactly_the_public_names() -> None:
    found = starred()
    assert {"create_device", "dispatch", "validate", "operator_support", "Device", "CompiledOperator"} <= found.keys()
    assert not {"Any", "importlib", "annotations", "TYPE_CHECKING", "enums"} & found.keys()
    assert set(dml.__all__) == found.keys()  # type: ignore[attr-defined]
    assert {name for name in dir(dml) if not name.startswith("__")} == found.keys()
    for value in found.values():
        assert getattr(value, "__module__", "dml").startswith("dml")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("creat_device", "did you mean create_device"),
        ("DMLCreateDevice", "did you mean create_device"),
        ("DMLCreateDevice1", "did you mean create_device"),
        ("DMLCalcBufferTensorSize", "did you mean calc_buffer_tensor_size"),
        ("IDMLDevice", "did you mean Device"),
        ("D3D12CreateDevice", "did you mean create_device"),
        ("DML_OPERATOR_GRUU", "did you mean DML_OPERATOR_GRU"),
        ("DML_OPERATOR_SOFTMX", r"did you mean DML_OPERATOR_ACTIVATION_SOFTMAX\?"),
        ("DML_RELU_OPERATOR_DESC", r"did you mean DML_ACTIVATION_RELU_OPERATOR_DESC\?"),
        ("DML_ADD_OPERATOR_DESC", r"did you mean DML_ELEMENT_WISE_ADD_OPERATOR_DESC\?"),
        ("DML_BATCHNORM_OPERATOR_DESC", r"did you mean DML_BATCH_NORMALIZATION_OPERATOR_DESC\?"),
        ("DML_MATMUL_OPERATOR_DESC", r"did you mean DML_GEMM_OPERATOR_DESC\?"),
        ("DML_REDUCE_FUNCTION_MEAN", r"did you mean DML_REDUCE_FUNCTION_AVERAGE\?"),
        ("DML_TENSOR_FLOAT32", r"did you mean DML_TENSOR_DATA_TYPE_FLOAT32\?"),
        ("DML_OPERATOR_GR", r"did you mean DML_OPERATOR_GRU\?"),
        ("DML_FEATURE_LEVEL_7_0", "'DML_FEATURE_LEVEL_7_0'$"),
        ("DML_XYZZY", "'DML_XYZZY'$"),
    ],
)
def test_unknown_names_of_the_package(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(dml, name)


def test_a_module_that_is_not_imported_is_told_apart_from_an_unknown_name() -> None:
    code = "import dml; dml.frontends"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr.endswith("module 'dml' has no attribute 'frontends'; import dml.frontends first\n")


def test_a_traceback_adds_no_hint_of_its_own(device: dml.Device) -> None:
    """Python looks for similar attributes, and would find DML_FOLD_OPERATOR_DESC here."""
    for owner, name, hint in (
        (dml, "DML_RELU_OPERATOR_DESC", "DML_ACTIVATION_RELU_OPERATOR_DESC"),
        (op, "mul", "multiply"),
        (device, "CreateOperator", "create_operator"),
    ):
        with pytest.raises(AttributeError) as error:
            getattr(owner, name)
        last = traceback.format_exception_only(error.value)[-1].rstrip()
        assert last.endswith(f"; did you mean {hint}?"), last


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("CreateOperator", "did you mean create_operator"),
        ("CompileGraph", "did you mean compile_graph"),
        ("GetDeviceRemovedReason", "did you mean get_device_removed_reason"),
        ("creat_buffer", "did you mean create_buffer"),
        ("xyzzy", "'xyzzy'$"),
    ],
)
def test_methods_by_cs_names_are_told_those_here(device: dml.Device, name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(device, name)
    assert not hasattr(device, name)


def test_direct3ds_methods_name_their_replacement(device: dml.Device) -> None:
    for name, hint in {
        "close": "execute",
        "Close": "execute",
        "CopyBufferRegion": "create_buffer",
        "Xyzzy": "'Xyzzy'$",
    }.items():
        with pytest.raises(AttributeError, match=hint):
            getattr(device.create_command_list(), name)
    with pytest.raises(AttributeError, match="needs no descriptor heap"):
        getattr(device, "CreateDescriptor" + "Heap")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Map", r"write\(array, offset\) and read"),
        ("GetDesc", "size is its number of bytes"),
        ("GetGPUVirtualAddress", "DML_BUFFER_BINDING"),
        ("Write", "did you mean write"),
        ("xyzzy", "'xyzzy'$"),
    ],
)
def test_buffers_by_direct3ds_names(device: dml.Device, name: str, hint: str) -> None:
    buffer = device.create_buffer(16)
    with pytest.raises(AttributeError, match=hint):
        getattr(buffer, name)
    assert not hasattr(buffer, name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Compile", "did you mean compile"),
        ("PushName", "name_scope"),
        ("SetTensorPolicy", "tensor_policy is an attribute"),
        ("ActivationRelu", r"dml\.graph\.operations\.relu is a function of tensors"),
        ("leaky_relu", r"operations\.leaky_relu"),
        ("xyzzy", "'xyzzy'$"),
        ("_xyzzy", "'_xyzzy'$"),
    ],
)
def test_builders_by_directmlxs_names(device: dml.Device, name: str, hint: str) -> None:
    builder = Builder(device)
    with pytest.raises(AttributeError, match=hint):
        getattr(builder, name)
    assert not hasattr(builder, name)


def test_cs_counts_before_arrays_are_refused(device: dml.Device) -> None:
    compiled = relu(device)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    binding = dml.DML_BUFFER_BINDING(device.create_buffer(32))
    calls: list[tuple[Any, str]] = [
        (lambda: table.bind_inputs(1, [binding]), "bind_inputs: takes bindings, found 2 arguments; .* leave out C's"),
        (lambda: table.bind_outputs(1, [binding]), "bind_outputs: takes bindings, found 2 arguments; .* leave out C's"),
        (lambda: table.bind_outputs(2, [binding]), "bind_outputs: takes bindings, found 2 arguments \\["),
        (lambda: device.create_operator_initializer(1, [compiled]), "takes operators, .* leave out C's count"),
        (lambda: device.compile_operator(compiled, 0, None), "takes operator, flags, found 3 arguments"),
    ]
    for call, message in calls:
        with pytest.raises(dml.DMLError, match=message):
            call()


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Upsample2D", "did you mean upsample_2d"),
        ("ActivationLeakyRelu", "did you mean leaky_relu"),
        ("ConvolutionBuilder", "did you mean convolution"),
        ("Reinterpret", "x.view"),
        ("concat", "join"),
        ("matmul", "gemm"),
        ("softmx", "did you mean softmax"),
        ("mul", "did you mean multiply"),
        ("unsqueeze", "x.reshape"),
        ("silu", "did you mean swish"),
        ("xyzzy", "'xyzzy'$"),
        ("__wrapped__", "'__wrapped__'$"),
    ],
)
def test_operations_by_other_libraries_names(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=hint):
        getattr(dml.graph.operations, name)


def relu(device: dml.Device) -> dml.CompiledOperator:
    return device.compile_operator(device.create_operator(dml.DML_ACTIVATION_RELU_OPERATOR_DESC(X, X)))


def test_dir_shows_no_internals(device: dml.Device) -> None:
    assert not {"adopt", "require_open", "vulkan", "context", "release"} & set(dir(device))
    assert {"create_operator", "compile_graph", "close"} <= set(dir(device))
    compiled = relu(device)
    found = {name for name in dir(compiled) if not name.startswith("_")}
    assert found == {
        "describe", "dispatch", "get_binding_properties", "get_device", "get_name", "get_private_data", "input_fields",
        "label", "memory", "output_fields", "profile", "program", "run_again", "set_name", "set_private_data",
        "set_private_data_interface",
    }  # fmt: skip


def test_reprs(device: dml.Device) -> None:
    assert repr(device.execute_command_lists([])) == "<Fence: done>"
    assert str(dml.DML_FEATURE_LEVEL_6_4) == f"{dml.DML_FEATURE_LEVEL_6_4}" == "DML_FEATURE_LEVEL_6_4"
    assert f"{dml.DML_FEATURE_LEVEL_6_4:#x}" == "0x6400"
    assert int(dml.DML_FEATURE_LEVEL_6_4) == 0x6400


def test_replace_recomputes_derived_fields() -> None:
    """Derived total sizes and counts are computed again from the new fields; explicit ones stay unchanged."""
    larger = dataclasses.replace(X, Sizes=(4, 5))
    assert larger == dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (4, 5))
    assert (larger.TotalTensorSizeInBytes, larger.DimensionCount) == (80, 2)
    assert dataclasses.replace(X, DataType="FLOAT16").TotalTensorSizeInBytes == 12
    assert dataclasses.replace(larger, Sizes=(1,)).TotalTensorSizeInBytes == 4
    roomy = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 3), TotalTensorSizeInBytes=128)
    assert dataclasses.replace(roomy, Sizes=(1, 1)).TotalTensorSizeInBytes == 128
    with pytest.raises(dml.DMLError, match="DimensionCount: must be 1, found 2"):
        dataclasses.replace(X, Sizes=(1,), DimensionCount=2)
    constant = dml.DML_CONSTANT_DATA_GRAPH_NODE_DESC(b"1234")
    assert dataclasses.replace(constant, Data=b"12").DataSize == 2
    transposed = dml.DML_REDUCE_OPERATOR_DESC("SUM", X, X, (2, 3)).replace(Axes=(3,))
    assert transposed.AxisCount == 1


def test_operations_show_their_parameters() -> None:
    """No function takes arbitrary keywords; attributes have names and, where DirectMLX has them, defaults."""
    for name in op.NAMES:
        parameters = inspect.signature(getattr(op, name)).parameters
        kinds = {parameter.kind for parameter in parameters.values()}
        assert (inspect.Parameter.VAR_KEYWORD in kinds) == (name == "fused"), name
        assert getattr(op, name).__name__ == name
    assert list(inspect.signature(op.softmax).parameters) == ["x", "axes"]
    assert inspect.signature(op.leaky_relu).parameters["alpha"].default == 0.01
    assert list(inspect.signature(op.add).parameters) == ["a", "b", "activation"]


def test_softmax_takes_axes_by_position(device: dml.Device) -> None:
    z = np.arange(6, dtype=np.float32).reshape(2, 3)
    graph = Builder(device)
    x = graph.input("z", z.shape)
    rows, columns = op.softmax(x, [1]), op.softmax(x, [-2])
    found = graph.compile({"rows": rows, "columns": columns}).dispatch({"z": z})
    np.testing.assert_allclose(found["rows"].sum(1), 1, 1e-6)
    np.testing.assert_allclose(found["columns"].sum(0), 1, 1e-6)


def test_a_buffer_where_a_binding_belongs(device: dml.Device) -> None:
    buffer = device.create_buffer(64)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(relu(device), 16))
    wanted = r"a buffer is bound by DML_BUFFER_BINDING\(buffer, 0, 64\)"
    for bind in (table.bind_inputs, table.bind_outputs):
        with pytest.raises(dml.DMLError, match=f"found Buffer at index 0; {wanted}"):
            bind([buffer])
        with pytest.raises(dml.DMLError, match=r"found Buffer; a buffer is bound by \[DML_BUFFER_BINDING"):
            bind(buffer)
        with pytest.raises(dml.DMLError, match=r"takes a sequence of DML_BUFFER_BINDING.*found 3 at index 0"):
            bind([3])


def test_a_convolution_of_matrices_gets_a_hint() -> None:
    x, w = dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (4, 4)), dml.DML_BUFFER_TENSOR_DESC("FLOAT32", (2, 2))
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=x, FilterTensor=w, BiasTensor=None, OutputTensor=x, Mode="CROSS_CORRELATION", Direction="FORWARD",
        Strides=[1, 1], Dilations=[1, 1], StartPadding=[0, 0], EndPadding=[0, 0], OutputPadding=[0, 0], GroupCount=1,
        FusedActivation=None,
    )  # fmt: skip
    with pytest.raises(dml.DMLError, match=r"must be 3 to 5 .* \{ BatchCount, .*, InputWidth \} \(NCHW\), found 2"):
        dml.validate(desc)


@pytest.mark.parametrize(("name", "kind"), [("model.onnx", "an ONNX model"), ("model.xml", "an OpenVINO model")])
def test_validate_names_accepted_types(tmp_path: Path, name: str, kind: str) -> None:
    result = CliRunner().invoke(app, ["validate", str(tmp_path / name)])
    assert result.exit_code != 0
    text = " ".join((result.output + str(result.exception)).split())
    assert f"takes DxDispatch models and operators as JSON, found {kind}" in text
    assert f"`dml explain {name}`" in text
