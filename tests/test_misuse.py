"""Wrong types and values anywhere in the public API give a DMLError, not an arbitrary exception of Python."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

import dml
import dml.frontends.dxdispatch as dxdispatch
import dml.frontends.onnx as dml_onnx
import dml.frontends.openvino as openvino
from dml.cli import app
from dml.compiler.lowering import compile_operator
from dml.compiler.target import Target
from dml.frontends.options import Options
from dml.frontends.running import open_file
from dml.graph import operations
from dml.graph.builder import Builder
from dml.shapes import broadcast_sizes
from harness import tensor
from sample_descriptors import NAMES, sample


class Nothing:
    """An object without any behaviour."""

    def __repr__(self) -> str:
        return "Nothing()"


#: Wrong values, each of which replaces one argument at a time.
WRONG: list[Any] = [
    None, True, 0, -1, 2**70, 1.5, float("nan"), complex(1, 2), "", "x", b"x", np.float64(2), np.datetime64("2020"),
    (), [], [1], [-1], (0, 0), (-1, 2), (2**40, 2**40), ["x"], [None], [[1], [1, 2]], range(3), iter([1]),
    {}, {"x": 1}, {1: None}, {"ATensor": "x"}, object, Nothing(), lambda: None,
    np.zeros(0), np.zeros((2, 3)), np.array(["x"]), np.array([Nothing()]),
    dml.DML_SIZE_2D(1, 1), tensor("FLOAT32", (2, 3)),
]  # fmt: skip


def add_desc() -> dml.OperatorDesc:
    t = tensor("FLOAT32", (2, 3))
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(ATensor=t, BTensor=t, OutputTensor=t)


def attempt(what: str, function: Callable[..., Any], arguments: dict[str, Any]) -> list[str]:
    """Call the function with one wrong argument at a time; return the calls that neither return nor raise DMLError."""
    function(**arguments)  # with the right arguments, it works
    failures = []
    for name in arguments:
        for wrong in WRONG:
            try:
                function(**{**arguments, name: wrong})
            except dml.DMLError:
                pass
            except Exception as error:
                failures.append(f"{what}({name}={wrong!r}): {type(error).__name__}: {error}")
    return failures


def without_device() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Return functions, and arguments that they accept."""
    float32, sizes = dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3)
    add, size = dml.DML_OPERATOR_ELEMENT_WISE_ADD, dml.DML_SIZE_2D
    t = tensor("FLOAT32", sizes)
    return {
        "numpy_dtype": (dml.numpy_dtype, {"data_type": float32}),
        "data_type_of": (dml.data_type_of, {"dtype": np.float32}),
        "element_bits": (dml.element_bits, {"data_type": float32}),
        "packed_strides": (dml.packed_strides, {"sizes": sizes}),
        "ordered_strides": (dml.ordered_strides, {"sizes": sizes, "order": (0, 1)}),
        "nhwc_strides": (dml.nhwc_strides, {"sizes": (1, 2, 3)}),
        "broadcast_strides": (dml.broadcast_strides, {"sizes": (3,), "to": sizes, "strides": (1,)}),
        "calc_buffer_tensor_size": (
            dml.calc_buffer_tensor_size,
            {"data_type": float32, "sizes": sizes, "strides": (3, 1)},
        ),
        "broadcast_sizes": (lambda a, b: broadcast_sizes(a, b), {"a": (3,), "b": (2, 1)}),
        "validate": (dml.validate, {"desc": add_desc(), "feature_level": dml.DML_FEATURE_LEVEL_6_4}),
        "operator_support": (
            dml.operator_support,
            {"operator_type": add, "feature_level": dml.DML_FEATURE_LEVEL_6_4, "function": None},
        ),
        "DML_BUFFER_TENSOR_DESC": (
            lambda **fields: dml.validate(
                dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
                    InputTensor=dml.DML_BUFFER_TENSOR_DESC(**fields), OutputTensor=t, ScaleBias=None
                )
            ),
            {
                "DataType": float32,
                "Sizes": sizes,
                "Strides": (3, 1),
                "TotalTensorSizeInBytes": 24,
                "GuaranteedBaseOffsetAlignment": 0,
                "Flags": 0,
                "DimensionCount": 2,
            },
        ),
        "DML_TENSOR_DESC": (dml.DML_TENSOR_DESC, {"Type": dml.DML_TENSOR_TYPE_BUFFER, "Desc": t}),
        "DML_OPERATOR_DESC": (dml.DML_OPERATOR_DESC, {"Type": add, "Desc": add_desc()}),
        "DML_SCALAR_UNION": (dml.DML_SCALAR_UNION, {"Float32": 1.5}),
        "DML_SCALE_BIAS": (
            lambda **fields: dml.validate(
                dml.DML_ELEMENT_WISE_IDENTITY_OPERATOR_DESC(
                    InputTensor=t, OutputTensor=t, ScaleBias=dml.DML_SCALE_BIAS(**fields)
                )
            ),
            {"Scale": 1.0, "Bias": 2.0},
        ),
        "ROI_POOLING": (
            lambda width, pooled, scale: dml.validate(
                dml.DML_ROI_POOLING_OPERATOR_DESC(
                    InputTensor=tensor("FLOAT32", (1, 1, 4, 4)),
                    ROITensor=tensor("FLOAT32", (1, 1, 1, 5)),
                    OutputTensor=tensor("FLOAT32", (1, 1, 2, 2)),
                    SpatialScale=scale,
                    PooledSize=size(width, 2) if pooled is None else pooled,
                )
            ),
            {"width": 2, "pooled": size(2, 2), "scale": 1.0},
        ),
        "REDUCE": (
            lambda **fields: dml.validate(
                dml.DML_REDUCE_OPERATOR_DESC(OutputTensor=tensor("FLOAT32", (2, 1)), **fields)
            ),
            {"Function": dml.DML_REDUCE_FUNCTION_SUM, "InputTensor": t, "Axes": (1,)},
        ),
        "JOIN": (
            lambda **fields: dml.validate(dml.DML_JOIN_OPERATOR_DESC(OutputTensor=tensor("FLOAT32", (4, 3)), **fields)),
            {"InputTensors": [t, t], "Axis": 0},
        ),
        "onnx.load_model": (dml_onnx.load_model, {"source": onnx_model()}),
    }  # fmt: skip


