"""Tensors that stay on the device: to_device, dispatch with keep, and loops over them."""

from __future__ import annotations

import gc
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import dml
from dml.api import bound, resident
from dml.graph.builder import Builder
from dml.runtime.recording import Recording
from harness import assert_exact, data_type, tensor

SIZES = (2, 3)
X = np.arange(6, dtype=np.float32).reshape(SIZES) + 1


def addition(sizes=SIZES, kind="FLOAT32", layout="packed"):
    t = tensor(kind, sizes, layout)
    return dml.DML_ELEMENT_WISE_ADD_OPERATOR_DESC(t, t, t)


def compiled(device: dml.Device, desc: dml.OperatorDesc) -> Any:
    return device.compile_operator(device.create_operator(desc))


@pytest.mark.parametrize(
    "array",
    [X, X.T, X[:, ::-1], np.float16(X[:1, :3]), np.array(3.5, np.float32), np.zeros((0, 4), np.int32),
     np.array([[True], [False]]), X.astype(ml_dtypes.bfloat16), np.array([-8, 7, 3]).astype(ml_dtypes.int4),
     np.arange(5, dtype=np.uint8), np.array([2**40, -1])],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)  # fmt: skip
def test_what_goes_to_the_device_comes_back(each_kind, array):
    there = each_kind.to_device(array)
    assert (there.shape, there.dtype, there.ndim, there.size) == (array.shape, array.dtype, array.ndim, array.size)
    assert there.nbytes == array.nbytes
    assert_exact(there.numpy(), array)
    assert_exact(np.asarray(there), array)
    assert each_kind.to_device(there) is there


def test_values_that_are_no_arrays_are_refused(device):
    for wrong in ("a", 1j):
        with pytest.raises(dml.DMLError, match="takes an array of numbers"):
            device.to_device(np.array([wrong]))


def test_a_kept_output_is_an_input_of_the_next_run(each_kind):
    add = compiled(each_kind, addition())
    first = add.dispatch({"ATensor": X, "BTensor": X}, keep=["OutputTensor"])["OutputTensor"]
    assert isinstance(first, dml.DeviceArray)
    assert repr(first) == "DeviceArray(float32, (2, 3))"
    second = add.dispatch({"ATensor": first, "BTensor": first})["OutputTensor"]
    assert_exact(second, 4 * X)
    assert_exact(first.numpy(), 2 * X)


def test_an_output_that_is_fed_back_in_a_loop(each_kind, monkeypatch):
    """Repeating x = x + one alternates between two buffers with a recording each; a third recording serves the first
    run, whose x is on the host."""
    made = []
    monkeypatch.setattr(resident, "Recording", lambda *args, **more: made.append(1) or Recording(*args, **more))
    add, one = compiled(each_kind, addition()), each_kind.to_device(np.ones(SIZES, np.float32))
    state: Any = X
    seen = set()
    for _ in range(20):
        state = add.dispatch({"ATensor": state, "BTensor": one}, keep=["OutputTensor"])["OutputTensor"]
        seen.add(state.buffer)
    assert_exact(state.numpy(), X + 20)
    assert len(seen) == 2
    assert len(made) == 3


def test_outputs_that_somebody_has_are_not_written_again(each_kind):
    add = compiled(each_kind, addition())
    kept = [
        add.dispatch({"ATensor": X * index, "BTensor": X}, keep=["OutputTensor"])["OutputTensor"] for index in range(9)
    ]
    for index, one in enumerate(kept):
        assert_exact(one.numpy(), X * (index + 1))


def test_one_array_as_both_inputs_and_views_of_it(each_kind):
    """A view with another shape keeps the memory from being reused."""
    add = compiled(each_kind, addition())
    first = add.dispatch({"ATensor": X, "BTensor": X}, keep=["OutputTensor"])["OutputTensor"]
    seen = first.seen_as((6,), np.float32)
    del first
    for index in range(6):
        add.dispatch({"ATensor": X * index, "BTensor": X}, keep=["OutputTensor"])
    assert_exact(seen.numpy(), 2 * X.ravel())


def test_kept_outputs_are_bounded(each_kind):
    add = compiled(each_kind, addition())
    for index in range(3 * bound.MOST_RECORDINGS):
        there = each_kind.to_device(X + index)
        assert_exact(add.dispatch({"ATensor": there, "BTensor": X})["OutputTensor"], 2 * X + index)
    assert len(add._resident._bound) == bound.MOST_RECORDINGS
    buffers = [key for key in add.kept if hasattr(key, "piece")]
    assert len(buffers) <= 3 + bound.MOST_RECORDINGS


def test_memory_is_freed_with_the_operator_and_the_arrays(device):
    size = (1 << 20,)
    add = compiled(device, addition(size))
    x = np.ones(size, np.float32)
    kept = add.dispatch({"ATensor": x, "BTensor": x}, keep=["OutputTensor"])["OutputTensor"]
    del add
    gc.collect()
    assert_exact(kept.numpy(), x + x)


