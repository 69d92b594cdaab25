"""REDUCE_INTO_ROWS, an operator of this package: values equal to NumPy's ufunc.at, tensors larger than a binding, and
its rule."""

from __future__ import annotations

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import DeviceClass, Target
from dml.descriptors.movement import OWN_REDUCE_INTO_ROWS_OPERATOR_DESC
from harness import assert_exact, random, run, tensor

UFUNCS = {"SUM": np.add, "MULTIPLY": np.multiply, "MAX": np.maximum, "MIN": np.minimum}


def described(kind, rows, updates, columns, function="SUM", shared=False):
    return OWN_REDUCE_INTO_ROWS_OPERATOR_DESC(
        tensor(kind, (rows, columns)),
        tensor("INT32", (updates, 1 if shared else columns)),
        tensor(kind, (updates, columns)),
        tensor(kind, (rows, columns)),
        dml.DML_REDUCE_FUNCTION[f"DML_REDUCE_FUNCTION_{function}"],
    )


def inputs_of(desc, kind):
    rng = np.random.default_rng(3)
    rows = desc.InputTensor.Sizes[0]
    return {
        "InputTensor": random(rng, kind, desc.InputTensor.Sizes),
        "IndicesTensor": rng.integers(0, rows, desc.IndicesTensor.Sizes).astype(np.int32),
        "UpdatesTensor": random(rng, kind, desc.UpdatesTensor.Sizes),
    }


def expected(inputs, function):
    found = inputs["InputTensor"].copy()
    columns = np.arange(found.shape[1])
    UFUNCS[function].at(found, (inputs["IndicesTensor"], columns), inputs["UpdatesTensor"])
    return found


@pytest.mark.kind
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("function", UFUNCS)
@pytest.mark.parametrize("kind", ["FLOAT32", "INT32", "UINT64"])
def test_updates_are_reduced_in_their_order(device, kind, function, shared):
    desc = described(kind, 9, 200, 37, function, shared)
    inputs = inputs_of(desc, kind)
    assert_exact(run(device, desc, inputs)["OutputTensor"], expected(inputs, function))


def test_many_updates_are_several_dispatches(device, monkeypatch):
    monkeypatch.setattr("dml.compiler.operators.movement.reduce_into_rows.max_steps", lambda target: 70)
    desc = described("FLOAT32", 5, 200, 3)
    inputs = inputs_of(desc, "FLOAT32")
    assert_exact(run(device, desc, inputs)["OutputTensor"], expected(inputs, "SUM"))


def test_indices_that_are_no_rows_are_dropped(device):
    desc = described("FLOAT32", 3, 4, 1)
    given = {
        "InputTensor": np.ones((3, 1), np.float32),
        "IndicesTensor": np.array([[-1], [3], [2], [-(2**31)]], np.int32),
        "UpdatesTensor": np.full((4, 1), 5, np.float32),
    }
    assert run(device, desc, given)["OutputTensor"].ravel().tolist() == [1, 1, 6]


def test_parts_of_rows_and_updates_fit_a_binding(seen_as):
    own = Target()
    small = seen_as(max_storage_buffer_range=1024 + own.max_storage_buffer_range - own.max_region)
    desc = described("FLOAT32", 31, 43, 17)
    inputs = inputs_of(desc, "FLOAT32")
    assert_exact(run(small, desc, inputs)["OutputTensor"], expected(inputs, "SUM"))


def test_an_invocation_declares_its_steps():
    program = compile_operator(described("FLOAT32", 9, 300, 4), Target(DeviceClass.DISCRETE))
    assert program.dispatches[-1].steps == 300


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"InputTensor": tensor("FLOAT32", (5, 4))}, r"InputTensor: must have sizes"),
        ({"OutputTensor": tensor("FLOAT32", (6, 3))}, r"OutputTensor: must have sizes"),
        ({"IndicesTensor": tensor("INT32", (7, 2))}, r"IndicesTensor: must have sizes"),
        (
            {"Function": dml.DML_REDUCE_FUNCTION_AVERAGE},
            r"Function: must be SUM, MULTIPLY, MAX or MIN, found .*AVERAGE",
        ),
    ],
)
def test_what_is_refused(changed, message):
    fields = {
        name: getattr(described("FLOAT32", 5, 7, 3), name)
        for name in OWN_REDUCE_INTO_ROWS_OPERATOR_DESC.__annotations__
    }
    with pytest.raises(dml.DMLError, match=message):
        dml.validate(OWN_REDUCE_INTO_ROWS_OPERATOR_DESC(**{**fields, **changed}))