def onnx_model() -> Any:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in "xy")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def with_device(device: dml.Device) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    a, flags = np.ones((2, 3), np.float32), dml.DML_EXECUTION_FLAG_NONE
    arrays = {"ATensor": a, "BTensor": a}
    operator = device.create_operator(add_desc())
    compiled = device.compile_operator(operator)
    initializer = device.create_operator_initializer([compiled])
    buffer = device.create_buffer(64)
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    bindings = [dml.DML_BUFFER_BINDING(buffer, 0, 24)] * 2
    commands, recorder = device.create_command_list(), device.create_command_recorder()
    guid = uuid.uuid4()
    device.set_private_data(guid, b"kept")

    def bind(**fields: Any) -> None:
        table.bind_inputs([dml.DML_BUFFER_BINDING(**fields), bindings[1]])

    def record(**arguments: Any) -> None:
        table.bind_inputs(bindings)
        table.bind_outputs(bindings[:1])
        recorder.record_dispatch(**arguments)

    def graph(**fields: Any) -> None:
        described: dict[str, Any] = {
            "InputCount": 1, "OutputCount": 1,
            "Nodes": [dml.DML_OPERATOR_GRAPH_NODE_DESC(operator)],
            "InputEdges": [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0), dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 1)],
            "OutputEdges": [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)],
        }  # fmt: skip
        device.compile_graph(dml.DML_GRAPH_DESC(**{**described, **fields}))

    return {
        "dispatch": (dml.dispatch, {"desc": add_desc(), "inputs": arrays, "device": device}),
        "CompiledOperator.dispatch": (compiled.dispatch, {"inputs": arrays}),
        "an input's array": (lambda x: compiled.dispatch({"ATensor": x, "BTensor": a}), {"x": a}),
        "an input's name": (
            lambda name: compiled.dispatch({**arrays, name: a} if _hashable(name) else {}),
            {"name": 0},
        ),
        "CompiledOperator.profile": (compiled.profile, {"inputs": arrays}),
        "create_operator": (device.create_operator, {"desc": add_desc()}),
        "compile_operator": (device.compile_operator, {"operator": operator, "flags": flags}),
        "compile_graph": (
            device.compile_graph,
            {"desc": small_graph(device), "flags": flags, "optimize": True, "inputs": None, "outputs": None},
        ),
        "DML_GRAPH_DESC": (
            graph, {"InputCount": 1, "OutputCount": 1, "Nodes": [dml.DML_OPERATOR_GRAPH_NODE_DESC(operator)]},
        ),
        "DML_INPUT_GRAPH_EDGE_DESC": (
            lambda *, a, b, c, d: graph(
                InputEdges=[dml.DML_INPUT_GRAPH_EDGE_DESC(a, b, c, d), dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 1)]
            ),
            {"a": 0, "b": 0, "c": 0, "d": None},
        ),
        "check_feature_support": (
            device.check_feature_support,
            {
                "feature": dml.DML_FEATURE_TENSOR_DATA_TYPE_SUPPORT,
                "query": dml.DML_FEATURE_QUERY_TENSOR_DATA_TYPE_SUPPORT(dml.DML_TENSOR_DATA_TYPE_FLOAT32),
            },
        ),
        "create_operator_initializer": (device.create_operator_initializer, {"operators": [compiled]}),
        "OperatorInitializer.reset": (initializer.reset, {"operators": [compiled]}),
        "create_binding_table": (device.create_binding_table, {"desc": dml.DML_BINDING_TABLE_DESC(compiled)}),
        "DML_BINDING_TABLE_DESC": (
            lambda **fields: device.create_binding_table(dml.DML_BINDING_TABLE_DESC(**fields)),
            {"Dispatchable": compiled, "SizeInDescriptors": 3},
        ),
        "BindingTable.reset": (device.create_binding_table().reset, {"desc": dml.DML_BINDING_TABLE_DESC(compiled)}),
        "bind_inputs": (table.bind_inputs, {"bindings": bindings}),
        "bind_outputs": (table.bind_outputs, {"bindings": bindings[:1]}),
        "DML_BUFFER_BINDING": (bind, {"Buffer": buffer, "Offset": 0, "SizeInBytes": 24}),
        "bind_temporary_resource": (table.bind_temporary_resource, {"binding": None}),
        "bind_persistent_resource": (table.bind_persistent_resource, {"binding": None}),
        "record_dispatch": (record, {"command_list": commands, "dispatchable": compiled, "bindings": table}),
        "create_command_list": (device.create_command_list, {"timed": False}),
        "create_buffer": (device.create_buffer, {"data": 64}),
        "Buffer.write": (buffer.write, {"data": a, "offset": 0}),
        "Buffer.read": (buffer.read, {"dtype": np.float32, "count": 2, "offset": 0}),
        "set_name": (compiled.set_name, {"name": "x"}),
        "set_private_data": (compiled.set_private_data, {"guid": uuid.uuid4(), "data": b"x"}),
        "set_private_data_interface": (compiled.set_private_data_interface, {"guid": uuid.uuid4(), "data": object()}),
        "set_mute_debug_output": (device.set_mute_debug_output, {"mute": True}),
        "get_private_data": (device.get_private_data, {"guid": guid}),
        "create_device": (
            dml.create_device,
            {
                "device": device.vulkan.index,
                "flags": dml.DML_CREATE_DEVICE_FLAG_NONE,
                "minimum_feature_level": dml.DML_FEATURE_LEVEL_1_0,
                "feature_level": dml.DML_FEATURE_LEVEL_6_4,
            },
        ),
        "onnx.prepare": (
            lambda **given: dml_onnx.prepare(**given).run([a]),
            {"source": onnx_model(), "device": device},
        ),
        "PreparedModel.run": (dml_onnx.prepare(onnx_model(), device).run, {"inputs": [a]}),
    }  # fmt: skip


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def small_graph(device: dml.Device) -> dml.DML_GRAPH_DESC:
    builder = Builder(device)
    return builder.build({"y": operations.relu(builder.input("x", (2, 3)))})


