"""Whole models: shapes bound at run time, control flow, data-dependent shapes, and models that cannot be mapped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from models import Array, assert_close, in_onnxruntime, model_of
from onnx import helper
from typer.testing import CliRunner

import dml
from dml.cli import app
from dml.frontends.onnx import prepare
from dml.frontends.onnx.run.backend import Backend
from dml.frontends.onnx.run.command import explain


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def test_symbolic_sizes_are_bound_at_run_time_and_compiled_once(device: dml.Device) -> None:
    x = np.ones((2, 3), np.float32)
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("ReduceProd", ["shape"], ["count"], keepdims=1),
        node("Reshape", ["x", "count"], ["flat"]),
        node("Add", ["flat", "flat"], ["y"]),
    ]
    prepared = prepare(model_of(nodes, {"x": x}, ["y"], 18, symbolic=True), device)
    for shape in ((2, 3), (4, 5), (2, 3)):
        given = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        (y,) = prepared.run([given])
        assert y.tolist() == (2 * given).ravel().tolist()
    assert len(prepared.parts[0].plans) == 2


def test_a_shape_given_as_an_input_is_compiled_in(device: dml.Device) -> None:
    x = np.arange(6, dtype=np.float32)
    inputs = {"x": x, "shape": np.array([2, 3])}
    prepared = prepare(model_of([node("Reshape", ["x", "shape"], ["y"])], inputs, ["y"], 21, ranks={"y": 2}), device)
    for shape in ([2, 3], [3, 2], [2, 3]):
        (y,) = prepared.run({"x": x, "shape": np.array(shape)})
        assert y.tolist() == x.reshape(shape).tolist()
    assert len(prepared.parts[0].plans) == 2


def test_sizes_that_depend_on_data_are_computed_on_the_device(device: dml.Device) -> None:
    x = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
    nodes = [node("Relu", ["x"], ["r"]), node("NonZero", ["r"], ["found"]), node("Transpose", ["found"], ["y"])]
    prepared = prepare(model_of(nodes, {"x": x}, ["y"], 21, ranks={"y": 2}), device)
    for given in (x, -x, x):
        (y,) = prepared.run([given])
        assert y.tolist() == np.argwhere(np.maximum(given, 0)).tolist()


def graph(nodes: list[Any], inputs: list[tuple[str, int, list[int]]], outputs: list[tuple[str, int, list[int]]]) -> Any:
    entries = [[helper.make_tensor_value_info(*entry) for entry in side] for side in (inputs, outputs)]
    return helper.make_graph(nodes, "body", *entries)


FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL


def test_if_takes_a_branch_on_the_device(device: dml.Device) -> None:
    x = np.array([1, -2, 3], np.float32)
    branches = {
        name: graph([node(op, ["x"], [name])], [], [(name, FLOAT, [3])])
        for name, op in (("then_branch", "Neg"), ("else_branch", "Abs"))
    }
    inputs = {"x": x, "condition": np.array(True)}
    prepared = prepare(model_of([node("If", ["condition"], ["y"], **branches)], inputs, ["y"], 21), device)
    for condition, expected in ((True, -x), (False, np.abs(x))):
        (y,) = prepared.run({"x": x, "condition": np.array(condition)})
        assert y.tolist() == expected.tolist()
    assert len(prepared.parts[0].plans) == 1  # the condition is not a guard


def test_if_with_branches_of_two_shapes(device: dml.Device) -> None:
    x = np.arange(3, dtype=np.float32)
    branches = {
        "then_branch": graph([node("Concat", ["x", "x"], ["a"], axis=0)], [], [("a", FLOAT, [6])]),
        "else_branch": graph([node("Abs", ["x"], ["b"])], [], [("b", FLOAT, [3])]),
    }
    inputs = {"x": x, "condition": np.array(True)}
    prepared = prepare(model_of([node("If", ["condition"], ["y"], **branches)], inputs, ["y"], 21), device)
    for condition, expected in ((True, np.concatenate([x, x])), (False, x)):
        assert prepared.run({"x": x, "condition": np.array(condition)})[0].tolist() == expected.tolist()


def test_a_branch_may_be_wrong_for_the_shapes_of_the_other(device: dml.Device) -> None:
    """Silero's exports choose between two sampling rates: for one, the other's recurrence gets a wrong rank."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    branches = {
        "then_branch": graph([node("MatMul", ["x", "w"], ["a"])], [], [("a", FLOAT, [2, 3])]),
        "else_branch": graph([node("Abs", ["x"], ["b"])], [], [("b", FLOAT, [2, 3])]),
    }
    inputs = {"x": x, "condition": np.array(False), "w": np.eye(4, 3, dtype=np.float32)}
    prepared = prepare(model_of([node("If", ["condition"], ["y"], **branches)], inputs, ["y"], 21), device)
    assert prepared.run(inputs)[0].tolist() == x.tolist()
    with pytest.raises(dml.DMLError, match="MatMul"):
        prepared.run(inputs | {"condition": np.array(True)})


