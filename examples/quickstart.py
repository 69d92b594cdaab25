"""A first look: two operators described as in DirectML, run on a Vulkan device, and compared with expected results.

    python examples/quickstart.py [device]

``device`` is an index or a part of a name in the list of ``dml devices``; the default is the best device.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

import dml

Array = npt.NDArray[Any]


def tensor(array: Array) -> dml.DML_BUFFER_TENSOR_DESC:
    """Return a packed tensor with the array's data type and sizes."""
    return dml.DML_BUFFER_TENSOR_DESC(dml.data_type_of(array.dtype), array.shape)


def float32(*sizes: int) -> dml.DML_BUFFER_TENSOR_DESC:
    return dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, sizes)


def reverse_subsequences(device: dml.Device) -> bool:
    """Run the two examples of the operator's reference page, whose results must be exact."""
    values = np.arange(1, 13, dtype=np.float32).reshape(1, 1, 3, 4)
    examples = [
        (3, np.array([2, 4, 3], np.uint32).reshape(1, 1, 3, 1), [[2, 1, 3, 4], [8, 7, 6, 5], [11, 10, 9, 12]]),
        (2, np.array([2, 3, 1, 0], np.uint32).reshape(1, 1, 1, 4), [[5, 10, 3, 4], [1, 6, 7, 8], [9, 2, 11, 12]]),
    ]
    right = True
    for number, (axis, lengths, expected) in enumerate(examples, 1):
        desc = dml.DML_REVERSE_SUBSEQUENCES_OPERATOR_DESC(
            InputTensor=tensor(values),
            SequenceLengthsTensor=tensor(lengths),
            OutputTensor=tensor(values),
            Axis=axis,
        )
        outputs = dml.dispatch(desc, {"InputTensor": values, "SequenceLengthsTensor": lengths}, device)
        result = outputs["OutputTensor"][0, 0]
        same = np.array_equal(result, expected)
        right &= same
        print(f"REVERSE_SUBSEQUENCES, example {number}: axis {axis}, lengths {lengths.ravel()}")
        print(f"{result.astype(int)}")
        print(f"matches the reference: {'yes' if same else f'no, expected {expected}'}\n")
    return right


def gru(device: dml.Device) -> bool:
    """Run a bidirectional GRU with sequences of different lengths; compare it with float64."""
    steps, batch, size, hidden, directions = 16, 4, 32, 64, 2
    rng = np.random.default_rng(0)

    def uniform(*sizes: int) -> Array:
        return rng.uniform(-(hidden**-0.5), hidden**-0.5, sizes).astype(np.float32)

    inputs = {
        "InputTensor": rng.uniform(-1, 1, (1, steps, batch, size)).astype(np.float32),
        "WeightTensor": uniform(1, directions, 3 * hidden, size),
        "RecurrenceTensor": uniform(1, directions, 3 * hidden, hidden),
        "BiasTensor": uniform(1, 1, directions, 6 * hidden),
        "HiddenInitTensor": rng.uniform(-1, 1, (1, directions, batch, hidden)).astype(np.float32),
        "SequenceLengthsTensor": np.array([16, 9, 1, 12], np.uint32).reshape(1, 1, 1, batch),
    }
    sigmoid, tanh = (
        dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(None, None),
        dml.DML_ACTIVATION_TANH_OPERATOR_DESC(None, None),
    )
    desc = dml.DML_GRU_OPERATOR_DESC(
        **{name: tensor(array) for name, array in inputs.items()},
        OutputSequenceTensor=float32(steps, directions, batch, hidden),
        OutputSingleTensor=float32(1, directions, batch, hidden),
        ActivationDescs=[sigmoid, tanh] * directions,
        Direction=dml.DML_RECURRENT_NETWORK_DIRECTION_BIDIRECTIONAL,
        LinearBeforeReset=True,
    )
    compiled = device.compile_operator(device.create_operator(desc))
    outputs = compiled.dispatch(inputs)
    sequence, last = gru_in_float64(inputs)
    error = max(
        float(np.abs(outputs["OutputSequenceTensor"] - sequence).max()),
        float(np.abs(outputs["OutputSingleTensor"][0] - last).max()),
    )
    lengths = inputs["SequenceLengthsTensor"].ravel()
    print(f"GRU, bidirectional: {steps} steps, batch {batch}, input {size}, hidden {hidden}, lengths {lengths}")
    print(
        f"last state of row 0, forward: {np.array2string(outputs['OutputSingleTensor'][0, 0, 0, :4], precision=6)} ..."
    )
    print(f"in float64:                   {np.array2string(last[0, 0, :4], precision=6)} ...")
    print(f"largest error: {error:.1e}, within 1e-05: {'yes' if error <= 1e-5 else 'no'}")
    return error <= 1e-5


def gru_in_float64(inputs: dict[str, Array]) -> tuple[Array, Array]:
    """Compute the network step by step; return the states {steps, directions, batch, hidden} and the last ones."""
    x, w, r, bias, initial = (
        inputs[name][0].astype(np.float64)
        for name in ("InputTensor", "WeightTensor", "RecurrenceTensor", "BiasTensor", "HiddenInitTensor")
    )
    lengths = inputs["SequenceLengthsTensor"].ravel()
    steps, batch, _ = x.shape
    directions, _, hidden = r.shape
    sequence, last = np.zeros((steps, directions, batch, hidden)), np.zeros((directions, batch, hidden))
    for direction in range(directions):
        input_bias, state_bias = np.split(bias[0, direction], 2)
        for row in range(batch):
            h = initial[direction, row]
            places = range(lengths[row])
            for t in places if direction == 0 else reversed(places):
                z, reset, candidate = np.split(w[direction] @ x[t, row] + input_bias, 3)
                state_z, state_reset, state_candidate = np.split(r[direction] @ h + state_bias, 3)
                z = 1 / (1 + np.exp(-(z + state_z)))
                reset = 1 / (1 + np.exp(-(reset + state_reset)))
                h = (1 - z) * np.tanh(candidate + reset * state_candidate) + z * h
                sequence[t, direction, row] = h
            last[direction, row] = h
    return sequence, last


def main() -> int:
    device = dml.create_device(sys.argv[1] if len(sys.argv) > 1 else None)
    print(f"device: {device.vulkan.name}, driver {device.vulkan.driver}\n")
    right = [reverse_subsequences(device), gru(device)]
    return 0 if all(right) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except dml.DMLError as error:
        sys.exit(f"quickstart: {error}")