def building(device: dml.Device) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    float32 = dml.DML_TENSOR_DATA_TYPE_FLOAT32
    builder = Builder(device)
    x = builder.input("x", (2, 3))
    image, filters = builder.input("image", (1, 2, 4, 4)), builder.input("filters", (2, 2, 3, 3))
    indices = builder.constant(np.zeros((1, 2), np.uint32))
    names = iter(range(10**6))

    def new_input(**arguments: Any) -> None:
        name = arguments.pop("name")
        builder.input(f"{name}{next(names)}" if isinstance(name, str) else name, **arguments)

    return {
        "input": (new_input, {"name": "new", "sizes": (2,), "data_type": float32, "strides": (1,)}),
        "constant": (builder.constant, {"array": [1, 2], "data_type": float32}),
        "like": (builder.like, {"value": 1, "other": x}),
        "node": (
            builder.node,
            {
                "cls": dml.DML_ACTIVATION_RELU_OPERATOR_DESC,
                "outputs": {"OutputTensor": tensor("FLOAT32", (2, 3))},
                "name": "relu",
                "InputTensor": x,
            },
        ),
        "one": (
            builder.one,
            {"cls": dml.DML_ACTIVATION_RELU_OPERATOR_DESC, "sizes": (2, 3), "data_type": None, "InputTensor": x},
        ),
        "build": (builder.build, {"outputs": {"y": x}}),
        "compile": (builder.compile, {"outputs": {"y": x}, "optimize": True}),
        "view": (x.view, {"sizes": (3, 2), "strides": None}),
        "reshape": (lambda size: x.reshape(size, 2), {"size": 3}),
        "transpose": (lambda axis: x.transpose(axis, 0), {"axis": 1}),
        "broadcast": (x.broadcast, {"sizes": (4, 2, 3)}),
        "x + y": (lambda y: x + y, {"y": 1}),
        "y / x": (lambda y: y / x, {"y": 1}),
        "y - x": (lambda y: y - x, {"y": 1}),
        "relu": (operations.relu, {"x": x}),
        "leaky_relu": (operations.leaky_relu, {"x": x, "alpha": 0.5}),
        "add": (operations.add, {"a": x, "b": 1.0}),
        "pow_": (operations.pow_, {"x": x, "exponent": 2}),
        "if_": (operations.if_, {"condition": operations.is_nan(x), "a": x, "b": x}),
        "cast": (operations.cast, {"x": x, "data_type": float32}),
        "gemm": (operations.gemm, {"a": x, "b": x.transpose(), "c": None}),
        "convolution": (operations.convolution, {"x": image, "weights": filters}),
        "average_pooling": (operations.average_pooling, {"x": image, "window": (2, 2)}),
        "max_pooling": (operations.max_pooling, {"x": image, "window": (2, 2)}),
        "reduce": (operations.reduce, {"x": x, "function": dml.DML_REDUCE_FUNCTION_SUM, "axes": (1,)}),
        "slice_": (operations.slice_, {"x": x, "offsets": (0, 0), "sizes": (1, 1), "strides": (1, 1)}),
        "split": (operations.split, {"x": x, "axis": 1, "sizes": (1, 2)}),
        "join": (operations.join, {"tensors": [x, x], "axis": 1}),
        "tile": (operations.tile, {"x": x, "repeats": (2, 1)}),
        "gather": (operations.gather, {"x": x, "indices": indices, "axis": 1}),
        "top_k": (operations.top_k, {"x": x, "axis": 1, "k": 2}),
    }