def test_loop_runs_while_its_condition_holds(device: dml.Device) -> None:
    """The loop doubles until a bound is passed; its condition depends on data."""
    body = graph(
        [node("Add", ["v", "v"], ["next"]), node("Less", ["next", "bound"], ["go"]), node("Abs", ["next"], ["seen"])],
        [("i", INT64, []), ("c", BOOL, []), ("v", FLOAT, [1])],
        [("go", BOOL, [1]), ("next", FLOAT, [1]), ("seen", FLOAT, [1])],
    )
    inputs = {"x": np.ones(1, np.float32), "bound": np.array([10.0], np.float32)}
    model = model_of([node("Loop", ["", "", "x"], ["last", "all"], body=body)], inputs, ["last", "all"], 21,
                     ranks={"last": 1, "all": 2})  # fmt: skip
    prepared = prepare(model, device)
    last, seen = prepared.run(inputs)
    assert (last.tolist(), seen.ravel().tolist()) == ([16], [2, 4, 8, 16])
    last, seen = prepared.run({**inputs, "bound": np.array([3.0], np.float32)})
    assert (last.tolist(), seen.ravel().tolist()) == ([4], [2, 4])


def test_scan_backwards(device: dml.Device) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    body = graph(
        [node("Add", ["s", "piece"], ["sum"]), node("Identity", ["sum"], ["out"])],
        [("s", FLOAT, [2]), ("piece", FLOAT, [2])],
        [("sum", FLOAT, [2]), ("out", FLOAT, [2])],
    )
    scan = node("Scan", ["start", "x"], ["last", "y"], body=body, num_scan_inputs=1, scan_input_directions=[1],
                scan_output_directions=[1])  # fmt: skip
    inputs = {"start": np.zeros(2, np.float32), "x": x}
    model = model_of([scan], inputs, ["last", "y"], 21, ranks={"last": 1, "y": 2})
    assert_close(prepare(model, device).run(inputs), in_onnxruntime(model, inputs), 0)


def test_every_node_that_cannot_be_mapped_is_named_before_anything_runs(device: dml.Device) -> None:
    x = np.ones((2, 2), np.float32)
    nodes = [
        node("Det", ["x"], ["a"], name="determinant"),
        node("Abs", ["x"], ["b"]),
        node("Unique", ["b"], ["c"], name="distinct"),
    ]
    with pytest.raises(dml.DMLError, match=r"Det .*'determinant'.*Unique .*'distinct'") as caught:
        prepare(model_of(nodes, {"x": x}, ["a", "c"], 21), device, fallback=False)
    assert caught.value.hresult == dml.HRESULT.E_NOTIMPL


def test_faults_that_depend_on_shapes_and_types_are_named_at_once(device: dml.Device) -> None:
    x = np.ones((1, 2, 3, 3), np.float32)
    nodes = [
        node("Dropout", ["x", "", "yes"], ["a"], name="first"),
        node("Cast", ["x"], ["b"], name="second", to=onnx.TensorProto.FLOAT4E2M1),
    ]
    with pytest.raises(dml.DMLError, match=r"first.*second"):
        prepare(
            model_of(nodes, {"x": x}, ["a", "b"], 21, initializers={"yes": np.array(True)}), device, fallback=False
        ).run([x])


@pytest.mark.parametrize(
    "given, message",
    [
        ({"x": np.ones((2, 3))}, "takes arrays of float32, found float64"),
        ({"x": np.ones(3, np.float32)}, "takes arrays of rank 2"),
        ({"x": np.ones((2, 4), np.float32)}, "takes arrays of shape"),
        ({}, "an array must be given"),
        ({"z": np.ones(3, np.float32)}, "has no input 'z'"),
    ],
)
def test_wrong_inputs_are_named(device: dml.Device, given: dict[str, Array], message: str) -> None:
    model = model_of([node("Abs", ["x"], ["y"])], {"x": np.ones((2, 3), np.float32)}, ["y"], 21)
    with pytest.raises(dml.DMLError, match=message):
        prepare(model, device).run(given)