def test_different_layouts_are_converted_on_the_host(each_kind):
    padded = addition(layout="padded")
    first = compiled(each_kind, padded).dispatch({"ATensor": X, "BTensor": X}, keep=["OutputTensor"])["OutputTensor"]
    assert_exact(first.numpy(), 2 * X)
    again = compiled(each_kind, padded).dispatch({"ATensor": first, "BTensor": X})["OutputTensor"]
    assert_exact(again, 3 * X)
    packed = compiled(each_kind, addition()).dispatch({"ATensor": first, "BTensor": X})["OutputTensor"]
    assert_exact(packed, 3 * X)


def test_weights_that_dml_owns_may_come_from_the_device(each_kind):
    t, weights = tensor("FLOAT32", SIZES), tensor("FLOAT32", SIZES, Flags=dml.DML_TENSOR_FLAG_OWNED_BY_DML)
    product = compiled(each_kind, dml.DML_ELEMENT_WISE_MULTIPLY_OPERATOR_DESC(t, weights, t))
    there = each_kind.to_device(X)
    for factor in (2, 3):
        given = {"ATensor": there, "BTensor": each_kind.to_device(factor * X)}
        assert_exact(product.dispatch(given)["OutputTensor"], factor * X * X)


def test_arrays_of_outputs_and_of_inputs(each_kind):
    t, half = tensor("FLOAT32", (4, 3)), tensor("FLOAT32", (2, 3))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    split = dml.DML_SPLIT_OPERATOR_DESC(t, [half, half], 0)
    pieces = dml.dispatch(split, {"InputTensor": x}, each_kind, keep=["OutputTensors"])["OutputTensors"]
    assert [isinstance(piece, dml.DeviceArray) for piece in pieces] == [True, True]
    joined = dml.dispatch(dml.DML_JOIN_OPERATOR_DESC([half, half], t, 0), {"InputTensors": pieces[::-1]}, each_kind)
    assert_exact(joined["OutputTensor"], np.concatenate([x[2:], x[:2]]))


def test_graphs_keep_some_of_their_outputs(each_kind):
    builder = Builder(each_kind)
    x = builder.input("x", SIZES)
    graph = builder.compile({"double": x + x, "square": x * x})
    found = graph.dispatch({"x": X}, keep=["square"])
    assert_exact(found["double"], 2 * X)
    assert_exact(graph.dispatch({"x": found["square"]})["square"], X**4)


def test_profiles_take_them_too(device):
    add = compiled(device, addition())
    assert add.profile({"ATensor": device.to_device(X), "BTensor": X})


@pytest.mark.parametrize(
    "there, words",
    [(X.ravel(), r"takes DML_TENSOR_DATA_TYPE_FLOAT32 of sizes \(2, 3\), found DeviceArray\(float32, \(6,\)\)"),
     (X.astype(np.float16), "found DeviceArray.float16"), (np.zeros((0,), np.float32), "found DeviceArray")],
)  # fmt: skip
def test_wrong_ones_are_named(device, there, words):
    with pytest.raises(dml.DMLError, match=f"ELEMENT_WISE_ADD.BTensor: .*{words}"):
        dml.dispatch(addition(), {"ATensor": X, "BTensor": device.to_device(there)}, device)


def test_an_array_of_another_device_is_refused(device, seen_as):
    other = next(one for one in map(seen_as, ("discrete", "integrated")) if one.context is not device.context)
    with pytest.raises(dml.DMLError, match="is on another device"):
        dml.dispatch(addition(), {"ATensor": X, "BTensor": other.to_device(X)}, device)


def test_keep_names_outputs(device):
    with pytest.raises(dml.DMLError, match="keep: no output tensor 'Output'; it has OutputTensor"):
        dml.dispatch(addition(), {"ATensor": X, "BTensor": X}, device, keep=["Output"])
    with pytest.raises(dml.DMLError, match="keep"):
        dml.dispatch(addition(), {"ATensor": X, "BTensor": X}, device, keep="OutputTensor")


def test_dlpack_in_and_out(each_kind):
    """If host and device share memory, the exported array is a view of it; otherwise a copy."""

    class Foreign:
        """Another library's array, which supports only DLPack."""

        def __dlpack__(self, **options):
            return X.__dlpack__(**options)

        def __dlpack_device__(self):
            return X.__dlpack_device__()

    there = each_kind.to_device(Foreign())
    assert_exact(there.numpy(), X)
    out = np.from_dlpack(there)
    assert_exact(out, X)
    out[0, 0] = 42
    assert there.numpy()[0, 0] == (42 if each_kind.context.unified else X[0, 0])
    out[0, 0] = X[0, 0]
    del there
    gc.collect()
    each_kind.to_device(np.full(SIZES, 7, np.float32))  # must not reuse the memory of `out`
    assert_exact(out, X)


def test_a_bool_is_a_byte_on_the_device(device):
    mask = device.to_device(np.array([[True, False, True]] * 2))
    assert mask.desc.DataType == data_type("UINT8")
    t = tensor("FLOAT32", SIZES)
    choose = dml.DML_ELEMENT_WISE_IF_OPERATOR_DESC(tensor("UINT8", SIZES), t, t, t)
    found = dml.dispatch(choose, {"ConditionTensor": mask, "ATensor": X, "BTensor": -X}, device)["OutputTensor"]
    assert_exact(found, np.where(np.asarray(mask), X, -X))