@pytest.mark.parametrize("what", without_device())
def test_functions(what: str) -> None:
    failures = attempt(what, *without_device()[what])
    assert not failures, "\n".join(failures)


def test_objects(device: dml.Device) -> None:
    failures = [line for what, call in with_device(device).items() for line in attempt(what, *call)]
    assert not failures, "\n".join(failures)


def test_graph_building(device: dml.Device) -> None:
    failures = [line for what, call in building(device).items() for line in attempt(what, *call)]
    assert not failures, "\n".join(failures)


#: Contents of a file that is not a model.
CONTENTS = {
    "empty": b"",
    "zeros": bytes(64),
    "text": b"not a model\n",
    "binary": bytes(range(256)),
    "an array": b"[]",
    "nothing in it": b"{}",
    "null": b"null",
    "an element": b"<net/>",
    "half an element": b"<net",
    "half a string": b'{"resources": {"x',
}


def broken_files(folder: Path, suffix: str) -> list[Path]:
    """Write files that are not models, whole models cut short, and a folder; return these and a missing path."""
    paths = [folder / "missing" / f"model{suffix}", folder / f"folder{suffix}"]
    paths[1].mkdir()
    whole = onnx_model().SerializeToString()
    cut = {f"cut at {at}": whole[:at] for at in (1, len(whole) // 2, len(whole) - 1)}
    for name, data in {**CONTENTS, **cut}.items():
        paths.append(folder / f"{name}{suffix}")
        paths[-1].write_bytes(data)
    return paths


LOADERS: dict[str, Callable[[Any], Any]] = {
    ".onnx": dml_onnx.load_model,
    ".xml": openvino.read_model,
    ".json": dxdispatch.load,
}


@pytest.mark.parametrize("suffix", LOADERS)
def test_files_that_are_no_models(tmp_path: Path, suffix: str) -> None:
    for path in broken_files(tmp_path, suffix):
        for given in (path, str(path)):
            with pytest.raises(dml.DMLError):
                LOADERS[suffix](given)
    with pytest.raises(dml.DMLError):
        LOADERS[suffix]("a\0b" + suffix)


@pytest.mark.parametrize("suffix", LOADERS)
def test_loaders(suffix: str) -> None:
    failures = []
    for wrong in WRONG:
        try:
            LOADERS[suffix](wrong)
        except dml.DMLError:
            pass
        except Exception as error:
            failures.append(f"{suffix}({wrong!r}): {type(error).__name__}: {error}")
    assert not failures, "\n".join(failures)


def command(*arguments: object) -> str:
    """Return the error message of a command that must fail, without a traceback and not silently."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert isinstance(result.exception, SystemExit), (arguments, result.exception)
    assert result.exit_code != 0, arguments
    assert result.output.strip(), arguments
    return result.output


@pytest.mark.parametrize("suffix", [*LOADERS, ".txt", ""])
def test_commands_with_wrong_files(device: dml.Device, tmp_path: Path, suffix: str) -> None:
    for path in broken_files(tmp_path, suffix):
        command("run", path, "--device", device.vulkan.index)
        command("run", path, "--device", device.vulkan.index, "--explain")
        if suffix == ".onnx":
            command("explain", path, "--device", device.vulkan.index)


def test_commands_with_wrong_arguments(device: dml.Device, tmp_path: Path) -> None:
    model, array, other = tmp_path / "model.onnx", tmp_path / "x.npy", tmp_path / "file"
    model.write_bytes(onnx_model().SerializeToString())
    np.save(array, np.ones((2, 3), np.float32))
    other.write_bytes(b"\x93NUMPY")
    archive, objects, strings = tmp_path / "a.npz", tmp_path / "o.npy", tmp_path / "s.npy"
    np.savez(archive, x=np.ones(3))
    np.save(objects, np.array([{}]), allow_pickle=True)
    np.save(strings, np.array(["x"]))
    index = ("--device", device.vulkan.index)
    right = ("run", model, *index, "--input", f"x={array}")
    assert CliRunner().invoke(app, [str(argument) for argument in right]).exit_code == 0
    for wrong in ("x", "=", "x=", f"={array}", f"y={array}", f"x={model}", f"x={tmp_path}", f"x={other}",
                  "x=missing.npy", f"x={archive}", f"x={objects}", f"x={strings}"):  # fmt: skip
        command("run", model, *index, "--input", wrong)
        command("explain", model, *index, "--input", wrong)
    command("run", model, *index)
    command("run", model, "--device", "no such device")
    command("run", model, "--device", 99)
    command("run", model, *index, "--feature-level", "9_9")
    command(*right, "--iterations", 0)
    command(*right, "--iterations", "x")
    command(*right, "--output-dir", array)
    command(*right, "--profile", tmp_path)
    command("run")
    command("run", model, "--no-such-option")
    command("no-such-command")
    command("support", "NO_SUCH_OPERATOR")
    command("support", "REDUCE", "--function", "x")
    command("support", "--feature-level", "")


def test_options_of_files(device: dml.Device) -> None:
    failures = attempt("open_file", lambda path: _opened(path, device), {"path": None})
    assert not failures, "\n".join(failures)


def _opened(path: Any, device: dml.Device) -> None:
    if path is not None:
        open_file(path, device, Options())


#: Attributes that no description should have, and some that are valid.
NUMBERS: list[Any] = [
    2**31, 2**32 - 1, 2**32, -(2**31), 1e39, -1e39, 1e-46, float("inf"), "1", (2**32 - 1,) * 2, (2**31,) * 4,
    (1.5,) * 2, (float("inf"),) * 2, (float("nan"),) * 4, (0,) * 4, (1,) * 9, (-1,) * 4,
    dml.DML_SCALAR_UNION(UInt64=2**64 - 1), dml.DML_SCALE_BIAS(float("nan"), 1e39),
    dml.DML_SIZE_2D(2**32 - 1, 2**32 - 1),
    dml.DML_SIZE_2D(-1, 2), dml.DML_ACTIVATION_LINEAR_OPERATOR_DESC(Alpha=1e39, Beta=float("nan")),
    tensor("INT4", (1,)), tensor("FLOAT64", (2,) * 8), tensor("UINT8", (1, 2, 4, 6), "padded"),
    tensor("FLOAT32", (1, 2, 4, 6), "broadcast"), [tensor("FLOAT32", (1, 2, 4, 6))] * 3,
    tensor("FLOAT32", (65536, 65536)), tensor("FLOAT32", (0, 2)), dml.DML_BUFFER_TENSOR_DESC(0, (1, 2)),
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_descriptions(name: str) -> None:
    """With wrong values in each field, a description is refused, compiles, or exceeds the device's limits."""
    desc = sample(name)
    fields = {info.name: getattr(desc, info.name) for info in desc.fields_info if info.counts is None}
    failures = []
    for field in fields:
        for wrong in WRONG + NUMBERS:
            try:
                made = type(desc)(**{**fields, field: wrong})
                dml.validate(made)
                compile_operator(made, Target())
            except dml.DMLError:
                pass
            except Exception as error:
                failures.append(f"{field}={wrong!r}: {type(error).__name__}: {error}")
    assert not failures, "\n".join(failures)