@pytest.mark.parametrize(
    "strange",
    [
        ("DepthToSpace", {"blocksize": 2}, (4, 4)),
        ("DepthToSpace", {"blocksize": 0}, (1, 4, 2, 2)),
        ("DepthToSpace", {"blocksize": 2, "mode": "XYZ"}, (1, 4, 2, 2)),
        ("Transpose", {"perm": [0, 0]}, (2, 3)),
        ("ReduceSumSquare", {"axes": [5]}, (2, 3)),
        ("AveragePool", {"kernel_shape": [9]}, (1, 1, 4)),
        ("AveragePool", {"kernel_shape": [2, 2], "strides": [0, 1]}, (1, 1, 4, 4)),
        ("Concat", {"axis": 7}, (2, 3)),
        ("Softmax", {"axis": -4}, (2, 3)),
    ],
)
def test_attributes_that_make_no_sense_are_clean_errors(device: dml.Device, strange: Any) -> None:
    op, attributes, shape = strange
    x = np.ones(shape, np.float32)
    made = helper.make_node(op, ["x"], ["y"], **attributes)
    graph = helper.make_graph([made], "g", [helper.make_tensor_value_info("x", FLOAT, shape)],
                              [helper.make_tensor_value_info("y", FLOAT, None)])  # fmt: skip
    graph.output[0].type.tensor_type.shape.dim.add()
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=10)
    with pytest.raises(dml.DMLError, match=op):
        prepare(model, device).run([x])


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16", "int64", "uint64", "int8", "uint16"])
def test_a_chain_in_other_types(device: dml.Device, dtype: str) -> None:
    """Values are small integers, which every type represents exactly."""
    import ml_dtypes

    kind = np.dtype(getattr(ml_dtypes, dtype, dtype) if dtype == "bfloat16" else dtype)
    x = np.arange(6).reshape(2, 3).astype(kind)
    nodes = [node("Mul", ["x", "x"], ["square"]), node("Concat", ["square", "x"], ["y"], axis=1)]
    (y,) = prepare(model_of(nodes, {"x": x}, ["y"], 21), device).run([x])
    assert y.dtype == kind
    assert y.astype(int).tolist() == np.concatenate([x.astype(int) ** 2, x.astype(int)], 1).tolist()


def test_a_model_with_its_own_functions(device: dml.Device) -> None:
    body = [node("Mul", ["a", "a"], ["square"]), node("LeakyRelu", ["square"], ["b"])]
    body[1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    function = helper.make_function("mine", "Square", ["a"], ["b"], body, [helper.make_opsetid("", 21)], ["slope"])
    x = np.array([-1.5, 2.0], np.float32)
    call = helper.make_node("Square", ["x"], ["y"], domain="mine", slope=0.5)
    model = model_of([call], {"x": x}, ["y"], 21, domains={"mine": 1})
    model.functions.append(function)
    assert prepare(model, device).run([x])[0].tolist() == [2.25, 4.0]


def test_a_convolutional_network_agrees_with_onnxruntime(device: dml.Device) -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (2, 3, 9, 9)).astype(np.float32)
    shapes = {"w": (4, 3, 3, 3), "b": (4,), "scale": (4,), "shift": (4,), "mean": (4,), "dense": (36, 5)}
    initializers = {name: rng.uniform(-0.5, 0.5, shape).astype(np.float32) for name, shape in shapes.items()}
    initializers["variance"] = rng.uniform(0.5, 1.5, 4).astype(np.float32)
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], strides=[2, 2], pads=[1, 1, 1, 1]),
        node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        node("Relu", ["n"], ["r"]),
        node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
        node("Flatten", ["p"], ["f"]),
        node("MatMul", ["f", "dense"], ["d"]),
        node("Softmax", ["d"], ["y"]),
    ]
    model = model_of(nodes, {"x": x}, ["y"], 21, symbolic=False, initializers=initializers)
    assert_close(prepare(model, device).run([x]), in_onnxruntime(model, {"x": x}), 2e-5)


