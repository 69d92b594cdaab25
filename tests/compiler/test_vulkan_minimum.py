"""Every operator on a device with Vulkan 1.1's minimum limits, of which four storage buffers per kernel is the hardest.

The axis "minimum" of test_axes.py runs all of them on such a device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import Target
from harness import Tensor, assert_exact, tensor
from sample_descriptors import NAMES, sample
from sample_runs import UNTOUCHED, elements, run_sample, tensors

COPY = "movement/copy_words.comp"

#: Operators whose samples have a kernel with more than four tensors.
MANY_TENSORS = (
    "ADAM_OPTIMIZER",
    "BATCH_NORMALIZATION",
    "BATCH_NORMALIZATION_GRAD",
    "BATCH_NORMALIZATION_TRAINING",
    "BATCH_NORMALIZATION_TRAINING_GRAD",
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD",
    "GRU",
    "LOCAL_RESPONSE_NORMALIZATION_GRAD",
    "LSTM",
    "MULTIHEAD_ATTENTION1",
    "QUANTIZED_LINEAR_AVERAGE_POOLING",
    "QUANTIZED_LINEAR_CONVOLUTION",
    "QUANTIZED_LINEAR_MATRIX_MULTIPLY",
    "RNN",
    "ROI_ALIGN_GRAD",
)


def copies(program: Program) -> int:
    return sum(dispatch.label == COPY for dispatch in program.dispatches)


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_compiles(name: str) -> None:
    """The builder refuses programs above the limits of shape and size; this test counts the buffers."""
    desc = sample(name)
    dml.validate(desc)
    program = compile_operator(desc, Target())
    assert program.dispatches
    assert max(len(dispatch.bindings) for dispatch in program.dispatches) <= 4


@pytest.mark.parametrize("layout, most", [("packed", 4), ("padded", 4), ("padded", 2)])
@pytest.mark.parametrize("name", MANY_TENSORS)
def test_shared_buffers(seen_as: Callable[..., dml.Device], name: str, layout: str, most: int) -> None:
    """Results have the same bytes as with one buffer per tensor, and the gaps between an output's elements keep their
    bytes. With a limit of two, below Vulkan's minimum, outputs share a buffer, too."""
    desc = sample(name, layout)
    one_each, wanted = run_sample(seen_as(max_storage_buffers=16), desc)
    shared, results = run_sample(seen_as(max_storage_buffers=most), desc)
    assert copies(one_each) == 0
    assert copies(shared) > 0
    assert max(len(dispatch.bindings) for dispatch in shared.dispatches) <= most
    for t, expected, found in zip(tensors(desc.outputs()), wanted, results, strict=True):
        np.testing.assert_array_equal(found, expected)
        inside = elements(t)
        assert (found[inside] != UNTOUCHED).any()
        assert (found[~inside] == UNTOUCHED).all()


def test_owned_inputs_are_copied_once(seen_as: Callable[..., dml.Device]) -> None:
    def tensor_of(*sizes: int, **more: Any) -> Tensor:
        return tensor("FLOAT32", sizes, **more)

    x = tensor_of(2, 3, 4, 5)
    owned = tensor_of(1, 3, 1, 1, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    names = ("MeanTensor", "VarianceTensor", "ScaleTensor", "BiasTensor")
    desc = dml.DML_BATCH_NORMALIZATION_OPERATOR_DESC(
        InputTensor=x, OutputTensor=x, Spatial=True, Epsilon=1e-3, FusedActivation=None, **dict.fromkeys(names, owned)
    )
    rng = np.random.default_rng(0)
    inputs = {name: rng.uniform(0.5, 2, owned.Sizes).astype(np.float32) for name in names}
    inputs["InputTensor"] = rng.uniform(-2, 2, x.Sizes).astype(np.float32)
    found = []
    for most in (16, 4):
        device = seen_as(max_storage_buffers=most)
        compiled = device.compile_operator(device.create_operator(desc))
        assert copies(compiled.program) == 0
        assert any(dispatch.label == COPY for dispatch in compiled.program.initialize) == (most == 4)
        found.append([compiled.dispatch(inputs)["OutputTensor"], compiled.dispatch(inputs)["OutputTensor"]])
    assert_exact(found[1][0], found[0][0])
    assert_exact(found[1][1], found[0][1])


def test_a_loop_copies_its_weights_once() -> None:
    """The state is so large that each step is a dispatch; the weights are copied once, not for every step."""

    def program(steps: int) -> Program:
        hidden = 2048
        desc = dml.DML_GRU_OPERATOR_DESC(
            InputTensor=tensor("FLOAT32", (1, steps, 1, 4)),
            WeightTensor=tensor("FLOAT32", (1, 1, 3 * hidden, 4)),
            RecurrenceTensor=tensor("FLOAT32", (1, 1, 3 * hidden, hidden)),
            BiasTensor=tensor("FLOAT32", (1, 1, 1, 6 * hidden)),
            HiddenInitTensor=tensor("FLOAT32", (1, 1, 1, hidden)),
            SequenceLengthsTensor=tensor("UINT32", (1, 1, 1, 1)),
            OutputSequenceTensor=tensor("FLOAT32", (steps, 1, 1, hidden)),
            OutputSingleTensor=tensor("FLOAT32", (1, 1, 1, hidden)),
            ActivationDescs=[dml.DML_ACTIVATION_SIGMOID_OPERATOR_DESC(), dml.DML_ACTIVATION_TANH_OPERATOR_DESC()],
            Direction=dml.DML_RECURRENT_NETWORK_DIRECTION_FORWARD,
            LinearBeforeReset=True,
        )
        dml.validate(desc)
        return compile_operator(desc, Target())

    few, many = program(2), program(5)
    assert copies(few) == copies(many) > 0
    assert len(many.dispatches) == len(few.dispatches) + 3


def test_a_shared_buffer_has_the_limit_of_any_buffer() -> None:
    """Tensors that share a storage buffer must fit into it together; otherwise the operator is refused like one with a
    tensor that is too large."""
    step = tensor("UINT32", (1, 1, 1, 1))
    parts = ("ParametersTensor", "FirstMomentTensor", "SecondMomentTensor")
    names = ["GradientTensor", *(f"{kind}{part}" for kind in ("Input", "Output") for part in parts)]

    def adam(count: int) -> dml.OperatorDesc:
        fields = dict.fromkeys(names, tensor("FLOAT32", (1, 1, 1, count)))
        rates = {"LearningRate": 0.1, "Beta1": 0.9, "Beta2": 0.99, "Epsilon": 1e-6}
        return dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC(TrainingStepTensor=step, **fields, **rates)

    # Four tensors of 24 MiB fit 2^27 bytes, four of 36 MiB do not.
    compile_operator(adam(6 << 20), Target())
    with pytest.raises(dml.DMLError, match="one descriptor binds") as error:
        compile_operator(adam(9 << 20), Target())
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY
