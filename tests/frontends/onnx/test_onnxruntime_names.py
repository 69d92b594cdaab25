"""Every public name of onnxruntime exists or is refused with a reason, and the existing ones work."""

from __future__ import annotations

import json
import pickle
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from models import model_of
from onnx import helper
from packaging.version import Version

import dml
import dml.frontends.onnx as ort
from dml.frontends.onnx.ort.missing_names import API_VERSION, MISSING
from dml.frontends.onnx.ort.session_options import RunOptions, SessionOptions

GUIDE = Path(__file__).parents[3] / "tools" / "documentation" / "guide" / "from_onnxruntime.md"
#: dml's classes, by onnxruntime's names.
CLASSES: dict[str, Any] = {
    "InferenceSession": ort.InferenceSession,
    "SessionOptions": SessionOptions,
    "RunOptions": RunOptions,
    "OrtValue": ort.OrtValue,
    "IOBinding": ort.IOBinding,
    "NodeArg": ort.NodeArg,
    "ModelMetadata": ort.ModelMetadata,
}
#: Refused names of the module.
MODULE = {name for name in MISSING if "." not in name}
#: A newer onnxruntime may have names that dml does not know.
is_newer = Version(onnxruntime.__version__) > Version(API_VERSION)


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_every_name_of_the_module_is_mapped_or_refused() -> None:
    here = {name for name in public(ort) if name in ort.__all__}
    assert here.isdisjoint(MODULE)
    if not is_newer:
        # The names include submodules that other tests import, such as onnxruntime.quantization
        imported = {name for name in public(onnxruntime) if f"onnxruntime.{name}" in sys.modules}
        assert public(onnxruntime) - imported - here - MODULE == set()
        # Older versions of onnxruntime lack some names
    for name in MODULE:
        with pytest.raises(dml.DMLError, match=f"{name}: not available; "):
            getattr(ort, name)
        with pytest.raises(ImportError, match=f"{name}: not available; "):
            exec(f"from dml.frontends.onnx import {name}")
    with pytest.raises(AttributeError, match="has no attribute 'InferenceSesion'"):
        _ = ort.InferenceSesion  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CLASSES)
def test_every_method_is_mapped_or_refused(name: str) -> None:
    own = CLASSES[name]
    refused = {full.partition(".")[2] for full in MISSING if full.startswith(f"{name}.")}
    here = public(own) | set(getattr(own, "__slots__", ()))
    fields = set(getattr(own, "__dataclass_fields__", ()))
    here |= fields | set(getattr(own, "__annotations__", ()))
    assert here.isdisjoint(refused)
    if not is_newer:
        assert public(getattr(onnxruntime, name)) - here - refused == set()
    made = object.__new__(own)
    for missing in refused:
        assert not hasattr(made, missing)
        with pytest.raises(dml.DMLError, match=rf"{name}\.{missing}: not available; "):
            getattr(made, missing)
    with pytest.raises(AttributeError):
        _ = made.nothing_of_the_kind


def test_the_guide_lists_them() -> None:
    """The page's table has every refused name with its reason."""
    text = GUIDE.read_text(encoding="utf-8")
    reasons: dict[str, list[str]] = {}
    for name, reason in MISSING.items():
        reasons.setdefault(reason, []).append(f"`{name}`")
    for reason, names in reasons.items():
        assert f"| {', '.join(names)} | {reason} |" in text


def test_versions_and_providers() -> None:
    assert Version(ort.__version__) >= Version("1.32")
    assert ort.get_version_string() == ort.__version__
    assert ort.get_all_providers() == ort.get_available_providers()
    assert "directml-vulkan" in ort.get_build_info()
    assert not ort.has_collective_ops()
    ort.preload_dlls(cuda=True)
    ort.disable_telemetry_events()


def test_debug_information(capsys: pytest.CaptureFixture[str]) -> None:
    ort.print_debug_info()
    assert "NumPy" in capsys.readouterr().out


def small(op: str = "Sigmoid") -> bytes:
    x = np.zeros((2, 3), np.float32)
    found: bytes = model_of([helper.make_node(op, ["x"], ["y"])], {"x": x}, ["y"], 21).SerializeToString()
    return found


X = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)


