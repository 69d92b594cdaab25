"""Every operator on a device with no more than Vulkan 1.1 promises: four storage buffers to a kernel, and so on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator, implemented
from dml.compiler.program import Program, Region, Space
from dml.compiler.target import Target
from dml.operator import CompiledOperator
from dml.runtime.arena import Arena
from dml.runtime.recording import Place, Recording, spirv
from harness import Array, Tensor, assert_exact, tensor
from sample_descriptors import NAMES, sample

COPY = "movement/copy_words.comp"

#: Operators whose samples take a kernel of more than four tensors.
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


def test_every_operator_is_here():
    assert {type(sample(name)) for name in NAMES} == implemented()


@pytest.mark.parametrize("name", NAMES)
def test_every_operator_compiles(name: str) -> None:
    """The builder refuses what is above the limits of shape and size; the number of buffers is counted here."""
    desc = sample(name)
    dml.validate(desc)
    program = compile_operator(desc, Target())
    assert program.dispatches
    assert max(len(dispatch.bindings) for dispatch in program.dispatches) <= 4


def bits(rng: np.random.Generator, desc: Tensor) -> Array:
    """Values for all of a tensor's bytes, the gaps of its layout included: integers are 1 or 2 (masks, lengths)."""
    kind = dml.numpy_dtype(desc.DataType)
    count = int(desc.TotalTensorSizeInBytes or 0) // kind.itemsize
    if kind.kind == "f":
        return rng.uniform(0.5, 2, count).astype(kind)
    return rng.integers(1, 255 if kind.itemsize == 1 else 3, count).astype(kind)


def elements(desc: Tensor) -> Array:
    """Whether each byte of a tensor belongs to an element."""
    width = dml.numpy_dtype(desc.DataType).itemsize
    found = np.zeros(int(desc.TotalTensorSizeInBytes or 0), bool)
    places = sum(
        np.arange(n).reshape(-1, *(1,) * (desc.rank - 1 - d)) * s
        for d, (n, s) in enumerate(zip(desc.Sizes, desc.strides, strict=True))
    )
    for byte in range(width):
        found[np.ravel(places) * width + byte] = True
    return found


def tensors(fields: Any) -> list[Tensor]:
    return [t for _, field in fields for t in (field if isinstance(field, tuple) else (field,)) if t is not None]


def results(device: dml.Device, program: Program, desc: dml.OperatorDesc) -> list[Array]:
    """All bytes of the outputs, where they were 0xa5 before."""
    rng = np.random.default_rng(3)
    inputs = [device.create_buffer(bits(rng, t)) for t in tensors(desc.inputs())]
    outputs = [
        device.create_buffer(np.full(int(t.TotalTensorSizeInBytes or 0), 0xA5, np.uint8))
        for t in tensors(desc.outputs())
    ]
    arena = Arena(device.context, Space.TEMPORARY, program.dispatches)
    # An absent tensor has its slot as well.
    slots = {
        space: [i for i, size in enumerate(sizes) if size is not None]
        for space, sizes in ((Space.INPUT, program.inputs), (Space.OUTPUT, program.outputs))
    }

    def place(region: Region) -> Place:
        if region.space is Space.TEMPORARY:
            return arena.place(region)
        buffers = inputs if region.space is Space.INPUT else outputs
        return Place(buffers[slots[region.space].index(region.index)])

    Recording(device.context, program.dispatches, spirv(program.dispatches), place, inputs, outputs).run()
    sizes = [int(t.TotalTensorSizeInBytes or 0) for t in tensors(desc.outputs())]
    return [np.array(buffer.words).view(np.uint8)[:size] for buffer, size in zip(outputs, sizes, strict=True)]


@pytest.mark.parametrize("layout, most", [("packed", 4), ("padded", 4), ("padded", 2)])
@pytest.mark.parametrize("name", MANY_TENSORS)
def test_shared_buffers(device: dml.Device, name: str, layout: str, most: int) -> None:
    """The same bytes as with a buffer to each tensor; those between an output's elements stay. Two buffers, which
    outputs have to share too, are fewer than Vulkan promises."""
    desc = device.create_operator(sample(name, layout)).desc
    own = device.vulkan.target
    one_each = compile_operator(desc, replace(own, max_storage_buffers=16))
    shared = compile_operator(desc, replace(own, max_storage_buffers=most))
    assert copies(one_each) == 0
    assert copies(shared) > 0
    assert max(len(dispatch.bindings) for dispatch in shared.dispatches) <= most
    for t, expected, found in zip(
        tensors(desc.outputs()), results(device, one_each, desc), results(device, shared, desc), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
        inside = elements(t)
        assert (found[inside] != 0xA5).any()
        if layout == "padded":
            assert (found[~inside] == 0xA5).all()


def test_what_dml_owns_is_copied_once(device: dml.Device) -> None:
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
        program = compile_operator(
            device.create_operator(desc).desc, replace(device.vulkan.target, max_storage_buffers=most)
        )
        assert copies(program) == 0
        assert any(dispatch.label == COPY for dispatch in program.initialize) == (most == 4)
        compiled = CompiledOperator(device, program, "few buffers", list(desc.inputs()), list(desc.outputs()))
        found.append([compiled.dispatch(inputs)["OutputTensor"], compiled.dispatch(inputs)["OutputTensor"]])
    assert_exact(found[1][0], found[0][0])
    assert_exact(found[1][1], found[0][1])


def test_a_loop_copies_what_it_reads_once() -> None:
    """A dispatch per step (the state is large): the weights are not copied for each."""

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
    """What is packed must fit one storage buffer, or the operator is refused as one with a large tensor is."""
    step = tensor("UINT32", (1, 1, 1, 1))
    parts = ("ParametersTensor", "FirstMomentTensor", "SecondMomentTensor")
    names = ["GradientTensor", *(f"{kind}{part}" for kind in ("Input", "Output") for part in parts)]

    def adam(count: int) -> dml.OperatorDesc:
        fields = dict.fromkeys(names, tensor("FLOAT32", (1, 1, 1, count)))
        rates = {"LearningRate": 0.1, "Beta1": 0.9, "Beta2": 0.99, "Epsilon": 1e-6}
        return dml.DML_ADAM_OPTIMIZER_OPERATOR_DESC(TrainingStepTensor=step, **fields, **rates)

    # Four tensors of 24 MiB fit 2^27 bytes, four of 36 MiB do not.
    compile_operator(adam(6 << 20), Target())
    with pytest.raises(dml.DMLError, match="storage buffer in bytes") as error:
        compile_operator(adam(9 << 20), Target())
    assert error.value.hresult == dml.HRESULT.E_OUTOFMEMORY