def test_the_backend_interface(device: dml.Device) -> None:
    x = np.array([-1.0, 2.0], np.float32)
    model = model_of([node("Abs", ["x"], ["y"])], {"x": x}, ["y"], 21)
    assert Backend.is_compatible(model)
    assert Backend.supports_device("CPU")
    assert not Backend.supports_device("no such device")
    assert Backend.run_model(model, [x], device)[0].tolist() == [1, 2]
    assert Backend.run_node(node("Neg", ["x"], ["y"]), [x], device)[0].tolist() == [1, -2]


def test_explain_names_operators_and_levels(device: dml.Device) -> None:
    x = np.ones((2, 4), np.float32)
    nodes = [
        node("Shape", ["x"], ["s"], name="a"),
        node("Gelu", ["x"], ["g"], name="b"),
        node("Reshape", ["g", "s"], ["y"], name="c"),
    ]
    rows, assumed, sizes = explain(prepare(model_of(nodes, {"x": x}, ["y"], 20, symbolic=True), device))
    assert assumed == ["sizes assumed: x_0=1, x_1=1 (--size x_0=NUMBER gives one)"]
    assert sizes == {"x_0": 1, "x_1": 1}
    assert [(name.split("'")[1], operators) for name, operators, *_ in rows] == [
        ("a", []), ("b", ["ACTIVATION_GELU"]), ("c", []),
    ]  # fmt: skip
    assert rows[1][2] == dml.DML_FEATURE_LEVEL_5_1


@pytest.mark.parametrize(
    "dtype, shape, level",
    [
        (np.float32, (1, 2, 2, 3), "1_0"),
        (np.float32, (2, 3), "3_0"),
        (np.int64, (2, 3), "4_1"),
        (np.uint8, (2,), "5_1"),
    ],
)
def test_the_level_follows_from_the_tensors(device: dml.Device, dtype: Any, shape: tuple[int, ...], level: str) -> None:
    """Every lower feature level refuses an addition of tensors of this type and rank."""
    x = np.ones(shape, dtype)
    (row,) = explain(prepare(model_of([node("Add", ["x", "x"], ["y"])], {"x": x}, ["y"], 21), device)).rows
    assert (row.operators, row.level.name) == (["ELEMENT_WISE_ADD"], f"DML_FEATURE_LEVEL_{level}")
    tensor = dml.DML_BUFFER_TENSOR_DESC(dml.data_type_of(dtype), shape)
    desc = dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(tensor, tensor, tensor)
    dml.validate(desc, row.level)
    for below in (one for one in dml.DML_FEATURE_LEVEL if one < row.level):
        with pytest.raises(dml.DMLError, match="feature level"):
            dml.validate(desc, below)


def test_explain_reports_parts_planned_without_values(device: dml.Device, tmp_path: Path) -> None:
    """A loop whose count is an input is unrolled for the given count, or zero times without one."""
    body = graph(
        [node("Add", ["v", "v"], ["next"]), node("Identity", ["go"], ["on"])],
        [("i", INT64, []), ("go", BOOL, []), ("v", FLOAT, [2])],
        [("on", BOOL, []), ("next", FLOAT, [2])],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], name="often", body=body)]
    x, n = np.ones(2, np.float32), np.array(3)
    model = model_of(nodes, {"x": x, "n": n}, ["y"], 21)
    prepared = prepare(model, device)
    rows, assumed, _ = explain(prepared)
    assert [row.operators for row in rows] == [[]]
    zeros = "planned by numbers, which are zeros for x, n (--input x=file.npy gives numbers): node 'often' (Loop)"
    assert assumed == [zeros]
    rows, assumed, _ = explain(prepared, {"n": n})
    assert [row.operators for row in rows if "often" in row.node] == [["ELEMENT_WISE_ADD"] * 3]
    assert not assumed
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    for command in (["explain"], ["run", "--explain", "--output-dir", str(tmp_path)]):
        result = CliRunner().invoke(app, [*command, str(tmp_path / "model.onnx")])
        assert result.exit_code == 0, result.output
        assert zeros in result.output


