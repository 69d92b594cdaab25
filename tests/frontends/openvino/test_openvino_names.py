"""Every name of openvino's Python package exists or is refused with a reason; programs run with both packages."""

from __future__ import annotations

import io
import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from packaging.version import Version

import dml
import dml.frontends.openvino as ours
from dml.frontends.openvino.refused import REFUSED

theirs = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
opset = pytest.importorskip("openvino.opset13")

GUIDE = Path(__file__).parents[3] / "tools" / "documentation" / "guide" / "from_openvino.md"
CLASSES = ["AsyncInferQueue", "CompiledModel", "ConstOutput", "Core", "Dimension", "InferRequest", "Model",
           "PartialShape", "ProfilingInfo", "Shape", "Tensor", "Type"]  # fmt: skip
#: A newer openvino may have names that dml does not know.
is_newer = Version(theirs.__version__.split("-")[0]) > Version(ours.__version__)
X = np.random.default_rng(0).standard_normal((2, 3), np.float32)


def public(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


@pytest.mark.skipif(is_newer, reason="openvino is newer than the list of names")
def test_every_name_of_the_package_is_here_or_refused() -> None:
    lacking = {name for name in public(theirs) if name not in ours.__all__ and name not in REFUSED}
    lacking -= {"runtime"}  # an old alias of the package itself
    for name in CLASSES:
        kind = getattr(ours, name)
        here = {one for base in kind.__mro__ for one in vars(base)} | set(getattr(kind, "__dataclass_fields__", ()))
        # attributes that __init__ sets
        found = {"inputs", "outputs", "latency", "userdata", "data", "friendly_name", "min_length", "max_length"}
        lacking |= {f"{name}.{one}" for one in public(getattr(theirs, name)) - public(list) - here - found}
    assert lacking == set()


def test_refused_names_have_reasons() -> None:
    for name, why in REFUSED.items():
        owner, _, member = name.partition(".")
        assert member or owner not in ours.__all__
        found = getattr(getattr(ours, owner), member) if member else getattr(ours, owner)
        for use in (lambda one: one(), lambda one: one.member):
            with pytest.raises(dml.DMLError, match=re.escape(f"{name}: {why}")):
                use(found)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ours.nonsense  # type: ignore[attr-defined]


def test_the_guide_lists_refused_names() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    listed: dict[str, str] = {}
    for names, why in re.findall(r"^\| (`.*?`) \| (.*?) \|$", text.partition("## Refused")[2], re.M):
        listed |= dict.fromkeys(re.findall(r"`([\w.]+)`", names), why)
    assert listed == dict(REFUSED)


# Programs, run with both packages


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Save y = relu(x) + z and w = x z, of {2, 3}; z is int64."""
    x, z = opset.parameter([2, 3], np.float32, name="x"), opset.parameter([2, 3], np.int64, name="z")
    converted = opset.convert(z, "f32")
    y, w = opset.add(opset.relu(x), converted), opset.multiply(x, converted)
    y.output(0).set_names({"y"})
    w.output(0).set_names({"w"})
    theirs.save_model(theirs.Model([opset.result(y), opset.result(w)], [x, z], "two"), tmp_path / "m.xml", False)
    return tmp_path / "m.xml"


@pytest.fixture
def dynamic(tmp_path: Path) -> Path:
    """Save y = 2 relu(x), of {?, 3}."""
    x = opset.parameter([-1, 3], np.float32, name="x")
    y = opset.multiply(opset.relu(x), np.float32(2))
    y.output(0).set_names({"y"})
    theirs.save_model(theirs.Model([opset.result(y)], [x], "one"), tmp_path / "d.xml", False)
    return tmp_path / "d.xml"


@pytest.fixture(params=["openvino", "dml"])
def api(request: pytest.FixtureRequest, device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, str]:
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    return (theirs, "CPU") if request.param == "openvino" else (ours, f"GPU.{device.vulkan.index}")


Z = np.array([[1, -2, 3], [0, 5, 1]])
Y, W = np.maximum(X, 0) + Z, X * Z.astype(np.float32)


def test_inputs_and_results_in_every_form(api: tuple[Any, str], path: Path) -> None:
    ov, name = api
    core = ov.Core()
    compiled = core.compile_model(core.read_model(path), name)
    first = compiled.output(0)
    for given in (
        [X, Z], (X, Z), {"x": X, "z": Z}, {0: X, 1: Z}, {compiled.input("x"): X, compiled.input(1): Z},
        {"x": ov.Tensor(X), "z": ov.Tensor(Z)}, [X.astype(np.float64), Z.astype(np.int32)],
    ):  # fmt: skip
        found = compiled(given)
        np.testing.assert_allclose(found[0], Y, rtol=1e-6)
        np.testing.assert_array_equal(found[first], found["y"])
        np.testing.assert_allclose(found["w"], W, rtol=1e-6)
        assert [port.any_name for port in found] == ["y", "w"]
        assert found.names() == ({"y"}, {"w"})
        a, b = found.to_tuple()
        np.testing.assert_array_equal(a, found[0])
        np.testing.assert_array_equal(found.to_dict()[compiled.output("w")], b)
    with pytest.raises(KeyError):
        found["nonsense"]
    np.testing.assert_array_equal(compiled.infer_new_request([X, Z])["y"], found["y"])
    np.testing.assert_array_equal(ov.compile_model(path, name)([X, Z])["y"], found["y"])


def test_a_single_input(api: tuple[Any, str], dynamic: Path) -> None:
    ov, name = api
    compiled = ov.compile_model(str(dynamic), name)
    for x in (X, X[:1], np.concatenate([X, X])):
        for given in (x, [x], {"x": x}, ov.Tensor(x)):
            np.testing.assert_array_equal(compiled(given)[compiled.output()], 2 * np.maximum(x, 0))


def test_models_tell_their_ports(api: tuple[Any, str], path: Path, dynamic: Path) -> None:
    ov, name = api
    core = ov.Core()
    for model in (core.read_model(str(path)), core.compile_model(path, name)):
        assert [port.any_name for port in model.inputs] == ["x", "z"]
        assert [port.get_any_name() for port in model.outputs] == ["y", "w"]
        x, z = model.inputs
        assert (x.element_type, z.get_element_type()) == (ov.Type.f32, ov.Type.i64)
        assert list(x.shape) == [2, 3] == list(model.output(0).get_shape())
        assert model.input("z") == z
        assert (str(x.partial_shape), x.partial_shape.is_static, x.names) == ("[2,3]", True, {"x"})
        assert x.node.friendly_name == "x"
        assert x.element_type.to_dtype() == np.float32
        with pytest.raises((RuntimeError, dml.DMLError)):
            model.input("nonsense")
        with pytest.raises((RuntimeError, dml.DMLError)):
            model.input()
    model = core.read_model(dynamic)
    assert model.is_dynamic()
    assert (model.friendly_name, str(model.input().partial_shape)) == ("one", "[?,3]")
    assert model.input().partial_shape[0].is_dynamic
    assert model.input().partial_shape[1].get_length() == 3
    with pytest.raises((RuntimeError, dml.DMLError)):
        _ = model.input().shape


@pytest.mark.parametrize("shape", [[4, 3], (4, 3), {"x": [4, 3]}, {0: "4,3"}])
def test_reshape(api: tuple[Any, str], dynamic: Path, shape: Any) -> None:
    ov, name = api
    model = ov.Core().read_model(dynamic)
    model.reshape(shape if not isinstance(shape, dict) else {k: ov.PartialShape(v) for k, v in shape.items()})
    assert list(model.input().shape) == [4, 3]
    assert not model.is_dynamic()
    assert list(model.output().shape) == [4, 3]
    x = np.tile(X, (2, 1))
    compiled = ov.compile_model(model, name)
    np.testing.assert_array_equal(compiled(x)[0], 2 * np.maximum(x, 0))


def test_a_static_model_takes_other_sizes_once_reshaped(api: tuple[Any, str], path: Path) -> None:
    ov, name = api
    model = ov.Core().read_model(path)
    model.reshape({"x": ov.PartialShape([-1, 3]), "z": ov.PartialShape([-1, 3])})
    compiled = ov.compile_model(model, name)
    for rows in (1, 2):
        np.testing.assert_allclose(compiled([X[:rows], Z[:rows]])["y"], Y[:rows], rtol=1e-6)
    model.reshape({"x": [1, 3], "z": [1, 3]})
    np.testing.assert_allclose(ov.compile_model(model, name)([X[1:], Z[1:]])["w"], W[1:], rtol=1e-6)


def test_reshape_refuses_sizes_that_a_layer_does_not_take(api: tuple[Any, str], tmp_path: Path) -> None:
    """The error is raised immediately, and the model stays unchanged."""
    ov, name = api
    x = opset.parameter([2, 3], np.float32, name="x")
    made = opset.relu(opset.matmul(x, np.ones((3, 5), np.float32), False, False))
    theirs.save_model(theirs.Model([opset.result(made)], [x], "m"), tmp_path / "p.xml", False)
    model = ov.Core().read_model(tmp_path / "p.xml")
    with pytest.raises((RuntimeError, dml.DMLError)):
        model.reshape([2, 4])
    assert list(model.input().shape) == [2, 3]
    model.reshape([7, 3])
    compiled = ov.compile_model(model, name)
    assert list(compiled.output(0).shape) == [7, 5]
    np.testing.assert_array_equal(compiled(np.ones((7, 3), np.float32))[0], np.full((7, 5), 3, np.float32))


def test_requests_keep_their_tensors(api: tuple[Any, str], path: Path) -> None:
    ov, name = api
    request = ov.compile_model(path, name).create_infer_request()
    assert [list(tensor.shape) for tensor in request.input_tensors] == [[2, 3], [2, 3]]
    request.get_input_tensor(0).data[:] = X
    request.get_tensor("z").data[:] = Z
    request.infer()
    np.testing.assert_allclose(request.get_output_tensor(0).data, Y, rtol=1e-6)
    np.testing.assert_allclose(request.get_tensor("w").data, W, rtol=1e-6)
    request.infer({"x": -X})  # z is unchanged
    np.testing.assert_allclose(request.results["w"], -W, rtol=1e-6)
    request.set_tensor("x", ov.Tensor(X))
    request.set_input_tensor(1, ov.Tensor(2 * Z))
    own = ov.Tensor(ov.Type.f32, ov.Shape([2, 3]))
    request.set_output_tensor(1, own)
    found = request.infer()
    np.testing.assert_allclose(own.data, 2 * W, rtol=1e-6)
    np.testing.assert_allclose(found["w"], 2 * W, rtol=1e-6)
    assert request.latency >= 0
    assert request.query_state() == []
    with pytest.raises((RuntimeError, dml.DMLError)):
        request.set_tensor("x", ov.Tensor(X.astype(np.float64)))


def test_results_outlive_the_next_run(api: tuple[Any, str], path: Path) -> None:
    """A later run changes the values of output tensors, but not of results that an earlier run returned."""
    ov, name = api
    request = ov.compile_model(path, name).create_infer_request()
    first, tensor = request.infer([X, Z]), request.get_output_tensor(1)
    np.testing.assert_allclose(tensor.data, W, rtol=1e-6)
    second = request.infer({"x": -X})
    request.infer({"x": 0 * X})
    np.testing.assert_allclose(first["w"], W, rtol=1e-6)
    np.testing.assert_allclose(second["w"], -W, rtol=1e-6)
    np.testing.assert_array_equal(tensor.data, 0 * W)


def test_runs_of_their_own_threads(api: tuple[Any, str], path: Path) -> None:
    ov, name = api
    request = ov.compile_model(path, name).create_infer_request()
    ended, said = threading.Event(), []

    def callback(userdata: Any) -> None:
        said.append(userdata)
        ended.set()

    request.set_callback(callback, "first")
    request.start_async([X, Z])
    request.wait()
    assert ended.wait(60)
    np.testing.assert_allclose(request.results[0], Y, rtol=1e-6)
    request.start_async([-X, Z], "second")
    assert request.wait_for(60_000)
    assert said == ["first", "second"]
    np.testing.assert_allclose(request.results["w"], -W, rtol=1e-6)


def test_a_queue_of_requests(api: tuple[Any, str], dynamic: Path) -> None:
    ov, name = api
    queue = ov.AsyncInferQueue(ov.compile_model(dynamic, name), 3)
    assert len(queue) == len(list(queue)) == 3
    assert queue.is_ready()
    found: dict[int, np.ndarray] = {}
    queue.set_callback(lambda request, userdata: found.__setitem__(userdata, request.get_output_tensor(0).data.copy()))
    for at in range(12):
        if at % 4 == 0:
            assert 0 <= queue.get_idle_request_id() < 3
        queue.start_async({"x": np.full((1 + at % 3, 3), at, np.float32)}, at)
    queue.wait_all()
    assert sorted(found) == list(range(12))
    for at, array in found.items():
        np.testing.assert_array_equal(array, np.full((1 + at % 3, 3), 2 * at, np.float32))


def test_tensors(api: tuple[Any, str]) -> None:
    ov, _ = api
    own = X.copy()
    shared, copied = ov.Tensor(own, shared_memory=True), ov.Tensor(own)
    own[0, 0] = 7
    assert (shared.data[0, 0], copied.data[0, 0]) == (7, X[0, 0])
    made = ov.Tensor(ov.Type.i32, ov.Shape([2, 2]))
    made.data[:] = [[1, 2], [3, 4]]
    assert (list(made.shape), made.size, made.byte_size, made.element_type) == ([2, 2], 4, 16, ov.Type.i32)
    assert list(made.strides) == [8, 4]
    other = ov.Tensor(np.int32, [2, 2]) if ov is ours else ov.Tensor(ov.Type.i32, ov.Shape([2, 2]))
    made.copy_to(other)
    np.testing.assert_array_equal(other.data, [[1, 2], [3, 4]])
    made.shape = [1, 2]
    assert list(made.get_shape()) == [1, 2]
    assert repr(shared) == "<Tensor: shape[2,3] type: f32>"


def test_shapes(api: tuple[Any, str]) -> None:
    ov, _ = api
    shape = ov.PartialShape([1, -1, (2, 5)])
    assert str(shape) == "[1,?,2..5]"
    assert str(ov.PartialShape("1,?,2..5")) == str(shape)
    assert shape == ov.PartialShape([1, ov.Dimension(), ov.Dimension(2, 5)])
    assert [one.is_dynamic for one in shape] == [False, True, True]
    assert (shape[2].get_min_length(), shape[2].max_length, len(shape), shape.rank.get_length()) == (2, 5, 3, 3)
    assert str(ov.PartialShape.dynamic(3)) == str(ov.PartialShape.dynamic(ov.Dimension(3))) == "[?,?,?]"
    assert ov.PartialShape([2, 3]).to_shape() == ov.Shape([2, 3])
    assert list(ov.Shape([2, 3])) == [2, 3]
    assert repr(ov.Shape([2, 3])) == "<Shape: [2,3]>"
    assert shape.compatible(ov.PartialShape([1, 7, 3]))
    assert not shape.compatible(ov.PartialShape([1, 7, 6]))
    for failing in (lambda: shape.to_shape(), lambda: ov.Dimension().get_length()):
        with pytest.raises((RuntimeError, ValueError, dml.DMLError)):
            failing()


@pytest.mark.parametrize("name", ["f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
                                  "boolean"])  # fmt: skip
def test_types(name: str) -> None:
    mine, their = getattr(ours.Type, name), getattr(theirs.Type, name)
    for member in ("get_type_name", "get_size", "get_bitwidth", "is_real", "is_integral", "is_integral_number",
                   "is_signed", "is_static", "is_dynamic", "to_string"):  # fmt: skip
        if member == "get_bitwidth" and name == "boolean":
            continue  # openvino returns 8, an element's bytes
        assert getattr(mine, member)() == getattr(their, member)(), member
    assert ours.Type(mine.to_dtype()) is mine
    if name != "bf16":  # NumPy lacks this type
        assert mine.to_dtype() == their.to_dtype()


def test_other_words_for_the_same(api: tuple[Any, str], path: Path) -> None:
    ov, name = api
    core = ov.Core()
    read = core.read_model(path.read_bytes(), path.with_suffix(".bin").read_bytes())
    config = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(read, name, config)
    np.testing.assert_allclose(compiled({"x": X, "z": Z})["y"], Y, rtol=1e-6)
    assert compiled.get_property("NETWORK_NAME") == "two"
    assert core.get_property(name, "FULL_DEVICE_NAME")
    assert "FULL_DEVICE_NAME" in core.get_property(name, "SUPPORTED_PROPERTIES")
    assert set(core.query_model(read, name).values()) == {name}
    (version,) = core.get_versions(name).values()
    assert version.description
    request = core.compile_model(path, name, {"PERF_COUNT": True}).create_infer_request()
    request.infer([X, Z])
    assert all(one.node_name and one.real_time.total_seconds() >= 0 for one in request.profiling_info)
    assert request.get_profiling_info()
    core.set_property({"CACHE_DIR": ""})
    for wrong in (
        lambda: core.compile_model(read, name, {"NONSENSE": 1}),
        lambda: core.compile_model(read, "TOASTER"),
        lambda: core.read_model(path.with_name("missing.xml")),
        lambda: compiled([X, Z, Z]),
        lambda: compiled({"nonsense": X}),
        lambda: compiled({"x": X[:, :2], "z": Z}),
        lambda: compiled.get_property("NONSENSE"),
    ):
        with pytest.raises((RuntimeError, dml.DMLError)):
            wrong()


# Only dml's behaviour


def test_devices(device: dml.Device, path: Path) -> None:
    core = ours.Core()
    assert len(core.available_devices) == len(dml.list_devices())
    for name in ("CPU", "NPU", "HETERO:GPU,CPU", "GPU.x"):
        with pytest.raises(dml.DMLError, match=r"models run on Vulkan devices, by the names GPU, GPU\.1 and AUTO"):
            core.compile_model(path, name)
    half = core.compile_model(path, f"GPU.{device.vulkan.index}", {"INFERENCE_PRECISION_HINT": ours.Type.f16})
    np.testing.assert_allclose(half([X, Z])["y"], Y, rtol=1e-6)  # FLOAT32 tensors stay FLOAT32
    with pytest.raises(dml.DMLError, match="INFERENCE_PRECISION_HINT: takes f32 or f16, found 'i8'"):
        core.compile_model(path, "GPU", {"INFERENCE_PRECISION_HINT": "i8"})
    with pytest.raises(dml.DMLError, match=r"property 'PERFORMANCE_HNT' is not known.*PERFORMANCE_HINT"):
        core.compile_model(path, "GPU", {"PERFORMANCE_HNT": "LATENCY"})
    with pytest.raises(dml.DMLError, match=r"m\.onnx: dml\.frontends\.onnx runs ONNX models"):
        core.read_model("m.onnx")
    with pytest.raises(dml.DMLError, match=r"takes an \.xml file or its bytes, found '\.pdmodel'"):
        core.read_model("m.pdmodel")


def test_models_in_memory(api: tuple[Any, str], path: Path) -> None:
    """Text or bytes, with weights as bytes or in a Tensor; of a file, the weights' path may be given."""
    ov, name = api
    core = ov.Core()
    xml, weights = path.read_bytes(), path.with_suffix(".bin")
    bytes_ = ov.Tensor(np.frombuffer(weights.read_bytes(), np.uint8))
    for model in (core.read_model(xml.decode(), bytes_), core.read_model(path, weights),
                  core.read_model(io.BytesIO(xml), io.BytesIO(weights.read_bytes()))):  # fmt: skip
        np.testing.assert_allclose(core.compile_model(model, name)([X, Z])["y"], Y, rtol=1e-6)


def test_devices_are_chosen_by_name_and_properties(device: dml.Device, path: Path) -> None:
    index = str(device.vulkan.index)
    core = ours.Core()
    assert core.get_available_devices() == core.available_devices == core.get_property("AVAILABLE_DEVICES")
    core.set_property("GPU", {"INFERENCE_PRECISION_HINT": "f16"})
    core.set_property({"DEVICE_ID": index})
    assert core.get_property("INFERENCE_PRECISION_HINT") == "f16"
    assert core.get_property("DEVICE_ID") == index
    name = core.get_property(f"GPU.{index}", "FULL_DEVICE_NAME")
    for chosen in ("GPU", f"AUTO:GPU.{index},CPU", "AUTO", None):
        compiled = core.compile_model(path, chosen)
        assert compiled.get_property("FULL_DEVICE_NAME") == name
    assert ours.Core().compile_model(path, {"DEVICE_ID": index}).get_property("FULL_DEVICE_NAME") == name
    assert ours.get_version() == ours.__version__
    for run, words in (
        (lambda: core.set_property("GPU"), "takes a mapping"),
        (lambda: ours.Core("plugins.xml"), "configuration files are not supported"),
        (lambda: core.compile_model(path, "NPU"), "device 'NPU': models run on Vulkan devices"),
    ):
        with pytest.raises(dml.DMLError, match=words):
            run()


def test_an_input_that_is_missing_is_named(device: dml.Device, path: Path, dynamic: Path) -> None:
    name = f"GPU.{device.vulkan.index}"
    with pytest.raises(dml.DMLError, match="z"):
        ours.compile_model(path, name)({"x": X})
    with pytest.raises(dml.DMLError, match="parameter 'x': an array must be given"):
        ours.compile_model(dynamic, name)({})


def test_errors_of_other_threads_reach_who_waits(device: dml.Device, path: Path) -> None:
    compiled = ours.compile_model(path, f"GPU.{device.vulkan.index}")
    request = compiled.create_infer_request()
    request.start_async([X[:1], Z])
    with pytest.raises(dml.DMLError, match="its shape is"):
        request.wait()
    request.wait()  # warned once
    queue = ours.AsyncInferQueue(compiled, 2)
    queue.start_async([X[:1], Z])
    with pytest.raises(dml.DMLError, match="its shape is"):
        queue.wait_all()
    called: list[Any] = []
    queue.set_callback(lambda *given: called.append(given) or 1 / 0)
    queue.start_async([X, Z])
    with pytest.raises(ZeroDivisionError):
        queue.wait_all()
    queue.set_callback(lambda *given: called.append(given))
    queue.start_async([X, Z], "last")
    queue.wait_all()
    assert [userdata for _, userdata in called] == [None, "last"]


def test_reshape_refuses_misfitting_sizes(path: Path) -> None:
    model = ours.read_model(path)
    before = str(model)
    for shape, words in (
        ([4, 3], "the model has 2 inputs"), ({"x": [4]}, "x has 2 sizes"), ({"a": [4, 3]}, "has no input 'a'"),
        ({"x": ["a", 3]}, "PartialShape: takes numbers"), ({"x": 7}, r"Model\.reshape: takes shapes"),
    ):  # fmt: skip
        with pytest.raises(dml.DMLError, match=words):
            model.reshape(shape)
    assert str(model) == before
