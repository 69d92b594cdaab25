"""Bindings that share bytes are refused if the reference forbids it; otherwise results are correct."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

import dml
import harness
from dml.api import arrays
from dml.capability import supports_in_place
from dml.graph.builder import Builder
from harness import tensor
from sample_descriptors import NAMES, sample

OWNED = dml.DML_TENSOR_FLAG_OWNED_BY_DML
IN_PLACE = [name for name in NAMES if supports_in_place(dml.DML_OPERATOR_TYPE[f"DML_OPERATOR_{name}"])]
WITH_INPUTS = [name for name in IN_PLACE if any(sample(name).inputs())]


def compiled_for(device: dml.Device, desc: dml.OperatorDesc) -> Any:
    return device.compile_operator(device.create_operator(desc))


def record(
    device: dml.Device, compiled: Any, inputs: Any, outputs: Any, temporary: Any = None, persistent: Any = None
) -> Any:
    """Record a command list with one dispatch over these bindings."""
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(compiled))
    table.bind_inputs(inputs)
    table.bind_outputs(outputs)
    table.bind_temporary_resource(temporary)
    table.bind_persistent_resource(persistent)
    commands = device.create_command_list()
    device.create_command_recorder().record_dispatch(commands, compiled, table)
    return commands


def scratch(device: dml.Device, compiled: Any) -> Any:
    size = compiled.get_binding_properties().TemporaryResourceSize
    return dml.DML_BUFFER_BINDING(device.create_buffer(size)) if size else None


def resized(desc: dml.OperatorDesc, sizes: tuple[int, ...], dtype: str, layout: str) -> dml.OperatorDesc:
    """Return the description with these sizes and layout in every tensor that has the output's sizes, and with the
    output's data type replaced by ``dtype``."""
    _, first = next(desc.outputs())
    changes = {}
    for name, one in (*desc.inputs(), *desc.outputs()):
        if one.Sizes == first.Sizes:
            kind = dtype if one.DataType == first.DataType else one.DataType
            changes[name] = tensor(kind, sizes, layout)
    return desc.replace(**changes)


def cases(name: str) -> Iterator[dml.OperatorDesc]:
    """Yield valid cases: layouts, rows that end inside a word, and more elements than a workgroup."""
    own = next(sample(name).outputs())[1].DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")
    odd = (1, 1, 3, 5)
    shapes = [
        ((1, 2, 40, 70), own, "packed"),
        (odd, own, "padded"),
        (odd, "FLOAT16", "packed"),
        (odd, "INT8", "reversed"),
    ]
    for shape in shapes:
        desc = resized(sample(name), *shape)
        try:
            dml.validate(desc)
        except dml.DMLError:
            continue
        yield desc


