"""InferenceSession: programs written for onnxruntime run with it and with dml."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models import model_of
from onnx import helper

import dml
import dml.frontends.onnx as dml_onnx

FLOAT = onnx.TensorProto.FLOAT


def node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def accumulator() -> Any:
    """Return a model with sum = state + scale * x, and its largest element."""
    x = np.zeros((2, 3), np.float32)
    nodes = [
        node("Mul", ["x", "scale"], ["scaled"]),
        node("Add", ["state", "scaled"], ["sum"]),
        node("ReduceMax", ["sum"], ["top"], keepdims=0),
    ]
    initializers = {"scale": np.array(2, np.float32)}
    model = model_of(nodes, {"x": x, "state": x}, ["sum", "top"], 21, initializers=initializers)
    for entry in (*model.graph.input, model.graph.output[0]):
        entry.CopyFrom(helper.make_tensor_value_info(entry.name, FLOAT, ["batch", 3]))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("top", FLOAT, []))
    model.graph.input.append(helper.make_tensor_value_info("scale", FLOAT, []))
    del model.graph.value_info[:]
    model.producer_name, model.model_version, model.doc_string = "tests", 7, "adds up"
    model.metadata_props.add(key="author", value="nobody")
    return model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "accumulator.onnx"
    found.write_bytes(accumulator().SerializeToString())
    return found


def session(ort: Any, source: Any, device: dml.Device, **more: Any) -> Any:
    """Create a session; dml's gets the device under test."""
    if ort is dml_onnx:
        return ort.InferenceSession(source, device=device, **more)
    return ort.InferenceSession(source, providers=["CPUExecutionProvider"], **more)


X = np.arange(6, dtype=np.float32).reshape(2, 3)
both = pytest.mark.parametrize("ort", [onnxruntime, dml_onnx], ids=["onnxruntime", "dml"])


@both
def test_model_metadata(ort: Any, path: Path, device: dml.Device) -> None:
    made = session(ort, str(path), device)
    assert [(one.name, one.type, one.shape) for one in made.get_inputs()] == [
        ("x", "tensor(float)", ["batch", 3]), ("state", "tensor(float)", ["batch", 3]),
    ]  # fmt: skip
    assert [(one.name, one.type, one.shape) for one in made.get_outputs()] == [
        ("sum", "tensor(float)", ["batch", 3]), ("top", "tensor(float)", []),
    ]  # fmt: skip
    assert [one.name for one in made.get_overridable_initializers()] == ["scale"]
    meta = made.get_modelmeta()
    assert (meta.producer_name, meta.version, meta.description, meta.graph_name) == ("tests", 7, "adds up", "test")
    assert meta.custom_metadata_map == {"author": "nobody"}


@both
def test_runs(ort: Any, path: Path, device: dml.Device) -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    made = session(ort, path.read_bytes(), device, sess_options=options)
    feeds = {"x": X, "state": X}
    found, top = made.run(None, feeds)
    assert found.tolist() == (3 * X).tolist()
    assert float(top) == 15
    (top,) = made.run(["top"], feeds, ort.RunOptions())
    assert float(top) == 15
    top, found = made.run(["top", "sum"], {**feeds, "scale": np.array(0, np.float32)})
    assert (float(top), found.tolist()) == (5, X.tolist())
    value = ort.OrtValue.ortvalue_from_numpy(X)
    (found,) = made.run_with_ort_values(["sum"], {"x": value, "state": value})
    assert found.numpy().tolist() == (3 * X).tolist()
    (found,) = made.run(["sum"], {"x": X.tolist(), "state": X.astype(int).tolist()})
    assert (found.dtype, found.tolist()) == (np.float32, (3 * X).tolist())