def test_the_command_runs_and_explains(device: dml.Device, tmp_path: Path) -> None:
    x = np.array([-1.0, 2.0], np.float32)
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of([node("Abs", ["x"], ["y"], name="magnitude")], {"x": x}, ["y"], 21).SerializeToString())
    np.save(tmp_path / "x.npy", x)
    result = CliRunner().invoke(
        app, ["run", str(path), "--input", f"x={tmp_path / 'x.npy'}", "--output-dir", str(tmp_path)]
    )
    assert result.exit_code == 0, result.output
    assert np.load(tmp_path / "y.npy").tolist() == [1, 2]
    result = CliRunner().invoke(app, ["explain", str(path)])
    assert result.exit_code == 0, result.output
    (row,) = [line for line in result.output.splitlines() if "magnitude" in line]
    assert "ELEMENT_WISE_ABS" in row
    assert "3_0" in row


@pytest.mark.parametrize("op", ["Loop", "Scan"])
def test_a_body_whose_input_has_the_name_of_the_nodes_output(device: dml.Device, op: str) -> None:
    """A nested graph has its own scope of names, as in onnx.checker and onnxruntime."""
    value = helper.make_tensor_value_info
    add = node("Add", ["y", "one"], ["sum"])
    if op == "Loop":
        same = node("Identity", ["go"], ["going"])
        entries = [value("i", 7, []), value("go", 9, []), value("y", 1, [2])]
        body = helper.make_graph([same, add], "body", entries, [value("going", 9, []), value("sum", 1, [2])])
        inputs = {"x": np.ones(2, np.float32), "n": np.array(3)}
        nodes = [node("Loop", ["n", "", "x"], ["y"], body=body)]
    else:
        body = helper.make_graph([add], "body", [value("y", 1, [2])], [value("sum", 1, [2])])
        inputs = {"x": np.ones((3, 2), np.float32)}
        nodes = [node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1)]
    ones, rank = {"one": np.ones(2, np.float32)}, len(inputs["x"].shape)
    model = model_of(nodes, inputs, ["y"], 17, initializers=ones, ranks={"y": rank})
    assert_close(prepare(model, device).run(inputs), in_onnxruntime(model, inputs), 1e-6)


@pytest.mark.parametrize(
    "shape, wanted, made",
    [
        ((0, 64), (0, -1), (0, 64)),
        ((0, 8, 8), (0, -1), (0, 64)),
        ((0, 64), (-1, 64), (0, 64)),
        ((0, 8, 8), (-1, 4), (0, 4)),
    ],
)
def test_an_inferred_size_of_an_empty_tensor(
    device: dml.Device, shape: tuple[int, ...], wanted: tuple[int, ...], made: tuple[int, ...]
) -> None:
    """The inferred size equals onnxruntime's, which knows the shapes at run time."""
    x = np.ones(shape, np.float32)
    model = model_of([node("Reshape", ["x", "s"], ["y"])], {"x": x}, ["y"], 17, symbolic=True,
                     initializers={"s": np.array(wanted)}, ranks={"y": 2})  # fmt: skip
    assert prepare(model, device).run({"x": x})[0].shape == made


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_the_sign_of_nan_is_nan(device: dml.Device, dtype: type) -> None:
    x = np.array([np.nan, -np.inf, -2, -0.0, 0, 3, np.inf], dtype)
    model = model_of([node("Sign", ["x"], ["y"])], {"x": x}, ["y"], 13)
    np.testing.assert_array_equal(prepare(model, device).run({"x": x})[0], np.sign(x))


def test_outputs_that_the_plan_computed_may_be_written(device: dml.Device) -> None:
    """Constant outputs share memory neither with each other nor with the model's initializers."""
    scatters = [node("ScatterND", ["zeros", "none", "nothing"], [name]) for name in ("y", "z")]
    initializers = {
        "zeros": np.zeros(2, np.float32),
        "none": np.zeros((0, 1), np.int64),
        "nothing": np.zeros(0, np.float32),
    }
    x = np.ones(3, np.float32)
    nodes = [*scatters, node("Shape", ["x"], ["s"]), node("Shape", ["x"], ["t"])]
    prepared = prepare(model_of(nodes, {"x": x}, ["y", "z", "s", "t"], 17, initializers=initializers), device)
    for _ in range(2):
        found = prepared.run([x])
        assert [array.tolist() for array in found] == [[0, 0], [0, 0], [3], [3]]
        for add, array in enumerate(found, 1):
            array += add
            assert not any(np.shares_memory(array, other) for other in found if other is not array)
