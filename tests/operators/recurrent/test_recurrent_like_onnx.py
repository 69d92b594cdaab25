"""The recurrent operators compared with the equivalent ONNX operators in ONNX Runtime on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dml
from harness import like, run, tensor

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
#: Steps, batch, input, hidden.
SIZES = (6, 3, 5, 8)


def theirs(kind: str, inputs: dict[str, Any], direction: str, **attributes: Any) -> dict[str, Any]:
    from onnx import TensorProto, helper

    order = ["X", "W", "R", "B", "sequence_lens", "initial_h"] + (["initial_c", "P"] if kind == "LSTM" else [])
    outputs = ["Y", "Y_h"] + (["Y_c"] if kind == "LSTM" else [])
    node = helper.make_node(
        kind,
        [name if name in inputs else "" for name in order],
        outputs,
        hidden_size=SIZES[3],
        direction={"BACKWARD": "reverse"}.get(direction, direction.lower()),
        **attributes,
    )
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.int32): TensorProto.INT32}
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info(n, kinds[a.dtype], a.shape) for n, a in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return dict(zip(outputs, session.run(outputs, inputs), strict=True))


@pytest.mark.parametrize("direction", ["FORWARD", "BACKWARD", "BIDIRECTIONAL"])
@pytest.mark.parametrize("kind, flag", [("RNN", False), ("GRU", False), ("GRU", True), ("LSTM", False), ("LSTM", True)])
def test_same_as_onnxruntime(device: dml.Device, kind: str, flag: bool, direction: str) -> None:
    """The networks agree with onnxruntime's. flag: sets linear_before_reset, or input_forget without clip."""
    rng = np.random.default_rng(3)
    steps, batch, size, hidden = SIZES
    gates, d = GATES[kind], 2 if direction == "BIDIRECTIONAL" else 1

    def uniform(*sizes: int) -> Any:
        return rng.uniform(-0.7, 0.7, sizes).astype(np.float32)

    data = {
        "X": uniform(steps, batch, size),
        "W": uniform(d, gates * hidden, size),
        "R": uniform(d, gates * hidden, hidden),
        "B": uniform(d, 2 * gates * hidden),
        "sequence_lens": np.array([6, 4, 1], np.int32),
        "initial_h": uniform(d, batch, hidden),
    }
    attributes: dict[str, Any] = {}
    more: dict[str, Any] = {}
    functions = [dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()]
    if kind == "RNN":
        functions = functions[1:]
    elif kind == "GRU":
        attributes, more = {"linear_before_reset": int(flag)}, {"LinearBeforeReset": flag}
    else:
        data |= {"initial_c": uniform(d, batch, hidden), "P": uniform(d, 3 * hidden)}
        attributes = {"input_forget": int(flag)} | ({} if flag else {"clip": 0.4})
        more = {"ClipThreshold": 0.4, "UseClipThreshold": not flag, "CoupleInputForget": flag}
        functions = [*functions, functions[1]]
    expected = theirs(kind, data, direction, **attributes)

    names = {
        "X": ("InputTensor", (1, *data["X"].shape)),
        "W": ("WeightTensor", (1, *data["W"].shape)),
        "R": ("RecurrenceTensor", (1, *data["R"].shape)),
        "B": ("BiasTensor", (1, 1, *data["B"].shape)),
        "sequence_lens": ("SequenceLengthsTensor", (1, 1, 1, batch)),
        "initial_h": ("HiddenInitTensor", (1, d, batch, hidden)),
        "initial_c": ("CellMemInitTensor", (1, d, batch, hidden)),
        "P": ("PeepholeTensor", (1, 1, d, 3 * hidden)),
    }
    inputs = {}
    for theirs_name, array in data.items():
        name, sizes = names[theirs_name]
        inputs[name] = array.astype(np.uint32 if array.dtype == np.int32 else np.float32).reshape(sizes)
    outputs = {"OutputSequenceTensor": (steps, d, batch, hidden), "OutputSingleTensor": (1, d, batch, hidden)}
    if kind == "LSTM":
        outputs["OutputCellSingleTensor"] = (1, d, batch, hidden)
    desc = getattr(dml, f"DML_{kind}_OPERATOR_DESC")(
        **{name: like(array) for name, array in inputs.items()},
        **{name: tensor("FLOAT32", sizes) for name, sizes in outputs.items()},
        ActivationDescs=functions * d,
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION[f"DML_RECURRENT_NETWORK_DIRECTION_{direction}"],
        **more,
    )
    results = run(device, desc, inputs)
    # Both are float32; ONNX Runtime approximates the activations to about 1e-6.
    for name, theirs_name in zip(outputs, ("Y", "Y_h", "Y_c"), strict=False):
        result = results[name].reshape(expected[theirs_name].shape)
        np.testing.assert_allclose(result, expected[theirs_name], 1e-5, 1e-5, err_msg=name)