def test_a_profile_is_a_trace_of_every_run(device: dml.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    options = ort.SessionOptions(enable_profiling=True, profile_file_prefix="steps")
    before = time.monotonic_ns()
    session = ort.InferenceSession(small(), options, device=device)
    assert before <= session.get_profiling_start_time_ns() <= time.monotonic_ns()
    for _ in range(2):
        (y,) = session.run(None, {"x": X})
    np.testing.assert_allclose(y, 1 / (1 + np.exp(-X)), rtol=1e-6)
    path = session.end_profiling()
    assert path.startswith("steps_")
    events = json.loads(Path(path).read_text())["traceEvents"]
    rows = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    assert rows == ["run 1", "run 2"]
    kernels = [event for event in events if event["ph"] == "X"]
    assert len(kernels) == 2
    assert all(event["args"]["kernel"].startswith("elementwise/") for event in kernels)
    assert session.end_profiling() == ""
    assert session.get_profiling_start_time_ns() == 0


def test_profiles_only_on_request(device: dml.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = ort.InferenceSession(small(), device=device)
    session.run(None, {"x": X})
    assert session.end_profiling() == ""
    assert not list(tmp_path.iterdir())


def test_run_async_calls_back(device: dml.Device) -> None:
    session = ort.InferenceSession(small(), device=device)
    done, found = threading.Event(), []

    def callback(*given: Any) -> None:
        found.append((threading.current_thread().name, *given))
        done.set()

    for feeds in ({"x": X}, {"x": X.astype(np.int32)}):
        done.clear()
        session.run_async(None, feeds, callback, "mine")
        assert done.wait(60)
    (thread, outputs, data, error), (_, nothing, _, message) = found
    assert (thread, data, error) == ("InferenceSession.run_async", "mine", "")
    np.testing.assert_allclose(outputs[0], 1 / (1 + np.exp(-X)), rtol=1e-6)
    assert nothing is None
    assert "takes arrays of float32, found int32" in message


@pytest.fixture
def unchanged_severity() -> Any:
    yield
    ort.set_default_logger_severity(2)


@pytest.mark.usefixtures("unchanged_severity")
def test_severity_selects_warnings(device: dml.Device) -> None:
    names = helper.make_node("StringNormalizer", ["s"], ["t"], case_change_action="LOWER")
    entries = [helper.make_tensor_value_info(name, onnx.TensorProto.STRING, [2]) for name in "st"]
    graph = helper.make_graph([names], "text", entries[:1], entries[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()

    def said(**options: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            providers = ["CUDAExecutionProvider", "DmlExecutionProvider"]
            ort.InferenceSession(model, ort.SessionOptions(**options), providers=providers)
        return [one.category.__name__ for one in caught]

    both = ["UserWarning", "HostNodesWarning"]
    assert said() == both
    assert said(log_severity_level=3) == []
    ort.set_default_logger_severity(3)
    assert said() == []
    assert said(log_severity_level=2) == both
    with pytest.raises(dml.DMLError, match="takes 0 to 4, found 5"):
        ort.set_default_logger_severity(5)


def test_providers_from_options_and_set_providers(device: dml.Device, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(small())
    options = ort.SessionOptions()
    assert not options.has_providers()
    options.add_provider("DmlExecutionProvider", {"device_id": str(device.vulkan.index)})
    session = ort.InferenceSession(tmp_path / "model.onnx", options)
    assert session.device.vulkan.index == device.vulkan.index
    session.set_providers([("DmlExecutionProvider", {"device_id": device.vulkan.index})])
    session.disable_fallback()
    np.testing.assert_allclose(session.run(None, {"x": X})[0], 1 / (1 + np.exp(-X)), rtol=1e-6)
    with pytest.raises(dml.DMLError, match="a session made from bytes cannot be created again"):
        ort.InferenceSession(small(), device=device).set_providers()


def test_a_failed_set_providers_keeps_the_session(device: dml.Device, tmp_path: Path) -> None:
    x = np.ones((2, 3), np.float32)
    path = tmp_path / "m.onnx"
    onnx.save(model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": x}, ["y"], 21), path)
    session = ort.InferenceSession(str(path), device=device)
    path.write_bytes(b"broken")
    with pytest.raises(dml.DMLError, match="not an ONNX model"):
        session.set_providers(["DmlExecutionProvider"], [{"device_id": device.vulkan.index}])
    assert session.device is device
    assert session.get_provider_options()["DmlExecutionProvider"]["device_id"] == str(device.vulkan.index)
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], x)
    with pytest.raises(dml.DMLError, match="not an ONNX model"):
        pickle.loads(pickle.dumps(session))
    onnx.save(model_of([helper.make_node("Neg", ["x"], ["y"])], {"x": x}, ["y"], 21), path)
    assert pickle.loads(pickle.dumps(session)).device.vulkan.index == device.vulkan.index


def test_values(device: dml.Device) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert value.element_type() == onnx.TensorProto.FLOAT
    assert not value.is_sparse_tensor()
    assert repr(value) == "<OrtValue: tensor(float) [2, 3], cpu>"
    halves = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3F80], np.uint16), onnx.TensorProto.BFLOAT16)
    assert float(halves.numpy()[0]) == 1.0
    with pytest.raises(dml.DMLError, match="has 2 bytes, found float32"):
        ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, onnx.TensorProto.BFLOAT16)
    target = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "dml")
    ort.copy_tensors([value], [target])
    np.testing.assert_array_equal(target.numpy(), X)
    with pytest.raises(dml.DMLError, match="found 1 and 0"):
        ort.copy_tensors([value], [])
    kept, narrow = (ort.OrtValue.ortvalue_from_numpy(np.zeros(size, np.float32)) for size in (value.shape(), 99))
    with pytest.raises(dml.DMLError, match=r"dst\[1\] must be float32 of shape .*, found float32 of shape \(99,\)"):
        ort.copy_tensors([value, value], [kept, narrow])
    assert not kept.numpy().any(), "nothing is copied if a pair differs"