def test_lists_of_numbers_that_the_type_cannot_hold(device: dml.Device) -> None:
    sides = [helper.make_tensor_value_info(name, onnx.TensorProto.INT8, ["n"]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", sides[:1], sides[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    made = dml_onnx.InferenceSession(model.SerializeToString(), device=device)
    (found,) = made.run(None, {"x": [1, -2.0]})
    assert (found.dtype, found.tolist()) == (np.int8, [1, -2])
    for wrong in ([1, 300], [0.5], ["a"], [True]):
        with pytest.raises(dml.DMLError, match="input 'x'"):
            made.run(None, {"x": wrong})


@both
def test_bindings(ort: Any, path: Path, device: dml.Device) -> None:
    """Inputs are bound by array, address and OrtValue; outputs are new, at an address, or in an OrtValue."""
    made = session(ort, str(path), device)
    binding = made.io_binding()
    state = X.copy()
    binding.bind_cpu_input("x", X)
    binding.bind_input("state", "cpu", 0, np.float32, state.shape, state.ctypes.data)
    binding.bind_output("sum")
    binding.bind_output("top", "cpu")
    made.run_with_iobinding(binding)
    assert [one.tolist() for one in binding.copy_outputs_to_cpu()] == [(3 * X).tolist(), 15]
    state[...] = 1
    into = np.zeros((2, 3), np.float32)
    kept = ort.OrtValue.ortvalue_from_shape_and_type([], np.float32)
    binding.clear_binding_outputs()
    binding.bind_output("sum", "cpu", 0, np.float32, into.shape, into.ctypes.data)
    binding.bind_ortvalue_output("top", kept)
    binding.synchronize_inputs()
    made.run_with_iobinding(binding, ort.RunOptions())
    binding.synchronize_outputs()
    assert into.tolist() == (1 + 2 * X).tolist()
    assert float(kept.numpy()) == 11
    assert [one.numpy().tolist() for one in binding.get_outputs()] == [into.tolist(), 11]
    binding.clear_binding_inputs()
    with pytest.raises((dml.DMLError, RuntimeError)):
        made.run_with_iobinding(binding)


@both
def test_values(ort: Any) -> None:
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert (list(value.shape()), value.data_type(), value.device_name()) == ([2, 3], "tensor(float)", "cpu")
    assert (value.is_tensor(), value.has_value(), value.is_tensor_sequence()) == (True, True, False)
    assert value.tensor_size_in_bytes() == 24
    assert value.data_ptr() == x.ctypes.data
    value.update_inplace(2 * X)
    assert value.numpy().tolist() == (2 * X).tolist()
    assert np.from_dlpack(value).tolist() == (2 * X).tolist()


def test_a_value_on_the_device_is_a_copy(path: Path, device: dml.Device) -> None:
    x = X.copy()
    value = dml_onnx.OrtValue.ortvalue_from_numpy(x, "dml")
    x[...] = 0
    made = dml_onnx.InferenceSession(path, device=device)
    (found,) = made.run(["sum"], {"x": value, "state": X})
    assert found.tolist() == (3 * X).tolist()
    assert value.numpy().tolist() == X.tolist()


def test_a_loop_on_the_device_by_bindings(path: Path, device: dml.Device) -> None:
    """Each output on the device is the next run's input; only the last is copied back."""
    made = dml_onnx.InferenceSession(path, device=device)
    binding = made.io_binding()
    state = dml_onnx.OrtValue.ortvalue_from_numpy(np.zeros((2, 3), np.float32), "dml")
    binding.bind_ortvalue_input("x", dml_onnx.OrtValue.ortvalue_from_numpy(X, "dml"))
    for _ in range(6):
        binding.bind_ortvalue_input("state", state)
        binding.bind_output("sum", "dml")
        made.run_with_iobinding(binding)
        (state,) = binding.get_outputs()
        assert isinstance(state.on(device), dml.DeviceArray)
        assert state.device_name() == "dml"
    assert state.numpy().tolist() == (12 * X).tolist()
    assert made._model.parts[0].plans.find((("state", ((2, 3), "float32")), ("x", ((2, 3), "float32"))), {}) is not None


def test_device_arrays_are_inputs(path: Path, device: dml.Device) -> None:
    made = dml_onnx.InferenceSession(path, device=device)
    (found,) = made.run(["sum"], {"x": made.device.to_device(X), "state": X})
    assert found.tolist() == (3 * X).tolist()
    (kept,) = made.run_with_ort_values(["sum"], {"x": dml_onnx.OrtValue(device.to_device(X)),
                                                 "state": dml_onnx.OrtValue(X)})  # fmt: skip
    assert kept.is_on_device


def test_a_session_pickles_by_its_path(path: Path, device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    options = dml_onnx.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    monkeypatch.chdir(path.parent)
    data = pickle.dumps(dml_onnx.InferenceSession(path.name, options, device=device))
    assert len(data) < 2000
    monkeypatch.chdir("/")
    again = pickle.loads(data)
    assert again.run(["sum"], {"x": X, "state": X})[0].tolist() == (3 * X).tolist()
    assert again.get_session_options() == options
    assert again.device.vulkan == device.vulkan or again.device.vulkan.index == device.vulkan.index
    with pytest.raises(dml.DMLError, match="cannot be pickled"):
        pickle.dumps(dml_onnx.InferenceSession(path.read_bytes(), device=device))


def test_a_pickled_session_keeps_its_devices_options(path: Path, device: dml.Device) -> None:
    half = dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION
    own = dml.create_device(device.vulkan.index, feature_level="6_2", execution_flags=half)
    again = pickle.loads(pickle.dumps(dml_onnx.InferenceSession(path, device=own))).device
    assert (again.feature_level, again.execution_flags) == (dml.DML_FEATURE_LEVEL_6_2, half)


def test_providers_choose_the_device(path: Path, device: dml.Device) -> None:
    index = device.vulkan.index
    for providers, options in (
        ([("DmlExecutionProvider", {"device_id": index})], None),
        (["DmlExecutionProvider", "CPUExecutionProvider"], [{"device_id": str(index)}, {}]),
        ([("DmlExecutionProvider", {"device": device.vulkan.name})], None),
    ):
        made = dml_onnx.InferenceSession(path, providers=providers, provider_options=options)
        assert made.device.vulkan.index == index
        assert made.get_provider_options()["DmlExecutionProvider"]["device_id"] == str(index)
    assert dml_onnx.get_available_providers() == ["DmlExecutionProvider", "CPUExecutionProvider"]
    assert made.get_providers() == ["DmlExecutionProvider"], "no node is on the host"
    with pytest.warns(UserWarning, match="not available are ignored: CUDAExecutionProvider"):
        dml_onnx.InferenceSession(path, providers=["CUDAExecutionProvider", "DmlExecutionProvider"])


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            {"providers": ["CPUExecutionProvider"]},
            "must be named; found CPUExecutionProvider. For a session on the CPU alone, use onnxruntime",
        ),
        (
            {"providers": ["CUDAExecutionProvider"]},
            "runs on DmlExecutionProvider, which must be named; found CUDA",
        ),
        ({"providers": [("DmlExecutionProvider", {"threads": 1})]}, "options device_id, device, found 'threads'"),
        ({"providers": [("DmlExecutionProvider", {"device_id": "first"})]}, "takes an index, found 'first'"),
        ({"providers": ["DmlExecutionProvider"], "provider_options": [{}, {}]}, "takes one for each of 1 providers"),
        ({"providers": [7]}, "takes names, or names with options, found 7"),
        ({"disabled_optimizers": []}, "no argument 'disabled_optimizers'"),
        ({"sess_options": "fast"}, "takes SessionOptions"),
        ({"sess_options": dml_onnx.SessionOptions(optimized_model_filepath="x")}, "dml run --explain"),
    ],
)
def test_missing_features_are_refused(path: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(dml.DMLError, match=message):
        dml_onnx.InferenceSession(path, **arguments)


def test_options_that_are_refused_or_heeded(path: Path, device: dml.Device) -> None:
    options: Any = dml_onnx.SessionOptions()
    with pytest.raises(AttributeError):
        setattr(options, "intra_op_threads", 3)  # noqa: B010  misspelt, to be refused as in onnxruntime
    with pytest.raises(dml.DMLError, match="custom operators"):
        options.register_custom_ops_library("mine.so")
    with pytest.raises(dml.DMLError, match="initializers"):
        options.add_initializer("w", None)
    with pytest.raises(dml.DMLError, match="no configuration 'a'"):
        options.get_session_config_entry("a")
    options.add_free_dimension_override_by_name("batch", 2)
    made = dml_onnx.InferenceSession(path, options, device=device)
    assert made.get_inputs()[0].shape == [2, 3]
    with pytest.raises(dml.DMLError, match=r"takes arrays of shape \[2, 3\], found \(1, 3\)"):
        made.run(None, {"x": X[:1], "state": X[:1]})
    run_options = dml_onnx.RunOptions()
    run_options.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert run_options.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
    run_options.terminate = True
    with pytest.raises(dml.DMLError, match="terminate") as caught:
        made.run(None, {"x": X, "state": X}, run_options)
    assert caught.value.hresult == dml.HRESULT.E_ABORT


def test_fallback_by_its_configuration(device: dml.Device) -> None:
    x = np.eye(2, dtype=np.float32)
    model = model_of([node("Det", ["x"], ["y"])], {"x": x}, ["y"], 21, ranks={"y": 0}).SerializeToString()
    with pytest.warns(dml_onnx.HostNodesWarning):
        made = dml_onnx.InferenceSession(model, device=device)
    assert float(made.run(None, {"x": x})[0]) == 1
    options = dml_onnx.SessionOptions()
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    with pytest.raises(dml.DMLError, match="cannot be mapped"):
        dml_onnx.InferenceSession(model, options, device=device)


def test_wrong_names_and_values(path: Path, device: dml.Device) -> None:
    made = dml_onnx.InferenceSession(path, device=device)
    binding = made.io_binding()
    for call, message in (
        (lambda: made.run(["y"], {"x": X, "state": X}), "no output 'y'; it has sum, top"),
        (lambda: made.run(None, {"x": X}), "input 'state': an array must be given"),
        (lambda: made.run(None, [X, X]), "input_feed takes"),
        (lambda: binding.bind_cpu_input("y", X), "no input 'y'; it has x, state"),
        (lambda: binding.bind_output("y"), "no output 'y'"),
        (lambda: binding.bind_output("sum", "tpu"), "device_type is one of cpu, dml"),
        (lambda: binding.bind_output("sum", "dml", 0, np.float32, [2, 3], 64), "has no address"),
        (lambda: binding.bind_output("sum", "cpu", 0, buffer_ptr=64), "needs element_type and shape"),
        (lambda: binding.bind_input("x", "cuda", 0, np.float32, [2, 3], 64), "device_type"),
        (lambda: dml_onnx.OrtValue.ortvalue_from_numpy(X, "cuda"), "found 'cuda'; this device is dml"),
        (lambda: dml_onnx.OrtValue.ortvalue_from_numpy(X).update_inplace(X[:1]), r"found float32 of shape \(1, 3\)"),
        (lambda: dml_onnx.OrtValue.ortvalue_from_numpy(X, "dml").data_ptr(), "host have an address; bind_ortvalue"),
    ):
        with pytest.raises(dml.DMLError, match=message):
            call()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("state", X)
    binding.bind_ortvalue_output("sum", dml_onnx.OrtValue.ortvalue_from_numpy(X[:1].copy()))
    with pytest.raises(dml.DMLError, match=r"OrtValue: has float32 of shape \(1, 3\)"):
        made.run_with_iobinding(binding)


def test_types_in_onnxruntimes_words(device: dml.Device) -> None:
    """Types that the model omits are inferred from its inputs and the sizes of its initializers."""
    w = np.ones((3, 300), np.float16)
    nodes = [node("MatMul", ["x", "w"], ["y"]), node("SequenceConstruct", ["y"], ["rows"])]
    model = model_of(nodes, {"x": np.ones((2, 3), np.float16)}, ["y", "rows"], 21, initializers={"w": w}, symbolic=True)
    for entry in model.graph.output:
        entry.ClearField("type")
    del model.graph.value_info[:]
    for ort in (onnxruntime, dml_onnx):
        made = session(ort, model.SerializeToString(), device)
        assert [one.type for one in made.get_outputs()] == ["tensor(float16)", "seq(tensor(float16))"]
        assert made.get_outputs()[0].shape == ["x_0", 300]
