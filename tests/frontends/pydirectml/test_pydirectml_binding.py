"""PyDirectML's binding without the operators: enumerations, descriptions, data, running scripts."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import dml
from dml.frontends import pydirectml

FLOAT32 = pydirectml.TensorDataType.FLOAT32


@pytest.fixture
def builder(device, monkeypatch):
    monkeypatch.setenv("DML_VULKAN_DEVICE", str(device.vulkan.index))
    return pydirectml.GraphBuilder(pydirectml.Device(True, True))


def test_enumerators_are_names_of_the_module_too():
    names = vars(pydirectml)
    assert names["FLOAT16"] == pydirectml.TensorDataType.FLOAT16 == 2
    assert names["OWNED_BY_DML"] is pydirectml.TensorFlags.OWNED_BY_DML
    assert names["CONVOLUTION"] is pydirectml.OperatorType.CONVOLUTION  # the last enumeration with this name
    assert pydirectml.OperatorType.INVALID == 0
    assert int(pydirectml.ExecutionFlags.DESCRIPTORS_VOLATILE) == dml.DML_EXECUTION_FLAG_DESCRIPTORS_VOLATILE
    assert [option.name for option in pydirectml.OutputOptions] == ["Both", "Sequence", "Single"]


def test_tensor_descriptions():
    plain = pydirectml.TensorDesc(FLOAT32, [1, 2, 3])
    assert (plain.data_type, plain.sizes, plain.strides) == (FLOAT32, [1, 2, 3], None)
    assert (plain.total_tensor_size_in_bytes, plain.guaranteed_base_offset_alignment) == (24, 0)
    assert repr(plain) == "dml.TensorDesc of type 1 and shape [1,2,3] with flags 0"
    flags = pydirectml.TensorFlags.OWNED_BY_DML
    assert pydirectml.TensorDesc(FLOAT32, flags, [4]).flags == flags
    assert pydirectml.TensorDesc(data_type=FLOAT32, sizes=[4], flags=flags).flags == flags
    strided = pydirectml.TensorDesc(FLOAT32, [1, 8, 28, 28], [8, 1, 0, 0])
    assert (strided.strides, strided.total_tensor_size_in_bytes) == ([8, 1, 0, 0], 32)
    channels = pydirectml.TensorPolicy.interleaved_channel
    assert pydirectml.TensorDesc(FLOAT32, [1, 3, 4, 5], channels).strides == [60, 1, 15, 3]
    assert pydirectml.TensorDesc(FLOAT32, flags, [1, 3, 4], channels).strides == [12, 1, 3]
    assert pydirectml.TensorDesc(FLOAT32, [2, 2], tensor_policy=pydirectml.TensorPolicy.default).strides is None
    whole = pydirectml.TensorDesc(FLOAT32, flags, [2], None, 64, 16)
    assert (whole.total_tensor_size_in_bytes, whole.guaranteed_base_offset_alignment) == (64, 16)


@pytest.mark.parametrize("arguments", [(), ([1], [1], [1], [1], [1]), ([1], [1], 8, 0, 5)])
def test_other_arguments_are_type_errors(arguments):
    with pytest.raises(TypeError, match="TensorDesc takes"):
        pydirectml.TensorDesc(FLOAT32, *arguments)


@pytest.mark.parametrize(
    "data",
    [
        np.arange(6.0).reshape(3, 2),
        np.arange(6, dtype=np.int16),
        [[[0, 1, 2], [3, 4, 5]]],
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.arange(12, dtype=np.float32)[::2] / 2,
        np.arange(7),
    ],
    ids=["doubles of another shape", "integers", "lists", "columns first", "strided", "more than enough"],
)
def test_data_is_taken_by_its_bytes(builder, data):
    device = pydirectml.Device()
    x = pydirectml.input_tensor(builder, 0, pydirectml.TensorDesc(FLOAT32, [1, 1, 2, 3]))
    y = pydirectml.activation_identity(x)
    model = builder.build(pydirectml.ExecutionFlags.NONE, [y])
    (out,) = device.compute(model, [pydirectml.Binding(x, data)], [y])
    assert memoryview(out).shape == (1, 1, 2, 3)
    np.testing.assert_array_equal(np.array(out, np.float32), np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3))


def test_too_little_data(builder):
    x = pydirectml.input_tensor(builder, 0, pydirectml.TensorDesc(FLOAT32, [2, 3]))
    with pytest.raises(dml.DMLError, match=r"takes 24 bytes, an array of shape \(5,\) and type float32 has 20"):
        pydirectml.Binding(x, np.arange(5))


def test_broadcast_by_strides_and_tensors_owned_by_dml(builder):
    device = pydirectml.Device()
    flags = pydirectml.TensorFlags.OWNED_BY_DML
    x = pydirectml.input_tensor(builder, 0, pydirectml.TensorDesc(FLOAT32, [1, 2, 2, 2]))
    b = pydirectml.input_tensor(builder, 1, pydirectml.TensorDesc(FLOAT32, [1, 2, 2, 2], [2, 1, 0, 0]))
    c = pydirectml.input_tensor(builder, 2, pydirectml.TensorDesc(FLOAT32, flags, [1, 2, 2, 2]))
    y = pydirectml.add(pydirectml.add(x, b), c)
    model = builder.build(pydirectml.ExecutionFlags.NONE, [y])
    data = np.arange(8.0)
    once = [pydirectml.Binding(x, data), pydirectml.Binding(b, [10, 20]), pydirectml.Binding(c, 100 * data)]
    expected = 101 * data.reshape(1, 2, 2, 2) + np.array([10, 20]).reshape(2, 1, 1)
    for _ in range(2):
        np.testing.assert_array_equal(np.array(device.compute(model, once, [y])[0]), expected)
    once[2] = pydirectml.Binding(c, 0 * data)
    np.testing.assert_array_equal(
        np.array(device.compute(model, once, [y])[0]), expected - 100 * data.reshape(1, 2, 2, 2)
    )


def test_half_precision_tensors_take_halves(builder):
    half = pydirectml.TensorDataType.FLOAT16
    x = pydirectml.input_tensor(builder, 0, pydirectml.TensorDesc(half, [1, 1, 1, 3]))
    y = x + x
    model = builder.build(pydirectml.ExecutionFlags.NONE, [y])
    binding = pydirectml.Binding(x, np.array([1, 2, 3], np.float16))
    (out,) = pydirectml.Device().compute(model, [binding], [y])
    np.testing.assert_array_equal(np.array(out), np.array([[[[2, 4, 6]]]], np.float16))


def test_outputs_reinterpreted_shared_and_unwanted(builder):
    x = pydirectml.input_tensor(builder, 0, pydirectml.TensorDesc(FLOAT32, [1, 1, 2, 3]))
    y = x + 1.0
    flat = pydirectml.reinterpret(y, FLOAT32, [1, 1, 1, 6], None)
    turned = pydirectml.reinterpret(y, FLOAT32, [1, 1, 3, 2], [6, 6, 1, 3])
    wanted = [y, flat, turned]
    model = builder.build(pydirectml.ExecutionFlags.NONE, wanted)
    bindings = [pydirectml.Binding(x, np.arange(6.0))]
    a, b, c = pydirectml.Device().compute(model, bindings, wanted)
    assert (a.shape, b.shape) == ((1, 1, 2, 3), (1, 1, 1, 6))
    np.testing.assert_array_equal(np.array(b).ravel(), np.arange(1.0, 7))
    np.testing.assert_array_equal(np.array(c)[0, 0], np.array(a)[0, 0].T)
    assert len(pydirectml.Device().compute(model, bindings, [None, flat, None])) == 1


def test_inputs_are_identified_by_number(builder):
    """Inputs may be created in any order and may be unused."""
    descs = [pydirectml.TensorDesc(FLOAT32, [1, 1, 1, size]) for size in (2, 3, 2)]
    last, unused, first = (pydirectml.input_tensor(builder, 2 - i, descs[i]) for i in range(3))
    y = first - last
    model = builder.build(pydirectml.ExecutionFlags.NONE, [y])
    data = [
        pydirectml.Binding(t, np.full(t.get_output_desc().sizes, v)) for t, v in ((first, 5), (unused, 0), (last, 2))
    ]
    assert np.array(pydirectml.Device().compute(model, data, [y])[0]).ravel().tolist() == [3, 3]
    data[1] = None
    assert np.array(pydirectml.Device().compute(model, data, [y])[0]).ravel().tolist() == [3, 3]


def test_misuse_is_refused(builder):
    desc = pydirectml.TensorDesc(FLOAT32, [1, 1, 1, 2])
    x = pydirectml.input_tensor(builder, 0, desc)
    with pytest.raises(dml.DMLError, match="already has an input 0"):
        pydirectml.input_tensor(builder, 0, desc)
    with pytest.raises(dml.DMLError, match="must not be an input of the graph"):
        builder.build(pydirectml.ExecutionFlags.NONE, [x])
    with pytest.raises(dml.DMLError, match="has no tensor"):
        pydirectml.activation_relu(pydirectml.Expression())
    y, z = pydirectml.slice(x, [0] * 4, [1] * 4, [1] * 4), pydirectml.reinterpret(x, FLOAT32, [1, 1, 2], None)
    indices = pydirectml.reinterpret(x, pydirectml.TensorDataType.UINT32, [1, 1, 1, 2], None)
    mode, forward = pydirectml.PaddingMode.CONSTANT, pydirectml.RecurrentNetworkDirection.FORWARD
    sigmoid = pydirectml.FusedActivation(pydirectml.OperatorType.ACTIVATION_SIGMOID)
    for run, words in (
        (lambda: pydirectml.join([], 0), "join: needs at least one tensor"),
        (lambda: pydirectml.join([x, y], 4), "join: axis 4 is not a dimension"),
        (lambda: pydirectml.join([x, z], 0), "JOIN.InputTensors.1.: must have the dimension count"),
        (lambda: pydirectml.padding(x, mode, 0.0, [1] * 3, [1] * 4), "padding: every argument needs one value"),
        (lambda: pydirectml.slice(x, [0] * 4, [1] * 3, [1] * 4), "slice_: every argument needs one value"),
        (lambda: pydirectml.slice(x, [0] * 4, [1] * 4, [0] * 4), "SLICE1.InputWindowStrides: must not be 0"),
        (lambda: pydirectml.gather(x, indices, 4, 1), "gather: axis 4 and index_dimensions 1 do not fit"),
        (lambda: pydirectml.average_pooling(x, [1], [1, 1], [0, 0], [0, 0], False), "average_pooling: every argument"),
        (lambda: pydirectml.max_pooling(x, [1]), "max_pooling: every argument needs one value"),
        (lambda: pydirectml.convolution(x, z), "convolution: every argument needs one value"),
        (
            lambda: pydirectml.gru(z, x, x, None, None, None, [sigmoid] * 2, forward, 1, pydirectml.OutputOptions.Both),
            "gru: takes tensors of 4 dimensions",
        ),
    ):  # fmt: skip
        with pytest.raises(dml.DMLError, match=words):
            run()
    with pytest.raises(TypeError, match="missing arguments: normalize_variance, epsilon"):
        pydirectml.mean_variance_normalization(x)
    with pytest.raises(TypeError, match=r"join: input must be Sequence\[Expression\], found int"):
        pydirectml.join([1], 0)
    with pytest.raises(TypeError, match=r"pydirectml\.add: b must be Expression, found float"):
        pydirectml.add(x, 2.0)
    with pytest.raises(TypeError, match=r"fused_activation must be FusedActivation \| None, found int"):
        pydirectml.add(x, x, 1)
    y = pydirectml.activation_relu(x)
    model = builder.build(pydirectml.ExecutionFlags.NONE, [y])
    binding = pydirectml.Binding(x, [1, 2])
    device = pydirectml.Device()
    with pytest.raises(dml.DMLError, match="an array must be given"):
        device.compute(model, [None], [y])
    with pytest.raises(dml.DMLError, match="the model has no input 1"):
        device.compute(model, [binding, binding], [y])
    with pytest.raises(dml.DMLError, match="the model has 1 outputs, found 2"):
        device.compute(model, [binding], [y, y])


SCRIPT = """
    import sys
    import numpy as np
    import pydirectml as dml
    import beside

    device = dml.Device(True, False)
    builder = dml.GraphBuilder(device)
    bindings = []

    def tensor(sizes, data, *flags):
        made = dml.input_tensor(builder, len(bindings), dml.TensorDesc(dml.TensorDataType.FLOAT32, *flags, sizes))
        bindings.append(dml.Binding(made, data))
        return made

    x = tensor([1, 1, 1, 4], np.arange(4))
    weight = tensor([1, 1, 4, 3], np.eye(4, 3), dml.TensorFlags.OWNED_BY_DML)
    result = dml.activation_soft_max(dml.gemm(x, weight))
    op = builder.build(dml.ExecutionFlags.NONE, [result])
    output = np.array(device.compute(op, bindings, [result])[0], np.float32)
    print(__name__, device, np.argmax(output), beside.NAME, sys.argv[1:])
    sys.exit(3)
"""


def start(*arguments, **more):
    command = [sys.executable, "-m", "dml.frontends.pydirectml", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **more)


def test_a_script_runs_as_it_is(device, tmp_path):
    (tmp_path / "script.py").write_text(textwrap.dedent(SCRIPT))
    (tmp_path / "beside.py").write_text("NAME = 'beside'")
    environment = {**os.environ, "DML_VULKAN_DEVICE": str(device.vulkan.index)}
    result = start(tmp_path / "script.py", "--device", "x", env=environment)
    assert result.stdout == "__main__ dml.Device on GPU 2 beside ['--device', 'x']\n", result.stderr
    assert result.returncode == 3


def test_no_script():
    assert start("none.py").stderr == "none.py: no such script\n"
    result = start()
    assert result.returncode == 2
    assert "script.py" in result.stderr