@pytest.mark.parametrize(
    ("shape", "element_type", "words"),
    [
        ((2, 3), "float31", "element_type: takes a NumPy dtype or an ONNX data type, found 'float31'"),
        ((2, 3), {"a": 1}, "element_type: takes"),
        ((2, 3), 4711, "no NumPy dtype for ONNX data type 4711"),
        ((2, -3), np.float32, r"cannot create an array of shape \(2, -3\)"),
        ((2, 3.5), np.float32, "cannot create an array of shape"),
        ("ab", np.float32, "cannot create an array of shape 'ab'"),
        (7, np.float32, "cannot create an array of shape 7"),
        ((1 << 40, 1 << 20), np.float32, "cannot create an array of shape"),
    ],
)
def test_values_of_no_such_shape_or_type(shape: Any, element_type: Any, words: str) -> None:
    with pytest.raises(dml.DMLError, match=words):
        ort.OrtValue.ortvalue_from_shape_and_type(shape, element_type)


def test_memory_of_no_such_shape_or_type(device: dml.Device) -> None:
    x = np.ones(3, np.float32)
    model = model_of([helper.make_node("Relu", ["x"], ["y"])], {"x": x}, ["y"], 21)
    binding = ort.InferenceSession(model.SerializeToString(), device=device).io_binding()
    for element_type, shape in (("float31", [3]), (np.float32, [-3]), (object, [3])):
        with pytest.raises(dml.DMLError, match=r"element_type: takes|cannot create an array of shape"):
            binding.bind_input("x", "cpu", 0, element_type, shape, x.ctypes.data)


def test_a_seed_reaches_random_nodes(device: dml.Device) -> None:
    node = helper.make_node("RandomUniformLike", ["x"], ["y"], dtype=onnx.TensorProto.FLOAT)
    model = model_of([node], {"x": X}, ["y"], 21).SerializeToString()
    found = []
    for seed in (3, 3, 4):
        ort.set_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (y,) = ort.InferenceSession(model, device=device).run(None, {"x": X})
        found.append(y)
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_a_seed_reaches_both_runtimes() -> None:
    """onnx's reference evaluator, the fallback for onnxruntime, uses NumPy's generator."""
    state = np.random.get_state()
    try:
        ort.set_seed(7)
        first = np.random.random(3)
        ort.set_seed(7)
        np.testing.assert_array_equal(np.random.random(3), first)
        ort.set_seed(-1)
    finally:
        np.random.set_state(state)


def test_a_sessions_repr(device: dml.Device) -> None:
    session = ort.InferenceSession(small(), device=device)
    assert repr(session) == f"<InferenceSession: a model of bytes on {device.vulkan.name}; inputs x [2, 3]>"
    assert repr(session.io_binding()) == "<IOBinding: inputs none; outputs none>"


def test_types_of_every_kind_have_onnxruntimes_names() -> None:
    floats = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [2, "n"])
    several = helper.make_sequence_type_proto(floats)
    kinds = {
        "a": several, "b": helper.make_optional_type_proto(floats), "c": helper.make_optional_type_proto(several),
        "d": helper.make_tensor_type_proto(onnx.TensorProto.BFLOAT16, None),
        "e": helper.make_tensor_type_proto(onnx.TensorProto.STRING, [3]),
    }  # fmt: skip
    graph = helper.make_graph(
        [helper.make_node("Identity", [name], [f"{name}y"]) for name in kinds],
        "g",
        [helper.make_value_info(name, kind) for name, kind in kinds.items()],
        [helper.make_value_info(f"{name}y", kind) for name, kind in kinds.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)], ir_version=8).SerializeToString()
    found, expected = (
        [(entry.name, entry.type, entry.shape) for entry in (*session.get_inputs(), *session.get_outputs())]
        for session in (
            ort.InferenceSession(model),
            onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]),
        )
    )
    assert found == expected


def test_values_exchanged_by_dlpack(device: dml.Device) -> None:
    flags = ort.OrtValue.from_dlpack(np.array([0, 1, 1], np.uint8), is_bool_tensor=True)
    np.testing.assert_array_equal(flags.numpy(), [False, True, True])
    kept = ort.OrtValue.from_dlpack(device.to_device(X))
    assert kept.is_on_device
    for value in (kept, ort.OrtValue.from_dlpack(X)):
        np.testing.assert_array_equal(np.from_dlpack(value), X)


@pytest.mark.parametrize("kind", ["session", "run"])
def test_configuration_entries(kind: str) -> None:
    options: Any = ort.SessionOptions() if kind == "session" else ort.RunOptions()
    getattr(options, f"add_{kind}_config_entry")("key", "value")
    assert getattr(options, f"get_{kind}_config_entry")("key") == "value"
    with pytest.raises(dml.DMLError, match="no configuration 'other'"):
        getattr(options, f"get_{kind}_config_entry")("other")