def contents(desc: dml.OperatorDesc) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    return {
        name: harness.random(rng, one.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_"), one.Sizes, 1, 3)
        for name, one in desc.inputs()
    }


def run(
    device: dml.Device, compiled: Any, desc: dml.OperatorDesc, values: Mapping[str, Any], over: Mapping[str, str]
) -> Any:
    """Run and return the outputs as bytes. over: output or input -> the input whose bytes it shares."""
    bound: dict[str, Any] = {}
    for name, one in (*desc.inputs(), *desc.outputs()):
        if name not in over:
            words = np.zeros(one.TotalTensorSizeInBytes // 4, np.uint32)
            if name in values:
                arrays.TensorMemory(words, one).store(values[name])
            bound[name] = dml.DML_BUFFER_BINDING(device.create_buffer(words))
    for name, source in over.items():
        bound[name] = bound[source]
    inputs, outputs = [[bound[name] for name, _ in fields] for fields in (desc.inputs(), desc.outputs())]
    record(device, compiled, inputs, outputs, scratch(device, compiled)).execute()
    return {
        name: arrays.TensorMemory(bound[name].Buffer.read(np.uint32), one).load().tobytes()
        for name, one in desc.outputs()
    }


def aliases(desc: dml.OperatorDesc) -> Iterator[dict[str, str]]:
    inputs = [name for name, _ in desc.inputs() if name != "TrainingStepTensor"]
    outputs = [name for name, _ in desc.outputs()]
    if len(outputs) == 1:
        yield from ({outputs[0]: one} for one in inputs)
        if len(inputs) > 1:
            yield dict.fromkeys([*outputs, *inputs[1:]], inputs[0])
    else:
        yield dict(zip(outputs, inputs, strict=False))
        yield {outputs[0]: inputs[3]}


@pytest.mark.parametrize("name", WITH_INPUTS)
def test_in_place(device: dml.Device, name: str) -> None:
    """Every in-place operator gives correct results, no matter which inputs share the output's bytes."""
    tried = 0
    for desc in cases(name):
        values, compiled = contents(desc), compiled_for(device, desc)
        fields = dict([*desc.inputs(), *desc.outputs()])
        for over in aliases(desc):
            if any(fields[to].TotalTensorSizeInBytes != fields[of].TotalTensorSizeInBytes for to, of in over.items()):
                continue
            same = {**values, **{to: values[of] for to, of in over.items() if to in values}}
            apart = {output: array.tobytes() for output, array in compiled.dispatch(same).items()}
            assert run(device, compiled, desc, same, over) == apart, (over, desc)
            tried += 1
    assert tried or name == "ELEMENT_WISE_IS_INFINITY", "an output of bytes never has its input's size"


@pytest.fixture
def buffer(device: dml.Device) -> Any:
    return device.create_buffer(4096)


def at(buffer: Any, offset: int, size: int = 24) -> dml.DML_BUFFER_BINDING:
    return dml.DML_BUFFER_BINDING(buffer, offset, size)


def add(flags: int = 0) -> dml.OperatorDesc:
    t = tensor("FLOAT32", (2, 3))
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(t, tensor("FLOAT32", (2, 3), Flags=flags), t)


def refused(message: str, *arguments: Any, **more: Any) -> None:
    with pytest.raises(dml.DMLError, match=message):
        record(*arguments, **more)


def test_an_output_over_part_of_an_input(device: dml.Device, buffer: Any) -> None:
    compiled = compiled_for(device, add())
    refused(
        r"OutputTensor \(bytes 16 to 40\) overlaps ELEMENT_WISE_ADD\.BTensor \(bytes 32 to 56\) of the same buffer: "
        "in place, the regions must be identical",
        device, compiled, [at(buffer, 256), at(buffer, 32)], [at(buffer, 16)],
    )  # fmt: skip
    record(device, compiled, [at(buffer, 0), at(buffer, 16)], [at(buffer, 48)])  # inputs may overlap
    whole = dml.DML_BUFFER_BINDING(buffer)
    # Only the tensors' bytes count, not the bound ranges
    record(device, compiled, [whole, whole], [at(buffer, 32, 4064)])


def test_operators_that_do_not_execute_in_place(device: dml.Device, buffer: Any) -> None:
    x = tensor("FLOAT32", (1, 1, 4, 4))
    gemm = compiled_for(device, dml.DML_GEMM_OPERATOR_DESC(x, x, None, x, 0, 0, 1.0, 0.0))
    refused(
        "GEMM does not execute in place",
        device,
        gemm,
        [at(buffer, 0, 64), at(buffer, 64, 64), None],
        [at(buffer, 0, 64)],
    )
    node = dml.DML_OPERATOR_GRAPH_NODE_DESC(device.create_operator(add()))
    graph = device.compile_graph(dml.DML_GRAPH_DESC(
        2, 1, [node], [dml.DML_INPUT_GRAPH_EDGE_DESC(0, 0, 0), dml.DML_INPUT_GRAPH_EDGE_DESC(1, 0, 1)],
        [dml.DML_OUTPUT_GRAPH_EDGE_DESC(0, 0, 0)], [],
    ))  # fmt: skip
    refused("DML_GRAPH_DESC does not execute", device, graph, [at(buffer, 0), at(buffer, 32)], [at(buffer, 0)])


@pytest.mark.parametrize(
    "input_",
    [
        dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3), (1, 2)),
        dml.DML_BUFFER_TENSOR_DESC(dml.DML_TENSOR_DATA_TYPE_FLOAT32, (2, 3), (0, 1), 24),
    ],
)
def test_other_layouts_in_place(device: dml.Device, buffer: Any, input_: Any) -> None:
    desc = dml.DML_ELEMENT_WISE_ABS_OPERATOR_DESC(input_, tensor("FLOAT32", (2, 3)), None)
    refused(
        "each element must have the place of its result",
        device,
        compiled_for(device, desc),
        [at(buffer, 0)],
        [at(buffer, 0)],
    )


def test_the_training_step_is_not_written_over(device: dml.Device, buffer: Any) -> None:
    one = tensor("FLOAT32", (1, 1, 1, 1))
    desc = sample("ADAM_OPTIMIZER")
    names = [name for name, _ in (*desc.inputs(), *desc.outputs())]
    compiled = compiled_for(device, desc.replace(**dict.fromkeys(names, one)))
    places = [at(buffer, 16 * i, 4) for i in range(8)]
    record(device, compiled, places[:5], places[:3], scratch(device, compiled))
    refused(
        "overlaps .*TrainingStepTensor",
        device,
        compiled,
        places[:5],
        [places[4], *places[6:]],
        scratch(device, compiled),
    )


