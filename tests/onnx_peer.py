"""ONNX Runtime as a second opinion: one ONNX operator on NumPy arrays. Skips if onnx or onnxruntime is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]


def onnx_run(
    operator: str,
    inputs: Mapping[str, Array],
    outputs: int = 1,
    *,
    domain: str = "",
    opset: int = 18,
    **attributes: Any,
) -> list[Array]:
    """Return the outputs of an operator on the CPU provider, in order. Inputs have any names, in the operator's
    order."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    names = [f"output{i}" for i in range(outputs)]
    node = onnx.helper.make_node(operator, list(inputs), names, domain=domain, **attributes)
    values = [
        onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()
    ]
    results = [onnx.helper.make_empty_tensor_value_info(name) for name in names]
    opsets = [onnx.helper.make_opsetid("", opset)]
    if domain:
        opsets.append(onnx.helper.make_opsetid(domain, 1))
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], operator, values, results), opset_imports=opsets, ir_version=8
    )
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.asarray(output) for output in session.run(None, dict(inputs))]
