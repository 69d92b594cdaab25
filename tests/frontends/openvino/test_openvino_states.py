"""Models with variables keep their values from run to run, as OpenVINO's CPU plugin does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dml
import dml.frontends.openvino as ours
from dml.cli import app
from dml.frontends.openvino import read_model

theirs = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
o = pytest.importorskip("openvino.opset13")
older = pytest.importorskip("openvino.opset6")

X = np.random.default_rng(4).standard_normal((1, 3), np.float32)


@pytest.fixture(params=["dml", "openvino"])
def api(request: pytest.FixtureRequest, device: dml.Device) -> tuple[Any, Any]:
    """Return the package and the name of its device."""
    if request.param == "openvino":
        return theirs, "CPU"
    return ours, f"GPU.{device.vulkan.index}"


def saved(folder: Path, results: list[Any], writes: list[Any], inputs: list[Any]) -> Path:
    for number, result in enumerate(results):
        result.output(0).set_names({f"y{number}"})
    model = theirs.Model([o.result(one) for one in results], writes, inputs, "m")
    theirs.save_model(model, folder / "m.xml", False)
    return folder / "m.xml"


@pytest.fixture
def counting(tmp_path: Path) -> Path:
    """A model with two variables: y0 = v + x, where v is first 2 x, then the last y0; y1 = |w|, where w is first 0,
    then the last x * y0."""
    x = o.parameter([1, 3], np.float32, name="x")
    v = older.read_value(o.multiply(x, np.float32(2)), "v", theirs.Type.f32, theirs.PartialShape([1, 3]))
    w = older.read_value(o.constant(np.zeros((1, 3), np.float32)), "w", theirs.Type.f32, theirs.PartialShape([1, 3]))
    y = o.add(v, x)
    writes = [older.assign(y, "v"), older.assign(o.multiply(x, y), "w")]
    return saved(tmp_path, [y, o.abs(w)], writes, [x])


def test_variables_stay_from_run_to_run(api: tuple[Any, Any], counting: Path) -> None:
    ov, name = api
    model = ov.Core().compile_model(counting, name)
    request, other = model.create_infer_request(), model.create_infer_request()
    last = np.zeros((1, 3), np.float32)
    for run in range(3):
        found = request.infer({"x": X})
        np.testing.assert_allclose(found["y0"], (3 + run) * X, rtol=1e-6)
        np.testing.assert_allclose(found["y1"], np.abs(last), rtol=1e-6)
        last = X * (3 + run) * X
    np.testing.assert_allclose(other.infer({"x": X})["y0"], 3 * X, rtol=1e-6)
    for run in range(2):  # calling the model uses its own request
        np.testing.assert_allclose(model({"x": X})["y0"], (3 + run) * X, rtol=1e-6)
    states = {one.name: one for one in request.query_state()}
    assert sorted(states) == ["v", "w"]
    np.testing.assert_allclose(states["v"].state.data, 5 * X, rtol=1e-6)
    np.testing.assert_allclose(states["w"].state.data, last, rtol=1e-6)
    states["v"].state = ov.Tensor(7 * X)
    np.testing.assert_allclose(request.infer({"x": X})["y0"], 8 * X, rtol=1e-6)
    states["v"].reset()
    found = request.infer({"x": X})
    np.testing.assert_allclose(found["y0"], 3 * X, rtol=1e-6)
    assert np.any(found["y1"])
    request.reset_state()
    found = request.infer({"x": X})
    np.testing.assert_allclose(found["y0"], 3 * X, rtol=1e-6)
    assert not np.any(found["y1"])


@pytest.mark.filterwarnings("ignore::dml.errors.HostNodesWarning")
@pytest.mark.parametrize("begins", [0, 2])
def test_a_cache_that_grows(api: tuple[Any, Any], tmp_path: Path, begins: int) -> None:
    """The past, {2, ?, 4}, starts with ``begins`` rows of ones; x is appended to it."""
    ov, name = api
    x = o.parameter([2, -1, 4], np.float32, name="x")
    sizes = theirs.PartialShape([2, -1, 4])
    first = o.broadcast(o.constant(np.float32(1)), o.constant(np.array([2, begins, 4], np.int64)))
    past = older.read_value(first, "past", theirs.Type.f32, sizes)
    present = o.concat([past, x], 1)
    path = saved(
        tmp_path, [o.reduce_sum(present, np.array([1]), False), o.relu(x)], [older.assign(present, "past")], [x]
    )
    request = ov.Core().compile_model(path, name).create_infer_request()
    rng = np.random.default_rng(0)
    for _ in range(2):
        whole = np.ones((2, begins, 4), np.float32)
        for rows in (3, 1, 1):
            given = rng.standard_normal((2, rows, 4), np.float32)
            whole = np.concatenate([whole, given], 1)
            np.testing.assert_allclose(request.infer({"x": given})["y0"], whole.sum(1), rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(request.query_state()[0].state.data, whole)
        request.reset_state()


def test_networks_keep_variables_too(device: dml.Device, counting: Path) -> None:
    network = read_model(counting).compile(device)
    assert list(network.parameters) == ["x"]
    np.testing.assert_allclose(network({"x": X})["y0"], 3 * X, rtol=1e-6)
    with pytest.raises(dml.DMLError):
        network({"x": X[:, :2]})
    with pytest.raises(dml.DMLError, match="no parameter 'variable v'; the model has x"):
        network({"x": X, "variable v": X})
    # the failed run has left the variable unchanged
    np.testing.assert_allclose(network({"x": X})["y0"], 4 * X, rtol=1e-6)
    network.reset_state()
    np.testing.assert_allclose(network({"x": X})["y0"], 3 * X, rtol=1e-6)


def test_a_state_of_another_shape_or_type_is_refused(device: dml.Device, counting: Path) -> None:
    request = ours.Core().compile_model(counting, f"GPU.{device.vulkan.index}").create_infer_request()
    state = request.query_state()[0]
    assert not np.any(state.state.data)
    with pytest.raises(dml.DMLError, match=r"variable 'v': its shape is \(1, 3\), found \(1, 2\)"):
        state.state = ours.Tensor(X[:, :2])
    with pytest.raises(dml.DMLError, match="variable 'v': takes a Tensor of"):
        state.state = ours.Tensor(X.astype(np.float64))


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        ('variable_id="w"', 'variable_id="v"', "variable 'v' must have one ReadValue"),
        (' variable_id="v"', "", "attribute variable_id is missing"),
    ],
)
def test_damaged_variables(device: dml.Device, counting: Path, pattern: str, replacement: str, message: str) -> None:
    counting.write_text(counting.read_text("utf-8").replace(pattern, replacement), "utf-8")
    with pytest.raises(dml.DMLError, match=re.escape(message)):
        read_model(counting).compile(device)


def test_the_command_line(device: dml.Device, counting: Path) -> None:
    on = ["--device", str(device.vulkan.index)]
    for arguments in (["run", "--random", *on], ["inspect"], ["explain", *on]):
        result = CliRunner().invoke(app, [arguments[0], str(counting), *arguments[1:]])
        assert result.exit_code == 0, result.output
        assert "on the host" not in result.output