def test_two_outputs(device: dml.Device, buffer: Any) -> None:
    split = compiled_for(device, dml.DML_SPLIT_OPERATOR_DESC(
        tensor("FLOAT32", (1, 1, 1, 8)), [tensor("FLOAT32", (1, 1, 1, 4))] * 2, 3
    ))  # fmt: skip
    inputs = [at(buffer, 0, 32)]
    refused(
        r"OutputTensors\[0\] \(bytes 64 to 80\) overlaps SPLIT.OutputTensors\[1\] \(bytes 64 to 80\)",
        device, split, inputs, [at(buffer, 64, 16), at(buffer, 64, 32)],
    )  # fmt: skip
    record(device, split, inputs, [at(buffer, 64, 64), at(buffer, 80, 16)])


def test_temporary_and_persistent_resources(device: dml.Device) -> None:
    x = tensor("FLOAT32", (1, 1, 1, 70000))
    sums = compiled_for(
        device, dml.DML_CUMULATIVE_SUMMATION_OPERATOR_DESC(x, x, 3, dml.DML_AXIS_DIRECTION_INCREASING, False)
    )
    size = sums.get_binding_properties().TemporaryResourceSize
    own, other = (device.create_buffer(280064 + size) for _ in range(2))
    refused("SUMMATION.OutputTensor .* overlaps temporary resource", device, sums, [at(other, 0, 280000)],
            [at(own, 0, 280000)], at(own, 0, size))  # fmt: skip
    refused("temporary resource .* overlaps CUMULATIVE_SUMMATION.InputTensor", device, sums, [at(own, 0, 280000)],
            [at(other, 0, 280000)], at(own, 256, size))  # fmt: skip

    owning = compiled_for(device, add(OWNED))
    size = owning.get_binding_properties().PersistentResourceSize
    refused("ADD.OutputTensor .* overlaps persistent resource", device, owning, [at(own, 0), None], [at(other, 16)],
            persistent=at(other, 0, size))  # fmt: skip
    record(device, owning, [at(own, 0), None], [at(other, 0)], persistent=at(own, 0, size))


def test_initializers(device: dml.Device, buffer: Any) -> None:
    """An input must not be in the buffer of a persistent resource, even in another range."""
    other = device.create_buffer(64)
    owning = compiled_for(device, add(OWNED))
    initializer = device.create_operator_initializer([owning, owning])
    recorder, commands = device.create_command_recorder(), device.create_command_list()
    table = device.create_binding_table(dml.DML_BINDING_TABLE_DESC(initializer))

    def bind(source: Any, first: int, second: int) -> None:
        table.bind_inputs([dml.DML_BUFFER_ARRAY_BINDING([None, source])] * 2)
        table.bind_outputs([at(buffer, first, 256), at(buffer, second, 256)])
        recorder.record_dispatch(commands, initializer, table)

    bind(at(other, 0), 0, 256)
    with pytest.raises(dml.DMLError, match=r"resource \(bytes 0 to 256\) and .*BTensor .* are in one buffer"):
        bind(at(buffer, 2048), 0, 256)
    with pytest.raises(dml.DMLError, match=r"resource \(bytes 256 to 512\) overlaps .* resource \(bytes 256 to 512\)"):
        bind(at(other, 0), 256, 256)


def test_dispatch_writes_into_an_input_only_in_place(device: dml.Device) -> None:
    """A graph may read an input after it has written an output; an operator that executes in place may not."""
    x = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
    desc = harness.like(x)
    doubled = compiled_for(device, dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(desc, desc, desc))
    array = device.to_device(x)
    doubled.dispatch({"ATensor": array, "BTensor": array}, into={"OutputTensor": array})
    harness.assert_exact(array.numpy(), 2 * x)

    builder = Builder(device)
    a, b = (builder.input(name, x.shape, desc.DataType) for name in "ab")
    product = a * b
    graph = builder.compile({"product": product, "rest": product - a})
    with pytest.raises(dml.DMLError, match=r"output 'product' .* overlaps .* input 'a' .* does not execute in place"):
        graph.dispatch({"a": array, "b": x}, into={"product": array})
    with pytest.raises(dml.DMLError, match="written ranges must not overlap"):
        graph.dispatch({"a": x, "b": x}, into={"product": array, "rest": array})
    harness.assert_exact(array.numpy(), 2 * x)
    found = graph.dispatch({"a": array, "b": x}, into={"product": device.to_device(x)})
    harness.assert_exact(found["rest"], 2 * x * x - 2 * x)
