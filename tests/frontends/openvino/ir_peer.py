"""Run models built with OpenVINO's Python API and saved as IR in OpenVINO's CPU plugin and in dml."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dml
from dml.frontends.openvino import read_model

Array = npt.NDArray[Any]
_RNG = np.random.default_rng(21)
#: Neither half precision nor activations rounded to 8 bits.
_EXACT = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}


def random(*sizes: int) -> Array:
    return _RNG.standard_normal(sizes).astype(np.float32)


def both(device: dml.Device, tmp_path: Path, make: Callable[..., Any], *arrays: Array, tolerance: float = 2e-5) -> None:
    """Build and save a model and assert that both runtimes' outputs agree within float32's rounding of values around
    one.

    The same model with dynamic sizes must give the same bits.
    """
    ov = pytest.importorskip("openvino", reason="the openvino package is a test dependency (extra `test`)")
    o = pytest.importorskip("openvino.opset13")
    inputs = [o.parameter(list(array.shape), array.dtype, name=f"x{k}") for k, array in enumerate(arrays)]
    made = make(*inputs)
    made = made if isinstance(made, list) else [made]
    outputs = [node.output(0) if hasattr(node, "output") else node for node in made]
    path = tmp_path / "model.xml"
    ov.save_model(ov.Model([o.result(output) for output in outputs], inputs, "m"), str(path), compress_to_fp16=False)
    given = {f"x{k}": array for k, array in enumerate(arrays)}
    static = agree(device, path, given, tolerance)
    model = ov.Core().read_model(str(path))
    try:
        model.reshape({port: ov.PartialShape.dynamic(len(port.shape)) for port in model.inputs})
    except RuntimeError:  # OpenVINO refuses dynamic sizes
        return
    ov.save_model(model, str(tmp_path / "dynamic.xml"), compress_to_fp16=False)
    found = read_model(tmp_path / "dynamic.xml").compile(device)(given)
    for result, array in zip(found.values(), static.values(), strict=True):
        np.testing.assert_array_equal(result, array)


def agree(device: dml.Device, path: Path, inputs: dict[str, Array], tolerance: float) -> dict[str, Array]:
    """Assert that dml's outputs equal the CPU plugin's, with types and shapes. inputs: in the order of parameters."""
    ov = pytest.importorskip("openvino")
    core = ov.Core()
    compiled = core.compile_model(core.read_model(str(path)), "CPU", _EXACT)
    expected = list(compiled(list(inputs.values())).values())
    found = read_model(path).compile(device)(inputs)
    assert len(found) == len(expected)
    for result, reference in zip(found.values(), expected, strict=True):
        assert (result.shape, result.dtype) == (reference.shape, reference.dtype)
        np.testing.assert_allclose(result.astype(float), reference.astype(float), rtol=tolerance, atol=tolerance)
    return found
